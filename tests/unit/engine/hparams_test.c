#include "graph/hparams.h"
#include "graph/model_family.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/gguf/gguf_builder.h"

#include <math.h>

// Reads the hyperparameters of Apertus, one layer, from a file with that number for all of xIELU's.
static bool read_xielu(float number, struct glinfer_error *err)
{
    static const char *const keys[] = {"xielu.alpha_n", "xielu.alpha_p", "xielu.beta", "xielu.eps"};
    static struct gi_hparams hparams;
    BUILDER b = {0};
    gguf_header(&b, 0, 4);
    for (int i = 0; i < 4; i++) {
        gguf_key(&b, keys[i], GI_GGUF_KIND_F32);
        gguf_f32(&b, number);
    }
    gguf_pad(&b, 32);
    GGUF *gguf = gi_gguf_open(GI_SOURCE_MEMORY(b.data, b.size, "test.gguf"), err);
    assert_non_null(gguf);
    hparams = (struct gi_hparams){.n_layer = 1};
    const struct gi_hparams_reader reader = {gguf, "apertus", err};
    const bool ok = gi_model_family_find("apertus", 7)->read_hparams(&reader, &hparams);
    return ok;
}

TEST(numbers_of_xielu_are_finite)
{
    struct glinfer_error err;
    assert_true(read_xielu(0.5f, &err));
    assert_false(read_xielu(NAN, &err));
    assert_string_equal(err.message, "test.gguf: xielu.alpha_n has no number for layer 0");
    assert_false(read_xielu(INFINITY, &err));
}

TEST(inputs_of_layers_are_whole_blocks)
{
    static struct gi_hparams hparams;
    BUILDER b = {0};
    struct glinfer_error err;
    gguf_header(&b, 0, 0);
    gguf_pad(&b, 32);
    GGUF *gguf = gi_gguf_open(GI_SOURCE_MEMORY(b.data, b.size, "test.gguf"), &err);
    assert_non_null(gguf);
    const struct gi_hparams_reader reader = {gguf, "gemma4", &err};
    hparams.inputs.width = 256;
    assert_true(gi_hparams_check_inputs(&reader, &hparams));
    hparams.inputs.width = 4;
    assert_false(gi_hparams_check_inputs(&reader, &hparams));
    assert_int_equal(err.status, GLINFER_STATUS_UNSUPPORTED);
}

