// A session on a tiny model through glinfer.h, for tests of what is promised of any.
#ifndef TESTS_GOLDEN_TINY_FIXTURE_H
#define TESTS_GOLDEN_TINY_FIXTURE_H

#include "tests/golden/tiny_model.h"

enum { N_PREDICT = 12 };

struct fixture { // zero-initialised, but for the precision and n_batch
    struct tiny_model tiny;
    struct glinfer_session *session;
    enum glinfer_precision precision;
    uint32_t n_batch; // 0: 16
};

// A context of 64; cache_dir and a device that is missing as tiny_model_open has them. Where it fails it says why and
// leaves nothing open.
bool open_fixture(struct fixture *f, const char *cache_dir);
void close_fixture(struct fixture *f);
// The likeliest tokens behind a prompt that is always the same, in an empty session. stats may be NULL; a failure
// fails the test.
void generate(struct fixture *f, struct glinfer_stats *stats, int32_t ids[N_PREDICT]);

#endif
