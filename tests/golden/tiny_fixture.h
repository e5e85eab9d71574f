// A session on a tiny model through glinfer.h, for tests of what is promised of any.
#ifndef TESTS_GOLDEN_TINY_FIXTURE_H
#define TESTS_GOLDEN_TINY_FIXTURE_H

#include "glinfer.h"

enum { SKIPPED = 77, N_PREDICT = 12 };

struct fixture { // zero-initialised, but for the precision and n_batch
    struct glinfer_device *device;
    struct glinfer_model *model;
    struct glinfer_session *session;
    enum glinfer_precision precision;
    uint32_t n_batch; // 0: 16
};

// A context of 64 on the first device, software too; cache_dir as glinfer_device_params has it. Where it fails it
// says why on stderr and leaves nothing open.
bool open_fixture(struct fixture *f, const char *cache_dir);
void close_fixture(struct fixture *f);
// The likeliest tokens behind a prompt that is always the same, in an empty session. stats may be NULL; a failure
// fails the test.
void generate(struct fixture *f, struct glinfer_stats *stats, int32_t ids[N_PREDICT]);

#endif
