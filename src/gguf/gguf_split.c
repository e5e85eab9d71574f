// Models in several files, as llama-gguf-split makes them. Each file is a GGUF file with some of
// the tensors; the first has the metadata of the model. Keys say which piece a file is
// (split.no, from 0), of how many (split.count), and how many tensors all have
// (split.tensors.count). The pieces lie in one folder: "x-00001-of-00003.gguf", ...
#include "base/array.h"
#include "gguf/gguf_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_PIECES  99999u // that names have digits for
#define ENDING_SIZE 20u    // of "-00001-of-00003.gguf"

static void write_ending(char ending[ENDING_SIZE + 1], uint32_t no, uint32_t count)
{
    snprintf(ending, ENDING_SIZE + 1, "-%05u-of-%05u.gguf", (no + 1) % (MAX_PIECES + 1),
             count % (MAX_PIECES + 1));
}

// Reads which piece a file is; *count is at most 1 for a whole model.
static bool read_place(const struct gi_gguf *gguf, uint32_t *no, uint32_t *count,
                       struct glinfer_error *err)
{
    if (!gi_gguf_get_u32(gguf, "split.count", 0, count, err) ||
        !gi_gguf_get_u32(gguf, "split.no", 0, no, err)) {
        return false;
    }
    return *count <= 1 || (*no < *count && *count <= MAX_PIECES) ||
           gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                        "%s: split.no is %" PRIu32 " and split.count %" PRIu32
                        ", expected a number below the count, which is at most %u: the file is "
                        "damaged",
                        gguf->source.name, *no, *count, MAX_PIECES);
}

// Returns a copy of a piece's path, whose ending is to be overwritten; NULL with the reason if the
// others cannot be found from it.
static char *copy_path(const struct gi_gguf *gguf, const struct glinfer_source *source, uint32_t no,
                       uint32_t count, struct glinfer_error *err)
{
    char ending[ENDING_SIZE + 1];
    const bool is_file =
        source->kind == GLINFER_SOURCE_PATH && source->offset == 0 && source->length == 0;
    const size_t size = is_file ? strlen(source->path) : 0;
    write_ending(ending, no, count);
    if (!is_file) {
        gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                     "%s: is piece %" PRIu32 " of %" PRIu32
                     " of a model, and pieces are found by their paths only: open the model by the "
                     "path of a piece, or merge it with llama-gguf-split --merge",
                     gguf->source.name, no + 1, count);
        return NULL;
    }
    if (size < ENDING_SIZE || strcmp(source->path + size - ENDING_SIZE, ending) != 0) {
        gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                     "%s: is piece %" PRIu32 " of %" PRIu32
                     " of a model, and the other pieces are found by its name, which has to end in "
                     "%s: rename the file",
                     gguf->source.name, no + 1, count, ending);
        return NULL;
    }
    char *path = gi_array_zeroed(size + 1, 1, "the path of a model", err);
    if (path) {
        memcpy(path, source->path, size);
    }
    return path;
}

// Fails with BAD_FILE if a key is missing.
static bool read_number(const struct gi_gguf *gguf, const char *key, uint32_t *n,
                        struct glinfer_error *err)
{
    return gi_gguf_has(gguf, key)
               ? gi_gguf_get_u32(gguf, key, 0, n, err)
               : gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                              "%s: the key %s is missing, which every piece of a model has",
                              gguf->source.name, key);
}

