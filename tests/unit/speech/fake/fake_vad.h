// A network of Silero's shape that takes a constant sound for speech and nothing else.
#ifndef TESTS_UNIT_SPEECH_FAKE_VAD_H
#define TESTS_UNIT_SPEECH_FAKE_VAD_H

#include "speech/vad.h"

struct gi_vad *fake_vad_create(void);

#endif
