// Streams of the residual and the branch beside attention (ops/altup/altup.h), each op of a batch
// and of a step; and networks of whose gates few are open.
#include "ops/altup/altup.h"
#include "ops/norm/sparse_glu.h"
#include "tests/kernel/fixture/kernel_layer.h"
#include "tests/kernel/fixture/kernel_rows.h"
#include "tests/ref/streams/ref_altup.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Sums of n / 64 terms an invocation and six levels, of a norm and of the router, and products of
// both.
#define ROUNDINGS 64

static const struct altup_case {
    uint32_t n, n_tokens; // 0: a step
    bool is_stage;        // of a list whose groups are all alike
} shapes[] = {
    {64, 0, false},
    {320, 0, true},
    {576, 5, false},
};

static const struct altup_case benches[] = {
    {2048, 0, false},
    {2048, 512, false},
};

struct altup_run {
    const struct altup_case *c;
    uint32_t n, n_tokens;
    float *streams, *x, *y, *branch, *vectors, *p;
    struct gi_altup altup;
    struct gi_stream stream;
    struct gi_vectors small;
    struct gi_rows y_rows, branch_rows;
    double *want, *bound, *x_want, *x_bound; // (n_tokens, 4, n), (n_tokens, n)
};

// Places in the vectors.
enum { ROUTER, MATRIX, COEFS, Y_GAMMA, X_GAMMA, BRANCH_GAMMA, NEXT_GAMMA, SCALE, N_VECTORS };

static uint32_t place(const struct altup_run *s, int vector)
{
    const uint32_t n = s->n;
    const uint32_t places[] = {0,          n,          5 * n,      5 * n + 64, 6 * n + 64,
                               7 * n + 64, 8 * n + 64, 9 * n + 64, 10 * n + 64};
    return places[vector];
}

static bool is_step(const struct altup_run *s)
{
    return s->c->n_tokens == 0;
}

static const float *stream_row(const struct altup_run *s, size_t token)
{
    return s->streams + token * s->altup.rows.stride;
}

static const float *y_row(const struct altup_run *s, size_t token)
{
    return s->y + token * s->y_rows.stride;
}

// Returns the residual of a token, of a step that of its stream.
static const float *x_row(const struct altup_run *s, size_t token)
{
    return is_step(s) ? s->x + s->stream.residual : s->x + token * s->altup.x.stride;
}

static float *fill(struct kt_run *run, size_t n, float low, float high)
{
    float *values = kt_alloc(n, sizeof(float));
    kt_fill(run, values, n, low, high);
    return values;
}

static void init_ranges(struct altup_run *s, struct kt_run *run, size_t n_x, uint32_t x_stride)
{
    const size_t n_tokens = s->n_tokens;
    const uint32_t stride = s->altup.rows.stride, n_vector = place(s, N_VECTORS);
    s->altup.rows.range = kt_range(run, "streams", s->streams, n_tokens * stride * sizeof(float));
    const struct gi_range x = kt_range(run, "x", s->x, n_x * sizeof(float));
    s->y_rows.range = kt_range(run, "y", s->y, n_tokens * s->y_rows.stride * sizeof(float));
    s->branch_rows.range =
        kt_range(run, "branch", s->branch, n_tokens * s->branch_rows.stride * sizeof(float));
    s->small = kt_vectors(run, s->vectors, n_vector, 0);
    s->altup.vectors = &s->small;
    if (is_step(s)) {
        s->stream.range = x;
        s->altup.stream = &s->stream;
    } else {
        s->altup.x = (struct gi_rows){x, x_stride, false};
    }
}

