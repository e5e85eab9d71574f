#include "ops/experts/experts.h"

#include "base/round.h"
#include "glsl/experts/experts_params.h"
#include "ops/gemm/half_rows.h"

#include <assert.h>

#define WG_SIZE  64
#define MAX_USED 32 // of glsl/experts/route.comp

// Returns the experts that a router chooses from.
static uint32_t choice_of(const struct gi_experts *experts)
{
    return experts->n_expert - experts->n_shared;
}

uint32_t gi_router_rows(const struct gi_experts *experts)
{
    const uint32_t two_tiles = 2 * GI_TILE_ROWS;
    return (uint32_t)gi_round_up(choice_of(experts), two_tiles) +
           (experts->router.has_shared_gate ? two_tiles : 0);
}

void gi_op_route(struct gi_recorder *recorder, const struct gi_experts *experts,
                 enum gi_experts_tokens tokens, const struct gi_rows *logits,
                 const struct gi_vectors *vectors, uint32_t bias, uint32_t factor,
                 const struct gi_rows *act)
{
    const bool has_vectors = experts->router.has_bias || factor != UINT32_MAX;
    assert(experts->n_used > 0 && experts->n_used <= MAX_USED);
    assert(experts->n_used <= experts->n_expert && experts->n_shared < experts->n_used);
    assert(logits->stride >= choice_of(experts));
    struct gi_program_key key =
        GI_KEY(GI_PROGRAM_ROUTE, {"WG_SIZE", gi_recorder_wg_size(recorder, WG_SIZE)});
    if (experts->router.gating != GI_GATING_CHOSEN) {
        gi_key_define(&key, "GATING", experts->router.gating);
        gi_key_define(&key, "BIAS", experts->router.has_bias);
    }
    gi_key_option(&key, "FACTORS", factor != UINT32_MAX);
    const uint32_t two_tiles = 2 * GI_TILE_ROWS;
    const struct gi_route_params params = {
        .n_expert = choice_of(experts),
        .n_used = experts->n_used - experts->n_shared,
        .n_shared = experts->n_shared,
        .shared_gate =
            experts->router.has_shared_gate ? gi_router_rows(experts) - two_tiles : UINT32_MAX,
        .stride = logits->stride,
        .act_stride = act->stride,
        .route = experts->route,
        .one = 1,
        .bias = bias,
        .factor = factor,
        .is_normalised = experts->router.is_normalised,
        .scale = experts->router.scale,
    };
    struct gi_dispatch dispatch = {
        .label = "route",
        .bindings = {act->range, logits->range,
                     has_vectors ? vectors->range : (struct gi_range){0}},
        GI_PARAMS_OF(params),
        .grid = {.size = {1, 1, 1},
                 .rule = tokens == GI_EXPERTS_BATCH ? GI_GRID_TOKENS : GI_GRID_FIXED,
                 .axis = 0,
                 .divisor = 1},
    };
    gi_recorder_add(recorder, &key, &dispatch);
}

static void record_add(struct gi_recorder *recorder, const struct gi_add_experts_params *params,
                       enum gi_experts_tokens tokens, bool is_sorted, bool is_added,
                       struct gi_range x, struct gi_range y, struct gi_range vectors,
                       struct gi_range act)
{
    const uint32_t wg_size = gi_recorder_wg_size(recorder, WG_SIZE);
    struct gi_program_key key =
        GI_KEY(GI_PROGRAM_ADD_EXPERTS, {"WG_SIZE", wg_size}, {"BATCH", tokens == GI_EXPERTS_BATCH});
    gi_key_option(&key, "SORTED", is_sorted);
    gi_key_option(&key, "SET", !is_added);
    struct gi_dispatch dispatch = {
        .label = "add_experts",
        .bindings = {x, y, vectors, act},
        GI_PARAMS_OF(*params),
        .grid =
            gi_grid_rows((params->n_embd / 4 + wg_size - 1) / wg_size, tokens == GI_EXPERTS_BATCH),
    };
    gi_recorder_add(recorder, &key, &dispatch);
}

