// Shared by the IQ1, IQ2 and IQ3 types: their weights are points of a grid, eight or four at a
// time, times signs and scales. Private to this folder.
//
// A grid is uint32 [n_point / 2], the even point low. Of 8 coordinates of two bits coordinate j is
// at bit 4 (j % 4) + 2 (j / 4) of a point, of 4 coordinates of three bits at bit 4 j.
#pragma once

#include "quant/quant_table.h"

extern const uint32_t gi_iq2_xxs_grid[128];
extern const uint32_t gi_iq2_xs_grid[256];
extern const uint32_t gi_iq2_s_grid[512];
extern const uint32_t gi_iq3_xxs_grid[128];
extern const uint32_t gi_iq3_s_grid[256];
extern const uint32_t gi_iq1_s_grid[1024]; // of IQ1_M, too

static inline unsigned gi_grid_point(const uint32_t *grid, unsigned i)
{
    return grid[i / 2] >> 16 * (i % 2) & 0xFFFF;
}

// Return coordinate j of a point of eight and of four.
static inline int gi_coordinate_of_8(unsigned point, size_t j)
{
    return (int)(point >> (4 * (j % 4) + 2 * (j / 4)) & 3);
}

static inline int gi_coordinate_of_4(unsigned point, size_t j)
{
    return (int)(point >> 4 * j & 7);
}

// Returns eight signs from seven bits: the eighth makes the number of set bits even.
uint8_t gi_even_signs(unsigned seven);

// dst[j] = d * magnitude j of the point, negative where bit j of signs is set; magnitudes of IQ2
// are 8, 25 and 43.
void gi_iq2_weights(unsigned point, unsigned signs, float d, float dst[8]);

// dst[j] = d * (coordinate j - 1 + delta), of IQ1.
void gi_iq1_weights(unsigned point, float delta, float d, float dst[8]);