static void init(struct altup_run *s, struct kt_run *run, const struct altup_case *c)
{
    const uint32_t n = c->n, n_tokens = c->n_tokens > 0 ? c->n_tokens : 1;
    *s = (struct altup_run){.c = c, .n = n, .n_tokens = n_tokens};
    const size_t stream_size = (size_t)gi_stream_layout(&s->stream, n, 2, 1e-5f) / sizeof(float);
    const uint32_t stride = is_step(s) ? gi_altup_step_width(n) : 4 * n + 32;
    const size_t n_x = is_step(s) ? stream_size : (size_t)n_tokens * (n + 32);
    const size_t n_all = (size_t)n_tokens * 4 * n;
    s->altup = (struct gi_altup){.n_embd = n, .rows.stride = stride, .eps = 1e-5f};
    s->y_rows.stride = 3 * n + 32;
    s->branch_rows.stride = n + 32;
    s->streams = fill(run, (size_t)n_tokens * stride, -1, 1);
    s->x = fill(run, n_x, -2, 2);
    s->y = fill(run, (size_t)n_tokens * s->y_rows.stride, -3, 3);
    s->branch = fill(run, (size_t)n_tokens * s->branch_rows.stride, -2, 2);
    s->vectors = fill(run, place(s, N_VECTORS), -1.5f, 1.5f);
    s->p = kt_alloc((size_t)4 * n, sizeof(float));
    s->want = kt_alloc(2 * n_all, sizeof(double));
    s->bound = s->want + n_all;
    s->x_want = kt_alloc(2 * (size_t)n_tokens * n, sizeof(double));
    s->x_bound = s->x_want + (size_t)n_tokens * n;
    init_ranges(s, run, n_x, n + 32);
    run->recorder.form.group_size = c->is_stage ? kt_uniform_size(run) : 0;
}

static void finish(struct altup_run *s)
{
    free(s->streams);
    free(s->x);
    free(s->y);
    free(s->branch);
    free(s->vectors);
    free(s->p);
    free(s->want);
    free(s->x_want);
}

//-- what is wanted ------------------------------------------------------------------------------

static struct ref_altup_router ref_router(const struct altup_run *s)
{
    return (struct ref_altup_router){s->vectors + place(s, ROUTER), s->vectors + place(s, MATRIX),
                                     s->vectors + place(s, COEFS), (double)s->altup.eps};
}

static void want_embed(struct altup_run *s, size_t token)
{
    double *want = s->want + token * 4 * s->n, *bound = s->bound + token * 4 * s->n;
    ref_altup_embed(x_row(s, token), y_row(s, token), s->n, want);
    for (size_t i = 0; i < 4 * (size_t)s->n; i++) {
        bound[i] = fabs(want[i]);
    }
}

static void want_predict(struct altup_run *s, size_t token)
{
    const struct ref_altup_router router = ref_router(s);
    double *want = s->want + token * 4 * s->n, *bound = s->bound + token * 4 * s->n;
    const bool has_y = s->c->is_stage || !is_step(s);
    ref_altup_predict(stream_row(s, token), &router, has_y ? y_row(s, token) : NULL,
                      s->vectors + place(s, Y_GAMMA), s->n, want, bound);
    memcpy(s->x_want + token * s->n, want, s->n * sizeof(double));
    memcpy(s->x_bound + token * s->n, bound, s->n * sizeof(double));
    for (size_t i = 0; is_step(s) && i < s->n; i++) { // as it was
        want[i] = (double)s->streams[i];
        bound[i] = 0;
    }
}

static void want_join(struct altup_run *s, size_t token)
{
    const float *branch =
        is_step(s) ? s->streams + 4 * (size_t)s->n : s->branch + token * s->branch_rows.stride;
    const struct ref_laurel laurel = {
        .x = x_row(s, token),
        .y = y_row(s, token),
        .branch = branch,
        .y_gamma = s->vectors + place(s, Y_GAMMA),
        .x_gamma = s->vectors + place(s, X_GAMMA),
        .branch_gamma = s->vectors + place(s, BRANCH_GAMMA),
        .eps = (double)s->altup.eps,
    };
    ref_laurel_join(&laurel, s->n, s->x_want + token * s->n, s->x_bound + token * s->n);
}

static void want_correct(struct altup_run *s, size_t token)
{
    const struct ref_altup_router router = ref_router(s);
    const size_t n = s->n;
    const float *z = is_step(s) ? s->streams + 5 * n : x_row(s, token);
    double *want = s->want + token * 4 * n, *bound = s->bound + token * 4 * n;
    memcpy(s->p, stream_row(s, token), 4 * n * sizeof(float));
    if (is_step(s)) {
        memcpy(s->p, x_row(s, token), n * sizeof(float));
    }
    ref_altup_correct(s->p, &router, z, y_row(s, token), s->vectors + place(s, Y_GAMMA), n, want,
                      bound);
    for (size_t i = 0; i < n; i++) {
        const double scale = (double)s->vectors[place(s, SCALE) + i];
        s->x_want[token * n + i] = scale * want[i];
        s->x_bound[token * n + i] = fabs(scale) * bound[i];
    }
}

