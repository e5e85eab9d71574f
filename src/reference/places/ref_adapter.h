// The matrices B of low-rank adapters, as references of products read them.
#pragma once

#include "reference/reference.h"

// Computes the sum over j of B[row][j] * scales[j] * t[j] of a row of a part. The row's tile begins
// the words of `tile` (gi_ref_adapter_tile), and t all columns.
struct gi_ref_value gi_ref_adapter_row(const uint32_t *tile, uint32_t row, uint32_t rank,
                                       const float *scales, const float *t);
// Returns the words of the tile of a row, after word `adapter` of aux (binding 3); NULL with
// has_failed.
const uint32_t *gi_ref_adapter_tile(struct gi_ref *ref, uint64_t adapter, uint32_t row,
                                    uint32_t rank);
// Returns the floats of t for a number of matrices that a tile's words can name.
uint32_t gi_ref_adapter_columns(const uint32_t *tile, uint32_t row, uint32_t rank);
