// Several streams of the residual, a low-rank branch beside attention, networks of whose gates few
// are open.
#include "graph/graph_private.h"
#include "ops/norm/sparse_glu.h"

//-- streams -------------------------------------------------------------------------------------

static struct gi_altup altup_of(struct gi_graph *graph)
{
    return (struct gi_altup){
        .params = {.n_embd = graph->hparams->n_embd, .eps = graph->hparams->norm_eps},
        .rows = graph->is_batch ? graph->stream_rows : graph->streams,
        .vectors = &graph->vectors,
        .stream = graph->is_batch ? NULL : &graph->stream,
        .x = graph->x,
        .branch = graph->ffn_gate_up,
    };
}

static void set_router(const struct gi_graph *graph, uint32_t layer, enum gi_norm coefs,
                       struct gi_altup_params *params)
{
    params->router_norm = norm_offset(graph, layer, GI_NORM_ROUTER);
    params->router = norm_offset(graph, layer, GI_NORM_ROUTER_MATRIX);
    params->coefs = norm_offset(graph, layer, coefs);
}

// Returns the range of the result of gi_graph_project_aside.
static const struct gi_rows *aside(const struct gi_graph *graph)
{
    return graph->is_batch ? &graph->norm : &graph->row;
}

// Returns the rows of projections of all streams but the first.
static const struct gi_rows *projections(const struct gi_graph *graph)
{
    return graph->is_batch ? &graph->ffn_gate_up : &graph->row;
}

// Returns rows that begin a number of streams further on.
static struct gi_rows skip_streams(const struct gi_graph *graph, const struct gi_rows *rows,
                                   uint32_t n)
{
    const uint64_t skipped = (uint64_t)n * graph->hparams->n_embd * sizeof(float);
    struct gi_rows rest = *rows;
    rest.range.offset += skipped;
    rest.range.size -= skipped;
    return rest;
}

void gi_graph_streams_begin(struct gi_graph *graph)
{
    struct gi_recorder *recorder = &graph->recorder;
    const struct gi_altup altup = altup_of(graph);
    const struct gi_weight *proj = graph->weights.stream_proj;
    const struct gi_stream *stream = &graph->stream;
    const struct gi_rows *y = projections(graph);
    struct gi_rows input;
    if (graph->is_batch) {
        gi_graph_input_rows(graph, "stream_half", 0, GI_NORM_NONE, proj, &input);
        gi_op_gemm(recorder, "stream_proj", proj, &input, false, 1.0f, y);
    } else {
        gi_op_gemv(recorder, "stream_proj", proj, stream->range, stream->residual, false, y->range);
    }
    gi_op_altup_embed(recorder, "streams", y, &altup);
}

void gi_graph_streams_predict(struct gi_graph *graph, uint32_t layer)
{
    struct gi_altup altup = altup_of(graph);
    const struct gi_rows *y = NULL;
    set_router(graph, layer, GI_NORM_PREDICT, &altup.params);
    altup.params.gamma = norm_offset(graph, layer, GI_NORM_ATTN);
    if (layer > 0) {
        y = aside(graph);
        altup.params.y_gamma = norm_offset(graph, layer - 1, GI_NORM_INPUT_POST);
    }
    gi_op_altup_predict(&graph->recorder, "stream_predict", y, &altup);
}

void gi_graph_streams_correct(struct gi_graph *graph, uint32_t layer)
{
    struct gi_altup altup = altup_of(graph);
    set_router(graph, layer, GI_NORM_CORRECT, &altup.params);
    altup.params.y_gamma = norm_offset(graph, layer, GI_NORM_FFN_POST);
    altup.params.scale = norm_offset(graph, layer, GI_NORM_CORRECT_SCALE);
    gi_graph_project_aside(graph, "ffn_down", layer_weight(graph, layer, GI_SLOT_DOWN),
                           gi_graph_ffn_x(graph), &graph->ffn_input);
    gi_op_altup_correct(&graph->recorder, "stream_correct", aside(graph), &altup);
    gi_graph_gate_input(graph, layer);
    gi_graph_project_aside(graph, "input_out", layer_weight(graph, layer, GI_SLOT_INPUT_OUT),
                           gi_graph_input_x(graph, layer), &graph->attn_input);
}

// Records what leads back from stream i + 1, of a batch.
static void project_rows_back(struct gi_graph *graph, uint32_t i)
{
    const struct gi_hparams *hparams = graph->hparams;
    const struct gi_weight *back = &graph->weights.stream_back[i];
    const uint64_t n_tokens = gi_rows_room(&graph->x);
    const struct gi_rows y = skip_streams(graph, projections(graph), i);
    struct gi_rows rows = skip_streams(graph, &graph->stream_rows, i + 1), input;
    rows.range.size = n_tokens * rows.stride * sizeof(float);
    gi_graph_pass_on(graph, "stream_half", &rows, hparams->n_embd, back, &graph->norm, &input);
    gi_op_gemm(&graph->recorder, "stream_back", back, &input, false, 1.0f, &y);
}

