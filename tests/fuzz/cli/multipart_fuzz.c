// Bodies of multipart/form-data; the first line is the type. Entries have names, and lie in the
// body one after the other.
#include "cli/serve/upload/serve_multipart.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct serve_form form;
    char type[256] = "", why[256] = "";
    const uint8_t *end = size > 0 ? memchr(data, '\n', size) : NULL;
    if (!end || (size_t)(end - data) >= sizeof(type)) {
        return 0;
    }
    memcpy(type, data, (size_t)(end - data));
    const char *body = (const char *)end + 1, *last = (const char *)data + size;
    if (!serve_form_is(type)) {
        return 0;
    }
    if (!serve_form_read(&form, type, body, (size_t)(last - body), why, sizeof(why))) {
        FUZZ_CHECK(why[0]);
        return 0;
    }
    FUZZ_CHECK(form.n_entry <= SERVE_MAX_ENTRIES);
    for (size_t i = 0; i < form.n_entry; i++) {
        const struct serve_entry *entry = &form.entries[i];
        FUZZ_CHECK(entry->name[0] && serve_form_find(&form, entry->name));
        FUZZ_CHECK(entry->data >= body && entry->size <= (size_t)(last - entry->data));
        body = entry->data + entry->size;
    }
    return 0;
}
