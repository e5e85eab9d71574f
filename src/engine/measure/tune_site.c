// One site of the tuner: its candidates in rounds.
#include "base/clock.h"
#include "engine/measure/tune.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_GAIN   0.02 // of the table's time, whatever the noise
#define MOST_REPLAYS 64   // of a sample

const struct gi_tuning_site *gi_tune_known(const struct gi_tune *tune,
                                           const struct gi_tune_site *site)
{
    return &tune->known.sites[site->number - 1];
}

static bool report(const struct gi_tune *tune)
{
    const struct glinfer_tune_params *params = &tune->params;
    return !params->progress ||
           params->progress(params->user, GLINFER_PHASE_TUNE, tune->done, tune->total) ||
           gi_error_set(tune->err, GLINFER_STATUS_CANCELLED, "tuning was cancelled");
}

//-- candidates ------------------------------------------------------------------------------------

static void drop_table(struct gi_tune_candidate *candidate)
{
    gi_dispatch_table_destroy(candidate->table);
    candidate->table = NULL;
    candidate->is_sealed = false;
}

struct gi_dispatch_table *gi_tune_record(struct gi_tune *tune, bool is_prompt)
{
    return is_prompt ? gi_tables_record(&tune->batches->tables, GI_LIST_PROMPT, tune->err)
                     : gi_tables_record(&tune->session->tables, GI_LIST_STEP + GI_STEP_END_GREEDY,
                                        tune->err);
}

// Records with the candidate's shape and, for all else, the trial's.
static bool record_candidate(struct gi_tune *tune, const struct gi_tune_site *site,
                             struct gi_tune_candidate *candidate)
{
    const struct gi_tuning_key *key = &gi_tune_known(tune, site)->key;
    if (!gi_tuning_set(tune->trial, key, candidate->shape, tune->err)) {
        return false;
    }
    candidate->table = gi_tune_record(tune, site->is_prompt);
    return gi_tuning_set(tune->trial, key, NULL, tune->err) && candidate->table;
}

// A driver may refuse a program that it has no registers for; only that candidate is out then.
static bool build_candidate(struct gi_tune *tune, const struct gi_tune_site *site,
                            struct gi_tune_candidate *candidate)
{
    struct glinfer_error own;
    if (!candidate->table && !record_candidate(tune, site, candidate)) {
        return false;
    }
    if (!gi_program_table_build(tune->programs, NULL, NULL, &own)) {
        gi_program_table_forget(tune->programs);
        drop_table(candidate);
        candidate->is_out = true;
        gi_log_write(&tune->session->model->device->log, GLINFER_LOG_INFO, "%s is out: %s",
                     candidate->shape, own.message);
        return own.status != GLINFER_STATUS_GPU_LOST || gi_error_pass(tune->err, &own);
    }
    candidate->is_sealed = gi_dispatch_table_seal(candidate->table, tune->err);
    return candidate->is_sealed;
}

// Builds all at once, where the driver compiles in threads of its own.
static bool build_together(struct gi_tune *tune, const struct gi_tune_site *site)
{
    struct glinfer_error own;
    if (!gi_gpu_limits(gi_session_gpu(tune->session))->has_parallel_compile) {
        return true;
    }
    for (uint32_t i = 0; i < site->n_candidates; i++) {
        if (!record_candidate(tune, site, &tune->candidates[i])) {
            return false;
        }
    }
    if (!gi_program_table_build(tune->programs, NULL, NULL, &own)) {
        gi_program_table_forget(tune->programs);
        for (uint32_t i = 0; i < site->n_candidates; i++) {
            drop_table(&tune->candidates[i]);
        }
    }
    return true;
}

static void fill_candidates(struct gi_tune *tune, struct gi_tune_site *site)
{
    const struct gi_tuning_site *known = gi_tune_known(tune, site);
    site->n_candidates = known->n_candidates + 1;
    memset(tune->candidates, 0, site->n_candidates * sizeof(tune->candidates[0]));
    memcpy(tune->candidates[0].shape, known->shape, sizeof(known->shape));
    for (uint32_t i = 0; i < known->n_candidates; i++) {
        memcpy(tune->candidates[i + 1].shape, known->candidates[i], sizeof(known->shape));
    }
}

