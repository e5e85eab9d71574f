# awk -v version=VERSION -f man3.awk DATED.1 glinfer.h >glinfer.3
#
# Writes the manual page of the interface: the date of another page, then what the header has, in its order. A
# declaration comes before the comment that precedes it; fields of structs and constants are a list with their comments.
FNR == 1 && NR == 1 { date = $0; next }
NR != FNR && FNR == 1 { open_page(); sub(/^\/\/ glinfer: /, "The library "); text = $0; next }
NR == FNR || is_over { next }

# The head comment ends at the include guard, and the page begins after the inclusions.
!is_begun && /^\/\// { add_text(substr($0, 3)); next }
!is_begun && /^#ifndef/ { put_text(text); text = ""; next }
/^extern "C"/ { is_begun = 1; next }
!is_begun { next }

/^#ifdef __cplusplus/ { is_over = 1; next }
/^#define GLINFER_STATUS_MAP/ { in_map = 1; text = ""; print ".Bl -tag -width Ds -compact"; is_heading = 0; next }
in_map { put_status($0); if ($0 !~ /\\$/) { in_map = 0; print ".El" } next }
/^enum glinfer_status \{/ { in_skipped = 1 }
/^static inline/ { in_skipped = 1; initializer = $0 ";" }
in_skipped { skip($0); next }
/^#if|^#else|^#endif|^#define GLINFER_API/ { next }
/^#define GLINFER_((SAMPLER|SPEECH)_MAP|SAMPLER_ORDER)/ { in_rows = 1; text = "" }
in_rows { in_rows = /\\$/; next }
/^#define/ { put_declaration($0); next }

/^\/\/--/ { gsub(/^\/\/-- |  *-+$/, ""); flush(); put_heading($0); next }
/^\/\// { add_text(substr($0, 3)); next }
/^$/ { flush(); next }
/^(struct|enum) .*\{$/ { begin_list($0); next }
/^\};/ && in_list { put_member(); end_list(); next }
in_list { member($0); next }
{ declare($0) }

function open_page()
{
    print date "\n.ds doc-volume-operating-system glinfer\n.Dt GLINFER 3\n.Os glinfer " version "\n.Sh NAME\n.Nm glinfer\n.Nd language models on OpenGL ES 3.1 GPUs"
    print ".Sh SYNOPSIS\n.In glinfer.h\n.Pp\n.Dl cc program.c $(pkg-config --cflags --libs glinfer)\n.Sh DESCRIPTION"
    is_heading = 1
}

function put_heading(line)
{
    print ".Ss " toupper(substr(line, 1, 1)) substr(line, 2)
    is_heading = 1
}

# Begins a paragraph, which a heading does by itself.
function put_break()
{
    if (!is_heading) {
        print ".Pp"
    }
    is_heading = 0
}

function add_text(line)
{
    sub(/^ /, "", line)
    text = line == "" ? text "\n" : text (text == "" || text ~ /\n$/ ? "" : " ") line
}

# Prints filled text: paragraphs end in newlines, each sentence begins a line of its own.
function put_text(all, paragraphs, n, i)
{
    n = split(all, paragraphs, "\n")
    for (i = 1; i <= n; i++) {
        if (paragraphs[i] != "") {
            put_break()
            put_sentences(paragraphs[i])
        }
    }
}

function put_sentences(line)
{
    gsub(/\\/, "\\e", line)
    while (match(line, /[.?!]\)? +[A-Z]/)) {
        put_line(substr(line, 1, RSTART + (substr(line, RSTART + 1, 1) == ")")))
        line = substr(line, RSTART + RLENGTH - 1)
    }
    put_line(line)
}

function put_line(line)
{
    print (line ~ /^[.']/ ? "\\&" : "") line
}

function put_status(line, parts)
{
    gsub(/^ *X\(|"\).*$/, "", line)
    split(line, parts, /, "?/)
    print ".It Dv GLINFER_STATUS_" parts[1] " (" parts[2] ")\n" parts[3]
}

# Skips a body; of a function that sets up a struct the declaration stays.
function skip(line)
{
    if (line ~ /^\}/) {
        in_skipped = 0
        if (initializer != "") {
            sub(/^static inline /, "", initializer)
            put_declaration(initializer)
            initializer = ""
        }
    }
}

# Collects a declaration over its lines, and prints it with its text.
function declare(line)
{
    sub(/^GLINFER_API /, "", line)
    sub(/^ +/, "", line)
    if (match(line, / *\/\/ ?/)) {
        add_text(substr(line, RSTART + RLENGTH))
        line = substr(line, 1, RSTART - 1)
    }
    declaration = declaration (declaration == "" || declaration ~ /\*$/ ? "" : " ") line
    if (line ~ /;$/) {
        flush()
    }
}

function flush()
{
    if (declaration != "") {
        put_declaration(declaration)
    }
    put_text(text)
    declaration = text = ""
}

# Prints a declaration in lines of at most 72 characters, broken between arguments.
function put_declaration(all, parts, n, i, line)
{
    put_break()
    print ".Bd -literal -compact"
    n = split(all, parts, ", ")
    line = parts[1]
    for (i = 2; i <= n; i++) {
        if (length(line ", " parts[i]) > 72) {
            print line ","
            line = "    " parts[i]
        } else {
            line = line ", " parts[i]
        }
    }
    print line "\n.Ed"
}

function begin_list(line)
{
    sub(/ \{$/, "", line)
    member_end = line ~ /^enum/ ? "," : ";"
    put_break()
    print ".Vt " line
    put_text(text)
    text = name = body = ""
    in_list = 1
    is_open = 0
}

# Takes a line of a struct or enum: a comment before a member (four spaces in), a member, the rest of its comment.
function member(line)
{
    if (line ~ /^    \/\//) {
        put_member()
        add_text(substr(line, 7))
    } else if (line ~ /^ *\/\//) {
        sub(/^ *\/\/ */, "", line)
        body = body " " line
    } else if (line != "") {
        take_member(line)
    } else {
        put_member()
    }
}

function take_member(line, comment)
{
    if (substr(name, length(name)) == member_end) {
        put_member()
    }
    if (match(line, / *\/\/ */)) {
        comment = substr(line, RSTART + RLENGTH)
        line = substr(line, 1, RSTART - 1)
    }
    sub(/^ +/, "", line)
    name = name (name == "" || name ~ /\*$/ ? "" : " ") line
    body = body (body == "" ? "" : " ") comment
}

# Prints a member; the comment before it is its own if it has no other, and else leads several.
function put_member()
{
    if (name == "") {
        return
    }
    if (text != "" && body != "") {
        if (is_open) {
            print ".El"
        }
        is_open = 0
        put_text(text)
    } else if (text != "") {
        body = text
    }
    if (!is_open) {
        print ".Bl -tag -width Ds -offset indent -compact"
    }
    is_open = 1
    sub(/,$/, "", name)
    print ".It Va \"" name "\""
    if (body != "") {
        gsub(/\n/, " ", body)
        put_sentences(body)
    }
    name = body = text = ""
}

function end_list()
{
    if (is_open) {
        print ".El"
    }
    in_list = is_open = 0
}
END { print ".Sh SEE ALSO\n.Xr glinfer 1" }
