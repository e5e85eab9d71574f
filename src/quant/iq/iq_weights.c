#include "quant/iq/iq_grids.h"

uint8_t gi_even_signs(unsigned seven)
{
    unsigned parity = seven ^ seven >> 4;
    parity ^= parity >> 2;
    parity ^= parity >> 1;
    return (uint8_t)(seven | (parity & 1) << 7);
}

void gi_iq2_weights(unsigned point, unsigned signs, float d, float dst[8])
{
    static const float magnitudes[4] = {8, 25, 43, 0};
    for (size_t j = 0; j < 8; j++) {
        const float weight = d * magnitudes[gi_coordinate_of_8(point, j)];
        dst[j] = signs >> j & 1 ? -weight : weight;
    }
}

void gi_iq1_weights(unsigned point, float delta, float d, float dst[8])
{
    for (size_t j = 0; j < 8; j++) {
        dst[j] = d * ((float)(gi_coordinate_of_8(point, j) - 1) + delta);
    }
}
