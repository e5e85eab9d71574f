#include "ops/record/loop_turns.h"

#include "glsl/attention/attention_params.h"
#include "glsl/experts/experts_params.h"
#include "glsl/gemm/gemm_params.h"
#include "glsl/gemv/gemv_params.h"
#include "glsl/measure/measure_params.h"
#include "glsl/sample/sample_params.h"
#include "gpu/dispatch/step_state.h"
#include "ops/record/recorder.h"

#include <string.h>

enum {
    LOOP_LIMIT = 65535, // iterations
    UNROLLED = 32,      // iterations of a loop over an array that drivers unroll at most
    BLOCK_TURNS = 8,    // of a block of weights
    TILE_TURNS = 48,    // of a block of which a tile is staged
    SMALL = 1024,       // of loops over subgroups, digits, bins and the like
};

bool gi_loops_fit(const struct gi_gpu *gpu, uint64_t n_turn)
{
    return !(gi_gpu_quirks(gpu) & GI_QUIRK_LOOP_LIMIT) || n_turn <= LOOP_LIMIT;
}

static uint64_t divide(uint64_t n, uint64_t by)
{
    return by > 0 ? (n + by - 1) / by : n;
}

static const struct {
    const char *file, *defines;
} programs[GI_PROGRAM_COUNT] = {
#define GI_PROGRAM(id, file, defines, capability) [GI_PROGRAM_##id] = {file, defines},
#include "glsl/programs.def"
};

//-- projections -----------------------------------------------------------------------------------

// Passes over pairs of tiles, each over all blocks and the sums of squares.
static uint64_t count_gemv(const struct gi_program_key *key, const struct gi_dispatch *dispatch)
{
    const struct gi_gemv_plain_params *params = dispatch->params; // the others begin alike
    const bool is_residual =
        key->id >= GI_PROGRAM_GEMV_RESIDUAL_SPLIT && key->id <= GI_PROGRAM_GEMV_RESIDUAL_TEXBITS;
    const uint64_t pairs = gi_key_value(key, "PAIRS", 1), n_pass = divide(params->n_pair, pairs);
    const uint64_t n_own =
        gi_key_value(key, "LOOP", 0) ? divide(n_pass, dispatch->grid.size[0]) : 1;
    const uint64_t n_slice =
        strstr(programs[key->id].defines, "GEMV_SPLIT=1") ? dispatch->wg_size / (8 * pairs) : 1;
    const uint64_t n_sum = is_residual ? 0 : params->n_ssq;
    return n_own * (divide(params->n_block, n_slice) * BLOCK_TURNS + divide(n_sum, n_slice)) +
           SMALL;
}

static uint64_t count_gemv_post(const struct gi_program_key *key,
                                const struct gi_dispatch *dispatch)
{
    const struct gi_gemv_post_params *params = dispatch->params;
    (void)key;
    return (uint64_t)params->n_block * BLOCK_TURNS + params->n_old + SMALL;
}

static uint64_t count_gemm(const struct gi_program_key *key, const struct gi_dispatch *dispatch)
{
    const struct gi_gemm_params *params = dispatch->params;
    const bool has_tiles = key->id >= GI_PROGRAM_GEMM && key->id < GI_PROGRAM_GEMM_LANE;
    const uint32_t each = has_tiles ? TILE_TURNS : 2 * BLOCK_TURNS;
    const bool is_row = key->id == GI_PROGRAM_GEMM_ROW || key->id == GI_PROGRAM_GEMM_ROW_TEXEL;
    return (uint64_t)params->n_block * (is_row ? BLOCK_TURNS : each) + SMALL;
}

//-- attention -------------------------------------------------------------------------------------

uint64_t gi_loop_turns_of_keys(uint32_t n_key, uint32_t head_dim, uint32_t keys, uint32_t vectors)
{
    const uint64_t n_vec8 = head_dim / 8, n_tile = divide(n_key, keys);
    if (vectors > 0) {
        return n_tile + SMALL;
    }
    return n_tile * (n_vec8 + divide(keys, 64 / n_vec8)) + SMALL; // scores, values by slices
}

