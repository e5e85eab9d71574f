// The tables of a session: everything that is recorded once and run for every token, with the
// working memory that it runs in. A list is recorded, its programs built and the list sealed when
// an answer first needs it, or in advance; what a first answer does not need costs it nothing.
// Bound to one sequence's cache.
#ifndef GI_ENGINE_TABLES_H
#define GI_ENGINE_TABLES_H

#include "engine/load/model.h"
#include "engine/run/sequence.h"
#include "engine/run/session_layout.h"
#include "gpu/dispatch/executor.h"

// How a step ends: which of the lists runs.
enum gi_step_end {
    GI_STEP_END_GREEDY,
    GI_STEP_END_SMALL_K,  // sampled from the top-k list
    GI_STEP_END_FULL,     // sampled from the whole vocabulary
    GI_STEP_END_PROBS,    // likewise, with log-probabilities, or greedy with them
    GI_STEP_END_ADJUSTED, // the same again, each of logits that are adjusted before
    GI_STEP_END_COUNT = 2 * GI_STEP_END_ADJUSTED,
};

// Lists, as bits of a set.
enum {
    GI_LIST_PROMPT,                                          // a batch, to the residual stream
    GI_LIST_PROMPT_SMALL,                                    // the same of at most n_small tokens
    GI_LIST_STEP,                                            // a decode step, for each end
    GI_LIST_LOGITS = GI_LIST_STEP + GI_STEP_END_COUNT,       // a decode step up to its logits
    GI_LIST_PROMPT_END,                                      // a batch's last row, to a token
    GI_LIST_CHOICE = GI_LIST_PROMPT_END + GI_STEP_END_COUNT, // from a step's logits to a token
    GI_LIST_COUNT = GI_LIST_CHOICE + GI_STEP_END_COUNT,
};

// Gets what the self-test finds (glinfer_selftest).
struct gi_listener {
    void (*each)(void *user, const struct glinfer_tested *tested); // NULL: nobody asks
    void *user;
};

struct gi_tables {
    const struct glinfer_model *model;  // borrowed
    uint32_t n_batch;                   // tokens of a batch at most
    uint32_t n_small;                   // tokens of a batch that has kernels of its own; 0: none
    const struct gi_sequence *sequence; // borrowed
    struct gi_range ranges[GI_SESSION_RANGE_COUNT];
    struct gi_graph graph;
    struct gi_recorder recorder; // what lists are recorded with, but for the list
    struct gi_step_buffers step_buffers;
    struct gi_dispatch_table *recorded[GI_LIST_COUNT]; // NULL: not yet, or ready
    struct gi_executor *executors[GI_LIST_COUNT];      // of the lists that are ready
    uint32_t ready;                                    // the set of those
    bool has_rest;                                     // gi_tables_prepare_rest was called
    struct gi_listener listener;
};

// Points graph at the ranges, GI_SESSION_RANGE_COUNT of them, and at the sequence's cache. model,
// n_batch, n_small, recorder and the layout of graph are set.
void gi_tables_init(struct gi_tables *tables, const struct gi_sequence *sequence,
                    const struct gi_range *ranges);
// Accepts all-zero.
void gi_tables_finish(struct gi_tables *tables);

// Returns how the steps of an answer end: greedily too, where the host chooses another token.
enum gi_step_end gi_tables_choose_end(const struct glinfer_generate_params *params);
// Returns the set of the lists that an answer begins with: of n_prompt tokens (0: any number)
// behind those in the cache, which end in a token, with more steps behind it or not.
uint32_t gi_tables_choose(const struct gi_tables *tables, enum gi_step_end end, size_t n_prompt,
                          bool has_steps);

// Records all lists for nothing, so that what a device cannot do shows at once. Fails with what ops
// fail with.
bool gi_tables_check(struct gi_tables *tables, struct glinfer_error *err);
// Makes the lists of a set ready; does nothing for those that are. progress may be NULL; false from
// it cancels. Fails with CANCELLED, DRIVER (a program of theirs was refused; of others that is only
// logged), GPU_LOST, NO_MEMORY, UNSUPPORTED (an encoder has lists of prompts alone).
bool gi_tables_prepare(struct gi_tables *tables, uint32_t lists, glinfer_progress_fn progress,
                       void *user, struct glinfer_error *err);
// Forgets the lists that are ready, so that they are made anew.
void gi_tables_forget(struct gi_tables *tables);
// Begins to compile, once and without waiting, what greedy and sampled answers may need yet: for a
// session whose answers are of more than one kind. Does nothing where the driver has no threads
// for it. Fails with GPU_LOST.
bool gi_tables_prepare_rest(struct gi_tables *tables, struct glinfer_error *err);

// Return the executor of a list, made ready if it is not; NULL with what that fails with.
struct gi_executor *gi_tables_step(struct gi_tables *tables, enum gi_step_end end,
                                   struct glinfer_error *err);
// Two lists that do the same: a step up to its logits, and from these to a token.
struct gi_executor *gi_tables_logits(struct gi_tables *tables, struct glinfer_error *err);
struct gi_executor *gi_tables_choice(struct gi_tables *tables, enum gi_step_end end,
                                     struct glinfer_error *err);
struct gi_executor *gi_tables_prompt(struct gi_tables *tables, uint32_t n_tokens,
                                     struct glinfer_error *err);
struct gi_executor *gi_tables_prompt_end(struct gi_tables *tables, enum gi_step_end end,
                                         struct glinfer_error *err);
// Returns a list (GI_LIST_...) for its figures, recorded if it is not; NULL with what that fails
// with.
struct gi_dispatch_table *gi_tables_list(struct gi_tables *tables, uint32_t list,
                                         struct glinfer_error *err);

// Records a list anew with tables->recorder. The caller builds its programs, seals and destroys it.
// NULL with the first failure of the recording.
struct gi_dispatch_table *gi_tables_record(struct gi_tables *tables, uint32_t list,
                                           struct glinfer_error *err);
// Records a step into the list of a recorder, in the recorder's form: whole or, where another list
// ends it, up to its logits.
void gi_tables_record_into(struct gi_tables *tables, enum gi_step_end end, bool is_whole,
                           const struct gi_recorder *recorder);
// Records what chooses a token from the logits of a step. Log-probabilities are of logits that
// nothing has adjusted.
void gi_tables_record_choice(struct gi_recorder *recorder, const struct gi_logits *logits,
                             const struct gi_adjust *adjust, enum gi_step_end end,
                             const struct gi_step_buffers *buffers);
// Builds the programs of a list that was recorded, seals it and returns its executor, which owns
// it. NULL, and the list is destroyed, with what those fail with; list may be NULL: nothing was
// recorded, and err says why.
struct gi_executor *gi_tables_build(struct gi_program_table *programs,
                                    struct gi_dispatch_table *list, struct glinfer_error *err);
// Creates the executor of a list that takes the rows which a batch of at most n_rows tokens leaves.
// record appends it to a recorder, and is called again where the self-test found a program to be
// wrong. NULL with the first failure of the recording, DRIVER, GPU_LOST, NO_MEMORY.
struct gi_executor *gi_tables_create_rows(struct gi_tables *tables, uint32_t n_rows,
                                          void (*record)(void *user, struct gi_recorder *recorder),
                                          void *user, struct glinfer_error *err);
// Creates the executor of a list that ends a step behind its logits, after that was recorded.
struct gi_executor *gi_tables_create_end(struct gi_tables *tables, enum gi_step_end end,
                                         struct glinfer_error *err);

#endif
