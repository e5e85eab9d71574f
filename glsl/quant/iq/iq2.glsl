// IQ2_S, IQ2_XS and IQ2_XXS: weight = +- d * a function of a coordinate, four points of the grid a
// block.
struct QuantBlock {
    uvec2 points; // four
    uint signs;
    vec2 d; // of the first 16 weights and of the last
};

#include "quant/grid.glsl"

vec4 quant_values(QuantBlock w, int k)
{
    vec4 c = coordinates_of_8(w.points, k);
    return flip_signs(8.0 + c * (16.5 + 0.5 * c), w.signs, k); // 8, 25, 43
}
