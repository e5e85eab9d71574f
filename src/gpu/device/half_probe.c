#include "gpu/device/half_probe.h"

#include "base/clock.h"
#include "gpu/device/gpu_private.h"
#include "gpu/dispatch/dispatch_replay.h"
#include "gpu/dispatch/dispatch_table.h"

#include <math.h>
#include <string.h>

#define BLOCK     32
#define N_WORDS   (8 + 2 * BLOCK)
#define N_ANSWERS 4
#define WG_SIZE   128

// f16 bits.
#define HALF_ONE      0x3C00u
#define HALF_2_M12    0x0C00u
#define HALF_DENORMAL 0x0001u
#define HALF_2_14     0x7400u
#define HALF_FACTOR   0x3BFFu // 1 - 2^-11
#define HALF_ADDEND   0x1400u // 2^-10

struct probe {
    struct gi_gpu *gpu;
    struct gi_program_table *programs;
    struct gi_buffer x, y;
    struct gi_dispatch_table *tables[2]; // highp, mediump
    struct glinfer_error err;            // the first; nothing runs after that
};

static uint32_t pair_of(uint32_t half)
{
    return half | half << 16;
}

// Returns a multiple of 1/64 within 1, which f16 holds exactly.
static double block_value(uint32_t i)
{
    return ((int32_t)(i * 37 % 128) - 64) / 64.0;
}

static uint32_t block_half(uint32_t i)
{
    int exponent;
    double mantissa = frexp(fabs(block_value(i)), &exponent);
    if (mantissa == 0) {
        return 0;
    }
    return (block_value(i) < 0 ? 0x8000u : 0) | (uint32_t)(exponent + 14) << 10 |
           ((uint32_t)(mantissa * 2048) & 0x3FFu);
}

static void build(struct probe *probe, int is_half)
{
    const struct gi_dispatch_table_params params = {0};
    const struct gi_program_key key = {
        .id = GI_PROGRAM_PROBE_HALF,
        .quant = GI_QUANT_NONE,
        .n_defines = 1,
        .defines = {{"HALF", is_half}},
    };
    struct gi_dispatch dispatch = {
        .label = "probe_half",
        .bindings = {{&probe->y, 0, probe->y.size}, {&probe->x, 0, probe->x.size}},
        .writes = 1u << 0,
        .grid = {.size = {probe->gpu->class->probe_groups, 1, 1}},
    };
    if (probe->err.status) {
        return;
    }
    probe->tables[is_half] =
        gi_dispatch_table_create(probe->gpu, probe->programs, &params, &probe->err);
    if (probe->tables[is_half] &&
        gi_program_table_request(probe->programs, &key, &dispatch.program, &probe->err)) {
        gi_dispatch_table_record(probe->tables[is_half], &dispatch);
        (void)(gi_program_table_build(probe->programs, NULL, NULL, &probe->err) &&
               gi_dispatch_table_seal(probe->tables[is_half], &probe->err));
    }
}

// Nothing else lives on the device that an error could have touched.
static void replay_probe(struct probe *probe, int is_half)
{
    const struct gi_replay replay = {.n_tokens = 1};
    if (!probe->err.status) {
        gi_dispatch_table_replay(probe->tables[is_half], &replay);
        probe->gpu->has_work = false;
    }
}

static void write_words(struct probe *probe, uint32_t n_round)
{
    uint32_t words[N_WORDS] = {n_round,
                               pair_of(HALF_ONE),
                               pair_of(HALF_2_M12),
                               pair_of(HALF_DENORMAL),
                               pair_of(HALF_2_14),
                               pair_of(HALF_FACTOR),
                               pair_of(HALF_ADDEND)};
    for (uint32_t i = 0; i < 2 * BLOCK; i++) {
        words[8 + i] = block_half(2 * i) | block_half(2 * i + 1) << 16;
    }
    if (!probe->err.status) {
        gi_buffer_write(&probe->x, probe->gpu, 0, words, sizeof(words), &probe->err);
    }
}

//-- what mediump is -------------------------------------------------------------------------------

// Returns true if the dot product is right to within its roundings.
static bool is_block_right(double found)
{
    double sum = 0, magnitude = 0;
    for (uint32_t i = 0; i < 2 * BLOCK; i++) {
        double product = block_value(i) * block_value(2 * BLOCK + i);
        sum += product;
        magnitude += fabs(product);
    }
    return fabs(found - sum) <= 2 * BLOCK * ldexp(magnitude, -11);
}

static void find_answers(struct probe *probe, bool *is_half, bool *keeps_denormals)
{
    float answers[N_ANSWERS] = {0};
    write_words(probe, 0);
    if (!probe->err.status && gi_run_count_begin(probe->gpu, &probe->err)) {
        replay_probe(probe, 1);
    }
    if (probe->err.status || !gi_run_count_probe(probe->gpu, &probe->err) ||
        !gi_buffer_read(&probe->y, probe->gpu, 0, answers, sizeof(answers), &probe->err)) {
        return;
    }
    const bool is_computed = is_block_right((double)answers[2]);
    probe->gpu->limits.flushes_half_denormals = is_computed && answers[3] != 1.0f;
    *is_half = answers[0] == 1.0f && is_computed;
    *keeps_denormals = answers[1] == 0x1p-10f;
    gi_log_write(gi_gpu_log(probe->gpu), GLINFER_LOG_DEBUG,
                 "mediump is %s (%.9g, %.9g), denormals %s", *is_half ? "f16" : "not f16",
                 (double)answers[0], (double)answers[2], *keeps_denormals ? "kept" : "flushed");
}

