#include "base/round.h"
#include "glsl/norm/norm_params.h"
#include "ops/experts/experts.h"
#include "ops/gemm/batch.h"
#include "ops/gemm/half_rows.h"

#include <assert.h>

#define WG_SIZE 64 // columns in fours, of halves in eights

static void record_part(struct gi_recorder *recorder, const char *label,
                        const struct gi_rows *gate_up, const struct gi_rows *act,
                        enum gi_activation activation, const struct gi_glu_params *params)
{
    const uint32_t wg_size = gi_recorder_wg_size(recorder, WG_SIZE);
    struct gi_program_key key = GI_KEY(GI_PROGRAM_GLU, {"WG_SIZE", wg_size},
                                       {"ACTIVATION", activation}, {"HALF", gi_half_form(act)});
    gi_key_option(&key, "UNGATED", params->n_part == 0);
    const uint32_t columns = (act->is_half ? 8 : 4) * wg_size;
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {act->range, gate_up->range},
        GI_PARAMS_OF(*params),
        .grid = gi_grid_rows((params->n_column + columns - 1) / columns, true),
    };
    gi_recorder_add(recorder, &key, &dispatch);
}

// Returns true if each part has rows of gate and as many of up.
static bool has_pairs(const struct gi_weight *weight)
{
    return !weight->is_split && !weight->is_ungated;
}

bool gi_glu_has_halves(const struct gi_weight *weight)
{
    for (uint32_t i = 1; has_pairs(weight) && i < weight->n_parts; i++) {
        if (weight->parts[i].row_begin / 2 % GI_HALF_COLUMNS != 0) {
            return false;
        }
    }
    return true;
}

void gi_op_glu(struct gi_recorder *recorder, const char *label, const struct gi_weight *weight,
               const struct gi_rows *gate_up, uint32_t n_ff, const struct gi_activation_rule *rule,
               const struct gi_rows *act)
{
    const uint32_t n_each = weight->is_ungated ? 1 : 2;
    assert(n_ff <= weight->n_rows / n_each);
    assert(gate_up->stride >= weight->n_rows && act->stride >= n_ff);
    assert(!act->is_half || gi_glu_has_halves(weight));
    const struct gi_weight_part whole = {.n_rows = weight->n_rows};
    for (uint32_t i = 0; i < (has_pairs(weight) ? weight->n_parts : 1); i++) {
        const struct gi_weight_part *part = has_pairs(weight) ? &weight->parts[i] : &whole;
        uint32_t begin = part->row_begin / n_each;
        uint32_t n_part = part->n_rows / n_each;
        assert(begin < n_ff);
        // Past n_ff there are at most 3 columns more: rows of zero weights, and padding of act.
        uint32_t n_left = (n_ff - begin + 3) / 4 * 4;
        const struct gi_glu_params params = {
            .gate_up_stride = gate_up->stride,
            // Tiles of halves make a row of what the next product reads, however far apart rows of
            // floats are.
            .act_stride = act->is_half ? n_ff : act->stride,
            .gate_begin = part->row_begin,
            .n_part = weight->is_ungated ? 0 : n_part,
            .act_begin = begin,
            .n_column = n_left < n_part ? n_left : n_part,
            .square = rule->xielu.square,
            .fall = rule->xielu.fall,
            .slope = rule->xielu.slope,
            .edge = rule->xielu.edge,
        };
        record_part(recorder, label, gate_up, act, rule->activation, &params);
    }
}

void gi_op_glu_experts(struct gi_recorder *recorder, const struct gi_experts *experts,
                       enum gi_activation activation, const struct gi_weight *weight,
                       const struct gi_rows *gate_up, const struct gi_sorted_rows *rows)
{
    struct gi_program_key key =
        GI_KEY(GI_PROGRAM_GLU, {"WG_SIZE", WG_SIZE}, {"ACTIVATION", activation},
               {"HALF", rows->is_half}, {"EACH", experts->n_used});
    gi_key_option(&key, "SORTED", rows->is_half);
    gi_key_option(&key, "UNGATED", weight->is_ungated);
    const uint32_t columns = (rows->is_half ? 8 : 4) * WG_SIZE;
    const uint32_t n_part = weight->n_rows / experts->n_expert / (weight->is_ungated ? 1 : 2);
    const uint32_t n_column = gi_round_up(experts->n_ff, 4);
    const struct gi_glu_params params = {
        .gate_up_stride = gate_up->stride,
        .act_stride = experts->act_width,
        .n_part = weight->is_ungated ? 0 : n_part,
        .act_begin = 0,
        .n_column = n_column < n_part ? n_column : n_part,
    };
    struct gi_dispatch dispatch = {
        .label = "ffn_act",
        .bindings = {gi_sorted_part(rows, rows->act), gate_up->range,
                     rows->is_half ? gi_sorted_part(rows, rows->route) : (struct gi_range){0}},
        GI_PARAMS_OF(params),
        .grid = {.size = {gi_divide_up(params.n_column, columns), 1, experts->n_used},
                 .rule = GI_GRID_TOKENS,
                 .axis = 1,
                 .divisor = 1},
    };
    gi_recorder_add(recorder, &key, &dispatch);
}
