// Measures the shapes that the session's model can run with. Every candidate is
// recorded as the whole table that a session would have with it, so that weights, barriers and
// neighbours are those of real work; a replay then runs or times the dispatches of one site.
#include "engine/measure/tune.h"

#include "base/array.h"
#include "base/clock.h"
#include "gguf/ggml_type.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_MS = 10000,
    DEFAULT_SLOW_MS = 60000, // of what runs few steps a second
    LEAST_STEP_SAMPLES = 3,
};

//-- all sites -------------------------------------------------------------------------------------

// The weights of one site alone may stay in the cache of a large GPU, where in a whole step they
// come from memory: there it is measured in the whole, as long as that is short. Caches of small
// GPUs hold no model's layers.
static bool is_in_whole(const struct gi_tune *tune, const struct gi_tune_site *site)
{
    enum { SHORT_STEP_NS = 5000000 };
    return gi_gpu_class(gi_session_gpu(tune->session))->is_large && !site->is_prompt &&
           !tune->clock.is_waiting && tune->stats.table_step_ns < SHORT_STEP_NS;
}

static void count_dispatches(struct gi_tune *tune, const struct gi_dispatch_table *table,
                             bool is_prompt)
{
    for (uint32_t i = 0; i < gi_dispatch_table_count(table); i++) {
        const struct gi_dispatch *dispatch = gi_dispatch_table_at(table, i);
        if (dispatch->site > 0) {
            struct gi_tune_site *site = &tune->sites[dispatch->site - 1];
            if (is_prompt && site->number > 0 && !site->is_prompt) {
                continue; // experts: a prompt takes the shape of the step
            }
            site->number = dispatch->site;
            site->is_prompt = is_prompt;
            site->n_dispatches++;
        }
    }
}

// The sites of the decode step first, because an answer spends most of its time there.
static int compare_sites(const void *a, const void *b)
{
    const struct gi_tune_site *x = a, *y = b;
    if (x->is_prompt != y->is_prompt) {
        return x->is_prompt ? 1 : -1;
    }
    return (x->table_ns < y->table_ns) - (x->table_ns > y->table_ns);
}

// Sum of what sites still take of the step, or of the batch.
static double sum_sites(const struct gi_tune *tune, uint32_t first, bool is_prompt)
{
    double sum = 0;
    for (uint32_t i = first; i < tune->known.count; i++) {
        sum += tune->sites[i].is_prompt == is_prompt ? tune->sites[i].table_ns : 0;
    }
    return sum;
}

static bool has_choice(const struct gi_tune *tune, const struct gi_tune_site *site)
{
    return site->n_dispatches > 0 && gi_tune_known(tune, site)->n_candidates > 0;
}

static bool has_prompt_choice(const struct gi_tune *tune)
{
    bool has_any = false;
    for (uint32_t i = 0; i < tune->known.count; i++) {
        has_any = has_any || (tune->sites[i].is_prompt && has_choice(tune, &tune->sites[i]));
    }
    return has_any;
}

// Takes the table's time of each site, until the time is over, and puts what takes longest first.
static bool survey_sites(struct gi_tune *tune, struct gi_dispatch_table *step,
                         struct gi_dispatch_table *prompt)
{
    for (uint32_t i = 0; i < tune->known.count; i++) {
        struct gi_tune_site *site = &tune->sites[i];
        if (!has_choice(tune, site) || (tune->total > 0 && gi_clock_ns() > tune->end_ns)) {
            continue;
        }
        site->is_whole = is_in_whole(tune, site);
        if (!gi_tune_survey_site(tune, site, site->is_prompt ? prompt : step)) {
            return false;
        }
        tune->total += gi_tune_known(tune, site)->n_candidates + 1;
    }
    qsort(tune->sites, tune->known.count, sizeof(tune->sites[0]), compare_sites);
    return true;
}

// The step has three quarters of the time, the batch what is left; each site its share of that.
static uint64_t site_end(const struct gi_tune *tune, uint32_t index, uint64_t sites_end_ns,
                         uint64_t step_end_ns)
{
    const struct gi_tune_site *site = &tune->sites[index];
    const uint64_t now = gi_clock_ns(), end_ns = site->is_prompt ? sites_end_ns : step_end_ns;
    const double share = site->table_ns / sum_sites(tune, index, site->is_prompt);
    return now < end_ns ? now + (uint64_t)((double)(end_ns - now) * share) : now;
}

