// Requests answers: sends requests, waits while the server is busy, shows answers as they arrive, and tells how they
// ended.

const jobs = new Map(); // by the id of the conversation
const SAVE_MS = 1000;   // how often an answer is saved while it is written
let isLeaving = false;  // the page is being closed: errors are expected

function pause(ms, signal) {
    return new Promise((resolve, reject) => {
        const timer = setTimeout(resolve, ms);
        signal.addEventListener("abort", () => {
            clearTimeout(timer);
            reject(signal.reason);
        });
    });
}

// Saves the answer, unless it or its conversation was deleted while it was written.
function keepAnswer({ conversation, message }) {
    if (!isLeaving && opened.get(conversation.id) === conversation && conversation.messages.includes(message)) {
        keep(conversation);
    }
}

// Shows the answer so far in the next frame, and saves it at intervals.
function showJob(job) {
    if (job.isShown) {
        return;
    }
    job.isShown = true;
    requestAnimationFrame(() => {
        job.isShown = false;
        updateMessage(job.message);
        if (job.conversation === current) {
            updateContext();
            followEnd();
        }
    });
    if (performance.now() - job.saved > SAVE_MS) {
        job.saved = performance.now();
        keepAnswer(job);
    }
}

function setProgress(job, text) {
    job.message.progress = text;
    showJob(job);
}

//-- request ---------------------------------------------------------------------------------------------------------------

async function waitForTurn(job, refusal) {
    const reason = /loading/i.test(refusal.message) ? "The model is loading" : "The server is busy";
    announce(reason);
    for (let seconds = Math.max(1, refusal.retrySeconds); seconds > 0; seconds--) {
        setProgress(job, `${reason}, next try in ${seconds} s`);
        await pause(1000, job.controller.signal);
    }
    setProgress(job, "Waiting for the model");
}

// Returns the response once the server accepts the request.
async function askForAnswer(job) {
    const { conversation, message, controller } = job;
    for (;;) {
        try {
            const end = conversation.messages.indexOf(message);
            return await request("v1/chat/completions", requestFor(conversation, end), controller.signal);
        } catch (error) {
            if (error.status === 503) {
                await waitForTurn(job, error);
            } else if (error.status !== 401 || !(await askForKey(true))) {
                throw error;
            }
        }
    }
}

//-- take --------------------------------------------------------------------------------------------------------------

// Shows how many answers come before a waiting one.
function describePlace(before) {
    const others = server.slots > 1 ? "Other answers are running" : "Another answer is running";
    return before === 0 ? `${others}; you are next.`
        : before === 1 ? `${others}; 1 more comes before you.` : `${others}; ${before} more come before you.`;
}

function takeText(job, text) {
    const { message } = job;
    const now = performance.now();
    job.n++;
    job.first ??= now;
    message.text += text;
    message.state = "writing";
    const seconds = (now - job.first) / 1000;
    const speed = seconds > 0.5 ? (job.n - 1) / seconds : 0;
    message.stats = { n: job.n, speed, first: job.first - job.began, used: job.nPrompt + job.n };
}

function takeEvent(job, event) {
    const choice = event.choices?.[0];
    const progress = event.prompt_progress;
    if (event.queue) {
        job.message.progress = describePlace(event.queue.before);
        announce(job.message.progress);
    }
    if (progress?.total > 0) {
        job.nPrompt = progress.total;
        job.message.progress = `Reading, ${Math.floor((progress.processed / progress.total) * 100)} %`;
    }
    if (choice?.delta?.content) {
        takeText(job, choice.delta.content);
    }
    job.finish = choice?.finish_reason ?? job.finish;
    if (event.usage) {
        const speed = event.timings?.predicted_per_second ?? job.message.stats?.speed;
        job.message.stats = { ...job.message.stats, n: event.usage.completion_tokens, speed, used: event.usage.total_tokens };
    }
    showJob(job);
}

async function takeAnswer(job) {
    const response = await askForAnswer(job);
    for await (const event of readEvents(response, job.controller.signal)) {
        takeEvent(job, event);
    }
}

//-- end ---------------------------------------------------------------------------------------------------------------

function endWell(job) {
    const { message } = job;
    const isFull = job.finish === "length" && server.limit > 0 && message.stats?.used >= server.limit - 1;
    message.state = "done";
    if (isFull) {
        message.note = `The context of ${server.limit} tokens is full, so the answer ends here.`;
        message.action = canSkip(job.conversation) ? "skip" : undefined;
    } else if (job.finish === "length") {
        message.note = "The answer ends here because it reached the limit of tokens.";
    } else if (message.text.trim() === "") {
        message.note = "The model returned an empty answer.";
        message.action = "retry";
    }
}

