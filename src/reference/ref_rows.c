// Kernels that work on each row by itself: glsl/norm, glsl/embed and glsl/conv.
#include "base/round.h"
#include "glsl/conv/conv_params.h"
#include "glsl/embed/embed_params.h"
#include "glsl/norm/norm_params.h"
#include "ops/record/weight.h"
#include "reference/reference.h"

#include <math.h>

//-- embeddings ------------------------------------------------------------------------------------

static void expect_norm_sums(struct gi_ref *ref)
{
    const struct gi_embed_token_params *p = ref->params;
    gi_ref_expect_sums(ref, 0, p->norm, p->n_embd, p->norm + gi_round_up(p->n_embd, 64));
}

// Only the part of the weights that has the token's row writes. The last group copies the
// rotations.
void gi_ref_embed_token(struct gi_ref *ref)
{
    const struct gi_embed_token_params *p = ref->params;
    const uint32_t row = ref->token - p->row_begin;
    const float *gamma = gi_ref_floats(ref, 1, p->gamma, p->n_embd);
    const float *turns =
        gi_ref_floats(ref, 1, p->rope_table + (uint64_t)ref->n_past * p->n_rot, p->n_rot);
    float *values = gi_ref_memory(ref, ref->n_col, sizeof(*values));
    double squares = 0;
    if (ref->has_failed || row >= p->n_rows || !ref->weight(ref->user, row, values)) {
        return;
    }
    for (uint32_t i = 0; i < p->n_embd; i++) {
        const double x = (double)p->scale * values[i], norm = x * gamma[i];
        gi_ref_expect(ref, "residual", 0, p->residual + i, x, 1e-6 + fabs(x));
        gi_ref_expect(ref, "norm", 0, p->norm + i, norm, 1e-6 + fabs(norm));
        squares += x * x;
    }
    for (uint32_t i = 0; i < p->n_rot; i++) {
        gi_ref_expect(ref, "rope", 0, p->rope_row + i, turns[i], 0);
    }
    ref->roundings = 32;
    gi_ref_expect_sum(ref, "ssq", 0, p->ssq, ref->dispatch->grid.size[0] - 1, squares, squares);
    ref->after = gi_ref_define(ref, "WRITE_SUMS") ? expect_norm_sums : NULL;
}

// With STEP and ROWS there is one row, of the token of step_state.
void gi_ref_embed_batch(struct gi_ref *ref)
{
    const struct gi_embed_batch_params *p = ref->params;
    const bool is_one = gi_ref_define(ref, "STEP") || gi_ref_define(ref, "ROWS");
    const uint32_t n = p->n_block * GI_QUANT_BLOCK, n_tokens = is_one ? 1 : ref->n_tokens;
    const void *tokens = is_one ? (const void *)&ref->token : gi_ref_floats(ref, 1, 0, n_tokens);
    float *values = gi_ref_memory(ref, n, sizeof(*values));
    for (uint32_t m = 0; !ref->has_failed && m < n_tokens; m = gi_ref_next(ref, m, n_tokens, n)) {
        const uint64_t at = (uint64_t)(ref->slot + m) * p->stride;
        const uint32_t row = ((const uint32_t *)tokens)[m] - p->row_begin;
        const bool is_known = row < p->n_rows && ref->weight(ref->user, row, values);
        for (uint32_t i = 0; is_known && i < n; i++) {
            const double x = (double)p->scale * values[i];
            gi_ref_expect(ref, "x", 0, at + i, x, 1e-6 + fabs(x));
        }
    }
}

//-- networks and inputs of rows -------------------------------------------------------------------

