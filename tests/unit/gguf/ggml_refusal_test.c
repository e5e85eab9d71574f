// Files of whisper.cpp that are wrong in one place, and their error messages.
#include "tests/unit/cmocka_test.h"
#include "tests/unit/gguf/bin_builder.h"
#include "tests/unit/gguf/gguf_opened.h"

#include <stdio.h>
#include <stdlib.h>

enum { N_MEL = 2, N_TOKENS = 3, N_VOCAB = 70 };

// Offsets of fields.
enum {
    VOCAB = 4,
    AUDIO_CTX = 8,
    AUDIO_WIDTH = 12,
    AUDIO_HEADS = 16,
    AUDIO_LAYERS = 20,
    TEXT_CTX = 24,
    TEXT_WIDTH = 28,
    TEXT_HEADS = 32,
    TEXT_LAYERS = 36,
    MELS = 40,
    FILTERS = 48,
    BINS = 52,
    TOKENS = 56 + N_MEL * 201 * 4,
    TOKEN = TOKENS + 4,
    TENSOR = TOKEN + N_TOKENS * 5, // n_dims, bytes of the name, type, sizes, name, data
    SIZES = TENSOR + 12,
    NAME = SIZES + 8,
};

static void add_tensor(struct gguf_builder *b, const char *name, uint32_t n_dims,
                       const uint32_t *dims, uint32_t type, size_t size)
{
    bin_tensor(b, name, n_dims, dims, type);
    for (size_t i = 0; i < size; i++) {
        gguf_u8(b, (uint8_t)i);
    }
}

// A sound file with three tokens of a byte and three tensors.
static void add_whisper(struct gguf_builder *b)
{
    bin_whisper(b, (const uint32_t[]){N_VOCAB, 64, 32, 2, 1, 48, 32, 2, 1, N_MEL, 1}, N_TOKENS);
    add_tensor(b, "decoder.token_embedding.weight", 2, (uint32_t[]){32, 2}, GI_GGML_TYPE_Q8_0, 68);
    add_tensor(b, "encoder.conv1.weight", 3, (uint32_t[]){3, N_MEL, 2}, GI_GGML_TYPE_F16, 24);
    add_tensor(b, "encoder.conv1.bias", 2, (uint32_t[]){1, 2}, GI_GGML_TYPE_F32, 8);
}

// A wrong number in a field, and the error message.
static const struct {
    uint32_t at, value;
    enum glinfer_status status;
    const char *says;
} wrong[] = {
    {0, 0x6c6d6767, GLINFER_STATUS_BAD_FILE, "starts with 67 67 6d 6c"},
    {VOCAB, 0, GLINFER_STATUS_BAD_FILE, "whisper.vocab_size at byte 4 is 0, expected 1 to 1048576"},
    {VOCAB, 5, GLINFER_STATUS_UNSUPPORTED, "Whisper and Silero are supported"},
    {VOCAB, 1u << 31, GLINFER_STATUS_BAD_FILE, "whisper.vocab_size at byte 4 is 2147483648"},
    {AUDIO_CTX, 0, GLINFER_STATUS_BAD_FILE, "whisper.encoder.context_length at byte 8 is 0"},
    {AUDIO_WIDTH, UINT32_MAX, GLINFER_STATUS_BAD_FILE, "embedding_length at byte 12 is 4294967295"},
    {AUDIO_HEADS, 0, GLINFER_STATUS_BAD_FILE, "attention.head_count at byte 16 is 0"},
    {AUDIO_LAYERS, 0, GLINFER_STATUS_BAD_FILE, "whisper.encoder.block_count at byte 20 is 0"},
    {AUDIO_LAYERS, 1u << 30, GLINFER_STATUS_BAD_FILE, "block_count at byte 20 is 1073741824"},
    {TEXT_CTX, 1u << 31, GLINFER_STATUS_BAD_FILE, "context_length at byte 24 is 2147483648"},
    {TEXT_WIDTH, 0, GLINFER_STATUS_BAD_FILE, "whisper.decoder.embedding_length at byte 28 is 0"},
    {TEXT_HEADS, 1u << 11, GLINFER_STATUS_BAD_FILE, "attention.head_count at byte 32 is 2048"},
    {TEXT_LAYERS, 0, GLINFER_STATUS_BAD_FILE, "whisper.decoder.block_count at byte 36 is 0"},
    {TEXT_LAYERS, 1u << 30, GLINFER_STATUS_BAD_FILE, "block_count at byte 36 is 1073741824"},
    {MELS, 1u << 20, GLINFER_STATUS_BAD_FILE, "whisper.mel_count at byte 40 is 1048576"},
    {MELS, 80, GLINFER_STATUS_BAD_FILE,
     "has 2 mel filters of 201 bins before byte 56, expected 80"},
    {FILTERS, 0, GLINFER_STATUS_BAD_FILE, "has 0 mel filters"},
    {FILTERS, UINT32_MAX, GLINFER_STATUS_BAD_FILE, "has 4294967295 mel filters"},
    {BINS, 0, GLINFER_STATUS_BAD_FILE, "of 0 bins before byte 56, expected 2 of 201"},
    {BINS, 1u << 31, GLINFER_STATUS_BAD_FILE, "of 2147483648 bins"},
    {TOKENS, 0, GLINFER_STATUS_BAD_FILE, "has 0 tokens before byte 1668, expected 1 to 70"},
    {TOKENS, N_VOCAB + 1, GLINFER_STATUS_BAD_FILE, "has 71 tokens"},
    {TOKENS, UINT32_MAX, GLINFER_STATUS_BAD_FILE, "has 4294967295 tokens"},
    {TOKENS, N_VOCAB, GLINFER_STATUS_BAD_FILE, "70 tokens do not fit into the"},
    {TOKEN + 5, 1025, GLINFER_STATUS_BAD_FILE, "token 1 before byte 1677 has 1025 bytes"},
    {TOKEN + 5, 1u << 31, GLINFER_STATUS_BAD_FILE, "token 1 before byte 1677 has 2147483648"},
    {TOKEN + 5, 1000, GLINFER_STATUS_BAD_FILE, "a token at byte 1677 takes 1000 bytes"},
    {TENSOR, 5, GLINFER_STATUS_BAD_FILE, "has 5 dimensions and a name of 30 bytes"},
    {TENSOR, UINT32_MAX, GLINFER_STATUS_BAD_FILE, "has 4294967295 dimensions"},
    {TENSOR + 4, 0, GLINFER_STATUS_BAD_FILE, "a name of 0 bytes"},
    {TENSOR + 4, 65, GLINFER_STATUS_BAD_FILE, "a name of 65 bytes"},
    {TENSOR + 4, 1u << 31, GLINFER_STATUS_BAD_FILE, "a name of 2147483648 bytes"},
    {TENSOR + 8, 4, GLINFER_STATUS_UNSUPPORTED, "embedding.weight has type number 4 (before"},
    {TENSOR + 8, UINT32_MAX, GLINFER_STATUS_UNSUPPORTED, "has type number 4294967295"},
    {SIZES, 0, GLINFER_STATUS_BAD_FILE, "a dimension is 0"},
    {SIZES, 33, GLINFER_STATUS_BAD_FILE, "has rows of 33 elements, expected a multiple of 32"},
    {SIZES, 0xffffffe0, GLINFER_STATUS_BAD_FILE, "but the file ends at byte"},
    {SIZES + 4, UINT32_MAX, GLINFER_STATUS_BAD_FILE, "but the file ends at byte"},
};

