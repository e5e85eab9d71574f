#include "engine/model/plan/plan_rows.h"

#include "base/array.h"
#include "base/round.h"

#include <stdlib.h>
#include <string.h>

uint32_t gi_plan_expert_sources(enum gi_weight_order order)
{
    return order == GI_WEIGHT_ORDER_EXPERTS ? 1 : order == GI_WEIGHT_ORDER_EXPERTS_GATE_UP ? 2 : 0;
}

bool gi_plan_has_experts(enum gi_weight_order order)
{
    return gi_plan_expert_sources(order) > 0;
}

bool gi_plan_has_gate(enum gi_weight_order order)
{
    return order == GI_WEIGHT_ORDER_GATE_UP || order == GI_WEIGHT_ORDER_EXPERTS_GATE_UP;
}

// Returns true for q, k and v in pair order.
static bool has_pairs(enum gi_weight_order order)
{
    return order == GI_WEIGHT_ORDER_QKV || order == GI_WEIGHT_ORDER_QKV_GATED;
}

struct gi_plan_sections gi_plan_sections(const struct gi_model_plan *plan,
                                         const struct gi_plan_weight *weight)
{
    const struct gi_qkv_layout own = gi_layer_qkv_layout(
        &plan->hparams, weight->layer,
        weight->order == GI_WEIGHT_ORDER_QKV_GATED || plan->hparams.has_head_gates);
    const struct gi_qkv_layout *layout = &own;
    switch (weight->order) {
    case GI_WEIGHT_ORDER_QKV:
        if (layout->n_head == 0) {
            return (struct gi_plan_sections){
                2, {layout->k_begin, layout->v_begin, layout->n_rows}, {0, 1}};
        }
        if (layout->gate_begin > 0) {
            return (struct gi_plan_sections){4,
                                             {layout->q_begin, layout->k_begin, layout->v_begin,
                                              layout->gate_begin, layout->n_rows},
                                             {0, 1, 2, 3}};
        }
        return (struct gi_plan_sections){
            layout->n_kv_head > 0 ? 3 : 1,
            {layout->q_begin, layout->k_begin, layout->v_begin, layout->n_rows},
            {0, 1, 2}};
    case GI_WEIGHT_ORDER_QKV_GATED:
        return (struct gi_plan_sections){
            4,
            {layout->q_begin, layout->k_begin, layout->v_begin, layout->gate_begin, layout->n_rows},
            {0, 1, 2, 0}};
    case GI_WEIGHT_ORDER_STACKED: {
        struct gi_plan_sections sections = {.n = weight->n_sources};
        for (uint32_t i = 0; i < weight->n_sources; i++) {
            const uint64_t n_rows =
                gi_round_up(weight->sources[i].n_rows, UINT64_C(2) * GI_TILE_ROWS);
            sections.begins[i + 1] = sections.begins[i] + (uint32_t)n_rows;
            sections.sources[i] = i;
        }
        return sections;
    }
    default:
        return (struct gi_plan_sections){0};
    }
}

// Returns the section of a row of a weight that has some.
static uint32_t find_section(const struct gi_plan_sections *sections, uint32_t row)
{
    uint32_t i = 0;
    while (row >= sections->begins[i + 1]) {
        i++;
    }
    return i;
}

// Returns true if rows of gate and up alternate.
static bool is_paired(const struct gi_plan_weight *weight)
{
    return gi_plan_has_gate(weight->order) && !weight->weight.is_split;
}

uint32_t gi_plan_expert_rows(const struct gi_plan_weight *weight)
{
    const uint64_t rows = weight->sources[0].n_rows, two_tiles = 2 * (uint64_t)GI_TILE_ROWS;
    return (uint32_t)gi_round_up(is_paired(weight) ? 2 * rows : rows, two_tiles);
}

uint32_t gi_plan_pair_row(const struct gi_hparams *hparams, const struct gi_heads *heads,
                          uint32_t at)
{
    const uint32_t n_turn = heads->n_rot / 2;
    const uint32_t in_head = at % heads->head_dim, i = in_head / 2;
    if (i >= n_turn || hparams->rope_pairing == GI_ROPE_PAIRING_ADJACENT) {
        return at;
    }
    return at - in_head + i + in_head % 2 * n_turn;
}

