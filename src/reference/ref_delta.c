// The gated delta rule of linear attention: glsl/delta has the formulas.
#include "glsl/delta/delta_params.h"
#include "reference/places/ref_conv.h"
#include "reference/reference.h"

#include <math.h>

// The first channels of a head: of its q, k and v.
struct head_channels {
    uint32_t q, k, v;
};

static struct head_channels channels_of(const struct gi_ref *ref, uint32_t n_k_head, uint32_t head)
{
    const uint32_t n = gi_ref_define(ref, "DIM"), n_neighbour = gi_ref_define(ref, "NEIGHBOURS");
    const uint32_t k_head = n_neighbour > 0 ? head / n_neighbour : head % n_k_head;
    return (struct head_channels){k_head * n, (n_k_head + k_head) * n, (2 * n_k_head + head) * n};
}

static double product(const double *a, const double *b, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

// Convolves the channels of token m; each head of q then has length 1 / sqrt(n), of k 1.
static void convolve(const struct gi_ref *ref, const struct gi_ref_conv *conv, uint32_t m,
                     uint32_t n_k_head, double eps, double *row)
{
    const uint32_t n = gi_ref_define(ref, "DIM");
    gi_ref_convolve(ref, conv, m, row);
    for (uint32_t head = 0; head < 2 * n_k_head; head++) {
        double *line = row + (size_t)head * n;
        const double length = head < n_k_head ? 1 / sqrt(n) : 1;
        const double scale = length / fmax(sqrt(product(line, line, n)), eps);
        for (uint32_t i = 0; i < n; i++) {
            line[i] *= scale;
        }
    }
}

static double decay_of(double x, double bias, double rate)
{
    return exp(rate * gi_ref_softplus(x + bias));
}

static double rate_of(double x)
{
    return 1 / (1 + exp(-x));
}

// Changes a head's matrix by a token, and reads column j of it with q. qk is the product of q and
// k.
static struct gi_ref_value change_and_read(double *matrix, uint32_t n, uint32_t j, const double *q,
                                           const double *k, double qk, double v, double decay,
                                           double rate)
{
    struct gi_ref_value o = {0, 0}, read = {0, 0};
    for (uint32_t i = 0; i < n; i++) {
        double *s = &matrix[(size_t)i * n + j];
        *s *= decay;
        read.value += *s * k[i];
        read.magnitude += fabs(*s * k[i]);
        o.value += *s * q[i];
        o.magnitude += fabs(*s * q[i]);
    }
    const double change = rate * (v - read.value);
    for (uint32_t i = 0; i < n; i++) {
        matrix[(size_t)i * n + j] += k[i] * change;
    }
    o.value += qk * change;
    o.magnitude += fabs(qk * rate) * (fabs(v) + read.magnitude);
    return o;
}

static void expect_normed(struct gi_ref *ref, uint64_t at, const double *o, const float *gamma,
                          const float *z, uint32_t n, double eps)
{
    const double scale = 1 / sqrt(product(o, o, n) / n + eps);
    for (uint32_t i = 0; i < n; i++) {
        const double gate = gamma[i] * gi_ref_silu(z[i]), normed = o[i] * scale;
        gi_ref_expect(ref, "out", 0, at + i, normed * gate, fabs(gate) * (1 + fabs(normed)));
    }
}

void gi_ref_delta_step(struct gi_ref *ref)
{
    const struct gi_delta_params *p = ref->params;
    const uint32_t n = gi_ref_define(ref, "DIM"), n_head = p->n_head;
    struct gi_ref_conv conv = {.n_taps = gi_ref_define(ref, "TAPS"),
                               .n_channel = (2 * p->n_k_head + n_head) * n};
    const bool is_read = gi_ref_conv_init(&conv, ref, p->taps, GI_REF_NONE);
    const float *x_rate = gi_ref_floats(ref, 1, p->rate, n_head);
    const float *x_decay = gi_ref_floats(ref, 1, p->decay, n_head);
    const float *z = gi_ref_floats(ref, 1, p->z, (size_t)n_head * n);
    const float *bias = gi_ref_floats(ref, 2, p->decay_bias, n_head);
    const float *decay_rate = gi_ref_floats(ref, 2, p->decay_rate, n_head);
    const float *gamma = gi_ref_floats(ref, 2, p->gamma, n);
    double *row = gi_ref_memory(ref, conv.n_channel, sizeof(*row));
    double *o = gi_ref_memory(ref, n, sizeof(*o));
    if (!is_read || ref->has_failed) {
        return;
    }
    convolve(ref, &conv, 0, p->n_k_head, p->eps, row);
    gi_ref_expect_ring(ref, &conv);
    for (uint32_t head = 0; head < n_head; head = gi_ref_next(ref, head, n_head, (uint64_t)n * n)) {
        const struct head_channels at = channels_of(ref, p->n_k_head, head);
        const uint64_t first = p->matrix + (uint64_t)head * n * n;
        const double decay = decay_of(x_decay[head], bias[head], decay_rate[head]);
        const size_t n_memory = ref->memory.count;
        double *matrix = gi_ref_matrix(ref, first, (size_t)n * n);
        for (uint32_t j = 0; matrix && j < n; j++) {
            o[j] = change_and_read(matrix, n, j, row + at.q, row + at.k,
                                   product(row + at.q, row + at.k, n), row[at.v + j], decay,
                                   rate_of(x_rate[head]))
                       .value;
        }
        if (matrix) {
            expect_normed(ref, (uint64_t)head * n, o, gamma, z + (size_t)head * n, n, p->eps);
            gi_ref_expect_matrix(ref, first, matrix, (size_t)n * n, 0.1);
        }
        gi_ref_rewind(ref, n_memory);
    }
}

void gi_ref_delta_conv(struct gi_ref *ref)
{
    const struct gi_delta_params *p = ref->params;
    const uint32_t n = gi_ref_define(ref, "DIM"), n_head = p->n_head, n_k_head = p->n_k_head;
    struct gi_ref_conv conv = {.n_taps = gi_ref_define(ref, "TAPS"),
                               .n_channel = (2 * n_k_head + n_head) * n,
                               .x_stride = p->x_stride};
    const bool is_read = gi_ref_conv_init(&conv, ref, p->taps, GI_REF_NONE);
    const float *x_rate = gi_ref_rows(ref, 1, p->rate, p->x_stride, n_head);
    const float *x_decay = gi_ref_rows(ref, 1, p->decay, p->x_stride, n_head);
    const float *bias = gi_ref_floats(ref, 2, p->decay_bias, n_head);
    const float *decay_rate = gi_ref_floats(ref, 2, p->decay_rate, n_head);
    double *row = gi_ref_memory(ref, conv.n_channel, sizeof(*row));
    for (uint32_t m = 0; is_read && !ref->has_failed && m < ref->n_tokens;
         m = gi_ref_next(ref, m, ref->n_tokens, conv.n_channel)) {
        const uint64_t at = (uint64_t)m * p->y_stride, tail = at + conv.n_channel;
        const size_t x_row = (size_t)m * p->x_stride;
        convolve(ref, &conv, m, n_k_head, p->eps, row);
        for (uint32_t i = 0; i < conv.n_channel; i++) {
            gi_ref_expect(ref, "channel", 0, at + i, row[i], 1e-2 + fabs(row[i]));
        }
        for (uint32_t head = 0; head < n_head; head++) {
            const double decay = decay_of(x_decay[x_row + head], bias[head], decay_rate[head]);
            gi_ref_expect(ref, "decay", 0, tail + 2ull * head, decay, 1);
            gi_ref_expect(ref, "rate", 0, tail + 2ull * head + 1, rate_of(x_rate[x_row + head]), 1);
        }
        for (uint32_t head = 0; head < n_k_head; head++) {
            const double *q = row + (size_t)head * n, *k = q + (size_t)n_k_head * n;
            gi_ref_expect(ref, "q k", 0, tail + 2ull * n_head + head, product(q, k, n),
                          1 / sqrt(n));
        }
    }
}

// The scan takes the decay, the rate, q, k, v and q k as the convolution left them. The self-test
// may find values of another kernel there: q k is then not the product of q and k.
void gi_ref_delta_scan(struct gi_ref *ref)
{
    const struct gi_delta_params *p = ref->params;
    const uint32_t n = gi_ref_define(ref, "DIM"), n_head = p->n_head, n_tokens = ref->n_tokens;
    struct gi_ref_conv conv = {.n_taps = gi_ref_define(ref, "TAPS"),
                               .n_channel = (2 * p->n_k_head + n_head) * n,
                               .x_stride = p->x_stride};
    const size_t n_row = conv.n_channel + 2 * (size_t)n_head + p->n_k_head;
    conv.x = gi_ref_rows(ref, 2, 0, p->x_stride, conv.n_channel);
    const float *y = gi_ref_rows(ref, 1, 0, p->y_stride, n_row);
    double *q = gi_ref_memory(ref, n, sizeof(*q)), *k = gi_ref_memory(ref, n, sizeof(*k));
    if (ref->has_failed) {
        return;
    }
    gi_ref_expect_ring(ref, &conv);
    for (uint32_t head = 0; head < n_head;
         head = gi_ref_next(ref, head, n_head, (uint64_t)n_tokens * n * n)) {
        const struct head_channels at = channels_of(ref, p->n_k_head, head);
        const uint64_t first = p->matrix + (uint64_t)head * n * n;
        const size_t n_memory = ref->memory.count;
        double *matrix = gi_ref_matrix(ref, first, (size_t)n * n);
        for (uint32_t m = 0; matrix && m < n_tokens; m++) {
            const float *row = y + (size_t)m * p->y_stride;
            const float *scalars = row + conv.n_channel + (size_t)2 * head;
            const double qk = row[conv.n_channel + 2 * n_head + at.q / n];
            for (uint32_t i = 0; i < n; i++) {
                q[i] = row[at.q + i];
                k[i] = row[at.k + i];
            }
            for (uint32_t j = 0; j < n; j++) {
                const struct gi_ref_value o =
                    change_and_read(matrix, n, j, q, k, qk, row[at.v + j], scalars[0], scalars[1]);
                gi_ref_expect(ref, "o", 0, (uint64_t)m * p->o_stride + (uint64_t)head * n + j,
                              o.value, 0.1 + o.magnitude);
            }
        }
        if (matrix) {
            gi_ref_expect_matrix(ref, first, matrix, (size_t)n * n, 0.1);
        }
        gi_ref_rewind(ref, n_memory);
    }
}

void gi_ref_delta_norm(struct gi_ref *ref)
{
    const struct gi_delta_params *p = ref->params;
    const uint32_t n = gi_ref_define(ref, "DIM"), n_head = ref->dispatch->grid.size[0];
    const uint32_t width = n_head * n;
    const float *o = gi_ref_rows(ref, 1, 0, p->o_stride, width);
    const float *gamma = gi_ref_floats(ref, 2, p->gamma, n);
    const float *z = gi_ref_rows(ref, 3, p->z, p->x_stride, width);
    double *line = gi_ref_memory(ref, n, sizeof(*line));
    for (uint32_t m = 0; !ref->has_failed && m < ref->n_tokens;
         m = gi_ref_next(ref, m, ref->n_tokens, width)) {
        for (uint32_t begin = 0; begin < width; begin += n) {
            for (uint32_t i = 0; i < n; i++) {
                line[i] = o[(size_t)m * p->o_stride + begin + i];
            }
            expect_normed(ref, (uint64_t)m * p->out_stride + begin, line, gamma,
                          z + (size_t)m * p->x_stride + begin, n, p->eps);
        }
    }
}
