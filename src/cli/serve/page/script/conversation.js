// Builds requests from conversations: the messages that are sent, and those that are left out.

// Returns the messages to send. A message without an answer is joined with the next one, since many templates want turns.
function messagesFor(conversation, end = conversation.messages.length) {
    const messages = settings.system.trim() ? [{ role: "system", content: settings.system.trim() }] : [];
    for (const { role, text } of conversation.messages.slice(conversation.skip, end)) {
        const last = messages.at(-1);
        if (last?.role === role) {
            last.content += `\n\n${text}`;
        } else if (text.trim() !== "") {
            messages.push({ role, content: text });
        }
    }
    return messages;
}

function requestFor(conversation, end) {
    return {
        ...(server.model && { model: server.model }), messages: messagesFor(conversation, end), ...settings.numbers,
        stream: true, stream_options: { include_usage: true }, return_progress: true, reasoning_format: "none",
    };
}

// Leaves out about half of the turns that were sent so far, at least one, but never the last. Returns false if no turn
// can be left out.
function skipOldTurns(conversation) {
    const { messages } = conversation;
    const middle = conversation.skip + Math.max(1, Math.ceil((messages.length - conversation.skip) / 2) - 1);
    const turns = messages.map((message, i) => (message.role === "user" ? i : -1)).filter((i) => i > conversation.skip);
    const next = turns.find((i) => i >= middle) ?? turns.at(-1);
    if (next === undefined) {
        return false;
    }
    conversation.skip = next;
    return true;
}

const canSkip = (conversation) => skipOldTurns({ ...conversation });

// Returns {thought, answer, isThinking} of the text of an answer. If the template opens the thought, the text has only
// its end.
function splitThought(text) {
    const open = /^\s*<think>/.exec(text);
    const end = text.indexOf("</think>");
    if (!open && end < 0) {
        return { thought: "", answer: text, isThinking: false };
    }
    const thought = text.slice(open ? open[0].length : 0, end < 0 ? text.length : end).trim();
    return { thought, answer: end < 0 ? "" : text.slice(end + "</think>".length).trimStart(), isThinking: end < 0 };
}
