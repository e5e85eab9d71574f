// A program that opens a device, loads a model, answers and destroys all of it again and again does
// not grow: neither its memory nor the objects of GL. cycles_test [N]: number of cycles,
// default 20. Exits 77 without a device.
#include "tests/data/test_data.h"
#include "tests/faults/failing_gl.h"
#include "tests/golden/fixture/tiny_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    N_SETTLE = 8,      // cycles until drivers have the memory that they keep
    PAGES_A_CYCLE = 2, // that may come at most, on average: what a driver keeps
#ifdef HAS_SANITIZERS  // which keep what is freed
    PAGES_FOR_ALL = 65536,
#else
    PAGES_FOR_ALL = 1024, // and at once: arenas of malloc
#endif
};

static long count_pages(void)
{
    long size = 0, n = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &size, &n) != 2) {
        n = 0;
    }
    if (file) {
        fclose(file);
    }
    return n;
}

static bool answer(struct glinfer_model *model)
{
    static const int32_t prompt[] = {72, 101, 108, 108, 111};
    struct glinfer_session_params params;
    struct glinfer_generate_params asked;
    struct glinfer_error err = {0};
    glinfer_session_params_init(&params);
    glinfer_generate_params_init(&asked);
    params.n_ctx = 64;
    asked.prompt = prompt;
    asked.n_prompt = sizeof(prompt) / sizeof(prompt[0]);
    asked.n_predict = 4;
    struct glinfer_session *session = glinfer_session_create(model, &params, &err);
    const bool ok = session && glinfer_generate(session, &asked, NULL, &err);
    glinfer_session_destroy(&session);
    if (!ok) {
        printf("%s\n", err.message);
    }
    return ok;
}

static bool run_cycle(void)
{
    struct tiny_model tiny = {0};
    const bool ok =
        tiny_model_open(&tiny, test_data("data/models/tiny-q4_0.gguf"), NULL) && answer(tiny.model);
    tiny_model_close(&tiny);
    if (count_objects() + count_fences() + count_contexts() != 0) {
        printf("%ld objects, %ld fences, %ld contexts are left\n", count_objects(), count_fences(),
               count_contexts());
        return false;
    }
    return ok;
}

int main(int n_arg, char **args)
{
    const int n = n_arg > 1 ? atoi(args[1]) : 20;
    long first = 0;
    for (int i = 0; i < N_SETTLE + n; i++) {
        if (i == N_SETTLE) {
            first = count_pages();
        }
        if (!run_cycle()) {
            return EXIT_FAILURE;
        }
        if (getenv("GLINFER_TEST_VERBOSE") && i % 10 == 0) {
            printf("%d: %ld pages\n", i, count_pages());
        }
    }
    const long grown = count_pages() - first;
    printf("%d cycles: %ld pages at first, %ld more at the end\n", n, first, grown);
    return grown <= PAGES_FOR_ALL + PAGES_A_CYCLE * (long)n ? EXIT_SUCCESS : EXIT_FAILURE;
}
