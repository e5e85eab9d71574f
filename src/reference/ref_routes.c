// The choice, the order and the sum of experts: glsl/experts. A route is { expert, share, place,
// row }, in floats.
#include "base/round.h"
#include "glsl/experts/experts_params.h"
#include "ops/experts/experts.h"
#include "ops/gemm/half_rows.h"
#include "reference/places/ref_half_rows.h"
#include "reference/reference.h"

#include <math.h>

//-- route -----------------------------------------------------------------------------------------

// Expects the experts of a token and their shares. With a bias, experts may be as good as others
// within the precision of f32, so that the shares are those of the experts that were found.
static void expect_token(struct gi_ref *ref, const float *logits, const float *bias,
                         const float *factors, uint64_t at)
{
    const struct gi_route_params *p = ref->params;
    const enum gi_gating gating = (enum gi_gating)gi_ref_define(ref, "GATING");
    const float *routes = gi_ref_floats(ref, 0, at, (size_t)GI_ROUTE_FLOATS * p->n_used);
    double *shares = gi_ref_memory(ref, p->n_expert, sizeof(*shares)); // of all
    double *ranks = gi_ref_memory(ref, p->n_expert, sizeof(*ranks));
    double largest = -INFINITY, all = 0, chosen = 0;
    for (uint32_t e = 0; e < p->n_expert; e++) {
        largest = logits[e] > largest ? logits[e] : largest;
    }
    for (uint32_t e = 0; e < p->n_expert; e++) {
        all += exp(logits[e] - largest);
    }
    for (uint32_t e = 0; !ref->has_failed && e < p->n_expert; e++) {
        shares[e] = gating == GI_GATING_SIGMOID ? 1 / (1 + exp(-(double)logits[e]))
                                                : exp(logits[e] - largest) / all;
        ranks[e] = bias ? shares[e] + bias[e] : logits[e];
    }
    for (uint32_t i = 0; !ref->has_failed && i < p->n_used; i++) {
        const uint32_t found = gi_ref_index(routes[GI_ROUTE_FLOATS * i], p->n_expert);
        const double rank = bias ? shares[found] + bias[found] : found;
        uint32_t best = 0;
        for (uint32_t e = 1; e < p->n_expert; e++) {
            best = ranks[e] > ranks[best] ? e : best;
        }
        const struct gi_ref_value expected = {bias ? ranks[best] : best,
                                              bias ? 1 + fabs(ranks[best]) : 0};
        gi_ref_expect_found(ref, "expert", 0, at + GI_ROUTE_FLOATS * i, 1, expected, rank);
        ranks[best] = -INFINITY; // it is taken
        chosen += shares[found];
    }
    const double divisor = gating == GI_GATING_CHOSEN ? chosen
                           : p->is_normalised         ? fmax(chosen, 6.1e-5)
                                                      : 1;
    const double scale = gating == GI_GATING_CHOSEN ? 1 : p->scale;
    for (uint32_t i = 0; !ref->has_failed && i < p->n_used; i++) {
        const uint32_t found = gi_ref_index(routes[GI_ROUTE_FLOATS * i], p->n_expert);
        const double factor = scale * (factors ? factors[found] : 1);
        const double share = factor * shares[found] / divisor;
        // exp's error grows with its argument.
        const double argument = logits[found] - (gating == GI_GATING_SIGMOID ? 0 : largest);
        gi_ref_expect(ref, "share", 0, at + GI_ROUTE_FLOATS * i + 1, share,
                      1e-6 + fabs(share) * (1 + fabs(argument)));
    }
}

static void expect_chosen(struct gi_ref *ref)
{
    const struct gi_route_params *p = ref->params;
    const float *logits = gi_ref_rows(ref, 1, 0, p->stride, p->n_expert);
    const float *bias =
        gi_ref_define(ref, "BIAS") ? gi_ref_floats(ref, 2, p->bias, p->n_expert) : NULL;
    const float *factors =
        gi_ref_define(ref, "FACTORS") ? gi_ref_floats(ref, 2, p->factor, p->n_expert) : NULL;
    for (uint32_t token = 0; !ref->has_failed && token < ref->n_tokens; token++) {
        const size_t n_memory = ref->memory.count;
        expect_token(ref, logits + (size_t)token * p->stride, bias, factors,
                     (uint64_t)token * p->act_stride + p->route);
        gi_ref_rewind(ref, n_memory);
    }
}

