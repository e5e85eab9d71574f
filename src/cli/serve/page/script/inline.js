// Markdown within a paragraph: code, emphasis, links, line breaks. Each reader looks at one place of a text and returns
// [node, end], or null for plain text.

const INLINE_DEPTH = 6; // of nested emphasis and links
const LABEL_LIMIT = 2000; // characters of a link's text, of its address, and of an emphasis

const isSpace = (c) => c === undefined || /\s/.test(c);
const isWord = (c) => c !== undefined && /[\p{L}\p{N}_]/u.test(c);

// Returns the length of the run of one character at a place.
function countRun(text, at) {
    let end = at;
    while (text[end] === text[at]) {
        end++;
    }
    return end - at;
}

// Returns the address if a click may open it; null otherwise.
function readAddress(text) {
    try {
        const address = new URL(text);
        return ["http:", "https:", "mailto:"].includes(address.protocol) ? address.href : null;
    } catch {
        return null;
    }
}

function makeLink(address, ...children) {
    return make("a", { href: address, title: address, target: "_blank", rel: "noopener noreferrer nofollow" }, ...children);
}

function readEscape(text, at) {
    return /[!-/:-@[-`{-~]/.test(text[at + 1] ?? "") ? [text[at + 1], at + 2] : null;
}

// Returns the place of the backticks that close a code span; -1 if they are missing.
function findCodeEnd(text, at, n) {
    for (let end = text.indexOf("`", at + n); end >= 0; end = text.indexOf("`", end)) {
        const run = countRun(text, end);
        if (run === n) {
            return end;
        }
        end += run;
    }
    return -1;
}

function readCode(text, at) {
    const n = countRun(text, at);
    const end = findCodeEnd(text, at, n);
    if (end < 0) {
        return ["`".repeat(n), at + n];
    }
    const code = text.slice(at + n, end).replaceAll("\n", " ");
    const isPadded = code.startsWith(" ") && code.endsWith(" ") && code.trim() !== "";
    return [make("code", {}, isPadded ? code.slice(1, -1) : code), end + n];
}

// Returns the place of the mark that closes an emphasis; -1 if it is missing.
function findCloser(text, from, mark) {
    for (let at = from; at < text.length && at - from < LABEL_LIMIT;) {
        if (text[at] === "\\") {
            at += 2;
        } else if (text[at] === "`") {
            const n = countRun(text, at);
            at = Math.max(findCodeEnd(text, at, n), at) + n;
        } else if (text[at] === mark[0]) {
            const run = countRun(text, at);
            const fits = run === mark.length || (run === 3 && mark.length < 3);
            const end = at + run;
            if (fits && at > from && !isSpace(text[at - 1]) && !(mark[0] === "_" && isWord(text[end]))) {
                return end - mark.length;
            }
            at = end;
        } else {
            at++;
        }
    }
    return -1;
}

function readEmphasis(text, at, depth) {
    const run = countRun(text, at);
    const n = text[at] === "~" ? 2 : Math.min(run, 2);
    const mark = text[at].repeat(n);
    const literal = [text.slice(at, at + run), at + run];
    if (run > 3 || run < n || isSpace(text[at + run]) || (text[at] === "_" && isWord(text[at - 1]))) {
        return literal;
    }
    const end = findCloser(text, at + n, mark);
    if (end < 0) {
        return literal;
    }
    const tag = mark === "~~" ? "del" : n === 2 ? "strong" : "em";
    return [make(tag, {}, renderInline(text.slice(at + n, end), depth + 1)), end + n];
}

// Returns the end of the text in brackets; -1 if no closing bracket is near.
function findPartner(text, at, open, close) {
    let level = 0;
    for (let i = at; i < text.length && i - at < LABEL_LIMIT; i++) {
        if (text[i] === "\\") {
            i++;
        } else if (text[i] === open) {
            level++;
        } else if (text[i] === close && --level === 0) {
            return i;
        }
    }
    return -1;
}

function readLink(text, at, depth) {
    const begin = text[at] === "!" ? at + 1 : at;
    const middle = text[begin] === "[" ? findPartner(text, begin, "[", "]") : -1;
    const end = middle >= 0 && text[middle + 1] === "(" ? findPartner(text, middle + 1, "(", ")") : -1;
    if (end < 0) {
        return null;
    }
    const target = text.slice(middle + 2, end).trim().split(/\s+/)[0].replace(/^<(.*)>$/, "$1");
    const address = readAddress(target);
    const label = text.slice(begin + 1, middle);
    // Pictures are not loaded: that would tell their host about the reader.
    const content = begin > at ? label || "picture" : renderInline(label, depth + 1);
    return address ? [makeLink(address, content), end + 1] : null;
}

function readAngle(text, at) {
    const found = /^<(?:(br) ?\/?|((?:https?:\/\/|mailto:)[^\s<>]{1,2000}))>/i.exec(text.slice(at, at + 2012));
    if (!found) {
        return null;
    }
    const address = found[2] && readAddress(found[2]);
    const node = found[1] ? make("br") : address ? makeLink(address, found[2]) : found[0];
    return [node, at + found[0].length];
}

function readBareAddress(text, at) {
    const found = isWord(text[at - 1]) ? null : /^https?:\/\/[^\s<>"'`]+/.exec(text.slice(at, at + LABEL_LIMIT));
    let end = found ? found[0].length : 0;
    while (end > 0 && /[.,;:!?*_~)\]]/.test(found[0][end - 1])) {
        if (found[0][end - 1] === ")" && found[0].slice(0, end).includes("(")) {
            break;
        }
        end--;
    }
    const address = found ? readAddress(found[0].slice(0, end)) : null;
    return address ? [makeLink(address, found[0].slice(0, end)), at + end] : null;
}

const INLINE_READERS = {
    "\\": readEscape, "`": readCode, "*": readEmphasis, "_": readEmphasis, "~": readEmphasis, "[": readLink, "!": readLink,
    "<": readAngle, "h": readBareAddress, "\n": (text, at) => [make("br"), at + 1],
};

// Returns a fragment with the content of a paragraph.
function renderInline(text, depth = 0) {
    const result = document.createDocumentFragment();
    let begin = 0;
    for (let at = 0; at < text.length;) {
        const read = INLINE_READERS[text[at]];
        const found = read && depth < INLINE_DEPTH ? read(text, at, depth) : null;
        if (found) {
            result.append(text.slice(begin, at), found[0]);
            begin = at = found[1];
        } else {
            at++;
        }
    }
    result.append(text.slice(begin));
    return result;
}
