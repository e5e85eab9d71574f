#include "base/array.h"
#include "gguf/ggml/ggml_bin.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#define MAX_NAME_SIZE     64u        // of a tensor, as the format says
#define MAX_COUNT         (1u << 20) // of pairs and of tensors: a hundred times the largest models
#define TENSOR_MIN_SIZE   33u        // bytes of the smallest directory entry
#define DEFAULT_ALIGNMENT 32u

//-- header ------------------------------------------------------------------------------------

static bool looks_like_text(struct gi_gguf_reader *r)
{
    const uint64_t size = r->size < 64 ? r->size : 64;
    r->pos = 0;
    const uint8_t *bytes = gi_gguf_reader_bytes(r, size, "the magic number");
    for (uint64_t i = 0; bytes && i < size; i++) {
        const uint8_t c = bytes[i];
        if ((c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7F) {
            return false;
        }
    }
    return true;
}

static bool check_magic(struct gi_gguf_reader *r)
{
    if (r->size == 0) {
        return gi_error_set(r->err, GLINFER_STATUS_BAD_FILE, "%s: the file is empty", r->path);
    }
    const uint8_t *magic = gi_gguf_reader_bytes(r, 4, "the magic number");
    if (!magic) {
        return false;
    }
    if (memcmp(magic, "GGUF", 4) != 0 && looks_like_text(r)) {
        return gi_error_set(r->err, GLINFER_STATUS_BAD_FILE, "%s: not a GGUF file, but text",
                            r->path);
    }
    if (memcmp(magic, "GGUF", 4) != 0) {
        return gi_error_set(r->err, GLINFER_STATUS_BAD_FILE,
                            "%s: not a GGUF file: it starts with %02x %02x %02x %02x, expected "
                            "47 47 55 46 (\"GGUF\")",
                            r->path, magic[0], magic[1], magic[2], magic[3]);
    }
    return true;
}

static bool check_version(struct gi_gguf_reader *r)
{
    uint32_t version;
    if (!gi_gguf_reader_u32(r, &version, "the version")) {
        return false;
    }
    if (version == 2 || version == 3) {
        return true;
    }
    if (version != 0 && (version & 0xFFFF) == 0) {
        return gi_error_set(r->err, GLINFER_STATUS_UNSUPPORTED,
                            "%s: is a big-endian GGUF file; only little-endian ones are supported: "
                            "convert the model again without the big-endian option",
                            r->path);
    }
    return gi_error_set(r->err, GLINFER_STATUS_UNSUPPORTED,
                        "%s: is a GGUF file of version %" PRIu32
                        "; versions 2 and 3 are supported%s",
                        r->path, version, version == 1 ? ": convert the model again" : "");
}

static bool read_count(struct gi_gguf_reader *r, const char *what, size_t *count)
{
    uint64_t start = r->pos, n;
    if (!gi_gguf_reader_u64(r, &n, what)) {
        return false;
    }
    if (n > MAX_COUNT) {
        return gi_error_set(r->err, GLINFER_STATUS_BAD_FILE,
                            "%s: %s at byte %" PRIu64 " is %" PRIu64 ", at most %u is allowed: the "
                            "file is damaged",
                            r->path, what, start, n, MAX_COUNT);
    }
    *count = (size_t)n;
    return true;
}

// Keeps a small file from making us allocate much.
static bool check_room(const struct gi_gguf_reader *r, size_t count, uint32_t min_size,
                       const char *what)
{
    if (count <= gi_gguf_reader_left(r) / min_size) {
        return true;
    }
    return gi_error_set(r->err, GLINFER_STATUS_BAD_FILE,
                        "%s: %zu %s do not fit into the %" PRIu64 " bytes after byte %" PRIu64
                        ": the file is damaged or was not downloaded completely",
                        r->path, count, what, gi_gguf_reader_left(r), r->pos);
}

bool gi_gguf_sort_names(struct gi_name_index *names, const char *what, const char *path,
                        struct glinfer_error *err)
{
    const struct gi_gguf_string *twice = gi_name_index_sort(names);
    return !twice || gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                                  "%s: %s %.*s appears twice: the file is damaged", path, what,
                                  GI_SHOW(*twice));
}

//-- metadata ----------------------------------------------------------------------------------

