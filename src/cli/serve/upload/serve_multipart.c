#include "cli/serve/upload/serve_multipart.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MAX_BOUNDARY = 70 }; // RFC 2046, 5.1.1

static bool refuse(const char *reason, char *why, size_t why_size)
{
    snprintf(why, why_size, "invalid multipart/form-data: %s", reason);
    return false;
}

// Copies a value, quoted or not, that begins at `at`; a longer one is cut. Returns its end.
static const char *read_value(const char *at, const char *end, char *value, size_t size)
{
    const bool is_quoted = at < end && *at == '"';
    const char last = is_quoted ? '"' : ';';
    size_t n = 0;
    for (at += is_quoted; at < end && *at != last; at++) {
        // Browsers write %22 for a quotation mark, curl a backslash before it.
        at += is_quoted && *at == '\\' && at + 1 < end && (at[1] == '"' || at[1] == '\\');
        if (n + 1 < size) {
            value[n++] = *at;
        }
    }
    value[n] = 0;
    return at;
}

// Copies the value of a parameter, such as boundary=x or name="x", of a header that ends at `end`.
// Returns false if the header does not have it.
static bool read_parameter(const char *header, const char *end, const char *name, char *value,
                           size_t size)
{
    const size_t n_name = strlen(name);
    char other[2];
    const char *at = memchr(header, ';', (size_t)(end - header));
    while (at) {
        for (at++; at < end && (*at == ' ' || *at == '\t'); at++) {
        }
        const char *name_end = at;
        while (name_end < end && *name_end != '=' && *name_end != ';') {
            name_end++;
        }
        const bool is_it = (size_t)(name_end - at) == n_name && strncasecmp(at, name, n_name) == 0;
        const bool has_value = name_end < end && *name_end == '=';
        at = has_value ? read_value(name_end + 1, end, is_it ? value : other,
                                    is_it ? size : sizeof(other))
                       : name_end;
        if (is_it && has_value) {
            return true;
        }
        at = memchr(at, ';', (size_t)(end - at));
    }
    return false;
}

bool serve_form_is(const char *content_type)
{
    static const char type[] = "multipart/form-data";
    return content_type && strncasecmp(content_type, type, strlen(type)) == 0 &&
           strchr("; \t", content_type[strlen(type)]);
}

// Reads the headers of an entry, which follow a boundary. Returns the entry's data; NULL for
// headers without an end or a name.
static const char *read_head(struct serve_entry *entry, const char *head, const char *end)
{
    static const char wanted[] = "Content-Disposition:";
    const size_t left = (size_t)(end - head);
    const char *head_end =
        memmem(head, left < SERVE_MAX_ENTRY_HEAD ? left : SERVE_MAX_ENTRY_HEAD, "\r\n\r\n", 4);
    *entry = (struct serve_entry){0};
    while (head_end && head < head_end && memcmp(head, "\r\n", 2) == 0) {
        head += 2;
        const char *line_end = memmem(head, (size_t)(end - head), "\r\n", 2);
        if ((size_t)(line_end - head) > strlen(wanted) &&
            strncasecmp(head, wanted, strlen(wanted)) == 0) {
            read_parameter(head, line_end, "filename", entry->filename, sizeof(entry->filename));
            read_parameter(head, line_end, "name", entry->name, sizeof(entry->name));
        }
        head = line_end;
    }
    return entry->name[0] ? head_end + 4 : NULL;
}

bool serve_form_read(struct serve_form *form, const char *content_type, const char *body,
                     size_t size, char *why, size_t why_size)
{
    char mark[MAX_BOUNDARY + 8] = "\r\n--"; // between two entries
    const char *end = body + size;
    form->n_entry = 0;
    if (!read_parameter(content_type, content_type + strlen(content_type), "boundary", mark + 4,
                        MAX_BOUNDARY + 2) ||
        !mark[4] || strlen(mark + 4) > MAX_BOUNDARY) {
        return refuse("its Content-Type has no boundary of 1 to 70 characters", why, why_size);
    }
    const size_t n_mark = strlen(mark);
    // The first mark may begin the body, without its line end.
    const bool is_first = size >= n_mark - 2 && memcmp(body, mark + 2, n_mark - 2) == 0;
    const char *found = is_first ? NULL : memmem(body, size, mark, n_mark);
    const char *at = is_first ? body + n_mark - 2 : found ? found + n_mark : end;
    while (at < end) {
        if (end - at >= 2 && memcmp(at, "--", 2) == 0) {
            return true;
        }
        if (form->n_entry == SERVE_MAX_ENTRIES) {
            return refuse("it has more than 64 entries", why, why_size);
        }
        while (at < end && (*at == ' ' || *at == '\t')) {
            at++;
        }
        struct serve_entry *entry = &form->entries[form->n_entry];
        const char *data = read_head(entry, at, end);
        if (!data) {
            return refuse("an entry has no header Content-Disposition with a name", why, why_size);
        }
        // The line end before the mark may be the one that ends the headers.
        found = memmem(data - 2, (size_t)(end - data + 2), mark, n_mark);
        entry->data = data;
        entry->size = found > data ? (size_t)(found - data) : 0;
        form->n_entry++;
        at = found ? found + n_mark : end;
    }
    return refuse("it ends before its last boundary", why, why_size);
}

const struct serve_entry *serve_form_find(const struct serve_form *form, const char *name)
{
    for (size_t i = 0; i < form->n_entry; i++) {
        if (strcmp(form->entries[i].name, name) == 0) {
            return &form->entries[i];
        }
    }
    return NULL;
}
