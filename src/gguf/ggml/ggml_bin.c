#include "gguf/ggml/ggml_bin.h"

#include "base/array.h"
#include "base/bytes.h"
#include "gguf/ggml/whisper_names.h"

#include <inttypes.h>
#include <stdlib.h>

#define MAGIC       0x67676d6cu // "ggml"
#define MAX_NAME    64u         // bytes of a tensor's name
#define MAX_TOKEN   1024u       // bytes of a token
#define MAX_VOCAB   (1u << 20)
#define MAX_TENSORS (1u << 16)
#define N_MEL_BINS  201u
#define MAX_MEL     1024u
#define HEAD_SIZE   12u // bytes of a directory entry before its sizes

bool gi_ggml_bin_is(struct gi_gguf_reader *r)
{
    uint8_t magic[4];
    return r->size >= sizeof(magic) && gi_source_read(r->source, 0, sizeof(magic), magic, NULL) &&
           gi_load_u32(magic) == MAGIC;
}

//-- metadata ----------------------------------------------------------------------------------

// Makes room for bytes that live as long as the gguf.
static uint8_t *add_block(struct gi_gguf *gguf, size_t size, const char *what,
                          struct glinfer_error *err)
{
    struct gi_gguf_block *block = malloc(sizeof(*block) + size);
    if (!block) {
        gi_error_no_memory(err, size, what);
        return NULL;
    }
    *block = (struct gi_gguf_block){.next = gguf->blocks}; // holds no bytes of the file
    gguf->blocks = block;
    return block->bytes;
}

// Pairs as a GGUF file holds them.
struct pairs {
    uint8_t *data;
    size_t count, capacity; // bytes
    size_t n_pairs;
    bool has_failed; // later calls do nothing
    struct glinfer_error *err;
};

static void append(struct pairs *pairs, const void *bytes, size_t size)
{
    pairs->has_failed =
        pairs->has_failed || !GI_ARRAY_RESERVE(pairs, pairs->count + size, "metadata", pairs->err);
    if (!pairs->has_failed) {
        memcpy(pairs->data + pairs->count, bytes, size);
        pairs->count += size;
    }
}

static void add_number(struct pairs *pairs, uint64_t value, size_t size)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(value >> 8 * i);
    }
    append(pairs, bytes, size);
}

static void add_string(struct pairs *pairs, const void *bytes, size_t size)
{
    add_number(pairs, size, 8);
    append(pairs, bytes, size);
}

static void add_key(struct pairs *pairs, const char *key, enum gi_gguf_kind kind)
{
    add_string(pairs, key, strlen(key));
    add_number(pairs, kind, 4);
    pairs->n_pairs++;
}

static void add_array(struct pairs *pairs, const char *key, enum gi_gguf_kind kind, uint64_t count)
{
    add_key(pairs, key, GI_GGUF_KIND_ARRAY);
    add_number(pairs, kind, 4);
    add_number(pairs, count, 8);
}

static void add_text(struct pairs *pairs, const char *key, const char *value)
{
    add_key(pairs, key, GI_GGUF_KIND_STRING);
    add_string(pairs, value, strlen(value));
}

// Reads a number of the file into a pair; it must lie in [least, most].
static bool take_number(struct pairs *pairs, struct gi_gguf_reader *r, const char *key,
                        uint32_t least, uint32_t most, uint32_t *value)
{
    if (!gi_gguf_reader_u32(r, value, key)) {
        return false;
    }
    if (*value < least || *value > most) {
        return gi_error_set(r->err, GLINFER_STATUS_BAD_FILE,
                            "%s: %s at byte %" PRIu64 " is %" PRIu32 ", expected %" PRIu32
                            " to %" PRIu32 ": the file is damaged, or from before GGUF",
                            r->path, key, r->pos - sizeof(uint32_t), *value, least, most);
    }
    add_key(pairs, key, GI_GGUF_KIND_U32);
    add_number(pairs, *value, 4);
    return true;
}

// Numbers of the header that its other parts must agree with, by their place.
enum { VOCAB_SIZE, ENCODER_LAYERS = 4, MEL_COUNT = 9, N_SIZES };

