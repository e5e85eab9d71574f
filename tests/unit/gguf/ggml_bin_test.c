// Files of whisper.cpp: their metadata and tensors.
#include "tests/unit/cmocka_test.h"
#include "tests/unit/failing_alloc.h"
#include "tests/unit/gguf/bin_builder.h"
#include "tests/unit/gguf/gguf_opened.h"

#include <stdlib.h>

enum { N_SIZES = 11 };

static const char *const keys[N_SIZES] = {
    "whisper.vocab_size",
    "whisper.encoder.context_length",
    "whisper.encoder.embedding_length",
    "whisper.encoder.attention.head_count",
    "whisper.encoder.block_count",
    "whisper.decoder.context_length",
    "whisper.decoder.embedding_length",
    "whisper.decoder.attention.head_count",
    "whisper.decoder.block_count",
    "whisper.mel_count",
    "general.file_type",
};

static void expect_number(const struct gi_gguf *gguf, const char *key, uint32_t expected)
{
    uint32_t found;
    assert_true(gi_gguf_has(gguf, key));
    must_do(gi_gguf_get_u32(gguf, key, 0, &found, &err));
    assert_int_equal(found, expected);
}

static void expect_architecture(const struct gi_gguf *gguf, const char *expected)
{
    struct gi_gguf_string found;
    must_do(gi_gguf_get_string(gguf, "general.architecture", &found, &err));
    assert_string_is(found, expected);
}

// A tensor of two rows whose bytes count up.
static void add_rows(struct gguf_builder *b, const char *name, uint32_t n, uint32_t type,
                     uint32_t n_bytes)
{
    bin_tensor(b, name, 2, (const uint32_t[]){n, 2}, type);
    for (uint32_t i = 0; i < n_bytes; i++) {
        gguf_u8(b, (uint8_t)i);
    }
}

static void expect_bytes(const struct gi_gguf *gguf, const struct gi_gguf_tensor *tensor)
{
    uint8_t *data = malloc((size_t)tensor->size);
    assert_non_null(data);
    must_do(gi_gguf_tensor_read(gguf, tensor, 0, (size_t)tensor->size, data, &err));
    for (size_t i = 0; i < tensor->size; i++) {
        assert_int_equal(data[i], (uint8_t)i);
    }
    free(data);
}

//-- Whisper -----------------------------------------------------------------------------------

// The sizes that whisper.cpp publishes, and distilled models.
static const uint32_t models[][N_SIZES] = {
    {51864, 1500, 384, 6, 4, 448, 384, 6, 4, 80, 1},          // tiny.en
    {51865, 1500, 384, 6, 4, 448, 384, 6, 4, 80, 1},          // tiny
    {51865, 1500, 512, 8, 6, 448, 512, 8, 6, 80, 0},          // base, f32
    {51864, 1500, 768, 12, 12, 448, 768, 12, 12, 80, 1},      // small.en
    {51865, 1500, 1024, 16, 24, 448, 1024, 16, 24, 80, 1},    // medium
    {51865, 1500, 1280, 20, 32, 448, 1280, 20, 32, 80, 1},    // large-v2
    {51866, 1500, 1280, 20, 32, 448, 1280, 20, 32, 128, 1},   // large-v3
    {51866, 1500, 1280, 20, 32, 448, 1280, 20, 4, 128, 2008}, // large-v3-turbo, q5_0
    {51866, 1500, 1280, 20, 32, 448, 1280, 20, 2, 128, 1},    // distil-large-v3
    {51864, 1500, 768, 12, 12, 448, 768, 12, 4, 80, 1},       // distil-small.en
    {51864, 1500, 1024, 16, 24, 448, 1024, 16, 2, 80, 2009},  // distil-medium.en, q5_1
};

static void expect_vocabulary(const struct gi_gguf *gguf, uint64_t n_tokens)
{
    struct gi_gguf_array tokens;
    must_do(gi_gguf_get_array(gguf, "tokenizer.ggml.tokens", GI_GGUF_KIND_STRING, &tokens, &err));
    assert_int_equal(tokens.count, n_tokens);
    assert_string_is(tokens.strings[0], "0");
    assert_string_is(tokens.strings[n_tokens - 1], "50256");
}

TEST(heads_of_models_become_metadata)
{
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        BUILDER b = {0};
        struct gi_gguf_array filters;
        const uint32_t n_mel = models[i][9];
        bin_whisper(&b, models[i], 50257);
        add_rows(&b, "decoder.token_embedding.weight", 32, 1, 128);
        OPENED o = open_bytes(&b, b.size);
        must(o.gguf, &o.err);
        expect_architecture(o.gguf, "whisper");
        for (int j = 0; j < N_SIZES; j++) {
            expect_number(o.gguf, keys[j], models[i][j]);
        }
        expect_vocabulary(o.gguf, 50257);
        must_do(gi_gguf_get_array(o.gguf, "whisper.mel_filters", GI_GGUF_KIND_F32, &filters, &err));
        assert_int_equal(filters.count, n_mel * 201);
        assert_float_equal(gi_gguf_array_f32(&filters, n_mel * 201 - 1), n_mel * 201 - 1, 0);
        expect_bytes(o.gguf, gi_gguf_tensor_find(o.gguf, "token_embd.weight"));
    }
}

