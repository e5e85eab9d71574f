// AltUp's streams of the residual and LAuReL's branch beside attention: the heads of the kernels in
// glsl/altup have the formulas.
#include "glsl/altup/altup_params.h"
#include "ops/altup/altup.h"
#include "reference/reference.h"

#include <math.h>

enum { N = GI_ALTUP_STREAMS };

// Reads the rows of a binding with the weights of their norm. Both are NULL if nothing is bound.
struct normed_rows {
    const float *rows, *gamma;
};

static struct normed_rows read_normed(struct gi_ref *ref, uint32_t binding, uint32_t stride,
                                      uint32_t n, uint32_t gamma)
{
    return ref->dispatch->bindings[binding].buffer
               ? (struct normed_rows){gi_ref_rows(ref, binding, 0, stride, n),
                                      gi_ref_floats(ref, 2, gamma, n)}
               : (struct normed_rows){NULL, NULL};
}

// Sets own to the norm of a row; to zero if there is none.
static void set_normed(const struct normed_rows *from, uint64_t at, uint32_t n, double eps,
                       double *own)
{
    const float *row = from->rows ? from->rows + at : NULL;
    const double scale = row ? 1 / sqrt(gi_ref_mean_square(row, n, 0) + eps) : 0;
    for (uint32_t i = 0; i < n; i++) {
        own[i] = row ? row[i] * scale * from->gamma[i] : 0;
    }
}

// The weights of a router, which has n_rows rows of coefficients.
struct router {
    const float *gamma, *matrix, *coefs;
    uint32_t n_rows;
    double eps;
};

static struct router read_router(struct gi_ref *ref, uint32_t n, uint32_t norm, uint32_t matrix,
                                 uint32_t coefs, uint32_t n_rows, double eps)
{
    return (struct router){gi_ref_floats(ref, 2, norm, n),
                           gi_ref_floats(ref, 2, matrix, (size_t)N * n),
                           gi_ref_floats(ref, 2, coefs, (size_t)N * n_rows), n_rows, eps};
}

// Works out the n_rows shares that a router gives for a row.
static void find_shares(const struct router *router, const double *row, uint32_t n, double *shares)
{
    double modalities[N] = {0}, squares = 0;
    for (uint32_t i = 0; i < n; i++) {
        squares += row[i] * row[i];
    }
    const double scale = 1 / sqrt(squares / n + router->eps);
    for (uint32_t i = 0; i < N * n; i++) {
        modalities[i / n] += router->matrix[i] * row[i % n] * scale * router->gamma[i % n];
    }
    for (uint32_t i = 0; i < router->n_rows; i++) {
        shares[i] = 0;
        for (uint32_t j = 0; j < N; j++) {
            shares[i] += router->coefs[N * i + j] * tanh(modalities[j] / n);
        }
    }
}

// Returns the factor that makes a row of n as long as `first`.
static double length_factor(const float *first, const float *row, uint32_t n)
{
    return sqrt(gi_ref_mean_square(first, n, 0) / fmax(gi_ref_mean_square(row, n, 0), 1e-30));
}

static void expect_row(struct gi_ref *ref, const char *what, uint32_t binding, uint64_t at,
                       const struct gi_ref_value *row, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        gi_ref_expect(ref, what, binding, at + i, row[i].value, 1e-6 + row[i].magnitude);
    }
}

void gi_ref_altup_embed(struct gi_ref *ref)
{
    const struct gi_altup_params *p = ref->params;
    const uint32_t n = p->n_embd;
    const float *x = gi_ref_rows(ref, 1, p->residual, p->x_stride, n);
    const float *y = gi_ref_rows(ref, 2, 0, p->y_stride, (size_t)(N - 1) * n);
    for (uint32_t token = 0; !ref->has_failed && token < ref->n_tokens;
         token = gi_ref_next(ref, token, ref->n_tokens, (uint64_t)N * n)) {
        const float *first = x + (size_t)token * p->x_stride;
        for (uint32_t s = 0; s < N; s++) {
            const float *row =
                s == 0 ? first : y + (size_t)token * p->y_stride + (size_t)(s - 1) * n;
            const double factor = length_factor(first, row, n);
            for (uint32_t i = 0; i < n; i++) {
                gi_ref_expect(ref, "streams", 0, (uint64_t)token * p->stride + (uint64_t)s * n + i,
                              row[i] * factor, fabs(row[i] * factor));
            }
        }
    }
}

