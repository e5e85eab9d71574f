// logits = scale * logits or, with SOFTCAP, softcap * tanh(that / softcap), of several rows that
// gemm left, and each invocation's largest with its index: what gemv_vocab.comp leaves of one.
//
//   logits  (n_tokens, stride)  row: (n_vocab) f32, then at `partial` { f32 value, uint index }
//
// Group (i, m) takes WG_SIZE * N_LOGITS logits of row m, an invocation every WG_SIZE-th of them. A
// NaN or infinity comes before every number, as (infinity, 0xFFFFFFFF). Reads each logit once, and
// writes those that change: bound by memory.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/step_state.glsl"
#include "gemm/no_rows.glsl"

#if !defined(N_LOGITS) || !defined(SOFTCAP)
#error "N_LOGITS: of an invocation; SOFTCAP: 1 if logits have a cap"
#endif

layout(std430, binding = 0) restrict buffer Logits { uint logits[]; };

#include "params/logit_rows.glsl"

#if SOFTCAP
#include "lib/exp_log.glsl"
#include "lib/soft_cap.glsl"
#endif

#ifndef AT_ONCE
#define AT_ONCE 1 // loads in flight together: the compiler moves no load before an earlier store
#endif
#if N_LOGITS % AT_ONCE
#error "AT_ONCE: divides N_LOGITS"
#endif

const uint infinity_bits = 0x7F800000u;

float change_logit(float logit)
{
    logit *= params.scale;
#if SOFTCAP
    logit = soft_cap(logit, params.softcap);
#endif
    return logit;
}

// Takes logit n of a row.
void take_logit(uint row, uint n, uint bits, inout float best, inout uint best_index)
{
    bool is_changed = SOFTCAP != 0 || params.scale != 1.0;
    bool is_bad = (bits & infinity_bits) == infinity_bits;
    float logit = is_bad ? uintBitsToFloat(infinity_bits) : change_logit(uintBitsToFloat(bits));
    if (is_changed && !is_bad) {
        logits[row + n] = floatBitsToUint(logit);
    }
    if (best_index == no_rows_index || logit > best) {
        best = logit;
        best_index = is_bad ? 0xFFFFFFFFu : n;
    }
}

void main()
{
    uint row = gl_WorkGroupID.y * params.stride;
    uint first = gl_WorkGroupID.x * uint(WG_SIZE * N_LOGITS) + gl_LocalInvocationID.x;
    float best = -3.4028235e38;
    uint best_index = no_rows_index;
    if (gl_WorkGroupID.y >= state.n_tokens) {
        return;
    }
#if AT_ONCE > 1
    for (uint i = 0u; i < uint(N_LOGITS); i += uint(AT_ONCE)) {
        uint bits[AT_ONCE];
        for (uint k = 0u; k < uint(AT_ONCE); k++) {
            bits[k] = logits[row + min(first + (i + k) * uint(WG_SIZE), params.n_vocab - 1u)];
        }
        for (uint k = 0u; k < uint(AT_ONCE); k++) {
            uint n = first + (i + k) * uint(WG_SIZE);
            if (n < params.n_vocab) {
                take_logit(row, n, bits[k], best, best_index);
            }
        }
    }
#else
    for (uint i = 0u; i < uint(N_LOGITS); i++) {
        uint n = first + i * uint(WG_SIZE);
        if (n >= params.n_vocab) {
            break;
        }
        take_logit(row, n, logits[row + n], best, best_index);
    }
#endif
    uint at = row + params.partial + 2u * gl_GlobalInvocationID.x;
    logits[at] = floatBitsToUint(best);
    logits[at + 1u] = best_index;
}
