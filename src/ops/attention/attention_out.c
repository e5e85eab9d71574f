#include "ops/attention/attention_out.h"

#include "ops/record/params.h"

#include <assert.h>

#define TEAM     256 // invocations a head
#define SUBGROUP 32  // invocations; what the program is written for
#define KEYS     128 // of a tile
#define TILES    8   // of the projection's rows, a group
#define MAX_EMBD 1024

// How heads are spread over groups.
struct shape {
    uint32_t teams; // heads of a group
    uint32_t n_run; // groups for all heads
};

// A head a group where that leaves no more parts than there can be: small groups are quicker.
static struct shape choose_shape(const struct gi_kv_layer *layer)
{
    const uint32_t n_rep = layer->n_head / layer->n_kv_head;
    uint32_t teams = 1;
    while (layer->n_kv_head * ((n_rep + teams - 1) / teams) > GI_MAX_STREAM_PARTS &&
           teams < n_rep) {
        teams++;
    }
    return (struct shape){teams, layer->n_kv_head * ((n_rep + teams - 1) / teams)};
}

// Bytes that a group shares: results of subgroups, heads, products of blocks.
static uint32_t shared_size(const struct gi_kv_layer *layer, const struct shape *shape)
{
    const uint32_t n_subgroup = TEAM / SUBGROUP, n_head = shape->teams * layer->head_dim * 4;
    return n_head * n_subgroup + 8 * shape->teams * n_subgroup + n_head +
           8 * TILES * n_head / (4 * GI_QUANT_BLOCK) * 4;
}

bool gi_attention_out_suits(const struct gi_recorder *recorder, const struct gi_kv_layer *layer,
                            const struct gi_weight *weight)
{
    const struct gi_limits *limits = gi_gpu_limits(recorder->gpu);
    const uint32_t dim = layer->head_dim;
    if (recorder->group_size || dim < 32 || (dim & (dim - 1)) != 0 ||
        !gi_program_available(recorder->gpu, GI_PROGRAM_ATTENTION_OUT)) {
        return false;
    }
    assert(limits->subgroup_size == SUBGROUP);
    const struct shape shape = choose_shape(layer);
    return weight->n_parts == 1 && weight->n_rows <= MAX_EMBD &&
           weight->n_cols == layer->n_head * dim && shape.n_run <= GI_MAX_STREAM_PARTS &&
           shape.teams * TEAM <= limits->max_invocations &&
           8 * TILES * shape.teams * dim / GI_QUANT_BLOCK <= shape.teams * TEAM &&
           shared_size(layer, &shape) <= limits->max_shared_size;
}

static struct gi_program_key make_key(const struct gi_kv_layer *layer,
                                      const struct gi_score_rule *rule,
                                      const struct gi_weight_part *part, const struct shape *shape)
{
    return (struct gi_program_key){
        .id = GI_PROGRAM_ATTENTION_OUT,
        .quant = part->quant->type,
        .n_defines = 11,
        .defines = {{"WG_SIZE", (int32_t)(shape->teams * TEAM)},
                    {"TEAMS", (int32_t)shape->teams},
                    {"HEAD_DIM", (int32_t)layer->head_dim},
                    {"KEYS", KEYS},
                    {"TILES", TILES},
                    {"WINDOW", rule->window > 0},
                    {"SOFTCAP", rule->softcap > 0},
                    {"K_TYPE", (int32_t)layer->type_k},
                    {"V_TYPE", (int32_t)layer->type_v},
                    {"HAS_BIAS", part->bias != GI_NO_OFFSET},
                    {"HAS_GAMMA", part->gamma != GI_NO_OFFSET}},
    };
}

bool gi_op_attention_out(struct gi_recorder *recorder, const char *label,
                         const struct gi_kv_layer *layer, const struct gi_score_rule *rule,
                         const struct gi_weight *weight, float scale, struct gi_stream *stream,
                         struct glinfer_error *err)
{
    const struct gi_weight_part *part = &weight->parts[0];
    const struct shape shape = choose_shape(layer);
    const struct gi_program_key key = make_key(layer, rule, part, &shape);
    assert(gi_attention_out_suits(recorder, layer, weight) && weight->n_rows >= stream->n_embd);
    const struct gi_attention_out_params params = {
        .n_head = layer->n_head,
        .n_kv_head = layer->n_kv_head,
        .n_ctx = layer->n_ctx,
        .n_run = shape.n_run,
        .k = layer->k / 4,
        .v = layer->v / 4,
        .scale = rule->scale,
        .window = rule->window,
        .softcap = rule->softcap,
        .k_scale = layer->k_scale,
        .v_scale = layer->v_scale,
        .n_block = gi_weight_blocks(weight),
        .n_embd = stream->n_embd,
        .parts = stream->parts / 4,
        .bias = part->bias,
        .gamma = part->gamma,
        .stride = gi_stream_part_size(stream) / 4,
        .out_scale = scale,
    };
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {stream->range, layer->range, part->quads, part->aux},
        .writes = 1u << 0,
        .params = &params,
        .params_size = sizeof(params),
        .grid = {.size = {(stream->n_embd + 8 * TILES - 1) / (8 * TILES), shape.n_run, 1} },
        .weight_bytes = part->quads.size + part->aux.size,
        .n_weight = (uint64_t)part->n_rows * params.n_block * GI_QUANT_BLOCK,
    };
    gi_attention_count_key(layer, rule->window, &dispatch);
    stream->n_parts = shape.n_run;
    return gi_recorder_add(recorder, &key, &dispatch, err);
}
