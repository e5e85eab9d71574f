// Checks that a shape computes what the table's does, before it is chosen: drivers have bugs in
// some shapes and not in others. The whole step, or batch, runs from the same state with either.
#include "engine/measure/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// A share of the range of the values: over what another order of sums, or products in f16, do
// through all layers of a model, well under what a wrong sum does.
#define TOLERANCE 0.02

struct output {
    float *values;
    uint32_t n;
    uint32_t token; // of a step
};

// Returns the logits of a step, or the last token's row of the residual stream of a batch.
static struct gi_range output_range(const struct gi_tune *tune, bool is_prompt)
{
    const struct glinfer_session *session = tune->session;
    const struct gi_rows *x = &session->tables.graph.x;
    struct gi_range range = session->tables.ranges[is_prompt ? GI_SESSION_X : GI_SESSION_LOGITS];
    if (is_prompt) {
        range.offset += (uint64_t)(session->tables.n_batch - 1) * x->stride * sizeof(float);
    }
    range.size = (is_prompt ? session->model->hparams.n_embd : session->model->hparams.n_vocab) *
                 sizeof(float);
    return range;
}

// Steps before the one that is looked at: a first one attends to its own key alone, whatever q and
// k are.
static uint32_t count_before(const struct gi_tune *tune)
{
    const uint32_t n_ctx = tune->session->sequence.n_ctx;
    return n_ctx > 8 ? 8 : n_ctx - 1;
}

static bool run(struct gi_tune *tune, const struct gi_tune_site *site,
                struct gi_dispatch_table *table, struct output *output)
{
    const struct gi_tune_run once = {
        .table = table,
        .n_past = site->is_prompt ? 0 : count_before(tune),
        .n_tokens = site->is_prompt ? tune->session->tables.n_batch : 1,
        .n = 1,
    };
    const struct gi_range range = output_range(tune, site->is_prompt);
    const struct gi_range state = tune->session->tables.ranges[GI_SESSION_STATE];
    double ns;
    output->n = (uint32_t)(range.size / sizeof(float));
    output->values = malloc(range.size);
    if (!output->values) {
        return gi_error_no_memory(tune->err, range.size, "results");
    }
    return gi_tune_clock_wall(&tune->clock, &once, &ns, tune->err) &&
           gi_buffer_read(range.buffer, gi_session_gpu(tune->session), range.offset, output->values,
                          range.size, tune->err) &&
           gi_buffer_read(state.buffer, gi_session_gpu(tune->session), state.offset, &output->token,
                          sizeof(output->token), tune->err);
}

static bool is_same(const struct output *a, const struct output *b)
{
    double low = INFINITY, high = -INFINITY, off = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        const double difference = fabs((double)a->values[i] - (double)b->values[i]);
        low = fmin(low, a->values[i]);
        high = fmax(high, a->values[i]);
        off = difference > off || isnan(difference) ? difference : off;
        if (isnan(off)) {
            return false;
        }
    }
    // The choice of the token stands for itself where logits agree in every bit.
    const bool is_choice_same = off > 0 || a->token == b->token;
    return is_choice_same && off <= TOLERANCE * (high - low);
}

// Runs the steps before, by the table's shapes: they leave the same cache, and the same states of
// layers without one, which each step changes.
static bool begin(struct gi_tune *tune, const struct gi_tune_site *site,
                  struct gi_dispatch_table *table)
{
    const struct gi_tune_run before = {.table = table, .n_tokens = 1, .n = count_before(tune)};
    double ns;
    return site->is_prompt || before.n == 0 ||
           gi_tune_clock_wall(&tune->clock, &before, &ns, tune->err);
}

bool gi_tune_check(struct gi_tune *tune, const struct gi_tune_site *site,
                   struct gi_dispatch_table *table, struct gi_dispatch_table *other, bool *is_good)
{
    struct output outputs[2] = {0};
    const bool ok = begin(tune, site, table) && run(tune, site, table, &outputs[0]) &&
                    begin(tune, site, table) && run(tune, site, other, &outputs[1]);
    *is_good = ok && is_same(&outputs[0], &outputs[1]);
    free(outputs[0].values);
    free(outputs[1].values);
    return ok;
}
