#include "engine/model/model_info.h"
#include "gguf/ggml_type.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/gguf/gguf_builder.h"

#include <stdlib.h>

// The name of a file of a Q8_0 embedding and a smaller matrix of a type, with a number for its
// general.file_type.
static void expect_description(enum gi_ggml_type type, uint32_t kind, uint32_t number,
                               const char *description)
{
    enum { N_COLS = 256, N_VOCAB = 4000, N_ROWS = 1000 };
    const struct gi_ggml_type_info *row_type = gi_ggml_type_find(type);
    const uint64_t embedding[] = {N_COLS, N_VOCAB}, matrix[] = {N_COLS, N_ROWS};
    const size_t embedding_size = (size_t)N_VOCAB * N_COLS / 32 * 34;
    const size_t matrix_size =
        (size_t)N_ROWS * N_COLS / row_type->block_size * row_type->block_bytes;
    BUILDER b = {0};
    struct glinfer_model_info info = {0};
    struct glinfer_error err;
    gguf_header(&b, 2, 2);
    gguf_pair_string(&b, "general.architecture", "test");
    gguf_key(&b, "general.file_type", kind);
    gguf_u32(&b, number);
    gguf_tensor(&b, "token_embd.weight", 2, embedding, GI_GGML_TYPE_Q8_0, 0);
    gguf_tensor(&b, "matrix.weight", 2, matrix, type, (embedding_size + 31) / 32 * 32);
    gguf_pad(&b, 32);
    uint8_t *zeros = calloc(1, embedding_size + matrix_size);
    gguf_bytes(&b, zeros, embedding_size);
    gguf_pad(&b, 32);
    gguf_bytes(&b, zeros, matrix_size);
    free(zeros);
    GGUF *gguf = gi_gguf_open(GI_SOURCE_MEMORY(b.data, b.size, "test.gguf"), &err);
    if (!gguf || !gi_model_info_file(&info, gguf, NULL, &err)) {
        fail_msg("%s", err.message);
    }
    assert_string_equal(info.description, description);
}

TEST(a_mixture_has_its_name)
{
    expect_description(GI_GGML_TYPE_Q4_K, GI_GGUF_KIND_U32, 15, "test 1M Q4_K_M");
    expect_description(GI_GGML_TYPE_Q6_K, GI_GGUF_KIND_U32, 18, "test 1M Q6_K");
    expect_description(GI_GGML_TYPE_IQ3_S, GI_GGUF_KIND_U32, 27, "test 1M IQ3_M");
}

TEST(a_number_that_does_not_fit_is_passed_over)
{
    expect_description(GI_GGML_TYPE_Q5_0, GI_GGUF_KIND_U32, 15, "test 1M Q8_0");
    expect_description(GI_GGML_TYPE_Q4_K, GI_GGUF_KIND_U32, 7, "test 1M Q8_0");
    expect_description(GI_GGML_TYPE_Q4_K, GI_GGUF_KIND_U32, UINT32_MAX, "test 1M Q8_0");
    expect_description(GI_GGML_TYPE_Q4_K, GI_GGUF_KIND_F32, 15, "test 1M Q8_0");
    expect_description(GI_GGML_TYPE_F32, GI_GGUF_KIND_U32, 0, "test 1M Q8_0");
}

RUN_TESTS(NULL, NULL)
