# awk -f words.awk words.txt FILE...: counts the words and phrases of words.txt in each folder, prints those over their
# ceiling with a place and ends with 1 if there are any. -v list=1 prints the counts as rows of words.txt, -v show=FOLDER
# every line of a folder that has a phrase.
FILENAME == ARGV[1] {
    instead = $0
    if ($1 == "word") {
        where[$2] = $3
        sub(/^word +[^ ]+ +[^ ]+ +/, "", instead)
        instead_of[$2] = instead
    } else if ($1 == "phrase") {
        sub(/^phrase +/, "")
        split($0, halves, / = /)
        pattern[++n_phrases] = "(^|[^a-z_-])(" halves[1] ")([^a-z_-]|$)"
        any = any (any ? "|" : "") halves[1]
        advice[n_phrases] = "\"" halves[1] "\": write " halves[2]
    } else if ($1 == "allow") {
        is_allowed[$2] = 1
    } else if ($1 == "left") {
        ceiling[$2, $3] = $4
    }
    next
}

function count(folder, word) {
    n[folder, word]++
    keys[folder, word] = folder " " word
    place[folder, word] = FILENAME ":" FNR
}

# Counts each word once a line.
function count_parts(text, kind,    parts, n_parts, i, part, seen) {
    n_parts = split(tolower(text), parts, /[^a-z]+/)
    for (i = 1; i <= n_parts; i++) {
        part = parts[i]
        if (part in where && !(part in seen) && (where[part] == "all" || where[part] == kind)) {
            seen[part] = 1
            count(top, part)
        }
    }
}

function count_phrase(text) {
    count(room, "phrases")
    instead_of["phrases"] = text
    if (show == room) {
        print FILENAME ":" FNR ": " text
    }
}

function count_phrases(line,    i) {
    gsub(/there (is|are|was|were) (no|none)([^a-z]|$)/, "", line)
    for (i = 1; line ~ any && i <= n_phrases; i++) {
        if (line ~ pattern[i]) {
            count_phrase(advice[i])
        }
    }
}

# The first words of a comment, on a line of its own or after code.
function check_opening(    opening) {
    is_comment = match($0, /^ *(\/\/|#|\.\\") /)
    if (is_comment ? was_comment : !match($0, / \/\/ /)) {
        return
    }
    opening = substr($0, RSTART + RLENGTH)
    if (opening ~ /^(Of|As|Where|Whether) / || tolower(opening) ~ /^(what|those|these|who|whose|whoever|whatever|behind|has) /) {
        count_phrase("a comment opens with \"" substr(opening, 1, index(opening, " ") - 1) \
            "\": begin with a verb or name the thing")
    }
}

FNR == 1 {
    top = room = FILENAME
    sub(/\/.*/, "", top)
    room = match(room, /^[^\/]+\/[^\/]+\//) ? substr(room, 1, RLENGTH - 1) : top == room ? "." : top
    is_code = FILENAME ~ /\.(c|h|comp|glsl|def)$/
    was_comment = 0
}

FILENAME in is_allowed { next }

{
    if (is_code) {
        at = index($0, "//")
        count_parts(at ? substr($0, 1, at - 1) : $0, "code")
        count_parts(at ? substr($0, at) : "", "comment")
    }
    if (FILENAME !~ /\.md$/) {
        check_opening()
    }
    was_comment = is_comment
    gsub(/ is (not )?None/, "") # Python's test
    count_phrases(tolower($0))
}

END {
    for (key in n) {
        limit = key in ceiling ? ceiling[key] : 0
        split(keys[key], names, " ")
        if (list) {
            print "left " keys[key] " " n[key]
        } else if (n[key] > limit && !show) {
            print names[1] ": \"" names[2] "\" stands in " n[key] " lines, " limit " are left, one in " place[key] \
                ": " (names[2] == "phrases" ? "" : "write ") instead_of[names[2]]
            has_failed = 1
        }
    }
    exit has_failed
}