void gi_ref_sparse_glu(struct gi_ref *ref)
{
    const struct gi_sparse_glu_params *p = ref->params;
    const uint32_t activation = gi_ref_define(ref, "ACTIVATION"), n = p->n;
    const struct gi_xielu none = {0}; // no such model has it
    const float *rows = gi_ref_rows(ref, 1, 0, p->gate_up_stride, p->up_begin + (size_t)n);
    for (uint32_t token = 0; !ref->has_failed && token < ref->n_tokens;
         token = gi_ref_next(ref, token, ref->n_tokens, n)) {
        const float *g = rows + (size_t)token * p->gate_up_stride, *u = g + p->up_begin;
        const double mean = gi_ref_mean(g, n), squares = n * gi_ref_mean_square(g, n, mean);
        // An error of the cutoff is one of each gate that is open.
        const double cutoff = mean + (double)p->deviations * sqrt(squares / (n - 1));
        for (uint32_t i = 0; i < n; i++) {
            const double gate = fmax(g[i] - cutoff, 0);
            const double value =
                gi_ref_activate(activation, &none, gate) * gi_ref_linear_factor(activation, u[i]);
            gi_ref_expect(ref, "act", 0, (uint64_t)token * p->act_stride + i, value,
                          fabs(value) * (2 + gate) + fabs((double)u[i]) * (fabs(cutoff) + gate));
        }
    }
}

// Element i of a row has the gate of pair i / 2 in a stack of tiles of 8 first and 8 second rows,
// or the gate of its head.
void gi_ref_gate_rows(struct gi_ref *ref)
{
    const struct gi_gate_rows_params *p = ref->params;
    const uint32_t n = p->n_column;
    const float *x = gi_ref_rows(ref, 0, 0, p->x_stride, n);
    const uint32_t width = gi_ref_define(ref, "GATE_WIDTH");
    const uint32_t n_gate = width > 1 ? n / width : n + n % 16;
    const float *gates = gi_ref_rows(ref, 1, p->gate_begin, p->qkv_stride, n_gate);
    for (uint32_t token = 0; !ref->has_failed && token < ref->n_tokens;
         token = gi_ref_next(ref, token, ref->n_tokens, n)) {
        const float *gate = gates + (size_t)token * p->qkv_stride;
        for (uint32_t i = 0; i < n; i++) {
            const uint64_t at = (uint64_t)token * p->x_stride + i;
            const uint32_t own = width > 1 ? i / width : i / 16 * 16 + i % 16 / 2 + i % 2 * 8;
            const double g = gate[own], value = x[at] / (1 + exp(-g));
            gi_ref_expect(ref, "x", 0, at, value, fabs(value) * (2 + fabs(g)));
        }
    }
}

void gi_ref_add_positions(struct gi_ref *ref)
{
    const struct gi_add_positions_params *p = ref->params;
    const uint32_t n = p->width;
    const uint64_t first = (uint64_t)ref->slot * p->x_stride;
    const float *x = gi_ref_rows(ref, 0, first, p->x_stride, n);
    const float *table = gi_ref_rows(ref, 2, p->table + (uint64_t)ref->n_past * n, n, n);
    for (uint32_t token = 0; !ref->has_failed && token < ref->n_tokens;
         token = gi_ref_next(ref, token, ref->n_tokens, n)) {
        for (uint32_t i = 0; i < n; i++) {
            const uint64_t at = (uint64_t)token * p->x_stride + i;
            const double value = (double)x[at] + (double)table[(size_t)token * n + i];
            gi_ref_expect(ref, "x", 0, first + at, value, 1e-6 + fabs(value));
        }
    }
}

void gi_ref_add_inputs(struct gi_ref *ref)
{
    const struct gi_add_inputs_params *p = ref->params;
    const uint32_t n = p->width, n_column = ref->dispatch->grid.size[0] * n; // of all layers
    const float *gamma = gi_ref_floats(ref, 2, p->gamma, n);
    const float *y = gi_ref_rows(ref, 1, 0, p->y_stride, n_column);
    const float *inputs = gi_ref_rows(ref, 0, 0, p->stride, n_column);
    for (uint32_t token = 0; !ref->has_failed && token < ref->n_tokens;
         token = gi_ref_next(ref, token, ref->n_tokens, n_column)) {
        for (uint32_t begin = 0; begin < n_column; begin += n) {
            const uint64_t at = (uint64_t)token * p->stride + begin;
            const float *row = y + (size_t)token * p->y_stride + begin;
            const double scale = 1 / sqrt(gi_ref_mean_square(row, n, 0) + p->eps);
            for (uint32_t i = 0; i < n; i++) {
                const double normed = row[i] * scale * gamma[i], old = inputs[at + i];
                gi_ref_expect(ref, "inputs", 0, at + i, (normed + old) / sqrt(2),
                              fabs(normed) + fabs(old));
            }
        }
    }
}

