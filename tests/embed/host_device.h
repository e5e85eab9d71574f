// Devices on the EGL of a host program, and calls between whose frames nothing of the host's
// changes.
#pragma once

#include "tests/embed/egl_host.h"
#include "tests/golden/fixture/session_fixture.h"

enum { N_PREDICT = 5, SKIPPED = 77 };

extern struct egl_host host;
extern bool has_current; // the host's context is current in between, and a frame is made

// Callbacks of glinfer_host_gl; make_current swaps the surfaces.
bool make_current(void *user);
void release_current(void *user);

// Makes a frame and raises an error; expects both and the host's state.
void before_call(void);
void after_call(void);
#define CALL(call)                                                                                 \
    do {                                                                                           \
        before_call();                                                                             \
        call;                                                                                      \
        after_call();                                                                              \
    } while (0)

// Opens a device; gl NULL: of its own.
struct glinfer_device *open_device(const struct glinfer_host_gl *gl, struct glinfer_error *err);
// Give the display, the context where it is current, the context with its callbacks.
struct glinfer_host_gl give_display(void);
struct glinfer_host_gl give_context(void);
struct glinfer_host_gl give_callbacks(void);
// Loads the tiny model on such a device. A failure fails the test.
void load(struct tiny_model *f, const struct glinfer_host_gl *gl);
// Expects the tokens of a device of its own.
void answer(struct glinfer_session *session);

// Group fixtures of cmocka, after egl_host_open.
int open_host_group(void **state);
int close_host_group(void **state);
