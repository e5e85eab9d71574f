#include "engine/model/plan/weight_layout.h"

#include "base/round.h"
#include "engine/model/adapter/plan_adapters.h"
#include "engine/model/plan/plan_rows.h"
#include "ops/gemm/half_rows.h"

// A run of GPU rows of one type that may be cut anywhere at a multiple of `step` rows.
struct run {
    const struct gi_quant *quant;
    uint32_t begin, n_rows, step;
    bool has_bias, has_gamma, has_post, has_scale;
    uint32_t adapter_rank; // 0: no adapters
};

// Returns the bytes of aux before the vectors: the type's table and the scales.
static uint64_t vectors_offset(const struct run *run, uint32_t n_rows, uint32_t n_cols)
{
    return gi_round_up(run->quant->table_words * sizeof(uint32_t) +
                           gi_quant_scales_size(run->quant, n_rows, n_cols),
                       16);
}

static uint64_t aux_size(const struct run *run, uint32_t n_rows, uint32_t n_cols)
{
    const uint64_t vector = gi_round_up(n_rows, 4) * 4;
    const uint64_t adapter =
        run->adapter_rank > 0 ? 4ull * gi_adapter_words(n_rows, run->adapter_rank) : 0;
    return vectors_offset(run, n_rows, n_cols) + (run->has_bias ? vector : 0) + adapter +
           (run->has_gamma ? vector : 0) + (run->has_post ? vector : 0) + (run->has_scale ? 16 : 0);
}

// Gate and up rows of a tile of results in f16 (ops/gemm/half_rows.h), at which parts begin if they
// can.
#define TILE_PAIR_ROWS (UINT64_C(2) * GI_HALF_COLUMNS)

// Returns the most rows whose quads and aux fit a range.
static uint32_t rows_that_fit(const struct run *run, uint32_t n_cols, uint64_t max_range)
{
    const uint64_t quads = gi_quant_quads_size(run->quant, run->step, n_cols);
    const uint64_t aux = aux_size(run, run->step, n_cols) + 32;
    const uint64_t largest = quads > aux ? quads : aux;
    const uint64_t n_rows = max_range / largest * run->step;
    if (n_rows >= run->n_rows) {
        return run->n_rows;
    }
    const bool is_cut = n_rows > TILE_PAIR_ROWS && TILE_PAIR_ROWS % run->step == 0;
    return (uint32_t)(is_cut ? n_rows / TILE_PAIR_ROWS * TILE_PAIR_ROWS : n_rows);
}

static uint32_t place(bool is_there, uint32_t size, uint32_t *word)
{
    const uint32_t begin = *word;
    *word += is_there ? size : 0;
    return is_there ? begin : GI_NO_OFFSET;
}

static void lay_out_part(struct gi_weight_part *part, const struct run *run, uint32_t row,
                         uint32_t n_rows, uint32_t n_cols, uint32_t alignment)
{
    part->quant = run->quant;
    part->row_begin = row;
    part->n_rows = n_rows;
    part->quads.size = gi_quant_quads_size(run->quant, n_rows, n_cols);
    part->aux.offset = gi_round_up(part->quads.size, alignment);
    part->aux.size = aux_size(run, n_rows, n_cols);
    if (part->aux.size == 0) {
        part->aux.size = 16; // a range may not be empty
    }
    uint32_t word = (uint32_t)(vectors_offset(run, n_rows, n_cols) / 4);
    const uint32_t vector = (uint32_t)gi_round_up(n_rows, 4);
    part->bias = place(run->has_bias, vector, &word);
    place(run->adapter_rank > 0, gi_adapter_words(n_rows, run->adapter_rank), &word);
    part->gamma = place(run->has_gamma, vector, &word);
    part->post = place(run->has_post, vector, &word);
    part->scale = place(run->has_scale, 4, &word);
}

