// Bytes of a model for reading at any place: of a file, of a part of one, of the caller's memory or
// of its reader. A path is opened by open alone; other parts of the library see sizes and bytes.
#pragma once

#include "base/file.h"

// A whole file, for a call that takes a source.
#define GI_SOURCE_PATH(path_)                                                                      \
    (&(const struct glinfer_source){                                                               \
        .struct_size = sizeof(struct glinfer_source),                                              \
        .kind = GLINFER_SOURCE_PATH,                                                               \
        .path = (path_),                                                                           \
    })
// Bytes in memory; name stands for a path in messages.
#define GI_SOURCE_MEMORY(data_, size_, name_)                                                      \
    (&(const struct glinfer_source){                                                               \
        .struct_size = sizeof(struct glinfer_source),                                              \
        .kind = GLINFER_SOURCE_MEMORY,                                                             \
        .name = (name_),                                                                           \
        .data = (data_),                                                                           \
        .length = (size_),                                                                         \
    })

struct gi_source {
    char *name;            // in messages; owned
    uint64_t size;         // bytes
    const uint8_t *memory; // all of them; borrowed from the caller; NULL: they are read
    struct gi_file file;   // all zero if they are not a file's
    uint64_t file_offset;  // where they begin in the file
    bool (*read)(void *user, uint64_t offset, void *data, size_t size);
    void *user;
};

// Opens what *from, a whole struct, describes; what memory and reader point to is borrowed until
// close. Fails with INVALID_ARGUMENT (fields that its kind needs), NOT_FOUND, IO, BAD_FILE (offset
// and length lie outside the file), NO_MEMORY; *source is then all zero.
bool gi_source_open(struct gi_source *source, const struct glinfer_source *from,
                    struct glinfer_error *err);
// Reads [offset, offset + size), which lies within the size, into out. Fails with IO: the system's
// reason, the file has become shorter, the reader failed.
bool gi_source_read(const struct gi_source *source, uint64_t offset, size_t size, void *out,
                    struct glinfer_error *err);
// Accepts all-zero.
void gi_source_close(struct gi_source *source);

// Copies *from, with its path and name and a descriptor of its own, so that it can be opened again
// later. Fails with IO, NO_MEMORY; *kept is then all zero.
bool gi_source_keep(struct glinfer_source *kept, const struct glinfer_source *from,
                    struct glinfer_error *err);
// Ends what gi_source_keep made; accepts all-zero.
void gi_source_drop(struct glinfer_source *kept);
