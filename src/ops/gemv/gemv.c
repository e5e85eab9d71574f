#include "ops/gemv/gemv.h"

#include "base/round.h"
#include "glsl/experts/experts_params.h"
#include "glsl/gemv/gemv_params.h"
#include "gpu/program/quarantine.h"
#include "ops/experts/experts.h"
#include "ops/gemv/gemv_part.h"

#include <assert.h>

// The parameters with which those of all kernels begin, but for source.
#define PART_PARAMS(part)                                                                          \
    .n_block = (part).n_block, .n_pair = (part).n_pair, .bias = (part).weight->bias

// The parameters of a kernel that multiplies its results by 1 / rms.
#define NORM_PARAMS(stream)                                                                        \
    .ssq = ((stream)->is_parted ? (stream)->part_sums[(stream)->parity] : (stream)->ssq) / 4,      \
    .n_ssq = (stream)->n_ssq, .inv_n_embd = 1.0f / (float)(stream)->n_embd,                        \
    .norm_eps = (stream)->norm_eps

// Adds what is known of x as gi_gemv_add_source does, where that is the stream's; NULL: it is not.
static void add_stream(struct gi_gemv_part *part, const struct gi_recorder *recorder,
                       uint32_t begin, bool has_sums, const struct gi_stream *stream,
                       struct gi_dispatch *dispatch)
{
    if (stream && stream->is_parted) {
        gi_key_define(&part->key, "PARTED", 1);
    } else {
        gi_gemv_add_source(part, recorder, begin, has_sums, dispatch);
    }
}

bool gi_gemv_qkv_suits(const struct gi_recorder *recorder, const struct gi_weight *weight,
                       const struct gi_kv_layer *layer)
{
    bool is_suited = !gi_cache_has_blocks(layer->type_k) && !gi_cache_has_blocks(layer->type_v);
    const struct gi_weight_part *part = weight->parts, *end = part + weight->n_parts;
    for (; part < end; part++) {
        const uint32_t type = part->quant->type;
        is_suited = is_suited &&
                    (gi_program_available_for(recorder->gpu, GI_PROGRAM_GEMV_QKV_ROW, type) ||
                     gi_program_available_for(recorder->gpu, GI_PROGRAM_GEMV_QKV_SPLIT, type) ||
                     gi_program_available_for(recorder->gpu, GI_PROGRAM_GEMV_QKV_SUBGROUP, type));
    }
    return is_suited;
}

void gi_op_gemv_qkv(struct gi_recorder *recorder, const char *label, const struct gi_weight *weight,
                    const struct gi_qkv_layout *layout, uint32_t n_rot,
                    const struct gi_stream *stream, const struct gi_kv_layer *layer)
{
    assert(weight->n_rows == layout->n_rows && weight->n_cols == stream->n_embd);
    assert(stream->n_ssq > 0 && (n_rot == stream->n_rot || n_rot == 0));
    assert(gi_gemv_qkv_suits(recorder, weight, layer));
    uint32_t half_dim = layout->head_dim / 2;
    for (uint32_t i = 0; i < gi_weight_splits(weight); i++) {
        struct gi_gemv_part part;
        gi_gemv_begin_part(&part, recorder, GI_GEMV_QKV, weight, i);
        gi_key_define(&part.key, "HEAD_DIM", layout->head_dim);
        gi_key_define(&part.key, "K_TYPE", layer->type_k);
        gi_key_define(&part.key, "V_TYPE", layer->type_v);
        const struct gi_gemv_qkv_params params = {
            PART_PARAMS(part),
            .source = stream->norm / 4,
            NORM_PARAMS(stream),
            .pair_begin = part.weight->row_begin / 2,
            .k_begin = layout->k_begin / 2,
            .v_begin = layout->v_begin / 2,
            .n_q_pair = layout->n_head * half_dim,
            .n_kv_pair = layout->n_kv_head * half_dim,
            .n_rot_pair = n_rot / 2,
            .rope = stream->rope / 4,
            .n_ctx = layer->n_ctx,
            .k = layer->k,
            .v = layer->v,
        };
        struct gi_dispatch dispatch = {
            .label = label,
            .bindings = {layer->range, stream->range},
            GI_PARAMS_OF(params),
            .runtime_params = GI_PARAM_BIT(struct gi_gemv_qkv_params, n_ctx) |
                              GI_PARAM_BIT(struct gi_gemv_qkv_params, k) |
                              GI_PARAM_BIT(struct gi_gemv_qkv_params, v),
        };
        add_stream(&part, recorder, params.source, stream->has_sums, stream, &dispatch);
        gi_gemv_record_part(&part, recorder, &dispatch);
    }
}

