// The list of conversations and its side panel: next to the thread, or over it on a narrow screen.

const narrow = matchMedia("(max-width: 760px)");

function openConversation(id) {
    showConversation(loadConversation(id));
    closeDrawer();
    focusPrompt();
}

// Deletes a conversation and offers to undo that.
function deleteConversation(entry) {
    const conversation = loadConversation(entry.id);
    stopAnswer(conversation);
    removeConversation(entry.id);
    if (current.id === entry.id) {
        showConversation(createConversation());
    } else {
        updateList();
    }
    showToast(`“${entry.title}” was deleted.`, () => {
        keep(conversation);
        showConversation(conversation);
    });
    byId("toast-undo").focus();
}

function renameConversation(entry, item) {
    const input = make("input", { type: "text", "aria-label": "Name of the conversation", maxlength: "80" });
    let isOver = false;
    const end = (isSaved) => {
        if (isOver) {
            return;
        }
        isOver = true;
        input.remove();
        const conversation = loadConversation(entry.id);
        if (isSaved && input.value.trim() !== "") {
            Object.assign(conversation, { title: input.value.trim(), isNamed: true });
            keep(conversation);
        }
        updateList();
        updateTitle();
        byId("list").querySelector(`[data-id="${CSS.escape(entry.id)}"] .open`)?.focus();
    };
    input.value = entry.title;
    input.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === "Escape") {
            event.stopPropagation();
            end(event.key === "Enter");
        }
    });
    input.addEventListener("blur", () => end(true));
    item.replaceChildren(input);
    input.select();
}

function makeListItem(entry) {
    const isCurrent = entry.id === current.id;
    const open = make("button", {
        type: "button", class: "open", "aria-current": isCurrent ? "page" : null, title: entry.title,
        onclick: () => openConversation(entry.id),
    }, entry.title);
    const item = make("li", { "data-id": entry.id, class: jobs.has(entry.id) ? "is-busy" : null }, open);
    item.append(makeIconButton("edit", `Rename “${entry.title}”`, () => renameConversation(entry, item)),
        makeIconButton("delete", `Delete “${entry.title}”`, () => deleteConversation(entry)));
    return item;
}

// Redraws the list, except during a rename.
function updateList() {
    if (byId("list").querySelector("input")) {
        return;
    }
    const focused = document.activeElement?.closest?.("#list li")?.dataset.id;
    byId("list").replaceChildren(...readIndex().map(makeListItem));
    if (focused) {
        byId("list").querySelector(`[data-id="${CSS.escape(focused)}"] .open`)?.focus();
    }
}

//-- the side ----------------------------------------------------------------------------------------------------------

function showSidebar(isShown) {
    const isDrawer = narrow.matches && isShown;
    document.body.classList.toggle("has-sidebar", isShown);
    byId("open-sidebar").setAttribute("aria-expanded", String(isShown));
    byId("shade").hidden = !isDrawer;
    byId("main").inert = isDrawer;
    byId("sidebar").inert = !isShown;
}

function closeDrawer() {
    if (narrow.matches) {
        showSidebar(false);
    }
}

function toggleSidebar(isShown) {
    showSidebar(isShown);
    if (!narrow.matches) {
        settings.hidesSidebar = !isShown;
        saveSettings();
    }
    byId(isShown ? "close-sidebar" : "open-sidebar").focus();
}

function startSidebar() {
    const fit = () => showSidebar(!narrow.matches && !settings.hidesSidebar);
    byId("open-sidebar").onclick = () => toggleSidebar(true);
    byId("close-sidebar").onclick = () => toggleSidebar(false);
    byId("shade").onclick = () => toggleSidebar(false);
    narrow.addEventListener("change", fit);
    fit();
}
