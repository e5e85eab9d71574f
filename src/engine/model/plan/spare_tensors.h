// Tensors of a file that a plan does not use: vision, audio, layers that predict further tokens,
// and names of other converter versions. They are ignored and reported, but for those that belong
// to a weight.
#pragma once

#include "base/log.h"
#include "engine/model/plan/model_plan.h"

struct gi_spare_tensors {
    uint32_t n_vision, n_audio;
    uint32_t n_next;             // tensors of layers after the last one
    uint32_t n_other;            // tensors with names that the family does not know
    struct gi_gguf_string other; // the first of these, owned by the gguf
    // The first that belongs to a weight that is read, such as a bias or a scale; size 0: none.
    struct gi_gguf_string of_weight;
};

// Counts the tensors of a plan's file that it does not read. Fails with NO_MEMORY, and with
// UNSUPPORTED if one of them belongs to a weight that is read.
bool gi_spare_tensors_find(const struct gi_model_plan *plan, struct gi_spare_tensors *spare,
                           struct glinfer_error *err);

// Logs a line for each kind: a note, or a warning for n_other.
void gi_spare_tensors_say(const struct gi_model_plan *plan, const struct gi_spare_tensors *spare,
                          const struct gi_log *log);
