#include "base/round.h"
#include "glsl/gemm/gemm_params.h"
#include "ops/experts/experts.h"
#include "ops/gemm/batch.h"
#include "ops/gemm/batch_form.h"
#include "ops/gemm/half_rows.h"
#include "ops/gemm/pack_rows.h"
#include "ops/gemv/gemv_batch.h"

#include <assert.h>

// The spread of the product over groups.
struct gemm_shape {
    enum gi_program_id program;
    uint32_t n_rows, n_tokens; // of a group
    uint32_t n_slices;         // of glsl/gemm/gemm_wide.comp and gemm_half.comp; 0: another kernel
    uint32_t quads; // of tokens of an invocation of glsl/gemm/gemm.comp; 0: another kernel
    bool is_rolled; // the same kernel with fewer registers while it stages
    uint32_t rows, tokens, lanes; // of glsl/gemm/own_rows.glsl; 0: another kernel
};

// TILES of glsl/gemm/gemm_row.comp: divides the widths of common models, compiles in a second.
#define ROW_TILES       12
#define MOST_ROW_TOKENS 8 // of a group; rows without a token are read in vain

//-- tiles -----------------------------------------------------------------------------------------

static const struct gemm_shape tiles[GI_GEMM_TILE_COUNT] = {
    [GI_GEMM_TILE_NARROW] = {GI_PROGRAM_GEMM, 64, 64, 0, 2, false},
    [GI_GEMM_TILE_ROLLED] = {GI_PROGRAM_GEMM, 64, 64, 0, 2, true},
    [GI_GEMM_TILE_THIN] = {GI_PROGRAM_GEMM, 64, 64, 0, 1, false},
    [GI_GEMM_TILE_SHORT] = {GI_PROGRAM_GEMM, 64, 32, 0, 1, false},
    [GI_GEMM_TILE_LOW] = {GI_PROGRAM_GEMM, 64, 16, 0, 1, false},
    [GI_GEMM_TILE_2X8] = {GI_PROGRAM_GEMM_LANE, .rows = 2, .tokens = 8},
    [GI_GEMM_TILE_4X6] = {GI_PROGRAM_GEMM_LANE, .rows = 4, .tokens = 6},
    [GI_GEMM_TILE_4X8] = {GI_PROGRAM_GEMM_LANE, .rows = 4, .tokens = 8},
    [GI_GEMM_TILE_WHOLE] = {GI_PROGRAM_GEMM_WIDE, 64, 64, 1, 0, false},
    [GI_GEMM_TILE_SLICED] = {GI_PROGRAM_GEMM_WIDE, 64, 64, 3, 0, false},
    [GI_GEMM_TILE_SMALL] = {GI_PROGRAM_GEMM_WIDE, 64, 32, 2, 0, false},
    [GI_GEMM_TILE_HALVED] = {GI_PROGRAM_GEMM_WIDE, 64, 64, 2, 0, false},
    [GI_GEMM_TILE_HALF] = {GI_PROGRAM_GEMM_HALF, 64, 64, 1, 0, false},
    [GI_GEMM_TILE_HALF_SLICED] = {GI_PROGRAM_GEMM_HALF, 64, 64, 2, 0, false},
    [GI_GEMM_TILE_HALF_TALL] = {GI_PROGRAM_GEMM_HALF, 64, 128, 1, 0, false},
    [GI_GEMM_TILE_HALF_NARROW] = {GI_PROGRAM_GEMM_HALF, 32, 64, 4, 0, false},
};