// source is bound for x, with what params say of the norm; stream is whose it is, or NULL.
static void record_plain(struct gi_recorder *recorder, const char *label,
                         const struct gi_weight *weight, struct gi_range source, bool has_norm,
                         bool has_sums, const struct gi_stream *stream,
                         struct gi_gemv_plain_params params, struct gi_range y)
{
    for (uint32_t i = 0; i < gi_weight_splits(weight); i++) {
        struct gi_gemv_part part;
        gi_gemv_begin_part(&part, recorder, GI_GEMV_PLAIN, weight, i);
        gi_key_define(&part.key, "NORM", has_norm);
        params.n_block = gi_weight_blocks(weight);
        params.n_pair = part.n_pair;
        params.bias = part.weight->bias;
        params.row_begin = part.weight->row_begin;
        struct gi_dispatch dispatch = {
            .label = label,
            .bindings = {y, source},
            GI_PARAMS_OF(params),
        };
        add_stream(&part, recorder, params.source, has_sums, stream, &dispatch);
        gi_gemv_record_part(&part, recorder, &dispatch);
    }
}

void gi_op_gemv_norm(struct gi_recorder *recorder, const char *label,
                     const struct gi_weight *weight, const struct gi_stream *stream,
                     struct gi_range y)
{
    assert(weight->n_cols == stream->n_embd && stream->n_ssq > 0);
    const struct gi_gemv_plain_params params = {
        .source = stream->norm / 4,
        NORM_PARAMS(stream),
    };
    // A pipelined product adds the term of its adapters before it multiplies by 1 / rms.
    const bool has_norm = !weight->adapts || !gi_gemv_is_pipelined(recorder);
    record_plain(recorder, label, weight, stream->range, has_norm, stream->has_sums, stream, params,
                 y);
}

void gi_op_gemv_stream(struct gi_recorder *recorder, const char *label,
                       const struct gi_weight *weight, const struct gi_stream *stream,
                       struct gi_range y)
{
    const struct gi_gemv_plain_params params = {
        .source = stream->residual / 4,
        NORM_PARAMS(stream),
    };
    assert(weight->n_cols == stream->n_embd);
    record_plain(recorder, label, weight, stream->range, false, false, stream, params, y);
}

void gi_op_gemv(struct gi_recorder *recorder, const char *label, const struct gi_weight *weight,
                struct gi_range x, uint32_t x_offset, bool has_sums, struct gi_range y)
{
    assert(x_offset % 4 == 0);
    const struct gi_gemv_plain_params params = {.source = x_offset / 4};
    record_plain(recorder, label, weight, x, false, has_sums, NULL, params, y);
}

