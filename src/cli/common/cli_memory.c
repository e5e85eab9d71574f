#include "cli/common/cli_memory.h"

#include "cli/common/cli_io.h"

#include <stdlib.h>
#include <string.h>

static void *check(void *memory, size_t count)
{
    if (!memory) {
        cli_say("cannot allocate memory for %zu more items", count);
        exit(CLI_EXIT_FAILED);
    }
    return memory;
}

void *cli_alloc(size_t count, size_t size)
{
    return check(calloc(count ? count : 1, size), count);
}

void *cli_reserve(void *items, size_t *capacity, size_t count, size_t size)
{
    if (count > *capacity) {
        const size_t wanted = count < 32 ? 64 : 2 * count;
        items = check(wanted < SIZE_MAX / size ? realloc(items, wanted * size) : NULL, wanted);
        *capacity = wanted;
    }
    return items;
}

char *cli_copy(const char *text)
{
    return check(strdup(text), strlen(text) + 1);
}

void cli_bytes_append(struct cli_bytes *bytes, const char *data, size_t size)
{
    bytes->data = cli_reserve(bytes->data, &bytes->capacity, bytes->size + size + 1, 1);
    if (size > 0) {
        memcpy(bytes->data + bytes->size, data, size);
    }
    bytes->size += size;
    bytes->data[bytes->size] = 0;
}

void cli_bytes_add(struct cli_bytes *bytes, const char *text)
{
    cli_bytes_append(bytes, text, strlen(text));
}

void cli_bytes_trim(struct cli_bytes *bytes)
{
    if (bytes->size > 0 && bytes->data[bytes->size - 1] == '\n') {
        bytes->size -= bytes->size > 1 && bytes->data[bytes->size - 2] == '\r' ? 2 : 1;
        bytes->data[bytes->size] = 0;
    }
}

void cli_bytes_skip_mark(struct cli_bytes *bytes)
{
    static const char mark[] = "\xEF\xBB\xBF";
    const size_t n = sizeof(mark) - 1;
    if (bytes->size >= n && memcmp(bytes->data, mark, n) == 0) {
        bytes->size -= n;
        memmove(bytes->data, bytes->data + n, bytes->size + 1);
    }
}

void cli_bytes_finish(struct cli_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct cli_bytes){0};
}

void cli_ids_append(struct cli_ids *ids, const int32_t *items, size_t count)
{
    ids->items = cli_reserve(ids->items, &ids->capacity, ids->count + count, sizeof(*ids->items));
    if (count > 0) {
        memcpy(ids->items + ids->count, items, count * sizeof(*items));
    }
    ids->count += count;
}