void gi_ref_route(struct gi_ref *ref)
{
    const struct gi_route_params *p = ref->params;
    const bool has_gate = p->shared_gate != UINT32_MAX;
    const float *gates = has_gate ? gi_ref_rows(ref, 1, p->shared_gate, p->stride, 1) : NULL;
    for (uint32_t token = 0; !ref->has_failed && token < ref->n_tokens; token++) {
        const double gate = gates ? gates[(size_t)token * p->stride] : 0;
        const double share = gates ? 1 / (1 + exp(-gate)) : 1;
        const uint64_t at = (uint64_t)token * p->act_stride + p->route;
        gi_ref_expect_written(ref, "route", 0, at, (uint64_t)GI_ROUTE_FLOATS * p->n_used);
        for (uint32_t i = 0; i < p->n_used + p->n_shared; i++) {
            const uint64_t own = at + GI_ROUTE_FLOATS * i;
            gi_ref_expect_bits(ref, "after a share", 0, own + 2, 0);
            gi_ref_expect_bits(ref, "after a share", 0, own + 3, 0);
            if (i >= p->n_used) {
                gi_ref_expect(ref, "shared expert", 0, own, p->n_expert + i - p->n_used, 0);
                gi_ref_expect(ref, "shared share", 0, own + 1, share,
                              1e-6 + share * (1 + fabs(gate)));
            }
        }
    }
    ref->after = expect_chosen;
}

//-- sort_experts ----------------------------------------------------------------------------------

static const float *read_routes(struct gi_ref *ref, uint32_t *n)
{
    const struct gi_sort_experts_params *p = ref->params;
    *n = ref->n_tokens * p->n_used;
    return gi_ref_floats(ref, 0, 4ull * p->route, (size_t)GI_ROUTE_FLOATS * *n);
}

static void expect_run(struct gi_ref *ref, uint32_t run, const uint32_t values[4])
{
    const struct gi_sort_experts_params *p = ref->params;
    for (uint32_t i = 0; i < 4; i++) {
        gi_ref_expect(ref, "run of an expert", 0, 4ull * (p->tiles + run) + i, values[i], 0);
    }
}

// Expects the runs of each expert's rows, and the routes of its rows, which may be in any order: a
// route has any place of its expert that no other has.
static void expect_order(struct gi_ref *ref)
{
    const struct gi_sort_experts_params *p = ref->params;
    const uint32_t n_expert = gi_ref_define(ref, "N_EXPERT");
    uint32_t n, place = 0, row = 0, run = 0; // the first place and row of an expert
    const float *routes = read_routes(ref, &n);
    bool *is_taken = gi_ref_memory(ref, n, sizeof(*is_taken));
    for (uint32_t e = 0; !ref->has_failed && e < n_expert; e++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < n; i++) {
            count += gi_ref_index(routes[GI_ROUTE_FLOATS * i], n_expert) == e;
        }
        for (uint32_t i = 0; i < n; i++) {
            const float *route = routes + (size_t)GI_ROUTE_FLOATS * i;
            const uint32_t own = gi_ref_index(route[2], n);
            const uint64_t at = 4ull * p->route + GI_ROUTE_FLOATS * i;
            if (gi_ref_index(route[0], n_expert) == e) {
                const bool is_good = own >= place && own < place + count && !is_taken[own];
                gi_ref_expect_found(ref, "own place", 0, at + 2, 1, (struct gi_ref_value){1, 0},
                                    is_good);
                gi_ref_expect(ref, "row", 0, at + 3, own - place + row, 0);
                is_taken[own] = true;
            }
        }
        for (uint32_t i = 0; i < count; i += p->tile_tokens) {
            expect_run(ref, run++, (uint32_t[]){e, row + i, row + count, row - place});
        }
        place += count;
        row += (uint32_t)gi_round_up(count, p->row_step);
    }
    while (!ref->has_failed && run < gi_divide_up(n, p->tile_tokens) + n_expert) {
        expect_run(ref, run++, (uint32_t[]){n_expert, 0, 0, 0});
    }
}

void gi_ref_sort_experts(struct gi_ref *ref)
{
    const struct gi_sort_experts_params *p = ref->params;
    const uint32_t n_expert = gi_ref_define(ref, "N_EXPERT");
    uint32_t n;
    const float *routes = read_routes(ref, &n);
    const uint64_t n_run = gi_divide_up(n, p->tile_tokens) + n_expert;
    gi_ref_expect_written(ref, "run of an expert", 0, 4ull * p->tiles, 4 * n_run);
    for (uint32_t i = 0; !ref->has_failed && i < n; i++) { // experts and shares stay
        const uint64_t at = 4ull * p->route + GI_ROUTE_FLOATS * i;
        gi_ref_expect(ref, "expert", 0, at, routes[GI_ROUTE_FLOATS * i], 0);
        gi_ref_expect(ref, "share", 0, at + 1, routes[GI_ROUTE_FLOATS * i + 1], 0);
    }
    ref->after = expect_order;
}

