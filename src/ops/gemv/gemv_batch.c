#include "ops/gemv/gemv_batch.h"

#include "base/round.h"
#include "ops/gemm/batch.h"
#include "ops/gemm/batch_form.h"
#include "ops/gemm/half_rows.h"

#include <assert.h>
#include <string.h>

static bool is_power(uint32_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

static bool has_subgroups(const struct gi_gpu *gpu)
{
    return gi_program_available(gpu, GI_PROGRAM_GEMV_BATCH_SUBGROUP);
}

// A pool of invocations, 8 a slice of k, shares LANE_PAIRS pairs. Sums of slices, with subgroups of
// subgroups, have to fit into shared memory.
static bool is_possible(const struct gi_gemv_batch_shape *shape, const struct gi_gpu *gpu)
{
    const struct gi_limits *limits = gi_gpu_limits(gpu);
    const bool is_sound = is_power(shape->wg_size) && is_power(shape->pairs) &&
                          (shape->lane_pairs == 1 || shape->lane_pairs == 2) &&
                          shape->pairs % shape->lane_pairs == 0 && shape->tokens % 4 == 0 &&
                          shape->tokens > 0 && shape->wg_size <= limits->max_invocations;
    const uint32_t pool = is_sound ? shape->wg_size / (shape->pairs / shape->lane_pairs) : 0;
    const uint32_t span = has_subgroups(gpu) && pool > 32 ? 32 : has_subgroups(gpu) ? pool : 8;
    return pool >= 8 && (size_t)pool / span * shape->tokens * shape->pairs * 16 * sizeof(float) <=
                            limits->max_shared_size;
}

static struct gi_gemv_batch_shape choose_shape(const struct gi_gpu *gpu, uint32_t n_pair)
{
    struct gi_gemv_batch_shape asked;
    if (gi_gemv_batch_shape_parse(gi_gpu_settings(gpu)->gemm, &asked) && is_possible(&asked, gpu)) {
        return asked;
    }
    const struct gi_gemv_batch_row *row = gi_gpu_class(gpu)->gemv_batch;
    while (n_pair < row->min_pair || !is_possible(&row->shape, gpu)) {
        row++;
    }
    return row->shape;
}

bool gi_gemv_batch_suits(const struct gi_gpu *gpu, uint32_t max_tokens)
{
    const char *asked = gi_gpu_settings(gpu)->gemm;
    if (gi_batch_form(gpu) != GI_BATCH_FORM_SPLIT ||
        !(has_subgroups(gpu) || gi_program_available(gpu, GI_PROGRAM_GEMV_BATCH))) {
        return false;
    }
    return *asked ? strncmp(asked, "few", 3) == 0 : max_tokens <= gi_batch_small_tokens(gpu);
}

// Records a program whose groups have n_row rows and n_token tokens. vectors may be NULL.
static void record(struct gi_recorder *recorder, const char *label,
                   const struct gi_program_key *key, const struct gi_weight_part *part,
                   const struct gi_rows *x, const struct gi_range *vectors, const struct gi_rows *y,
                   const struct gi_gemm_params *params, uint32_t n_row, uint32_t n_token)
{
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {y->range, x->range, part->quads, part->aux,
                     vectors ? *vectors : (struct gi_range){0}},
        GI_PARAMS_OF(*params),
        // Rows of attention are as far apart as its scratch is large, which depends on the context.
        .runtime_params = GI_PARAM_BIT(struct gi_gemm_params, x_stride),
        .grid = {.size = {1, gi_divide_up(part->n_rows, n_row), 1},
                 .rule = GI_GRID_TOKENS,
                 .axis = 0,
                 .divisor = n_token,
                 .is_divisible = true,
                 .divisible_axis = 1},
        .weight_bytes = part->quads.size + part->aux.size,
        .n_weight = (uint64_t)part->n_rows * params->n_block * GI_QUANT_BLOCK,
    };
    gi_recorder_add(recorder, key, &dispatch);
}

void gi_gemv_batch_record(struct gi_recorder *recorder, const char *label,
                          const struct gi_weight_part *part, const struct gi_rows *x, bool is_added,
                          const struct gi_rows *y, const struct gi_gemm_params *params)
{
    const struct gi_gemv_batch_shape shape = choose_shape(recorder->gpu, part->n_rows / 16);
    const enum gi_program_id id =
        has_subgroups(recorder->gpu) ? GI_PROGRAM_GEMV_BATCH_SUBGROUP : GI_PROGRAM_GEMV_BATCH;
    const struct gi_program_key key = GI_WEIGHT_KEY(
        id, part->quant->type, {"ADD", is_added}, {"HAS_BIAS", part->bias != GI_NO_OFFSET},
        {"WG_SIZE", shape.wg_size}, {"PAIRS", shape.pairs}, {"LANE_PAIRS", shape.lane_pairs},
        {"TOKENS", shape.tokens});
    record(recorder, label, &key, part, x, NULL, y, params, 16 * shape.pairs, shape.tokens);
}