static void lay_out_run(struct gi_model_plan *plan, struct gi_plan_weight *weight,
                        const struct run *run)
{
    struct gi_weight *w = &weight->weight;
    const struct gi_plan_limits *limits = &plan->limits;
    const uint32_t most = rows_that_fit(run, w->n_cols, limits->max_range);
    for (uint32_t done = 0; done < run->n_rows && !plan->failure.status;) {
        if (w->n_parts == GI_MAX_PARTS || most == 0) {
            gi_error_set(&plan->failure, GLINFER_STATUS_UNSUPPORTED,
                         "%s: %u rows of %u do not fit %d ranges of %llu bytes", weight->name,
                         w->n_rows, w->n_cols, GI_MAX_PARTS, (unsigned long long)limits->max_range);
            return;
        }
        const uint32_t left = run->n_rows - done;
        const uint32_t n_rows = left < most ? left : most;
        lay_out_part(&w->parts[w->n_parts++], run, run->begin + done, n_rows, w->n_cols,
                     limits->alignment);
        done += n_rows;
    }
}

static const struct gi_quant *source_quant(const struct gi_plan_weight *weight, uint32_t source)
{
    return gi_quant_find(weight->sources[source].tensor->type->type);
}

// Returns true if results have a bias, which is of zeros if only adapters ask for it.
static bool has_any_bias(const struct gi_plan_weight *weight)
{
    if (weight->weight.adapter_rank > 0) {
        return true;
    }
    for (uint32_t i = 0; i < weight->n_sources; i++) {
        if (weight->sources[i].bias) {
            return true;
        }
    }
    return false;
}

// Sections of the same type that are neighbours share a part.
static void lay_out_sections(struct gi_model_plan *plan, struct gi_plan_weight *weight,
                             const struct gi_plan_sections *sections)
{
    for (uint32_t first = 0, next; first < sections->n; first = next) {
        const struct gi_quant *quant = source_quant(weight, sections->sources[first]);
        for (next = first + 1;
             next < sections->n && source_quant(weight, sections->sources[next]) == quant; next++) {
        }
        const struct run run = {.quant = quant,
                                .begin = sections->begins[first],
                                .n_rows = sections->begins[next] - sections->begins[first],
                                .step = 2 * GI_TILE_ROWS,
                                .has_bias = has_any_bias(weight),
                                .adapter_rank = weight->weight.adapter_rank};
        lay_out_run(plan, weight, &run);
    }
}

// Lays out the experts of a matrix, or of its gate or up alone, from row `begin` on. Those of the
// pieces of the shared one have parts of their own if its type is another.
static void lay_out_experts(struct gi_model_plan *plan, struct gi_plan_weight *weight,
                            uint32_t half, uint32_t begin)
{
    const uint32_t each = gi_plan_expert_rows(weight), n_expert = plan->hparams.n_expert;
    const uint32_t n_all = gi_plan_experts(plan, weight);
    struct run run = {.quant = source_quant(weight, half),
                      .begin = begin,
                      .n_rows = n_all * each,
                      .step = each,
                      .has_bias = has_any_bias(weight),
                      .has_gamma = weight->gamma != NULL};
    const struct gi_quant *shared =
        n_all > n_expert ? source_quant(weight, gi_plan_expert_sources(weight->order) + half)
                         : run.quant;
    struct run rest = run;
    run.n_rows = shared == run.quant ? run.n_rows : n_expert * each;
    rest.quant = shared;
    rest.begin += run.n_rows;
    rest.n_rows -= run.n_rows;
    lay_out_run(plan, weight, &run);
    lay_out_run(plan, weight, &rest);
}

static void cut_weight(struct gi_model_plan *plan, struct gi_plan_weight *weight)
{
    const uint64_t max_range = plan->limits.max_range;
    const struct gi_plan_sections sections = gi_plan_sections(plan, weight);
    if (sections.n > 0) {
        lay_out_sections(plan, weight, &sections);
        return;
    }
    const uint32_t n_runs = weight->weight.is_split ? 2 : 1, n_cols = weight->weight.n_cols;
    const uint32_t glu_step = 4 * GI_TILE_ROWS;
    struct run run = {.n_rows = weight->weight.n_rows / n_runs,
                      .step = 2 * GI_TILE_ROWS,
                      .has_bias = has_any_bias(weight),
                      .has_gamma = weight->gamma != NULL,
                      .has_post = weight->post != NULL,
                      .has_scale = weight->scale != NULL,
                      .adapter_rank = weight->weight.adapter_rank};
    for (uint32_t i = 0; i < n_runs; i++) {
        run.quant = source_quant(weight, i);
        run.begin = i * run.n_rows;
        if (gi_plan_has_experts(weight->order)) {
            lay_out_experts(plan, weight, i, run.begin);
            continue;
        }
        // Parts hold whole sums of act (glsl/norm/sums.glsl), if there is room.
        if (weight->order == GI_WEIGHT_ORDER_GATE_UP && n_runs == 1 &&
            gi_quant_quads_size(run.quant, glu_step, n_cols) <= max_range &&
            aux_size(&run, glu_step, n_cols) + 32 <= max_range) {
            run.step = glu_step;
        }
        lay_out_run(plan, weight, &run);
    }
}