void gi_ref_altup_predict(struct gi_ref *ref)
{
    const struct gi_altup_params *p = ref->params;
    const uint32_t n = p->n_embd, is_batch = gi_ref_define(ref, "BATCH");
    const struct router router =
        read_router(ref, n, p->router_norm, p->router, p->coefs, N * N, p->eps);
    const struct normed_rows y = read_normed(ref, 3, p->y_stride, n, p->y_gamma);
    const float *streams = gi_ref_rows(ref, 0, 0, p->stride, (size_t)N * n);
    double *own = gi_ref_memory(ref, n, sizeof(*own));
    double *c = gi_ref_memory(ref, (size_t)N * n, sizeof(*c)), shares[N * N];
    struct gi_ref_value *row = gi_ref_memory(ref, (size_t)N * n, sizeof(*row));
    for (uint32_t token = 0; !ref->has_failed && token < ref->n_tokens;
         token = gi_ref_next(ref, token, ref->n_tokens, (uint64_t)N * n)) {
        const uint64_t at = (uint64_t)token * p->stride;
        set_normed(&y, (uint64_t)token * p->y_stride, n, p->eps, own);
        for (uint32_t i = 0; n > 0 && i < N * n; i++) {
            c[i] = streams[at + i] + (i < n ? 0 : own[i % n]);
        }
        find_shares(&router, c, n, shares);
        for (uint32_t i = 0; n > 0 && i < N * n; i++) {
            row[i] = (struct gi_ref_value){c[i], fabs((double)streams[at + i]) + fabs(own[i % n])};
            for (uint32_t a = 0; a < N; a++) {
                const double share = shares[N * (i / n) + a], part = c[a * n + i % n];
                row[i].value += share * part;
                row[i].magnitude += (1 + fabs(share)) * fabs(part);
            }
        }
        const uint32_t first = is_batch ? 0 : n; // a step leaves the first stream as it was
        expect_row(ref, "streams", 0, at + first, row + first, N * n - first);
        expect_row(ref, "x", 1, p->residual + (uint64_t)token * p->x_stride, row, n);
        if (!is_batch) {
            gi_ref_expect_norm(ref, 1, row, n, p->gamma, p->norm, p->ssq);
        }
    }
}

void gi_ref_laurel_join(struct gi_ref *ref)
{
    const struct gi_altup_params *p = ref->params;
    const uint32_t n = p->n_embd, is_batch = gi_ref_define(ref, "BATCH");
    const struct normed_rows y = read_normed(ref, 1, p->y_stride, n, p->y_gamma);
    const struct normed_rows x = {gi_ref_rows(ref, 0, p->residual, p->x_stride, n),
                                  gi_ref_floats(ref, 2, p->x_gamma, n)};
    const struct normed_rows branch = {gi_ref_rows(ref, 3, p->l_begin, p->side_stride, n),
                                       gi_ref_floats(ref, 2, p->l_gamma, n)};
    double *own = gi_ref_memory(ref, (size_t)3 * n, sizeof(*own));
    struct gi_ref_value *row = gi_ref_memory(ref, n, sizeof(*row));
    for (uint32_t token = 0; !ref->has_failed && token < ref->n_tokens;
         token = gi_ref_next(ref, token, ref->n_tokens, n)) {
        const uint64_t x_at = (uint64_t)token * p->x_stride;
        set_normed(&x, x_at, n, p->eps, own);
        set_normed(&y, (uint64_t)token * p->y_stride, n, p->eps, own + n);
        set_normed(&branch, (uint64_t)token * p->side_stride, n, p->eps, own + 2 * (size_t)n);
        for (uint32_t i = 0; i < n; i++) {
            const double a = x.rows[x_at + i], b = own[i], c = own[n + i], d = own[2 * n + i];
            row[i].value = (a + b + c + d) / sqrt(2);
            row[i].magnitude = fabs(a) + fabs(b) + fabs(c) + fabs(d);
        }
        if (is_batch) {
            expect_row(ref, "x", 0, p->residual + x_at, row, n);
        } else {
            expect_row(ref, "x", 3, p->z_begin, row, n);
            gi_ref_expect_norm(ref, 0, row, n, p->gamma, p->norm, p->ssq);
        }
    }
}