TEST(runs_of_layers_have_limits)
{
    static const struct {
        uint32_t n_run, n_layer; // n_layer 0: refused
    } cases[] = {{1, 3}, {2, 6}, {GI_MAX_LAYERS / 3, GI_MAX_LAYERS / 3 * 3}, {0, 0}, {342, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static struct gi_hparams hparams;
        BUILDER b = {0};
        struct glinfer_error err;
        gguf_header(&b, 0, 1);
        gguf_pair_u32(&b, "nanbeige.num_loops", cases[i].n_run);
        gguf_pad(&b, 32);
        GGUF *gguf = gi_gguf_open(GI_SOURCE_MEMORY(b.data, b.size, "test.gguf"), &err);
        assert_non_null(gguf);
        hparams = (struct gi_hparams){.n_layer = 3};
        const struct gi_hparams_reader reader = {gguf, "nanbeige", &err};
        assert_int_equal(gi_hparams_loops(&reader, &hparams), cases[i].n_layer > 0);
        if (cases[i].n_layer > 0) {
            assert_int_equal(hparams.n_layer, cases[i].n_layer);
            assert_int_equal(hparams.has_loop_norm, cases[i].n_run > 1);
        } else {
            assert_int_equal(err.status, GLINFER_STATUS_BAD_FILE);
        }
    }
}

// Holds what a file of Gemma 3n says.
struct gemma3n {
    uint32_t n_streams, active, n_embd, n_input, rank, n_shared;
    float shared_number; // not 0: written in place of n_shared
    uint32_t n_sparsity; // numbers in the list: 0.5, minus infinity, then `odd`
    float odd;
};

static const struct gemma3n sound = {4, 0, 64, 256, 32, 1, 0, 3, 1.5f};

static bool read_gemma3n(const struct gemma3n *file, struct gi_hparams *hparams,
                         struct glinfer_error *err)
{
    const float numbers[] = {0.5f, -INFINITY, file->odd};
    BUILDER b = {0};
    gguf_header(&b, 1, 7);
    gguf_pair_u32(&b, "gemma3n.altup.num_inputs", file->n_streams);
    gguf_pair_u32(&b, "gemma3n.altup.active_idx", file->active);
    gguf_pair_u32(&b, "gemma3n.embedding_length_per_layer_input", file->n_input);
    gguf_pair_u32(&b, "gemma3n.attention.sliding_window", 24);
    gguf_pair_u32(&b, "gemma3n.attention.sliding_window_pattern", 2);
    if (file->shared_number != 0.0f) {
        gguf_key(&b, "gemma3n.attention.shared_kv_layers", GI_GGUF_KIND_F32);
        gguf_f32(&b, file->shared_number);
    } else {
        gguf_pair_u32(&b, "gemma3n.attention.shared_kv_layers", file->n_shared);
    }
    gguf_array(&b, "gemma3n.activation_sparsity_scale", GI_GGUF_KIND_F32, file->n_sparsity);
    for (uint32_t i = 0; i < file->n_sparsity; i++) {
        gguf_f32(&b, numbers[i]);
    }
    gguf_tensor(&b, "blk.0.laurel_l.weight", 2, (const uint64_t[]){1, file->rank}, 0, 0);
    gguf_pad(&b, 32);
    for (uint32_t i = 0; i < file->rank; i++) {
        gguf_f32(&b, 0);
    }
    GGUF *gguf = gi_gguf_open(GI_SOURCE_MEMORY(b.data, b.size, "test.gguf"), err);
    assert_non_null(gguf);
    *hparams = (struct gi_hparams){.n_layer = 3, .n_embd = file->n_embd, .n_ff = 64};
    const struct gi_hparams_reader reader = {gguf, "gemma3n", err};
    const bool ok = gi_model_family_find("gemma3n", 7)->read_hparams(&reader, hparams);
    return ok;
}

TEST(gemma3n_says_its_streams)
{
    static struct gi_hparams hparams;
    struct gemma3n file = sound;
    must_do(read_gemma3n(&file, &hparams, &err));
    assert_int_equal(hparams.altup.n, 4);
    assert_int_equal(hparams.altup.branch_rank, 32);
    assert_int_equal(hparams.n_shared_kv, 1);
    assert_true(hparams.is_sparse[0] && !hparams.is_sparse[1] && hparams.is_sparse[2]);
    file.shared_number = 1.0f; // as some converters write it
    must_do(read_gemma3n(&file, &hparams, &err));
    assert_int_equal(hparams.n_shared_kv, 1);
}

TEST(gemma3n_refuses_what_it_does_not_run)
{
    static struct gi_hparams hparams;
    const struct {
        struct gemma3n file;
        enum glinfer_status status;
    } wrong[] = {
        {{3, 0, 64, 256, 32, 1, 0, 3, 1.5f}, GLINFER_STATUS_UNSUPPORTED},
        {{0, 0, 64, 256, 32, 1, 0, 3, 1.5f}, GLINFER_STATUS_UNSUPPORTED},
        {{4, 1, 64, 256, 32, 1, 0, 3, 1.5f}, GLINFER_STATUS_UNSUPPORTED},
        {{4, 0, 96, 256, 32, 1, 0, 3, 1.5f}, GLINFER_STATUS_UNSUPPORTED},
        {{4, 0, 64, 0, 32, 1, 0, 3, 1.5f}, GLINFER_STATUS_BAD_FILE},
        {{4, 0, 64, 40, 32, 1, 0, 3, 1.5f}, GLINFER_STATUS_UNSUPPORTED},
        {{4, 0, 64, 256, 24, 1, 0, 3, 1.5f}, GLINFER_STATUS_UNSUPPORTED},
        {{4, 0, 64, 256, 96, 1, 0, 3, 1.5f}, GLINFER_STATUS_UNSUPPORTED},
        {{4, 0, 64, 256, 32, 3, 0, 3, 1.5f}, GLINFER_STATUS_BAD_FILE},
        {{4, 0, 64, 256, 32, UINT32_MAX, 0, 3, 1.5f}, GLINFER_STATUS_BAD_FILE},
        {{4, 0, 64, 256, 32, 1, -1.0f, 3, 1.5f}, GLINFER_STATUS_BAD_FILE},
        {{4, 0, 64, 256, 32, 1, 0.5f, 3, 1.5f}, GLINFER_STATUS_BAD_FILE},
        {{4, 0, 64, 256, 32, 1, NAN, 3, 1.5f}, GLINFER_STATUS_BAD_FILE},
        {{4, 0, 64, 256, 32, 1, 0, 2, 1.5f}, GLINFER_STATUS_BAD_FILE},
        {{4, 0, 64, 256, 32, 1, 0, 3, NAN}, GLINFER_STATUS_BAD_FILE},
        {{4, 0, 64, 256, 32, 1, 0, 3, INFINITY}, GLINFER_STATUS_BAD_FILE},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct glinfer_error err = {0};
        assert_false(read_gemma3n(&wrong[i].file, &hparams, &err));
        if (err.status != wrong[i].status) {
            fail_msg("%zu: %s", i, err.message);
        }
    }
}

RUN_TESTS(NULL, NULL)