static bool take_sizes(struct pairs *pairs, struct gi_gguf_reader *r, uint32_t sizes[N_SIZES])
{
    static const struct {
        const char *key;
        uint32_t most;
        const char *width;
    } keys[N_SIZES] = {
        // in the order of the file
        {"whisper.vocab_size", MAX_VOCAB, NULL},
        {"whisper.encoder.context_length", 1 << 16, NULL},
        {"whisper.encoder.embedding_length", 1 << 16, "whisper.encoder.feed_forward_length"},
        {"whisper.encoder.attention.head_count", 1 << 10, NULL},
        {"whisper.encoder.block_count", 1 << 10, NULL},
        {"whisper.decoder.context_length", 1 << 16, NULL},
        {"whisper.decoder.embedding_length", 1 << 16, "whisper.decoder.feed_forward_length"},
        {"whisper.decoder.attention.head_count", 1 << 10, NULL},
        {"whisper.decoder.block_count", 1 << 10, NULL},
        {"whisper.mel_count", MAX_MEL, NULL},
    };
    uint32_t file_type;
    add_text(pairs, "general.architecture", "whisper");
    for (size_t i = 0; i < N_SIZES; i++) {
        if (!take_number(pairs, r, keys[i].key, 1, keys[i].most, &sizes[i])) {
            return false;
        }
        if (keys[i].width) { // which the file does not have
            add_key(pairs, keys[i].width, GI_GGUF_KIND_U32);
            add_number(pairs, UINT64_C(4) * sizes[i], 4);
        }
    }
    return take_number(pairs, r, "general.file_type", 0, UINT32_MAX, &file_type);
}

static bool take_filters(struct pairs *pairs, struct gi_gguf_reader *r, uint32_t mel_count)
{
    uint32_t n_mel, n_bins;
    if (!gi_gguf_reader_u32(r, &n_mel, "the number of mel filters") ||
        !gi_gguf_reader_u32(r, &n_bins, "the size of a mel filter")) {
        return false;
    }
    if (n_mel != mel_count || n_bins != N_MEL_BINS) {
        return gi_error_set(r->err, GLINFER_STATUS_BAD_FILE,
                            "%s: has %" PRIu32 " mel filters of %" PRIu32
                            " bins before byte %" PRIu64 ", expected %" PRIu32
                            " of %u: the file is damaged",
                            r->path, n_mel, n_bins, r->pos, mel_count, N_MEL_BINS);
    }
    const uint64_t size = (uint64_t)n_mel * n_bins * sizeof(float);
    const uint8_t *filters = gi_gguf_reader_bytes(r, size, "the mel filters");
    if (filters) {
        add_array(pairs, "whisper.mel_filters", GI_GGUF_KIND_F32, (uint64_t)n_mel * n_bins);
        append(pairs, filters, (size_t)size);
    }
    return filters;
}

static bool take_tokens(struct pairs *pairs, struct gi_gguf_reader *r, uint32_t n_vocab)
{
    uint32_t count;
    if (!gi_gguf_reader_u32(r, &count, "the number of tokens")) {
        return false;
    }
    if (count == 0 || count > n_vocab) {
        return gi_error_set(r->err, GLINFER_STATUS_BAD_FILE,
                            "%s: has %" PRIu32 " tokens before byte %" PRIu64
                            ", expected 1 to %" PRIu32 ": the file is damaged",
                            r->path, count, r->pos, n_vocab);
    }
    if (count > gi_gguf_reader_left(r) / sizeof(uint32_t)) {
        return gi_error_set(r->err, GLINFER_STATUS_BAD_FILE,
                            "%s: %" PRIu32 " tokens do not fit into the %" PRIu64
                            " bytes after byte %" PRIu64
                            ": the file is damaged or was not downloaded completely",
                            r->path, count, gi_gguf_reader_left(r), r->pos);
    }
    add_array(pairs, "tokenizer.ggml.tokens", GI_GGUF_KIND_STRING, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size;
        if (!gi_gguf_reader_u32(r, &size, "the size of a token")) {
            return false;
        }
        if (size > MAX_TOKEN) {
            return gi_error_set(r->err, GLINFER_STATUS_BAD_FILE,
                                "%s: token %" PRIu32 " before byte %" PRIu64 " has %" PRIu32
                                " bytes, at most %u are allowed: the file is damaged",
                                r->path, i, r->pos, size, MAX_TOKEN);
        }
        const uint8_t *bytes = gi_gguf_reader_bytes(r, size, "a token");
        if (!bytes) {
            return false;
        }
        add_string(pairs, bytes, size);
    }
    return true;
}