void gi_op_add_experts(struct gi_recorder *recorder, const struct gi_experts *experts,
                       const struct gi_rows *act, const struct gi_rows *y,
                       const struct gi_vectors *vectors, uint32_t next_gamma, float scale,
                       struct gi_stream *stream)
{
    assert(next_gamma != UINT32_MAX && next_gamma % 4 == 0);
    const struct gi_add_experts_params params = {
        .n_embd = stream->n_embd,
        .n_used = experts->n_used,
        .y_stride = y->stride,
        .y_width = experts->y_width,
        .act_stride = act->stride,
        .route = experts->route,
        .gamma = next_gamma,
        .residual = stream->residual,
        .norm = stream->norm,
        .ssq = stream->ssq,
        .scale = scale,
    };
    assert(!stream->is_parted);
    stream->has_sums = false;
    const uint32_t wg_size = gi_recorder_wg_size(recorder, WG_SIZE);
    stream->n_ssq = (params.n_embd / 4 + wg_size - 1) / wg_size;
    assert(stream->n_ssq <= stream->max_ssq);
    record_add(recorder, &params, GI_EXPERTS_STEP, false, true, stream->range, y->range,
               vectors->range, act->range);
}

void gi_op_add_experts_batch(struct gi_recorder *recorder, const struct gi_experts *experts,
                             const struct gi_rows *act, const struct gi_rows *y, uint32_t n_embd,
                             float scale, bool is_added, const struct gi_rows *x)
{
    const struct gi_add_experts_params params = {
        .n_embd = n_embd,
        .n_used = experts->n_used,
        .x_stride = x->stride,
        .y_stride = y->stride,
        .y_width = experts->y_width,
        .act_stride = act->stride,
        .route = experts->route,
        .scale = scale,
    };
    // Nothing is read of the vectors in a batch.
    record_add(recorder, &params, GI_EXPERTS_BATCH, false, is_added, x->range, y->range,
               (struct gi_range){0}, act->range);
}

//-- sorted ----------------------------------------------------------------------------------------

#define SORT_WG_SIZE 128
#define TILE_FLOATS  4  // of a tile; rows have at most two each, an expert's last one being shorter
#define ALIGNMENT    64 // floats of a buffer's part that is bound
#define HALF_STEP    4  // an expert's rows in f16 begin at multiples of it

uint32_t gi_sorted_width(const struct gi_experts *experts)
{
    return experts->n_used *
           (experts->y_width + experts->act_width + 2 * TILE_FLOATS + GI_ROUTE_FLOATS);
}

// Floats of the rows of a width.
static uint64_t rows_size(const struct gi_sorted_rows *rows, uint32_t n_expert, uint32_t width)
{
    const uint64_t size =
        rows->is_half
            ? gi_half_rows_size(rows->n + (HALF_STEP - 1) * n_expert, width) / sizeof(float)
            : (uint64_t)rows->n * width;
    return gi_round_up(size, ALIGNMENT);
}

// Lays the rows out, in f16 or f32. Returns the floats that they take.
static uint64_t lay_out(struct gi_sorted_rows *rows, const struct gi_gpu *gpu,
                        const struct gi_experts *experts, bool is_half)
{
    const uint32_t n = rows->n, n_expert = experts->n_expert;
    rows->is_half = is_half;
    rows->tile_tokens = gi_experts_tile(gpu, n, n_expert, is_half);
    const uint32_t n_tile = gi_divide_up(n, rows->tile_tokens) + n_expert;
    const uint64_t act = rows_size(rows, n_expert, experts->y_width);
    const uint64_t tiles = act + rows_size(rows, n_expert, experts->act_width);
    const uint64_t route = tiles + gi_round_up((uint64_t)n_tile * TILE_FLOATS, ALIGNMENT);
    rows->act = (uint32_t)act;
    rows->tiles = (uint32_t)tiles;
    rows->route = (uint32_t)route;
    return route + (uint64_t)n * GI_ROUTE_FLOATS;
}

// Halves of many experts with few rows take more room than floats do: each expert's begin anew.
bool gi_sorted_rows_init(struct gi_sorted_rows *rows, const struct gi_recorder *recorder,
                         const struct gi_experts *experts, struct gi_range range, uint32_t n_tokens)
{
    const uint32_t n = n_tokens * experts->n_used;
    const uint64_t n_float = range.size / sizeof(float);
    *rows = (struct gi_sorted_rows){.range = range, .n = n};
    const bool fits = (gi_experts_take_half(recorder, n, experts->n_expert) &&
                       lay_out(rows, recorder->gpu, experts, true) <= n_float) ||
                      lay_out(rows, recorder->gpu, experts, false) <= n_float;
    return n >= 2 * experts->n_expert && fits;
}