void gi_ref_gate_input(struct gi_ref *ref)
{
    const struct gi_gate_input_params *p = ref->params;
    const uint32_t n = p->width, activation = gi_ref_define(ref, "ACTIVATION");
    const struct gi_xielu none = {0}; // no such model has it
    const float *gates = gi_ref_rows(ref, 1, 0, p->gate_stride, n);
    const float *inputs = gi_ref_rows(ref, 2, p->begin, p->stride, n);
    for (uint32_t token = 0; !ref->has_failed && token < ref->n_tokens;
         token = gi_ref_next(ref, token, ref->n_tokens, n)) {
        for (uint32_t i = 0; i < n; i++) {
            const double gate = gates[(size_t)token * p->gate_stride + i];
            const double value =
                gi_ref_activate(activation, &none, gate) * inputs[(size_t)token * p->stride + i];
            gi_ref_expect(ref, "act", 0, (uint64_t)token * p->act_stride + i, value,
                          fabs(value) * (2 + fabs(gate)));
        }
    }
}

// The state holds b x of the last tokens: row p % (n_taps - 1) of position p.
void gi_ref_short_conv(struct gi_ref *ref)
{
    const struct gi_short_conv_params *p = ref->params;
    const uint32_t n_taps = gi_ref_define(ref, "TAPS"), n_row = n_taps - 1, n = p->n_channel;
    const uint32_t n_after = gi_ref_define(ref, "N_AFTER");
    const uint32_t n_tokens = ref->n_tokens;
    const float *taps = gi_ref_floats(ref, 2, p->taps, (size_t)n * n_taps);
    const float *bcx = gi_ref_rows(ref, 1, 0, p->bcx_stride, (size_t)2 * p->section + n);
    const float *past = gi_ref_floats(ref, 3, 0, (size_t)n_row * n);
    double *u = gi_ref_memory(ref, (size_t)(n_row + n_tokens) * n, sizeof(*u));
    for (uint32_t t = 0; !ref->has_failed && t < n_row + n_tokens; t++) { // n_row before the first
        const uint32_t m = t - n_row, back = n_row - t;
        const float *row = t < n_row ? past + (size_t)((ref->n_past + n_row - back) % n_row) * n
                                     : bcx + (size_t)m * p->bcx_stride;
        for (uint32_t i = 0; i < n; i++) {
            u[(size_t)t * n + i] = t >= n_row            ? (double)row[i] * row[2 * p->section + i]
                                   : back <= ref->n_past ? row[i]
                                                         : 0;
        }
    }
    for (uint32_t m = 0; !ref->has_failed && m < n_tokens; m = gi_ref_next(ref, m, n_tokens, n)) {
        const float *c = bcx + (size_t)m * p->bcx_stride + p->section;
        for (uint32_t i = 0; i < n; i++) {
            struct gi_ref_value sum = {0, 0};
            for (uint32_t t = 0; t < n_taps && m + n_after + t < n_row + n_tokens; t++) {
                const double part =
                    taps[(size_t)i * n_taps + t] * u[(size_t)(m + n_after + t) * n + i];
                sum.value += part;
                sum.magnitude += fabs(part);
            }
            gi_ref_expect(ref, "y", 0, (uint64_t)m * p->y_stride + i, c[i] * sum.value,
                          fabs((double)c[i]) * sum.magnitude);
        }
    }
    const uint32_t first = n_tokens > n_row ? n_tokens - n_row : 0;
    for (uint32_t m = first; !ref->has_failed && m < n_tokens; m++) {
        for (uint32_t i = 0; i < n; i++) {
            const double value = u[(size_t)(n_row + m) * n + i];
            gi_ref_expect(ref, "past", 3, (uint64_t)((ref->n_past + m) % n_row) * n + i, value,
                          fabs(value) / 2); // rounded once
        }
    }
}
