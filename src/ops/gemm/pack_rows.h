// Rows of activations that are packed as f16 where they lay in f32, for products in f32 on GPUs of
// boards (glsl/gemm/packed_rows.glsl): half the loads.
#ifndef GI_OPS_PACK_ROWS_H
#define GI_OPS_PACK_ROWS_H

#include "ops/record/recorder.h"
#include "ops/record/weight.h"

// True if rows that say is_half are packed, on the device's form of a prompt; else they are those
// of ops/gemm/half_rows.h.
bool gi_rows_are_packed(const struct gi_gpu *gpu, const struct gi_rows *rows);

// Packs rows of a width, a multiple of 4, as inputs of a weight if the recorder wants that, the
// weight is of q4_0, q4_1 or q4_k, with which no product spills registers, the device's form of a
// prompt has products of them, and the rows have room for more tokens than a small batch; else does
// nothing, as it does with rows that are in f16 already. rows->is_half says which. Nothing but
// products may read packed rows.
void gi_op_pack_rows(struct gi_recorder *recorder, const char *label, struct gi_rows *rows,
                     uint32_t width, const struct gi_weight *weight);

#endif
