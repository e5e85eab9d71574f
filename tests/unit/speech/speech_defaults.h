// Settings of the tests of speech: the defaults of glinfer.h, but 30 ms around speech, with which
// the times in the tests were computed.
#ifndef SPEECH_DEFAULTS_H
#define SPEECH_DEFAULTS_H

#include "glinfer.h"
#include "speech/transcriber.h"

static inline struct gi_voice_params voice_defaults(void)
{
    struct glinfer_transcription_params params;
    glinfer_transcription_params_init(&params);
    return (struct gi_voice_params){.threshold = params.vad_threshold,
                                    .min_speech_ms = params.vad_min_speech_ms,
                                    .min_silence_ms = params.vad_min_silence_ms,
                                    .pad_ms = 30};
}

static inline struct gi_transcriber_params transcriber_defaults(void)
{
    struct glinfer_transcription_params params;
    glinfer_transcription_params_init(&params);
    return (struct gi_transcriber_params){.language = -1,
                                          .max_context = UINT32_MAX,
                                          .temperature_step = params.temperature_step,
                                          .entropy_least = params.entropy_least,
                                          .average_least = params.logprob_least,
                                          .no_speech_most = params.no_speech_most,
                                          .best_of = params.best_of,
                                          .beam_size = params.beam_size,
                                          .voice = voice_defaults()};
}

#endif
