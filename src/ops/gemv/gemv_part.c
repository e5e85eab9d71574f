#include "ops/gemv/gemv_part.h"

#include "glsl/gemv/gemv_params.h"
#include "gpu/dispatch/dispatch_estimate.h"
#include "ops/gemv/gemv.h"
#include "ops/record/stream.h"

#include <assert.h>
#include <string.h>

// Blocks of x that the pipelined form keeps in shared memory in f32: 18 KiB, with room between
// blocks against bank conflicts.
#define MAX_SHARED_BLOCKS 128

// The kernels: the first of their programs, which follow each other as forms do, and names for
// tuning, in f32 and where products may be taken in f16.
static const struct {
    enum gi_program_id first;
    const char *names[2];
} kernels[] = {
    [GI_GEMV_QKV] = {GI_PROGRAM_GEMV_QKV_SPLIT, {"gemv_qkv", "gemv_qkv_half"}},
    [GI_GEMV_RESIDUAL] = {GI_PROGRAM_GEMV_RESIDUAL_SPLIT, {"gemv_residual", "gemv_residual_half"}},
    [GI_GEMV_GLU] = {GI_PROGRAM_GEMV_GLU_SPLIT, {"gemv_glu", "gemv_glu_half"}},
    [GI_GEMV_VOCAB] = {GI_PROGRAM_GEMV_VOCAB_SPLIT, {"gemv_vocab", "gemv_vocab_half"}},
    [GI_GEMV_PLAIN] = {GI_PROGRAM_GEMV_PLAIN_SPLIT, {"gemv_plain", "gemv_plain_half"}},
    [GI_GEMV_EXPERT_GLU] = {GI_PROGRAM_GEMV_EXPERT_GLU_SPLIT,
                            {"gemv_expert_glu", "gemv_expert_glu_half"}},
    [GI_GEMV_EXPERT] = {GI_PROGRAM_GEMV_EXPERT_SPLIT, {"gemv_expert", "gemv_expert_half"}},
    [GI_GEMV_POST] = {GI_PROGRAM_GEMV_POST_SPLIT, {"gemv_post", "gemv_post_half"}},
    [GI_GEMV_GATE_INPUT] = {GI_PROGRAM_GEMV_GLU_SPLIT, {"gemv_gate_input", "gemv_gate_input_half"}},
};

// Turns of the pipelined form whose sums meet together: a power of two.
#define MAX_BATCH 4

static uint32_t choose_batch(const struct gi_gemv_part *part)
{
    assert(part->shape.pairs > 0 && part->shape.max_groups > 0);
    const uint32_t n_pass = (part->n_pair + part->shape.pairs - 1) / part->shape.pairs;
    const uint32_t n_turn = (n_pass + part->shape.max_groups - 1) / part->shape.max_groups;
    uint32_t n = 1;
    while (n < n_turn && n < MAX_BATCH && 2 * n * 8 * part->shape.pairs <= part->shape.wg_size) {
        n *= 2;
    }
    return n;
}

// Returns true if no group takes more than one turn.
static bool has_one_turn(const struct gi_gemv_part *part)
{
    return (part->n_pair + part->shape.pairs - 1) / part->shape.pairs <= part->shape.max_groups;
}

// Twos of blocks that a slice prefetches: two where no turn follows whose first could be asked for
// meanwhile, of types that leave registers for it, if all that they meet of x is there at a time.
static uint32_t choose_depth(const struct gi_gemv_part *part)
{
    const uint32_t n_slice = gi_gemv_slices(&part->shape);
    const uint32_t n_two = ((part->n_block + 1) / 2 + n_slice - 1) / n_slice;
    const bool is_small = part->shape.form == GI_GEMV_FORM_F16 &&
                          part->weight->quant->n_quad <= part->weight->quant->quad_blocks;
    const bool has_x = part->n_block <= GI_PIPELINE_BLOCKS || 4 * n_slice <= GI_PIPELINE_BLOCKS;
    return is_small && has_x && has_one_turn(part) && n_two % 2 == 0 ? 2 : 1;
}

// True for the projections of experts: the dispatch before decides which weights they read.
static bool is_of_experts(enum gi_gemv_kernel kernel)
{
    return kernel == GI_GEMV_EXPERT || kernel == GI_GEMV_EXPERT_GLU;
}

