// rate_copy.comp, rate_read.comp and rate_fma.comp: what a device's rates are measured with does
// what is counted.
#include "ops/record/rate.h"
#include "tests/kernel/fixture/kernel_test.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOVE_COPY, MOVE_READ, MOVE_READ_TEXELS };

static const struct move_case {
    int what;
    size_t size; // bytes
} move_cases[] = {
    {MOVE_COPY, GI_RATE_UNIT},     {MOVE_COPY, GI_RATE_UNIT * 5},        {MOVE_READ, GI_RATE_UNIT},
    {MOVE_READ, GI_RATE_UNIT * 5}, {MOVE_READ_TEXELS, GI_RATE_UNIT * 3},
};

static void name_move(size_t index, char *text, size_t size)
{
    static const char *const names[] = {"copy", "read", "read by texels"};
    snprintf(text, size, "%s %zu bytes", names[move_cases[index].what], move_cases[index].size);
}

static uint32_t fold(const uint32_t *words, size_t n)
{
    uint32_t parity = 0;
    for (size_t i = 0; i < n; i++) {
        parity ^= words[i];
    }
    return parity;
}

// Which words an invocation takes is its own affair, that each is taken once is ours: parities of
// the four components over all words.
static bool check_parity(struct kt_run *run, const struct gi_range *y, const uint32_t *words,
                         size_t n_words)
{
    uint32_t *found = kt_alloc(y->size / 4, sizeof(*found));
    bool is_good = kt_read(run, y, 0, found, y->size);
    if (is_good && fold(found, y->size / 4) != fold(words, n_words)) {
        is_good = kt_fail(run, "the parity of what was read is %08x, want %08x",
                          fold(found, y->size / 4), fold(words, n_words));
    }
    free(found);
    return is_good;
}

static bool run_move(struct kt_run *run, size_t index)
{
    const struct move_case *c = &move_cases[index];
    const size_t n_words = c->size / 4;
    if (c->what == MOVE_READ_TEXELS && !gi_gpu_limits(run->gpu)->has_texture_buffer) {
        return true;
    }
    uint32_t *words = kt_alloc(n_words, sizeof(*words));
    for (size_t i = 0; i < n_words; i++) {
        words[i] = kt_index(run, 1u << 24) * 251u;
    }
    const size_t y_size =
        c->what == MOVE_COPY ? c->size : gi_rate_parity_size(run->gpu, (uint64_t)c->size);
    const struct gi_range x = kt_range(run, "x", words, c->size);
    const struct gi_range y = kt_range(run, "y", NULL, y_size);
    if (c->what == MOVE_COPY) {
        gi_op_rate_copy(&run->recorder, y, x);
    } else {
        gi_op_rate_read(&run->recorder, y, x, c->what == MOVE_READ_TEXELS);
    }
    bool is_good = kt_seal(run) && kt_replay(run, 0, 1) && kt_bench(run, 0, 1, c->size + y_size);
    if (is_good) {
        is_good = c->what == MOVE_COPY ? kt_compare_u32(run, "y", &y, 0, words, n_words)
                                       : check_parity(run, &y, words, n_words);
    }
    free(words);
    return is_good;
}

const struct kt_suite kt_rate_move = {"rate_move", sizeof(move_cases) / sizeof(move_cases[0]),
                                      name_move, run_move};

//-- multiply-adds ---------------------------------------------------------------------------------

static const struct fma_case {
    uint32_t n, n_round;
} fma_cases[] = {
    {64, 0},
    {64, 1},
    {1024, 3},
    {128, 40},
};

static void name_fma(size_t index, char *text, size_t size)
{
    snprintf(text, size, "%u of %u rounds", fma_cases[index].n, fma_cases[index].n_round);
}

static double ref_chains(uint32_t j, uint32_t n_round, double factor, double addend)
{
    double sum = 0;
    for (uint32_t chain = 0; chain < 16; chain++) {
        double x = (j & 15) / 16.0 + chain;
        for (uint32_t step = 0; step < 8 * n_round; step++) {
            x = x * factor + addend;
        }
        sum += x;
    }
    return sum;
}

static bool run_fma(struct kt_run *run, size_t index)
{
    const struct fma_case *c = &fma_cases[index];
    const float factor = 0.9375F, addend = 0.125F;
    double *want = kt_alloc(c->n, sizeof(*want)), *bound = kt_alloc(c->n, sizeof(*bound));
    for (uint32_t j = 0; j < c->n; j++) {
        want[j] = ref_chains(j, c->n_round, (double)factor, (double)addend);
        // A chain forgets its roundings by the factor: at most 2 / (1 - factor) of them count, and
        // 4 more of the sum.
        bound[j] = 36 * FLT_EPSILON * fabs(want[j]);
    }
    const struct gi_range y = kt_range(run, "y", NULL, c->n * sizeof(float));
    gi_op_rate_fma(&run->recorder, y, c->n_round, factor, addend);
    const bool is_good =
        kt_seal(run) && kt_replay(run, 0, 1) && kt_compare_f32(run, "y", &y, 0, want, bound, c->n);
    free(want);
    free(bound);
    return is_good;
}

const struct kt_suite kt_rate_fma = {"rate_fma", sizeof(fma_cases) / sizeof(fma_cases[0]), name_fma,
                                     run_fma};
