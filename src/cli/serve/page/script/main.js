// Starts the page: the state of the server, the keyboard, and changes in other tabs.

const WATCH_MS = 2000;

const SUGGESTIONS = [
    "Explain in three sentences how a rainbow forms.",
    "Write a short poem about a lighthouse in the fog.",
    "Write a Python function that counts the words of a text.",
    "Which five things belong in a first-aid kit?",
];

const NO_CHAT = "The microphone writes what you say. This server has no language model that answers: start it with -m for that.";

//-- the server --------------------------------------------------------------------------------------------------------

let watching = false;

function showServer(props, model) {
    const settingsOf = props.default_generation_settings ?? {};
    const slots = props.total_slots ?? 1;
    const place = props.is_software ? "It runs on the CPU, slowly: no GPU was found." : props.device ? `It runs on ${props.device}.` : "";
    Object.assign(server, { limit: settingsOf.n_ctx ?? 0, defaults: settingsOf.params ?? {}, name: model.replace(/\.gguf$/i, ""), slots });
    byId("model").textContent = server.name;
    byId("model").title = server.name;
    byId("welcome-model").textContent = server.name;
    byId("welcome-verb").textContent = slots === 0 ? "Speak to" : "Talk to";
    byId("welcome-device").textContent = slots === 0 ? `${place} ${NO_CHAT}`.trim() : `${place} Its context has ${server.limit} tokens.`.trim();
    byId("suggestions").hidden = slots === 0;
    byId("about").textContent = [`glinfer ${props.build_info ?? ""}`, server.name, props.device,
        slots === 0 ? "speech alone" : slots === 1 ? "1 answer at a time" : `${slots} answers at a time`].filter(Boolean).join(" · ");
    showMicrophone(Boolean(props.speech_model));
    updateContext();
    updateComposer();
}

// Lets the reader choose among several models. Returns the one that was chosen last, or the first; undefined without models.
function showModels(models) {
    const stored = readStored("model");
    const model = models.find(({ id }) => id === stored) ?? models[0];
    byId("models").replaceChildren(...models.map(({ id }) => make("option", { value: id, selected: id === model.id }, id)));
    byId("models").hidden = models.length === 0;
    byId("model").hidden = models.length > 0;
    return model;
}

// Shows a server with several models, which are loaded by the first question to them.
function showRouter(props, models) {
    const texts = models.filter((model) => model.architecture.input_modalities.includes("text"));
    const model = showModels(texts);
    server.model = model?.id;
    showServer({ ...props, total_slots: texts.length > 0 ? 1 : 0, default_generation_settings: { n_ctx: model?.meta.n_ctx },
        speech_model: texts.length < models.length }, model?.id ?? "no model");
}

// Returns true once the state of the server is known.
async function loadServer() {
    try {
        await request("health");
        const props = await (await request("props")).json();
        const models = (await (await request("v1/models")).json()).data ?? [];
        if (props.role === "router") {
            showRouter(props, models);
        } else {
            showServer(props, models[0]?.id ?? props.model_alias ?? "model");
        }
        showBanner("");
        return true;
    } catch (error) {
        if (error.status === 401) {
            showBanner("This server needs an API key.");
            return (await askForKey(true)) ? loadServer() : true;
        }
        showBanner(error.status === 503 ? "The model is loading…" : `${error.message} This page tries again…`);
        return false;
    }
}

// Retries until the server replies; one request at a time.
async function watchServer() {
    if (watching) {
        return;
    }
    watching = true;
    while (!(await loadServer())) {
        await new Promise((resolve) => setTimeout(resolve, WATCH_MS));
    }
    watching = false;
}

//-- the composer ------------------------------------------------------------------------------------------------------

function submitPrompt() {
    const prompt = byId("prompt");
    const text = prompt.value.trim();
    if (!stopRecording() && !dictation && text !== "" && !jobs.has(current.id) && server.slots > 0) {
        prompt.value = "";
        growField(prompt);
        sendMessage(text);
        prompt.focus();
    }
}

function startComposer() {
    const prompt = byId("prompt");
    prompt.addEventListener("input", () => {
        growField(prompt);
        updateComposer();
    });
    prompt.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
            event.preventDefault();
            submitPrompt();
        }
    });
    byId("composer").addEventListener("submit", (event) => {
        event.preventDefault();
        submitPrompt();
    });
    byId("stop").onclick = () => {
        stopAnswer(current);
        focusPrompt();
    };
}

// Esc closes the drawer, drops a dictation, or stops the answer.
function startKeyboard() {
    document.addEventListener("keydown", (event) => {
        if (event.key !== "Escape" || document.querySelector("dialog[open]")) {
            return;
        }
        if (!byId("shade").hidden) {
            toggleSidebar(false);
        } else if (!cancelDictation()) {
            stopAnswer(current);
        }
    });
}

function startWelcome() {
    byId("suggestions").append(...SUGGESTIONS.map((text) =>
        make("li", {}, make("button", { type: "button", onclick: () => sendMessage(text) }, text))));
}

function startModels() {
    byId("models").onchange = ({ target }) => {
        writeStored("model", target.value);
        loadServer();
    };
}

function startNew() {
    for (const id of ["new", "new-small"]) {
        byId(id).onclick = () => {
            closeDrawer();
            showNewConversation();
        };
    }
}

//-- other tabs, and the end -------------------------------------------------------------------------------------------

// Applies the changes of another tab, except to conversations that are being answered here.
function takeChange(event) {
    const id = event.key?.startsWith(`${STORE_PREFIX}chat.`) ? event.key.slice(STORE_PREFIX.length + 5) : null;
    if (id && !jobs.has(id)) {
        opened.delete(id);
        if (id === current.id && event.newValue !== null) {
            showConversation(loadConversation(id));
        }
    }
    updateList();
}

function start() {
    startTheme();
    startSidebar();
    startSettings();
    startKey();
    startComposer();
    startKeyboard();
    startWelcome();
    startNew();
    startModels();
    byId("scroll").addEventListener("scroll", noteScroll, { passive: true });
    new ResizeObserver(followEnd).observe(byId("scroll"));
    byId("to-end").onclick = () => {
        scrollToEnd();
        focusPrompt();
    };
    addEventListener("storage", takeChange);
    startLeaving();
    const newest = readIndex()[0];
    showConversation(newest ? loadConversation(newest.id) : createConversation());
    focusPrompt();
    watchServer();
}

start();