// Skips the sizes of Silero's network, which src/speech/vad.c knows, after checking their number.
static bool take_silero(struct pairs *pairs, struct gi_gguf_reader *r, uint32_t name_size)
{
    uint32_t n_layer = 0, version = 0;
    const uint8_t *name = gi_gguf_reader_bytes(r, name_size, "the kind of the network");
    if (!name) {
        return false;
    }
    if (name_size < 6 || memcmp(name, "silero", 6) != 0) {
        return gi_error_set(r->err, GLINFER_STATUS_UNSUPPORTED,
                            "%s: is a file of whisper.cpp with a network of kind %.*s; Whisper and "
                            "Silero are supported",
                            r->path, (int)name_size, (const char *)name);
    }
    add_text(pairs, "general.architecture", "silero-vad");
    if (!take_number(pairs, r, "general.version", 0, UINT32_MAX, &version) ||
        !gi_gguf_reader_bytes(r, 4 * sizeof(uint32_t), "the sizes of a window") ||
        !gi_gguf_reader_u32(r, &n_layer, "the number of layers")) {
        return false;
    }
    // Input, output and taps of each layer; sizes of the LSTM and of the last layer.
    return gi_gguf_reader_bytes(r, (uint64_t)n_layer * 12 + 16, "the sizes of layers");
}

// Keeps the pairs' bytes as long as the gguf lives, and reads them as those of a GGUF file.
static bool read_pairs(struct gi_gguf *gguf, const struct pairs *pairs, struct gi_gguf_reader *r)
{
    uint8_t *bytes = add_block(gguf, pairs->count, "metadata", r->err);
    if (!bytes) {
        return false;
    }
    memcpy(bytes, pairs->data, pairs->count);
    const struct gi_source source = {.size = pairs->count, .memory = bytes};
    struct gi_gguf_reader memory = {
        .source = &source, .size = pairs->count, .path = r->path, .err = r->err};
    return gi_gguf_read_pairs(gguf, &memory, pairs->n_pairs);
}

//-- tensors -----------------------------------------------------------------------------------

struct tensors {
    struct gi_gguf_tensor *data;
    size_t count, capacity;
};

// Reads size bytes at the cursor and keeps them as long as the gguf lives: the cursor's own blocks
// are made for a directory in one piece.
static const uint8_t *take_bytes(struct gi_gguf *gguf, struct gi_gguf_reader *r, size_t size,
                                 const char *what)
{
    if (size > gi_gguf_reader_left(r)) {
        gi_error_set(r->err, GLINFER_STATUS_BAD_FILE,
                     "%s: ends at byte %" PRIu64 ", within %s: it is damaged or was not downloaded "
                     "completely",
                     r->path, r->size, what);
        return NULL;
    }
    uint8_t *bytes = add_block(gguf, size, what, r->err);
    if (!bytes || !gi_source_read(r->source, r->pos, size, bytes, r->err)) {
        return NULL;
    }
    r->pos += size;
    return bytes;
}

// Gives a tensor of Whisper the name and the shape that it would have in a GGUF file: the taps of a
// convolution are columns of its matrix (n_out, n_in * 3), and its bias is a vector.
static bool rename_tensor(struct gi_gguf *gguf, struct gi_gguf_tensor *t, uint32_t n_layer,
                          struct glinfer_error *err)
{
    char name[GI_WHISPER_NAME_SIZE];
    if (!gi_whisper_name(t->name, n_layer, name)) {
        return true;
    }
    const size_t size = strlen(name);
    uint8_t *bytes = add_block(gguf, size, "a name", err);
    if (!bytes) {
        return false;
    }
    memcpy(bytes, name, size);
    t->name = (struct gi_gguf_string){(const char *)bytes, size};
    if (t->n_dims == 3 || (t->n_dims == 2 && t->dims[0] == 1)) {
        t->dims[0] *= t->dims[1];
        t->dims[1] = t->dims[2];
        t->dims[2] = 1;
        t->n_dims--;
    }
    return true;
}