// has_words: the type of the weights has QUANT_WORDS.
static bool is_tile_possible(const struct gi_gpu *gpu, enum gi_gemm_tile tile, bool has_words)
{
    const struct gi_limits *limits = gi_gpu_limits(gpu);
    const struct gemm_shape *shape = &tiles[tile];
    // Halves of weights without QUANT_WORDS stand in shared memory twice
    // (glsl/gemm/gemm_half.comp).
    const bool is_half = shape->program == GI_PROGRAM_GEMM_HALF;
    const uint32_t rows = shape->n_rows * (is_half && !has_words ? 2 : 1);
    const uint32_t shared = shape->n_slices * (shape->n_tokens + rows) * 32 * 4;
    const uint32_t invocations = shape->quads ? shape->n_tokens * 4 / shape->quads
                                 : is_half ? shape->n_tokens * shape->n_rows / 32 * shape->n_slices
                                           : shape->n_slices * 128;
    // Mali-T has registers for the lowest tile alone, in groups of 64.
    const bool has_registers =
        !shape->quads || invocations <= 64 || !gi_gpu_class(gpu)->is_short_of_registers;
    return shape->rows == 0 && has_registers && gi_program_available(gpu, shape->program) &&
           limits->max_shared_size >= shared && limits->max_invocations >= invocations &&
           limits->max_group_size[0] >= invocations;
}

// Returns true if the device can run a tile with a part (NULL: any) and room for n_tokens.
static bool does_tile_suit(const struct gi_gpu *gpu, enum gi_gemm_tile tile,
                           const struct gi_weight_part *part, uint32_t n_tokens)
{
    const struct gemm_shape *shape = &tiles[tile];
    const uint32_t type = part ? part->quant->type : GI_QUANT_NONE;
    // V3D 7 spills 4:4 with BF16, which it unpacks by instructions of its own.
    const bool is_type = type == GI_GGML_TYPE_F32 || type == GI_GGML_TYPE_F16 ||
                         (type == GI_GGML_TYPE_BF16 && shape->rows > 2);
    return shape->rows == 0
               ? is_tile_possible(gpu, tile, part && part->quant->has_words)
               : is_type && n_tokens >= shape->tokens && gi_program_available(gpu, shape->program);
}

// Reads a tile that suits. text may be NULL.
static bool parse_tile(const struct gi_gpu *gpu, const char *text, bool is_half,
                       const struct gi_weight_part *part, uint32_t n_tokens,
                       enum gi_gemm_tile *tile)
{
    return gi_gemm_tile_parse(text, is_half, tile) && does_tile_suit(gpu, *tile, part, n_tokens);
}

bool gi_gemm_takes_half(const struct gi_recorder *recorder)
{
    const char *asked = gi_gpu_settings(recorder->gpu)->gemm;
    enum gi_gemm_tile tile;
    return recorder->is_half && gi_batch_form(recorder->gpu) == GI_BATCH_FORM_SPLIT &&
           (!*asked || gi_gemm_tile_parse(asked, true, &tile));
}

// Returns the best tile: whole groups where they make two waves, three slices where those fill half
// a wave, small tiles below. Measured on an H200; a class with a tile of its own keeps to it where
// it fills the device.
static enum gi_gemm_tile class_tile(const struct gi_gpu *gpu, uint32_t n_tokens, uint32_t n_rows)
{
    const uint32_t n_group = gi_divide_up(n_tokens, 64) * gi_divide_up(n_rows, 64);
    const uint32_t n_wave = gi_gpu_class(gpu)->wave_groups;
    const enum gi_gemm_tile own = gi_gpu_class(gpu)->gemm_tile;
    if (own != GI_GEMM_TILE_WHOLE && is_tile_possible(gpu, own, false)) {
        const enum gi_gemm_tile small = n_tokens <= 16 ? GI_GEMM_TILE_LOW : GI_GEMM_TILE_SHORT;
        const bool is_small = n_tokens <= 16 || n_group < n_wave;
        return is_small && is_tile_possible(gpu, small, false) ? small : own;
    }
    enum gi_gemm_tile tile = n_group >= 2 * n_wave  ? GI_GEMM_TILE_WHOLE
                             : n_group > n_wave / 2 ? GI_GEMM_TILE_SLICED
                                                    : GI_GEMM_TILE_SMALL;
    if (tile == GI_GEMM_TILE_SLICED && !is_tile_possible(gpu, tile, false)) {
        tile = GI_GEMM_TILE_HALVED;
    }
    for (enum gi_gemm_tile i = GI_GEMM_TILE_NARROW; !is_tile_possible(gpu, tile, false); i++) {
        if (i == GI_GEMM_TILE_HALF) {
            return GI_GEMM_TILE_NARROW;
        }
        tile = i;
    }
    return tile;
}

