#include "graph/graph_private.h"

// Returns the range in a step's range for the product of a weight's matrix A.
static struct gi_range adapter_t(const struct gi_range *range, uint32_t scales,
                                 const struct gi_weight *weight)
{
    const uint64_t begin = (scales + gi_adapter_scales(weight->adapter_rank)) * sizeof(float);
    return (struct gi_range){range->buffer, range->offset + begin,
                             weight->adapter->n_rows * sizeof(float)};
}

void gi_graph_adapt_stream(struct gi_graph *graph, const struct gi_weight *weight, bool has_norm)
{
    struct gi_recorder *recorder = &graph->recorder;
    const struct gi_weight *a = weight->adapter;
    if (a) {
        const struct gi_range t = adapter_t(&graph->stream.range, graph->adapters.stream, weight);
        recorder->adapter = graph->adapters.stream;
        if (has_norm) {
            gi_op_gemv_norm(recorder, "adapter", a, &graph->stream, t);
        } else {
            gi_op_gemv_stream(recorder, "adapter", a, &graph->stream, t);
        }
    }
}

void gi_graph_adapt_x(struct gi_graph *graph, const struct gi_weight *weight, struct gi_step_x x)
{
    struct gi_recorder *recorder = &graph->recorder;
    const bool is_attention = x.range.offset == graph->attention.range.offset &&
                              x.range.buffer == graph->attention.range.buffer;
    if (weight->adapter) {
        recorder->adapter = is_attention ? graph->adapters.attention : graph->adapters.ffn_act;
        gi_op_gemv(recorder, "adapter", weight->adapter, x.range, x.offset, x.has_sums,
                   adapter_t(&x.range, recorder->adapter, weight));
    }
}

void gi_graph_product(struct gi_graph *graph, const char *label, const struct gi_weight *weight,
                      const struct gi_rows *x, bool is_added, float scale, const struct gi_rows *y)
{
    struct gi_recorder *recorder = &graph->recorder;
    const struct gi_adapter_rows *rows = &graph->adapters.rows;
    if (weight->adapter) {
        gi_op_gemm(recorder, "adapter", weight->adapter, x, false, 1.0f, &rows->t);
    }
    gi_op_gemm(recorder, label, weight, x, is_added, scale, y);
    if (weight->adapter) {
        gi_op_adapter_rows(recorder, "adapter_rows", weight, rows, scale, y);
    }
}

void gi_graph_project_back(struct gi_graph *graph, const char *label,
                           const struct gi_weight *weight, struct gi_step_x x,
                           const struct gi_rows *rows)
{
    const float scale = graph->hparams->residual_scale;
    if (graph->is_batch) {
        gi_graph_product(graph, label, weight, rows, true, scale, &graph->x);
        return;
    }
    gi_graph_adapt_x(graph, weight, x);
    gi_op_gemv_residual(&graph->recorder, label, weight, x.range, x.offset, x.has_sums, scale,
                        &graph->stream);
}
