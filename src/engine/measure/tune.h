// The tuner: measures the shapes that a session's model can run with. api/ calls gi_tune and
// gi_tuned_describe; the other functions are shared by the files of the tuner only.
#pragma once

#include "engine/measure/tune_clock.h"

enum {
    GI_TUNE_SAMPLES = 9,       // of a candidate
    GI_TUNE_STEP_SAMPLES = 15, // of a whole step
};

// A shape of a site, and its measured times.
struct gi_tune_candidate {
    char shape[GI_TUNING_SHAPE_SIZE];
    struct gi_dispatch_table *table; // NULL: not recorded yet, or it cannot be
    bool is_sealed, is_out;
    uint32_t n;
    double ns[GI_TUNE_SAMPLES]; // of a replay
};

// A place where a shape is chosen, in the decode step or in a prompt's batch.
struct gi_tune_site {
    uint32_t number; // counted from 1
    bool is_prompt;
    bool is_whole;    // timed as a whole step with it minus one without
    bool is_measured; // against another shape at least
    uint32_t n_dispatches;
    uint32_t n;        // replays of a sample
    double without_ns; // of a whole step, in the latest round
    uint32_t n_candidates, n_tried;
    double table_ns, ns;
    char shape[GI_TUNING_SHAPE_SIZE]; // the best
};

struct gi_tune {
    struct glinfer_session *session;
    struct glinfer_session *batches; // the session, or its encoder, which has the batches
    struct glinfer_tune_params params;
    struct glinfer_tune_stats stats;
    struct glinfer_error *err;
    struct gi_recorder recorder, batch_recorder; // the sessions' own, put back at the end
    struct gi_program_table *programs;
    struct gi_tuning *trial; // shapes that recordings use
    struct gi_tuning_sites known;
    struct gi_tune_clock clock;
    struct gi_tune_site sites[GI_MAX_TUNING_SITES];
    struct gi_tune_candidate candidates[GI_MAX_CANDIDATES + 1]; // of one site
    const char *dispatch, *batch; // chosen for the device; NULL: known without measuring
    uint64_t end_ns;              // time of the clock at which tuning ends
    uint64_t done, total;         // of the progress
};

// Tunes and sets *stats as glinfer_tune does. The session is entered.
bool gi_tune(struct glinfer_session *session, const struct glinfer_tune_params *params,
             struct glinfer_tune_stats *stats, struct glinfer_error *err);
// Describes a shape and where it is chosen.
struct glinfer_tuned gi_tuned_describe(const struct gi_tuning_key *key, const char *shape);

// The site as the ops noted it.
const struct gi_tuning_site *gi_tune_known(const struct gi_tune *tune,
                                           const struct gi_tune_site *site);
// Records the table that sites stand in with the trial's shapes.
struct gi_dispatch_table *gi_tune_record(struct gi_tune *tune, bool is_prompt);
// Steps to time one after another: as many as 100 ms hold, from 2 to 8.
uint32_t gi_tune_step_replays(const struct gi_tune *tune);
double gi_tune_median(const double *values, uint32_t n); // n is at most GI_TUNE_STEP_SAMPLES

// Chooses the replays of a sample and takes the table's time of the site; table is sealed.
bool gi_tune_survey_site(struct gi_tune *tune, struct gi_tune_site *site,
                         struct gi_dispatch_table *table);
// Measures the candidates until end_ns, or a little longer, and sets the site's shape to the best.
bool gi_tune_site(struct gi_tune *tune, struct gi_tune_site *site, uint64_t end_ns);

// Sets tune->dispatch where nothing else says how the device is to dispatch grids that change. A
// step has been recorded and built before.
bool gi_tune_dispatch(struct gi_tune *tune);
// Sets tune->batch and the device's form of prompt kernels where its class does not settle it. A
// step has been timed before.
bool gi_tune_batch(struct gi_tune *tune);
