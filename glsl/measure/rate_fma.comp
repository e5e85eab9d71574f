// y[j] = the sum of 16 numbers x after n_round rounds of eight steps x <- x * factor + addend,
// begun at (j mod 16) / 16 + 0, 1 ... 15: how many multiply-adds a second the device does.
//
//   y  (n)  f32, written
//
// An invocation owns one j: 16 chains of multiply-adds that do not wait for each other, which fills
// the pipelines of every GPU known to us. 256 flops a round; nothing is read. Factor and addend
// come from Params, so that no compiler sees where the chains end.
#include "lib/common.glsl"
#include "lib/group.glsl"

layout(std430, binding = 0) restrict writeonly buffer Sums { float y[]; };

#include "params/rate_fma.glsl"

void main()
{
    float start = float(gl_GlobalInvocationID.x & 15u) * 0.0625;
    vec4 a = vec4(start) + vec4(0.0, 1.0, 2.0, 3.0);
    vec4 b = a + 4.0;
    vec4 c = a + 8.0;
    vec4 d = a + 12.0;
    for (uint i = 0u; i < params.n_round; i++) {
#define STEP                                                                                       \
    a = a * params.factor + params.addend;                                                         \
    b = b * params.factor + params.addend;                                                         \
    c = c * params.factor + params.addend;                                                         \
    d = d * params.factor + params.addend;
        STEP STEP STEP STEP STEP STEP STEP STEP
    }
    vec4 sum = (a + b) + (c + d);
    y[gl_GlobalInvocationID.x] = (sum.x + sum.y) + (sum.z + sum.w);
}