static void want_add(struct altup_run *s, size_t token)
{
    double *want = s->want + token * 4 * s->n, *bound = s->bound + token * 4 * s->n;
    double *own = kt_alloc(s->n, sizeof(double));
    ref_rmsnorm(y_row(s, token), s->vectors + place(s, Y_GAMMA), s->n, (double)s->altup.eps, own);
    for (size_t i = 0; i < 4 * (size_t)s->n; i++) {
        const double before = (double)stream_row(s, token)[i], added = i < s->n ? 0 : own[i % s->n];
        want[i] = before + added;
        bound[i] = fabs(before) + fabs(added);
    }
    free(own);
}

static void want_merge(struct altup_run *s, size_t token)
{
    ref_altup_merge(stream_row(s, token), y_row(s, token), s->n, s->x_want + token * s->n,
                    s->x_bound + token * s->n);
}

//-- the ops -------------------------------------------------------------------------------------

static struct gi_altup_router router_of(const struct altup_run *s)
{
    return (struct gi_altup_router){place(s, ROUTER), place(s, MATRIX), place(s, COEFS)};
}

static void record_embed(struct altup_run *s, struct gi_recorder *recorder)
{
    gi_op_altup_embed(recorder, "embed", &s->y_rows, &s->altup);
}

static void record_predict(struct altup_run *s, struct gi_recorder *recorder)
{
    const struct gi_altup_router router = router_of(s);
    const bool has_y = s->c->is_stage || !is_step(s);
    gi_op_altup_predict(recorder, "predict", &router, has_y ? &s->y_rows : NULL, place(s, Y_GAMMA),
                        place(s, NEXT_GAMMA), &s->altup);
}

static void record_join(struct altup_run *s, struct gi_recorder *recorder)
{
    const struct gi_laurel_norms norms = {place(s, X_GAMMA), place(s, Y_GAMMA),
                                          place(s, BRANCH_GAMMA), place(s, NEXT_GAMMA)};
    gi_op_laurel_join(recorder, "join", &norms, &s->y_rows, &s->branch_rows, &s->altup);
}

static void record_correct(struct altup_run *s, struct gi_recorder *recorder)
{
    const struct gi_altup_router router = router_of(s);
    gi_op_altup_correct(recorder, "correct", &router, &s->y_rows, place(s, Y_GAMMA),
                        place(s, SCALE), &s->altup);
}

static void record_add(struct altup_run *s, struct gi_recorder *recorder)
{
    gi_op_altup_add(recorder, "add", &s->y_rows, place(s, Y_GAMMA), &s->altup);
}

static void record_merge(struct altup_run *s, struct gi_recorder *recorder)
{
    gi_op_altup_merge(recorder, "merge", &s->y_rows, place(s, NEXT_GAMMA), &s->altup);
}

static const struct altup_op {
    const char *name;
    void (*record)(struct altup_run *s, struct gi_recorder *recorder);
    void (*want)(struct altup_run *s, size_t token);
    bool has_streams, has_x; // that it writes
    bool has_norm;           // and what follows in a step
    bool is_beside;          // a step's new residual lies behind the streams
    uint32_t n_moved;        // rows of n_embd that a token reads and writes
} ops[] = {
    {"embed", record_embed, want_embed, true, false, false, false, 8},
    {"predict", record_predict, want_predict, true, true, true, false, 10},
    {"join", record_join, want_join, false, true, true, true, 4},
    {"correct", record_correct, want_correct, true, true, false, false, 11},
    {"add", record_add, want_add, true, false, false, false, 7},
    {"merge", record_merge, want_merge, false, true, true, false, 5},
};

static void set_bounds(double *bound, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bound[i] *= ROUNDINGS * (double)FLT_EPSILON;
    }
}