bool gi_gguf_read_pairs(struct gi_gguf *gguf, struct gi_gguf_reader *r, size_t n_pairs)
{
    if (!check_room(r, n_pairs, GI_GGUF_PAIR_MIN_SIZE, "metadata keys")) {
        return false;
    }
    gguf->pairs = gi_array_zeroed(n_pairs, sizeof(*gguf->pairs), "metadata", r->err);
    if (!gguf->pairs || !gi_name_index_init(&gguf->keys, n_pairs, r->err)) {
        return false;
    }
    gguf->n_pairs = n_pairs;
    for (size_t i = 0; i < n_pairs; i++) {
        if (!gi_gguf_pair_init(&gguf->pairs[i], r)) {
            return false;
        }
        gguf->keys.entries[i] = (struct gi_name_entry){gguf->pairs[i].key, i};
    }
    return gi_gguf_sort_names(&gguf->keys, "metadata key", gguf->source.name, r->err);
}

static bool read_alignment(const struct gi_gguf *gguf, uint32_t *alignment,
                           struct glinfer_error *err)
{
    if (!gi_gguf_get_u32(gguf, "general.alignment", DEFAULT_ALIGNMENT, alignment, err)) {
        return false;
    }
    if (*alignment == 0 || (*alignment & (*alignment - 1)) != 0) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                            "%s: general.alignment is %" PRIu32
                            ", expected a power of two: the file is damaged",
                            gguf->source.name, *alignment);
    }
    return true;
}

//-- tensor directory --------------------------------------------------------------------------

static bool bad_tensor(const struct gi_gguf_reader *r, const struct gi_gguf_tensor *t,
                       const char *what, uint64_t found, const char *expected)
{
    return gi_error_set(r->err, GLINFER_STATUS_BAD_FILE,
                        "%s: tensor %.*s: %s is %" PRIu64 ", expected %s (directory entry before "
                        "byte %" PRIu64 "): the file is damaged",
                        r->path, GI_SHOW(t->name), what, found, expected, r->pos);
}

static bool read_tensor_name(struct gi_gguf_tensor *t, struct gi_gguf_reader *r)
{
    uint64_t start = r->pos;
    if (!gi_gguf_reader_string(r, MAX_NAME_SIZE, &t->name, "a tensor name")) {
        return false;
    }
    if (t->name.size == 0) {
        return gi_error_set(r->err, GLINFER_STATUS_BAD_FILE,
                            "%s: the tensor name at byte %" PRIu64 " is empty: the file is damaged",
                            r->path, start);
    }
    return true;
}

static bool read_tensor_dims(struct gi_gguf_tensor *t, struct gi_gguf_reader *r)
{
    if (!gi_gguf_reader_u32(r, &t->n_dims, "the number of dimensions of a tensor")) {
        return false;
    }
    if (t->n_dims < 1 || t->n_dims > 4) {
        return bad_tensor(r, t, "the number of dimensions", t->n_dims, "1 to 4");
    }
    for (uint32_t i = 0; i < 4; i++) {
        t->dims[i] = 1;
        if (i < t->n_dims && !gi_gguf_reader_u64(r, &t->dims[i], "a dimension of a tensor")) {
            return false;
        }
    }
    return true;
}

bool gi_gguf_tensor_size(struct gi_gguf_tensor *t, uint32_t number, const struct gi_gguf_reader *r)
{
    t->n_elements = 1;
    for (uint32_t i = 0; i < t->n_dims; i++) {
        if (t->dims[i] == 0 || t->dims[i] > INT64_MAX / t->n_elements) {
            return bad_tensor(r, t, "a dimension", t->dims[i], "a product of 1 to 2^63 - 1");
        }
        t->n_elements *= t->dims[i];
    }
    t->type = gi_ggml_type_find(number);
    if (!t->type) {
        return gi_error_set(r->err, GLINFER_STATUS_UNSUPPORTED,
                            "%s: tensor %.*s has type number %" PRIu32 " (before byte %" PRIu64
                            "), which is unknown: use a model in another quantisation",
                            r->path, GI_SHOW(t->name), number, r->pos);
    }
    if (t->dims[0] % t->type->block_size != 0) {
        return gi_error_set(r->err, GLINFER_STATUS_BAD_FILE,
                            "%s: tensor %.*s of type %s has rows of %" PRIu64
                            " elements, expected a multiple of %" PRIu32 ": the file is damaged",
                            r->path, GI_SHOW(t->name), t->type->name, t->dims[0],
                            t->type->block_size);
    }
    uint64_t n_block = t->n_elements / t->type->block_size;
    if (n_block > UINT64_MAX / t->type->block_bytes) {
        return bad_tensor(r, t, "the number of blocks", n_block, "fewer bytes than 2^64");
    }
    t->size = n_block * t->type->block_bytes;
    return true;
}

