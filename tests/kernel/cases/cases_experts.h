// A mixture of experts in tests: what the cases of batches, of sorted ones and of steps share.
#ifndef CASES_EXPERTS_H
#define CASES_EXPERTS_H

#include "ops/experts/experts.h"
#include "tests/kernel/fixture/kernel_rows.h"

#define KT_EXPERT_SCALE   0.75f // of what experts add
#define KT_N_EXPERT_CASES 7

struct kt_expert_case {
    uint32_t type, n_embd, n_ff, n_expert, n_used, n_tokens, part_experts;
    bool is_split;                // up is Q8_0, whatever gate is
    struct gi_router_rule router; // zero: the softmax of the chosen ones
    uint32_t n_shared;            // among both
};

extern const struct kt_expert_case kt_expert_cases[KT_N_EXPERT_CASES];

// A case on its way: rows of the batch and what the ops leave.
struct kt_mixture {
    const struct kt_expert_case *c;
    struct gi_experts experts;
    struct kt_weight gate_up, down;
    float *logits, *bias, *input, *residual, *act, *y;
    struct gi_vectors vectors;
    struct gi_rows logits_rows, x, act_rows, y_rows;
    bool is_half;
};

bool kt_mixture_init(struct kt_mixture *m, struct kt_run *run, const struct kt_expert_case *c);
void kt_mixture_finish(struct kt_mixture *m);

// Rows of an expert's weight, of n results or of n pairs of them.
uint32_t kt_expert_rows(uint32_t n, bool is_paired);
void kt_expert_name(const char *form, const struct kt_expert_case *c, char *text, size_t size);
// Random rows within span: the caller frees the values.
float *kt_expert_inputs(struct kt_run *run, const char *label, struct gi_rows *rows,
                        uint32_t n_tokens, uint32_t stride, float span);

// The experts and shares of a token, and each expert's results from what the GPU gave it, in act
// and y; x is times factor.
bool kt_mixture_check_token(struct kt_run *run, const struct kt_mixture *m, uint32_t token,
                            const float *x, double factor);
// The sum of a token's experts on `before`.
bool kt_mixture_check_sum(struct kt_run *run, const struct kt_mixture *m, uint32_t token,
                          const struct gi_range *range, size_t offset, const float *before);

#endif
