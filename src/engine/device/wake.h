// The file descriptor of glinfer_device_fd: an epoll set with a timer and, if the driver exports
// kernel fences, the fences of chains that stepped answers wait for.
#ifndef GI_ENGINE_WAKE_H
#define GI_ENGINE_WAKE_H

#include "engine/device/device.h"

// Creates the descriptor if it does not exist. Fails with IO.
bool gi_wake_open(struct glinfer_device *device, struct glinfer_error *err);
// Closes the descriptor. Accepts a device without one.
void gi_wake_close(struct glinfer_device *device);
// Arms the descriptor to become readable when the first answer can continue; disarms it if there is
// no answer. Does nothing without a descriptor.
void gi_wake_set(const struct glinfer_device *device);
// Removes all fences from the set, before their chains are retired or discarded.
void gi_wake_forget(const struct glinfer_device *device);

#endif