// Compares what a step leaves for the product that follows: residual * gamma and the sum of
// squares.
static bool check_norm(struct kt_run *run, struct altup_run *s)
{
    const struct gi_stream *stream = &s->stream;
    double *want = kt_alloc(2 * (size_t)s->n, sizeof(double)), *bound = want + s->n;
    double squares = 0, tolerance = 0, sum = 0;
    float *partial = kt_alloc(stream->n_ssq, sizeof(float));
    for (size_t i = 0; i < s->n; i++) {
        const double gamma = (double)s->vectors[place(s, NEXT_GAMMA) + i];
        want[i] = s->x_want[i] * gamma;
        bound[i] = s->x_bound[i] * fabs(gamma) + 2 * (double)FLT_EPSILON * fabs(want[i]);
        squares += s->x_want[i] * s->x_want[i];
        tolerance += 2 * fabs(s->x_want[i]) * s->x_bound[i];
    }
    bool is_good = kt_compare_f32(run, "norm", &stream->range, stream->norm * sizeof(float), want,
                                  bound, s->n) &&
                   kt_read(run, &stream->range, stream->ssq * sizeof(float), partial,
                           stream->n_ssq * sizeof(float));
    for (uint32_t i = 0; i < stream->n_ssq; i++) {
        sum += (double)partial[i];
    }
    tolerance += ROUNDINGS * (double)FLT_EPSILON * squares;
    if (is_good && !(fabs(sum - squares) <= tolerance)) {
        is_good = kt_fail(run, "the sum of squares is %.9g, not %.9g", sum, squares);
    }
    const struct gi_range norm = {stream->range.buffer, stream->range.offset + 4 * stream->norm,
                                  4 * (uint64_t)gi_x_size(s->n)};
    is_good = is_good && (!stream->has_sums || kt_check_sums(run, &norm, s->n));
    free(want);
    free(partial);
    return is_good;
}

static bool check_x(struct kt_run *run, struct altup_run *s, const struct altup_op *op)
{
    if (!is_step(s)) {
        return kt_compare_rows(run, "x", &s->altup.x, s->n_tokens, 0, s->n, s->x_want, s->x_bound);
    }
    const struct gi_range *range = op->is_beside ? &s->altup.rows.range : &s->stream.range;
    const uint32_t at = op->is_beside ? 5 * s->n : s->stream.residual;
    return kt_compare_f32(run, "x", range, at * sizeof(float), s->x_want, s->x_bound, s->n) &&
           (!op->has_norm || check_norm(run, s));
}

static bool run_op(struct kt_run *run, const struct altup_op *op, const struct altup_case *c)
{
    struct altup_run s;
    init(&s, run, c);
    for (size_t token = 0; !run->is_bench && token < s.n_tokens; token++) {
        op->want(&s, token);
    }
    set_bounds(s.bound, (size_t)s.n_tokens * 4 * s.n);
    set_bounds(s.x_bound, (size_t)s.n_tokens * s.n);
    op->record(&s, &run->recorder);
    bool is_good = kt_seal(run);
    if (is_good && !run->is_bench) {
        is_good = kt_replay(run, 3, s.n_tokens) &&
                  (!op->has_streams || kt_compare_rows(run, "streams", &s.altup.rows, s.n_tokens, 0,
                                                       4 * s.n, s.want, s.bound)) &&
                  (!op->has_x || check_x(run, &s, op));
    }
    const uint64_t bytes = (uint64_t)op->n_moved * s.n_tokens * s.n * sizeof(float);
    is_good = is_good && kt_bench(run, 3, s.n_tokens, bytes);
    finish(&s);
    return is_good;
}

static void write_name(const struct altup_case *c, const char *op, char *text, size_t size)
{
    if (c->n_tokens > 0) {
        snprintf(text, size, "%s %u, %u tokens", op, c->n, c->n_tokens);
    } else {
        snprintf(text, size, "%s %u, a step%s", op, c->n, c->is_stage ? ", as a stage" : "");
    }
}

static void name_case(size_t index, char *text, size_t size)
{
    write_name(&shapes[index % COUNT(shapes)], ops[index / COUNT(shapes)].name, text, size);
}

