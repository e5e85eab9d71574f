// Packs rows of activations from f32 to f16 in place, which halves the loads of products in f32 on
// GPUs of boards (glsl/gemm/packed_rows.glsl).
#pragma once

#include "ops/record/recorder.h"
#include "ops/record/weight.h"

// Returns true if rows with is_half are packed rows in the device's form of a prompt; else they are
// tiles (ops/gemm/half_rows.h).
bool gi_rows_are_packed(const struct gi_gpu *gpu, const struct gi_rows *rows);

// Packs rows of a width, a multiple of 4, as inputs of a weight and sets rows->is_half, if the
// recorder asks for it, the weight is of q4_0, q4_1 or q4_k (their products do not spill
// registers), the device's form of a prompt has products of packed rows, and the rows have room for
// more tokens than a small batch. Else, or if the rows are in f16, does nothing. Only products may
// read packed rows.
void gi_op_pack_rows(struct gi_recorder *recorder, const char *label, struct gi_rows *rows,
                     uint32_t width, const struct gi_weight *weight);