// Returns true if all that a kernel writes is published by tags. Where gate and up are apart it is
// not: a factor lies in the place of the result, and could be taken for that.
static bool publishes_all(enum gi_gemv_kernel kernel, const struct gi_weight *weight)
{
    return kernel == GI_GEMV_RESIDUAL || kernel == GI_GEMV_PLAIN ||
           (kernel == GI_GEMV_GLU && !weight->is_split && !weight->is_ungated);
}

// Adds the defines of glsl/gemv/gemv_pipeline.glsl, which loads its first weights before their
// input x is ready. If n_cols is not a multiple of a block, no group publishes the values after the
// end of x.
static void add_pipelined(struct gi_gemv_part *part, const struct gi_weight *weight)
{
    const bool is_half = part->shape.form == GI_GEMV_FORM_F16;
    gi_key_define(&part->key, "PIPELINED", 1);
    gi_key_define(&part->key, "ONCE", has_one_turn(part));
    gi_key_define(&part->key, "DEPTH", choose_depth(part));
    gi_key_define(&part->key, "BATCH", choose_batch(part));
    if (is_half && part->n_block > GI_PIPELINE_BLOCKS) {
        gi_key_define(&part->key, "X_BLOCKS", GI_PIPELINE_BLOCKS);
    }
    if (!is_half && part->n_block <= MAX_SHARED_BLOCKS) {
        gi_key_define(&part->key, "N_BLOCK", part->n_block);
    }
    part->works_beside = weight->adapts;
    if (is_half || part->n_block <= MAX_SHARED_BLOCKS || part->works_beside) {
        part->consumes = weight->n_cols % GI_QUANT_BLOCK == 0;
        gi_key_define(&part->key, "CONSUMES", part->consumes);
    }
}

// Products in f16, UNROLL blocks at a time or, where slices have many blocks, as they are
// prefetched. Experts have fewer pairs than the part.
static void add_half(struct gi_gemv_part *part, enum gi_gemv_kernel kernel)
{
    const struct gi_gemv_shape *shape = &part->shape;
    gi_key_define(&part->key, "PREFETCH", gi_gemv_prefetch(shape, part->n_pair, part->n_block));
    gi_key_define(&part->key, "EVEN",
                  !is_of_experts(kernel) && part->n_pair % shape->pairs == 0 &&
                      !gi_gemv_is_looping(shape, part->n_pair));
}

// Adds the defines of a form that splits k. An invocation of the pipelined form loads two blocks at
// a time where it has several.
static void add_split(struct gi_gemv_part *part, const struct gi_recorder *recorder,
                      enum gi_gemv_kernel kernel, const struct gi_weight *weight)
{
    const bool is_half = part->shape.form == GI_GEMV_FORM_F16;
    const bool is_pipelined = gi_gemv_is_pipelined(recorder) && !is_of_experts(kernel);
    const uint32_t n_slice = gi_gemv_slices(&part->shape);
    gi_key_option(&part->key, "LOOP", gi_gemv_is_looping(&part->shape, part->n_pair));
    if (is_half) {
        gi_key_define(&part->key, "HALF", 1);
        gi_key_define(&part->key, "N_BLOCK", part->n_block);
    }
    if (gi_recorder_is_uniform(recorder)) {
        gi_key_define(&part->key, "UNROLL", n_slice < part->n_block ? 2 : 1);
        part->publishes = publishes_all(kernel, weight) ? GI_PUBLISH_ALL : GI_PUBLISH_NONE;
        gi_key_define(&part->key, "PUBLISHES", part->publishes);
    } else if (is_half) {
        gi_key_define(&part->key, "UNROLL", part->shape.max_groups ? 2 : 1);
        add_half(part, kernel);
    }
    if (is_pipelined) {
        add_pipelined(part, weight);
    }
}

