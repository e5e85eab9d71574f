// The descriptor of glinfer_device_fd: a set of epoll with a timer and, where the driver hands out
// fences of the kernel's, with those of the chains that answers in steps wait for.
#ifndef GI_ENGINE_WAKE_H
#define GI_ENGINE_WAKE_H

#include "engine/api/device.h"

// Makes the descriptor, unless there is one. Fails with IO.
bool gi_wake_open(struct glinfer_device *device, struct glinfer_error *err);
// Accepts a device without one.
void gi_wake_close(struct glinfer_device *device);
// Has the descriptor become readable when the first answer can go on; never, if there is none.
// Does nothing without a descriptor.
void gi_wake_set(const struct glinfer_device *device);
// Takes all fences out of the set: chains are about to be taken, or to be forgotten.
void gi_wake_forget(const struct glinfer_device *device);

#endif