static struct gi_gguf *open_piece(char *path, uint32_t no, uint32_t count,
                                  struct glinfer_error *err)
{
    struct glinfer_error reason = {0};
    uint32_t own_no = 0, own_count = 0;
    write_ending(path + strlen(path) - ENDING_SIZE, no, count);
    struct gi_gguf *piece = gi_gguf_open_file(GI_SOURCE_PATH(path), &reason);
    if (!piece && reason.status == GLINFER_STATUS_NOT_FOUND) {
        gi_error_set(err, reason.status,
                     "%s: the file is missing, piece %" PRIu32 " of %" PRIu32
                     " of a model; all pieces have to lie in one folder",
                     path, no + 1, count);
    } else if (!piece) {
        gi_error_pass(err, &reason);
    }
    if (!piece) {
        return NULL;
    }
    if (!read_number(piece, "split.no", &own_no, err) ||
        !read_number(piece, "split.count", &own_count, err)) {
        gi_gguf_close(piece);
        return NULL;
    }
    if (own_no != no || own_count != count) {
        gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                     "%s: split.no is %" PRIu32 " and split.count %" PRIu32 ", expected %" PRIu32
                     " and %" PRIu32 ": the file was renamed or is of another model",
                     path, own_no, own_count, no, count);
        gi_gguf_close(piece);
        return NULL;
    }
    return piece;
}

static bool open_pieces(struct gi_gguf *gguf, char *path, uint32_t count, struct glinfer_error *err)
{
    gguf->pieces =
        gi_array_zeroed(count - 1, sizeof(gguf->pieces[0]), "the pieces of a model", err);
    for (uint32_t i = 1; gguf->pieces && i < count; i++) {
        gguf->pieces[i - 1] = open_piece(path, i, count, err);
        if (!gguf->pieces[i - 1]) {
            return false;
        }
        gguf->n_pieces = i;
    }
    return gguf->pieces;
}

static bool check_count(const struct gi_gguf *gguf, size_t n_tensors, struct glinfer_error *err)
{
    uint32_t expected = 0;
    return read_number(gguf, "split.tensors.count", &expected, err) &&
           (expected == n_tensors ||
            gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                         "%s: the pieces have %zu tensors, split.tensors.count is %" PRIu32
                         ": a piece is damaged or of another model",
                         gguf->source.name, n_tensors, expected));
}

// Moves the tensors of all pieces into the directory of the first.
static bool merge_tensors(struct gi_gguf *gguf, struct glinfer_error *err)
{
    size_t n = gguf->n_tensors;
    for (uint32_t i = 0; i < gguf->n_pieces; i++) {
        n += gguf->pieces[i]->n_tensors;
    }
    if (!check_count(gguf, n, err)) {
        return false;
    }
    struct gi_gguf_tensor *tensors =
        gi_array_zeroed(n, sizeof(*tensors), "the tensor directory", err);
    gi_name_index_finish(&gguf->tensor_names);
    if (!tensors || !gi_name_index_init(&gguf->tensor_names, n, err)) {
        free(tensors);
        return false;
    }
    size_t used = 0;
    for (uint32_t i = 0; i <= gguf->n_pieces; i++) {
        const struct gi_gguf *file = gi_gguf_file(gguf, i);
        for (size_t j = 0; j < file->n_tensors; j++, used++) {
            tensors[used] = file->tensors[j];
            tensors[used].file = i;
            gguf->tensor_names.entries[used] = (struct gi_name_entry){tensors[used].name, used};
        }
    }
    free(gguf->tensors);
    gguf->tensors = tensors;
    gguf->n_tensors = n;
    return gi_gguf_sort_names(&gguf->tensor_names, "tensor", gguf->source.name, err);
}

struct gi_gguf *gi_gguf_join(struct gi_gguf *gguf, const struct glinfer_source *source,
                             struct glinfer_error *err)
{
    uint32_t no, count;
    if (!read_place(gguf, &no, &count, err)) {
        gi_gguf_close(gguf);
        return NULL;
    }
    if (count <= 1) {
        return gguf;
    }
    char *path = copy_path(gguf, source, no, count, err);
    if (path && no > 0) {
        gi_gguf_close(gguf);
        gguf = open_piece(path, 0, count, err);
    }
    if (!path || !gguf || !open_pieces(gguf, path, count, err) || !merge_tensors(gguf, err)) {
        gi_gguf_close(gguf);
        gguf = NULL;
    }
    free(path);
    return gguf;
}
