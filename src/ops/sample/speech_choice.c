#include "ops/sample/speech_choice.h"

#include "base/round.h"
#include "glsl/sample/sample_params.h"

#include <assert.h>

enum {
    WG_SIZE = 64,                 // in groups of 128 Mali-T has too few registers
    MAX_GROUPS = 64,              // each is summed up by an invocation of the group that chooses
    GROUP_WORDS = 12,             // sums of a group: glsl/lib/speech_kinds.glsl
    RULE_WORDS = 64,              // up to the sums
    RULES = GI_SAMPLE_ZEROS + 64, // after the words that samplers need as zeros
};
_Static_assert(RULES + RULE_WORDS + MAX_GROUPS * GROUP_WORDS <= GI_SAMPLE_SCRATCH,
               "rules and sums fit the scratch memory of sampling");

struct gi_range gi_speech_rules_range(const struct gi_logits *logits)
{
    struct gi_range range = logits->range;
    range.offset += (uint64_t)(logits->scratch + RULES) * sizeof(uint32_t);
    range.size = sizeof(struct gi_speech_rules);
    return range;
}

void gi_op_speech_choice(struct gi_recorder *recorder, const struct gi_speech_tokens *tokens,
                         const struct gi_adjust *adjust, const struct gi_logits *logits,
                         const struct gi_step_buffers *step)
{
    const uint32_t rules = logits->scratch + RULES, sums = rules + RULE_WORDS;
    const uint32_t useful = (uint32_t)gi_divide_up(logits->n_vocab, WG_SIZE);
    const uint32_t n_most = gi_min_u32(gi_gpu_class(recorder->gpu)->sample.n_groups, MAX_GROUPS);
    const uint32_t n_group = gi_min_u32(useful, n_most);
    const bool has_counts = step->counts.buffer;
    const struct gi_program_key sums_key = GI_KEY(GI_PROGRAM_SPEECH_SUMS, {"WG_SIZE", WG_SIZE});
    const struct gi_program_key choice_key =
        GI_KEY(GI_PROGRAM_SPEECH_CHOICE, {"WG_SIZE", MAX_GROUPS}, {"HAS_COUNTS", has_counts});
    const struct gi_speech_sums_params sums_params = {
        .n_vocab = logits->n_vocab, .rules = rules, .sums = sums, .suppressed = adjust->mask};
    const struct gi_speech_choice_params choice_params = {.n_vocab = logits->n_vocab,
                                                          .rules = rules,
                                                          .sums = sums,
                                                          .n_group = n_group,
                                                          .end = tokens->end,
                                                          .time = tokens->time,
                                                          .no_speech = tokens->no_speech};
    struct gi_dispatch sum = {
        .label = "speech_sums",
        .bindings = {adjust->range, logits->range},
        .writes = 0x2,
        GI_PARAMS_OF(sums_params),
        .grid = {.size = {n_group, 1, 1}, .rule = GI_GRID_FIXED},
    };
    struct gi_dispatch choice = {
        .label = "speech_choice",
        .bindings = {step->ring, logits->range, step->state},
        .writes = 0x7u | (has_counts ? 0x8u : 0),
        .writes_state = true,
        GI_PARAMS_OF(choice_params),
        .grid = {.size = {1, 1, 1}, .rule = GI_GRID_FIXED},
    };
    if (has_counts) {
        choice.bindings[3] = step->counts;
    }
    assert(tokens->no_speech < logits->n_vocab && tokens->time < logits->n_vocab);
    gi_recorder_add(recorder, &sums_key, &sum);
    gi_recorder_add(recorder, &choice_key, &choice);
}
