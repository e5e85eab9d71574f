// Opening devices in tests of the platform layer. What fails here fails the test.
#pragma once

#include "platform/platform.h"

extern char default_device[128]; // the device that auto chose at the start
extern bool default_is_software;

// Before the tests: finds out what auto opens; false, and said why, if there is nothing.
bool find_default(void);
// Before each test, cmocka's: EGL as it is.
int reset_fake(void **state);

// Software is allowed. NULL with err.
struct gi_platform *try_open(const char *device, struct glinfer_error *err);
struct gi_platform *open_device(const char *device);
// Opening it fails so, with these words in the message.
void assert_refused(const char *device, enum glinfer_status status, const char *words);
// A compute shader gives its result, unless the default device's kernel only records.
void assert_computes(struct gi_platform *platform);
