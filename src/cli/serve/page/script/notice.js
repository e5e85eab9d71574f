// Shows notices next to the conversation: a line at the top while there is a problem, a line at the bottom for a removal
// that can be undone.

const TOAST_MS = 8000;
let toastTimer = 0;

function showBanner(text) {
    const banner = byId("banner");
    if (banner.textContent !== text) {
        banner.textContent = text;
    }
    banner.hidden = text === "";
}

function hideToast() {
    byId("toast").hidden = true;
}

// Stays while the keyboard or the pointer is on it.
function hideToastLater() {
    clearTimeout(toastTimer);
    toastTimer = setTimeout(() => {
        if (byId("toast").matches(":hover, :has(:focus-visible)")) {
            hideToastLater();
        } else {
            hideToast();
        }
    }, TOAST_MS);
}

// Shows a text, with an undo button if `undo` is given.
function showToast(text, undo) {
    const button = byId("toast-undo");
    byId("toast").hidden = false;
    byId("toast-text").textContent = text;
    button.hidden = !undo;
    button.onclick = () => {
        hideToast();
        undo();
        focusPrompt();
    };
    hideToastLater();
}

// Warns once that conversations are not stored.
function warnOfStorage() {
    if (!warnOfStorage.isDone) {
        warnOfStorage.isDone = true;
        showToast("The browser cannot store this conversation: it is lost when this tab is closed.");
    }
}

function keep(conversation) {
    if (!saveConversation(conversation)) {
        warnOfStorage();
    }
}