//-- rows of experts -------------------------------------------------------------------------------

void gi_ref_gather_rows(struct gi_ref *ref)
{
    const struct gi_gather_rows_params *p = ref->params;
    const uint32_t n = 4 * p->n_quad;
    const struct gi_ref_rows_form form = {gi_ref_define(ref, "HALF"), 4ull * p->input_begin, n,
                                          gi_half_row_tiles(n)};
    const uint32_t room = gi_ref_rows_room(ref, &form);
    const float *x = gi_ref_rows(ref, 1, 0, 4ull * p->x_stride, n);
    const float *routes =
        gi_ref_floats(ref, 2, 0, (size_t)GI_ROUTE_FLOATS * ref->n_tokens * p->n_used);
    struct gi_ref_value *row = gi_ref_memory(ref, n, sizeof(*row));
    for (uint32_t token = 0; !ref->has_failed && token < ref->n_tokens;
         token = gi_ref_next_row(ref, &form, token, ref->n_tokens, (uint64_t)n * p->n_used)) {
        const float *route = routes + (size_t)GI_ROUTE_FLOATS * token * p->n_used;
        for (uint32_t i = 0; i < n; i++) {
            const double value = x[4ull * token * p->x_stride + i];
            row[i] = (struct gi_ref_value){value, fabs(value)};
        }
        for (uint32_t i = 0; i < p->n_used; i++) {
            const uint32_t to = gi_ref_index(route[GI_ROUTE_FLOATS * i + 3], room);
            gi_ref_expect_row(ref, "row", &form, to, 0, row, n);
        }
    }
}

// Works out the residual of a token with the results of its experts; before may be NULL.
static void add_token(const struct gi_add_experts_params *p, const float *before,
                      const float *route, const float *y, uint32_t n_place,
                      struct gi_ref_value *row)
{
    for (uint32_t i = 0; i < p->n_embd; i++) {
        const double own = before ? before[i] : 0;
        row[i] = (struct gi_ref_value){own, fabs(own)};
        for (uint32_t k = 0; k < p->n_used; k++) {
            const float *chosen = route + (size_t)GI_ROUTE_FLOATS * k;
            const uint32_t place = n_place > 0 ? gi_ref_index(chosen[2], n_place) : k;
            const double share = (double)p->scale * chosen[1];
            const double added = share * y[(uint64_t)place * p->y_width + i];
            row[i].value += added;
            row[i].magnitude += fabs(added);
        }
    }
}

void gi_ref_add_experts(struct gi_ref *ref)
{
    const struct gi_add_experts_params *p = ref->params;
    const bool is_batch = gi_ref_define(ref, "BATCH");
    const uint32_t n_tokens = is_batch ? ref->n_tokens : 1, n = p->n_embd;
    const uint32_t n_place = gi_ref_define(ref, "SORTED") ? n_tokens * p->n_used : 0;
    const uint64_t last_y = n_place > 0 ? (uint64_t)(n_place - 1) * p->y_width
                                        : (uint64_t)(n_tokens - 1) * p->y_stride +
                                              (uint64_t)(p->n_used - 1) * p->y_width;
    const float *routes = gi_ref_floats(ref, 3, p->route,
                                        (uint64_t)(n_tokens - 1) * p->act_stride +
                                            (uint64_t)GI_ROUTE_FLOATS * p->n_used);
    const float *y = gi_ref_floats(ref, 1, 0, last_y + n);
    const float *before =
        gi_ref_define(ref, "SET")
            ? NULL
            : gi_ref_floats(ref, 0, p->residual, (uint64_t)(n_tokens - 1) * p->x_stride + n);
    const struct gi_ref_rows_form x = {.begin = p->residual, .stride = p->x_stride};
    struct gi_ref_value *row = gi_ref_memory(ref, n, sizeof(*row));
    for (uint32_t token = 0; !ref->has_failed && token < n_tokens;
         token = gi_ref_next(ref, token, n_tokens, n)) {
        add_token(p, before ? before + (size_t)token * p->x_stride : NULL,
                  routes + (size_t)token * p->act_stride,
                  n_place > 0 ? y : y + (size_t)token * p->y_stride, n_place, row);
        gi_ref_expect_row(ref, "x", &x, token, 0, row, n);
    }
    if (!ref->has_failed && !is_batch) {
        gi_ref_expect_norm(ref, 0, row, n, p->gamma, p->norm, p->ssq);
    }
}