static bool run_case(struct kt_run *run, size_t index)
{
    return run_op(run, &ops[index / COUNT(shapes)], &shapes[index % COUNT(shapes)]);
}

static void name_bench(size_t index, char *text, size_t size)
{
    write_name(&benches[index % COUNT(benches)], ops[index / COUNT(benches)].name, text, size);
}

static bool run_bench(struct kt_run *run, size_t index)
{
    return run_op(run, &ops[index / COUNT(benches)], &benches[index % COUNT(benches)]);
}

const struct kt_suite kt_altup = {"altup", COUNT(ops) * COUNT(shapes), name_case, run_case};
const struct kt_suite kt_altup_bench = {"bench_altup", COUNT(ops) * COUNT(benches), name_bench,
                                        run_bench};

//-- gates of which few are open -----------------------------------------------------------------

static const struct altup_case gates[] = {
    {36, 0, false},
    {1056, 0, true},
    {300, 5, false},
};

static const struct altup_case gate_benches[] = {
    {8192, 0, false},
    {8192, 512, false},
};

static void name_gates(size_t index, char *text, size_t size)
{
    write_name(&gates[index], "gates", text, size);
}

static void name_gate_bench(size_t index, char *text, size_t size)
{
    write_name(&gate_benches[index], "gates", text, size);
}

// Fills what is wanted of a token. An error of the cutoff is one of each gate that is open.
static void want_act(const float *row, uint32_t n, uint32_t up_begin, double deviations,
                     double *want, double *bound)
{
    double cutoff;
    ref_sparse_glu(row, row + up_begin, n, deviations, want, &cutoff);
    for (size_t i = 0; i < n; i++) {
        const double gate = fmax((double)row[i] - cutoff, 0), up = fabs((double)row[up_begin + i]);
        bound[i] = (double)FLT_EPSILON *
                   (8 * (2 + 2 * gate) * fabs(want[i]) + 32 * up * (fabs(cutoff) + gate));
    }
}

static bool run_sparse(struct kt_run *run, const struct altup_case *c)
{
    const uint32_t n_tokens = c->n_tokens > 0 ? c->n_tokens : 1, n = c->n;
    const uint32_t up_begin = (n + 15) / 16 * 16, stride = kt_pad32(2 * up_begin);
    const struct gi_sparsity sparsity = {n, 1.25f, GI_ACTIVATION_GELU_TANH};
    const size_t n_all = (size_t)n_tokens * n;
    float *values = fill(run, (size_t)n_tokens * stride, -3, 3);
    double *want = kt_alloc(2 * n_all, sizeof(double)), *bound = want + n_all;
    const struct gi_rows gate_up = {
        kt_range(run, "gate_up", values, (size_t)n_tokens * stride * sizeof(float)), stride, false};
    const struct gi_rows act = kt_rows(run, "act", NULL, n_tokens, kt_pad32(n));
    run->recorder.form.group_size = c->is_stage ? kt_uniform_size(run) : 0;
    for (size_t token = 0; !run->is_bench && token < n_tokens; token++) {
        want_act(values + token * stride, n, up_begin, (double)sparsity.deviations,
                 want + token * n, bound + token * n);
    }
    gi_op_sparse_glu(&run->recorder, "act", c->n_tokens > 0, &sparsity, &gate_up, up_begin, &act);
    bool is_good = kt_seal(run);
    if (is_good && !run->is_bench) {
        is_good = kt_replay(run, 3, n_tokens) &&
                  kt_compare_rows(run, "act", &act, n_tokens, 0, n, want, bound);
    }
    is_good = is_good && kt_bench(run, 3, n_tokens, 3 * n_all * sizeof(float));
    free(values);
    free(want);
    return is_good;
}

static bool run_gates(struct kt_run *run, size_t index)
{
    return run_sparse(run, &gates[index]);
}

static bool run_gate_bench(struct kt_run *run, size_t index)
{
    return run_sparse(run, &gate_benches[index]);
}

const struct kt_suite kt_sparse_glu = {"sparse_glu", COUNT(gates), name_gates, run_gates};
const struct kt_suite kt_sparse_glu_bench = {"bench_sparse_glu", COUNT(gate_benches),
                                             name_gate_bench, run_gate_bench};