static uint32_t gpu_rows(const struct gi_model_plan *plan, const struct gi_plan_weight *weight)
{
    const uint64_t rows = weight->sources[0].n_rows, two_tiles = 2 * (uint64_t)GI_TILE_ROWS;
    const uint32_t n_halves = weight->weight.is_split ? 2 : 1;
    switch (weight->order) {
    case GI_WEIGHT_ORDER_QKV:
    case GI_WEIGHT_ORDER_QKV_GATED:
    case GI_WEIGHT_ORDER_STACKED: {
        const struct gi_plan_sections sections = gi_plan_sections(plan, weight);
        return sections.begins[sections.n];
    }
    case GI_WEIGHT_ORDER_GATE_UP:
        return n_halves * (uint32_t)gi_round_up(2 / n_halves * rows, two_tiles);
    case GI_WEIGHT_ORDER_EXPERTS:
    case GI_WEIGHT_ORDER_EXPERTS_GATE_UP:
        return n_halves * gi_plan_experts(plan, weight) * gi_plan_expert_rows(weight);
    case GI_WEIGHT_ORDER_PLAIN:
        break;
    }
    return (uint32_t)gi_round_up(rows, two_tiles);
}

// Returns true if gate and up, the sources from first on, are of different types.
static bool has_two_types(const struct gi_plan_weight *weight, uint32_t first)
{
    return weight->sources[first].tensor->type != weight->sources[first + 1].tensor->type;
}

static void add_sizes(struct gi_model_plan *plan, const struct gi_plan_weight *weight)
{
    for (uint32_t i = 0; i < weight->weight.n_parts; i++) {
        const struct gi_weight_part *part = &weight->weight.parts[i];
        const uint64_t range =
            part->quads.size > part->aux.size ? part->quads.size : part->aux.size;
        plan->largest_range = range > plan->largest_range ? range : plan->largest_range;
        plan->weight_bytes += gi_plan_part_size(part, plan->limits.alignment);
    }
}

void gi_weight_layout(struct gi_model_plan *plan, struct gi_plan_weight *weight)
{
    if (plan->failure.status) {
        return;
    }
    weight->weight.name = weight->name;
    weight->weight.is_split = gi_plan_has_gate(weight->order) &&
                              (plan->hparams.is_sparse[weight->layer] || has_two_types(weight, 0) ||
                               (weight->n_sources > 2 && has_two_types(weight, 2)));
    weight->weight.n_rows = gpu_rows(plan, weight);
    weight->weight.adapter_rank = gi_plan_adapter_rank(plan, weight);
    const struct gi_plan_source *first = &weight->sources[0];
    weight->weight.n_cols =
        first->n_tap > 0 ? first->n_tap * first->n_col : (uint32_t)first->tensor->dims[0];
    cut_weight(plan, weight);
    if (!weight->same) {
        add_sizes(plan, weight);
    }
}

void gi_weight_layout_adapter(struct gi_model_plan *plan, struct gi_plan_weight *weight)
{
    const struct gi_plan_weight *base = weight->adapts;
    const uint32_t n_rows = base->n_sources * base->weight.adapter_rank;
    struct gi_weight *a = &weight->weight;
    a->name = weight->name;
    a->n_rows = (uint32_t)gi_round_up(n_rows, (uint64_t)2 * GI_TILE_ROWS);
    a->n_cols = base->weight.n_cols;
    const struct run run = {
        .quant = gi_quant_find(GI_GGML_TYPE_F16), .n_rows = a->n_rows, .step = 2 * GI_TILE_ROWS};
    lay_out_run(plan, weight, &run);
    add_sizes(plan, weight);
}