void gi_op_gemv_residual(struct gi_recorder *recorder, const char *label,
                         const struct gi_weight *weight, struct gi_range x, uint32_t x_offset,
                         bool has_sums, float scale, struct gi_stream *stream)
{
    assert(weight->n_rows >= stream->n_embd && x_offset % 4 == 0);
    uint32_t n_ssq = 0;
    bool has_written = true;
    for (uint32_t i = 0; i < gi_weight_splits(weight); i++) {
        struct gi_gemv_part part;
        gi_gemv_begin_part(&part, recorder, GI_GEMV_RESIDUAL, weight, i);
        gi_key_define(&part.key, "HAS_GAMMA", part.weight->gamma != GI_NO_OFFSET);
        has_written = gi_gemv_writes_sums(weight, 16, &part) && has_written;
        const struct gi_gemv_residual_params params = {
            PART_PARAMS(part),
            .source = x_offset / 4,
            .gamma = part.weight->gamma,
            .residual = stream->residual,
            .norm = stream->norm,
            .ssq = stream->ssq + n_ssq,
            .row_begin = part.weight->row_begin,
            .n_embd = stream->n_embd,
            .scale = scale,
        };
        struct gi_dispatch dispatch = {
            .label = label,
            .bindings = {stream->range, x},
            GI_PARAMS_OF(params),
        };
        n_ssq += gi_gemv_partials(&part.shape, part.n_pair);
        assert(n_ssq <= stream->max_ssq);
        gi_gemv_add_source(&part, recorder, params.source, has_sums, &dispatch);
        gi_gemv_record_part(&part, recorder, &dispatch);
    }
    assert(!stream->is_parted);
    stream->n_ssq = n_ssq;
    stream->has_sums = has_written;
}

// The factors of a gated network that a part holds: SIDE of the kernels.
enum glu_side {
    GLU_BOTH,
    GLU_GATE,
    GLU_UP,
    GLU_GATE_INPUT,
};

// Parts of gate come before those of up and leave their factor in the result; without a gate that
// factor is all.
static enum glu_side find_side(const struct gi_weight *weight, const struct gi_weight_part *part)
{
    if (weight->is_ungated) {
        return GLU_GATE;
    }
    return !weight->is_split ? GLU_BOTH : part->row_begin < weight->n_rows / 2 ? GLU_GATE : GLU_UP;
}

void gi_op_gemv_glu(struct gi_recorder *recorder, const char *label, const struct gi_weight *weight,
                    uint32_t n_ff, const struct gi_activation_rule *rule, bool has_norm,
                    const struct gi_stream *stream, struct gi_range act, bool *has_sums)
{
    bool has_written = act.size >= gi_x_size(n_ff) * sizeof(float);
    assert(weight->n_cols == stream->n_embd);
    assert(weight->n_rows / (weight->is_ungated ? 1 : 2) >= n_ff);
    assert(stream->n_ssq > 0);
    for (uint32_t i = 0; i < gi_weight_splits(weight); i++) {
        struct gi_gemv_part part;
        gi_gemv_begin_part(&part, recorder, GI_GEMV_GLU, weight, i);
        const uint32_t row = part.weight->row_begin;
        gi_key_define(&part.key, "ACTIVATION", rule->activation);
        gi_key_define(&part.key, "NORM", has_norm);
        gi_key_define(&part.key, "SIDE", find_side(weight, part.weight));
        has_written = gi_gemv_writes_sums(weight, 32, &part) && has_written;
        const struct gi_gemv_glu_params params = {
            PART_PARAMS(part),
            .source = (has_norm ? stream->norm : stream->residual) / 4,
            NORM_PARAMS(stream),
            .ff_begin = weight->is_ungated ? row
                        : weight->is_split ? row % (weight->n_rows / 2)
                                           : row / 2,
            .n_ff = n_ff,
            .square = rule->xielu.square,
            .fall = rule->xielu.fall,
            .slope = rule->xielu.slope,
            .edge = rule->xielu.edge,
        };
        struct gi_dispatch dispatch = {
            .label = label,
            .bindings = {act, stream->range},
            GI_PARAMS_OF(params),
        };
        add_stream(&part, recorder, params.source, has_norm && stream->has_sums, stream, &dispatch);
        gi_gemv_record_part(&part, recorder, &dispatch);
    }
    if (has_sums) {
        *has_sums = has_written;
    }
}