// Returns the steps of 64 columns of x that a group of the kernel in f16 has at a time.
static uint32_t count_steps(const struct gi_gpu *gpu)
{
    enum { ROOM = 48 << 10 };
    return gi_gpu_limits(gpu)->max_shared_size >= ROOM ? 32 : 16;
}

// A group takes as many sets of rows as leave about one wave of groups, since it reads x once for
// all of them; it has two clusters where those make most of a wave, or those that a list's groups
// have room for, and more, narrower ones where it has many rows. Lists of joint steps are sized for
// all their rows, those of prompts for 8.
void gi_gemv_batch_half_record(struct gi_recorder *recorder, const char *label,
                               const struct gi_weight_part *part, const struct gi_rows *x,
                               const struct gi_row_norm *norm, const struct gi_rows *y,
                               const struct gi_gemm_params *params)
{
    // A cluster of 8 slices has an invocation for each token and row of a tile.
    enum { TOKENS = 8, SET_ROWS = 16, LEAST_ROWS = 24, LEAST_SLICES = 8 };
    const struct gi_limits *limits = gi_gpu_limits(recorder->gpu);
    const uint64_t n_row = part->n_rows;
    const uint64_t n_wave =
        gi_recorder_n_groups(recorder, gi_gpu_class(recorder->gpu)->wave_groups);
    const uint32_t room = gi_rows_room(x), n_most = room <= 2 ? 2 : room <= 4 ? 4 : TOKENS;
    const uint64_t n_token_group = gi_divide_up(room, TOKENS);
    const bool is_wide = n_row * n_token_group >= LEAST_ROWS * n_wave &&
                         limits->max_invocations >= 512 && limits->max_group_size[0] >= 512;
    const uint32_t n_step = count_steps(recorder->gpu);
    const uint32_t wg_size =
        gi_max_u32(gi_recorder_wg_size(recorder, 8 * n_step * (is_wide ? 2 : 1)), 8 * n_step);
    const uint64_t n_used = room < GI_SMALL_BATCH ? n_token_group : 1;
    struct gi_gemm_params own = *params;
    const uint64_t n_set = gi_divide_up(n_row * n_used, SET_ROWS * n_wave); // of a group
    own.n_slice = n_step;
    while (own.n_slice > LEAST_SLICES && wg_size / (8 * own.n_slice) * 2 <= n_set) {
        own.n_slice /= 2;
    }
    const uint32_t n_cluster = wg_size / (8 * own.n_slice);
    own.n_set = (uint32_t)gi_divide_up(n_set, n_cluster);
    own.x_form = norm ? 2 : x->is_half ? 0 : 1;
    own.gamma = norm ? norm->gamma : 0;
    own.eps = norm ? norm->eps : 0;
    const struct gi_range *vectors =
        norm ? &norm->vectors->range : &x->range; // the kernel always has binding 4
    const struct gi_program_key key = GI_WEIGHT_KEY(
        GI_PROGRAM_GEMV_BATCH_HALF, part->quant->type, {"HAS_BIAS", part->bias != GI_NO_OFFSET},
        {"STEPS", n_step}, {"MOST_TOKENS", n_most}, {"WG_SIZE", wg_size});
    record(recorder, label, &key, part, x, vectors, y, &own, SET_ROWS * n_cluster * own.n_set,
           TOKENS);
}

bool gi_gemm_converts(const struct gi_recorder *recorder, const struct gi_weight *weight,
                      const struct gi_rows *x, bool is_normed)
{
    const struct gi_gpu *gpu = recorder->gpu;
    return gi_gemm_takes_half(recorder) && !x->is_half && gi_rows_room(x) < GI_SMALL_BATCH &&
           gi_program_available(gpu, GI_PROGRAM_GEMV_BATCH_HALF) &&
           weight->n_cols % GI_QUANT_BLOCK == 0 &&
           (!is_normed || weight->n_cols <= count_steps(gpu) * GI_HALF_COLUMNS);
}

void gi_op_gemm_converted(struct gi_recorder *recorder, const char *label,
                          const struct gi_weight *weight, const struct gi_rows *x,
                          const struct gi_row_norm *norm, bool is_added, float scale,
                          const struct gi_rows *y)
{
    const struct gi_weight_part *part = weight->parts, *end = part + weight->n_parts;
    assert(gi_gemm_converts(recorder, weight, x, norm != NULL) && y->stride >= weight->n_rows);
    assert(x->stride % GI_QUANT_BLOCK == 0 && (!norm || norm->gamma % 4 == 0));
    for (; part < end; part++) {
        struct gi_gemm_params params = gi_gemm_part_params(weight, part, is_added, scale, y);
        params.x_stride = x->stride;
        gi_gemv_batch_half_record(recorder, label, part, x, norm, y, &params);
    }
}
