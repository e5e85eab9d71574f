#include "ops/sample/sample.h"

#include "base/round.h"
#include "glsl/sample/sample_params.h"

#include <assert.h>

//-- sizes of groups -------------------------------------------------------------------------------

// The sizes of groups that GI_PROGRAM_SIZES names programs for, in their order.
static const uint32_t sizes[] = {64, 128, 256, 512, 1024};
#define N_SIZE (sizeof(sizes) / sizeof(sizes[0]))

// Returns the place in `sizes` of the largest that is at most `size` and has a program, else of the
// smallest that is larger; first is the program of the smallest.
static uint32_t choose_size(const struct gi_gpu *gpu, enum gi_program_id first, uint32_t size)
{
    uint32_t i = N_SIZE - 1;
    while (i > 0 && (sizes[i] > size || !gi_program_available(gpu, first + i))) {
        i--;
    }
    while (i + 1 < N_SIZE && !gi_program_available(gpu, first + i)) {
        i++;
    }
    return i;
}

//-- dispatches ------------------------------------------------------------------------------------

// A dispatch of a kernel: what it writes of the ring and the logits, and whether it advances
// step_state.
struct shape {
    const char *label;
    enum gi_program_id first; // the kernel's program of the smallest groups
    uint32_t size, n_groups;
    uint32_t writes;
    bool is_end, has_probs;
};

// Chooses the groups that look through all logits. Each looks at all partial results: no more
// groups than keep the device busy. The recording fails if the vocabulary is too large.
static void choose_groups(const struct gi_recorder *recorder, const struct gi_logits *logits,
                          struct shape *shape)
{
    const struct gi_device_class *class = gi_gpu_class(recorder->gpu);
    const uint32_t n_groups = gi_recorder_n_groups(recorder, class->sample.n_groups);
    shape->size = gi_recorder_wg_size(recorder, class->sample.size);
    const uint32_t useful = (logits->n_vocab + shape->size - 1) / shape->size;
    shape->n_groups = useful < n_groups ? useful : n_groups;
    if (logits->n_vocab >= GI_MAX_VOCAB) {
        gi_recorder_refuse(recorder, "%s: a vocabulary of %u tokens, and at most %u are possible",
                           shape->label, logits->n_vocab, GI_MAX_VOCAB - 1);
    }
}

static void record(struct gi_recorder *recorder, const struct gi_logits *logits,
                   const struct gi_step_buffers *step, const struct shape *shape)
{
    assert(logits->n_partial > 0 && logits->n_partial <= logits->max_partial);
    assert(logits->partial % 4 == 0 && logits->partial >= logits->n_vocab);
    const bool has_counts = shape->is_end && step->counts.buffer;
    const uint32_t size = choose_size(recorder->gpu, shape->first, shape->size);
    const struct gi_program_key key =
        GI_KEY(shape->first + size, {"HAS_COUNTS", has_counts}, {"PROBS", shape->has_probs});
    const struct gi_argmax_params params = {.n_vocab = logits->n_vocab,
                                            .n_partial = logits->n_partial,
                                            .partial = logits->partial,
                                            .scratch = logits->scratch};
    struct gi_dispatch dispatch = {
        .label = shape->label,
        .bindings = {step->ring, logits->range, step->state},
        .writes = shape->writes | (shape->is_end ? 0x4u : 0) | (has_counts ? 0x8u : 0),
        .writes_state = shape->is_end,
        .wg_size = sizes[size],
        GI_PARAMS_OF(params),
        .grid = {.size = {shape->n_groups, 1, 1}, .rule = GI_GRID_FIXED},
    };
    if (has_counts) {
        dispatch.bindings[3] = step->counts;
    }
    gi_recorder_add(recorder, &key, &dispatch);
}

//-- logits that are adjusted before ---------------------------------------------------------------

uint64_t gi_adjust_layout(struct gi_adjust *adjust, uint32_t n_vocab, uint32_t n_ctx)
{
    adjust->bias = (uint32_t)gi_round_up(n_vocab, 64);
    adjust->mask = 2 * adjust->bias;
    adjust->window = adjust->mask + (uint32_t)gi_round_up(gi_divide_up(n_vocab, 32), 64);
    adjust->n_slot = n_ctx + 1;
    return ((uint64_t)adjust->window + adjust->n_slot) * sizeof(uint32_t);
}

