// The recorded lists of a session and the working memory that they use. A list is recorded, built
// and sealed when an answer first needs it, or in advance. Bound to one sequence's cache and owned
// by its session.
#pragma once

#include "engine/lists/list.h"
#include "engine/model/session_layout.h"

// Lists, as bits of a set.
enum {
    GI_LIST_PROMPT_SMALL,  // a prompt batch of at most n_most[0] tokens, to the residual stream
    GI_LIST_PROMPT_SHORT,  // of at most n_most[1]
    GI_LIST_PROMPT_MIDDLE, // of at most n_most[2]
    GI_LIST_PROMPT,        // of at most n_batch
    GI_LIST_STEP,          // a decode step, for each end
    GI_LIST_LOGITS = GI_LIST_STEP + GI_STEP_END_COUNT,       // a decode step up to its logits
    GI_LIST_PROMPT_END,                                      // a batch's last row, to a token
    GI_LIST_CHOICE = GI_LIST_PROMPT_END + GI_STEP_END_COUNT, // a step's logits, to a token
    GI_LIST_NORM = GI_LIST_CHOICE + GI_STEP_END_COUNT,       // the norm of all rows of a batch
    GI_LIST_HEAR,                                            // the first convolution of a sound
    GI_LIST_SPEECH,                                          // a step of a transcript
    GI_LIST_COUNT,
};

// The lists that encode a sound, in order.
enum { GI_SOUND_LISTS = 2 };
struct gi_sound_list {
    uint32_t list;   // GI_LIST_...
    uint32_t n_rows; // tokens of the list for each position of the encoder
};
extern const struct gi_sound_list gi_sound_lists[GI_SOUND_LISTS];

struct gi_time_box;

struct gi_tables {
    const struct glinfer_model *model; // borrowed
    uint32_t n_batch;                  // maximum tokens of a batch
    uint32_t n_most[GI_LIST_PROMPT];   // and of smaller lists; as of the list before or 0: no list
    struct gi_range ranges[GI_SESSION_RANGE_COUNT];
    struct gi_graph graph;
    struct gi_recorder recorder; // used to record lists, except its list
    struct gi_step_buffers step_buffers;
    struct gi_dispatch_table *recorded[GI_LIST_COUNT]; // NULL: not recorded, or ready
    struct gi_executor *executors[GI_LIST_COUNT];      // of the ready lists
    uint32_t ready;                                    // bit set of the ready lists
    bool has_rest;                                     // gi_tables_prepare_rest was called
    struct gi_listener listener;
};

// Initializes the graph with the ranges. model, n_batch, n_most, recorder, and the layout and the
// cache of graph are set.
void gi_tables_init(struct gi_tables *tables, const struct gi_range ranges[GI_SESSION_RANGE_COUNT]);
// Destroys the lists. Accepts all-zero.
void gi_tables_finish(struct gi_tables *tables);

// Returns the bit set of lists that an answer begins with: for n_prompt tokens (0: any number)
// after those in the cache, whose end is a token, and with has_steps for further steps.
uint32_t gi_tables_choose(const struct gi_tables *tables, enum gi_step_end end, size_t n_prompt,
                          bool has_steps);

// Returns the size of a prompt's next batch, of n_left tokens after n_past, as a list of batches
// takes it. The first batch is small on a slow device, and no dispatch that cannot be divided may
// exceed the time box.
uint32_t gi_tables_choose_batch(const struct gi_tables *tables,
                                const struct gi_dispatch_table *list, const struct gi_time_box *box,
                                uint32_t n_past, uint32_t n_left, bool is_first);

// Dry-runs the recording of all lists, so that unsupported ops are reported early. Fails as ops do.
bool gi_tables_check(struct gi_tables *tables, struct glinfer_error *err);
// Records, builds and tests the lists of a set that are not ready. progress may be NULL; if it
// returns false, the call is cancelled. Fails with CANCELLED, DRIVER (the driver refused a program
// of these lists), GPU_LOST, NO_MEMORY, UNSUPPORTED (an encoder supports only lists of prompts).
bool gi_tables_prepare(struct gi_tables *tables, uint32_t lists, glinfer_progress_fn progress,
                       void *user, struct glinfer_error *err);
// Returns the context of the lists for the self-test.
struct gi_tested gi_tables_tested(struct gi_tables *tables);
// Destroys the ready lists, so that they are recorded again.
void gi_tables_forget(struct gi_tables *tables);
// Begins once, without waiting, to compile the other programs that greedy and sampled answers may
// need. Used in sessions with answers of several kinds. Does nothing if the driver has no compiler
// threads. Fails with GPU_LOST.
bool gi_tables_prepare_rest(struct gi_tables *tables, struct glinfer_error *err);

// Returns the list of a prompt's batch of n_tokens.
static inline uint32_t gi_tables_prompt_list(const struct gi_tables *tables, uint32_t n_tokens)
{
    uint32_t list = 0;
    while (list < GI_LIST_PROMPT && tables->n_most[list] < n_tokens) {
        list++;
    }
    return list;
}

// Return the executor of a list (GI_LIST_...), or of a prompt's batch of n_tokens, prepared on
// first use. Return NULL on an error of preparing it.
struct gi_executor *gi_tables_find(struct gi_tables *tables, uint32_t list,
                                   struct glinfer_error *err);
struct gi_executor *gi_tables_prompt(struct gi_tables *tables, uint32_t n_tokens,
                                     struct glinfer_error *err);
// Returns a list (GI_LIST_...) for inspection, recorded on first use; NULL on a failure of the
// recording.
struct gi_dispatch_table *gi_tables_list(struct gi_tables *tables, uint32_t list,
                                         struct glinfer_error *err);

// Records a new copy of a list with tables->recorder. The caller builds, seals and destroys it.
// Returns NULL with the first failure of the recording.
struct gi_dispatch_table *gi_tables_record(struct gi_tables *tables, uint32_t list,
                                           struct glinfer_error *err);
// Records a step into the recorder's list, in its form: the whole step, or up to its logits if
// another list ends it.
void gi_tables_record_into(struct gi_tables *tables, enum gi_step_end end, bool is_whole,
                           const struct gi_recorder *recorder);
// Records the choice of a token from the logits of a step. Log-probabilities are of the logits
// before any adjustment.
void gi_tables_record_choice(struct gi_recorder *recorder, const struct gi_logits *logits,
                             const struct gi_adjust *adjust, enum gi_step_end end,
                             const struct gi_step_buffers *buffers);
// Creates the executor of a list that follows a batch of at most n_rows tokens and reads its rows.
// record appends the list to a recorder; it is called again if the self-test rejects a program.
// Returns NULL with the first failure of the recording, DRIVER, GPU_LOST, NO_MEMORY.
struct gi_executor *gi_tables_create_rows(struct gi_tables *tables, uint32_t n_rows,
                                          void (*record)(void *user, struct gi_recorder *recorder),
                                          void *user, struct glinfer_error *err);
// Creates the executor of a list that ends a step after its logits, whose list was recorded before.
struct gi_executor *gi_tables_create_end(struct gi_tables *tables, enum gi_step_end end,
                                         struct glinfer_error *err);
