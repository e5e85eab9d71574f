#include "ops/gemv/gemv_shape.h"

#include "base/round.h"
#include "gpu/device/settings.h"
#include "gpu/program/quarantine.h"
#include "ops/gemv/gemv.h"

// Reads what GLINFER_GEMV asks for. Returns false without it.
static bool is_shape_asked(const struct gi_gpu *gpu, struct gi_gemv_shape *shape)
{
    const struct gi_settings *settings = gi_gpu_settings(gpu);
    *shape = settings->gemv.shape;
    return settings->gemv.is_set;
}

// glsl/programs.def has the program with subgroups second, where forms have products in f16, a
// define.
_Static_assert(GI_PROGRAM_GEMV_QKV_TEXBITS - GI_PROGRAM_GEMV_QKV_SPLIT == GI_GEMV_FORM_TEXBITS,
               "forms are in the order of GI_PROGRAM_GEMV");

enum gi_program_id gi_gemv_program(const struct gi_gpu *gpu, enum gi_program_id first,
                                   const struct gi_gemv_shape *shape, uint32_t quant)
{
    if (gi_gemv_is_split(shape)) {
        return gi_program_available_for(gpu, first + 1, quant) ? first + 1 : first;
    }
    return first + (enum gi_program_id)shape->form;
}