void gi_op_gemv_gate_input(struct gi_recorder *recorder, const char *label,
                           const struct gi_weight *weight, uint32_t begin, uint32_t width,
                           enum gi_activation activation, const struct gi_stream *stream,
                           struct gi_range inputs)
{
    assert(weight->n_cols == stream->n_embd && weight->n_rows >= width);
    for (uint32_t i = 0; i < gi_weight_splits(weight); i++) {
        struct gi_gemv_part part;
        gi_gemv_begin_part(&part, recorder, GI_GEMV_GATE_INPUT, weight, i);
        gi_key_define(&part.key, "ACTIVATION", activation);
        gi_key_define(&part.key, "NORM", 0);
        gi_key_define(&part.key, "SIDE", GLU_GATE_INPUT);
        gi_key_define(&part.key, "WRITE_SUMS", 0);
        const struct gi_gemv_glu_params params = {
            PART_PARAMS(part),     .source = stream->residual / 4,
            NORM_PARAMS(stream),   .ff_begin = begin + part.weight->row_begin,
            .n_ff = begin + width,
        };
        struct gi_dispatch dispatch = {
            .label = label,
            .bindings = {inputs, stream->range},
            GI_PARAMS_OF(params),
        };
        add_stream(&part, recorder, params.source, false, stream, &dispatch);
        gi_gemv_record_part(&part, recorder, &dispatch);
    }
}

uint64_t gi_logits_layout(struct gi_logits *logits, uint32_t n_vocab)
{
    // A partial result covers two rows at the least, and parts end in whole groups.
    logits->n_vocab = n_vocab;
    logits->partial = (uint32_t)gi_round_up(n_vocab, 4);
    logits->max_partial = (uint32_t)gi_round_up(n_vocab, 16) / 2 + GI_TILE_ROWS * GI_MAX_PARTS;
    logits->n_partial = 0;
    logits->scratch = (uint32_t)gi_round_up(logits->partial + 2 * logits->max_partial, 64);
    return ((uint64_t)logits->scratch + GI_SAMPLE_SCRATCH) * sizeof(uint32_t);
}

// Partial results of a group of a uniform list if logits->is_fine: enough of them to find a small
// top_k, and few enough for every group to read all of them.
#define N_FINE 8

// Adds the partial results of a part to logits, and the define that says which those are.
static void add_partials(const struct gi_recorder *recorder, struct gi_logits *logits,
                         struct gi_gemv_part *part)
{
    const uint32_t n = gi_gemv_partials(&part->shape, part->n_pair);
    const uint32_t n_fine = logits->is_fine && gi_recorder_is_uniform(recorder) ? N_FINE : 0;
    logits->n_partial += n_fine > 0 ? n * n_fine : n;
    assert(logits->n_partial <= logits->max_partial);
    gi_key_define(&part->key, "FINE", n_fine);
}

void gi_op_gemv_vocab(struct gi_recorder *recorder, const char *label,
                      const struct gi_weight *weight, const struct gi_stream *stream, float scale,
                      float softcap, struct gi_logits *logits)
{
    assert(weight->n_cols == stream->n_embd && weight->n_rows >= logits->n_vocab);
    assert(stream->n_ssq > 0);
    logits->n_partial = 0;
    for (uint32_t i = 0; i < gi_weight_splits(weight); i++) {
        struct gi_gemv_part part;
        gi_gemv_begin_part(&part, recorder, GI_GEMV_VOCAB, weight, i);
        gi_key_define(&part.key, "SOFTCAP", softcap > 0);
        const struct gi_gemv_vocab_params params = {
            PART_PARAMS(part),
            .source = stream->norm / 4,
            NORM_PARAMS(stream),
            .row_begin = part.weight->row_begin,
            .n_vocab = logits->n_vocab,
            .partial = logits->partial + 2 * logits->n_partial,
            .scale = scale,
            .softcap = softcap,
        };
        struct gi_dispatch dispatch = {
            .label = label,
            .bindings = {logits->range, stream->range},
            GI_PARAMS_OF(params),
        };
        add_partials(recorder, logits, &part);
        add_stream(&part, recorder, params.source, stream->has_sums, stream, &dispatch);
        gi_gemv_record_part(&part, recorder, &dispatch);
    }
}

//-- experts ---------------------------------------------------------------------------------------