// Returns true if the device may use one of the tiles for x in f32.
static bool has_tile(const struct gi_gpu *gpu)
{
    return is_tile_possible(gpu, class_tile(gpu, 64, 64), false);
}

// Returns the best tile, as measured on an H200: small ones, with k split in four, where a short
// batch and few rows make too few groups to fill the device. Weights by words take two slices in
// short batches alone.
static enum gi_gemm_tile class_half_tile(const struct gi_gpu *gpu, uint32_t n_tokens,
                                         const struct gi_weight_part *part)
{
    const uint32_t n_group = gi_divide_up(n_tokens, 64) * gi_divide_up(part->n_rows, 64);
    const uint32_t n_wave = gi_gpu_class(gpu)->wave_groups;
    const bool is_short = n_tokens <= GI_SHORT_BATCH;
    const bool is_sliced = n_group < 2 * n_wave && (is_short || !part->quant->has_words);
    return is_short && n_group <= n_wave &&
                   does_tile_suit(gpu, GI_GEMM_TILE_HALF_NARROW, part, n_tokens)
               ? GI_GEMM_TILE_HALF_NARROW
           : is_sliced && does_tile_suit(gpu, GI_GEMM_TILE_HALF_SLICED, part, n_tokens)
               ? GI_GEMM_TILE_HALF_SLICED
               : GI_GEMM_TILE_HALF;
}

// Returns true if the class has a tile of its own for weights without scales and it suits.
static bool has_unscaled_tile(const struct gi_gpu *gpu, const struct gi_weight_part *part,
                              uint32_t n_tokens)
{
    const enum gi_gemm_tile tile = gi_gpu_class(gpu)->unscaled_tile;
    return tile != GI_GEMM_TILE_WHOLE && does_tile_suit(gpu, tile, part, n_tokens);
}

// Returns the shape of a tile. For few tokens a group of glsl/gemm/own_rows.glsl takes more rows.
static struct gemm_shape spread_tile(enum gi_gemm_tile tile, uint32_t n_tokens)
{
    struct gemm_shape shape = tiles[tile];
    if (shape.rows > 0) {
        shape.lanes = n_tokens <= shape.tokens ? 64 : n_tokens <= 2 * shape.tokens ? 32 : 16;
        shape.n_rows = shape.lanes * shape.rows;
        shape.n_tokens = 64 / shape.lanes * shape.tokens;
    }
    return shape;
}

static uint32_t note_site(const struct gi_recorder *recorder, const struct gi_tuning_key *key,
                          const struct gi_weight_part *part, bool is_half, enum gi_gemm_tile tile)
{
    struct gi_tuning_site *site;
    const uint32_t number = gi_tuning_note(recorder->sites, key, gi_gemm_tile_name(tile), &site);
    const bool is_open = !*gi_gpu_settings(recorder->gpu)->gemm;
    for (enum gi_gemm_tile i = 0; site && is_open && i < GI_GEMM_TILE_COUNT; i++) {
        if (gi_gemm_tile_is_half(i) == is_half &&
            does_tile_suit(recorder->gpu, i, part, key->extent)) {
            gi_tuning_offer(site, gi_gemm_tile_name(i));
        }
    }
    return number;
}

