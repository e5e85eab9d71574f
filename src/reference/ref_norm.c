// Norms and activations of rows, and the forms of rows for products: glsl/norm, glsl/embed/last_row
// and glsl/gemm/half_rows, pack_rows.
#include "glsl/embed/embed_params.h"
#include "glsl/gemm/gemm_params.h"
#include "glsl/norm/norm_params.h"
#include "ops/gemm/half_rows.h"
#include "reference/places/ref_half_rows.h"
#include "reference/reference.h"

#include <math.h>

static struct gi_ref_rows_form rows_form(const struct gi_ref *ref, uint64_t begin, uint64_t stride,
                                         uint32_t width)
{
    return (struct gi_ref_rows_form){gi_ref_define(ref, "HALF"), begin, stride,
                                     gi_half_row_tiles(width)};
}

void gi_ref_last_row(struct gi_ref *ref)
{
    const struct gi_last_row_params *p = ref->params;
    const uint32_t n = p->n_embd;
    const float *x = gi_ref_floats(ref, 1, (uint64_t)(ref->n_tokens - 1) * p->stride, n);
    struct gi_ref_value *row = gi_ref_memory(ref, n, sizeof(*row));
    for (uint32_t i = 0; !ref->has_failed && i < n; i++) {
        row[i] = (struct gi_ref_value){x[i], fabs((double)x[i])};
        gi_ref_expect(ref, "residual", 0, p->residual + i, x[i], 1e-6 + row[i].magnitude);
    }
    if (!ref->has_failed) {
        gi_ref_expect_norm(ref, 0, row, n, p->gamma, p->norm, p->ssq);
    }
}

void gi_ref_rmsnorm(struct gi_ref *ref)
{
    const struct gi_rmsnorm_params *p = ref->params;
    const uint32_t n = p->width;
    const float *gamma = gi_ref_floats(ref, 2, p->gamma, n);
    const bool is_in_place = gi_ref_define(ref, "IN_PLACE");
    const float *x = gi_ref_rows(ref, is_in_place ? 0 : 1, 0, p->x_stride, n);
    const float *before = gi_ref_define(ref, "ADD") ? gi_ref_rows(ref, 0, 0, p->y_stride, n) : NULL;
    const float *factor = gi_ref_define(ref, "SCALED") ? gi_ref_floats(ref, 2, p->scale, 1) : NULL;
    const struct gi_ref_rows_form y = rows_form(ref, 0, p->y_stride, n);
    struct gi_ref_value *row = gi_ref_memory(ref, n, sizeof(*row));
    for (uint32_t token = 0; !ref->has_failed && token < ref->n_tokens;
         token = gi_ref_next_row(ref, &y, token, ref->n_tokens, n)) {
        const float *own = x + (size_t)token * p->x_stride;
        const double scale = 1 / sqrt(gi_ref_mean_square(own, n, 0) + p->eps);
        const double out = factor ? *factor : 1;
        for (uint32_t i = 0; i < n; i++) {
            const double normed = out * own[i] * scale * gamma[i];
            const double value =
                normed + (before ? out * before[(size_t)token * p->y_stride + i] : 0);
            // The old value has the rounding of the sum alone.
            row[i] = (struct gi_ref_value){value, fabs(normed) + (before ? fabs(value) / 8 : 0)};
        }
        gi_ref_expect_row(ref, "y", &y, token, 0, row, n);
    }
}

// Takes a batch, or the stream of a step, whose norm it writes from its residual.
void gi_ref_layernorm(struct gi_ref *ref)
{
    const struct gi_layernorm_params *p = ref->params;
    const bool is_batch = gi_ref_define(ref, "BATCH");
    const uint32_t n_tokens = is_batch ? ref->n_tokens : 1, n = p->width;
    const float *gamma = gi_ref_floats(ref, 2, p->gamma, n);
    const float *beta = gi_ref_floats(ref, 2, p->beta, n);
    const float *x = is_batch ? gi_ref_rows(ref, 1, p->residual, p->x_stride, n)
                              : gi_ref_floats(ref, 0, p->residual, n);
    const struct gi_ref_rows_form y = rows_form(ref, p->norm, p->y_stride, n);
    struct gi_ref_value *row = gi_ref_memory(ref, n, sizeof(*row));
    for (uint32_t token = 0; !ref->has_failed && token < n_tokens;
         token = gi_ref_next_row(ref, &y, token, n_tokens, n)) {
        const float *own = x + (size_t)token * p->x_stride;
        const double mean = gi_ref_mean(own, n);
        const double scale = 1 / sqrt(gi_ref_mean_square(own, n, mean) + p->eps);
        for (uint32_t i = 0; i < n; i++) {
            row[i].value = (own[i] - mean) * scale * gamma[i] + beta[i];
            row[i].magnitude =
                (fabs((double)own[i]) + fabs(mean)) * scale * fabs((double)gamma[i]) +
                fabs((double)beta[i]);
        }
        gi_ref_expect_row(ref, "y", &y, token, 0, row, n);
    }
    if (!is_batch) { // the readers' 1 / rms is 1
        const double squares = n * (1 - (double)p->eps);
        gi_ref_expect(ref, "ssq", 0, p->ssq, squares, squares / 4);
        for (uint32_t i = 1; i < 4; i++) {
            gi_ref_expect_bits(ref, "ssq", 0, p->ssq + i, 0);
        }
    }
}

