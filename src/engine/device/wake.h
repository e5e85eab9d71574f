// The file descriptor of glinfer_device_fd: an epoll set with a timer and, if the driver exports
// kernel fences, the fences of chains that stepped answers wait for.
#pragma once

#include "engine/device/device.h"

// Creates the descriptor if it does not exist. Fails with IO.
bool gi_wake_open(struct glinfer_device *device, struct glinfer_error *err);
// Closes the descriptor. Accepts a device without one.
void gi_wake_close(struct glinfer_device *device);

// The device has a descriptor in the next functions.
// Makes it readable at a clock time; UINT64_MAX: never.
void gi_wake_set(const struct glinfer_device *device, uint64_t at_ns);
// Makes it readable when a fence is signalled. Returns false if that is not possible.
bool gi_wake_watch(const struct glinfer_device *device, int fd);
// Forgets a fence, before its chain is retired or discarded.
void gi_wake_forget(const struct glinfer_device *device, int fd);
