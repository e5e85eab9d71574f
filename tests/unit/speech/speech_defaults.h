// Settings of the tests of speech, as glinfer.h has them by default.
#ifndef SPEECH_DEFAULTS_H
#define SPEECH_DEFAULTS_H

#include "speech/transcriber.h"

#define GI_VOICE_DEFAULTS                                                                          \
    ((struct gi_voice_params){                                                                     \
        .threshold = 0.5F, .min_speech_ms = 250, .min_silence_ms = 100, .pad_ms = 30})
#define GI_TRANSCRIBER_DEFAULTS                                                                    \
    ((struct gi_transcriber_params){.language = -1,                                                \
                                    .max_context = UINT32_MAX,                                     \
                                    .temperature_step = 0.2F,                                      \
                                    .entropy_least = 2.4F,                                         \
                                    .average_least = -1,                                           \
                                    .no_speech_most = 0.6F,                                        \
                                    .best_of = 5,                                                  \
                                    .beam_size = 1,                                                \
                                    .voice = GI_VOICE_DEFAULTS})

#endif