// Returns the shape of GLINFER_GEMM, else the measured one, else the best of the class.
static struct gemm_shape choose_tile(const struct gi_recorder *recorder,
                                     const struct gi_weight_part *part, uint32_t n_cols,
                                     uint32_t n_tokens, bool is_half, uint32_t *site)
{
    const struct gi_tuning_key key = {
        .kernel = is_half ? "gemm_half" : "gemm",
        .type = part->quant->type,
        .n_rows = part->n_rows,
        .n_cols = n_cols,
        .extent = n_tokens,
    };
    const struct gi_gpu *gpu = recorder->gpu;
    enum gi_gemm_tile tile;
    if (!parse_tile(gpu, gi_gpu_settings(gpu)->gemm, is_half, part, n_tokens, &tile) &&
        !parse_tile(gpu, gi_tuning_find(recorder->tuning, &key), is_half, part, n_tokens, &tile)) {
        tile = is_half                                  ? class_half_tile(gpu, n_tokens, part)
               : has_unscaled_tile(gpu, part, n_tokens) ? gi_gpu_class(gpu)->unscaled_tile
                                                        : class_tile(gpu, n_tokens, part->n_rows);
    }
    *site = recorder->sites ? note_site(recorder, &key, part, is_half, tile) : 0;
    struct gemm_shape shape = spread_tile(tile, n_tokens);
    shape.is_rolled = shape.is_rolled || (tile == GI_GEMM_TILE_LOW && part->quant->is_wide &&
                                          gi_gpu_class(gpu)->is_short_of_registers);
    return shape;
}

//-- all forms -------------------------------------------------------------------------------------

// Chooses buffer textures where both operands fit. Returns false if the device may use neither
// kernel.
static bool choose_row(const struct gi_gpu *gpu, const struct gi_weight_part *part,
                       const struct gi_rows *x, uint32_t max_tokens, struct gemm_shape *shape)
{
    const struct gi_limits *limits = gi_gpu_limits(gpu);
    bool is_texel = gi_program_available(gpu, GI_PROGRAM_GEMM_ROW_TEXEL) &&
                    gi_weight_part_fits_texels(limits, part) &&
                    x->range.size / 16 <= limits->max_texels;
    *shape = (struct gemm_shape){
        .program = is_texel ? GI_PROGRAM_GEMM_ROW_TEXEL : GI_PROGRAM_GEMM_ROW,
        .n_rows = ROW_TILES * GI_TILE_ROWS,
        .n_tokens = gi_min_u32(max_tokens, MOST_ROW_TOKENS),
    };
    return gi_program_available(gpu, shape->program);
}

// On a very slow device a group takes as many tokens as its class computes in 20 ms.
static struct gemm_shape choose_lane(const struct gi_gpu *gpu, uint32_t n_cols, uint32_t max_tokens)
{
    enum { N_ROWS = 64, MOST_US = 20000 };
    const struct gi_device_class *class = gi_gpu_class(gpu);
    const uint64_t most_mac = (uint64_t) class->rates.mmac_per_s * MOST_US; // 0: not known
    uint32_t n_tokens = class->lane_tokens < max_tokens ? class->lane_tokens : max_tokens;
    while (n_tokens > 1 && most_mac > 0 && (uint64_t)N_ROWS * n_tokens * n_cols > most_mac) {
        n_tokens /= 2;
    }
    return (struct gemm_shape){
        .program = GI_PROGRAM_GEMM_LANE,
        .n_rows = N_ROWS,
        .n_tokens = n_tokens,
    };
}

// The tile where the device has one or GLINFER_GEMM names it.
static struct gemm_shape choose_packed(const struct gi_gpu *gpu, uint32_t n_cols,
                                       uint32_t max_tokens)
{
    enum gi_gemm_tile tile;
    const bool is_asked = parse_tile(gpu, gi_gpu_settings(gpu)->gemm, false, NULL, 0, &tile) &&
                          tile == GI_GEMM_TILE_ROLLED;
    const bool is_tile =
        is_asked || (gi_batch_has_tiles(gpu) && is_tile_possible(gpu, GI_GEMM_TILE_ROLLED, false));
    return is_tile ? tiles[GI_GEMM_TILE_ROLLED] : choose_lane(gpu, n_cols, max_tokens);
}

