// Stores conversations and settings in the browser. If it refuses or is full, they last as long as the tab. Stored data
// may be damaged and is checked.

const STORE_PREFIX = "glinfer.";
const memory = new Map(); // data that the browser did not store

function readStored(name) {
    try {
        return JSON.parse(memory.get(name) ?? localStorage.getItem(STORE_PREFIX + name));
    } catch {
        return null;
    }
}

// Returns false if the value lasts only as long as the tab.
function writeStored(name, value) {
    const text = JSON.stringify(value);
    try {
        localStorage.setItem(STORE_PREFIX + name, text);
        memory.delete(name);
        return true;
    } catch {
        memory.set(name, text);
        return false;
    }
}

function removeStored(name) {
    memory.delete(name);
    try {
        localStorage.removeItem(STORE_PREFIX + name);
    } catch {
        // Then nothing was stored.
    }
}

//-- settings ----------------------------------------------------------------------------------------------------------

// Returns {system, theme, hidesSidebar, numbers: {name: number}}.
function readSettings() {
    const stored = readStored("settings") ?? {};
    const numbers = Object.entries(stored.numbers ?? {}).filter(([, value]) => Number.isFinite(value));
    return {
        system: typeof stored.system === "string" ? stored.system : "",
        theme: ["light", "dark"].includes(stored.theme) ? stored.theme : "system",
        hidesSidebar: stored.hidesSidebar === true,
        numbers: Object.fromEntries(numbers),
    };
}

const settings = readSettings();

function saveSettings() {
    writeStored("settings", settings);
}

//-- conversations -----------------------------------------------------------------------------------------------------

const opened = new Map(); // by id; a conversation that is being answered must stay the same object

function makeId() {
    return Date.now().toString(36) + Math.random().toString(36).slice(2, 8);
}

function isEntry(entry) {
    return typeof entry?.id === "string" && typeof entry.title === "string" && Number.isFinite(entry.changed);
}

// Returns [{id, title, changed}], newest first.
function readIndex() {
    const stored = readStored("index");
    return Array.isArray(stored) ? stored.filter(isEntry).sort((a, b) => b.changed - a.changed) : [];
}

function isMessage(message) {
    return ["user", "assistant"].includes(message?.role) && typeof message.text === "string";
}

function createConversation() {
    return { id: makeId(), title: "", isNamed: false, skip: 0, messages: [] };
}

// Returns a message after a reload: an unfinished one has stopped.
function restoreMessage(message) {
    const isOpen = ["waiting", "writing"].includes(message.state);
    return isOpen ? { ...message, state: "stopped", note: "The page was closed before the answer ended." } : message;
}

function loadConversation(id) {
    if (!opened.has(id)) {
        const stored = readStored(`chat.${id}`) ?? {};
        const messages = Array.isArray(stored.messages) ? stored.messages.filter(isMessage).map(restoreMessage) : [];
        opened.set(id, {
            id, title: typeof stored.title === "string" ? stored.title : "", isNamed: stored.isNamed === true,
            skip: Number.isInteger(stored.skip) ? stored.skip : 0, messages,
        });
    }
    return opened.get(id);
}

// Returns a title: the beginning of the first message.
function titleOf(conversation) {
    const first = conversation.messages.find((message) => message.role === "user")?.text ?? "";
    const line = first.trim().split("\n")[0];
    return line.length > 48 ? `${line.slice(0, 47).trimEnd()}…` : line || "Conversation";
}

// Returns false if it lasts only as long as the tab.
function saveConversation(conversation) {
    opened.set(conversation.id, conversation);
    if (!conversation.isNamed) {
        conversation.title = titleOf(conversation);
    }
    const { id, title, isNamed, skip, messages } = conversation;
    const others = readIndex().filter((entry) => entry.id !== id);
    const isKept = writeStored(`chat.${id}`, { title, isNamed, skip, messages });
    return writeStored("index", [{ id, title, changed: Date.now() }, ...others]) && isKept;
}

function removeConversation(id) {
    opened.delete(id);
    removeStored(`chat.${id}`);
    writeStored("index", readIndex().filter((entry) => entry.id !== id));
}