// Begins a part of a projection of experts, whose pairs are those of one expert.
static void begin_experts(struct gi_gemv_part *part, const struct gi_recorder *recorder,
                          enum gi_gemv_kernel kernel, const struct gi_weight *weight,
                          uint32_t index, const struct gi_experts *experts,
                          struct gi_gemv_expert_params *params)
{
    const bool is_halved = weight->is_split; // rows of gate, then of up
    const uint32_t n_rows = is_halved ? weight->n_rows / 2 : weight->n_rows;
    const uint32_t expert_rows = n_rows / experts->n_expert;
    gi_gemv_begin_part(part, recorder, kernel, weight, index);
    part->share = (double)experts->n_used / experts->n_expert;
    part->n_pair = expert_rows / 16;
    params->n_block = part->n_block;
    params->n_pair = part->n_pair;
    params->bias = part->weight->bias;
    params->first_expert = part->weight->row_begin % n_rows / expert_rows;
    params->n_expert = part->weight->n_rows / expert_rows;
}

static struct gi_grid expert_grid(const struct gi_experts *experts, enum gi_experts_tokens tokens)
{
    struct gi_grid grid = {.size = {1, 1, experts->n_used}};
    if (tokens == GI_EXPERTS_BATCH) {
        grid.rule = GI_GRID_TOKENS;
        grid.axis = 1;
        grid.divisor = 1;
    }
    return grid;
}

void gi_op_gemv_expert_glu(struct gi_recorder *recorder, const struct gi_experts *experts,
                           enum gi_activation activation, const struct gi_weight *weight,
                           const struct gi_stream *stream, const struct gi_rows *x,
                           const struct gi_rows *act)
{
    struct gi_gemv_expert_params params = {
        .n_row = experts->n_ff,
        .stride = act->stride,
        .width = experts->act_width,
        .route = experts->route,
    };
    if (stream) {
        params.source = stream->norm / 4;
        params.ssq = stream->ssq / 4;
        params.n_ssq = stream->n_ssq;
        params.inv_n_embd = 1.0f / (float)stream->n_embd;
        params.norm_eps = stream->norm_eps;
    } else {
        params.source_stride = x->stride / 4;
    }
    for (uint32_t i = 0; i < gi_weight_splits(weight); i++) {
        struct gi_gemv_part part;
        begin_experts(&part, recorder, GI_GEMV_EXPERT_GLU, weight, i, experts, &params);
        gi_key_define(&part.key, "ACTIVATION", activation);
        gi_key_define(&part.key, "NORM", stream != NULL);
        gi_key_define(&part.key, "SIDE", find_side(weight, part.weight));
        struct gi_dispatch dispatch = {
            .label = "expert_gate_up",
            .bindings = {act->range, stream ? stream->range : x->range},
            GI_PARAMS_OF(params),
            .grid = expert_grid(experts, stream ? GI_EXPERTS_STEP : GI_EXPERTS_BATCH),
        };
        gi_gemv_record_part(&part, recorder, &dispatch);
    }
}

void gi_op_gemv_expert(struct gi_recorder *recorder, const struct gi_experts *experts,
                       enum gi_experts_tokens tokens, const struct gi_weight *weight,
                       const struct gi_rows *act, const struct gi_rows *y)
{
    const uint32_t expert_rows = weight->n_rows / experts->n_expert;
    struct gi_gemv_expert_params params = {
        .source_stride = act->stride / 4,
        .n_row = experts->y_width < expert_rows ? experts->y_width : expert_rows,
        .stride = y->stride,
        .width = experts->y_width,
        .route = experts->route / 4,
        .act_width = experts->act_width / 4,
    };
    for (uint32_t i = 0; i < gi_weight_splits(weight); i++) {
        struct gi_gemv_part part;
        begin_experts(&part, recorder, GI_GEMV_EXPERT, weight, i, experts, &params);
        struct gi_dispatch dispatch = {
            .label = "expert_down",
            .bindings = {y->range, act->range},
            GI_PARAMS_OF(params),
            .grid = expert_grid(experts, tokens),
        };
        gi_gemv_record_part(&part, recorder, &dispatch);
    }
}
