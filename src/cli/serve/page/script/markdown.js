// Blocks of Markdown: paragraphs, headings, lists, quotes, tables, code. A text becomes a list of blocks with their
// source, so that only changed blocks of a growing text are redrawn.

const BLOCK_DEPTH = 6; // of nested lists and quotes

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^`\s]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+|$)/;
const RULE = /^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^([ \t]*)([-*+]|\d{1,9}[.)])([ \t]+|$)/;

const isBlank = (line) => line === undefined || line.trim() === "";

function indentOf(line) {
    const space = /^[ \t]*/.exec(line)[0];
    return space.replaceAll("\t", "    ").length;
}

// Removes up to n columns of space.
function dedent(line, n) {
    const indent = Math.min(n, indentOf(line));
    return line.replace(/^[ \t]*/, (space) => space.replaceAll("\t", "    ").slice(indent));
}

//-- readers: each returns [block, next line], or null -----------------------------------------------------------------

function readFence(lines, at) {
    const fence = FENCE.exec(lines[at]);
    if (!fence) {
        return null;
    }
    const indent = indentOf(lines[at]);
    const mark = fence[1];
    const isEnd = (line) => line.trim().length >= mark.length && line.trim() === mark[0].repeat(line.trim().length);
    let end = at + 1;
    while (end < lines.length && !isEnd(lines[end])) {
        end++;
    }
    const code = lines.slice(at + 1, end).map((line) => dedent(line, indent)).join("\n");
    return [{ kind: "code", language: fence[2], code }, Math.min(end + 1, lines.length)];
}

function readHeading(lines, at) {
    const found = HEADING.exec(lines[at]);
    if (!found) {
        return null;
    }
    const words = lines[at].slice(found[0].length).trim().split(" ");
    if (/^#+$/.test(words.at(-1))) {
        words.pop();
    }
    return [{ kind: "heading", level: found[1].length, text: words.join(" ") }, at + 1];
}

function readRule(lines, at) {
    return RULE.test(lines[at]) ? [{ kind: "rule" }, at + 1] : null;
}

function readQuote(lines, at, depth) {
    let end = at;
    while (end < lines.length && QUOTE.test(lines[end])) {
        end++;
    }
    const inner = lines.slice(at, end).map((line) => line.replace(QUOTE, ""));
    return end > at ? [{ kind: "quote", blocks: parseBlocks(inner, depth + 1) }, end] : null;
}

// Returns the cells of a row. A bar after a backslash does not separate cells.
function splitRow(line) {
    const cells = [""];
    const text = line.trim().replace(/^\|/, "");
    for (let i = 0; i < text.length; i++) {
        if (text[i] === "\\" && text[i + 1] === "|") {
            cells[cells.length - 1] += text[++i];
        } else if (text[i] === "|") {
            cells.push("");
        } else {
            cells[cells.length - 1] += text[i];
        }
    }
    if (cells.length > 1 && cells.at(-1).trim() === "") {
        cells.pop();
    }
    return cells.map((cell) => cell.trim());
}

function alignmentOf(cell) {
    return cell.startsWith(":") && cell.endsWith(":") ? "center" : cell.endsWith(":") ? "right" : "";
}

function readTable(lines, at) {
    const borders = lines[at].includes("|") && lines[at + 1]?.includes("-") ? splitRow(lines[at + 1]) : [];
    const head = splitRow(lines[at]);
    if (borders.length !== head.length || !borders.every((cell) => /^:?-+:?$/.test(cell))) {
        return null;
    }
    const rows = [];
    let end = at + 2;
    while (end < lines.length && lines[end].includes("|")) {
        rows.push(splitRow(lines[end++]));
    }
    return [{ kind: "table", head, rows, alignments: borders.map(alignmentOf) }, end];
}

const isOrdered = (item) => /\d/.test(item[2]);

// Returns true if a line without indent ends the item of a list.
function endsItem(line, wasBlank) {
    return wasBlank || HEADING.test(line) || FENCE.test(line) || QUOTE.test(line) || RULE.test(line);
}

// Returns the lines of an item without their indent, and the next line.
function readItem(lines, at) {
    const item = ITEM.exec(lines[at]);
    const outer = indentOf(lines[at]);
    const inner = outer + item[2].length + Math.min(Math.max(item[3].length, 1), 4);
    const own = [lines[at].slice(item[0].length)];
    let end = at + 1;
    for (; end < lines.length; end++) {
        const line = lines[end];
        const isInside = indentOf(line) >= outer + 2;
        if (!isBlank(line) && !isInside && (ITEM.test(line) || endsItem(line, isBlank(lines[end - 1])))) {
            break;
        }
        own.push(dedent(line, inner));
    }
    return [own, end];
}

function readList(lines, at, depth) {
    const first = ITEM.exec(lines[at]);
    if (!first || isBlank(lines[at].slice(first[0].length))) {
        return null;
    }
    const block = { kind: "list", isOrdered: isOrdered(first), start: parseInt(first[2], 10), items: [] };
    let end = at;
    for (let item = first; item && isOrdered(item) === block.isOrdered && !RULE.test(lines[end]);) {
        const [own, next] = readItem(lines, end);
        block.items.push(parseBlocks(own, depth + 1));
        end = next;
        item = end < lines.length ? ITEM.exec(lines[end]) : null;
    }
    return [block, end];
}

function readParagraph(lines, at) {
    let end = at + 1;
    const isEnd = (line) => isBlank(line) || endsItem(line, false) || /^ {0,3}([-*+]|1[.)]) +\S/.test(line);
    while (end < lines.length && !isEnd(lines[end]) && !readTable(lines, end)) {
        end++;
    }
    return [{ kind: "paragraph", text: lines.slice(at, end).map((line) => line.trim()).join("\n") }, end];
}

const BLOCK_READERS = [readFence, readHeading, readRule, readQuote, readTable, readList];

function readBlock(lines, at, depth) {
    for (const read of depth < BLOCK_DEPTH ? BLOCK_READERS : []) {
        const found = read(lines, at, depth);
        if (found) {
            return found;
        }
    }
    return readParagraph(lines, at);
}

function parseBlocks(lines, depth = 0) {
    const blocks = [];
    for (let at = 0; at < lines.length;) {
        if (isBlank(lines[at])) {
            at++;
            continue;
        }
        const [block, next] = readBlock(lines, at, depth);
        block.source = lines.slice(at, next).join("\n");
        blocks.push(block);
        at = next;
    }
    return blocks;
}

//-- writers: each returns an element ----------------------------------------------------------------------------------

function writeCode(block) {
    const code = make("code");
    appendCode(code, block.code, block.language.toLowerCase());
    const name = block.language || "code";
    const head = make("div", { class: "code-head" }, make("span", {}, name), makeCopyButton(`Copy ${name}`, () => block.code));
    return make("div", { class: "code" }, head, make("pre", { tabindex: "0", role: "region", "aria-label": name }, code));
}

function writeTable(block) {
    const makeRow = (tag, cells) => make("tr", {}, ...block.head.map((_, i) =>
        make(tag, { class: block.alignments[i] && `align-${block.alignments[i]}` }, renderInline(cells[i] ?? ""))));
    const body = block.rows.map((row) => makeRow("td", row));
    const table = make("table", {}, make("thead", {}, makeRow("th", block.head)), make("tbody", {}, ...body));
    return make("div", { class: "table", tabindex: "0", role: "region", "aria-label": "table" }, table);
}

// Returns an item; "[ ]" and "[x]" before its text become a box.
function writeItem(blocks) {
    const [first] = blocks;
    const task = first?.kind === "paragraph" ? /^\[([ xX])\] /.exec(first.text) : null;
    const rest = task ? [{ ...first, text: first.text.slice(4) }, ...blocks.slice(1)] : blocks;
    const item = make("li", { class: task && "task" }, ...rest.map(writeBlock));
    if (task) {
        item.firstChild.prepend(task[1] === " " ? "☐ " : "☑ ");
    }
    return item;
}

function writeList(block) {
    const start = block.isOrdered && block.start !== 1 ? block.start : null;
    return make(block.isOrdered ? "ol" : "ul", { start }, ...block.items.map(writeItem));
}

// The page itself uses h1 and h2; headings of an answer start below.
const BLOCK_WRITERS = {
    code: writeCode,
    table: writeTable,
    list: writeList,
    rule: () => make("hr"),
    quote: (block) => make("blockquote", {}, ...block.blocks.map(writeBlock)),
    heading: (block) => make(`h${Math.min(block.level + 2, 6)}`, { class: `level-${block.level}` }, renderInline(block.text)),
    paragraph: (block) => make("p", {}, renderInline(block.text)),
};

const writeBlock = (block) => BLOCK_WRITERS[block.kind](block);

// Shows the reader's own text in an element: plain, except fenced code, which looks as in answers.
function showPlain(element, text) {
    const lines = text.replaceAll("\r\n", "\n").split("\n");
    const pieces = [];
    let plain = [];
    const endPlain = () => {
        const joined = plain.join("\n").replace(/^\n+|\n+$/g, "");
        if (joined !== "") {
            pieces.push(make("div", { class: "plain" }, joined));
        }
        plain = [];
    };
    for (let at = 0; at < lines.length;) {
        const [block, next] = readFence(lines, at) ?? [null, at + 1];
        if (block) {
            endPlain();
            pieces.push(writeCode(block));
        } else {
            plain.push(lines[at]);
        }
        at = next;
    }
    endPlain();
    element.replaceChildren(...pieces);
}

// Shows a text in an element. Unchanged blocks stay, with any selection in them.
function showMarkdown(element, text) {
    const blocks = parseBlocks(text.replaceAll("\r\n", "\n").split("\n"));
    const before = element.sources ?? [];
    let same = 0;
    while (same < blocks.length && same < before.length && blocks[same].source === before[same]) {
        same++;
    }
    while (element.childNodes.length > same) {
        element.lastChild.remove();
    }
    element.append(...blocks.slice(same).map(writeBlock));
    element.sources = blocks.map((block) => block.source);
}