// *site is set to the number of a tuner's site, or 0.
static struct gemm_shape choose_shape(const struct gi_recorder *recorder,
                                      const struct gi_weight_part *part, uint32_t n_cols,
                                      const struct gi_rows *x, uint32_t *site)
{
    const struct gi_gpu *gpu = recorder->gpu;
    *site = 0;
    uint32_t max_tokens = gi_rows_room(x);
    if (gi_rows_are_packed(gpu, x)) {
        return choose_packed(gpu, n_cols, max_tokens);
    }
    if (x->is_half) {
        return choose_tile(recorder, part, n_cols, max_tokens, true, site);
    }
    struct gemm_shape shape;
    const enum gi_batch_form form = gi_batch_form(gpu);
    if (form == GI_BATCH_FORM_ROW && choose_row(gpu, part, x, max_tokens, &shape)) {
        return shape;
    }
    shape = choose_lane(gpu, n_cols, max_tokens);
    const struct gi_device_class *class = gi_gpu_class(gpu);
    const bool is_lane = form == GI_BATCH_FORM_LANE && class->gemm_tile == GI_GEMM_TILE_WHOLE;
    if (is_lane && has_unscaled_tile(gpu, part, max_tokens)) {
        return spread_tile(class->unscaled_tile, max_tokens);
    }
    if (has_tile(gpu) && (gi_batch_has_tiles(gpu) || !gi_program_available(gpu, shape.program))) {
        return choose_tile(recorder, part, n_cols, max_tokens, false, site);
    }
    return shape;
}

static struct gi_program_key make_key(const struct gemm_shape *shape,
                                      const struct gi_weight_part *part, const struct gi_rows *x,
                                      bool is_added)
{
    const bool is_half = shape->program == GI_PROGRAM_GEMM_HALF;
    const bool is_tile = shape->n_slices > 0 || shape->quads > 0;
    const bool is_row =
        shape->program == GI_PROGRAM_GEMM_ROW || shape->program == GI_PROGRAM_GEMM_ROW_TEXEL;
    struct gi_program_key key = GI_WEIGHT_KEY(
        shape->program, part->quant->type,
        {is_half ? "BY_WORDS" : "ADD", is_half ? part->quant->has_words : is_added},
        {"HAS_BIAS", part->bias != GI_NO_OFFSET},
        {is_tile ? "TILE_TOKENS" : "TOKENS", shape->rows > 0 ? shape->tokens : shape->n_tokens});
    if (shape->quads > 0) {
        gi_key_define(&key, "QUADS", shape->quads);
        gi_key_define(&key, "ROLLED", shape->is_rolled);
    }
    gi_key_option(&key, "SLICES", shape->n_slices);
    gi_key_option(&key, "GROUP_ROWS", is_half ? shape->n_rows : 0);
    gi_key_option(&key, "X_STRIDE", shape->program == GI_PROGRAM_GEMM_LANE ? x->stride : 0);
    gi_key_option(&key, "OWN_ROWS", shape->rows);
    gi_key_option(&key, "OWN_LANES", shape->lanes);
    gi_key_option(&key, "TILES", is_row ? ROW_TILES : 0);
    gi_key_option(&key, "PACKED", x->is_half && !is_half);
    return key;
}

//-- experts ---------------------------------------------------------------------------------------

#define HALF_EXPERT_ROWS 8 // of an expert on average, from which on products in f16 are faster