static bool place_tensor(const struct gi_gguf *gguf, struct gi_gguf_tensor *t, uint64_t data_start,
                         uint32_t alignment, struct glinfer_error *err)
{
    uint64_t room = gguf->source.size > data_start ? gguf->source.size - data_start : 0;
    if (t->file_offset % alignment != 0) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                            "%s: tensor %.*s has offset %" PRIu64
                            ", expected a multiple of %" PRIu32 ": the file is damaged",
                            gguf->source.name, GI_SHOW(t->name), t->file_offset, alignment);
    }
    if (t->file_offset > room || t->size > room - t->file_offset) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                            "%s: tensor %.*s takes %" PRIu64 " bytes at offset %" PRIu64
                            " of the data, which has %" PRIu64 " (from byte %" PRIu64
                            " to the end): the file is damaged or was not downloaded completely",
                            gguf->source.name, GI_SHOW(t->name), t->size, t->file_offset, room,
                            data_start);
    }
    t->file_offset += data_start;
    return true;
}

static bool place_tensors(struct gi_gguf *gguf, uint64_t directory_end, struct glinfer_error *err)
{
    uint32_t alignment;
    if (!read_alignment(gguf, &alignment, err)) {
        return false;
    }
    uint64_t padding = (alignment - directory_end % alignment) % alignment;
    uint64_t data_start = directory_end + padding;
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        if (!place_tensor(gguf, &gguf->tensors[i], data_start, alignment, err)) {
            return false;
        }
    }
    return true;
}

static bool read_tensors(struct gi_gguf *gguf, struct gi_gguf_reader *r, size_t n_tensors)
{
    if (!check_room(r, n_tensors, TENSOR_MIN_SIZE, "tensors")) {
        return false;
    }
    gguf->tensors =
        gi_array_zeroed(n_tensors, sizeof(*gguf->tensors), "the tensor directory", r->err);
    if (!gguf->tensors || !gi_name_index_init(&gguf->tensor_names, n_tensors, r->err)) {
        return false;
    }
    gguf->n_tensors = n_tensors;
    for (size_t i = 0; i < n_tensors; i++) {
        struct gi_gguf_tensor *t = &gguf->tensors[i]; // file_offset counts from the data as yet
        uint32_t type;
        if (!read_tensor_name(t, r) || !read_tensor_dims(t, r) ||
            !gi_gguf_reader_u32(r, &type, "the type of a tensor") ||
            !gi_gguf_tensor_size(t, type, r) ||
            !gi_gguf_reader_u64(r, &t->file_offset, "the offset of a tensor")) {
            return false;
        }
        gguf->tensor_names.entries[i] = (struct gi_name_entry){t->name, i};
    }
    return gi_gguf_sort_names(&gguf->tensor_names, "tensor", gguf->source.name, r->err) &&
           place_tensors(gguf, r->pos, r->err);
}

//-- open, close -------------------------------------------------------------------------------

bool gi_gguf_read_head(struct gi_gguf *gguf, uint64_t head_size, struct glinfer_error *err)
{
    struct gi_gguf_reader r = {.source = &gguf->source,
                               .blocks = &gguf->blocks,
                               .size = head_size,
                               .path = gguf->source.name,
                               .err = err};
    size_t n_tensors = 0, n_pairs = 0;
    if (gi_ggml_bin_is(&r)) {
        return gi_ggml_bin_read(gguf, &r);
    }
    return check_magic(&r) && check_version(&r) &&
           read_count(&r, "the number of tensors", &n_tensors) &&
           read_count(&r, "the number of metadata keys", &n_pairs) &&
           gi_gguf_read_pairs(gguf, &r, n_pairs) && read_tensors(gguf, &r, n_tensors);
}

