#include "base/source.h"

#include "base/array.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *copy_text(const char *text, struct glinfer_error *err)
{
    char *copy = gi_array_zeroed(strlen(text) + 1, 1, "the name of a model", err);
    if (copy) {
        memcpy(copy, text, strlen(text) + 1);
    }
    return copy;
}

// Returns the name of the source in messages; buffer is for a name that is made.
static const char *find_name(const struct glinfer_source *from, char *buffer, size_t size)
{
    if (from->name) {
        return from->name;
    }
    switch (from->kind) {
    case GLINFER_SOURCE_PATH:
        return from->path;
    case GLINFER_SOURCE_FD:
        snprintf(buffer, size, "descriptor %d", from->fd);
        return buffer;
    case GLINFER_SOURCE_MEMORY:
        return "the model in memory";
    case GLINFER_SOURCE_READER:
        break;
    }
    return "the model's reader";
}

//-- open ----------------------------------------------------------------------------------------

static bool check_fields(const struct glinfer_source *from, struct glinfer_error *err)
{
    if (from->kind == GLINFER_SOURCE_PATH && !from->path) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT, "the source's path is NULL");
    }
    if (from->kind == GLINFER_SOURCE_MEMORY && !from->data && from->length > 0) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT, "the source's data is NULL");
    }
    if (from->kind == GLINFER_SOURCE_MEMORY && from->length > SIZE_MAX) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "the source's length is %" PRIu64 ", more than memory can hold",
                            from->length);
    }
    if (from->kind == GLINFER_SOURCE_READER && !from->read) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT, "the source's read is NULL");
    }
    return true;
}

// Narrows an opened file to the part that was asked for.
static bool take_part(struct gi_source *source, const struct glinfer_source *from,
                      struct glinfer_error *err)
{
    const uint64_t size = source->file.size;
    if (from->offset > size || from->length > size - from->offset) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                            "%s: has %" PRIu64 " bytes, and %" PRIu64 " from byte %" PRIu64
                            " on were asked for",
                            source->name, size, from->length, from->offset);
    }
    source->file_offset = from->offset;
    source->size = from->length ? from->length : size - from->offset;
    return true;
}

static bool open_kind(struct gi_source *source, const struct glinfer_source *from,
                      struct glinfer_error *err)
{
    source->size = from->length;
    switch (from->kind) {
    case GLINFER_SOURCE_PATH:
        return gi_file_open(&source->file, from->path, err) && take_part(source, from, err);
    case GLINFER_SOURCE_FD:
        return gi_file_share(&source->file, from->fd, source->name, err) &&
               take_part(source, from, err);
    case GLINFER_SOURCE_MEMORY:
        source->memory = from->data ? from->data : (const void *)"";
        return true;
    case GLINFER_SOURCE_READER:
        source->read = from->read;
        source->user = from->user;
        return true;
    }
    return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT, "the source's kind is %d",
                        (int)from->kind);
}

bool gi_source_open(struct gi_source *source, const struct glinfer_source *from,
                    struct glinfer_error *err)
{
    char buffer[32];
    *source = (struct gi_source){0};
    if (!check_fields(from, err)) {
        return false;
    }
    source->name = copy_text(find_name(from, buffer, sizeof(buffer)), err);
    if (!source->name || !open_kind(source, from, err)) {
        gi_source_close(source);
        return false;
    }
    return true;
}

bool gi_source_read(const struct gi_source *source, uint64_t offset, size_t size, void *out,
                    struct glinfer_error *err)
{
    if (source->memory) {
        memcpy(out, source->memory + offset, size);
        return true;
    }
    if (!source->read) {
        return gi_file_read(&source->file, source->file_offset + offset, size, out, source->name,
                            err);
    }
    memset(out, 0, size); // one that lies gives zeros, and not what memory held before
    return size == 0 || source->read(source->user, offset, out, size) ||
           gi_error_set(err, GLINFER_STATUS_IO,
                        "%s: cannot read %zu bytes at byte %" PRIu64 " of %" PRIu64, source->name,
                        size, offset, source->size);
}

void gi_source_close(struct gi_source *source)
{
    gi_file_close(&source->file);
    free(source->name);
    *source = (struct gi_source){0};
}

//-- keep ----------------------------------------------------------------------------------------

bool gi_source_keep(struct glinfer_source *kept, const struct glinfer_source *from,
                    struct glinfer_error *err)
{
    char buffer[32];
    struct gi_file file;
    *kept = *from;
    kept->name = kept->path = NULL;
    kept->fd = -1;
    kept->name = copy_text(find_name(from, buffer, sizeof(buffer)), err);
    bool ok = kept->name;
    if (ok && from->kind == GLINFER_SOURCE_PATH) {
        kept->path = copy_text(from->path, err);
        ok = kept->path;
    }
    if (ok && from->kind == GLINFER_SOURCE_FD) {
        ok = gi_file_share(&file, from->fd, kept->name, err);
        kept->fd = ok ? file.handle - 1 : -1;
    }
    if (!ok) {
        gi_source_drop(kept);
    }
    return ok;
}

void gi_source_drop(struct glinfer_source *kept)
{
    if (kept->struct_size && kept->kind == GLINFER_SOURCE_FD && kept->fd >= 0) {
        close(kept->fd);
    }
    free((void *)(uintptr_t)kept->name);
    free((void *)(uintptr_t)kept->path);
    *kept = (struct glinfer_source){0};
}