function endBadly(job, error) {
    const { message, conversation, controller } = job;
    if (controller.signal.aborted) {
        message.state = "stopped";
        message.note = "Stopped.";
        countContext(conversation);
        return;
    }
    message.state = "failed";
    if (error.status === 400 && /context size/.test(error.message)) {
        message.note = `The conversation is longer than the model's context: ${error.message}.`;
        message.action = canSkip(conversation) ? "skip" : undefined;
    } else {
        message.note = error.message;
        message.action = error.status === 401 ? "key" : "retry";
    }
    if (error.status === 0) {
        watchServer();
    }
}

// Announces the end of the answer to a screen reader, which would read a growing text in pieces.
function announceEnd(message) {
    const view = messageViews.get(message);
    const text = view && message.state === "done" ? view.body.innerText : "";
    announce([text, message.note].filter(Boolean).join(" "));
}

function endJob(job) {
    const { conversation, message } = job;
    jobs.delete(conversation.id);
    delete message.progress;
    keepAnswer(job);
    updateMessage(message);
    updateList();
    if (conversation === current) {
        updateComposer();
        updateContext();
        followEnd();
        announceEnd(message);
    }
}

// Saves the answers when the page is hidden; it may come back.
function startLeaving() {
    addEventListener("pagehide", () => {
        jobs.forEach(keepAnswer);
        isLeaving = true;
    });
    addEventListener("pageshow", () => {
        isLeaving = false;
    });
}

// Answers the last message of a conversation without a running answer.
async function startAnswer(conversation) {
    const message = { role: "assistant", text: "", state: "waiting", progress: "Waiting for the model" };
    const now = performance.now();
    const job = { conversation, message, controller: new AbortController(), began: now, saved: now, n: 0, nPrompt: 0, finish: null };
    jobs.set(conversation.id, job);
    conversation.messages.push(message);
    keep(conversation);
    appendMessage(message);
    updateComposer();
    updateTitle();
    updateList();
    try {
        await takeAnswer(job);
        endWell(job);
    } catch (error) {
        endBadly(job, error);
    }
    endJob(job);
}

function stopAnswer(conversation) {
    const job = jobs.get(conversation.id);
    job?.controller.abort();
    return job !== undefined;
}

//-- actions of the reader ----------------------------------------------------------------------------------------------

function sendMessage(text) {
    const message = { role: "user", text };
    current.messages.push(message);
    appendMessage(message);
    startAnswer(current);
}

// Answers again from a place in the conversation. Offers to restore the messages that are deleted with it.
function answerFrom(at, lost) {
    const undo = cutMessages(current, at);
    showConversation(current);
    startAnswer(current);
    focusPrompt();
    if (lost) {
        showToast(lost, undo);
    }
}

function retryMessage(message) {
    const at = current.messages.indexOf(message);
    if (at >= 0 && !jobs.has(current.id)) {
        answerFrom(at, message.text.trim() !== "" && "The earlier answer was replaced.");
    }
}

function retryShorter(message) {
    if (skipOldTurns(current)) {
        retryMessage(message);
    }
}

async function retryWithKey(message) {
    if (await askForKey(true)) {
        retryMessage(message);
    }
}

// Counts the tokens of a conversation whose last answer was stopped or edited.
async function countContext(conversation) {
    const last = conversation.messages.at(-1);
    const body = { messages: messagesFor(conversation), add_generation_prompt: false };
    try {
        const { prompt } = await (await request("apply-template", body)).json();
        const { tokens } = await (await request("tokenize", { content: prompt })).json();
        if (last === conversation.messages.at(-1) && !jobs.has(conversation.id)) {
            last.stats = { ...last.stats, used: tokens.length };
            keepAnswer({ conversation, message: last });
        }
    } catch {
        // The server is unreachable or has no template: keep the number.
    }
    updateContext();
}

// Applies an edited text: an answer stays, a message is answered again.
function saveEdit(message, text) {
    const at = current.messages.indexOf(message);
    if (message.role === "assistant") {
        message.text = text;
        keep(current);
        updateMessage(message);
        countContext(current);
    } else if (at >= 0 && !jobs.has(current.id)) {
        const undo = cutMessages(current, at);
        current.messages.push({ role: "user", text });
        showConversation(current);
        startAnswer(current);
        focusPrompt();
        showToast("The message was changed, and the messages after it were deleted.", undo);
    }
}