//-- samples ---------------------------------------------------------------------------------------

static int compare_times(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double gi_tune_median(const double *values, uint32_t n)
{
    double sorted[GI_TUNE_STEP_SAMPLES];
    assert(n > 0 && n <= GI_TUNE_STEP_SAMPLES);
    memcpy(sorted, values, n * sizeof(sorted[0]));
    qsort(sorted, n, sizeof(sorted[0]), compare_times);
    return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

// Returns true if the candidate is faster than the table's shape beyond the noise. Samples of a
// round are compared with each other alone, because what disturbs the device comes and goes: it has
// to win nearly all rounds.
static bool is_faster(const struct gi_tune_candidate *table,
                      const struct gi_tune_candidate *candidate)
{
    double ratios[GI_TUNE_SAMPLES];
    uint32_t n_won = 0;
    const uint32_t n = candidate->n < table->n ? candidate->n : table->n;
    for (uint32_t i = 0; i < n; i++) {
        ratios[i] = candidate->ns[i] / table->ns[i];
        n_won += ratios[i] < 1;
    }
    return n >= 3 && n_won + n / 8 >= n && gi_tune_median(ratios, n) < 1 - LEAST_GAIN;
}

// Returns the session whose lists have the site.
static struct glinfer_session *session_of(const struct gi_tune *tune,
                                          const struct gi_tune_site *site)
{
    return site->is_prompt ? tune->batches : tune->session;
}

static struct gi_tune_run make_run(const struct gi_tune *tune, const struct gi_tune_site *site,
                                   struct gi_dispatch_table *table)
{
    return (struct gi_tune_run){
        .table = table,
        .runner = &session_of(tune, site)->runner,
        .site = site->is_whole ? 0 : site->number,
        .n_tokens = site->is_prompt ? tune->batches->tables.n_batch : 1,
        .n = site->n,
    };
}

// Time of the site in a replay of the table.
static bool measure_site(struct gi_tune *tune, const struct gi_tune_site *site,
                         struct gi_dispatch_table *table, double *ns)
{
    const struct gi_tune_run run = make_run(tune, site, table);
    if (!gi_tune_clock_measure(&tune->clock, &run, ns)) {
        return false;
    }
    *ns = site->is_whole ? fmax(*ns - site->without_ns, 1) : *ns;
    return true;
}

static bool measure_without(struct gi_tune *tune, struct gi_tune_site *site,
                            struct gi_dispatch_table *table)
{
    struct gi_tune_run run = make_run(tune, site, table);
    run.skipped_site = site->number;
    return !site->is_whole || gi_tune_clock_measure(&tune->clock, &run, &site->without_ns);
}

static bool sample(struct gi_tune *tune, const struct gi_tune_site *site,
                   struct gi_tune_candidate *candidate)
{
    return measure_site(tune, site, candidate->table, &candidate->ns[candidate->n++]);
}

// Chooses as many replays as keep the sample clear of the clock's grain.
bool gi_tune_survey_site(struct gi_tune *tune, struct gi_tune_site *site,
                         struct gi_dispatch_table *table)
{
    const double least_ns = tune->clock.is_waiting ? 10e6 : site->is_whole ? 5e6 : 2e6;
    const uint32_t n_ctx = tune->session->sequence.n_ctx;
    const uint32_t most = !site->is_prompt && n_ctx < MOST_REPLAYS ? n_ctx : MOST_REPLAYS;
    site->n = 1;
    for (int i = 0; i < 2; i++) { // the first one may compile, or wake what slept
        const struct gi_tune_run run = make_run(tune, site, table);
        double ns;
        if (!gi_tune_clock_measure(&tune->clock, &run, &ns)) {
            return false;
        }
        const double n = ceil(least_ns / (ns + 1));
        site->n = n > most ? most : (uint32_t)n;
    }
    return measure_without(tune, site, table) && measure_site(tune, site, table, &site->table_ns);
}

//-- results ---------------------------------------------------------------------------------------

// Checks that a shape computes the same as the table's, before it is chosen: drivers have bugs in
// some shapes and not in others. The whole step, or batch, runs from the same state with either.

// A share of the range of the values: over what another order of sums, or products in f16, do
// through all layers of a model, well under what a wrong sum does.
#define TOLERANCE 0.02

struct output {
    float *values;
    uint32_t n;
    uint32_t token; // of a step
};

// Returns the logits of a step, or the last token's row of the residual stream of a batch.
static struct gi_range output_range(const struct gi_tune *tune, const struct gi_tune_site *site)
{
    const struct glinfer_session *session = tune->session;
    const struct gi_rows *x = &session->tables.graph.x;
    struct gi_range range =
        session->tables.ranges[site->is_prompt ? GI_SESSION_X : GI_SESSION_LOGITS];
    if (site->is_prompt) {
        range.offset += (uint64_t)(session->tables.n_batch - 1) * x->stride * sizeof(float);
    }
    range.size =
        (site->is_prompt ? session->model->hparams.n_embd : session->model->hparams.n_vocab) *
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

static bool run_checked(struct gi_tune *tune, const struct gi_tune_site *site,
                        struct gi_dispatch_table *table, struct output *output)
{
    const struct gi_tune_run once = {
        .table = table,
        .runner = &session_of(tune, site)->runner,
        .n_past = site->is_prompt ? 0 : count_before(tune),
        .n_tokens = site->is_prompt ? tune->batches->tables.n_batch : 1,
        .n = 1,
    };
    const struct gi_range range = output_range(tune, site);
    const struct gi_range state = tune->session->tables.ranges[GI_SESSION_STATE];
    double ns;
    output->n = (uint32_t)(range.size / sizeof(float));
    output->values = malloc(range.size);
    if (!output->values) {
        return gi_error_no_memory(tune->err, range.size, "results");
    }
    return gi_tune_clock_wall(&tune->clock, &once, &ns) &&
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
static bool begin_check(struct gi_tune *tune, const struct gi_tune_site *site,
                        struct gi_dispatch_table *table)
{
    const struct gi_tune_run before = {
        .table = table, .runner = &tune->session->runner, .n_tokens = 1, .n = count_before(tune)};
    double ns;
    return site->is_prompt || before.n == 0 || gi_tune_clock_wall(&tune->clock, &before, &ns);
}

static bool check_shape(struct gi_tune *tune, const struct gi_tune_site *site,
                        struct gi_dispatch_table *table, struct gi_dispatch_table *other,
                        bool *is_good)
{
    struct output outputs[2] = {0};
    const bool ok = begin_check(tune, site, table) && run_checked(tune, site, table, &outputs[0]) &&
                    begin_check(tune, site, table) && run_checked(tune, site, other, &outputs[1]);
    *is_good = ok && is_same(&outputs[0], &outputs[1]);
    free(outputs[0].values);
    free(outputs[1].values);
    return ok;
}

//-- a site ----------------------------------------------------------------------------------------

// The first sample of each candidate: builds it and runs it once before.
static bool begin_candidate(struct gi_tune *tune, const struct gi_tune_site *site,
                            struct gi_tune_candidate *candidate)
{
    if (!build_candidate(tune, site, candidate) || candidate->is_out) {
        return candidate->is_out;
    }
    if (!sample(tune, site, candidate)) {
        return false;
    }
    candidate->n = 0;
    return sample(tune, site, candidate);
}

static double best_time(const struct gi_tune *tune, const struct gi_tune_site *site)
{
    double best = INFINITY;
    for (uint32_t i = 0; i < site->n_candidates; i++) {
        const struct gi_tune_candidate *candidate = &tune->candidates[i];
        if (!candidate->is_out && candidate->n > 0) {
            best = fmin(best, gi_tune_median(candidate->ns, candidate->n));
        }
    }
    return best;
}

// Leaves the table's choice in, and what is within `most` times the best.
static uint32_t drop_slow(struct gi_tune *tune, const struct gi_tune_site *site, double most)
{
    const double best = best_time(tune, site);
    uint32_t n_left = 0;
    for (uint32_t i = 0; i < site->n_candidates; i++) {
        struct gi_tune_candidate *candidate = &tune->candidates[i];
        if (i > 0 && !candidate->is_out &&
            (candidate->n == 0 || gi_tune_median(candidate->ns, candidate->n) > most * best)) {
            candidate->is_out = true;
            drop_table(candidate);
        }
        n_left += !candidate->is_out;
    }
    return n_left;
}

// A round is a sample of each that is left, so that what disturbs the device disturbs all of them.
static bool run_rounds(struct gi_tune *tune, struct gi_tune_site *site, uint64_t end_ns)
{
    static const double most[GI_TUNE_SAMPLES] = {1.5,  1.25, 1.15, 1.1, 1.08,
                                                 1.06, 1.05, 1.04, 1.03};
    for (uint32_t round = 0; round < GI_TUNE_SAMPLES; round++) {
        if (!gi_tune_clock_warm(&tune->clock)) {
            return false;
        }
        if (round > 0 && !measure_without(tune, site, tune->candidates[0].table)) {
            return false;
        }
        for (uint32_t i = 0; i < site->n_candidates; i++) {
            struct gi_tune_candidate *candidate = &tune->candidates[i];
            const bool is_late = gi_clock_ns() > end_ns && i > 1; // one is always tried
            if (candidate->is_out || (round == 0 && is_late)) {
                continue;
            }
            if (round == 0 ? !begin_candidate(tune, site, candidate)
                           : !sample(tune, site, candidate)) {
                return false;
            }
            site->n_tried += round == 0 && !candidate->is_out;
            tune->done += round == 0;
            if (!report(tune)) {
                return false;
            }
        }
        if (drop_slow(tune, site, most[round]) == 1 || (round >= 2 && gi_clock_ns() > end_ns)) {
            break;
        }
    }
    return true;
}

// The fastest that is left; the table's own where nothing is faster beyond the noise.
static struct gi_tune_candidate *find_best(struct gi_tune *tune, const struct gi_tune_site *site)
{
    struct gi_tune_candidate *table = &tune->candidates[0], *best = table;
    for (uint32_t i = 1; i < site->n_candidates; i++) {
        struct gi_tune_candidate *candidate = &tune->candidates[i];
        if (!candidate->is_out && candidate->n > 0 &&
            gi_tune_median(candidate->ns, candidate->n) < gi_tune_median(best->ns, best->n)) {
            best = candidate;
        }
    }
    return is_faster(table, best) ? best : table;
}

// Leaves out shapes that compute something else than the table's.
static bool choose_best(struct gi_tune *tune, struct gi_tune_site *site)
{
    struct gi_tune_candidate *table = &tune->candidates[0], *best;
    bool is_good = false;
    while ((best = find_best(tune, site)) != table && !is_good) {
        if (!check_shape(tune, site, table->table, best->table, &is_good)) {
            return false;
        }
        if (!is_good) {
            best->is_out = true;
            gi_log_write(
                &tune->session->model->device->log, GLINFER_LOG_WARN,
                "%s with %s computes something else than with %s on this driver: not taken",
                gi_tune_known(tune, site)->key.kernel, best->shape, table->shape);
        }
    }
    site->table_ns = gi_tune_median(table->ns, table->n);
    site->ns = gi_tune_median(best->ns, best->n);
    memcpy(site->shape, best->shape, sizeof(site->shape));
    site->is_measured = site->n_tried > 1;
    return true;
}

bool gi_tune_site(struct gi_tune *tune, struct gi_tune_site *site, uint64_t end_ns)
{
    fill_candidates(tune, site);
    const bool ok =
        build_together(tune, site) && run_rounds(tune, site, end_ns) && choose_best(tune, site);
    for (uint32_t i = 0; i < site->n_candidates; i++) {
        drop_table(&tune->candidates[i]);
    }
    return ok;
}
