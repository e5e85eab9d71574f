// The highest rates of a device: memory and arithmetic.
#pragma once

#include "engine/device/device.h"

// Measures the rates as glinfer_device_measure does. The device is entered.
bool gi_device_measure(const struct glinfer_device *device, struct glinfer_device_rates *rates,
                       struct glinfer_error *err);
