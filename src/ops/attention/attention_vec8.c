#include "ops/attention/attention_vec8.h"

#include "glsl/attention/attention_params.h"

#include <assert.h>

#define SUBGROUP 32 // invocations; what the program is written for

// Returns the size of a list's groups: its own, or where each dispatch has groups as suit it, those
// of a large device.
static uint32_t find_wg_size(const struct gi_recorder *recorder)
{
    enum { SIZE = 256 };
    const bool is_large = gi_gpu_class(recorder->gpu)->is_large;
    const bool is_possible = is_large && gi_gpu_limits(recorder->gpu)->max_invocations >= SIZE;
    return gi_recorder_wg_size(recorder, is_possible ? SIZE : 0);
}

// Returns as many ranges of keys as there are groups for, and no more than a subgroup merges.
static uint32_t choose_ranges(const struct gi_recorder *recorder, const struct gi_kv_layer *layer)
{
    const uint32_t n_wg =
        gi_recorder_n_groups(recorder, gi_gpu_class(recorder->gpu)->attention_groups);
    const uint32_t n_slot = gi_recorder_is_joint(recorder) ? recorder->slots.n : 1;
    const uint32_t n = n_wg / (layer->n_head * n_slot);
    return n > GI_ATTENTION_LEAST_RANGES ? GI_ATTENTION_LEAST_RANGES : n < 1 ? 1 : n;
}

// Bytes that a group shares: the results of its subgroups.
static uint32_t shared_size(const struct gi_kv_layer *layer, uint32_t wg_size)
{
    return wg_size / SUBGROUP * (layer->head_dim * 4 + 8) + 16;
}

// Returns true if the kernel can do it, in whatever list.
static bool is_possible(const struct gi_recorder *recorder, const struct gi_kv_layer *layer)
{
    const uint32_t dim = layer->head_dim, size = find_wg_size(recorder);
    return size > 0 && size % SUBGROUP == 0 && size >= dim / 4 && dim <= 8 * SUBGROUP &&
           (dim & (dim - 1)) == 0 &&
           gi_program_available(recorder->gpu, GI_PROGRAM_ATTENTION_VEC8) &&
           shared_size(layer, size) <= gi_gpu_limits(recorder->gpu)->max_shared_size;
}

bool gi_attention_vec8_suits(const struct gi_recorder *recorder, const struct gi_kv_layer *layer)
{
    return gi_recorder_is_uniform(recorder) && is_possible(recorder, layer);
}

static struct gi_program_key make_key(const struct gi_recorder *recorder, enum gi_program_id id,
                                      const struct gi_kv_layer *layer,
                                      const struct gi_score_rule *rule, uint32_t n_range)
{
    return GI_KEY(id, {"WG_SIZE", find_wg_size(recorder)}, {"HEAD_DIM", layer->head_dim},
                  {"RANGES", n_range}, {"WINDOW", rule->window > 0}, {"SOFTCAP", rule->softcap > 0},
                  {"K_TYPE", layer->type_k}, {"V_TYPE", layer->type_v},
                  {"PUBLISHES", GI_PUBLISH_ALL});
}

static void record(struct gi_recorder *recorder, const struct gi_kv_layer *layer,
                   const struct gi_score_rule *rule, struct gi_program_key *key,
                   struct gi_dispatch *dispatch)
{
    dispatch->grid.size[0] = choose_ranges(recorder, layer);
    dispatch->grid.size[1] = layer->n_head;
    dispatch->grid.size[2] = 1;
    dispatch->wg_size = find_wg_size(recorder);
    dispatch->publishes = GI_PUBLISH_ALL;
    dispatch->n_split = choose_ranges(recorder, layer);
    gi_attention_record_step(recorder, layer, rule, GI_ATTENTION_WHOLE, key, dispatch);
}

void gi_op_attention_vec8(struct gi_recorder *recorder, const char *label,
                          const struct gi_kv_layer *layer, const struct gi_score_rule *rule,
                          const struct gi_attention_scratch *scratch)
{
    assert(gi_attention_vec8_suits(recorder, layer));
    const uint32_t n_range = choose_ranges(recorder, layer);
    struct gi_program_key key = make_key(recorder, GI_PROGRAM_ATTENTION_VEC8, layer, rule, n_range);
    const struct gi_attention_params params =
        gi_attention_step_params(layer, rule, scratch, n_range);
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {scratch->range, {0}, {0}, layer->range},
        GI_PARAMS_OF(params),
        .runtime_params = GI_ATTENTION_CONTEXT_PARAMS,
    };
    record(recorder, layer, rule, &key, &dispatch);
}

//-- q, k and v from their projection --------------------------------------------------------------

// Returns true if heads of q and k are normed one by one, or not at all.
static bool is_by_head(const struct gi_head_norm *norm, uint32_t head_dim)
{
    return norm->q_width == 0 ||
           (norm->q_width == head_dim && norm->k_width == head_dim && !norm->has_v &&
            !norm->is_layernorm && norm->q_gamma % 4 == 0 && norm->k_gamma % 4 == 0);
}

bool gi_attention_qkv_suits(const struct gi_recorder *recorder, const struct gi_kv_layer *layer,
                            const struct gi_attention_input *input)
{
    // Without head norms the rotation is the projection's to do, in lists whose groups are as suit
    // them; that of a joint list cannot.
    return (gi_recorder_is_uniform(recorder) || gi_recorder_is_joint(recorder) ||
            input->norm.q_width > 0) &&
           is_possible(recorder, layer) &&
           find_wg_size(recorder) * layer->head_dim <=
               gi_gpu_class(recorder->gpu)->attention_turning &&
           is_by_head(&input->norm, layer->head_dim) && !input->rope.is_before_norm &&
           !gi_cache_has_blocks(layer->type_k) && !gi_cache_has_blocks(layer->type_v) &&
           input->rope.n_rot % 8 == 0 && input->rope.table % 4 == 0;
}

void gi_op_attention_qkv(struct gi_recorder *recorder, const char *label,
                         const struct gi_kv_layer *layer, const struct gi_score_rule *rule,
                         const struct gi_attention_input *input,
                         const struct gi_attention_scratch *scratch)
{
    assert(gi_attention_qkv_suits(recorder, layer, input));
    const uint32_t n_range = choose_ranges(recorder, layer);
    struct gi_program_key key = make_key(recorder, GI_PROGRAM_ATTENTION_QKV, layer, rule, n_range);
    gi_key_define(&key, "NORM", input->norm.q_width > 0);
    gi_key_define(&key, "CONSUMES", 1);
    struct gi_attention_params params = gi_attention_step_params(layer, rule, scratch, n_range);
    params.q_stride = input->qkv_stride;
    params.q_begin = input->layout.q_begin / 4;
    params.k_begin = input->layout.k_begin / 4;
    params.v_begin = input->layout.v_begin / 4;
    params.rope = input->rope.table / 4;
    params.rope_stride = input->rope.n_rot / 4;
    params.n_rot = input->rope.n_rot;
    params.q_gamma = input->norm.q_gamma / 4;
    params.k_gamma = input->norm.k_gamma / 4;
    params.norm_eps = input->norm.eps;
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {scratch->range, input->qkv, input->vectors.range, layer->range},
        .writes = 1u << 0 | 1u << 3,
        GI_PARAMS_OF(params),
        .runtime_params = GI_ATTENTION_CONTEXT_PARAMS | GI_PARAM_BIT(struct gi_attention_params,
                                                                     rope), // of a window's layers
        .consumes = true,
    };
    record(recorder, layer, rule, &key, &dispatch);
}
