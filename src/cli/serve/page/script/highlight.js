// Colours code: comments, strings, numbers and the words that most languages share. One pass, one pattern for each language.

const HIGHLIGHT_LIMIT = 20000; // characters; longer code stays plain

const KEYWORDS = new Set((
    "abstract and as assert async await bool boolean break byte case catch char class const continue def default defer del " +
    "delete do double elif else enum esac except export extends extern false fi final finally float fn for foreach from func " +
    "function global goto if impl implements import in inline int interface is lambda let local long loop match mod move mut " +
    "namespace new nil none nonlocal not null operator or override package pass print private protected pub public raise " +
    "readonly ref return self short signed sizeof static string struct super switch template then this throw throws trait " +
    "true try type typedef typeof undefined union unsafe unsigned use using var virtual void volatile when where while with " +
    "yield select insert update create table into values join left on group by order limit echo done export"
).split(" "));

const HASH_COMMENTS = /^(py|python|sh|bash|zsh|shell|console|rb|ruby|perl|pl|r|yaml|yml|toml|make|makefile|cmake|dockerfile|ini|nginx)$/;
const DASH_COMMENTS = /^(sql|lua|haskell|hs|ada)$/;
const PLAIN = /^(|text|txt|plain|plaintext|output|markdown|md)$/;

const STRINGS = "\"(?:[^\"\\\\\\n]|\\\\.)*\"|'(?:[^'\\\\\\n]|\\\\.)*'|`(?:[^`\\\\]|\\\\.)*`";
const REST = "|(\\b\\d[\\w.]*)|([A-Za-z_]\\w*)";

function patternOf(language) {
    const comment = HASH_COMMENTS.test(language) ? "#[^\\n]*"
        : DASH_COMMENTS.test(language) ? "--[^\\n]*"
        : "\\/\\/[^\\n]*|\\/\\*[^]*?\\*\\/|<[!]--[^]*?-->";
    return new RegExp(`(${comment})|(${STRINGS})${REST}`, "g");
}

function classOf(match) {
    return match[1] ? "code-comment" : match[2] ? "code-string" : match[3] ? "code-number"
        : KEYWORDS.has(match[4].toLowerCase()) ? "code-keyword" : null;
}

// Appends code to an element as coloured texts.
function appendCode(element, code, language) {
    if (PLAIN.test(language) || code.length > HIGHLIGHT_LIMIT) {
        element.append(code);
        return;
    }
    let end = 0;
    for (const match of code.matchAll(patternOf(language))) {
        const name = classOf(match);
        if (name) {
            element.append(code.slice(end, match.index), make("span", { class: name }, match[0]));
            end = match.index + match[0].length;
        }
    }
    element.append(code.slice(end));
}
