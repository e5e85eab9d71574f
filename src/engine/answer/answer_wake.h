// When stepped answers can continue, for the descriptor of glinfer_device_fd.
#pragma once

#include "engine/device/device.h"

// Arms the descriptor to become readable when the first answer can continue; disarms it if there is
// no answer. Does nothing without a descriptor.
void gi_answers_set_wake(const struct glinfer_device *device);
// Forgets the fences of all answers, before their chains are retired or discarded.
void gi_answers_forget_wake(const struct glinfer_device *device);
