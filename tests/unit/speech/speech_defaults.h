// Settings of the tests of speech: the defaults of glinfer.h, but 30 ms around speech, with which
// the times in the tests were computed.
#pragma once

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

static inline struct glinfer_transcription_params transcriber_defaults(void)
{
    struct glinfer_transcription_params params;
    glinfer_transcription_params_init(&params);
    params.vad_pad_ms = 30;
    return params;
}
