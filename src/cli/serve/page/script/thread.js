// Shows the open conversation, and follows its growing end unless the reader has scrolled up.

const END_DISTANCE = 60; // pixels from the end that count as at the end

let current = createConversation(); // the conversation that is shown
let follows = true;
let lastTop = 0; // last scroll position of the thread

function scrollToEnd() {
    const scroll = byId("scroll");
    scroll.scrollTop = scroll.scrollHeight;
}

// Stops following when the reader scrolls up, and resumes at the end. Growth below changes nothing.
function noteScroll() {
    const { scrollTop, scrollHeight, clientHeight } = byId("scroll");
    const isAtEnd = scrollHeight - scrollTop - clientHeight < END_DISTANCE;
    follows = isAtEnd || (follows && scrollTop >= lastTop);
    lastTop = scrollTop;
    byId("to-end").hidden = follows || current.messages.length === 0;
}

function followEnd() {
    if (follows) {
        scrollToEnd();
    }
    noteScroll();
}

// Shows how much of the context is used, by the last answer that tells.
function updateContext() {
    const used = current.messages.findLast((message) => message.stats?.used)?.stats.used;
    const limit = server.limit;
    const isNear = used && limit && used > limit * 0.85;
    byId("context").textContent = used && limit ? `${Math.min(used, limit)} of ${limit} tokens of context used` : "";
    byId("context").classList.toggle("is-near", Boolean(isNear));
}

function updateComposer() {
    const isBusy = jobs.has(current.id);
    byId("stop").hidden = !isBusy;
    byId("send").hidden = isBusy;
    byId("send").disabled = dictation !== null || byId("prompt").value.trim() === "" || server.slots === 0;
}

function updateTitle() {
    const title = current.messages.length > 0 ? `${current.title} - glinfer` : "glinfer";
    if (document.title !== title) {
        document.title = title;
    }
}

// Returns the line above the first message that is still sent.
function makeSkipMark() {
    return make("p", { class: "skip-mark" }, "Messages above are no longer sent to the model");
}

function showConversation(conversation) {
    current = conversation;
    const elements = conversation.messages.map(createMessageView);
    if (conversation.skip > 0 && conversation.skip < elements.length) {
        elements.splice(conversation.skip, 0, makeSkipMark());
    }
    byId("thread").replaceChildren(...elements);
    byId("welcome").hidden = elements.length > 0;
    updateContext();
    updateComposer();
    updateTitle();
    updateList();
    follows = true;
    followEnd();
}

function showNewConversation() {
    showConversation(createConversation());
    focusPrompt();
}

// Adds a message at the end of the thread.
function appendMessage(message) {
    byId("welcome").hidden = true;
    byId("thread").append(createMessageView(message));
    follows = true;
    followEnd();
}

// Removes messages from a place on, and offers to undo that.
function cutMessages(conversation, at) {
    const before = { messages: [...conversation.messages], skip: conversation.skip };
    conversation.messages.length = at;
    conversation.skip = conversation.skip < at ? conversation.skip : 0;
    return () => {
        stopAnswer(conversation);
        conversation.messages.splice(0, Infinity, ...before.messages);
        conversation.skip = before.skip;
        keep(conversation);
        showConversation(conversation);
    };
}
