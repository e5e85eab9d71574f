// glinfer_tune: measures the shapes that the session's model can run with. Every candidate is recorded as the
// whole table that a session would have with it, so that weights, barriers and neighbours are those of real
// work; a replay then runs or times the dispatches of one site.
#include "base/clock.h"
#include "engine/tune_clock.h"
#include "gguf/ggml_type.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_SAMPLES = 9, // of a candidate
    STEP_SAMPLES = 15,
    MOST_REPLAYS = 64, // of a sample
    DEFAULT_MS = 10000,
    DEFAULT_SOFTWARE_MS = 60000,
};

#define LEAST_GAIN 0.02 // of the table's time, whatever the noise

// A shape of a site, and what it took.
struct candidate {
    char shape[GI_TUNING_SHAPE_SIZE];
    struct gi_dispatch_table *table; // NULL: not recorded yet, or it cannot be
    bool is_sealed, is_out;
    uint32_t n;
    double ns[MOST_SAMPLES]; // of a replay
};

// A place where a shape is chosen, in the decode step or in a prompt's batch.
struct site {
    uint32_t number; // counted from 1
    bool is_prompt;
    bool is_whole;    // timed where it stands: alone its weights would come from a cache
    bool is_measured; // against another shape at least
    uint32_t n_dispatches;
    uint64_t weight_bytes;
    uint32_t n; // replays of a sample
    uint32_t n_candidates, n_tried;
    double table_ns, ns;
    char shape[GI_TUNING_SHAPE_SIZE]; // the best
};

struct tune {
    struct glinfer_session *session;
    struct glinfer_tune_params params;
    struct glinfer_tune_stats stats;
    struct glinfer_error *err;
    struct gi_recorder recorder; // the session's own, put back at the end
    struct gi_program_table *programs;
    struct gi_tuning *trial; // what recordings take
    struct gi_tuning_sites *known;
    struct gi_tune_clock clock;
    struct site sites[GI_MAX_TUNING_SITES];
    struct candidate *candidates; // of one site: GI_MAX_CANDIDATES + 1
    uint64_t end_ns;              // when the time is over
    uint64_t done, total;         // of the progress
};

static struct gi_gpu *gpu_of(const struct tune *tune)
{
    return tune->session->model->device->gpu;
}

static const struct gi_tuning_site *known_of(const struct tune *tune, const struct site *site)
{
    return &tune->known->sites[site->number - 1];
}

static bool report(const struct tune *tune)
{
    const struct glinfer_tune_params *params = &tune->params;
    return !params->progress ||
           params->progress(params->user, GLINFER_PHASE_TUNE, tune->done, tune->total) ||
           gi_error_set(tune->err, GLINFER_STATUS_CANCELLED, "tuning was cancelled");
}

//-- candidates ------------------------------------------------------------------------------------

static void drop_table(struct candidate *candidate)
{
    gi_dispatch_table_destroy(candidate->table);
    candidate->table = NULL;
    candidate->is_sealed = false;
}

static struct gi_dispatch_table *record(struct tune *tune, bool is_prompt)
{
    return is_prompt ? gi_session_record_prompt(tune->session, tune->err)
                     : gi_session_record_step(tune->session, GI_STEP_END_ARGMAX, tune->err);
}

// Records with the candidate's shape and, for all else, the trial's.
static bool record_candidate(struct tune *tune, const struct site *site,
                             struct candidate *candidate)
{
    const struct gi_tuning_key *key = &known_of(tune, site)->key;
    if (!gi_tuning_set(tune->trial, key, candidate->shape, tune->err)) {
        return false;
    }
    candidate->table = record(tune, site->is_prompt);
    return gi_tuning_set(tune->trial, key, NULL, tune->err) && candidate->table;
}

// A driver may refuse a program that it has no registers for; that candidate is out, and nothing else.
static bool build_candidate(struct tune *tune, const struct site *site, struct candidate *candidate)
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
        return own.status != GLINFER_STATUS_GPU_LOST ||
               gi_error_set(tune->err, own.status, "%s", own.message);
    }
    candidate->is_sealed = gi_dispatch_table_seal(candidate->table, tune->err);
    return candidate->is_sealed;
}