// Partial results that a small top_k is found by, of all groups together.
#define N_PARTIAL 1024

static uint32_t choose_n_part(const struct gi_logits *logits, uint32_t n_groups, uint32_t size)
{
    const uint32_t most = logits->max_partial < N_PARTIAL ? logits->max_partial : N_PARTIAL;
    uint32_t n = 1;
    while (2 * n * n_groups <= most && 2 * n <= size) {
        n *= 2;
    }
    return n;
}

void gi_op_adjust(struct gi_recorder *recorder, const struct gi_adjust *adjust,
                  struct gi_logits *logits, const struct gi_step_buffers *step)
{
    struct shape shape = {.label = "adjust", .first = GI_PROGRAM_ADJUST_64};
    choose_groups(recorder, logits, &shape);
    const uint32_t size = choose_size(recorder->gpu, shape.first, shape.size);
    const uint32_t n_part = choose_n_part(logits, shape.n_groups, sizes[size]);
    const struct gi_program_key key = {.id = shape.first + size, .quant = GI_QUANT_NONE};
    const struct gi_adjust_params params = {.n_vocab = logits->n_vocab,
                                            .partial = logits->partial,
                                            .n_part = n_part,
                                            .bias = adjust->bias,
                                            .mask = adjust->mask,
                                            .window = adjust->window,
                                            .n_slot = adjust->n_slot};
    struct gi_dispatch dispatch = {
        .label = shape.label,
        .bindings = {adjust->range, logits->range, step->state},
        .writes = 0x3,
        .wg_size = sizes[size],
        GI_PARAMS_OF(params),
        .runtime_params = GI_PARAM_BIT(struct gi_adjust_params, n_slot),
        .grid = {.size = {shape.n_groups, 1, 1}, .rule = GI_GRID_FIXED},
    };
    logits->n_partial = shape.n_groups * n_part;
    gi_recorder_add(recorder, &key, &dispatch);
}

//-- the ends of a step ----------------------------------------------------------------------------

void gi_op_argmax(struct gi_recorder *recorder, const struct gi_logits *logits,
                  const struct gi_step_buffers *step)
{
    const uint32_t usual = gi_gpu_class(recorder->gpu)->sample.argmax_size;
    const struct shape shape = {.label = "argmax",
                                .first = GI_PROGRAM_ARGMAX_64,
                                .size = gi_recorder_wg_size(recorder, usual),
                                .n_groups = 1,
                                .writes = 0x1,
                                .is_end = true};
    record(recorder, logits, step, &shape);
}

void gi_op_sample_small_k(struct gi_recorder *recorder, const struct gi_logits *logits,
                          const struct gi_step_buffers *step)
{
    struct shape shape = {
        .label = "top_k", .first = GI_PROGRAM_TOP_K_64, .writes = 0x3, .is_end = true};
    choose_groups(recorder, logits, &shape);
    record(recorder, logits, step, &shape);
}

void gi_op_sample_full(struct gi_recorder *recorder, const struct gi_logits *logits,
                       const struct gi_step_buffers *step)
{
    struct shape bins = {.label = "full_bins", .first = GI_PROGRAM_FULL_BINS_64, .writes = 0x2};
    struct shape sample = {
        .label = "full_sample", .first = GI_PROGRAM_FULL_SAMPLE_64, .writes = 0x3, .is_end = true};
    choose_groups(recorder, logits, &bins);
    choose_groups(recorder, logits, &sample);
    record(recorder, logits, step, &bins);
    record(recorder, logits, step, &sample);
}

void gi_op_probs(struct gi_recorder *recorder, const struct gi_logits *logits,
                 const struct gi_step_buffers *step)
{
    struct shape probs = {
        .label = "top_k", .first = GI_PROGRAM_TOP_K_64, .writes = 0x3, .has_probs = true};
    choose_groups(recorder, logits, &probs);
    record(recorder, logits, step, &probs);
}

void gi_op_sample_probs(struct gi_recorder *recorder, const struct gi_logits *logits,
                        const struct gi_step_buffers *step)
{
    gi_op_probs(recorder, logits, step);
    gi_op_sample_full(recorder, logits, step);
}
