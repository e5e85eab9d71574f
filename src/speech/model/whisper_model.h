// The parts of a Whisper file that run on the CPU: its vocabulary and its mel filters.
#pragma once

#include "speech/mel.h"
#include "speech/model/whisper_text.h"
#include "speech/whisper_rules.h"

struct gi_whisper_model {
    struct gi_whisper_ids ids;
    struct gi_whisper_text *text; // owned
    struct gi_mel *mel;           // owned
};

// Reads them; the file is not needed afterwards. Fails with BAD_FILE (the vocabulary or the filters
// are not those of a Whisper model), NO_MEMORY.
bool gi_whisper_model_init(struct gi_whisper_model *model, const struct gi_gguf *file,
                           struct glinfer_error *err);
void gi_whisper_model_finish(struct gi_whisper_model *model);
