// Inputs of layers: what the residual adds to the embeddings, and what a layer makes of its own.
#include "ops/embed/inputs.h"
#include "tests/kernel/fixture/kernel_rows.h"

#include <stdio.h>

static const struct input_case {
    uint32_t width, n_layer, n_tokens;
    bool is_stage; // of a list whose groups are all alike
} cases[] = {
    {4, 3, 1, false},
    {36, 5, 7, false},
    {256, 2, 33, false},
    {300, 3, 1, true},
};

static const struct input_case benches[] = {
    {256, 35, 1, false},
    {256, 35, 512, false},
};

static void write_name(const struct input_case *c, char *text, size_t size)
{
    snprintf(text, size, "%u layers of %u, %u tokens%s", c->n_layer, c->width, c->n_tokens,
             c->is_stage ? ", as a stage" : "");
}

// Two matrices of random rows, the second with more padding.
struct input_run {
    struct gi_rows a, b;
    struct gi_vectors vectors;
};

static void init(struct input_run *s, struct kt_run *run, const struct input_case *c)
{
    const uint32_t stride = kt_pad32(c->width * c->n_layer);
    s->a = kt_random_rows(run, "a", c->n_tokens, stride, 2);
    s->b = kt_random_rows(run, "b", c->n_tokens, stride + 32, 3);
    s->vectors = kt_random_vectors(run, 32 + (size_t)c->width);
    run->recorder.form.group_size = c->is_stage ? kt_uniform_size(run) : 0;
}

//-- add_inputs ------------------------------------------------------------------------------------

static bool run_add(struct kt_run *run, const struct input_case *c)
{
    const struct gi_input_norm norm = {
        .width = c->width, .n = c->n_layer, .gamma = 32, .eps = 1e-3f};
    const uint64_t n = (uint64_t)c->n_tokens * c->width * c->n_layer;
    struct input_run s;
    init(&s, run, c);
    gi_op_add_inputs(&run->recorder, "inputs", &norm, &s.b, &s.vectors, &s.a);
    return kt_finish(run, 3, c->n_tokens, 3 * n * sizeof(float));
}

KT_TABLE(add_inputs, "add_inputs", cases, write_name, run_add);
KT_TABLE(add_inputs_bench, "bench_add_inputs", benches, write_name, run_add);

//-- gate_input ------------------------------------------------------------------------------------

// The input is the last layer's; its gate is a row's first columns.
static bool run_gate(struct kt_run *run, const struct input_case *c)
{
    const uint32_t width = c->width, begin = width * (c->n_layer - 1);
    struct input_run s;
    init(&s, run, c);
    const struct gi_rows act = kt_rows(run, "act", NULL, c->n_tokens, kt_pad32(width));
    gi_op_gate_input(&run->recorder, "act", &s.b, &s.a, begin, width, GI_ACTIVATION_GELU_TANH,
                     &act);
    return kt_finish(run, 3, c->n_tokens, 3ull * c->n_tokens * width * sizeof(float));
}

KT_TABLE(gate_input, "gate_input", cases, write_name, run_gate);
KT_TABLE(gate_input_bench, "bench_gate_input", benches, write_name, run_gate);
