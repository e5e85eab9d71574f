#version 310 es
#define WG_SIZE 64
precision highp float;
layout(local_size_x = WG_SIZE) in;
#ifdef STEP_STATE_WRITTEN
layout(std430, binding = 2) restrict buffer StepState
#else
layout(std140, binding = 1) uniform StepState
#endif
{
    uint token, n_past;
} state;
layout(std140, binding = 0) uniform Params
{
    uint n_row, begin; // of the part
    float scale;
} params;
layout(std430, binding = 0) restrict writeonly buffer Dst { float dst[]; };
layout(std430, binding = 1) restrict readonly buffer Source { vec4 source[]; };
struct Item {
    uint key, sum;
};
layout(std430, binding = 3) restrict buffer Ring { Item ring[]; };
#define SOURCE params.begin
#ifdef SLOT
#define state states[SLOT]
#endif
#define second(i) \
    source[(i) + 1u]
shared float sums[WG_SIZE];
const float half_scale = 0.5;
float sum = 0.0, best = max(-1.0, -2.0); // of this invocation
vec4 load(uint i);
vec4 load(uint i)
{
    return source[SOURCE + (i == 0u ? 1u : 2u)] * params.scale;
}
float early;
#define STAGE_PREFETCH
void prefetch()
{
    early = half_scale;
}
void main()
{
    sums[gl_LocalInvocationIndex] = load(gl_WorkGroupID.x).x * half_scale;
    dst[uint(sums[0]) + params.n_row] = sum + source[state.n_past].x;
    ring[state.token % 4u].sum = ring[0].key;
}
