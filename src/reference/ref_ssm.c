// Mamba-2's state space model: glsl/ssm has the formulas.
#include "glsl/ssm/ssm_params.h"
#include "reference/places/ref_conv.h"
#include "reference/reference.h"

#include <math.h>

// The channels of a layer: x (n_head, dim), then b and c (n_group, n).
struct layer {
    uint32_t n_head, n_group, dim, n, n_channel;
};

static struct layer layer_of(const struct gi_ref *ref, uint32_t n_head, uint32_t n_group)
{
    const uint32_t dim = gi_ref_define(ref, "DIM"), n = gi_ref_define(ref, "STATE_DIM");
    return (struct layer){n_head, n_group, dim, n, n_head * dim + 2 * n_group * n};
}

// The inputs of a token to a head.
struct token {
    const double *x, *b, *c; // of all heads of the layer: x; of the head's group: b and c
    double dt, decay, skip;
};

static struct token token_of(const struct layer *layer, uint32_t head, const double *row)
{
    const size_t group = head / (layer->n_head / layer->n_group);
    const double *b = row + (size_t)layer->n_head * layer->dim + group * layer->n;
    return (struct token){
        .x = row + (size_t)head * layer->dim, .b = b, .c = b + (size_t)layer->n_group * layer->n};
}

// Changes a head's matrix (n, dim) by a token, and expects the row y that c reads from it, gated by
// z.
static void change_and_expect(struct gi_ref *ref, const struct layer *layer, double *matrix,
                              const struct token *token, const float *z, uint64_t at)
{
    for (uint32_t j = 0; j < layer->dim; j++) {
        const double x = token->x[j], gate = gi_ref_silu(z[j]);
        struct gi_ref_value y = {token->skip * x, fabs(token->skip * x)};
        for (uint32_t i = 0; i < layer->n; i++) {
            double *s = &matrix[(size_t)i * layer->dim + j];
            *s = token->decay * *s + token->b[i] * token->dt * x;
            y.value += *s * token->c[i];
            y.magnitude += fabs(*s * token->c[i]);
        }
        gi_ref_expect(ref, "y", 0, at + j, y.value * gate, (1e-2 + y.magnitude) * fabs(gate));
    }
}

void gi_ref_ssm_step(struct gi_ref *ref)
{
    const struct gi_ssm_params *p = ref->params;
    const struct layer layer = layer_of(ref, p->n_head, p->n_group);
    const uint64_t size = (uint64_t)layer.n * layer.dim; // of a head's matrix
    struct gi_ref_conv conv = {
        .n_taps = gi_ref_define(ref, "TAPS"), .n_channel = layer.n_channel, .column = p->channels};
    const bool is_read = gi_ref_conv_init(&conv, ref, p->taps, p->taps_bias);
    const float *x_dt = gi_ref_floats(ref, 1, p->dt, p->n_head);
    const float *z = gi_ref_floats(ref, 1, 0, (size_t)p->n_head * layer.dim);
    const float *bias = gi_ref_floats(ref, 2, p->dt_bias, p->n_head);
    const float *rate = gi_ref_floats(ref, 2, p->decay_rate, p->n_head);
    const float *skip = gi_ref_floats(ref, 2, p->skip, p->n_head);
    double *row = gi_ref_memory(ref, layer.n_channel, sizeof(*row));
    if (!is_read || ref->has_failed) {
        return;
    }
    gi_ref_convolve(ref, &conv, 0, row);
    gi_ref_expect_ring(ref, &conv);
    for (uint32_t head = 0; head < p->n_head; head = gi_ref_next(ref, head, p->n_head, size)) {
        const uint64_t first = p->matrix + head * size;
        const uint32_t at = head * layer.dim;
        const size_t n_memory = ref->memory.count;
        double *matrix = gi_ref_matrix(ref, first, size);
        struct token token = token_of(&layer, head, row);
        token.dt = gi_ref_softplus((double)x_dt[head] + bias[head]);
        token.decay = exp(rate[head] * token.dt);
        token.skip = skip[head];
        if (matrix) {
            change_and_expect(ref, &layer, matrix, &token, z + at, at);
            gi_ref_expect_matrix(ref, first, matrix, size, 1);
        }
        gi_ref_rewind(ref, n_memory);
    }
}