// Returns true if an invocation has no registers for two rows of the type. Mali T has none for two
// of an expert at all, whose weights lie where the dispatch before says.
static bool is_serial(const struct gi_recorder *recorder, enum gi_gemv_kernel kernel,
                      const struct gi_gemv_part *part)
{
    const struct gi_device_class *class = gi_gpu_class(recorder->gpu);
    const struct gi_quant *quant = part->weight->quant;
    if (part->shape.pairs > 1 || gi_gemv_has_texels(&part->shape)) {
        return false;
    }
    if (quant->has_f16) {
        return class->is_short_of_registers && is_of_experts(kernel);
    }
    return class->serial == GI_SERIAL_MOST ||
           (class->serial == GI_SERIAL_CODES && !quant->has_eights && quant->scale_blocks > 0);
}

static void add_row_form(struct gi_gemv_part *part, const struct gi_recorder *recorder,
                         enum gi_gemv_kernel kernel)
{
    if (gi_gemv_slices(&part->shape) > 1) {
        gi_key_define(&part->key, "SLICES", gi_gemv_slices(&part->shape));
    }
    gi_key_option(&part->key, "SERIAL", is_serial(recorder, kernel, part));
    gi_key_option(&part->key, "BY_TWO",
                  gi_gemv_byte_sums(recorder->gpu, &part->shape, part->weight->quant) ==
                      GI_BYTE_SUMS_BY_TWO);
}

static void add_adapter(struct gi_gemv_part *part, const struct gi_recorder *recorder,
                        const struct gi_weight *weight)
{
    const uint32_t n_split = gi_gemv_adapter_splits(recorder, weight->adapter);
    gi_key_define(&part->key, "ADAPTER_RANK", weight->adapter_rank);
    gi_key_define(&part->key, "ADAPTER_AT", recorder->adapter / 4);
    if (n_split > 1) {
        gi_key_define(&part->key, "ADAPTER_SPLITS", n_split);
        gi_key_define(&part->key, "ADAPTER_STRIDE", weight->adapter->n_rows / 4);
    }
}

void gi_gemv_begin_part(struct gi_gemv_part *part, const struct gi_recorder *recorder,
                        enum gi_gemv_kernel kernel, const struct gi_weight *weight, uint32_t index)
{
    const struct gi_weight_part *weight_part = &weight->parts[index];
    assert(weight_part->n_rows > 0 && weight_part->n_rows % 16 == 0);
    memset(part, 0, sizeof(*part));
    part->weight = weight_part;
    part->n_block = gi_weight_blocks(weight);
    part->n_pair = weight_part->n_rows / 16;
    const struct gi_tuning_key key = {
        .kernel = kernels[kernel].names[gi_gemv_takes_f16(recorder, weight_part)],
        .type = weight_part->quant->type,
        .n_rows = weight_part->n_rows,
        .n_cols = weight->n_cols,
    };
    const enum gi_program_id first = kernels[kernel].first;
    part->shape =
        gi_gemv_choose_shape(recorder, &key, first, weight_part, part->n_block, &part->site);
    if (gi_recorder_is_uniform(recorder) && part->n_block > GI_PIPELINE_BLOCKS &&
        (is_of_experts(kernel) || !gi_gemv_is_pipelined(recorder))) {
        part->shape.form = GI_GEMV_FORM_SPLIT; // all of x would be kept
    }
    part->k_splits = weight->adapts ? gi_gemv_adapter_splits(recorder, weight) : 1;
    part->n_block /= part->k_splits;
    part->key.id = gi_gemv_program(recorder->gpu, first, &part->shape, key.type);
    part->key.quant = key.type;
    gi_key_define(&part->key, "WG_SIZE", part->shape.wg_size);
    gi_key_define(&part->key, "PAIRS", part->shape.pairs);
    if (gi_gemv_is_split(&part->shape)) {
        add_split(part, recorder, kernel, weight);
    } else {
        add_row_form(part, recorder, kernel);
    }
    if (gi_gemv_has_dot(&part->shape)) {
        gi_key_define(&part->key, "BLOCKS",
                      gi_gemv_blocks(&part->shape, weight_part->quant, part->n_block));
    }
    gi_key_define(&part->key, "HAS_BIAS", weight_part->bias != GI_NO_OFFSET);
    if (part->k_splits > 1) {
        gi_key_define(&part->key, "K_SPLITS", part->k_splits);
    }
    if (weight->adapter) {
        add_adapter(part, recorder, weight);
    }
}

