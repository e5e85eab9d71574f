// Attention over keys of another text, which a state of its own counts: more and fewer keys than
// the list's position, in forms of a step and of a batch.
#include "gpu/device/gpu_private.h"
#include "tests/kernel/fixture/kernel_layer.h"
#include "tests/kernel/fixture/kernel_rows.h"

#include <math.h>
#include <stdio.h>

static const struct keys_case {
    struct kt_layer_shape shape;
    uint32_t n_key, n_past; // n_past: the list's
} cases[] = {
    {{6, 6, 64, 1500, F16, F16}, 1500, 3},  {{6, 6, 64, 1500, F16, F16}, 1500, 447},
    {{6, 6, 64, 1500, F16, F16}, 150, 200}, {{6, 6, 64, 1500, F16, F16}, 8, 447},
    {{2, 2, 32, 64, F16, F16}, 64, 0},      {{2, 2, 32, 64, F16, F16}, 20, 47},
    {{4, 2, 64, 300, Q8, Q8}, 300, 20},     {{4, 2, 64, 300, F32, F32}, 77, 20},
};

static struct gi_score_rule make_rule(struct kt_run *run, const struct keys_case *c,
                                      uint32_t n_tokens)
{
    const struct gi_step_state state = {.n_past = c->n_key - n_tokens, .n_tokens = n_tokens};
    return (struct gi_score_rule){
        .scale = 1.0f / sqrtf((float)c->shape.head_dim),
        .keys = kt_range(run, "keys", &state, sizeof(state)),
    };
}

// The list is at n_past; the reference counts the keys of the other text.
static bool check(struct kt_run *run, const struct keys_case *c, uint32_t n_tokens)
{
    const struct kt_check keys = {.n_past = c->n_key - n_tokens, .n_tokens = n_tokens};
    return kt_check_states(run, &keys, 1, c->n_past, n_tokens);
}

static void print_case(const struct keys_case *c, const char *form, char *text, size_t size)
{
    const int n = kt_layer_print(&c->shape, text, size);
    snprintf(text + n, size - (size_t)n, ", %u keys at %u, %s", c->n_key, c->n_past, form);
}

//-- steps -----------------------------------------------------------------------------------------

static const char *const step_forms[] = {"plain", "heads", "uniform"};

static void name_step(size_t index, char *text, size_t size)
{
    print_case(&cases[index / COUNT(step_forms)], step_forms[index % COUNT(step_forms)], text,
               size);
}

static bool run_step(struct kt_run *run, size_t index)
{
    const struct keys_case *c = &cases[index / COUNT(step_forms)];
    const char form = step_forms[index % COUNT(step_forms)][0];
    const struct gi_device_class *class = gi_gpu_class(run->gpu);
    struct gi_device_class joint = *class;
    joint.attention = (struct gi_attention_shape){64, 4, 1, 32, false};
    run->gpu->class = form == 'h' ? &joint : class;
    run->recorder.form = form == 'u' ? (struct gi_list_form){256, 20} : (struct gi_list_form){0};
    const struct gi_kv_layer layer = kt_layer(run, &c->shape, 0);
    const struct gi_attention_scratch scratch = kt_make_scratch(run, &layer, 0);
    const struct gi_score_rule rule = make_rule(run, c, 1);
    kt_layer_write_q(run, &layer);
    gi_op_attention(&run->recorder, "attention", &layer, &rule, &scratch);
    const bool is_good = !run->has_failed && kt_seal(run) && check(run, c, 1);
    run->gpu->class = class;
    return is_good;
}

const struct kt_suite kt_attention_keys = {"attention_keys", COUNT(cases) * COUNT(step_forms),
                                           name_step, run_step};

//-- batches ---------------------------------------------------------------------------------------

static const char *const batch_forms[] = {"split", "lane", "row"}; // of GLINFER_BATCH

static void name_batch(size_t index, char *text, size_t size)
{
    print_case(&cases[index / COUNT(batch_forms)], batch_forms[index % COUNT(batch_forms)], text,
               size);
}

static bool run_batch(struct kt_run *run, size_t index)
{
    const struct keys_case *c = &cases[index / COUNT(batch_forms)];
    const uint32_t n_tokens = c->n_key < 7 ? c->n_key : 7;
    const uint32_t width = c->shape.n_head * c->shape.head_dim;
    const struct gi_kv_layer layer = kt_layer(run, &c->shape, 0);
    struct gi_score_rule rule = make_rule(run, c, n_tokens);
    const struct gi_rows q = kt_random_rows(run, "q", n_tokens, width, kt_layer_q_limit(&layer));
    const struct gi_rows out = kt_rows(run, "out", NULL, n_tokens, width);
    rule.after = c->shape.n_ctx; // all tokens see all keys
    kt_set(run, "GLINFER_BATCH", batch_forms[index % COUNT(batch_forms)]);
    gi_op_attention_batch(&run->recorder, "attention_batch", &layer, &rule, &q, &out);
    return !run->has_failed && kt_seal(run) && check(run, c, n_tokens);
}

const struct kt_suite kt_attention_batch_keys = {
    "attention_batch_keys", COUNT(cases) * COUNT(batch_forms), name_batch, run_batch};