void gi_graph_streams_end(struct gi_graph *graph)
{
    struct gi_recorder *recorder = &graph->recorder;
    const uint32_t n_embd = graph->hparams->n_embd, last = graph->hparams->n_layer - 1;
    struct gi_altup altup = altup_of(graph);
    altup.params.y_gamma = norm_offset(graph, last, GI_NORM_INPUT_POST);
    altup.params.gamma = norm_offset(graph, last, GI_NORM_NEXT);
    gi_op_altup_add(recorder, "stream_add", aside(graph), &altup);
    for (uint32_t i = 0; i + 1 < graph->hparams->altup.n; i++) {
        if (graph->is_batch) {
            project_rows_back(graph, i);
        } else {
            gi_op_gemv(recorder, "stream_back", &graph->weights.stream_back[i],
                       graph->streams.range, (i + 1) * n_embd, false,
                       skip_streams(graph, projections(graph), i).range);
        }
    }
    gi_op_altup_merge(recorder, "stream_merge", projections(graph), &altup);
}

//-- the branch beside attention -----------------------------------------------------------------

// Leaves the branch's result where projections of a batch's network come later, and its input for
// attention's, unless that is packed for this weight's type.
static void branch_rows(struct gi_graph *graph, uint32_t layer)
{
    struct gi_recorder *recorder = &graph->recorder;
    const struct gi_weight *in = layer_weight(graph, layer, GI_SLOT_BRANCH_IN);
    const struct gi_weight *out = layer_weight(graph, layer, GI_SLOT_BRANCH_OUT);
    struct gi_rows input, act;
    gi_graph_input_rows(graph, "branch_norm", layer, GI_NORM_ATTN, in, &input);
    if (!gi_rows_are_packed(recorder->gpu, &input)) {
        graph->branch_input = input;
    }
    gi_op_gemm(recorder, "branch_in", in, &input, false, 1.0f, &graph->attn);
    gi_graph_pass_on(graph, "branch_half", &graph->attn, graph->hparams->altup.branch_rank, out,
                     &graph->ffn_act_rows, &act);
    gi_op_gemm(recorder, "branch_out", out, &act, false, 1.0f, &graph->ffn_gate_up);
}

void gi_graph_branch(struct gi_graph *graph, uint32_t layer)
{
    struct gi_recorder *recorder = &graph->recorder;
    if (graph->is_batch) {
        branch_rows(graph, layer);
        return;
    }
    struct gi_range result = graph->streams.range;
    const uint64_t begin = gi_altup_branch(graph->hparams->n_embd) * sizeof(float);
    result.offset += begin;
    result.size -= begin;
    gi_op_gemv_norm(recorder, "branch_in", layer_weight(graph, layer, GI_SLOT_BRANCH_IN),
                    &graph->stream, graph->ffn_act);
    gi_op_gemv(recorder, "branch_out", layer_weight(graph, layer, GI_SLOT_BRANCH_OUT),
               graph->ffn_act, 0, false, result);
}

void gi_graph_attn_out_branch(struct gi_graph *graph, uint32_t layer)
{
    struct gi_altup altup = altup_of(graph);
    altup.params.x_gamma = norm_offset(graph, layer, GI_NORM_ATTN);
    altup.params.y_gamma = norm_offset(graph, layer, GI_NORM_ATTN_POST);
    altup.params.l_gamma = norm_offset(graph, layer, GI_NORM_BRANCH_POST);
    altup.params.gamma = norm_offset(graph, layer, GI_NORM_FFN);
    gi_graph_project_aside(graph, "attn_out", layer_weight(graph, layer, GI_SLOT_OUT),
                           gi_graph_attn_x(graph, layer), &graph->attn_input);
    gi_op_laurel_join(&graph->recorder, "branch_join", aside(graph), &altup);
}

//-- networks ------------------------------------------------------------------------------------

void gi_graph_ffn_up_sparse(struct gi_graph *graph, uint32_t layer)
{
    struct gi_recorder *recorder = &graph->recorder;
    const struct gi_hparams *hparams = graph->hparams;
    const struct gi_weight *gate_up = layer_weight(graph, layer, GI_SLOT_GATE_UP);
    const struct gi_sparsity sparsity = {
        .n = gi_layer_ff(hparams, layer),
        .deviations = hparams->sparsity[layer],
        .activation = hparams->activation,
    };
    const struct gi_rows act = {graph->ffn_act, graph->ffn_act_rows.stride, false};
    struct gi_rows input;
    if (!graph->is_batch) {
        graph->ffn_act_has_sums = false;
        gi_op_gemv_norm(recorder, "ffn_gate_up", gate_up, &graph->stream, graph->row.range);
        gi_op_sparse_glu(recorder, "ffn_act", false, &sparsity, &graph->row, gate_up->n_rows / 2,
                         &act);
        return;
    }
    gi_graph_input_rows(graph, "ffn_norm", layer, GI_NORM_FFN, gate_up, &input);
    gi_op_gemm(recorder, "ffn_gate_up", gate_up, &input, false, 1.0f, &graph->ffn_gate_up);
    gi_op_sparse_glu(recorder, "ffn_act", true, &sparsity, &graph->ffn_gate_up, gate_up->n_rows / 2,
                     &graph->ffn_act_rows);
    gi_graph_pass_on(graph, "ffn_half", &graph->ffn_act_rows, sparsity.n,
                     layer_weight(graph, layer, GI_SLOT_DOWN), &graph->ffn_gate_up,
                     &graph->ffn_input);
}