static bool read_tensor(struct gi_gguf *gguf, struct gi_gguf_reader *r, struct gi_gguf_tensor *t)
{
    const uint8_t *head = take_bytes(gguf, r, HEAD_SIZE, "the head of a tensor");
    if (!head) {
        return false;
    }
    const uint32_t n_dims = gi_load_u32(head), name_size = gi_load_u32(head + 4);
    if (n_dims > 4 || name_size == 0 || name_size > MAX_NAME) {
        return gi_error_set(r->err, GLINFER_STATUS_BAD_FILE,
                            "%s: the tensor before byte %" PRIu64 " has %" PRIu32
                            " dimensions and a name of %" PRIu32
                            " bytes, expected 0 to 4 and 1 to %u: the file is damaged",
                            r->path, r->pos, n_dims, name_size, MAX_NAME);
    }
    const uint8_t *rest =
        take_bytes(gguf, r, n_dims * sizeof(uint32_t) + name_size, "the head of a tensor");
    if (!rest) {
        return false;
    }
    t->name = (struct gi_gguf_string){(const char *)rest + n_dims * sizeof(uint32_t), name_size};
    t->n_dims = n_dims > 0 ? n_dims : 1; // a scalar
    for (uint32_t i = 0; i < 4; i++) {
        t->dims[i] = i < n_dims ? gi_load_u32(rest + i * sizeof(uint32_t)) : 1;
    }
    if (!gi_gguf_tensor_size(t, gi_load_u32(head + 8), r)) {
        return false;
    }
    if (t->size > gi_gguf_reader_left(r)) {
        return gi_error_set(r->err, GLINFER_STATUS_BAD_FILE,
                            "%s: tensor %.*s takes %" PRIu64 " bytes at byte %" PRIu64
                            ", but the file ends at byte %" PRIu64
                            ": it is damaged or was not downloaded completely",
                            r->path, GI_SHOW(t->name), t->size, r->pos, r->size);
    }
    t->file_offset = r->pos;
    r->pos += t->size;
    return true;
}

// n_layer: layers of a Whisper model's encoder; 0: the file is not a Whisper model.
static bool read_tensors(struct gi_gguf *gguf, struct gi_gguf_reader *r, uint32_t n_layer)
{
    struct tensors tensors = {0};
    bool is_good = true;
    while (is_good && gi_gguf_reader_left(r) > 0) {
        struct gi_gguf_tensor t = {0};
        is_good = read_tensor(gguf, r, &t) &&
                  (n_layer == 0 || rename_tensor(gguf, &t, n_layer, r->err)) &&
                  GI_ARRAY_PUSH(&tensors, "the tensor directory", r->err, t);
        if (is_good && tensors.count > MAX_TENSORS) {
            is_good = gi_error_set(r->err, GLINFER_STATUS_BAD_FILE,
                                   "%s: has more than %u tensors: the file is damaged", r->path,
                                   MAX_TENSORS);
        }
    }
    gguf->tensors = tensors.data;
    gguf->n_tensors = tensors.count;
    if (is_good && tensors.count == 0) {
        return gi_error_set(r->err, GLINFER_STATUS_BAD_FILE,
                            "%s: has no tensors: it was not downloaded completely, or holds a "
                            "vocabulary alone",
                            r->path);
    }
    if (!is_good || !gi_name_index_init(&gguf->tensor_names, tensors.count, r->err)) {
        return false;
    }
    for (size_t i = 0; i < tensors.count; i++) {
        gguf->tensor_names.entries[i] = (struct gi_name_entry){tensors.data[i].name, i};
    }
    return gi_gguf_sort_names(&gguf->tensor_names, "tensor", r->path, r->err);
}

bool gi_ggml_bin_read(struct gi_gguf *gguf, struct gi_gguf_reader *r)
{
    struct pairs pairs = {.err = r->err};
    uint32_t first = 0; // size of a name, or of the vocabulary of a Whisper model
    uint32_t sizes[N_SIZES] = {0};
    r->pos = sizeof(uint32_t);
    bool is_good = gi_gguf_reader_u32(r, &first, "the first number");
    if (is_good && first > 0 && first <= MAX_NAME) {
        is_good = take_silero(&pairs, r, first);
    } else if (is_good) {
        r->pos -= sizeof(uint32_t);
        is_good = take_sizes(&pairs, r, sizes) && take_filters(&pairs, r, sizes[MEL_COUNT]) &&
                  take_tokens(&pairs, r, sizes[VOCAB_SIZE]);
    }
    is_good = is_good && !pairs.has_failed && read_pairs(gguf, &pairs, r) &&
              read_tensors(gguf, r, sizes[ENCODER_LAYERS]);
    free(pairs.data);
    return is_good;
}
