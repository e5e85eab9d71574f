// Sessions of a tiny model that take chains of steps in one dispatch, by programs in a cache of the test's own: their
// answers against ordinary ones, what they say, and what they leave on disk.
#ifndef TESTS_GOLDEN_DISPATCH_FIXTURE_H
#define TESTS_GOLDEN_DISPATCH_FIXTURE_H

#include "glinfer.h"

enum {
    N_TOKENS = 40,
    N_PERSISTENT_ENDS = 3, // programs at most: greedy, drawn among few, among many
};

struct setup {
    struct glinfer_device *device;
    struct glinfer_model *model;
    struct glinfer_session *session;
    char log[65536];
    size_t log_size;
};

struct answer {
    int32_t ids[N_TOKENS];
    int n;
};

// A program that another process is asked for: here it waits for compile_jobs(), or for the test to free data.
struct job {
    void *data;
    size_t size;
};

extern char cache[64]; // of programs and verdicts, between make_cache and remove_cache
extern struct job jobs[N_PERSISTENT_ENDS];
extern int n_jobs;

// What fails here fails the test; without a device the program ends with 77.
void must(bool ok, const struct glinfer_error *err);
// A session in a context of 2,048 under GLINFER_DISPATCH=mode; mode NULL: without it.
void open_setup(struct setup *setup, const char *mode);
// The same of a session that is told what to expect.
void open_expecting(struct setup *setup, const char *mode,
                    const struct glinfer_generate_params *expected);
// The log stays.
void close_setup(struct setup *setup);
bool is_software(void);
const char *pick(const char *on_software, const char *on_hardware);
// Compiles the jobs on a device of its own and frees them.
void compile_jobs(void);

// Asks an empty session for N_TOKENS; params without a prompt take one that is always the same.
struct glinfer_stats answer_with(struct setup *setup, struct glinfer_generate_params params,
                                 struct answer *answer);
struct glinfer_generate_params draw_by(float temperature, uint32_t top_k, float top_p);
struct glinfer_stats answer_prompt(struct setup *setup, float temperature, bool ignore_eos,
                                   struct answer *answer);
// The tokens of ordinary chains and of those of a mode, greedy and drawn; the mode's log is left in *setup.
void expect_same_tokens(struct setup *setup, const char *mode);

// Visits the files of a part of the cache, "programs" or "persistent" (verdicts); returns how many there are.
typedef void (*file_fn)(const char *path);
int each_file(const char *part, file_fn visit);
int count_files(const char *part);
void remove_file(const char *path);

// cmocka's.
int make_cache(void **state);
int remove_cache(void **state);

#endif
