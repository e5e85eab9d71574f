// Private to the files that make the program of a persistent dispatch:
// persistent_source.c reads the table, persistent_stages.c writes its stages, persistent_walk.c the
// walk over its entries.
#pragma once

#include "gpu/program/glsl_source.h"
#include "persistent/source/persistent_source.h"
#include "persistent/source/stage_source.h"

#include <stdio.h>

#define GI_PERSISTENT_MAX_STAGES  64 // the table has 8 bits for one
#define GI_PERSISTENT_MAX_VIEWS   16 // of six types, hot and cold
#define GI_PERSISTENT_MAX_BUFFERS 64

// A stage and the values that all of its entries share.
struct gi_persistent_stage {
    uint32_t program;
    const struct gi_dispatch *first; // of its entries
    const void *params;              // of the first
    struct gi_glsl_source source;
    struct gi_stage text; // of source
    bool is_same_begin[GI_MAX_BINDINGS], is_same_buffer[GI_MAX_BINDINGS];
    uint32_t runtime_begins; // of any entry: the text holds none of these begins
    bool is_same_field[GI_STAGE_MAX_FIELDS];
};

// Buffers bound whole for elements of one type, on neighbouring bindings: an array of blocks.
struct gi_persistent_view {
    struct gi_stage_word type;
    bool is_hot; // some entry writes to them
    const struct gi_buffer *buffers[GI_PERSISTENT_MAX_BUFFERS];
    uint32_t n_buffers;
    uint32_t binding; // of the first
};

struct gi_persistent_maker {
    const struct gi_gpu *gpu;
    const struct gi_dispatch_table *table;
    uint32_t n_entries; // of the table
    const struct gi_program_table *programs;
    struct gi_persistent_source *source;
    uint32_t group_size;
    struct gi_persistent_stage stages[GI_PERSISTENT_MAX_STAGES];
    uint32_t n_stages;
    uint8_t *stage_of; // of each entry
    bool *is_consumed; // of each entry: consumes all that the previous one publishes; no barrier
    bool *is_joined;   // of each entry: the previous one works beside it; no edge
    struct gi_persistent_view views[GI_PERSISTENT_MAX_VIEWS];
    uint32_t n_views;
    uint32_t next_binding;
    uint32_t n_table_quads;
    uint32_t n_tag; // kinds of tags of what is published; 0: none, every edge is a barrier
    FILE *out;
    size_t out_size; // written when it is closed
    struct glinfer_error *err;
};

// Fails with UNSUPPORTED, the name of the dispatch and the reason.
bool gi_persistent_refuse(const struct gi_persistent_maker *m, const struct gi_dispatch *dispatch,
                          const char *why);
// Fails with the name of the dispatch and a reason found in its text; passes other errors than
// UNSUPPORTED on.
bool gi_persistent_blame(const struct gi_persistent_maker *m, const struct gi_dispatch *dispatch,
                         const struct glinfer_error *found);
// Returns true if a dispatch binds all of step_state as storage (glsl/lib/step_state.glsl).
bool gi_persistent_has_whole_state(const struct gi_persistent_maker *m,
                                   const struct gi_dispatch *dispatch);
// Bytes of an element of a storage array; 0: of a struct.
uint32_t gi_persistent_element_size(struct gi_stage_word type);
// Returns the view of a buffer by a type, and its place there; NULL if the buffer has no such view.
const struct gi_persistent_view *gi_persistent_find_view(const struct gi_persistent_maker *m,
                                                         struct gi_stage_word type,
                                                         const struct gi_buffer *buffer,
                                                         uint32_t *index);
// Binds a range to the next storage binding. Fails with UNSUPPORTED if the device has too few
// bindings, or none so large.
bool gi_persistent_bind(struct gi_persistent_maker *m, const struct gi_range *range);

// Writes shared memory, and every stage: run<suffix>(), PREFETCH<suffix>() and what they need.
bool gi_persistent_write_stages(struct gi_persistent_maker *m);
// Sets is_consumed and is_joined. An entry whose groups were idle for many edges keeps its barrier:
// they could consume values that others left there long ago.
void gi_persistent_find_consumed(struct gi_persistent_maker *m);
// Returns the number of tags that distinguish published values from all older ones; 0: impossible.
uint32_t gi_persistent_choose_tags(const struct gi_persistent_maker *m);
// Returns true if the groups of a stage may exchange values by tags.
bool gi_persistent_can_tell(const struct gi_persistent_maker *m);
// Writes bool run_step(): all entries of the table, once.
void gi_persistent_write_walk(const struct gi_persistent_maker *m);
