#include "graph/graph_private.h"

// Returns the range in a step's range for the products of a weight's matrix A.
static struct gi_range adapter_t(const struct gi_recorder *recorder, const struct gi_range *range,
                                 const struct gi_weight *weight)
{
    const uint32_t begin = recorder->adapter + gi_adapter_scales(weight->adapter_rank);
    const uint32_t n = gi_gemv_adapter_splits(recorder, weight->adapter) * weight->adapter->n_rows;
    return (struct gi_range){range->buffer, range->offset + begin * sizeof(float),
                             n * sizeof(float)};
}

void gi_graph_adapt_stream(struct gi_graph *graph, const struct gi_weight *weight, bool has_norm)
{
    struct gi_recorder *recorder = &graph->recorder;
    const struct gi_weight *a = weight->adapter;
    if (a) {
        recorder->adapter = graph->adapters.stream;
        const struct gi_range t = adapter_t(recorder, &graph->stream.range, weight);
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
                   adapter_t(recorder, &x.range, weight));
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
    if (gi_gemm_converts(recorder, weight, x, false)) {
        gi_op_gemm_converted(recorder, label, weight, x, NULL, is_added, scale, y);
    } else {
        gi_op_gemm(recorder, label, weight, x, is_added, scale, y);
    }
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