static bool tune_sites(struct gi_tune *tune)
{
    const uint64_t begin = gi_clock_ns();
    const double replays = 2.0 * LEAST_STEP_SAMPLES * gi_tune_step_replays(tune);
    // The time after the sites is for comparing whole steps.
    const uint64_t least_ns = (uint64_t)(replays * tune->stats.table_step_ns);
    const uint64_t end_ns = tune->end_ns > least_ns ? tune->end_ns - least_ns : 0;
    const uint64_t left = end_ns > begin ? end_ns - begin : 0;
    const bool has_prompt = sum_sites(tune, 0, true) > 0;
    const uint64_t step_end_ns = begin + (has_prompt ? left / 4 * 3 : left);
    for (uint32_t i = 0; i < tune->known.count; i++) {
        if (i > 0 && gi_clock_ns() > end_ns) {
            break;
        }
        struct gi_tune_site *site = &tune->sites[i];
        if (site->table_ns > 0 &&
            !gi_tune_site(tune, site, site_end(tune, i, end_ns, step_end_ns))) {
            return false;
        }
    }
    return true;
}

//-- the whole step --------------------------------------------------------------------------------

static bool is_changed(const struct gi_tune *tune, const struct gi_tune_site *site)
{
    return site->is_measured && strcmp(site->shape, gi_tune_known(tune, site)->shape) != 0;
}

static bool set_rows(const struct gi_tune *tune, struct gi_tuning *tuning)
{
    for (uint32_t i = 0; i < tune->known.count; i++) {
        const struct gi_tune_site *site = &tune->sites[i];
        if (site->is_measured &&
            !gi_tuning_set(tuning, &gi_tune_known(tune, site)->key, site->shape, tune->err)) {
            return false;
        }
    }
    const struct gi_tuning_key dispatch = GI_TUNING_DISPATCH, batch = GI_TUNING_BATCH;
    return (!tune->dispatch || gi_tuning_set(tuning, &dispatch, tune->dispatch, tune->err)) &&
           (!tune->batch || gi_tuning_set(tuning, &batch, tune->batch, tune->err));
}

uint32_t gi_tune_step_replays(const struct gi_tune *tune)
{
    enum { MIN_REPLAYS = 2, MAX_REPLAYS = 8 };
    const double fits = 1e8 / (tune->stats.table_step_ns + 1);
    const uint32_t n = fits > MAX_REPLAYS   ? MAX_REPLAYS
                       : fits < MIN_REPLAYS ? MIN_REPLAYS
                                            : (uint32_t)fits;
    return n < tune->session->sequence.n_ctx ? n : tune->session->sequence.n_ctx;
}

static bool compare_steps(struct gi_tune *tune, struct gi_dispatch_table *tables[2])
{
    double ns[2][GI_TUNE_STEP_SAMPLES];
    struct gi_tune_run run = {
        .runner = &tune->session->runner, .n_tokens = 1, .n = gi_tune_step_replays(tune)};
    uint32_t n = 0;
    if (!gi_tune_clock_warm(&tune->clock)) {
        return false;
    }
    // Once over the time, as few as give a median.
    for (; n < GI_TUNE_STEP_SAMPLES && (n < LEAST_STEP_SAMPLES || gi_clock_ns() < tune->end_ns);
         n++) {
        for (int i = 0; i < 2; i++) {
            run.table = tables[i];
            if (!gi_tune_clock_measure(&tune->clock, &run, &ns[i][n])) {
                return false;
            }
        }
    }
    tune->stats.table_step_ns = gi_tune_median(ns[0], n);
    tune->stats.step_ns = gi_tune_median(ns[1], n);
    return true;
}

static bool has_changed_step(const struct gi_tune *tune)
{
    bool has_changed = false;
    for (uint32_t i = 0; i < tune->known.count; i++) {
        const struct gi_tune_site *site = &tune->sites[i];
        has_changed = has_changed || (!site->is_prompt && is_changed(tune, site));
    }
    return has_changed;
}

// Puts the table's shapes of the step back.
static void take_back_step(struct gi_tune *tune)
{
    for (uint32_t i = 0; i < tune->known.count; i++) {
        struct gi_tune_site *site = &tune->sites[i];
        if (!site->is_prompt && is_changed(tune, site)) {
            memcpy(site->shape, gi_tune_known(tune, site)->shape, sizeof(site->shape));
            site->ns = site->table_ns;
        }
    }
    tune->stats.step_ns = tune->stats.table_step_ns;
}