// An index that all invocations share costs V3D and Mali less in a uniform block.
void gi_gemv_add_source(struct gi_gemv_part *part, const struct gi_recorder *recorder,
                        uint32_t begin, bool has_sums, struct gi_dispatch *dispatch)
{
    const struct gi_limits *limits = gi_gpu_limits(recorder->gpu);
    const struct gi_range *source = &dispatch->bindings[1];
    const uint32_t n_col = part->n_block * GI_QUANT_BLOCK;
    if (!gi_gemv_has_dot(&part->shape)) {
        return;
    }
    const uint32_t n_quad = (has_sums ? gi_x_size(n_col) : n_col) / 4;
    const struct gi_range range = {source->buffer, source->offset + 16 * (uint64_t)begin,
                                   16 * (uint64_t)n_quad};
    gi_key_define(&part->key, "SUMS", has_sums);
    if (range.size <= limits->max_uniform_block_size &&
        range.offset % limits->uniform_alignment == 0 &&
        range.offset + range.size <= source->offset + source->size) {
        gi_key_define(&part->key, "X_QUADS", n_quad);
        dispatch->uniform = range;
    }
}

bool gi_gemv_writes_sums(const struct gi_weight *weight, uint32_t rows, struct gi_gemv_part *part)
{
    const uint32_t n_pair = gi_gemv_group_pairs(&part->shape);
    bool is_writing = gi_gemv_has_dot(&part->shape) && part->shape.wg_size >= 16 &&
                      n_pair % (rows / 16) == 0 && n_pair <= part->shape.wg_size &&
                      !weight->is_split && !weight->is_ungated;
    for (uint32_t i = 0; i < weight->n_parts; i++) {
        is_writing = is_writing && weight->parts[i].row_begin % rows == 0;
    }
    gi_key_define(&part->key, "WRITE_SUMS", is_writing);
    return is_writing;
}

// Lets the dispatch run in pieces along its groups where it may be long.
static void add_pieces(struct gi_gemv_part *part, const struct gi_recorder *recorder,
                       struct gi_dispatch *dispatch)
{
    enum { LEAST_BATCH = 8 };
    const uint32_t n_tokens = dispatch->grid.rule == GI_GRID_TOKENS ? LEAST_BATCH : 1;
    if (!gi_recorder_is_uniform(recorder) && !gi_gemv_is_looping(&part->shape, part->n_pair) &&
        gi_dispatch_wants_pieces(dispatch, gi_gpu_class(recorder->gpu), 0, n_tokens)) {
        gi_key_define(&part->key, "PIECES", 1);
        dispatch->grid.is_divisible = true;
        dispatch->grid.divisible_axis = 0;
    }
}

void gi_gemv_record_part(struct gi_gemv_part *part, struct gi_recorder *recorder,
                         struct gi_dispatch *dispatch)
{
    dispatch->bindings[2] = part->weight->quads;
    dispatch->bindings[3] = part->weight->aux;
    if (gi_gemv_has_texels(&part->shape)) {
        gi_dispatch_read_texels(dispatch);
    }
    dispatch->wg_size = part->shape.wg_size;
    dispatch->owners =
        (struct gi_owners){part->weight->row_begin, 16 * part->n_pair, 16 * part->shape.pairs};
    dispatch->publishes = part->publishes;
    dispatch->consumes = part->consumes;
    dispatch->works_beside = part->works_beside;
    // A bound of loops over all of a matrix is better not known to a compiler.
    dispatch->runtime_params |= GI_PARAM_BIT(struct gi_gemv_plain_params, n_pair);
    dispatch->site = part->site;
    const double share = part->share > 0 ? part->share : 1;
    const double n_weight =
        (double)part->weight->n_rows * part->k_splits * part->n_block * GI_QUANT_BLOCK;
    const double n_bytes = (double)(part->weight->quads.size + part->weight->aux.size);
    dispatch->weight_bytes = (uint64_t)(share * n_bytes);
    dispatch->n_weight = (uint64_t)(share * n_weight);
    dispatch->grid.size[0] = gi_gemv_groups(&part->shape, part->n_pair);
    dispatch->grid.size[1] = part->k_splits;
    dispatch->grid.size[2] = dispatch->grid.size[2] > 0 ? dispatch->grid.size[2] : 1;
    add_pieces(part, recorder, dispatch);
    gi_recorder_add(recorder, &part->key, dispatch);
}
