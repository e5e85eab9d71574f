// Shows a message. A message is {role, text, state, progress, note, action, stats}: state is "waiting", "writing",
// "done", "stopped" or "failed"; note is a sentence below the text, action the button beside it.

const messageViews = new WeakMap(); // by message

const isOpenState = (message) => message.state === "waiting" || message.state === "writing";

const ACTIONS = {
    retry: ["Try again", (message) => retryMessage(message)],
    skip: ["Retry without the oldest messages", (message) => retryShorter(message)],
    key: ["Enter the key", (message) => retryWithKey(message)],
};

// Returns texts and elements with the length and the speed of an answer.
function describeStats(stats) {
    const result = [];
    if (stats?.n) {
        result.push(stats.n === 1 ? "1 token" : `${stats.n} tokens`);
    }
    if (stats?.speed > 0) {
        result.push(` · ${stats.speed.toFixed(stats.speed < 10 ? 2 : 1)} tokens/s`);
    }
    if (stats?.first >= 0) {
        result.push(make("span", { class: "first" }, ` · first after ${(stats.first / 1000).toFixed(2)} s`));
    }
    return result;
}

function makeActions(message) {
    const isUser = message.role === "user";
    const copy = makeCopyButton(isUser ? "Copy message" : "Copy answer", () =>
        (isUser ? message.text : splitThought(message.text).answer));
    const edit = makeIconButton("edit", isUser ? "Edit message" : "Edit answer", () => editMessage(message));
    const retry = isUser ? [] : [makeIconButton("retry", "Answer again", () => retryMessage(message))];
    return make("div", { class: "actions", role: "group", "aria-label": isUser ? "Your message" : "Answer" }, copy, ...retry, edit);
}

function makeThought() {
    const summary = make("summary", {}, "Thought");
    const content = make("div", { class: "markdown" });
    return Object.assign(make("details", { class: "thought", hidden: true }, summary, content), { summary, content });
}

// Returns the element of a message, and keeps its pieces.
function createMessageView(message) {
    const isUser = message.role === "user";
    const view = {
        body: make("div", { class: isUser ? "body" : "body markdown", dir: "auto" }),
        thought: makeThought(),
        progress: make("p", { class: "progress" }),
        note: make("p", { class: "note" }),
        stats: make("span", { class: "stats" }),
        actions: makeActions(message),
    };
    const foot = make("div", { class: "message-foot" }, view.stats, view.actions);
    const pieces = isUser ? [view.body] : [view.thought, view.body, view.progress, view.note];
    view.element = make("article", { class: `message ${message.role}`, "aria-label": isUser ? "You" : "Model" }, ...pieces, foot);
    messageViews.set(message, view);
    updateMessage(message);
    return view.element;
}

function updateThought(view, { thought, isThinking }, isOpen) {
    view.thought.hidden = thought === "" && !isThinking;
    view.thought.summary.textContent = isThinking && isOpen ? "Thinking…" : "Thought";
    showMarkdown(view.thought.content, thought);
}

function updateNote(view, message) {
    const action = ACTIONS[message.action];
    view.note.hidden = !message.note;
    view.note.replaceChildren(message.note ?? "");
    view.note.classList.toggle("is-bad", message.state === "failed");
    if (action) {
        view.note.append(" ", make("button", { type: "button", class: "button", onclick: () => action[1](message) }, action[0]));
    }
}

function updateMessage(message) {
    const view = messageViews.get(message);
    if (!view || view.isEdited) {
        return;
    }
    const isOpen = isOpenState(message);
    if (message.role === "user") {
        showPlain(view.body, message.text);
    } else {
        const parts = splitThought(message.text);
        updateThought(view, parts, isOpen);
        showMarkdown(view.body, parts.answer);
    }
    view.element.classList.toggle("is-writing", message.state === "writing");
    view.element.setAttribute("aria-busy", String(isOpen));
    view.progress.hidden = message.state !== "waiting";
    view.progress.textContent = message.progress ?? "";
    view.actions.hidden = isOpen;
    view.stats.replaceChildren(...describeStats(message.stats));
    updateNote(view, message);
}

//-- edit --------------------------------------------------------------------------------------------------------------

// Fits the height of a text field to its text.
function growField(field) {
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight + 2}px`;
}

function closeEditor(message) {
    const view = messageViews.get(message);
    view.isEdited = false;
    view.editor.remove();
    view.body.hidden = false;
    view.element.classList.remove("is-edited");
    updateMessage(message);
    view.actions.querySelector(`[aria-label^="Edit"]`)?.focus();
}

function makeEditor(message) {
    const isUser = message.role === "user";
    const field = make("textarea", { "aria-label": isUser ? "Edited message" : "Edited answer", rows: "2" });
    const save = () => {
        const text = field.value;
        if (text.trim() !== "") {
            closeEditor(message);
            saveEdit(message, text);
        }
    };
    field.value = message.text;
    field.addEventListener("input", () => growField(field));
    field.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && !event.shiftKey && !event.isComposing && isUser) {
            event.preventDefault();
            save();
        } else if (event.key === "Escape") {
            event.stopPropagation();
            closeEditor(message);
        }
    });
    const cancel = make("button", { type: "button", class: "button", onclick: () => closeEditor(message) }, "Cancel");
    const done = make("button", { type: "button", class: "button primary", onclick: save }, isUser ? "Send" : "Save");
    return Object.assign(make("div", { class: "editor" }, field, make("div", { class: "row end" }, cancel, done)), { field });
}

function editMessage(message) {
    const view = messageViews.get(message);
    if (jobs.has(current.id) || view.isEdited) {
        return;
    }
    view.isEdited = true;
    view.editor = makeEditor(message);
    view.body.hidden = true;
    view.actions.hidden = true;
    view.element.classList.add("is-edited");
    view.body.after(view.editor);
    growField(view.editor.field);
    view.editor.field.focus();
}