// The sum of the parts is not the whole: what does not make the step faster is not taken.
static bool verify_step(struct gi_tune *tune, struct gi_dispatch_table *step)
{
    struct gi_dispatch_table *tables[2] = {step, NULL};
    if (!has_changed_step(tune) && gi_clock_ns() > tune->end_ns) {
        tune->stats.step_ns = tune->stats.table_step_ns;
        return true;
    }
    if (!set_rows(tune, tune->trial)) {
        return false;
    }
    tables[1] = gi_tune_record(tune, false);
    const bool ok = tables[1] && gi_program_table_build(tune->programs, NULL, NULL, tune->err) &&
                    gi_dispatch_table_seal(tables[1], tune->err) && compare_steps(tune, tables);
    gi_dispatch_table_destroy(tables[1]);
    if (ok && (!has_changed_step(tune) || tune->stats.step_ns >= tune->stats.table_step_ns)) {
        take_back_step(tune);
    }
    return ok;
}

//-- the result ------------------------------------------------------------------------------------

struct glinfer_tuned gi_tuned_describe(const struct gi_tuning_key *key, const char *shape)
{
    const struct gi_ggml_type_info *type = gi_ggml_type_find(key->type);
    return (struct glinfer_tuned){
        .kernel = key->kernel,
        .type = type ? type->name : "",
        .n_rows = key->n_rows,
        .n_cols = key->n_cols,
        .extent = key->extent,
        .shape = shape,
    };
}

static void report_site(const struct gi_tune *tune, const struct gi_tune_site *site)
{
    struct glinfer_tuned tuned = gi_tuned_describe(&gi_tune_known(tune, site)->key, site->shape);
    tuned.table_shape = gi_tune_known(tune, site)->shape;
    tuned.table_ns = site->table_ns;
    tuned.ns = site->ns;
    tuned.n_dispatches = site->n_dispatches;
    tuned.n_candidates = site->n_tried;
    if (tune->params.on_tuned) {
        tune->params.on_tuned(tune->params.user, &tuned);
    }
}

static void report_sites(struct gi_tune *tune)
{
    for (uint32_t i = 0; i < tune->known.count; i++) {
        const struct gi_tune_site *site = &tune->sites[i];
        tune->stats.n_sites += has_choice(tune, site);
        if (site->is_measured) {
            tune->stats.n_measured++;
            tune->stats.n_changed += is_changed(tune, site);
            report_site(tune, site);
        }
    }
}

// The file may hold more than the device took from it, see GLINFER_TUNING, or what was added since.
// The device takes what was measured once it is stored.
static bool keep(struct gi_tune *tune)
{
    struct glinfer_device *device = tune->session->model->device;
    struct gi_tuning *kept = gi_tuning_create(tune->err);
    const bool ok = kept && gi_tuning_file_load(&device->tuning_file, kept, tune->err) &&
                    set_rows(tune, kept) &&
                    gi_tuning_file_store(&device->tuning_file, kept, tune->err) &&
                    set_rows(tune, device->tuning);
    gi_tuning_destroy(kept);
    if (ok && tune->dispatch) {
        gi_gpu_set_indirect(gi_session_gpu(tune->session), strcmp(tune->dispatch, "indirect") == 0);
    }
    if (ok) {
        report_sites(tune);
    }
    return ok;
}

//-- the whole -------------------------------------------------------------------------------------

// A batch of made-up tokens for the prompt's table, and all keys of an encoder.
static bool write_inputs(struct gi_tune *tune)
{
    const uint32_t n = tune->session->tables.n_batch,
                   n_vocab = tune->session->model->hparams.n_vocab;
    const struct gi_range *range = &tune->session->tables.ranges[GI_SESSION_TOKENS];
    const struct glinfer_session *encoder = tune->session->encoder;
    uint32_t *tokens = gi_array_zeroed(n, sizeof(*tokens), "tokens of a batch", tune->err);
    for (uint32_t i = 0; tokens && i < n; i++) {
        tokens[i] = (i * 2654435761u >> 8) % n_vocab;
    }
    const bool ok =
        tokens &&
        gi_runner_fill(&tune->session->runner, range, tokens, n * sizeof(tokens[0]), tune->err) &&
        (!encoder || gi_session_set_keys(tune->session, encoder->sequence.n_ctx, 1, tune->err));
    free(tokens);
    return ok;
}

