// Builds the elements of the page. Text only becomes text nodes: nothing in this page parses HTML, and the policy of the
// page (require-trusted-types-for) makes the browser refuse it.

const byId = (id) => document.getElementById(id);

// Returns an element with attributes, listeners (names that begin with "on") and children: elements and texts.
function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (name.startsWith("on")) {
            element.addEventListener(name.slice(2), value);
        } else if (value !== null && value !== undefined && value !== false) {
            element.setAttribute(name, value === true ? "" : value);
        }
    }
    element.append(...children);
    return element;
}

// Returns an icon of page.html; its button has the name.
function makeIcon(name) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
    svg.setAttribute("class", "icon");
    svg.setAttribute("aria-hidden", "true");
    use.setAttribute("href", `#icon-${name}`);
    svg.append(use);
    return svg;
}

function setIcon(button, name) {
    button.querySelector("use").setAttribute("href", `#icon-${name}`);
}

function setLabel(button, label) {
    button.setAttribute("aria-label", label);
    button.title = label;
}

function makeIconButton(name, label, onclick) {
    return make("button", { type: "button", class: "icon-button", "aria-label": label, title: label, onclick }, makeIcon(name));
}

// Focuses the field for a message, except where that would open an on-screen keyboard.
function focusPrompt() {
    if (!matchMedia("(pointer: coarse)").matches) {
        byId("prompt").focus();
    }
}

// Announces a text to a screen reader. A repeated text is altered, since only changes are announced.
function announce(text) {
    const announcer = byId("announcer");
    announcer.textContent = announcer.textContent === text ? `${text}\u00a0` : text;
}

// Copies through a selection, which also works over plain HTTP.
function copyBySelection(text) {
    const area = make("textarea", { class: "unseen", readonly: true, "aria-hidden": "true" });
    const before = document.activeElement;
    area.value = text;
    document.body.append(area);
    area.select();
    const isDone = document.execCommand("copy");
    area.remove();
    before?.focus();
    return isDone;
}

async function copyText(text) {
    try {
        await navigator.clipboard.writeText(text);
        return true;
    } catch {
        return copyBySelection(text);
    }
}

// Returns a button that copies the result of `read` and confirms it for a moment.
function makeCopyButton(label, read) {
    const button = makeIconButton("copy", label, async () => {
        const isDone = await copyText(read());
        announce(isDone ? "Copied" : "The browser does not allow copying");
        setIcon(button, isDone ? "done" : "close");
        setTimeout(() => setIcon(button, "copy"), 1500);
    });
    return button;
}