// Finds a row of q, k, v, or of the gates of attention's output. Where these are there, rows of q
// and of gates alternate by heads in the file.
static bool qkv_row(const struct gi_model_plan *plan, const struct gi_plan_weight *weight,
                    uint32_t row, uint32_t *source, uint32_t *source_row)
{
    const struct gi_hparams *hparams = &plan->hparams;
    const struct gi_heads heads = gi_layer_heads(hparams, weight->layer);
    const struct gi_plan_sections sections = gi_plan_sections(plan, weight);
    const uint32_t section = find_section(&sections, row), head_dim = heads.head_dim;
    const uint32_t relative = row - sections.begins[section];
    const uint32_t tile = relative / GI_TILE_ROWS;
    const uint32_t pair = tile / 2 * GI_TILE_ROWS + relative % GI_TILE_ROWS;
    *source = sections.sources[section];
    if (*source == 3) { // gates of heads
        *source_row = relative;
        return relative < hparams->n_head;
    }
    const bool is_q = *source == 0 && gi_has_q(hparams, weight->layer);
    if (pair >= (is_q ? hparams->n_head : heads.n_kv_head) * (head_dim / 2)) {
        return false;
    }
    const uint32_t at = 2 * pair + tile % 2;
    *source_row = section < 2 ? gi_plan_pair_row(hparams, &heads, at) : at;
    if (weight->order == GI_WEIGHT_ORDER_QKV_GATED && *source == 0) {
        *source_row += (*source_row / head_dim + (section == 3)) * head_dim;
    }
    return true;
}

static bool stacked_row(const struct gi_model_plan *plan, const struct gi_plan_weight *weight,
                        uint32_t row, uint32_t *source, uint32_t *source_row)
{
    const struct gi_plan_sections sections = gi_plan_sections(plan, weight);
    *source = find_section(&sections, row);
    *source_row = row - sections.begins[*source];
    return *source_row < weight->sources[*source].n_rows;
}

uint32_t gi_plan_experts(const struct gi_model_plan *plan, const struct gi_plan_weight *weight)
{
    const bool has_shared = weight->n_sources > gi_plan_expert_sources(weight->order);
    return plan->hparams.n_expert + (has_shared ? plan->hparams.n_shared : 0);
}

// Finds a row of an expert, or of a piece of the shared one: of gate and up a piece takes rows, of
// down columns.
static bool expert_row(const struct gi_model_plan *plan, const struct gi_plan_weight *weight,
                       uint32_t row, uint32_t *source, uint32_t *source_row)
{
    const uint32_t each = gi_plan_expert_rows(weight), in_expert = row % each, expert = row / each;
    const uint32_t half = is_paired(weight) ? each / 2 : each;
    const uint32_t n_expert = plan->hparams.n_expert;
    *source = in_expert / half;
    const struct gi_plan_source *from = &weight->sources[*source];
    *source_row = expert * (uint32_t)from->tensor->dims[1] + in_expert % half;
    if (expert >= n_expert) {
        const uint32_t n_before =
            weight->order == GI_WEIGHT_ORDER_EXPERTS ? 0 : (expert - n_expert) * from->n_rows;
        *source += gi_plan_expert_sources(weight->order);
        *source_row = n_before + in_expert % half;
    }
    return in_expert % half < from->n_rows;
}

uint64_t gi_plan_row_offset(const struct gi_model_plan *plan, const struct gi_plan_weight *weight,
                            const struct gi_weight_part *part, uint32_t row)
{
    if (weight->order != GI_WEIGHT_ORDER_EXPERTS) {
        return 0;
    }
    const uint32_t expert = (part->row_begin + row) / gi_plan_expert_rows(weight);
    if (expert < plan->hparams.n_expert) {
        return 0;
    }
    const struct gi_ggml_type_info *type = weight->sources[1].tensor->type;
    const uint64_t column = (uint64_t)(expert - plan->hparams.n_expert) * weight->weight.n_cols;
    return column / type->block_size * type->block_bytes;
}