// Builds the step and takes what it needs to be timed.
static bool begin_step(struct gi_tune *tune, struct gi_dispatch_table *step)
{
    const struct gi_tune_run run = {
        .table = step, .runner = &tune->session->runner, .n_tokens = 1, .n = 1};
    double *step_ns = &tune->stats.table_step_ns;
    if (!gi_program_table_build(tune->programs, tune->params.progress, tune->params.user,
                                tune->err) ||
        !gi_dispatch_table_seal(step, tune->err) || !write_inputs(tune) ||
        !gi_tune_clock_init(&tune->clock, tune->session, tune->err) ||
        !gi_tune_clock_measure(&tune->clock, &run, step_ns) || // fills what is read
        !gi_tune_clock_choose(&tune->clock, &run) || !gi_tune_clock_warm(&tune->clock) ||
        !gi_tune_clock_measure(&tune->clock, &run, step_ns)) {
        return false;
    }
    tune->stats.clock = tune->clock.is_waiting ? GLINFER_PROFILE_WAIT : GLINFER_PROFILE_QUERY;
    return true;
}

static bool measure(struct gi_tune *tune, struct gi_dispatch_table *step)
{
    count_dispatches(tune, step, false);
    if (!begin_step(tune, step) || !gi_tune_dispatch(tune) || !gi_tune_batch(tune)) {
        return false;
    }
    struct gi_dispatch_table *prompt = gi_tune_record(tune, true);
    if (!prompt) {
        return false;
    }
    count_dispatches(tune, prompt, true);
    const bool is_ready =
        !has_prompt_choice(tune) || (gi_program_table_build(tune->programs, tune->params.progress,
                                                            tune->params.user, tune->err) &&
                                     gi_dispatch_table_seal(prompt, tune->err));
    const bool ok = is_ready && survey_sites(tune, step, prompt) && tune_sites(tune) &&
                    verify_step(tune, step) &&
                    gi_gpu_check(gi_session_gpu(tune->session), "tuning", tune->err);
    gi_dispatch_table_destroy(prompt);
    return ok;
}

// Makes a session record with the shapes of the trial and note its sites.
static void use_trial(struct gi_tune *tune, struct glinfer_session *session)
{
    session->tables.recorder.programs = tune->programs;
    session->tables.recorder.tuning = tune->trial;
    session->tables.recorder.sites = &tune->known;
}

static bool run_tune(struct gi_tune *tune)
{
    struct gi_gpu *gpu = gi_session_gpu(tune->session);
    const enum gi_batch_form batch_form = gi_gpu_batch_form(gpu);
    tune->recorder = tune->session->tables.recorder;
    tune->batch_recorder = tune->batches->tables.recorder;
    // Results that cannot be kept are not worth measuring.
    bool ok = gi_tuning_file_check(&tune->session->model->device->tuning_file, tune->err);
    tune->trial = ok ? gi_tuning_create(tune->err) : NULL;
    tune->programs = tune->trial ? gi_program_table_create(gpu, tune->err) : NULL;
    ok = tune->programs != NULL;
    use_trial(tune, tune->session);
    use_trial(tune, tune->batches);
    struct gi_dispatch_table *step = ok ? gi_tune_record(tune, false) : NULL;
    ok = step && measure(tune, step) && keep(tune);
    gi_dispatch_table_destroy(step);
    if (!ok) {
        gi_gpu_set_batch_form(gpu, batch_form);
    }
    tune->batches->tables.recorder = tune->batch_recorder;
    tune->session->tables.recorder = tune->recorder;
    gi_tune_clock_finish(&tune->clock);
    gi_program_table_destroy(tune->programs);
    gi_tuning_destroy(tune->trial);
    return ok;
}

bool gi_tune(struct glinfer_session *session, const struct glinfer_tune_params *params,
             struct glinfer_tune_stats *stats, struct glinfer_error *err)
{
    struct gi_tune *tune = gi_array_zeroed(1, sizeof(*tune), "tuning", err);
    if (!tune) {
        return false;
    }
    tune->session = session;
    tune->batches = session->encoder ? session->encoder : session;
    tune->err = err;
    tune->params = *params;
    if (params->max_ms == 0) {
        const struct gi_gpu *gpu = gi_session_gpu(session);
        const bool is_slow = gi_gpu_platform(gpu)->is_software || !gi_gpu_class(gpu)->is_large;
        tune->params.max_ms = is_slow ? DEFAULT_SLOW_MS : DEFAULT_MS;
    }
    tune->end_ns = gi_clock_ns() + tune->params.max_ms * UINT64_C(1000000);
    const bool ok = run_tune(tune);
    const char *path = session->model->device->tuning_file.path;
    *stats = tune->stats;
    stats->path = path ? path : "";
    free(tune);
    return ok;
}