static uint64_t count_batch_attention(const struct gi_program_key *key,
                                      const struct gi_dispatch *dispatch)
{
    const struct gi_attention_params *params = dispatch->params;
    const uint32_t head_dim = gi_key_value(key, "HEAD_DIM", 64);
    const uint32_t each = gi_key_value(key, "EACH", 0); // of 64 invocations
    const uint32_t keys =
        each > 0 ? 64 * each : gi_key_value(key, "KEYS", 32); // of others' tiles: as many
    // A group sees the keys of the window of its first token, and those of its other tokens.
    const uint64_t n_seen = (uint64_t)params->window + params->after + 64;
    const uint32_t n_key =
        params->window > 0 && n_seen < params->n_ctx ? (uint32_t)n_seen : params->n_ctx;
    const bool is_tile =
        key->id != GI_PROGRAM_ATTENTION_BATCH_ROW && key->id != GI_PROGRAM_ATTENTION_BATCH_LANE;
    return is_tile ? divide(n_key, keys) * 2 * head_dim + SMALL
                   : gi_loop_turns_of_keys(n_key, head_dim, keys, gi_key_value(key, "VECTORS", 0));
}

// A range of keys of a step, and the results of all ranges, which the last group merges.
static uint64_t count_step_attention(const struct gi_program_key *key,
                                     const struct gi_dispatch *dispatch)
{
    const struct gi_attention_params *params = dispatch->params;
    const uint64_t n_vec8 = gi_key_value(key, "HEAD_DIM", 0) / 8,
                   heads = gi_key_value(key, "HEADS", 1);
    const uint64_t keys = gi_key_value(key, "KEYS", 64);
    const uint64_t n_range = divide(params->n_ctx, keys);
    if (key->id == GI_PROGRAM_ATTENTION_ROW) {
        const uint64_t vectors = gi_key_value(key, "VECTORS", 1),
                       n_tile = divide(keys, 8 * vectors);
        const uint64_t each = n_vec8 > UNROLLED ? (2 * vectors + heads) * n_vec8 : 0;
        return n_tile * (each + 4) + heads * divide(n_vec8, 4) * (2 * n_range + 16) + SMALL;
    }
    if (key->id == GI_PROGRAM_ATTENTION) {
        return n_vec8 + 2 * keys + divide(2 * n_vec8, keys) * 2 * n_range + SMALL;
    }
    const uint64_t n_own = params->max_range > 0 ? params->max_range : 1;
    return divide(params->n_ctx, n_own) * 8 + 2 * n_own + SMALL;
}

//-- states of batches -----------------------------------------------------------------------------

static uint64_t count_delta_scan(const struct gi_program_key *key,
                                 const struct gi_dispatch *dispatch)
{
    const uint64_t dim = gi_key_value(key, "DIM", 0), rows = dim / 8;
    const uint64_t staged = divide(dim, gi_key_value(key, "WG_SIZE", 64));
    (void)dispatch;
    return GI_MAX_BATCH * ((rows > UNROLLED ? 2 * rows : 0) + 9 + staged) + SMALL;
}

static uint64_t count_ssm_scan(const struct gi_program_key *key, const struct gi_dispatch *dispatch)
{
    const uint64_t staged = gi_key_value(key, "STAGED", 1),
                   n_quad = gi_key_value(key, "COLUMNS", 4) / 4;
    const uint64_t wg_size = gi_key_value(key, "WG_SIZE", 64),
                   n_row = gi_key_value(key, "STATE_DIM", 0) / 4;
    const uint64_t each =
        divide(staged * n_row, wg_size) + divide(staged * n_quad, wg_size) * n_row;
    (void)dispatch;
    return UINT64_C(5) * GI_MAX_BATCH + divide(GI_MAX_BATCH, staged) * (each + 4) + SMALL;
}

//-- experts ---------------------------------------------------------------------------------------

static uint64_t count_route(const struct gi_program_key *key, const struct gi_dispatch *dispatch)
{
    const struct gi_route_params *params = dispatch->params;
    return (params->n_used + 2) *
               (divide(params->n_expert, gi_key_value(key, "WG_SIZE", 64)) + 16) +
           SMALL;
}

static uint64_t count_sort(const struct gi_program_key *key, const struct gi_dispatch *dispatch)
{
    const struct gi_sort_experts_params *params = dispatch->params;
    const uint64_t n = (uint64_t)GI_MAX_BATCH * params->n_used;
    const uint64_t wg_size = gi_key_value(key, "WG_SIZE", 64);
    const uint64_t n_expert = gi_key_value(key, "N_EXPERT", 1);
    return divide(n_expert, wg_size) * n_expert + 2 * divide(n, wg_size) +
           2 * divide(n, params->tile_tokens) + SMALL;
}

