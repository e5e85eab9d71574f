// Tells what happens beside the conversation: a line at the top while something is wrong, a line at the bottom for what
// was removed and can be had back.

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

// Shows a text, with a button that undoes if `undo` is given.
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

// Tells once that what is written now will not be there tomorrow.
function warnOfStorage() {
    if (!warnOfStorage.isDone) {
        warnOfStorage.isDone = true;
        showToast("The browser has no room for this conversation, or keeps nothing: it lasts as long as this tab.");
    }
}

function keep(conversation) {
    if (!saveConversation(conversation)) {
        warnOfStorage();
    }
}
