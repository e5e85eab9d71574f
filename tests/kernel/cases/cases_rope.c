// Rotation of q, k and v into the cache, with and without norms.
#include "tests/kernel/fixture/kernel_layer.h"
#include "tests/kernel/fixture/kernel_rows.h"

#include <stdio.h>

static const struct rope_case {
    struct kt_layer_shape shape;
    uint32_t n_rot, n_tokens, n_past;
} cases[] = {
    {{9, 3, 64, 64, F16, F16}, 64, 1, 0},
    {{9, 3, 64, 64, F16, F16}, 64, 2, 1},
    {{4, 4, 80, 128, F32, F16}, 32, 7, 63},
    {{8, 1, 96, 128, F16, F32}, 96, 31, 64},
    {{14, 2, 128, 600, F32, F32}, 128, 32, 500},
    {{8, 1, 256, 2100, F16, F16}, 64, 33, 2000},
    {{9, 3, 64, 600, F16, F16}, 64, 512, 0},
    {{3, 1, 8, 200, F32, F16}, 2, 128, 64},
    {{9, 3, 64, 64, Q8, Q8}, 64, 1, 5},
    {{9, 3, 64, 600, Q8, F16}, 64, 130, 64},
    {{4, 4, 80, 128, Q8, Q8}, 32, 7, 63},
    {{8, 1, 96, 128, F32, Q8}, 96, 31, 64},
    {{14, 2, 128, 600, Q8, Q8}, 128, 3, 500},
    {{8, 1, 256, 300, Q8, Q8}, 64, 33, 200},
    {{3, 1, 8, 200, Q8, Q8}, 2, 17, 64},
    {{9, 3, 64, 64, Q4, Q4}, 64, 1, 5},
    {{9, 3, 64, 600, Q4, F16}, 64, 130, 64},
    {{4, 4, 80, 128, Q4, Q8}, 32, 7, 63},
    {{8, 1, 96, 128, F32, Q4}, 96, 31, 64},
    {{14, 2, 128, 600, Q4, Q4}, 128, 3, 500},
    {{8, 1, 256, 300, Q4, Q4}, 64, 33, 200},
    {{3, 1, 8, 200, Q4, Q4}, 2, 17, 64},
    // Keys and values without queries, as an encoder makes them for cross-attention; not normed.
    {{0, 6, 64, 1500, F16, F16}, 0, 512, 900},
    {{0, 2, 32, 64, F16, F16}, 0, 20, 0},
    {{0, 2, 32, 64, F32, F32}, 0, 1, 63},
    {{0, 3, 64, 64, Q8, Q8}, 64, 7, 5},
};
enum { N_CASE = COUNT(cases), N_NORM_CASE = N_CASE - 4 };

// Norms of heads of q and k, of all of both, after the rotation, of v too, or that subtract the
// mean.
enum norm { NORM_NONE, NORM_HEAD, NORM_WHOLE, NORM_LAST, NORM_VALUE, NORM_MEAN, N_NORM };

static void print_case(const struct rope_case *c, enum norm norm, char *text, size_t size)
{
    static const char *const norms[N_NORM] = {
        "", ", norm", ", one norm", ", norm last", ", norm of v", ", layernorm"};
    const int n = kt_layer_print(&c->shape, text, size);
    snprintf(text + n, size - (size_t)n, ", rotations of %u, %u tokens at %u%s", c->n_rot,
             c->n_tokens, c->n_past, norms[norm]);
}

static bool run_rope(struct kt_run *run, const struct rope_case *c, enum norm norm,
                     bool has_temperature)
{
    const uint32_t dim = c->shape.head_dim, width = c->shape.n_head * dim;
    const uint32_t n_table = c->n_rot * c->shape.n_ctx;
    struct gi_qkv_layout layout;
    const struct gi_rows qkv = kt_qkv_rows(run, &c->shape, c->n_tokens, &layout);
    struct kt_layer_shape shape = c->shape; // attention has queries, whoever makes them
    shape.n_head = shape.n_head > 0 ? shape.n_head : shape.n_kv_head;
    const struct gi_kv_layer layer = kt_layer(run, &shape, 0);
    const struct gi_rows q = kt_rows(run, "q", NULL, c->n_tokens, kt_pad32(width > 0 ? width : 1));
    const struct gi_vectors vectors =
        kt_random_vectors(run, n_table + (c->shape.n_head + c->shape.n_kv_head) * (size_t)dim);
    const struct gi_rope rope = {.n_rot = c->n_rot,
                                 .temperature = has_temperature ? 0.1f : 0,
                                 .period = 16,
                                 .is_before_norm = norm == NORM_LAST};
    const struct gi_head_norm head_norm = {
        .q_gamma = n_table,
        .k_gamma = n_table + width,
        .q_width = norm == NORM_WHOLE ? width : dim,
        .k_width = norm == NORM_WHOLE ? c->shape.n_kv_head * dim : dim,
        .is_layernorm = norm == NORM_MEAN,
        .has_v = norm == NORM_VALUE,
        .eps = 1e-5f,
    };
    if (norm == NORM_NONE) {
        gi_op_rope_kv(&run->recorder, "rope", &layout, &qkv, &vectors, &rope, &layer, &q);
    } else {
        gi_op_norm_rope_kv(&run->recorder, "norm_rope", &layout, &qkv, &vectors, &head_norm, &rope,
                           &layer, &q);
    }
    return kt_finish(run, c->n_past, c->n_tokens, (uint64_t)c->n_tokens * layout.n_rows * 8);
}

static void name_rope(size_t index, char *text, size_t size)
{
    print_case(&cases[index], NORM_NONE, text, size);
}

// Every third case has a temperature.
static bool run_plain(struct kt_run *run, size_t index)
{
    return run_rope(run, &cases[index], NORM_NONE, index % 3 == 2);
}

const struct kt_suite kt_rope_kv = {"rope_kv", N_CASE, name_rope, run_plain};

// Three norms a shape; those of heads take turns with two that are seldom.
static enum norm norm_of(size_t index)
{
    static const enum norm norms[12] = {NORM_HEAD,  NORM_WHOLE, NORM_LAST,  NORM_VALUE,
                                        NORM_WHOLE, NORM_LAST,  NORM_MEAN,  NORM_WHOLE,
                                        NORM_LAST,  NORM_VALUE, NORM_WHOLE, NORM_LAST};
    return norms[index % 12];
}

static void name_norm(size_t index, char *text, size_t size)
{
    print_case(&cases[index / 3], norm_of(index), text, size);
}

static bool run_norm(struct kt_run *run, size_t index)
{
    return run_rope(run, &cases[index / 3], norm_of(index), false);
}

const struct kt_suite kt_norm_rope_kv = {"norm_rope_kv", 3 * N_NORM_CASE, name_norm, run_norm};