// Finds a row of gate and up that are split into two matrices.
static bool split_row(const struct gi_model_plan *plan, const struct gi_plan_weight *weight,
                      uint32_t row, uint32_t *source, uint32_t *source_row)
{
    const uint32_t half = weight->weight.n_rows / 2;
    uint32_t first = 0;
    *source_row = row % half;
    const bool is_row = gi_plan_has_experts(weight->order)
                            ? expert_row(plan, weight, row % half, &first, source_row)
                            : *source_row < weight->sources[0].n_rows;
    *source = first + row / half;
    return is_row;
}

// Finds the row of a source; false for padding.
static bool find_row(const struct gi_model_plan *plan, const struct gi_plan_weight *weight,
                     const struct gi_weight_part *part, uint32_t row, uint32_t *source,
                     uint32_t *source_row)
{
    if (has_pairs(weight->order)) {
        return qkv_row(plan, weight, part->row_begin + row, source, source_row);
    }
    if (weight->order == GI_WEIGHT_ORDER_STACKED) {
        return stacked_row(plan, weight, part->row_begin + row, source, source_row);
    }
    if (weight->weight.is_split) {
        return split_row(plan, weight, part->row_begin + row, source, source_row);
    }
    if (gi_plan_has_experts(weight->order)) {
        return expert_row(plan, weight, part->row_begin + row, source, source_row);
    }
    *source = 0;
    *source_row = part->row_begin + row;
    if (is_paired(weight)) {
        const uint32_t half = part->n_rows / 2;
        *source = row >= half;
        *source_row = part->row_begin / 2 + row % half;
    }
    return *source_row < weight->sources[*source].n_rows;
}

bool gi_plan_weight_row(const struct gi_model_plan *plan, const struct gi_plan_weight *weight,
                        const struct gi_weight_part *part, uint32_t row, uint32_t *source,
                        uint32_t *source_row)
{
    if (!find_row(plan, weight, part, row, source, source_row)) {
        return false;
    }
    const struct gi_plan_source *from = &weight->sources[*source];
    if (from->n_run > 0) {
        *source_row = *source_row / from->n_run * from->run_step + *source_row % from->n_run;
    }
    *source_row += from->row_begin;
    return true;
}

float gi_plan_factor(const struct gi_plan_weight *weight, float *const factors[GI_MAX_SOURCES],
                     uint32_t source, uint32_t source_row)
{
    const float *own = factors[source];
    return own ? own[source_row / weight->sources[source].tensor->dims[1]] : 1;
}

uint64_t gi_plan_row_size(const struct gi_gguf_tensor *tensor)
{
    return tensor->size / (tensor->dims[1] * tensor->dims[2]);
}

size_t gi_plan_kept_size(const struct gi_plan_source *source)
{
    return source->n_tap > 0
               ? (size_t)source->n_tap * source->n_col * source->tensor->type->block_bytes
               : gi_plan_row_size(source->tensor);
}

bool gi_read_taps(const struct gi_gguf *gguf, const struct gi_plan_source *source, uint32_t first,
                  size_t n, uint8_t *out, struct glinfer_error *err)
{
    const struct gi_gguf_tensor *tensor = source->tensor;
    const size_t size = gi_plan_row_size(tensor), element = tensor->type->block_bytes;
    const size_t n_element = size / element;
    uint8_t *file = gi_array_zeroed(n, size, "a convolution", err);
    const bool ok = file && gi_gguf_tensor_read(gguf, tensor, first * size, n * size, file, err);
    memset(out, 0, n * gi_plan_kept_size(source));
    for (size_t i = 0; ok && i < n * n_element; i++) {
        const size_t row = i / n_element, column = i % n_element / source->n_tap;
        const size_t tap = i % source->n_tap;
        memcpy(out + row * gi_plan_kept_size(source) + (tap * source->n_col + column) * element,
               file + i * element, element);
    }
    free(file);
    return ok;
}
