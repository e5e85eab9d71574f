// Streams of the residual and the branch beside attention (ops/altup/altup.h), each op of a batch
// and of a step; and networks of whose gates few are open.
#include "ops/altup/altup.h"
#include "ops/norm/sparse_glu.h"
#include "tests/kernel/fixture/kernel_rows.h"

#include <stdio.h>

static const struct altup_case {
    uint32_t n, n_tokens; // 0: a step
    bool is_stage;        // of a list whose groups are all alike
} shapes[] = {
    {64, 0, false},
    {640, 0, true}, // two groups
    {576, 5, false},
};

static const struct altup_case benches[] = {
    {2048, 0, false},
    {2048, 512, false},
};

struct altup_run {
    const struct altup_case *c;
    struct gi_altup altup;
    struct gi_stream stream;
    struct gi_vectors small;
    struct gi_rows y;
};

// Places in the vectors.
enum { ROUTER, MATRIX, COEFS, Y_GAMMA, X_GAMMA, BRANCH_GAMMA, NEXT_GAMMA, SCALE, N_VECTORS };

static uint32_t place(const struct altup_run *s, int vector)
{
    const uint32_t n = s->c->n;
    const uint32_t places[] = {0,          n,          5 * n,      5 * n + 64, 6 * n + 64,
                               7 * n + 64, 8 * n + 64, 9 * n + 64, 10 * n + 64};
    return places[vector];
}

static bool is_step(const struct altup_run *s)
{
    return s->c->n_tokens == 0;
}

static void init(struct altup_run *s, struct kt_run *run, const struct altup_case *c)
{
    const uint32_t n = c->n, n_tokens = c->n_tokens > 0 ? c->n_tokens : 1;
    *s = (struct altup_run){.c = c};
    const uint64_t stream_size = gi_stream_layout(&s->stream, n, 2, 1e-5f) / sizeof(float);
    s->small = kt_random_vectors(run, place(s, N_VECTORS));
    s->y = kt_random_rows(run, "y", n_tokens, 3 * n + 32, 3);
    const struct gi_rows branch = kt_random_rows(run, "branch", n_tokens, n + 32, 2);
    s->altup = (struct gi_altup){
        .params = {.n_embd = n,
                   .eps = 1e-5f,
                   .router_norm = place(s, ROUTER),
                   .router = place(s, MATRIX),
                   .coefs = place(s, COEFS),
                   .x_gamma = place(s, X_GAMMA),
                   .y_gamma = place(s, Y_GAMMA),
                   .l_gamma = place(s, BRANCH_GAMMA),
                   .gamma = place(s, NEXT_GAMMA),
                   .scale = place(s, SCALE)},
        .rows = kt_random_rows(run, "streams", n_tokens,
                               is_step(s) ? gi_altup_step_width(n) : 4 * n + 32, 1),
        .vectors = &s->small,
        .branch = branch,
    };
    if (is_step(s)) {
        s->stream.range = kt_random_rows(run, "x", 1, (uint32_t)stream_size, 2).range;
        s->altup.stream = &s->stream;
    } else {
        s->altup.x = kt_random_rows(run, "x", n_tokens, n + 32, 2);
    }
    run->recorder.form.group_size = c->is_stage ? kt_uniform_size(run) : 0;
}

//-- the ops -------------------------------------------------------------------------------------

static const struct altup_op {
    const char *name;
    void (*record)(struct gi_recorder *recorder, const char *label, const struct gi_rows *y,
                   const struct gi_altup *altup);
    uint32_t n_moved; // rows of n_embd that a token reads and writes
} ops[] = {
    {"embed", gi_op_altup_embed, 8}, {"predict", gi_op_altup_predict, 10},
    {"join", gi_op_laurel_join, 4},  {"correct", gi_op_altup_correct, 11},
    {"add", gi_op_altup_add, 7},     {"merge", gi_op_altup_merge, 5},
};

static bool run_op(struct kt_run *run, const struct altup_op *op, const struct altup_case *c)
{
    const uint32_t n_tokens = c->n_tokens > 0 ? c->n_tokens : 1;
    struct altup_run s;
    init(&s, run, c);
    // The first layer of a step predicts without y.
    const bool has_y = op->record != gi_op_altup_predict || c->is_stage || !is_step(&s);
    op->record(&run->recorder, op->name, has_y ? &s.y : NULL, &s.altup);
    return kt_finish(run, 3, n_tokens, (uint64_t)op->n_moved * n_tokens * c->n * sizeof(float));
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

static void name_gates(const struct altup_case *c, char *text, size_t size)
{
    write_name(c, "gates", text, size);
}

static bool run_sparse(struct kt_run *run, const struct altup_case *c)
{
    const uint32_t n_tokens = c->n_tokens > 0 ? c->n_tokens : 1, n = c->n;
    const uint32_t up_begin = (n + 15) / 16 * 16;
    const struct gi_sparsity sparsity = {n, 1.25f, GI_ACTIVATION_GELU_TANH};
    const struct gi_rows gate_up =
        kt_random_rows(run, "gate_up", n_tokens, kt_pad32(2 * up_begin), 3);
    const struct gi_rows act = kt_rows(run, "act", NULL, n_tokens, kt_pad32(n));
    run->recorder.form.group_size = c->is_stage ? kt_uniform_size(run) : 0;
    gi_op_sparse_glu(&run->recorder, "act", c->n_tokens > 0, &sparsity, &gate_up, up_begin, &act);
    return kt_finish(run, 3, n_tokens, 3ull * n_tokens * n * sizeof(float));
}

KT_TABLE(sparse_glu, "sparse_glu", gates, name_gates, run_sparse);
KT_TABLE(sparse_glu_bench, "bench_sparse_glu", gate_benches, name_gates, run_sparse);