void gi_ref_ssm_conv(struct gi_ref *ref)
{
    const struct gi_ssm_params *p = ref->params;
    const uint32_t n_head = p->n_head, n_channel = p->n_channel;
    struct gi_ref_conv conv = {.n_taps = gi_ref_define(ref, "TAPS"),
                               .n_channel = n_channel,
                               .x_stride = p->x_stride,
                               .column = p->channels};
    const bool is_read = gi_ref_conv_init(&conv, ref, p->taps, p->taps_bias);
    const float *x_dt = gi_ref_rows(ref, 1, p->dt, p->x_stride, n_head);
    const float *bias = gi_ref_floats(ref, 2, p->dt_bias, n_head);
    const float *rate = gi_ref_floats(ref, 2, p->decay_rate, n_head);
    const float *skip = gi_ref_floats(ref, 2, p->skip, n_head);
    double *row = gi_ref_memory(ref, n_channel, sizeof(*row));
    for (uint32_t m = 0; is_read && !ref->has_failed && m < ref->n_tokens;
         m = gi_ref_next(ref, m, ref->n_tokens, n_channel)) {
        const uint64_t at = (uint64_t)m * p->y_stride;
        gi_ref_convolve(ref, &conv, m, row);
        for (uint32_t i = 0; i < n_channel; i++) {
            gi_ref_expect(ref, "channel", 0, at + i, row[i], 1e-2 + fabs(row[i]));
        }
        for (uint32_t head = 0; head < n_head; head++) {
            const double dt =
                gi_ref_softplus((double)x_dt[(size_t)m * p->x_stride + head] + bias[head]);
            const uint64_t tail = at + n_channel + (uint64_t)4 * head;
            gi_ref_expect(ref, "decay", 0, tail, exp(rate[head] * dt), 1);
            gi_ref_expect(ref, "dt", 0, tail + 1, dt, 1e-2 + dt);
            gi_ref_expect(ref, "skip", 0, tail + 2, skip[head], fabs((double)skip[head]));
            gi_ref_expect(ref, "padding", 0, tail + 3, 0, 0);
        }
    }
}

// The scan takes decay, dt, skip and the channels as the convolution left them.
void gi_ref_ssm_scan(struct gi_ref *ref)
{
    const struct gi_ssm_params *p = ref->params;
    const struct layer layer = layer_of(ref, p->n_head, p->n_group);
    const uint64_t size = (uint64_t)layer.n * layer.dim; // of a head's matrix
    const uint32_t n_tokens = ref->n_tokens, n_row = layer.n_channel + 4 * p->n_head;
    struct gi_ref_conv conv = {.n_taps = gi_ref_define(ref, "TAPS"),
                               .n_channel = layer.n_channel,
                               .x_stride = p->x_stride};
    conv.x = gi_ref_rows(ref, 2, p->channels, p->x_stride, layer.n_channel);
    const float *z = gi_ref_rows(ref, 2, 0, p->x_stride, (size_t)p->n_head * layer.dim);
    const float *y = gi_ref_rows(ref, 1, 0, p->y_stride, n_row);
    double *row = gi_ref_memory(ref, n_row, sizeof(*row));
    if (ref->has_failed) {
        return;
    }
    gi_ref_expect_ring(ref, &conv);
    for (uint32_t head = 0; head < p->n_head;
         head = gi_ref_next(ref, head, p->n_head, n_tokens * size)) {
        const uint64_t first = p->matrix + head * size;
        const uint32_t at = head * layer.dim;
        const size_t n_memory = ref->memory.count;
        double *matrix = gi_ref_matrix(ref, first, size);
        for (uint32_t m = 0; matrix && m < n_tokens; m++) {
            for (uint32_t i = 0; i < n_row; i++) {
                row[i] = y[(size_t)m * p->y_stride + i];
            }
            const double *scalars = row + layer.n_channel + (size_t)4 * head;
            struct token token = token_of(&layer, head, row);
            token.decay = scalars[0];
            token.dt = scalars[1];
            token.skip = scalars[2];
            change_and_expect(ref, &layer, matrix, &token, z + (size_t)m * p->x_stride + at,
                              (uint64_t)m * p->out_stride + at);
        }
        if (matrix) {
            gi_ref_expect_matrix(ref, first, matrix, size, 1);
        }
        gi_ref_rewind(ref, n_memory);
    }
}

void gi_ref_ssm_norm(struct gi_ref *ref)
{
    const struct gi_ssm_norm_params *p = ref->params;
    const uint32_t n = p->width, n_group = ref->dispatch->grid.size[0], width = n_group * n;
    const float *y = gi_ref_rows(ref, 0, 0, p->y_stride, width);
    const float *gamma = gi_ref_floats(ref, 1, p->gamma, width);
    for (uint32_t m = 0; !ref->has_failed && m < ref->n_tokens;
         m = gi_ref_next(ref, m, ref->n_tokens, width)) {
        for (uint32_t begin = 0; begin < width; begin += n) {
            const size_t at = (size_t)m * p->y_stride + begin;
            const double scale = 1 / sqrt(gi_ref_mean_square(y + at, n, 0) + p->eps);
            for (uint32_t i = 0; i < n; i++) {
                const double value = gamma[begin + i] * y[at + i] * scale;
                gi_ref_expect(ref, "norm", 0, at + i, value, fabs(value));
            }
        }
    }
}