// Returns a small tile where experts have few rows, since the rest of a tile is worked out for
// nothing, or where what a group knows of its expert leaves no registers for a large one.
static enum gi_gemm_tile expert_tile(const struct gi_gpu *gpu, uint32_t n, uint32_t n_expert)
{
    const bool is_large = gi_gpu_class(gpu)->gemm_tile == GI_GEMM_TILE_WHOLE;
    const uint32_t each = gi_divide_up(n, n_expert);
    const enum gi_gemm_tile small = is_large     ? GI_GEMM_TILE_SMALL
                                    : each <= 16 ? GI_GEMM_TILE_LOW
                                                 : GI_GEMM_TILE_SHORT;
    enum gi_gemm_tile tile;
    if (parse_tile(gpu, gi_gpu_settings(gpu)->gemm, false, NULL, 0, &tile)) {
        return tile;
    }
    const bool is_small = each <= 48 || gi_gpu_class(gpu)->gemm_tile == GI_GEMM_TILE_ROLLED;
    return is_small && is_tile_possible(gpu, small, false) ? small : class_tile(gpu, n, 1024);
}

bool gi_experts_take_half(const struct gi_recorder *recorder, uint32_t n, uint32_t n_expert)
{
    return n >= HALF_EXPERT_ROWS * n_expert && gi_gemm_takes_half(recorder) &&
           is_tile_possible(recorder->gpu, GI_GEMM_TILE_HALF, false);
}

static struct gemm_shape expert_shape(const struct gi_gpu *gpu, uint32_t n, uint32_t n_expert,
                                      const struct gi_weight_part *part, const struct gi_rows *x)
{
    struct gemm_shape shape = {0};
    if (x->is_half) {
        return tiles[GI_GEMM_TILE_HALF];
    }
    if (gi_batch_form(gpu) == GI_BATCH_FORM_ROW && choose_row(gpu, part, x, n, &shape)) {
        return shape;
    }
    shape = choose_lane(gpu, 0, n); // all parts of experts take as many tokens
    const bool is_tile =
        gi_batch_has_tiles(gpu) && gi_gpu_class(gpu)->gemm_tile != GI_GEMM_TILE_LOW;
    if (has_tile(gpu) && (is_tile || !gi_program_available(gpu, shape.program))) {
        shape = tiles[expert_tile(gpu, n, n_expert)];
    }
    return shape;
}

uint32_t gi_experts_tile(const struct gi_gpu *gpu, uint32_t n, uint32_t n_expert, bool is_half)
{
    const struct gi_weight_part part = {0};
    const struct gi_rows x = {.is_half = is_half};
    return expert_shape(gpu, n, n_expert, &part, &x).n_tokens;
}

//-- recording -------------------------------------------------------------------------------------

// A product that is recorded part by part: of rows x, or with experts of sorted rows.
struct product {
    const struct gi_rows *x, *y;
    float scale;
    bool is_added;
    const struct gi_experts *experts;
    const struct gi_sorted_rows *sorted;
    bool is_act;
};

static struct gi_gemm_params make_params(const struct product *product,
                                         const struct gi_weight *weight,
                                         const struct gi_weight_part *part)
{
    const struct gi_experts *experts = product->experts;
    struct gi_gemm_params params =
        gi_gemm_part_params(weight, part, product->is_added, product->scale, product->y);
    if (experts) {
        const uint32_t half_rows = weight->is_split ? weight->n_rows / 2 : weight->n_rows;
        const uint32_t each = half_rows / experts->n_expert;
        const struct gi_sorted_rows *rows = product->sorted;
        params.n_rows = each;
        params.x_stride = product->is_act ? experts->act_width : experts->y_width;
        params.y_begin = part->row_begin >= half_rows ? each : 0;
        params.x_begin = (product->is_act ? rows->act : rows->input) / 4;
        params.tiles = rows->tiles / 4;
        params.first_expert = part->row_begin % half_rows / each;
        params.n_expert = part->n_rows / each;
        params.n_used = experts->n_used;
    } else {
        params.x_stride = product->x->stride;
    }
    return params;
}