TEST(every_type_of_weights_is_read)
{
    static const struct {
        uint32_t file_type, type, row; // general.file_type, of the tensor, bytes of 256 elements
        const char *name;
    } types[] = {
        {0, 0, 1024, "f32"},     {1, 1, 512, "f16"},      {2002, 2, 144, "q4_0"},
        {2003, 3, 160, "q4_1"},  {2007, 8, 272, "q8_0"},  {2008, 6, 176, "q5_0"},
        {2009, 7, 192, "q5_1"},  {2010, 10, 84, "q2_k"},  {2011, 11, 110, "q3_k"},
        {2012, 12, 144, "q4_k"}, {2013, 13, 176, "q5_k"}, {2014, 14, 210, "q6_k"},
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        BUILDER b = {0};
        const uint32_t sizes[N_SIZES] = {
            51864, 1500, 256, 4, 1, 448, 256, 4, 1, 80, types[i].file_type};
        bin_whisper(&b, sizes, 50257);
        bin_tensor(&b, "decoder.ln.bias", 1, (const uint32_t[]){1}, 0);
        gguf_f32(&b, 1); // so that the next tensor is not aligned
        add_rows(&b, "decoder.blocks.0.mlp.0.weight", 256, types[i].type, 2 * types[i].row);
        OPENED o = open_bytes(&b, b.size);
        must(o.gguf, &o.err);
        expect_number(o.gguf, "general.file_type", types[i].file_type);
        const struct gi_gguf_tensor *tensor = gi_gguf_tensor_find(o.gguf, "blk.1.ffn_up.weight");
        assert_non_null(tensor);
        assert_string_equal(tensor->type->name, types[i].name);
        assert_int_equal(tensor->size, 2 * types[i].row);
        assert_int_equal(tensor->n_dims, 2);
        assert_int_equal(tensor->dims[0], 256);
        assert_int_equal(tensor->dims[1], 2);
        assert_int_equal(tensor->file_offset + tensor->size, b.size);
        expect_bytes(o.gguf, tensor);
    }
}

TEST(convolutions_are_matrices_with_vectors_of_biases)
{
    BUILDER b = {0};
    bin_whisper(&b, models[0], 50257);
    bin_tensor(&b, "encoder.conv1.weight", 3, (const uint32_t[]){3, 2, 5}, 0);
    for (int i = 0; i < 30; i++) {
        gguf_f32(&b, (float)i);
    }
    bin_tensor(&b, "encoder.conv1.bias", 2, (const uint32_t[]){1, 5}, 0);
    for (int i = 0; i < 5; i++) {
        gguf_f32(&b, (float)i);
    }
    OPENED o = open_bytes(&b, b.size);
    must(o.gguf, &o.err);
    const struct gi_gguf_tensor *weight = gi_gguf_tensor_find(o.gguf, "enc.conv1.weight");
    assert_non_null(weight);
    assert_int_equal(weight->n_dims, 2);
    assert_int_equal(weight->dims[0], 6);
    assert_int_equal(weight->dims[1], 5);
    assert_int_equal(weight->size, 120);
    const struct gi_gguf_tensor *bias = gi_gguf_tensor_find(o.gguf, "enc.conv1.bias");
    assert_non_null(bias);
    assert_int_equal(bias->n_dims, 1);
    assert_int_equal(bias->dims[0], 5);
    assert_int_equal(gi_gguf_tensor_count(o.gguf), 2);
}

//-- Silero ------------------------------------------------------------------------------------

TEST(tensors_of_silero_keep_their_names)
{
    BUILDER b = {0};
    bin_silero(&b);
    bin_tensor(&b, "_model.decoder.decoder.2.bias", 0, NULL, 0);
    gguf_f32(&b, 1.5F);
    add_rows(&b, "_model.stft.forward_basis_buffer", 256, 1, 1024);
    OPENED o = open_bytes(&b, b.size);
    must(o.gguf, &o.err);
    expect_architecture(o.gguf, "silero-vad");
    const struct gi_gguf_tensor *scalar =
        gi_gguf_tensor_find(o.gguf, "_model.decoder.decoder.2.bias");
    assert_non_null(scalar);
    assert_int_equal(scalar->n_dims, 1);
    assert_int_equal(scalar->n_elements, 1);
    expect_bytes(o.gguf, gi_gguf_tensor_find(o.gguf, "_model.stft.forward_basis_buffer"));
}

TEST(files_survive_every_failed_allocation)
{
    BUILDER b = {0};
    GGUF *gguf = NULL;
    long n_failed = 0;
    bin_whisper(&b, models[0], 50257);
    add_rows(&b, "decoder.token_embedding.weight", 32, 1, 128);
    for (; !gguf && n_failed < 100; n_failed++) {
        struct glinfer_error err = {0};
        fail_allocations_after(n_failed);
        gguf = gi_gguf_open(GI_SOURCE_MEMORY(b.data, b.size, "test.bin"), &err);
        fail_allocations_after(-1);
        assert_true(gguf || err.status == GLINFER_STATUS_NO_MEMORY);
    }
    assert_non_null(gguf);
    assert_in_range(n_failed, 10, 50); // the metadata grows many times
}

// The head of GPT-2, with the count of its tokens and two of them.
TEST(language_models_are_refused)
{
    static const uint32_t head[] = {0x67676d6c, 50257, 1024, 768, 12, 12, 1, 50257};
    struct gguf_builder b = {0};
    gguf_bytes(&b, head, sizeof(head));
    gguf_bytes(&b, "\1\0\0\0!\1\0\0\0\"\1\0\0\0#", 15);
    assert_bad(&b, "the file is damaged, or from before GGUF");
}

TEST(networks_of_another_kind_are_refused)
{
    BUILDER b = {0};
    gguf_u32(&b, 0x67676d6c);
    gguf_u32(&b, 8);
    gguf_bytes(&b, "parakeet", 8);
    assert_refused(&b, GLINFER_STATUS_UNSUPPORTED, "a network of kind parakeet");
}

RUN_TESTS(NULL, NULL)