//-- the end of a step -----------------------------------------------------------------------------

// Each looks through a share of the logits, or where many are alike several times through all: the
// search for the last of top_k by 8 digits, for the cuts of full_sample by 16.
static uint64_t count_sample(const struct gi_program_key *key, const struct gi_dispatch *dispatch)
{
    const struct gi_argmax_params *params = dispatch->params;
    const uint64_t n_all = divide(params->n_vocab, dispatch->wg_size);
    const bool is_top_k = key->id >= GI_PROGRAM_TOP_K_64 && key->id <= GI_PROGRAM_TOP_K_1024;
    const bool is_full =
        key->id >= GI_PROGRAM_FULL_SAMPLE_64 && key->id <= GI_PROGRAM_FULL_SAMPLE_1024;
    const uint64_t n_time = is_full ? 17 : is_top_k ? 9 : 2;
    return n_time * (n_all + 256) + divide(params->n_partial, dispatch->wg_size) + SMALL;
}

static uint64_t count_adjust(const struct gi_program_key *key, const struct gi_dispatch *dispatch)
{
    const struct gi_adjust_params *params = dispatch->params;
    (void)key;
    return divide(params->n_vocab, (uint64_t)dispatch->wg_size * dispatch->grid.size[0]) + SMALL;
}

static uint64_t count_logprob(const struct gi_program_key *key, const struct gi_dispatch *dispatch)
{
    const struct gi_logprob_params *params = dispatch->params;
    return 2 * divide(params->n_vocab, gi_key_value(key, "WG_SIZE", 64)) + SMALL;
}

static uint64_t count_rate(const struct gi_program_key *key, const struct gi_dispatch *dispatch)
{
    const struct gi_rate_fma_params *params = dispatch->params;
    (void)key;
    return params->n_round;
}

//-- all programs ----------------------------------------------------------------------------------

// The first row whose file a program's begins with counts. NULL: loops over rows of a width that is
// at most 2^18, four elements an iteration of at least 64 invocations, and over constants.
static const struct {
    const char *file;
    uint64_t (*count)(const struct gi_program_key *key, const struct gi_dispatch *dispatch);
} rows[] = {
    {"gemv/gemv_batch", count_gemm},
    {"gemv/gemv_post", count_gemv_post},
    {"gemv/", count_gemv},
    {"gemm/gemm", count_gemm},
    {"gemm/", NULL},
    {"attention/attention_batch", count_batch_attention},
    {"attention/attention_half", count_batch_attention},
    {"attention/attention_lane", count_batch_attention},
    {"attention/attention", count_step_attention},
    {"attention/", NULL},
    {"experts/gemv_expert", count_gemv},
    {"experts/route", count_route},
    {"experts/sort_experts", count_sort},
    {"experts/", NULL},
    {"delta/delta_scan", count_delta_scan},
    {"delta/", NULL},
    {"ssm/ssm_scan", count_ssm_scan},
    {"ssm/", NULL},
    {"sample/adjust", count_adjust},
    {"sample/logprob", count_logprob},
    {"sample/logit_rows", NULL},
    {"sample/speech_", NULL},
    {"sample/", count_sample},
    {"measure/rate_fma", count_rate},
    {"measure/", NULL},
    {"altup/", NULL},
    {"conv/", NULL},
    {"embed/", NULL},
    {"norm/", NULL},
};

bool gi_loop_turns(const struct gi_program_key *key, const struct gi_dispatch *dispatch,
                   uint64_t *n_turn)
{
    const char *file = programs[key->id].file;
    if (strstr(programs[key->id].defines, "BATCH=1")) { // its file serves steps, too
        *n_turn = count_batch_attention(key, dispatch);
        return true;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strncmp(file, rows[i].file, strlen(rows[i].file)) == 0) {
            *n_turn = rows[i].count ? rows[i].count(key, dispatch) : 0;
            return true;
        }
    }
    return false;
}

bool gi_loops_check(const struct gi_gpu *gpu, const struct gi_program_key *key,
                    const struct gi_dispatch *dispatch, struct glinfer_error *err)
{
    uint64_t n_turn = 0;
    return (gi_loop_turns(key, dispatch, &n_turn) && gi_loops_fit(gpu, n_turn)) ||
           gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                        "cannot run %s: it may take %llu loop iterations, and this driver ends a "
                        "program after %u; try a smaller context",
                        dispatch->label, (unsigned long long)n_turn, LOOP_LIMIT);
}
