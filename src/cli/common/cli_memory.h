// Memory of the command. If an allocation fails, the command prints that and exits with status 1.
// Texts and lists that grow.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Returns zeroed memory for count items of a size, owned by the caller.
void *cli_alloc(size_t count, size_t size);
// Returns items, which may have moved, with room for count of a size; sets *capacity, in items.
void *cli_reserve(void *items, size_t *capacity, size_t count, size_t size);

// Returns a copy of a text, owned by the caller.
char *cli_copy(const char *text);

// Returns the address of a new last item of a list: a struct of items (owned), count, capacity.
#define CLI_APPEND(list)                                                                           \
    ((list)->items =                                                                               \
         cli_reserve((list)->items, &(list)->capacity, (list)->count + 1, sizeof(*(list)->items)), \
     &(list)->items[(list)->count++])

struct cli_bytes {
    char *data; // owned, followed by a zero byte; NULL: none
    size_t size, capacity;
};
void cli_bytes_append(struct cli_bytes *bytes, const char *data, size_t size);
// Appends a text that ends with a zero byte.
void cli_bytes_add(struct cli_bytes *bytes, const char *text);
// Removes a newline, or a carriage return and a newline, from the end.
void cli_bytes_trim(struct cli_bytes *bytes);
// Removes a UTF-8 byte order mark from the beginning.
void cli_bytes_skip_mark(struct cli_bytes *bytes);
void cli_bytes_finish(struct cli_bytes *bytes);

struct cli_ids {
    int32_t *items; // owned
    size_t count, capacity;
};
void cli_ids_append(struct cli_ids *ids, const int32_t *items, size_t count);
