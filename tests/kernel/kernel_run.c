#include "base/clock.h"
#include "kernel_test.h"
#include "ops/params.h"
#include "quant/quant.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Twice the strictest alignment of a storage range in the field.
#define GUARD_BYTES 512
#define GUARD_WORD  0xA5C3E1F7u
#define NAN_WORD    0x7FC0DEADu

//-- reporting -------------------------------------------------------------------------------------

bool kt_fail(struct kt_run *run, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("FAIL %s: %s: ", run->kernel, run->case_name);
    vprintf(format, args);
    printf("\n");
    va_end(args);
    run->has_failed = true;
    return false;
}

void *kt_alloc(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory) {
        fprintf(stderr, "kernel_test: no memory for %zu x %zu bytes\n", count, size);
        abort();
    }
    return memory;
}

//-- inputs ----------------------------------------------------------------------------------------

// SplitMix64: Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators (OOPSLA 2014).
static uint64_t next_random(struct kt_run *run)
{
    uint64_t z = run->random += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

uint32_t kt_index(struct kt_run *run, uint32_t n)
{
    return (uint32_t)((next_random(run) >> 32) * n >> 32);
}

float kt_uniform(struct kt_run *run, float low, float high)
{
    float unit = (float)(next_random(run) >> 40) * 0x1p-24f;
    return low + (high - low) * unit;
}

void kt_fill(struct kt_run *run, float *values, size_t n, float low, float high)
{
    for (size_t i = 0; i < n; i++) {
        values[i] = kt_uniform(run, low, high);
    }
}

//-- ranges ----------------------------------------------------------------------------------------

static void fill_words(uint32_t *words, size_t n, uint32_t word)
{
    for (size_t i = 0; i < n; i++) {
        words[i] = word;
    }
}

// Bytes of a range's buffer: the range rounded up to 16, between guards.
static size_t guarded_size(size_t size)
{
    return GUARD_BYTES + (size + 15) / 16 * 16 + GUARD_BYTES;
}

static bool upload_guarded(struct kt_run *run, struct kt_range *slot, const void *data, size_t size)
{
    struct glinfer_error err;
    size_t whole = guarded_size(size), guard_words = GUARD_BYTES / sizeof(uint32_t);
    uint32_t *words = kt_alloc(whole, 1);
    fill_words(words, whole / sizeof(*words), GUARD_WORD);
    if (data) {
        memcpy(words + guard_words, data, size);
    } else {
        fill_words(words + guard_words, size / sizeof(*words), NAN_WORD);
    }
    bool is_written = gi_buffer_write(&slot->buffer, run->gpu, 0, words, whole, &err);
    free(words);
    return is_written || kt_fail(run, "%s", err.message);
}

struct gi_range kt_range(struct kt_run *run, const char *label, const void *data, size_t size)
{
    const struct gi_range none = {0};
    struct glinfer_error err;
    if (run->n_range == KT_MAX_RANGES) {
        kt_fail(run, "more than %d ranges", KT_MAX_RANGES);
        return none;
    }
    struct kt_range *slot = &run->ranges[run->n_range];
    if (!gi_buffer_init(&slot->buffer, run->gpu, guarded_size(size), label, &err)) {
        kt_fail(run, "%s", err.message);
        return none;
    }
    slot->range = (struct gi_range){.buffer = &slot->buffer, .offset = GUARD_BYTES, .size = size};
    run->n_range++;
    return upload_guarded(run, slot, data, size) ? slot->range : none;
}

bool kt_write(struct kt_run *run, const struct gi_range *range, size_t offset, const void *data,
              size_t size)
{
    struct glinfer_error err;
    struct gi_buffer buffer = *range->buffer;
    return gi_buffer_write(&buffer, run->gpu, range->offset + offset, data, size, &err) ||
           kt_fail(run, "%s", err.message);
}

bool kt_read(struct kt_run *run, const struct gi_range *range, size_t offset, void *data,
             size_t size)
{
    struct glinfer_error err;
    return gi_buffer_read(range->buffer, run->gpu, range->offset + offset, data, size, &err) ||
           kt_fail(run, "%s", err.message);
}

static bool check_guard(struct kt_run *run, const struct kt_range *slot, size_t offset, size_t size)
{
    uint32_t words[GUARD_BYTES / sizeof(uint32_t) + 4];
    struct glinfer_error err;
    if (!gi_buffer_read(&slot->buffer, run->gpu, offset, words, size, &err)) {
        return kt_fail(run, "%s", err.message);
    }
    for (size_t i = 0; i < size / sizeof(*words); i++) {
        if (words[i] != GUARD_WORD) {
            return kt_fail(run, "range %zu: guard word at byte %zu of the range was overwritten",
                           (size_t)(slot - run->ranges), offset + i * sizeof(*words) - GUARD_BYTES);
        }
    }
    return true;
}

static bool check_guards(struct kt_run *run)
{
    for (size_t i = 0; i < run->n_range; i++) {
        const struct kt_range *slot = &run->ranges[i];
        size_t end = GUARD_BYTES + slot->range.size;
        if (!check_guard(run, slot, 0, GUARD_BYTES) ||
            !check_guard(run, slot, end, guarded_size(slot->range.size) - end)) {
            return false;
        }
    }
    return true;
}

//-- Params ----------------------------------------------------------------------------------------

struct check {
    struct kt_run *run;
    uint32_t program;
};

static void check_offset(const struct check *check, const char *field, size_t offset)
{
    char name[80];
    snprintf(name, sizeof(name), "Params.%s", field);
    int32_t found = gi_program_uniform_offset(check->run->recorder.programs, check->program, name);
    if (found >= 0 && (size_t)found != offset) {
        kt_fail(check->run, "%s: %s is at byte %d, in C at %zu",
                gi_program_label(check->run->recorder.programs, check->program), name, (int)found,
                offset);
    }
}

#define CHECK_FIELD(type, field)                                                                   \
    check_offset(check, #field, (size_t)((char *)&p.field - (char *)&p));
#define CHECK_FUNCTION(kernel, name)                                                               \
    static void check_##name(const struct check *check)                                            \
    {                                                                                              \
        struct gi_##name##_params p;                                                               \
        GI_PARAMS_##kernel(CHECK_FIELD)                                                            \
    }
GI_PARAMS_MAP(CHECK_FUNCTION)

static const struct {
    const char *file;
    void (*check)(const struct check *check);
} checks[] = {
#define CHECK_ENTRY(kernel, name) {#name ".comp", check_##name},
    GI_PARAMS_MAP(CHECK_ENTRY)
#undef CHECK_ENTRY
};

// Every kernel with Params has a list.
static bool check_params(struct kt_run *run, const struct gi_dispatch *dispatch)
{
    const char *label = gi_program_label(run->recorder.programs, dispatch->program);
    size_t i = 0, n = sizeof(checks) / sizeof(checks[0]);
    while (i < n && strncmp(label, checks[i].file, strlen(checks[i].file)) != 0) {
        i++;
    }
    if (i < n) {
        checks[i].check(&(struct check){run, dispatch->program});
    } else if (dispatch->params_size > 0) {
        return kt_fail(run, "%s: ops/params.h has no list of its Params", label);
    }
    return !run->has_failed;
}

//-- replay ----------------------------------------------------------------------------------------

bool kt_seal(struct kt_run *run)
{
    struct glinfer_error err;
    struct gi_recorder *recorder = &run->recorder;
    if (!gi_program_table_build(recorder->programs, NULL, NULL, &err)) {
        return kt_fail(run, "%s", err.message);
    }
    for (uint32_t i = 0; i < gi_dispatch_table_count(recorder->table); i++) {
        if (!check_params(run, gi_dispatch_table_at(recorder->table, i))) {
            return false;
        }
    }
    return gi_dispatch_table_seal(recorder->table, &err) || kt_fail(run, "%s", err.message);
}

static bool finish_work(struct kt_run *run)
{
    struct glinfer_error err;
    return (gi_gpu_finish(run->gpu, &err) && gi_gpu_check(run->gpu, "replaying", &err)) ||
           kt_fail(run, "%s", err.message);
}

static bool write_state(struct kt_run *run, uint32_t n_past, uint32_t n_tokens)
{
    struct glinfer_error err;
    run->state.n_past = n_past;
    run->state.n_tokens = n_tokens;
    return kt_write(run, &run->step_state, 0, &run->state, sizeof(run->state)) &&
           (gi_dispatch_table_prime(run->recorder.table, n_past, n_tokens, &err) ||
            kt_fail(run, "%s", err.message));
}

bool kt_replay(struct kt_run *run, uint32_t n_past, uint32_t n_tokens)
{
    const struct gi_replay replay = {.n_past = n_past, .n_tokens = n_tokens};
    uint32_t n_errors = gi_gpu_debug_errors(run->gpu);
    if (!write_state(run, n_past, n_tokens)) {
        return false;
    }
    gi_dispatch_table_replay(run->recorder.table, &replay);
    if (!finish_work(run) || !check_guards(run)) {
        return false;
    }
    return gi_gpu_debug_errors(run->gpu) == n_errors || kt_fail(run, "the driver reported errors");
}

// Nanoseconds of `count` replays with one wait at the end.
static uint64_t time_replays(struct kt_run *run, const struct gi_replay *replay, uint32_t count)
{
    uint64_t start = gi_clock_ns();
    for (uint32_t i = 0; i < count; i++) {
        gi_dispatch_table_replay(run->recorder.table, replay);
    }
    finish_work(run);
    return gi_clock_ns() - start;
}

bool kt_bench(struct kt_run *run, uint32_t n_past, uint32_t n_tokens, uint64_t bytes)
{
    const uint64_t batch_ns = 30000000, total_ns = 200000000;
    const struct gi_replay replay = {.n_past = n_past, .n_tokens = n_tokens};
    if (!run->is_bench) {
        return true;
    }
    uint32_t count = 1;
    uint64_t ns = time_replays(run, &replay, count);
    while (!run->has_failed && ns < batch_ns && count < 1u << 16) {
        count *= 2;
        ns = time_replays(run, &replay, count);
    }
    for (uint64_t spent = ns; !run->has_failed && spent < total_ns;) {
        uint64_t again = time_replays(run, &replay, count);
        spent += again;
        ns = again < ns ? again : ns;
    }
    uint32_t n_copy = run->n_copy ? run->n_copy : 1;
    double each = (double)ns / count / n_copy;
    bytes /= n_copy;
    printf("{\"kernel\": \"%s\", \"case\": \"%s\", \"ns\": %.0f, \"bytes\": %llu, \"gb_per_s\": "
           "%.2f}\n",
           run->kernel, run->case_name, each, (unsigned long long)bytes, (double)bytes / each);
    fflush(stdout);
    return !run->has_failed;
}

//-- comparing -------------------------------------------------------------------------------------

static bool compare_values(struct kt_run *run, const char *what, const float *found,
                           const double *want, const double *bound, size_t n)
{
    size_t n_bad = 0, worst = 0;
    double worst_excess = 0;
    for (size_t i = 0; i < n; i++) {
        double difference = fabs((double)found[i] - want[i]);
        if (!(difference <= bound[i])) {
            double excess = isnan(difference) ? INFINITY : difference - bound[i];
            worst = n_bad == 0 || excess > worst_excess ? i : worst;
            worst_excess = excess > worst_excess ? excess : worst_excess;
            n_bad++;
        }
    }
    return n_bad == 0 ||
           kt_fail(run, "%s: %zu of %zu are off, worst [%zu]: %.9g, want %.9g +- %.3g", what, n_bad,
                   n, worst, (double)found[worst], want[worst], bound[worst]);
}

bool kt_compare_f32(struct kt_run *run, const char *what, const struct gi_range *range,
                    size_t offset, const double *want, const double *bound, size_t n)
{
    float *found = kt_alloc(n, sizeof(*found));
    bool is_good = kt_read(run, range, offset, found, n * sizeof(*found)) &&
                   compare_values(run, what, found, want, bound, n);
    free(found);
    return is_good;
}

bool kt_compare_f16(struct kt_run *run, const char *what, const struct gi_range *range,
                    size_t offset, const double *want, const double *bound, size_t n)
{
    uint16_t *halves = kt_alloc(n + 1, sizeof(*halves));
    float *found = kt_alloc(n, sizeof(*found));
    bool is_good = kt_read(run, range, offset, halves, (n + 1) / 2 * sizeof(uint32_t));
    for (size_t i = 0; i < n; i++) {
        found[i] = gi_half_to_float(halves[i]);
    }
    is_good = is_good && compare_values(run, what, found, want, bound, n);
    free(found);
    free(halves);
    return is_good;
}

bool kt_compare_u32(struct kt_run *run, const char *what, const struct gi_range *range,
                    size_t offset, const uint32_t *want, size_t n)
{
    uint32_t *found = kt_alloc(n, sizeof(*found));
    bool is_good = kt_read(run, range, offset, found, n * sizeof(*found));
    for (size_t i = 0; is_good && i < n; i++) {
        if (found[i] != want[i]) {
            is_good = kt_fail(run, "%s[%zu] is %u, want %u", what, i, found[i], want[i]);
        }
    }
    free(found);
    return is_good;
}