struct gi_range gi_sorted_part(const struct gi_sorted_rows *rows, uint32_t begin)
{
    struct gi_range part = rows->range;
    part.offset += begin * sizeof(float);
    part.size = (begin == rows->route ? (uint64_t)rows->n * GI_ROUTE_FLOATS
                 : begin == rows->act ? rows->tiles - rows->act
                                      : rows->act) *
                sizeof(float);
    return part;
}

static void record_sort(struct gi_recorder *recorder, const struct gi_experts *experts,
                        const struct gi_sorted_rows *rows)
{
    const struct gi_program_key key =
        GI_KEY(GI_PROGRAM_SORT_EXPERTS, {"WG_SIZE", SORT_WG_SIZE}, {"N_EXPERT", experts->n_expert});
    const struct gi_sort_experts_params params = {
        .n_used = experts->n_used,
        .route = rows->route / 4,
        .tiles = rows->tiles / 4,
        .tile_tokens = rows->tile_tokens,
        .row_step = rows->is_half ? HALF_STEP : 1,
    };
    struct gi_dispatch dispatch = {
        .label = "sort_experts",
        .bindings = {rows->range},
        GI_PARAMS_OF(params),
        .grid = {.size = {1, 1, 1}},
    };
    gi_recorder_add(recorder, &key, &dispatch);
}

void gi_op_route_sorted(struct gi_recorder *recorder, const struct gi_experts *experts,
                        const struct gi_rows *logits, const struct gi_vectors *vectors,
                        uint32_t bias, uint32_t factor, const struct gi_sorted_rows *rows)
{
    const struct gi_rows routes = {rows->range, GI_ROUTE_FLOATS * experts->n_used, false};
    struct gi_experts moved = *experts;
    moved.route = rows->route;
    gi_op_route(recorder, &moved, GI_EXPERTS_BATCH, logits, vectors, bias, factor, &routes);
    record_sort(recorder, experts, rows);
}

void gi_op_gather_rows(struct gi_recorder *recorder, const struct gi_experts *experts,
                       const struct gi_rows *x, const struct gi_sorted_rows *rows)
{
    assert(!x->is_half && x->stride >= experts->y_width);
    const struct gi_program_key key =
        GI_KEY(GI_PROGRAM_GATHER_ROWS, {"WG_SIZE", WG_SIZE}, {"HALF", rows->is_half});
    const struct gi_gather_rows_params params = {
        .n_used = experts->n_used,
        .n_quad = experts->y_width / 4,
        .x_stride = x->stride / 4,
        .input_begin = rows->input / 4,
    };
    const uint32_t n_word = gi_half_row_tiles(experts->y_width) * GI_HALF_COLUMNS / 8;
    struct gi_dispatch dispatch = {
        .label = "gather_rows",
        .bindings = {gi_sorted_part(rows, rows->input), x->range,
                     gi_sorted_part(rows, rows->route)},
        GI_PARAMS_OF(params),
        .grid = {.size = {gi_divide_up(rows->is_half ? n_word : params.n_quad, WG_SIZE), 1,
                          rows->is_half ? 1 : experts->n_used},
                 .rule = GI_GRID_TOKENS,
                 .axis = 1,
                 .divisor = 1},
    };
    gi_recorder_add(recorder, &key, &dispatch);
}

void gi_op_add_sorted_experts(struct gi_recorder *recorder, const struct gi_experts *experts,
                              const struct gi_sorted_rows *rows, const struct gi_rows *y,
                              uint32_t n_embd, float scale, bool is_added, const struct gi_rows *x)
{
    const struct gi_add_experts_params params = {
        .n_embd = n_embd,
        .n_used = experts->n_used,
        .x_stride = x->stride,
        .y_width = y->stride,
        .act_stride = GI_ROUTE_FLOATS * experts->n_used,
        .route = rows->route,
        .scale = scale,
    };
    record_add(recorder, &params, GI_EXPERTS_BATCH, true, is_added, x->range, y->range,
               (struct gi_range){0}, rows->range);
}
