// A network of Silero's shape that takes a constant sound for speech and nothing else.
#pragma once

#include "speech/vad.h"

struct gi_vad *fake_vad_create(void);
