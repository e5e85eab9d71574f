#include "tests/kernel/cases/cases_gemv.h"

struct shape {
    uint32_t n_head, n_kv_head, head_dim, n_rot;
};

static const char *const caches[] = {"f16", "k f32", "v f32"};
static const char *const parts[] = {"whole", "in parts", "in parts with bias"};

static uint64_t record_shape(struct kt_run *run, uint32_t type, uint32_t form, uint32_t n_embd,
                             const struct shape *shape, uint32_t cache, uint32_t part)
{
    const struct gi_stream stream = kt_gemv_stream(run, n_embd, shape->n_rot);
    struct gi_qkv_layout layout;
    struct gi_kv_layer layer = {0};
    gi_qkv_layout_init(&layout, shape->n_head, shape->n_kv_head, shape->head_dim);
    const size_t size = (size_t)gi_kv_layer_layout(
        &layer, shape->n_head, shape->n_kv_head, shape->head_dim, 5,
        cache == 1 ? GI_CACHE_F32 : GI_CACHE_F16, cache == 2 ? GI_CACHE_F32 : GI_CACHE_F16);
    layer.range = kt_range(run, "layer", NULL, size);
    const struct gi_weight weight =
        kt_weight(run, &(struct kt_weight_params){.type = type,
                                                  .n_rows = layout.n_rows,
                                                  .n_cols = n_embd,
                                                  .max_part_rows = part > 0 ? 48 : 0,
                                                  .has_bias = part == 2});
    if (!run->has_failed && kt_gemv_set_form(run, form)) {
        gi_op_gemv_qkv(&run->recorder, "attn_qkv", &weight, &layout, stream.n_rot, &stream, &layer);
    }
    return kt_weight_bytes(&weight);
}

static uint64_t record_gemv_qkv(struct kt_run *run, const uint32_t *v)
{
    static const struct shape shapes[] = {
        {1, 1, 8, 8},   {2, 1, 16, 8},  {4, 4, 64, 64},   {8, 1, 64, 32},
        {9, 3, 64, 64}, {3, 3, 72, 40}, {2, 1, 128, 128},
    };
    return record_shape(run, v[0], v[1], v[2], &shapes[v[3]], v[4], v[5]);
}

static const char *const shape_names[] = {
    "1/1 x 8",  "2/1 x 16 rot 8",  "4/4 x 64",  "8/1 x 64 rot 32",
    "9/3 x 64", "3/3 x 72 rot 40", "2/1 x 128",
};
static const struct kt_axis qkv_axes[] = {KT_GEMV_TYPES,
                                          KT_GEMV_FORMS,
                                          KT_NUMBERS("columns", 32, 96, 160, 2048),
                                          KT_NAMED("heads", 7, shape_names),
                                          KT_NAMED("cache", 3, caches),
                                          KT_NAMED("parts", 3, parts),
                                          KT_NUMBERS("past", 0, 4)};
KT_DESCRIBE(gemv_qkv, qkv_axes);

// Sections of q and k that end within a tile. Heads of one size share a program, each size takes a
// form of the kernel in turn. Every other combination is left out, so that each form has all
// numbers of heads.
static uint64_t record_gemv_qkv_heads(struct kt_run *run, const uint32_t *v)
{
    const uint32_t n = v[0], dim = v[1];
    if ((n + dim / 8) % 2 && kt_leave_out(run)) {
        return 0;
    }
    const struct shape shape = {n,
                                n % 3 == 0   ? n / 3
                                : n % 2 == 0 ? n / 2
                                             : 1,
                                dim, n % 4 == 3 ? dim / 2 : dim};
    return record_shape(run, GI_GGML_TYPE_F16, dim / 8 % 5, 32, &shape, 0, n % 5 == 0);
}

static const struct kt_axis heads_axes[] = {
    KT_NUMBERS("heads", 1, 2, 3, 4, 5, 6, 7, 8, 9),
    KT_NUMBERS("head size", 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128)};
KT_DESCRIBE(gemv_qkv_heads, heads_axes);
