// Adjusts the logits of a step before a token is chosen from them, in place: bias, penalties of
// tokens that the text has, the mask of a grammar. Recomputes their partial results.
//
//   logit = logit + bias; logit over 0 ? logit / repeat : logit * repeat, less count * frequency + presence where the
//   token is `count` > 0 times in the window; -infinity where a bias or the mask bans it
//
//   table   counts of tokens in the window (n_vocab) at word 0, their bias (n_vocab) f32 at `bias`, bits of those that
//           may come at `mask`, the window, a ring of n_slot tokens, at `window`           (binding 0, written)
//   logits  (n_vocab) f32 | (groups * n_part) of { f32 value, uint id } at word `partial`  (binding 1, written)
//   step_state                                                                         (binding 2)
//
// state.adjust says which of the three there are; without any the logits stay as they are. A group
// takes n_vocab / groups neighbouring logits, an invocation every WG_SIZE-th of those; invocations
// that are equal modulo n_part share a partial result. The window moves first: the step's token
// enters it and the one n_window before leaves; who adjusts a token keeps its count. Reads up to 12
// bytes a token, next to nothing beside gemv_vocab, whatever the window.
#include "lib/common.glsl"
#include "lib/group.glsl"
#define STEP_STATE_WRITTEN
#include "lib/step_state.glsl"
#include "gemm/no_rows.glsl"
#include "sample/best.glsl"

layout(std430, binding = 0) restrict buffer Table { uint table[]; };
layout(std430, binding = 1) restrict buffer Logits { uint logits[]; };

#include "params/adjust.glsl"

#define ADJUST_PENALTIES 1u
#define ADJUST_BIAS 2u
#define ADJUST_MASK 4u
#define MINUS_INFINITY 0xFF800000u
#define EXPONENT 0x7F800000u
#define UNSOUND 0xFFFFFFFFu // a key: of a NaN or an infinity among the logits
#define MOST 8.5070587e37   // of a logit

shared uint part_key[WG_SIZE], part_id[WG_SIZE];

bool has_penalties, has_bias, has_mask;
float repeat, presence, frequency;
uint newest, oldest; // tokens that enter and leave the window

void read_settings()
{
    uint bits = state.adjust;
    has_penalties = (bits & ADJUST_PENALTIES) != 0u;
    has_bias = (bits & ADJUST_BIAS) != 0u;
    has_mask = (bits & ADJUST_MASK) != 0u;
    repeat = state.repeat_penalty;
    presence = state.presence_penalty;
    frequency = state.frequency_penalty;
}

// The ring has more slots than the window has tokens: what enters lies apart from what leaves.
void move_window()
{
    newest = NO_ID;
    oldest = NO_ID;
    if (has_penalties) {
        uint index = state.n_past + state.n_tokens - 1u + state.window_skip;
        newest = state.token;
        if (index >= state.n_window) {
            oldest = table[params.window + (index - state.n_window) % params.n_slot];
        }
        if (gl_WorkGroupID.x == 0u && gl_LocalInvocationIndex == 0u) {
            table[params.window + index % params.n_slot] = newest;
        }
    }
}

uint count_token(uint id)
{
    uint count = table[id];
    if (id == newest || id == oldest) {
        count += (id == newest ? 1u : 0u) - (id == oldest ? 1u : 0u);
        table[id] = count;
    }
    return count;
}

float penalize(float logit, uint id)
{
    uint count = count_token(id);
    if (count == 0u) {
        return logit;
    }
    float scaled = logit > 0.0 ? logit / repeat : logit * repeat;
    return clamp(clamp(scaled, -MOST, MOST) - (float(count) * frequency + presence), -MOST, MOST);
}

// Returns the bits of a sound logit as it is to be.
uint adjust_logit(uint bits, uint id)
{
    bool is_banned = has_mask && (table[params.mask + id / 32u] >> (id % 32u) & 1u) == 0u;
    float logit = uintBitsToFloat(bits);
    if (has_bias) {
        uint more = table[params.bias + id];
        is_banned = is_banned || more == MINUS_INFINITY;
        logit = more == MINUS_INFINITY ? logit : clamp(logit + uintBitsToFloat(more), -MOST, MOST);
    }
    if (has_penalties) {
        logit = penalize(logit, id);
    }
    return is_banned ? MINUS_INFINITY : floatBitsToUint(logit);
}

// Adjusts the group's share. Sets key and id to the best of this invocation's.
void adjust_share(out uint key, out uint id)
{
    uint share = (params.n_vocab - 1u) / gl_NumWorkGroups.x + 1u, begin = gl_WorkGroupID.x * share;
    uint end = min(begin + share, params.n_vocab);
    bool is_changed = has_penalties || has_bias || has_mask;
    key = 0u;
    id = NO_ID;
    for (uint i = begin + gl_LocalInvocationIndex; i < end; i += uint(WG_SIZE)) {
        uint bits = logits[i];
        bool is_sound = (bits & EXPONENT) != EXPONENT;
        if (is_changed && is_sound) {
            bits = adjust_logit(bits, i);
            logits[i] = bits;
        }
        uint other = is_sound ? key_of(bits) : UNSOUND;
        if (is_better(other, i, key, id)) {
            key = other;
            id = i;
        }
    }
}

void write_part(uint part)
{
    uint key = part_key[part], at = params.partial + 2u * (gl_WorkGroupID.x * params.n_part + part);
    bool has_tokens = part_id[part] != NO_ID;
    logits[at] = key == UNSOUND ? EXPONENT : has_tokens ? floatBitsToUint(value_of(key)) : MINUS_INFINITY;
    logits[at + 1u] = key == UNSOUND ? NO_ID : has_tokens ? part_id[part] : no_rows_index;
}

void main()
{
    uint key, id, part = gl_LocalInvocationIndex & (params.n_part - 1u);
    read_settings();
    move_window();
    adjust_share(key, id);
    part_key[gl_LocalInvocationIndex] = 0u;
    part_id[gl_LocalInvocationIndex] = NO_ID;
    barrier();
    atomicMax(part_key[part], key);
    barrier();
    if (key == part_key[part]) {
        atomicMin(part_id[part], id);
    }
    barrier();
    if (gl_LocalInvocationIndex < params.n_part) {
        write_part(gl_LocalInvocationIndex);
    }
}