void gi_ref_altup_correct(struct gi_ref *ref)
{
    const struct gi_altup_params *p = ref->params;
    const uint32_t n = p->n_embd, is_batch = gi_ref_define(ref, "BATCH");
    const struct router router =
        read_router(ref, n, p->router_norm, p->router, p->coefs, N, p->eps);
    const struct normed_rows y = read_normed(ref, 3, p->y_stride, n, p->y_gamma);
    const float *streams = gi_ref_rows(ref, 0, 0, p->stride, (size_t)N * n);
    const float *x = gi_ref_rows(ref, 1, p->residual, p->x_stride, n);
    const float *joined = is_batch ? NULL : gi_ref_floats(ref, 0, p->z_begin, n);
    const float *scale = gi_ref_floats(ref, 2, p->scale, n);
    double *active = gi_ref_memory(ref, n, sizeof(*active)), shares[N];
    struct gi_ref_value *row = gi_ref_memory(ref, (size_t)N * n, sizeof(*row));
    for (uint32_t token = 0; !ref->has_failed && token < ref->n_tokens;
         token = gi_ref_next(ref, token, ref->n_tokens, (uint64_t)N * n)) {
        const uint64_t at = (uint64_t)token * p->stride, x_at = (uint64_t)token * p->x_stride;
        const float *z = is_batch ? x + x_at : joined, *first = is_batch ? streams + at : x;
        set_normed(&y, (uint64_t)token * p->y_stride, n, p->eps, active);
        for (uint32_t i = 0; i < n; i++) {
            active[i] += z[i];
        }
        find_shares(&router, active, n, shares);
        for (uint32_t i = 0; i < N * n; i++) {
            const uint32_t column = i % n;
            const double old = first[column], own = i < n ? old : streams[at + i];
            const double share = 1 + shares[i / n], added = active[column] - z[column];
            row[i].value = own + share * (active[column] - old);
            row[i].magnitude =
                fabs(own) + (1 + fabs(share)) * (fabs(added) + fabs((double)z[column]) + fabs(old));
        }
        expect_row(ref, "streams", 0, at, row, N * n);
        for (uint32_t i = 0; i < n; i++) {
            gi_ref_expect(ref, "x", 1, p->residual + x_at + i, row[i].value * scale[i],
                          1e-6 + row[i].magnitude * fabs((double)scale[i]));
        }
    }
}

void gi_ref_altup_add(struct gi_ref *ref)
{
    const struct gi_altup_params *p = ref->params;
    const uint32_t n = p->n_embd, n_rest = (N - 1) * n;
    const struct normed_rows y = read_normed(ref, 1, p->y_stride, n, p->y_gamma);
    const float *streams = gi_ref_rows(ref, 0, n, p->stride, n_rest);
    double *own = gi_ref_memory(ref, n, sizeof(*own));
    for (uint32_t token = 0; !ref->has_failed && token < ref->n_tokens;
         token = gi_ref_next(ref, token, ref->n_tokens, n_rest)) {
        const uint64_t at = (uint64_t)token * p->stride;
        set_normed(&y, (uint64_t)token * p->y_stride, n, p->eps, own);
        for (uint32_t i = 0; i < n_rest; i++) {
            const double old = streams[at + i];
            gi_ref_expect(ref, "streams", 0, at + n + i, old + own[i % n],
                          fabs(old) + fabs(own[i % n]));
        }
    }
}

void gi_ref_altup_merge(struct gi_ref *ref)
{
    const struct gi_altup_params *p = ref->params;
    const uint32_t n = p->n_embd;
    const float *firsts = gi_ref_rows(ref, 1, 0, p->stride, n);
    const float *u = gi_ref_rows(ref, 3, 0, p->y_stride, (size_t)(N - 1) * n);
    for (uint32_t token = 0; !ref->has_failed && token < ref->n_tokens;
         token = gi_ref_next(ref, token, ref->n_tokens, (uint64_t)N * n)) {
        const float *first = firsts + (size_t)token * p->stride;
        const size_t n_memory = ref->memory.count;
        struct gi_ref_value *row = gi_ref_memory(ref, n, sizeof(*row));
        for (uint32_t s = 0; row && s < N; s++) {
            const float *own =
                s == 0 ? first : u + (size_t)token * p->y_stride + (size_t)(s - 1) * n;
            const double factor = length_factor(first, own, n) / N;
            for (uint32_t i = 0; i < n; i++) {
                row[i].value += own[i] * factor;
                row[i].magnitude += fabs(own[i] * factor);
            }
        }
        if (row) {
            expect_row(ref, "x", 0, p->residual + (uint64_t)token * p->x_stride, row, n);
        }
        if (row && !gi_ref_define(ref, "BATCH")) {
            gi_ref_expect_norm(ref, 0, row, n, p->gamma, p->norm, p->ssq);
        }
        gi_ref_rewind(ref, n_memory);
    }
}