// Records a part of a product of a small batch by a kernel for those. Returns false if it has none.
static bool record_small(struct gi_recorder *recorder, const char *label,
                         const struct product *product, const struct gi_weight_part *part,
                         const struct gi_gemm_params *params)
{
    const struct gi_rows *x = product->x;
    if (!x->is_half && gi_gemv_batch_suits(recorder->gpu, gi_rows_room(x))) {
        gi_gemv_batch_record(recorder, label, part, x, product->is_added, product->y, params);
        return true;
    }
    if (!gi_rows_are_packed(recorder->gpu, x) && gi_half_form(x) == GI_HALF_FORM_SMALL) {
        gi_gemv_batch_half_record(recorder, label, part, x, NULL, product->y, params);
        return true;
    }
    return false;
}

static void record_part(struct gi_recorder *recorder, const char *label,
                        const struct product *product, const struct gi_weight *weight,
                        const struct gi_weight_part *part)
{
    const struct gi_experts *experts = product->experts;
    const struct gi_gemm_params params = make_params(product, weight, part);
    struct gi_rows x;
    struct gemm_shape shape;
    uint32_t site = 0;
    if (experts) {
        const struct gi_sorted_rows *rows = product->sorted;
        x = (struct gi_rows){rows->range, params.x_stride, rows->is_half};
        shape = expert_shape(recorder->gpu, rows->n, experts->n_expert, part, &x);
        assert(shape.n_tokens == rows->tile_tokens);
    } else if (record_small(recorder, label, product, part, &params)) {
        return;
    } else {
        x = *product->x;
        shape = choose_shape(recorder, part, params.n_block * GI_QUANT_BLOCK, &x, &site);
    }
    struct gi_program_key key = make_key(&shape, part, &x, product->is_added);
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {product->y->range, x.range, part->quads, part->aux},
        GI_PARAMS_OF(params),
        .grid = {.size = {gi_divide_up(params.n_rows, shape.n_rows), 1, 1},
                 .rule = GI_GRID_TOKENS,
                 .axis = 1,
                 .divisor = shape.n_tokens,
                 .is_divisible = true,
                 .divisible_axis = 0},
        .site = site,
        .weight_bytes = part->quads.size + part->aux.size,
        .n_weight = (uint64_t)part->n_rows * params.n_block * GI_QUANT_BLOCK,
    };
    if (experts) {
        gi_key_define(&key, "EXPERTS", 1);
        dispatch.grid.times = experts->n_used - 1;
        dispatch.grid.added = experts->n_expert;
        dispatch.n_weight = dispatch.n_weight * experts->n_used / experts->n_expert;
    }
    if (shape.program == GI_PROGRAM_GEMM_ROW_TEXEL) {
        gi_dispatch_read_texels(&dispatch);
    }
    gi_recorder_add(recorder, &key, &dispatch);
}

static void record_product(struct gi_recorder *recorder, const char *label,
                           const struct product *product, const struct gi_weight *weight)
{
    const struct gi_weight_part *part = weight->parts, *end = part + weight->n_parts;
    for (; part < end; part++) {
        record_part(recorder, label, product, weight, part);
    }
}

void gi_op_gemm(struct gi_recorder *recorder, const char *label, const struct gi_weight *weight,
                const struct gi_rows *x, bool is_added, float scale, const struct gi_rows *y)
{
    assert(x->stride % 32 == 0 && y->stride >= weight->n_rows);
    const struct product product = {.x = x, .y = y, .scale = scale, .is_added = is_added};
    record_product(recorder, label, &product, weight);
}

void gi_op_gemm_experts(struct gi_recorder *recorder, const char *label,
                        const struct gi_experts *experts, const struct gi_weight *weight,
                        const struct gi_sorted_rows *rows, bool is_act, const struct gi_rows *y)
{
    assert(weight->n_cols <= (is_act ? experts->act_width : experts->y_width));
    assert(y->stride >= weight->n_rows / experts->n_expert);
    const struct product product = {
        .y = y, .scale = 1.0f, .experts = experts, .sorted = rows, .is_act = is_act};
    record_product(recorder, label, &product, weight);
}
