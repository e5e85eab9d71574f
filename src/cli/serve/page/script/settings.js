// The settings, the colours and the key of the server.

// Numbers of a request. An empty field means the server's value, which is shown in grey.
const NUMBERS = [
    { name: "temperature", label: "Temperature", hint: "0 takes the likeliest token, more is more varied", min: 0, max: 5, step: "any" },
    { name: "top_k", label: "Top-k", hint: "Only the k most likely tokens; 0 = all", min: 0, max: 1 << 24, step: 1 },
    { name: "top_p", label: "Top-p", hint: "The most likely tokens up to this total probability", min: 0, max: 1, step: "any" },
    { name: "min_p", label: "Min-p", hint: "Drop tokens less likely than this share of the top one", min: 0, max: 1, step: "any" },
    { name: "max_tokens", label: "Max tokens", hint: "Length of an answer", min: 1, max: 1 << 24, step: 1 },
    { name: "seed", label: "Seed", hint: "The same seed gives the same answer", min: 0, max: Number.MAX_SAFE_INTEGER, step: 1 },
];

// Shows the meaning of a field or, if its value is invalid, the valid values.
function showHint(input, { hint, min, max, step }) {
    const isGood = input.validity.valid;
    const limits = `${step === 1 ? "a whole number, " : ""}${min} to ${max}`;
    const element = byId(`hint-${input.name}`);
    input.setAttribute("aria-invalid", String(!isGood));
    element.classList.toggle("is-bad", !isGood);
    element.textContent = isGood ? hint : `Invalid: enter ${limits}`;
}

// Applies a valid value; an invalid one leaves the setting unchanged.
function takeNumber(input, number) {
    showHint(input, number);
    if (input.validity.valid && input.value !== "") {
        settings.numbers[input.name] = input.valueAsNumber;
    } else if (input.validity.valid) {
        delete settings.numbers[input.name];
    }
    saveSettings();
}

// Returns false and focuses the field if a value is invalid.
function checkNumbers() {
    const wrong = byId("numbers").querySelector("[aria-invalid=true]");
    wrong?.focus();
    return !wrong;
}

function makeNumberField(number) {
    const { name, label, hint, min, max, step } = number;
    const input = make("input", {
        type: "number", id: `number-${name}`, name, min, max, step, "aria-describedby": `hint-${name}`, inputmode: "decimal",
        oninput: () => takeNumber(input, number),
    });
    return make("div", { class: "field" }, make("label", { for: `number-${name}` }, label), input,
        make("span", { class: "hint", id: `hint-${name}` }, hint));
}

// Shows the current settings, and the defaults of the server for empty fields.
function fillSettings() {
    byId("system").value = settings.system;
    byId("theme-choice").value = settings.theme;
    for (const number of NUMBERS) {
        const { name } = number;
        const input = byId(`number-${name}`);
        const given = name === "max_tokens" ? server.defaults.n_predict : server.defaults[name];
        input.value = settings.numbers[name] ?? "";
        showHint(input, number);
        input.placeholder = given >= 0 ? String(Number(given.toPrecision(4))) : name === "seed" ? "random" : name === "max_tokens" ? "no limit" : "";
    }
}

function resetSettings() {
    Object.assign(settings, { system: "", theme: "system", numbers: {} });
    saveSettings();
    applyTheme();
    fillSettings();
    announce("Settings reset");
}

function deleteAll() {
    const conversations = readIndex().map((entry) => loadConversation(entry.id));
    byId("settings").close();
    conversations.forEach((conversation) => {
        stopAnswer(conversation);
        removeConversation(conversation.id);
    });
    showConversation(createConversation());
    showToast(conversations.length === 1 ? "1 conversation was deleted." : `${conversations.length} conversations were deleted.`, () => {
        conversations.reverse().forEach(keep);
        updateList();
    });
}

// Saves all conversations as a file of JSON.
function exportAll() {
    const conversations = readIndex().map((entry) => {
        const messages = loadConversation(entry.id).messages.map(({ role, text }) => ({ role, content: text }));
        return { title: entry.title, changed: new Date(entry.changed).toISOString(), messages };
    });
    const address = URL.createObjectURL(new Blob([JSON.stringify(conversations, null, 2)], { type: "application/json" }));
    make("a", { href: address, download: "conversations.json" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
}

// Closes the settings on a click outside.
function closeByClick(dialog) {
    dialog.addEventListener("click", (event) => {
        const box = dialog.getBoundingClientRect();
        const isInside = event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
        if (event.target === dialog && !isInside && checkNumbers()) {
            dialog.close();
        }
    });
}

function startSettings() {
    byId("numbers").append(...NUMBERS.map(makeNumberField));
    byId("open-settings").onclick = () => {
        fillSettings();
        byId("settings").showModal();
        byId("settings-title").focus();
    };
    byId("system").addEventListener("input", () => {
        settings.system = byId("system").value;
        saveSettings();
    });
    byId("theme-choice").onchange = () => setTheme(byId("theme-choice").value);
    byId("settings").addEventListener("submit", (event) => {
        if (!checkNumbers()) {
            event.preventDefault();
        }
    });
    byId("change-key").onclick = () => askForKey(false);
    byId("export").onclick = exportAll;
    byId("reset").onclick = resetSettings;
    byId("delete-all").onclick = deleteAll;
    closeByClick(byId("settings"));
}

//-- colours -----------------------------------------------------------------------------------------------------------

const systemDark = matchMedia("(prefers-color-scheme: dark)");

function applyTheme() {
    const isDark = settings.theme === "dark" || (settings.theme === "system" && systemDark.matches);
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
    setIcon(byId("theme"), isDark ? "light" : "dark");
    setLabel(byId("theme"), isDark ? "Light colours" : "Dark colours");
}

function setTheme(theme) {
    settings.theme = theme;
    saveSettings();
    applyTheme();
}

function startTheme() {
    byId("theme").onclick = () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    systemDark.addEventListener("change", applyTheme);
    applyTheme();
}

//-- the key -----------------------------------------------------------------------------------------------------------

let keyAnswer = null; // the open question, as a promise

// Returns true if a key was entered. isRefused: the server requires one. Callers share an open question.
function askForKey(isRefused) {
    keyAnswer ??= new Promise((resolve) => {
        const dialog = byId("key-dialog");
        byId("key").value = readKey();
        byId("key-hint").textContent = !isRefused ? "The key that this page sends to the server."
            : readKey() ? "Wrong key. Enter another one." : "This server needs an API key.";
        dialog.returnValue = "";
        dialog.onclose = () => {
            keyAnswer = null;
            resolve(dialog.returnValue === "use");
        };
        dialog.showModal();
        byId("key").select();
    });
    return keyAnswer;
}

function startKey() {
    byId("cancel-key").onclick = () => byId("key-dialog").close("");
    byId("key-form").addEventListener("submit", (event) => {
        event.preventDefault();
        writeKey(byId("key").value.trim(), byId("keep-key").checked);
        byId("key").value = "";
        byId("key-dialog").close("use");
        watchServer();
    });
}