//-- how fast it is --------------------------------------------------------------------------------

static uint64_t time_replays(struct probe *probe, int is_half, uint32_t count)
{
    const uint64_t begin = gi_clock_ns();
    for (uint32_t i = 0; i < count; i++) {
        replay_probe(probe, is_half);
    }
    if (!probe->err.status) {
        gi_gpu_finish(probe->gpu, &probe->err);
    }
    return gi_clock_ns() - begin;
}

struct rate {
    uint32_t count;   // of replays that are timed together
    uint64_t best[2]; // ns that they took at least: in f32, in f16
    bool is_steady;   // the last turns took about as long each
    uint64_t end_ns;  // of the clock: nothing is timed any more
};

static bool is_over(const struct probe *probe, const struct rate *rate)
{
    return probe->err.status || gi_clock_ns() >= rate->end_ns;
}

// Finds how many replays are long enough to be timed. Each number is timed itself: one replay may
// have taken no time because it was lost.
static void choose_count(struct probe *probe, struct rate *rate)
{
    enum { LONG_NS = 1500000, MOST = 256 };
    time_replays(probe, 0, 1); // the first is slow
    rate->count = 1;
    while (time_replays(probe, 0, rate->count) < LONG_NS && rate->count < MOST &&
           !is_over(probe, rate)) {
        rate->count *= 2;
    }
}

// Times both in turns, so that they see the same clocks, which a device raises only under load.
static void take_turns(struct probe *probe, struct rate *rate)
{
    enum { N_TURN = 5 };
    uint64_t worst[2] = {0};
    for (int i = 0; i < 2 * N_TURN && (i < 2 || !is_over(probe, rate)); i++) {
        const uint64_t ns = time_replays(probe, i % 2, rate->count);
        rate->best[i % 2] = ns < rate->best[i % 2] ? ns : rate->best[i % 2];
        worst[i % 2] = ns > worst[i % 2] ? ns : worst[i % 2];
    }
    rate->is_steady = worst[0] * 2 < rate->best[0] * 3 && worst[1] * 2 < rate->best[1] * 3;
}

// Measures again while times vary: other processes that use the GPU distort the comparison.
static bool is_faster(struct probe *probe)
{
    enum { N_ROUND = 64, N_TRY = 4, MOST_MS = 300 };
    struct rate rate = {.best = {UINT64_MAX, UINT64_MAX}};
    bool is_fast = false;
    build(probe, 0);
    write_words(probe, N_ROUND);
    rate.end_ns = gi_clock_ns() + MOST_MS * UINT64_C(1000000);
    choose_count(probe, &rate);
    for (int i = 0; i < N_TRY && !is_fast && !rate.is_steady && (i == 0 || !is_over(probe, &rate));
         i++) {
        take_turns(probe, &rate);
        is_fast = rate.best[1] * 5 < rate.best[0] * 4;
    }
    if (!probe->err.status) {
        gi_log_write(gi_gpu_log(probe->gpu), GLINFER_LOG_DEBUG,
                     "mediump is %.2f times as fast as f32",
                     (double)rate.best[0] / (double)rate.best[1]);
    }
    return is_fast;
}

static void find_out(struct probe *probe)
{
    struct gi_limits *limits = &probe->gpu->limits;
    bool is_half = false, keeps_denormals = false;
    const uint64_t n_y = N_ANSWERS + (uint64_t)WG_SIZE * probe->gpu->class->probe_groups;
    if (gi_buffer_init(&probe->x, probe->gpu, N_WORDS * sizeof(uint32_t), "probe x", &probe->err) &&
        gi_buffer_init(&probe->y, probe->gpu, n_y * sizeof(float), "probe y", &probe->err)) {
        build(probe, 1);
        find_answers(probe, &is_half, &keeps_denormals);
    }
    const bool is_fast = is_half && is_faster(probe);
    if (!probe->err.status) {
        limits->has_fast_half = is_fast;
        limits->keeps_half_denormals = is_half && keeps_denormals;
    }
}

bool gi_half_probe(struct gi_gpu *gpu, struct gi_program_table *programs, struct glinfer_error *err)
{
    struct probe probe = {.gpu = gpu, .programs = programs};
    const struct gi_settings *settings = gi_gpu_settings(gpu);
    gpu->limits.has_fast_half = settings->half == GI_CHOICE_YES;
    gpu->limits.keeps_half_denormals = settings->half == GI_CHOICE_YES;
    if (settings->half != GI_CHOICE_NONE || settings->limits.is_es31 ||
        (gi_gpu_quirks(gpu) & GI_QUIRK_NO_HALF)) {
        return true;
    }
    find_out(&probe);
    gi_dispatch_table_destroy(probe.tables[0]);
    gi_dispatch_table_destroy(probe.tables[1]);
    gi_buffer_finish(&probe.x, gpu);
    gi_buffer_finish(&probe.y, gpu);
    if (probe.err.status == GLINFER_STATUS_DRIVER) {
        gi_program_table_forget(programs);
        gpu->limits.flushes_half_denormals = true; // it may
        gi_log_write(gi_gpu_log(gpu), GLINFER_LOG_INFO, "no halves: %s", probe.err.message);
        return true;
    }
    return !probe.err.status || gi_error_pass(err, &probe.err);
}
