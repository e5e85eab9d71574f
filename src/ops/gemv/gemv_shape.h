// Chooses how the projections of a decode step are spread over invocations: from GLINFER_GEMV, the
// device's tuning, or the table of its class. Internal to ops/.
#pragma once

#include "gpu/device/device_class.h"
#include "ops/record/recorder.h"
#include "ops/record/weight.h"

// Blocks of x, as pairs of f16, that the pipelined form keeps in shared memory at a time: 20 KiB.
#define GI_PIPELINE_BLOCKS 256u

// Chooses the shape of a part: the first of GLINFER_GEMV, the recorder's tuning for the key and the
// class table that the device can run and that is not blocklisted (gpu/program/quarantine.h).
// first is the kernel's first program. Sets *site to the number of the tuning site, or to 0 if the
// recorder collects none.
struct gi_gemv_shape gi_gemv_choose_shape(const struct gi_recorder *recorder,
                                          const struct gi_tuning_key *key, enum gi_program_id first,
                                          const struct gi_weight_part *part, uint32_t n_block,
                                          uint32_t *site);

// Returns the program of a shape for weights of a type; for a form that splits k, the program with
// subgroups if the device has them.
enum gi_program_id gi_gemv_program(const struct gi_gpu *gpu, enum gi_program_id first,
                                   const struct gi_gemv_shape *shape, uint32_t quant);

// Returns true if the part's products may be in f16. Its shapes are then tuned separately.
bool gi_gemv_takes_f16(const struct gi_recorder *recorder, const struct gi_weight_part *part);

// Returns true if projections use glsl/gemv/gemv_pipeline.glsl: the list is uniform and the device
// has subgroups.
bool gi_gemv_is_pipelined(const struct gi_recorder *recorder);

// Returns true if k is split across lanes.
static inline bool gi_gemv_is_split(const struct gi_gemv_shape *shape)
{
    return shape->form == GI_GEMV_FORM_SPLIT || shape->form == GI_GEMV_FORM_F16;
}
static inline bool gi_gemv_has_dot(const struct gi_gemv_shape *shape)
{
    return shape->form >= GI_GEMV_FORM_HALVES && shape->form <= GI_GEMV_FORM_TEXBITS;
}
static inline bool gi_gemv_has_texels(const struct gi_gemv_shape *shape)
{
    return shape->form == GI_GEMV_FORM_TEXEL || shape->form == GI_GEMV_FORM_TEXBITS;
}
// Returns the number of invocations that share the k of a row.
static inline uint32_t gi_gemv_slices(const struct gi_gemv_shape *shape)
{
    return gi_gemv_is_split(shape) ? shape->wg_size / (8 * shape->pairs)
           : shape->max_groups > 0 ? shape->max_groups
                                   : 1;
}
// Returns the pairs of a group.
static inline uint32_t gi_gemv_group_pairs(const struct gi_gemv_shape *shape)
{
    return gi_gemv_is_split(shape) ? shape->pairs
                                   : shape->wg_size / 8 * shape->pairs / gi_gemv_slices(shape);
}
// Returns how an invocation of the shape adds up products with weights of one bit if it takes four
// rows or more.
enum gi_byte_sums gi_gemv_byte_sums(const struct gi_gpu *gpu, const struct gi_gemv_shape *shape,
                                    const struct gi_quant *quant);
// Returns the blocks that an invocation adds in one iteration of its loop.
uint32_t gi_gemv_blocks(const struct gi_gemv_shape *shape, const struct gi_quant *quant,
                        uint32_t n_block);
// Returns the groups of a part of n_pair pairs.
uint32_t gi_gemv_groups(const struct gi_gemv_shape *shape, uint32_t n_pair);
// Returns true if a group loops over pairs because max_groups is too small for one pass.
bool gi_gemv_is_looping(const struct gi_gemv_shape *shape, uint32_t n_pair);
// Returns the blocks that a slice of k prefetches while it computes as many others; 0: no prefetch
// (glsl/gemv/gemv_prefetch.glsl).
uint32_t gi_gemv_prefetch(const struct gi_gemv_shape *shape, uint32_t n_pair, uint32_t n_block);
// Returns the partial results of a reduction over a part: one a group, or one an invocation if
// groups are too small for a barrier to pay.
uint32_t gi_gemv_partials(const struct gi_gemv_shape *shape, uint32_t n_pair);