struct gi_gguf *gi_gguf_open_file(const struct glinfer_source *source, struct glinfer_error *err)
{
    struct gi_gguf *gguf = gi_array_zeroed(1, sizeof(*gguf), "a GGUF file", err);
    if (!gguf) {
        return NULL;
    }
    if (!gi_source_open(&gguf->source, source, err) ||
        !gi_gguf_read_head(gguf, gguf->source.size, err)) {
        gi_gguf_close(gguf);
        return NULL;
    }
    return gguf;
}

struct gi_gguf *gi_gguf_open(const struct glinfer_source *source, struct glinfer_error *err)
{
    struct gi_gguf *gguf = gi_gguf_open_file(source, err);
    return gguf ? gi_gguf_join(gguf, source, err) : NULL;
}

static void release(struct gi_gguf *gguf)
{
    for (size_t i = 0; i < gguf->n_pairs; i++) {
        gi_gguf_pair_finish(&gguf->pairs[i]);
    }
    free(gguf->pairs);
    gi_name_index_finish(&gguf->keys);
    free(gguf->tensors);
    gi_name_index_finish(&gguf->tensor_names);
    while (gguf->blocks) {
        struct gi_gguf_block *block = gguf->blocks;
        gguf->blocks = block->next;
        free(block);
    }
    gi_source_close(&gguf->source);
    if (gguf->filter.destroy) {
        gguf->filter.destroy(gguf->filter.user);
    }
    if (gguf->composed.destroy) {
        gguf->composed.destroy(gguf->composed.user);
    }
    free(gguf->pieces);
    free(gguf);
}

void gi_gguf_close(struct gi_gguf *gguf)
{
    for (uint32_t i = 0; gguf && i < gguf->n_pieces; i++) {
        if (gguf->pieces[i]) {
            release(gguf->pieces[i]);
        }
    }
    if (gguf) {
        release(gguf);
    }
}

//-- what was read -----------------------------------------------------------------------------

const char *gi_gguf_path(const struct gi_gguf *gguf)
{
    return gguf->source.name;
}

uint64_t gi_gguf_file_size(const struct gi_gguf *gguf)
{
    uint64_t size = gguf->source.size;
    for (uint32_t i = 0; i < gguf->n_pieces; i++) {
        size += gguf->pieces[i]->source.size;
    }
    return size;
}

size_t gi_gguf_tensor_count(const struct gi_gguf *gguf)
{
    return gguf->n_tensors;
}

const struct gi_gguf_tensor *gi_gguf_tensor_at(const struct gi_gguf *gguf, size_t index)
{
    return &gguf->tensors[index];
}

const struct gi_gguf_tensor *gi_gguf_tensor_find(const struct gi_gguf *gguf, const char *name)
{
    size_t index = gi_name_index_find(&gguf->tensor_names, name);
    return index == GI_NO_INDEX ? NULL : &gguf->tensors[index];
}

void gi_gguf_set_filter(struct gi_gguf *gguf, const struct gi_gguf_filter *filter)
{
    assert(!gguf->filter.read);
    gguf->filter = *filter;
}

bool gi_gguf_tensor_read(const struct gi_gguf *gguf, const struct gi_gguf_tensor *tensor,
                         uint64_t offset, size_t size, void *out, struct glinfer_error *err)
{
    return gguf->filter.read ? gguf->filter.read(gguf->filter.user, tensor, offset, size, out, err)
                             : gi_gguf_tensor_read_unfiltered(gguf, tensor, offset, size, out, err);
}

bool gi_gguf_tensor_read_unfiltered(const struct gi_gguf *gguf, const struct gi_gguf_tensor *tensor,
                                    uint64_t offset, size_t size, void *out,
                                    struct glinfer_error *err)
{
    assert(offset <= tensor->size && size <= tensor->size - offset);
    if (gguf->composed.read) {
        return gguf->composed.read(gguf->composed.user, (size_t)(tensor - gguf->tensors), offset,
                                   size, out, err);
    }
    return gi_source_read(&gi_gguf_file(gguf, tensor->file)->source, tensor->file_offset + offset,
                          size, out, err);
}
