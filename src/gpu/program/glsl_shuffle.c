#include "gpu/program/glsl_shuffle.h"

// One array holds values of every type by their bits.
#define SHUFFLE(type, to_bits, from_bits, part)                                                    \
    "highp " type " subgroupShuffleXor(highp " type " x, highp uint n) { "                         \
    "barrier(); "                                                                                  \
    "shuffled[gl_LocalInvocationIndex]" part " = " to_bits "(x); "                                 \
    "memoryBarrierShared(); barrier(); "                                                           \
    "return " from_bits "(shuffled[gl_LocalInvocationIndex ^ n]" part "); } "

const char gi_glsl_shuffle_head[] =
    "shared highp uvec4 shuffled[SHUFFLED]; " // line breaks would move the kernel's lines
    SHUFFLE("float", "floatBitsToUint", "uintBitsToFloat", ".x") //
    SHUFFLE("vec2", "floatBitsToUint", "uintBitsToFloat", ".xy") //
    SHUFFLE("vec4", "floatBitsToUint", "uintBitsToFloat", "")    //
    SHUFFLE("uint", "uint", "uint", ".x");
