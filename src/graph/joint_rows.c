#include "graph/joint_rows.h"

#include "graph/graph_private.h"
#include "ops/sample/logit_rows.h"

void gi_joint_begin_slot(struct gi_graph *graph, uint32_t slot)
{
    graph->recorder.state = gi_slot_range(&graph->joint->state, slot);
    graph->recorder.slot = slot + 1;
}

void gi_joint_end_slot(struct gi_graph *graph)
{
    graph->recorder.state = (struct gi_range){0};
    graph->recorder.slot = 0;
}

struct gi_rows gi_joint_rows(const struct gi_joint *joint, const struct gi_slot_array *array)
{
    struct gi_range range = array->range;
    range.offset += joint->first_row * array->stride;
    range.size = joint->n_rows * array->stride;
    return (struct gi_rows){range, (uint32_t)(array->stride / sizeof(float)), false};
}

// Returns a recorder of dispatches for all slots.
static struct gi_recorder record_all(const struct gi_graph *graph)
{
    struct gi_recorder recorder = graph->recorder;
    recorder.slots = (struct gi_slots){graph->joint->n_slots, graph->joint->state.range};
    return recorder;
}

// Returns a layer's cache of all slots.
static struct gi_kv_layer joint_cache(const struct gi_graph *graph, uint32_t layer)
{
    const struct gi_slot_array *array = &graph->joint->kv[layer];
    struct gi_kv_layer kv = graph->kv_cache[layer];
    kv.range = array->range;
    kv.slot_size = array->stride;
    return kv;
}

void gi_joint_embed(struct gi_graph *graph)
{
    struct gi_recorder recorder = record_all(graph);
    const struct gi_hparams *hparams = graph->hparams;
    gi_op_embed_batch(&recorder, graph->weights.embed, (struct gi_range){0}, hparams->embed_scale,
                      &graph->joint->x);
    if (hparams->has_positions) {
        gi_op_add_positions(&recorder, &graph->vectors, graph->positions, hparams->n_embd,
                            &graph->joint->x, true);
    }
    if (hparams->inputs.width != 0) {
        gi_op_embed_batch(&recorder, graph->weights.input_embed, (struct gi_range){0},
                          hparams->inputs.scale, &graph->joint->inputs);
    }
}

void gi_joint_rope_kv(struct gi_graph *graph, uint32_t layer, const struct gi_rope *rope,
                      const struct gi_head_norm *norm)
{
    struct gi_recorder recorder = record_all(graph);
    const struct gi_kv_layer kv = joint_cache(graph, layer);
    const struct gi_qkv_layout layout =
        gi_layer_qkv_layout(graph->hparams, layer, graph->qkv_layout.gate_begin > 0);
    if (gi_layer_kind(graph->hparams, layer) == GI_LAYER_CROSS) { // queries of a batch
        gi_op_rope_kv(&graph->recorder, "rope_kv", &layout, &graph->qkv, &graph->vectors, rope,
                      &graph->kv_cache[layer], &graph->q);
        return;
    }
    const struct gi_rows q = {kv.range, (uint32_t)(kv.slot_size / sizeof(float)), false};
    graph->attention_input = (struct gi_attention_input){
        .layout = layout,
        .qkv = graph->joint->qkv.range,
        .qkv_stride = graph->joint->qkv.stride,
        .vectors = graph->vectors,
        .rope = *rope,
    };
    if (norm) {
        graph->attention_input.norm = *norm;
    }
    graph->has_attention_input = rope->temperature == 0.0f &&
                                 gi_attention_qkv_suits(&recorder, &kv, &graph->attention_input);
    if (!graph->has_attention_input) {
        if (norm) {
            gi_op_norm_rope_kv(&recorder, "norm_rope_kv", &layout, &graph->joint->qkv,
                               &graph->vectors, norm, rope, &kv, &q);
        } else {
            gi_op_rope_kv(&recorder, "rope_kv", &layout, &graph->joint->qkv, &graph->vectors, rope,
                          &kv, &q);
        }
    }
}

void gi_joint_attention(struct gi_graph *graph, uint32_t layer, const struct gi_score_rule *rule)
{
    if (gi_layer_kind(graph->hparams, layer) == GI_LAYER_CROSS) {
        graph->attn_input = graph->attn;
        gi_op_attention_batch(&graph->recorder, "attention", &graph->kv_cache[layer], rule,
                              &graph->q, &graph->attn);
        return;
    }
    const struct gi_slot_array *rows = &graph->joint->attention;
    struct gi_recorder recorder = record_all(graph);
    const struct gi_kv_layer kv = joint_cache(graph, layer);
    struct gi_attention_scratch scratch = graph->attention;
    scratch.range = rows->range;
    scratch.slot_size = rows->stride;
    graph->attn_input = gi_joint_rows(graph->joint, rows);
    if (graph->has_attention_input) {
        gi_op_attention_qkv(&recorder, "attention", &kv, rule, &graph->attention_input, &scratch);
    } else {
        gi_op_attention(&recorder, "attention", &kv, rule, &scratch);
    }
    if (graph->qkv_layout.gate_begin > 0) {
        gi_op_gate_rows(&graph->recorder, "attn_gate", &graph->qkv_layout, &graph->qkv,
                        &graph->attn_input);
    }
}

void gi_joint_output(struct gi_graph *graph)
{
    const struct gi_hparams *hparams = graph->hparams;
    const struct gi_slot_array *logits = &graph->joint->logits;
    const struct gi_rows rows = gi_joint_rows(graph->joint, logits);
    gi_graph_norm_product(graph, "output_norm", "output", hparams->n_layer - 1, GI_NORM_NEXT,
                          graph->weights.output, &rows);
    gi_op_logit_rows(&graph->recorder, "logit_rows", &rows, hparams->logit_scale,
                     hparams->logit_softcap, &graph->logits);
}

struct gi_logits gi_joint_slot_logits(const struct gi_graph *graph, uint32_t slot)
{
    struct gi_logits logits = graph->logits;
    logits.range = gi_slot_range(&graph->joint->logits, slot);
    return logits;
}
