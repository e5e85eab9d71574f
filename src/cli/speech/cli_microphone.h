// Sound of a microphone, through ALSA's library, which is looked for when one is opened: it is not
// a dependency, and PipeWire and PulseAudio appear as ALSA devices.
#pragma once

#include "cli/speech/cli_resample.h"

struct cli_microphone;

// Opens a device of ALSA, such as "plughw:1,0"; NULL: the default. Returns NULL with the reason in
// err: "cannot open the microphone DEVICE: ...".
struct cli_microphone *cli_microphone_open(const char *device, struct glinfer_error *err);
// Accepts NULL.
void cli_microphone_close(struct cli_microphone *microphone);

// Waits for about 0.1 s of sound and sets *samples to it, 16 kHz and one channel, until the next
// call, and *n to its length; 0 after SIGINT. Returns false with the reason in err if the device
// fails.
bool cli_microphone_next(struct cli_microphone *microphone, const float **samples, size_t *n,
                         struct glinfer_error *err);
// Returns false if cli_microphone_next would wait.
bool cli_microphone_is_ready(struct cli_microphone *microphone);
// Returns how often sound was lost because nobody read it in time.
uint32_t cli_microphone_n_lost(const struct cli_microphone *microphone);