TEST(files_with_a_wrong_number_are_refused)
{
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct gguf_builder b = {0};
        add_whisper(&b);
        const size_t size = b.size;
        b.size = wrong[i].at;
        gguf_u32(&b, wrong[i].value);
        b.size = size;
        assert_refused(&b, wrong[i].status, wrong[i].says);
    }
}

// A cut at the end of a tensor leaves a file that lacks tensors, which the plan of the model finds.
TEST(a_cut_file_is_refused)
{
    BUILDER b = {0};
    size_t n_accepted = 0;
    add_whisper(&b);
    for (size_t size = 0; size < b.size; size++) {
        OPENED o = open_bytes(&b, size);
        n_accepted += o.gguf != NULL;
        assert_true(o.gguf || o.err.status == GLINFER_STATUS_BAD_FILE);
    }
    assert_int_equal(n_accepted, 2);
    b.size = TENSOR;
    OPENED o = open_bytes(&b, b.size);
    assert_null(o.gguf);
    assert_says(o.err.message, "has no tensors");
}

// The sizes of the dimensions of the last tensor: each fits, their product does not.
TEST(sizes_that_overflow_are_refused)
{
    struct gguf_builder b = {0};
    add_whisper(&b);
    add_tensor(&b, "big", 4, (uint32_t[]){UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}, 0, 0);
    assert_bad(&b, "tensor big: a dimension is 4294967295");
    add_whisper(&b);
    add_tensor(&b, "big", 2, (uint32_t[]){UINT32_MAX, INT32_MAX}, GI_GGML_TYPE_F64, 0);
    assert_bad(&b, "tensor big: the number of blocks");
}

TEST(a_tensor_appears_once)
{
    struct gguf_builder b = {0};
    add_whisper(&b);
    add_tensor(&b, "encoder.conv1.bias", 2, (uint32_t[]){1, 2}, GI_GGML_TYPE_F32, 8);
    assert_bad(&b, "tensor enc.conv1.bias appears twice");
    add_whisper(&b); // two names of the file, one of the model
    add_tensor(&b, "encoder.blocks.0.mlp.0.bias", 1, (uint32_t[]){1}, GI_GGML_TYPE_F32, 4);
    add_tensor(&b, "encoder.blocks.00.mlp.0.bias", 1, (uint32_t[]){1}, GI_GGML_TYPE_F32, 4);
    assert_bad(&b, "tensor enc.blk.0.ffn_up.bias appears twice");
}

TEST(the_number_of_tensors_has_a_limit)
{
    struct gguf_builder b = {0};
    add_whisper(&b);
    for (uint32_t i = 0; i < 1u << 16; i++) {
        char name[16];
        snprintf(name, sizeof(name), "t%u", i);
        add_tensor(&b, name, 0, NULL, GI_GGML_TYPE_F16, 2);
    }
    assert_bad(&b, "has more than 65536 tensors");
}

TEST(a_file_of_silero_has_its_sizes)
{
    struct gguf_builder b = {0};
    gguf_u32(&b, 0x67676d6c);
    gguf_u32(&b, 10);
    gguf_bytes(&b, "silero-16k", 10);
    for (int i = 0; i < 5; i++) { // version and window
        gguf_u32(&b, 1);
    }
    gguf_u32(&b, UINT32_MAX); // layers
    gguf_pad(&b, 256);
    assert_bad(&b, "the sizes of layers at byte 42 takes 51539607556 bytes");
}

RUN_TESTS(NULL, NULL)
