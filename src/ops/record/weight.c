#include "ops/record/weight.h"

#include <assert.h>

bool gi_weight_part_fits_texels(const struct gi_limits *limits, const struct gi_weight_part *part)
{
    return limits->has_texture_buffer && part->quads.size / 16 <= limits->max_texels &&
           part->aux.size / 4 <= limits->max_texels;
}

// Rows of a section of n pairs: whole pairs of tiles.
static uint32_t section_rows(uint32_t n_pair)
{
    return (n_pair + GI_TILE_ROWS - 1) / GI_TILE_ROWS * GI_TILE_ROWS * 2;
}

void gi_qkv_layout_init(struct gi_qkv_layout *layout, uint32_t n_head, uint32_t n_kv_head,
                        uint32_t head_dim)
{
    assert(head_dim > 0 && head_dim % 2 == 0);
    uint32_t q_rows = section_rows(n_head * (head_dim / 2));
    uint32_t kv_rows = section_rows(n_kv_head * (head_dim / 2));
    *layout = (struct gi_qkv_layout){
        .n_head = n_head,
        .n_kv_head = n_kv_head,
        .head_dim = head_dim,
        .q_begin = 0,
        .k_begin = q_rows,
        .v_begin = q_rows + kv_rows,
        .n_rows = q_rows + 2 * kv_rows,
    };
}

void gi_qkv_layout_add_gate(struct gi_qkv_layout *layout, uint32_t width)
{
    assert(width == 1 || width == layout->head_dim);
    layout->gate_begin = layout->n_rows;
    layout->gate_width = width;
    layout->n_rows += section_rows((layout->n_head * layout->head_dim / width + 1) / 2);
}