void gi_ref_post_norm(struct gi_ref *ref)
{
    const struct gi_post_norm_params *p = ref->params;
    const uint32_t n = p->n_embd;
    const float *gamma = gi_ref_floats(ref, 2, p->gamma, n);
    const float *y = gi_ref_floats(ref, 1, 0, n);
    const float *before = gi_ref_floats(ref, 0, p->residual, n);
    const float *factor =
        gi_ref_define(ref, "SCALED") ? gi_ref_floats(ref, 2, p->out_scale, 1) : NULL;
    struct gi_ref_value *row = gi_ref_memory(ref, n, sizeof(*row));
    const double scale = ref->has_failed ? 0 : 1 / sqrt(gi_ref_mean_square(y, n, 0) + p->eps);
    const double out = factor ? *factor : 1;
    for (uint32_t i = 0; !ref->has_failed && i < n; i++) {
        const double normed = y[i] * scale * gamma[i];
        row[i].value = out * (before[i] + normed);
        row[i].magnitude = fabs(out) * (fabs((double)before[i]) + fabs(normed));
        gi_ref_expect(ref, "residual", 0, p->residual + i, row[i].value, 1e-6 + row[i].magnitude);
    }
    if (!ref->has_failed && gi_ref_define(ref, "HAS_GAMMA")) {
        gi_ref_expect_norm(ref, 0, row, n, p->next_gamma, p->norm, p->ssq);
    } else if (!ref->has_failed) {
        gi_ref_expect_squares(ref, 0, row, n, p->ssq);
    }
}

// Returns the argument of an activation's exponential, whose rounding the result carries.
static double exp_argument(uint32_t activation, double x)
{
    return activation == GI_ACTIVATION_GELU_TANH  ? 1.6 * (x + 0.044715 * x * x * x)
           : activation == GI_ACTIVATION_GELU_ERF ? x * x / 2
                                                  : x;
}

// Expects row `to` of the results, which comes from a row of gate and up.
static void expect_glu(struct gi_ref *ref, const struct gi_ref_rows_form *act, uint32_t to,
                       const float *gate, struct gi_ref_value *row)
{
    const struct gi_glu_params *p = ref->params;
    const uint32_t activation = gi_ref_define(ref, "ACTIVATION");
    const bool is_gated = !gi_ref_define(ref, "UNGATED");
    const struct gi_xielu xielu = {p->square, p->fall, p->slope, p->edge};
    for (uint32_t i = 0; i < p->n_column; i++) {
        const double g = gate[i];
        row[i].value = gi_ref_activate(activation, &xielu, g) *
                       (is_gated ? gi_ref_linear_factor(activation, gate[p->n_part + i]) : 1);
        row[i].magnitude =
            fabs(row[i].value) * (2 + fabs(exp_argument(activation, g))) + fabs((double)xielu.fall);
    }
    gi_ref_expect_row(ref, "act", act, to, p->act_begin, row, p->n_column);
}

void gi_ref_glu(struct gi_ref *ref)
{
    const struct gi_glu_params *p = ref->params;
    const uint32_t each = gi_ref_define(ref, "EACH"), n = p->n_column; // each: rows of a token
    const uint32_t n_row = ref->n_tokens * (each > 0 ? each : 1);
    const bool is_half = gi_ref_define(ref, "HALF");
    const float *routes = is_half && gi_ref_define(ref, "SORTED")
                              ? gi_ref_floats(ref, 2, 0, (size_t)4 * n_row)
                              : NULL;
    const float *gate_up = gi_ref_floats(
        ref, 1, p->gate_begin, (uint64_t)(n_row - 1) * p->gate_up_stride + p->n_part + (size_t)n);
    const struct gi_ref_rows_form act = rows_form(ref, 0, p->act_stride, p->act_stride);
    struct gi_ref_value *values = gi_ref_memory(ref, n, sizeof(*values));
    for (uint32_t row = 0; !ref->has_failed && row < n_row;
         row = gi_ref_next_row(ref, &act, row, n_row, n)) {
        const float *route = routes ? routes + (size_t)4 * row : NULL;
        const uint32_t from = route ? gi_ref_index(route[2], n_row) : row;
        const uint32_t to = route ? gi_ref_index(route[3], gi_ref_rows_room(ref, &act)) : row;
        expect_glu(ref, &act, to, gate_up + (size_t)from * p->gate_up_stride, values);
    }
}

// Reads the rows that take another form.
static const float *read_plain(struct gi_ref *ref, uint32_t binding)
{
    const struct gi_half_rows_params *p = ref->params;
    return gi_ref_rows(ref, binding, 0, p->x_stride, p->width);
}

static void set_plain(struct gi_ref_value *values, const float *row, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        values[i] = (struct gi_ref_value){row[i], fabs((double)row[i])};
    }
}

void gi_ref_half_rows(struct gi_ref *ref)
{
    const struct gi_half_rows_params *p = ref->params;
    const struct gi_ref_rows_form y = rows_form(ref, 0, 0, p->width);
    const float *x = read_plain(ref, 1);
    struct gi_ref_value *row = gi_ref_memory(ref, p->width, sizeof(*row));
    for (uint32_t token = 0; !ref->has_failed && token < ref->n_tokens;
         token = gi_ref_next_row(ref, &y, token, ref->n_tokens, p->width)) {
        set_plain(row, x + (size_t)token * p->x_stride, p->width);
        gi_ref_expect_row(ref, "y", &y, token, 0, row, p->width);
    }
}

void gi_ref_pack_rows(struct gi_ref *ref)
{
    const struct gi_half_rows_params *p = ref->params;
    const float *x = read_plain(ref, 0);
    struct gi_ref_value *row = gi_ref_memory(ref, p->width, sizeof(*row));
    for (uint32_t token = 0; !ref->has_failed && token < ref->n_tokens;
         token = gi_ref_next(ref, token, ref->n_tokens, p->width)) {
        set_plain(row, x + (size_t)token * p->x_stride, p->width);
        gi_ref_expect_packed(ref, (uint64_t)token * p->x_stride, row, p->width);
    }
}