static bool is_power(uint32_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

// A group that splits k has as many slices for each of its pairs. Reductions are over powers of
// two, of a subgroup's slices and of owners, rounded up. Slices of rows hand over their sums, of
// which each takes at most one.
static bool is_sound(const struct gi_gemv_shape *shape)
{
    const uint32_t wg_size = shape->wg_size, pairs = shape->pairs;
    if (pairs == 0 || pairs > 16) {
        return false;
    }
    if (!gi_gemv_is_split(shape)) {
        const uint32_t slices = gi_gemv_slices(shape);
        return is_power(wg_size) && is_power(pairs) && is_power(slices) && slices <= 64 &&
               wg_size >= 8 * slices && (slices == 1 || pairs <= slices);
    }
    const uint32_t n_slice = gi_gemv_slices(shape);
    return wg_size == 8 * pairs * n_slice &&
           (is_power(n_slice) || (n_slice > 0 && n_slice % 4 == 0)) &&
           (is_power(pairs) || n_slice > 1);
}

#define F16_BLOCK_SIZE 80   // of x as glsl/gemv/gemv_half.glsl keeps it
#define CODES_SIZE     2048 // of glsl/quant/codebook.glsl

// Partial sums, at most a pair and a number an invocation, and where subgroups do not add them up
// two numbers more of lib/reduce.glsl, 64 vec4 of glsl/gemv/gemv_group_sums.glsl, and at most 512
// bytes that owners of glsl/gemv/gemv_post.comp have and others have not.
static uint32_t partials_size(const struct gi_gpu *gpu, const struct gi_gemv_shape *shape)
{
    const bool has_subgroups = gi_program_available(gpu, GI_PROGRAM_GEMV_VOCAB_SUBGROUP);
    const bool is_shuffled = has_subgroups && shape->wg_size >= 32 * shape->pairs;
    return shape->wg_size * 12 + (is_shuffled ? 0 : shape->wg_size * 8 + 1536);
}

#define TABLES_SIZE 4096 // of glsl/gemv/gemv_fours.glsl
#define BYTE_X_SIZE 1088 // bytes of a slice in its form for Mali G

// Returns true if the form of types of one bit for V3D is asked for, whose tables are of all of k.
static bool has_tables(const struct gi_gemv_shape *shape, const struct gi_quant *quant)
{
    return quant->has_fours && shape->form == GI_GEMV_FORM_HALVES;
}

// Other classes use these sums only if GLINFER_GEMV asks for the form: by two without slices, by
// one with them, so that tests cover both.
enum gi_byte_sums gi_gemv_byte_sums(const struct gi_gpu *gpu, const struct gi_gemv_shape *shape,
                                    const struct gi_quant *quant)
{
    const enum gi_byte_sums byte_sums = gi_gpu_class(gpu)->byte_sums;
    if (!quant->has_fours || shape->form != GI_GEMV_FORM_BYTES || shape->pairs == 1) {
        return GI_BYTE_SUMS_NONE;
    }
    if (byte_sums == GI_BYTE_SUMS_NONE && gi_gpu_settings(gpu)->gemv.is_set) {
        return gi_gemv_slices(shape) == 1 ? GI_BYTE_SUMS_BY_TWO : GI_BYTE_SUMS_BY_ONE;
    }
    return byte_sums;
}

// Returns the bytes that the walk of types of one bit shares.
static uint32_t fours_size(const struct gi_gpu *gpu, const struct gi_gemv_shape *shape,
                           const struct gi_quant *quant)
{
    return has_tables(shape, quant)               ? TABLES_SIZE
           : gi_gemv_byte_sums(gpu, shape, quant) ? BYTE_X_SIZE * gi_gemv_slices(shape)
                                                  : 0;
}

// Returns the bytes of partial sums and codes, of the walk, and of glsl/gemv/gemv_sums.glsl and
// lib/reduce.glsl.
static uint32_t shared_size(const struct gi_gpu *gpu, const struct gi_gemv_shape *shape,
                            const struct gi_quant *quant)
{
    const uint32_t sums = gi_gemv_slices(shape) > 1 ? 8 * shape->pairs : 0;
    const uint32_t rows = shape->wg_size * (sums + 8) + 8 * gi_gemv_group_pairs(shape) * 4 +
                          fours_size(gpu, shape, quant);
    return gi_gemv_is_split(shape) ? partials_size(gpu, shape) + CODES_SIZE : rows;
}

static bool has_f16(const struct gi_recorder *recorder, const struct gi_weight_part *part)
{
    return part->quant->has_f16 && gi_gpu_limits(recorder->gpu)->keeps_half_denormals;
}

bool gi_gemv_takes_f16(const struct gi_recorder *recorder, const struct gi_weight_part *part)
{
    return recorder->is_half && has_f16(recorder, part);
}

// Returns true if the shape or GLINFER_GEMV asks for products in f16 and x fits shared memory.
static bool is_f16_possible(const struct gi_gemv_shape *shape, const struct gi_recorder *recorder,
                            const struct gi_weight_part *part, uint32_t n_block)
{
    const struct gi_settings *settings = gi_gpu_settings(recorder->gpu);
    return (recorder->is_half || settings->gemv.is_set) && has_f16(recorder, part) &&
           n_block * F16_BLOCK_SIZE + partials_size(recorder->gpu, shape) <=
               gi_gpu_limits(recorder->gpu)->max_shared_size;
}

// Returns true if an invocation of the form for Mali G has registers for the rows of several pairs:
// for nibbles or bytes with scales of their own and for bits, but neither for gates and ups of
// slices nor for experts.
static bool has_room(const struct gi_gemv_shape *shape, const struct gi_gpu *gpu,
                     enum gi_program_id first, const struct gi_quant *quant)
{
    const bool is_tight = first >= GI_PROGRAM_GEMV_EXPERT_GLU_SPLIT ||
                          (first == GI_PROGRAM_GEMV_GLU_SPLIT && gi_gemv_slices(shape) > 1);
    const bool is_small = quant->has_fours
                              ? gi_gemv_byte_sums(gpu, shape, quant) != GI_BYTE_SUMS_NONE
                              : quant->has_f16 && quant->quad_blocks == 1;
    return shape->form != GI_GEMV_FORM_BYTES || shape->pairs == 1 || (is_small && !is_tight);
}

static bool is_possible(const struct gi_gemv_shape *shape, const struct gi_recorder *recorder,
                        enum gi_program_id first, const struct gi_weight_part *part,
                        uint32_t n_block)
{
    const struct gi_gpu *gpu = recorder->gpu;
    const struct gi_limits *limits = gi_gpu_limits(gpu);
    const uint32_t type = part->quant->type;
    return is_sound(shape) && has_room(shape, gpu, first, part->quant) &&
           (first != GI_PROGRAM_GEMV_POST_SPLIT || !gi_gemv_has_dot(shape)) &&
           shape->wg_size <= limits->max_invocations &&
           shared_size(gpu, shape, part->quant) <= limits->max_shared_size &&
           (!has_tables(shape, part->quant) || gi_gemv_slices(shape) == 1) &&
           !gi_quarantine_find(gpu, gi_gemv_program(gpu, first, shape, type), type) &&
           (shape->form != GI_GEMV_FORM_HALVES || !limits->flushes_half_denormals) &&
           (shape->form != GI_GEMV_FORM_F16 || is_f16_possible(shape, recorder, part, n_block)) &&
           (!gi_gemv_has_texels(shape) || gi_weight_part_fits_texels(limits, part));
}

// Two share a scale word and the sums of x. V3D and Mali T have too few registers for two, Mali G
// for two of four rows. Slices are to be of one length.
uint32_t gi_gemv_blocks(const struct gi_gemv_shape *shape, const struct gi_quant *quant,
                        uint32_t n_block)
{
    if (quant->has_fours) {
        return 4;
    }
    const bool is_wide = (shape->form == GI_GEMV_FORM_BYTES && shape->pairs == 1 &&
                          (gi_gemv_slices(shape) == 1 || quant->has_f16)) ||
                         shape->form == GI_GEMV_FORM_TEXBITS;
    const uint32_t slices = gi_gemv_slices(shape);
    const bool is_even = n_block % (2 * slices) == 0 || n_block >= 8 * slices;
    return is_wide && n_block % 2 == 0 && is_even ? 2 : 1;
}

uint32_t gi_gemv_groups(const struct gi_gemv_shape *shape, uint32_t n_pair)
{
    if (!gi_gemv_is_split(shape)) {
        return gi_divide_up(n_pair, gi_gemv_group_pairs(shape));
    }
    uint32_t n_pass = gi_divide_up(n_pair, shape->pairs);
    return shape->max_groups ? gi_divide_up(n_pass, gi_divide_up(n_pass, shape->max_groups))
                             : n_pass;
}

bool gi_gemv_is_looping(const struct gi_gemv_shape *shape, uint32_t n_pair)
{
    return gi_gemv_is_split(shape) &&
           gi_gemv_groups(shape, n_pair) < gi_divide_up(n_pair, shape->pairs);
}

// Groups of 1,024 have registers for one block; where a slice of k has few blocks all are better
// loaded at once.
uint32_t gi_gemv_prefetch(const struct gi_gemv_shape *shape, uint32_t n_pair, uint32_t n_block)
{
    const uint32_t n_slice = gi_gemv_slices(shape);
    if (shape->form != GI_GEMV_FORM_F16 || n_block < 4 * n_slice ||
        gi_gemv_is_looping(shape, n_pair)) {
        return 0;
    }
    return shape->wg_size <= 512 && n_block % 2 == 0 ? 2 : 1;
}

uint32_t gi_gemv_partials(const struct gi_gemv_shape *shape, uint32_t n_pair)
{
    return gi_gemv_groups(shape, n_pair) * (shape->wg_size == 8 ? 8 : 1);
}

// The time that the end of a turn takes, in blocks of a pair.
#define TURN_END 40u

// Returns the time that a group's turns take, in blocks of a pair.
static uint32_t turns_cost(const struct gi_gemv_shape *shape, uint32_t n_pair, uint32_t n_block)
{
    const uint32_t n_turn = gi_divide_up(gi_divide_up(n_pair, shape->pairs), shape->max_groups);
    return n_turn * (shape->pairs * n_block + TURN_END);
}

// Returns the shape for a uniform list: as many pairs a turn as make all groups end together
// soonest.
static struct gi_gemv_shape pipelined_shape(const struct gi_recorder *recorder,
                                            enum gi_program_id first,
                                            const struct gi_weight_part *part, uint32_t n_block)
{
    struct gi_gemv_shape shape = {GI_GEMV_FORM_F16, recorder->form.group_size, 1,
                                  recorder->form.n_groups};
    const uint32_t n_pair = part->n_rows / 16;
    const uint32_t n_kept = n_block > GI_PIPELINE_BLOCKS ? GI_PIPELINE_BLOCKS : n_block;
    if (!recorder->is_half || !is_possible(&shape, recorder, first, part, n_kept)) {
        shape.form = GI_GEMV_FORM_SPLIT;
    }
    struct gi_gemv_shape other = shape;
    for (other.pairs = 2; other.pairs <= 8; other.pairs *= 2) {
        if (turns_cost(&other, n_pair, n_block) < turns_cost(&shape, n_pair, n_block)) {
            shape = other;
        }
    }
    return shape;
}

bool gi_gemv_is_pipelined(const struct gi_recorder *recorder)
{
    return gi_recorder_is_uniform(recorder) &&
           gi_program_available(recorder->gpu, GI_PROGRAM_GEMV_RESIDUAL_SUBGROUP);
}

// A group that has more than one block of its rows for a slice takes longer than the product beside
// which it works.
uint32_t gi_gemv_adapter_splits(const struct gi_recorder *recorder, const struct gi_weight *a)
{
    const uint32_t n_block = gi_weight_blocks(a), n_slice = recorder->form.group_size / 8;
    uint32_t n = 1;
    if (!gi_gemv_is_pipelined(recorder) || n_block <= n_slice || gi_weight_splits(a) > 1) {
        return 1;
    }
    while (n < GI_MAX_ADAPTER_SPLITS && n_block % (2 * n) == 0 && n_block / n > n_slice) {
        n *= 2;
    }
    return n_block / n <= n_slice && n * (a->n_rows / 16) <= recorder->form.n_groups ? n : 1;
}

bool gi_gemv_wants_sums(const struct gi_gpu *gpu)
{
    struct gi_gemv_shape shape;
    return gi_gemv_has_dot(is_shape_asked(gpu, &shape) ? &shape : &gi_gpu_class(gpu)->gemv->shape);
}

// Weights of one bit leave Adreno registers for four rows of an invocation.
static struct gi_gemv_shape close_shape(const struct gi_gemv_row *row, const struct gi_quant *quant,
                                        uint32_t n_pair)
{
    const struct gi_gemv_shape *shape = &row->shape;
    if (shape->pairs > 0) {
        const bool is_double = quant->has_fours && shape->form == GI_GEMV_FORM_TEXBITS &&
                               row->min_pair > 0 && n_pair >= 2 * row->min_pair;
        return (struct gi_gemv_shape){shape->form, shape->wg_size,
                                      is_double ? 2 * shape->pairs : shape->pairs,
                                      shape->max_groups};
    }
    const uint32_t pairs = gi_divide_up(n_pair, shape->max_groups);
    return (struct gi_gemv_shape){shape->form, shape->wg_size * pairs, pairs, 0};
}

// Returns the first row of the class that suits, else a plain form. Whatever is in quarantine then
// fails when its program is requested.
static struct gi_gemv_shape class_shape(const struct gi_recorder *recorder,
                                        enum gi_program_id first, const struct gi_weight_part *part,
                                        uint32_t n_block)
{
    static const struct gi_gemv_shape split = {GI_GEMV_FORM_SPLIT, 64, 1, 0};
    static const struct gi_gemv_shape row_form = {GI_GEMV_FORM_ROW, 64, 1, 0};
    const uint32_t n_pair = part->n_rows / 16;
    for (const struct gi_gemv_row *row = gi_gpu_class(recorder->gpu)->gemv; row->shape.wg_size > 0;
         row++) {
        const struct gi_gemv_shape shape = close_shape(row, part->quant, n_pair);
        if (n_pair >= row->min_pair && n_block >= row->min_block &&
            is_possible(&shape, recorder, first, part, n_block)) {
            return shape;
        }
    }
    return is_possible(&row_form, recorder, first, part, n_block) ? row_form : split;
}

static struct gi_gemv_shape find_shape(const struct gi_recorder *recorder,
                                       const struct gi_tuning_key *key, enum gi_program_id first,
                                       const struct gi_weight_part *part, uint32_t n_block)
{
    struct gi_gemv_shape shape;
    if (gi_recorder_is_uniform(recorder)) {
        return pipelined_shape(recorder, first, part, n_block);
    }
    if ((is_shape_asked(recorder->gpu, &shape) &&
         is_possible(&shape, recorder, first, part, n_block)) ||
        (gi_gemv_shape_parse(gi_tuning_find(recorder->tuning, key), &shape) &&
         is_possible(&shape, recorder, first, part, n_block))) {
        return shape;
    }
    return class_shape(recorder, first, part, n_block);
}

//-- candidates ------------------------------------------------------------------------------------

// Groups of rows that fill any GPU whose rows may be sliced.
#define FULL_GROUPS 128

// Shapes that differ from others in what the part's size makes of them.
static bool is_worthwhile(const struct gi_gemv_candidates *row, const struct gi_gemv_shape *shape,
                          uint32_t n_pair, uint32_t n_block)
{
    const uint32_t n_group = gi_gemv_groups(shape, n_pair);
    if (n_group < row->min_groups && shape->pairs > row->min_pairs) {
        return false;
    }
    const uint32_t n_slice = gi_gemv_slices(shape);
    if (!gi_gemv_is_split(shape)) {
        return n_slice == 1 || (gi_gemv_has_dot(shape) && 2 * n_slice <= n_block &&
                                n_group / n_slice < FULL_GROUPS);
    }
    return n_slice < 2 * n_block && (gi_gemv_is_looping(shape, n_pair) || shape->max_groups == 0);
}

static void offer(const struct gi_recorder *recorder, enum gi_program_id first,
                  const struct gi_weight_part *part, uint32_t n_block,
                  const struct gi_gemv_candidates *row, const struct gi_gemv_shape *shape,
                  struct gi_tuning_site *site)
{
    if (is_possible(shape, recorder, first, part, n_block) &&
        is_worthwhile(row, shape, part->n_rows / 16, n_block)) {
        char text[GI_TUNING_SHAPE_SIZE];
        gi_gemv_shape_write(shape, text, sizeof(text));
        gi_tuning_offer(site, text);
    }
}

static void offer_row(const struct gi_recorder *recorder, enum gi_program_id first,
                      const struct gi_weight_part *part, uint32_t n_block,
                      const struct gi_gemv_candidates *row, struct gi_tuning_site *site)
{
    static const uint32_t slices[3] = {0, 2, 4};
    const uint32_t *loops = gi_gpu_class(recorder->gpu)->loop_groups;
    const bool is_split = gi_gemv_is_split(&(struct gi_gemv_shape){.form = row->form});
    for (uint32_t wg_size = row->min_wg_size; wg_size <= row->max_wg_size; wg_size *= 2) {
        for (uint32_t pairs = row->min_pairs; pairs <= row->max_pairs; pairs *= 2) {
            for (int i = 0; i < 3; i++) {
                const uint32_t max_groups = !is_split ? slices[i] : i > 0 ? loops[i - 1] : 0;
                const struct gi_gemv_shape shape = {row->form, wg_size, pairs, max_groups};
                offer(recorder, first, part, n_block, row, &shape, site);
            }
        }
    }
}

static uint32_t note_site(const struct gi_recorder *recorder, const struct gi_tuning_key *key,
                          enum gi_program_id first, const struct gi_weight_part *part,
                          uint32_t n_block, const struct gi_gemv_shape *shape)
{
    struct gi_tuning_site *site;
    const struct gi_device_class *class = gi_gpu_class(recorder->gpu);
    const bool is_asked = gi_gpu_settings(recorder->gpu)->gemv.is_set;
    char text[GI_TUNING_SHAPE_SIZE];
    gi_gemv_shape_write(shape, text, sizeof(text));
    const uint32_t number = gi_tuning_note(recorder->sites, key, text, &site);
    for (uint32_t i = 0; site && !is_asked && i < class->n_gemv_candidates; i++) {
        offer_row(recorder, first, part, n_block, &class->gemv_candidates[i], site);
    }
    return number;
}

struct gi_gemv_shape gi_gemv_choose_shape(const struct gi_recorder *recorder,
                                          const struct gi_tuning_key *key, enum gi_program_id first,
                                          const struct gi_weight_part *part, uint32_t n_block,
                                          uint32_t *site)
{
    const struct gi_gemv_shape shape = find_shape(recorder, key, first, part, n_block);
    *site = recorder->sites ? note_site(recorder, key, first, part, n_block, &shape) : 0;
    return shape;
}
