// Chooses how the projections of a decode step are spread over invocations: by GLINFER_GEMV, what
// was tuned on the device, or the table of its class. Internal to ops/.
#ifndef GI_OPS_GEMV_SHAPE_H
#define GI_OPS_GEMV_SHAPE_H

#include "gpu/device/kernel_shape.h"
#include "ops/record/recorder.h"
#include "ops/record/weight.h"

// Blocks of x in pairs of halves that the pipelined form has in shared memory at a time: 20 KiB.
#define GI_PIPELINE_BLOCKS 256u

// Chooses the shape of a part: GLINFER_GEMV, else what the recorder's tuning has for the key, else
// the class table's; what the device cannot run, or must not (gpu/program/quarantine.h), is passed
// over. first is the kernel's first program. Where the recorder collects sites *site is set to the
// number of this one, else to 0.
struct gi_gemv_shape gi_gemv_choose_shape(const struct gi_recorder *recorder,
                                          const struct gi_tuning_key *key, enum gi_program_id first,
                                          const struct gi_weight_part *part, uint32_t n_block,
                                          uint32_t *site);

// Returns the program of a shape for weights of a type: of a form that splits k that with subgroups
// where the device has them.
enum gi_program_id gi_gemv_program(const struct gi_gpu *gpu, enum gi_program_id first,
                                   const struct gi_gemv_shape *shape, uint32_t quant);

// True if the part's products may be in f16. Its shapes are then tuned apart from those in f32.
bool gi_gemv_takes_f16(const struct gi_recorder *recorder, const struct gi_weight_part *part);

// True if the list is uniform and the device has subgroups: projections take the form of
// glsl/gemv/gemv_pipeline.glsl.
bool gi_gemv_is_pipelined(const struct gi_recorder *recorder);

// True if k is split across lanes.
static inline bool gi_gemv_is_split(const struct gi_gemv_shape *shape)
{
    return shape->form == GI_GEMV_FORM_SPLIT || shape->form == GI_GEMV_FORM_F16 ||
           shape->form == GI_GEMV_FORM_EIGHTS;
}
static inline bool gi_gemv_has_dot(const struct gi_gemv_shape *shape)
{
    return shape->form >= GI_GEMV_FORM_HALVES && shape->form <= GI_GEMV_FORM_TEXBITS;
}
static inline bool gi_gemv_has_texels(const struct gi_gemv_shape *shape)
{
    return shape->form == GI_GEMV_FORM_TEXEL || shape->form == GI_GEMV_FORM_TEXBITS;
}
// Invocations that share the k of a row.
static inline uint32_t gi_gemv_slices(const struct gi_gemv_shape *shape)
{
    return gi_gemv_is_split(shape) ? shape->wg_size / (8 * shape->pairs)
           : shape->max_groups > 0 ? shape->max_groups
                                   : 1;
}
// Pairs of a group.
static inline uint32_t gi_gemv_group_pairs(const struct gi_gemv_shape *shape)
{
    return gi_gemv_is_split(shape) ? shape->pairs
                                   : shape->wg_size / 8 * shape->pairs / gi_gemv_slices(shape);
}
// Blocks that an invocation adds in a turn of its loop.
uint32_t gi_gemv_blocks(const struct gi_gemv_shape *shape, const struct gi_quant *quant,
                        uint32_t n_block);
// Groups of a part of n_pair pairs.
uint32_t gi_gemv_groups(const struct gi_gemv_shape *shape, uint32_t n_pair);
// True if a group takes pairs again and again: max_groups are too few for one pass.
bool gi_gemv_is_looping(const struct gi_gemv_shape *shape, uint32_t n_pair);
// Blocks that a slice of k loads before it works on as many others, 0: it does not.
// glsl/gemv/gemv_prefetch.glsl.
uint32_t gi_gemv_prefetch(const struct gi_gemv_shape *shape, uint32_t n_pair, uint32_t n_block);
// Results of a reduction that a part leaves: one a group, or, where groups are too small for a
// barrier to pay, one an invocation.
uint32_t gi_gemv_partials(const struct gi_gemv_shape *shape, uint32_t n_pair);

#endif
