# awk -f words.awk words.txt FILE...: counts, in each folder of the top, the words of words.txt and comments that open
# with a word that leans on the name below. Prints those over their ceiling with a place; ends with 1 if there are any.
FILENAME == ARGV[1] {
    if ($1 == "word") {
        where[$2] = $3
        instead[$2] = $0
        sub(/^word +[^ ]+ +[^ ]+ +/, "", instead[$2])
    } else if ($1 == "left") {
        ceiling[$2, $3] = $4
    }
    next
}

function count(word) {
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
            count(part)
        }
    }
}

FNR == 1 {
    folder = FILENAME
    sub(/\/.*/, "", folder)
    was_comment = 0
}

{
    at = index($0, "//")
    count_parts(at ? substr($0, 1, at - 1) : $0, "code")
    count_parts(at ? substr($0, at) : "", "comment")
    is_comment = $0 ~ /^ *\/\//
    if (is_comment && !was_comment && $0 ~ /^ *\/\/ (Of|What|Whether|Where|As|Who) /) {
        count("opening")
    }
    was_comment = is_comment
}

END {
    for (key in n) {
        limit = key in ceiling ? ceiling[key] : 0
        split(keys[key], names, " ")
        if (list) {
            print "left " keys[key] " " n[key]
        } else if (n[key] > limit) {
            print names[1] ": \"" names[2] "\" stands in " n[key] " lines, " limit " are left, one in " place[key] \
                ": write " instead[names[2]]
            has_failed = 1
        }
    }
    exit has_failed
}