// Where the driver compiles in threads of its own, all at once.
static bool build_together(struct tune *tune, const struct site *site)
{
    struct glinfer_error own;
    if (!gi_gpu_limits(gpu_of(tune))->has_parallel_compile) {
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

static void fill_candidates(struct tune *tune, struct site *site)
{
    const struct gi_tuning_site *known = known_of(tune, site);
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

static double median(const double *values, uint32_t n)
{
    double sorted[STEP_SAMPLES];
    assert(n > 0 && n <= STEP_SAMPLES);
    memcpy(sorted, values, n * sizeof(sorted[0]));
    qsort(sorted, n, sizeof(sorted[0]), compare_times);
    return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

// Whether the candidate is faster than the table's shape beyond the noise. Samples of a round are compared
// with each other alone, because what disturbs the device comes and goes: it has to win nearly all rounds.
static bool is_faster(const struct candidate *table, const struct candidate *candidate)
{
    double ratios[MOST_SAMPLES];
    uint32_t n_won = 0;
    const uint32_t n = candidate->n < table->n ? candidate->n : table->n;
    for (uint32_t i = 0; i < n; i++) {
        ratios[i] = candidate->ns[i] / table->ns[i];
        n_won += ratios[i] < 1;
    }
    return n >= 3 && n_won + n / 8 >= n && median(ratios, n) < 1 - LEAST_GAIN;
}

static struct gi_tune_run make_run(const struct tune *tune, const struct site *site,
                                   struct gi_dispatch_table *table)
{
    const struct glinfer_session *session = tune->session;
    return (struct gi_tune_run){
        .table = table,
        .site = site->number,
        .is_whole = site->is_whole,
        .n_dispatches = site->n_dispatches,
        .n_tokens = site->is_prompt ? session->n_batch : 1,
        .n = site->n,
    };
}

static bool sample(struct tune *tune, const struct site *site, struct candidate *candidate)
{
    const struct gi_tune_run run = make_run(tune, site, candidate->table);
    return gi_tune_clock_measure(&tune->clock, &run, &candidate->ns[candidate->n++], tune->err);
}

// As many replays as keep the sample clear of the clock's grain.
static bool choose_replays(struct tune *tune, struct site *site, struct gi_dispatch_table *table)
{
    const double least_ns = tune->clock.is_waiting ? 10e6 : 2e6;
    uint32_t most = site->is_whole ? tune->clock.capacity / site->n_dispatches : MOST_REPLAYS;
    site->n = 1;
    struct gi_tune_run run = make_run(tune, site, table);
    for (int i = 0; i < 2; i++) { // the first one may compile, or wake what slept
        if (!gi_tune_clock_measure(&tune->clock, &run, &site->table_ns, tune->err)) {
            return false;
        }
    }
    most = most < MOST_REPLAYS ? most : MOST_REPLAYS;
    most = !site->is_prompt && most > tune->session->n_ctx ? tune->session->n_ctx : most;
    const double n = ceil(least_ns / (site->table_ns + 1));
    site->n = n < 1 ? 1 : n > most ? most : (uint32_t)n;
    site->n = site->n > 0 ? site->n : 1;
    return true;
}

//-- a site ----------------------------------------------------------------------------------------

// The first sample of each candidate: builds it and runs it once before.
static bool begin_candidate(struct tune *tune, const struct site *site, struct candidate *candidate)
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

static double best_time(const struct tune *tune, const struct site *site)
{
    double best = INFINITY;
    for (uint32_t i = 0; i < site->n_candidates; i++) {
        const struct candidate *candidate = &tune->candidates[i];
        if (!candidate->is_out && candidate->n > 0) {
            best = fmin(best, median(candidate->ns, candidate->n));
        }
    }
    return best;
}

// Leaves the table's choice in, and what is within `most` times the best.
static uint32_t drop_slow(struct tune *tune, const struct site *site, double most)
{
    const double best = best_time(tune, site);
    uint32_t n_left = 0;
    for (uint32_t i = 0; i < site->n_candidates; i++) {
        struct candidate *candidate = &tune->candidates[i];
        if (i > 0 && !candidate->is_out &&
            (candidate->n == 0 || median(candidate->ns, candidate->n) > most * best)) {
            candidate->is_out = true;
            drop_table(candidate);
        }
        n_left += !candidate->is_out;
    }
    return n_left;
}

// A round is a sample of each that is left, so that what disturbs the device disturbs all of them.
static bool run_rounds(struct tune *tune, struct site *site, uint64_t end_ns)
{
    static const double most[MOST_SAMPLES] = {1.5, 1.25, 1.15, 1.1, 1.08, 1.06, 1.05, 1.04, 1.03};
    for (uint32_t round = 0; round < MOST_SAMPLES; round++) {
        if (!gi_tune_clock_warm(&tune->clock, tune->err)) {
            return false;
        }
        for (uint32_t i = 0; i < site->n_candidates; i++) {
            struct candidate *candidate = &tune->candidates[i];
            const bool is_late = gi_clock_ns() > end_ns && i > 0;
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

static void choose_best(const struct tune *tune, struct site *site)
{
    const struct candidate *table = &tune->candidates[0], *best = table;
    for (uint32_t i = 1; i < site->n_candidates; i++) {
        const struct candidate *candidate = &tune->candidates[i];
        if (!candidate->is_out && candidate->n > 0 &&
            median(candidate->ns, candidate->n) < median(best->ns, best->n)) {
            best = candidate;
        }
    }
    site->table_ns = median(table->ns, table->n);
    site->ns = median(best->ns, best->n);
    if (best == table || !is_faster(table, best)) {
        best = table;
        site->ns = site->table_ns;
    }
    memcpy(site->shape, best->shape, sizeof(site->shape));
    site->is_measured = site->n_tried > 1;
}

static bool tune_site(struct tune *tune, struct site *site, uint64_t end_ns)
{
    fill_candidates(tune, site);
    bool ok = build_together(tune, site) && run_rounds(tune, site, end_ns);
    if (ok) {
        choose_best(tune, site);
    }
    for (uint32_t i = 0; i < site->n_candidates; i++) {
        drop_table(&tune->candidates[i]);
    }
    return ok;
}

//-- all sites -------------------------------------------------------------------------------------

// The weights of one site alone may stay in the cache of a large GPU, where in a whole step they come from
// memory. Caches of small ones hold no model's layers.
static bool is_cached_alone(const struct tune *tune, const struct site *site)
{
    enum { LARGE_CACHE = 192 << 20 };
    return gi_gpu_class(gpu_of(tune)) == GI_GPU_CLASS_SPLIT && !site->is_prompt &&
           !tune->clock.is_waiting && site->weight_bytes < LARGE_CACHE;
}

static void count_dispatches(struct tune *tune, const struct gi_dispatch_table *table,
                             bool is_prompt)
{
    for (uint32_t i = 0; i < gi_dispatch_table_count(table); i++) {
        const struct gi_dispatch *dispatch = gi_dispatch_table_at(table, i);
        if (dispatch->site > 0) {
            struct site *site = &tune->sites[dispatch->site - 1];
            if (is_prompt && site->number > 0 && !site->is_prompt) {
                continue; // experts: a prompt takes the shape of the step
            }
            site->number = dispatch->site;
            site->is_prompt = is_prompt;
            site->n_dispatches++;
            site->weight_bytes += dispatch->weight_bytes;
        }
    }
}

static int compare_sites(const void *a, const void *b)
{
    const struct site *x = a, *y = b;
    return (x->table_ns < y->table_ns) - (x->table_ns > y->table_ns);
}

// Takes the table's time of each site, and puts what takes longest first.
static bool survey_sites(struct tune *tune, struct gi_dispatch_table *step,
                         struct gi_dispatch_table *prompt)
{
    for (uint32_t i = 0; i < tune->known->count; i++) {
        struct site *site = &tune->sites[i];
        if (site->n_dispatches == 0 || site->n_dispatches > tune->clock.capacity) {
            continue; // it can stand in neither table as it is
        }
        site->is_whole = is_cached_alone(tune, site);
        if (!choose_replays(tune, site, site->is_prompt ? prompt : step)) {
            return false;
        }
        tune->total += known_of(tune, site)->n_candidates + 1;
    }
    qsort(tune->sites, tune->known->count, sizeof(tune->sites[0]), compare_sites);
    return true;
}

// Gives each site its share of what is left of the time.
static bool tune_sites(struct tune *tune)
{
    double left = 0;
    for (uint32_t i = 0; i < tune->known->count; i++) {
        left += tune->sites[i].table_ns;
    }
    for (uint32_t i = 0; i < tune->known->count; i++) {
        struct site *site = &tune->sites[i];
        const uint64_t now = gi_clock_ns();
        if (site->table_ns <= 0 || now > tune->end_ns) {
            continue;
        }
        const double share = (double)(tune->end_ns - now) * site->table_ns / left;
        left -= site->table_ns;
        if (known_of(tune, site)->n_candidates == 0) {
            continue;
        }
        if (!tune_site(tune, site, now + (uint64_t)share)) {
            return false;
        }
    }
    return true;
}

//-- the whole step --------------------------------------------------------------------------------

static bool is_changed(const struct tune *tune, const struct site *site)
{
    return site->is_measured && strcmp(site->shape, known_of(tune, site)->shape) != 0;
}

static bool set_rows(const struct tune *tune, struct gi_tuning *tuning)
{
    for (uint32_t i = 0; i < tune->known->count; i++) {
        const struct site *site = &tune->sites[i];
        if (site->is_measured &&
            !gi_tuning_set(tuning, &known_of(tune, site)->key, site->shape, tune->err)) {
            return false;
        }
    }
    return true;
}

static bool compare_steps(struct tune *tune, struct gi_dispatch_table *tables[2])
{
    double ns[2][STEP_SAMPLES];
    struct gi_tune_run run = {.n_tokens = 1, .n = 4};
    run.n = run.n < tune->session->n_ctx ? run.n : tune->session->n_ctx;
    uint32_t n = 0;
    if (!gi_tune_clock_warm(&tune->clock, tune->err)) {
        return false;
    }
    // Once over the time, as few as give a median.
    for (; n < STEP_SAMPLES && (n < 3 || gi_clock_ns() < tune->end_ns); n++) {
        for (int i = 0; i < 2; i++) {
            run.table = tables[i];
            if (!gi_tune_clock_measure(&tune->clock, &run, &ns[i][n], tune->err)) {
                return false;
            }
        }
    }
    tune->stats.table_step_ns = median(ns[0], n);
    tune->stats.step_ns = median(ns[1], n);
    return true;
}

// The sum of the parts is not the whole: what does not make the step faster is not taken.
static bool verify_step(struct tune *tune, struct gi_dispatch_table *step)
{
    bool has_changed = false;
    for (uint32_t i = 0; i < tune->known->count; i++) {
        has_changed =
            has_changed || (is_changed(tune, &tune->sites[i]) && !tune->sites[i].is_prompt);
    }
    if (!set_rows(tune, tune->trial)) {
        return false;
    }
    if (!has_changed) {
        struct gi_dispatch_table *same[2] = {step, step};
        const bool is_timed = compare_steps(tune, same);
        tune->stats.step_ns = tune->stats.table_step_ns;
        return is_timed;
    }
    struct gi_dispatch_table *tables[2] = {step, record(tune, false)};
    const bool ok = tables[1] && gi_program_table_build(tune->programs, NULL, NULL, tune->err) &&
                    gi_dispatch_table_seal(tables[1], tune->err) && compare_steps(tune, tables);
    gi_dispatch_table_destroy(tables[1]);
    if (ok && has_changed && tune->stats.step_ns >= tune->stats.table_step_ns) {
        for (uint32_t i = 0; i < tune->known->count; i++) {
            struct site *site = &tune->sites[i];
            if (is_changed(tune, site) && !site->is_prompt) {
                memcpy(site->shape, known_of(tune, site)->shape, sizeof(site->shape));
                site->ns = site->table_ns;
            }
        }
        tune->stats.step_ns = tune->stats.table_step_ns;
    }
    return ok;
}

//-- the result ------------------------------------------------------------------------------------

static void fill_tuned(struct glinfer_tuned *tuned, const struct gi_tuning_key *key,
                       const char *shape)
{
    const struct gi_ggml_type_facts *type = gi_ggml_type_find(key->type);
    *tuned = (struct glinfer_tuned){
        .kernel = key->kernel,
        .type = type ? type->name : "",
        .n_rows = key->n_rows,
        .n_cols = key->n_cols,
        .extent = key->extent,
        .shape = shape,
    };
}

static void report_site(const struct tune *tune, const struct site *site)
{
    struct glinfer_tuned tuned;
    fill_tuned(&tuned, &known_of(tune, site)->key, site->shape);
    tuned.table_shape = known_of(tune, site)->shape;
    tuned.table_ns = site->table_ns;
    tuned.ns = site->ns;
    tuned.n_dispatches = site->n_dispatches;
    tuned.n_candidates = site->n_tried;
    if (tune->params.on_tuned) {
        tune->params.on_tuned(tune->params.user, &tuned);
    }
}

static void report_sites(struct tune *tune)
{
    for (uint32_t i = 0; i < tune->known->count; i++) {
        const struct site *site = &tune->sites[i];
        tune->stats.n_sites += site->n_dispatches > 0 && known_of(tune, site)->n_candidates > 0;
        if (site->is_measured) {
            tune->stats.n_measured++;
            tune->stats.n_changed += is_changed(tune, site);
            report_site(tune, site);
        }
    }
}

// The file may hold more than the device took from it, see GLINFER_TUNING, or what was added since.
static bool keep(struct tune *tune)
{
    struct glinfer_device *device = tune->session->model->device;
    struct gi_tuning *kept = gi_tuning_create(tune->err);
    const bool is_set = kept && gi_tuning_file_load(&device->tuning_file, kept, tune->err) &&
                        set_rows(tune, kept) && set_rows(tune, device->tuning);
    if (is_set) {
        report_sites(tune);
    }
    const bool ok = is_set && gi_tuning_file_store(&device->tuning_file, kept, tune->err);
    gi_tuning_destroy(kept);
    return ok;
}

//-- the whole -------------------------------------------------------------------------------------

static bool allocate(struct tune *tune)
{
    const size_t size = (GI_MAX_CANDIDATES + 1) * sizeof(tune->candidates[0]);
    tune->known = calloc(1, sizeof(*tune->known));
    tune->candidates = calloc(GI_MAX_CANDIDATES + 1, sizeof(tune->candidates[0]));
    tune->trial = gi_tuning_create(tune->err);
    tune->programs = gi_program_table_create(gpu_of(tune), tune->err);
    return tune->trial && tune->programs &&
           ((tune->known && tune->candidates) ||
            gi_error_no_memory(tune->err, size, "the candidates"));
}

static void release(struct tune *tune)
{
    tune->session->recorder = tune->recorder;
    gi_tune_clock_finish(&tune->clock);
    gi_program_table_destroy(tune->programs);
    gi_tuning_destroy(tune->trial);
    free(tune->candidates);
    free(tune->known);
}

static bool measure(struct tune *tune, struct gi_dispatch_table *step,
                    struct gi_dispatch_table *prompt)
{
    const struct gi_tune_run run = {.table = step, .n_tokens = 1, .n = 1};
    double ns;
    if (!gi_program_table_build(tune->programs, tune->params.progress, tune->params.user,
                                tune->err) ||
        !gi_dispatch_table_seal(step, tune->err) || !gi_dispatch_table_seal(prompt, tune->err) ||
        !gi_tune_clock_init(&tune->clock, tune->session, tune->err) ||
        !gi_tune_clock_measure(&tune->clock, &run, &ns, tune->err) || // fills what kernels read
        !gi_tune_clock_choose(&tune->clock, &run, tune->err) ||
        !gi_tune_clock_warm(&tune->clock, tune->err)) {
        return false;
    }
    tune->stats.clock = tune->clock.is_waiting ? GLINFER_PROFILE_WAIT : GLINFER_PROFILE_QUERY;
    return survey_sites(tune, step, prompt) && tune_sites(tune) && verify_step(tune, step) &&
           gi_gpu_check(gpu_of(tune), "tuning", tune->err);
}

static bool run_tune(struct tune *tune)
{
    struct gi_dispatch_table *step = NULL, *prompt = NULL;
    tune->recorder = tune->session->recorder;
    bool ok = allocate(tune);
    tune->session->recorder.programs = tune->programs;
    tune->session->recorder.tuning = tune->trial;
    tune->session->recorder.sites = tune->known;
    step = ok ? record(tune, false) : NULL;
    if (step) {
        count_dispatches(tune, step, false);
    }
    prompt = step ? record(tune, true) : NULL;
    if (prompt) {
        count_dispatches(tune, prompt, true);
    }
    ok = prompt && measure(tune, step, prompt) && keep(tune);
    gi_dispatch_table_destroy(step);
    gi_dispatch_table_destroy(prompt);
    release(tune);
    return ok;
}

static void take_params(struct tune *tune, const struct glinfer_tune_params *params)
{
    struct glinfer_tune_params *own = &tune->params;
    if (params) {
        memcpy(own, params,
               params->struct_size < sizeof(*own) ? params->struct_size : sizeof(*own));
    }
    if (own->max_ms == 0) {
        own->max_ms = gi_gpu_platform(gpu_of(tune))->is_software ? DEFAULT_SOFTWARE_MS : DEFAULT_MS;
    }
    tune->end_ns = gi_clock_ns() + own->max_ms * 1000000ull;
}

bool glinfer_tune(struct glinfer_session *session, const struct glinfer_tune_params *params,
                  struct glinfer_tune_stats *stats, struct glinfer_error *err)
{
    struct tune *tune = calloc(1, sizeof(*tune));
    struct gi_platform_saved saved;
    if (!tune) {
        return gi_error_no_memory(err, sizeof(*tune), "tuning");
    }
    tune->session = session;
    tune->err = err;
    take_params(tune, params);
    bool ok = gi_gpu_enter(gpu_of(tune), &saved, err);
    if (ok) {
        glinfer_session_reset(session);
        ok = run_tune(tune);
        gi_gpu_leave(gpu_of(tune), &saved);
    }
    if (ok && stats) {
        tune->stats.struct_size = stats->struct_size;
        memcpy(stats, &tune->stats,
               stats->struct_size < sizeof(*stats) ? stats->struct_size : sizeof(*stats));
    }
    free(tune);
    return ok;
}

//-- what is known ---------------------------------------------------------------------------------

size_t glinfer_device_tuning(const struct glinfer_device *device, glinfer_tuned_fn each, void *user)
{
    const size_t n = gi_tuning_count(device->tuning);
    for (size_t i = 0; each && i < n; i++) {
        struct gi_tuning_key key;
        struct glinfer_tuned tuned;
        const char *shape = gi_tuning_at(device->tuning, i, &key);
        fill_tuned(&tuned, &key, shape);
        each(user, &tuned);
    }
    return n;
}

bool glinfer_device_reset_tuning(struct glinfer_device *device, struct glinfer_error *err)
{
    gi_tuning_clear(device->tuning);
    return gi_tuning_file_remove(&device->tuning_file, err);
}
