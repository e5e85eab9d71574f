#include "graph/joint_rows.h"

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

// Returns the row of a slot.
static struct gi_rows slot_row(const struct gi_rows *rows, uint32_t slot)
{
    const uint64_t size = rows->stride * sizeof(float);
    return (struct gi_rows){
        {rows->range.buffer, rows->range.offset + slot * size, size},
        rows->stride, false
    };
}

static struct gi_kv_layer slot_cache(const struct gi_graph *graph, uint32_t layer, uint32_t slot)
{
    struct gi_kv_layer kv = graph->kv_cache[layer];
    kv.range = gi_slot_range(&graph->joint->kv[layer], slot);
    return kv;
}

bool gi_joint_embed(struct gi_graph *graph, struct glinfer_error *err)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < graph->joint->n_slots; i++) {
        struct gi_stream stream = graph->stream;
        stream.range = gi_slot_range(&graph->joint->stream, i);
        gi_joint_begin_slot(graph, i);
        graph->recorder.slot = 0; // of idle slots too
        ok = gi_op_embed_token(
            &graph->recorder, graph->weights.embed, &graph->vectors,
            gi_norm_offset(&graph->norm_layout, graph->hparams->n_layer - 1, GI_NORM_NEXT),
            graph->hparams->embed_scale, &stream, err);
    }
    gi_joint_end_slot(graph);
    return ok;
}

bool gi_joint_rope_kv(struct gi_graph *graph, uint32_t layer, const struct gi_rope *rope,
                      const struct gi_head_norm *norm, struct glinfer_error *err)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < graph->joint->n_slots; i++) {
        const struct gi_kv_layer kv = slot_cache(graph, layer, i);
        const struct gi_rows qkv = slot_row(&graph->qkv, i);
        const struct gi_rows q = {kv.range, kv.n_head * kv.head_dim, false};
        gi_joint_begin_slot(graph, i);
        ok = norm ? gi_op_norm_rope_kv(&graph->recorder, "norm_rope_kv", &graph->qkv_layout, &qkv,
                                       &graph->vectors, norm, rope, &kv, &q, err)
                  : gi_op_rope_kv(&graph->recorder, "rope_kv", &graph->qkv_layout, &qkv,
                                  &graph->vectors, rope->n_rot, &kv, &q, err);
    }
    gi_joint_end_slot(graph);
    return ok;
}

bool gi_joint_attention(struct gi_graph *graph, uint32_t layer, const struct gi_score_rule *rule,
                        struct glinfer_error *err)
{
    const struct gi_slot_array *rows = &graph->joint->attention;
    bool ok = true;
    for (uint32_t i = 0; ok && i < graph->joint->n_slots; i++) {
        const struct gi_kv_layer kv = slot_cache(graph, layer, i);
        struct gi_attention_scratch scratch = graph->attention;
        scratch.range = gi_slot_range(rows, i);
        gi_joint_begin_slot(graph, i);
        ok = gi_op_attention(&graph->recorder, "attention", &kv, rule, &scratch, err);
    }
    gi_joint_end_slot(graph);
    graph->attn_input =
        (struct gi_rows){rows->range, (uint32_t)(rows->stride / sizeof(float)), false};
    return ok;
}

bool gi_joint_output(struct gi_graph *graph, struct glinfer_error *err)
{
    const struct gi_hparams *hparams = graph->hparams;
    const struct gi_slot_array *logits = &graph->joint->logits;
    const struct gi_rows rows = {logits->range, (uint32_t)(logits->stride / sizeof(float)), false};
    return gi_graph_norm_rows(graph, &graph->recorder, "output_norm", hparams->n_layer - 1,
                              GI_NORM_NEXT, &graph->norm, err) &&
           gi_op_gemm(&graph->recorder, "output", graph->weights.output, &graph->norm, false, 1.0f,
                      &rows, err) &&
           gi_op_logit_rows(&graph->recorder, "logit_rows", &rows, hparams->logit_scale,
                            hparams->logit_softcap, &graph->logits, err);
}

struct gi_logits gi_joint_slot_logits(const struct gi_graph *graph, uint32_t slot)
{
    struct gi_logits logits = graph->logits;
    logits.range = gi_slot_range(&graph->joint->logits, slot);
    return logits;
}
