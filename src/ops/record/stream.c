#include "ops/record/stream.h"

#include "base/round.h"
#include "ops/record/weight.h"

#include <assert.h>

#define PART_FLOATS 64

static uint32_t pad_part(uint32_t n)
{
    return (n + PART_FLOATS - 1) / PART_FLOATS * PART_FLOATS;
}

uint32_t gi_x_size(uint32_t n)
{
    return pad_part(n) + pad_part(pad_part(n) / 16);
}

uint64_t gi_stream_layout(struct gi_stream *stream, uint32_t n_embd, uint32_t n_rot, float norm_eps)
{
    assert(n_embd > 0 && n_rot % 2 == 0);
    // A producer writes a partial sum for two rows at the least, and whole groups in each part.
    uint32_t max_ssq = pad_part(n_embd / 2 + GI_TILE_ROWS * GI_MAX_PARTS);
    stream->n_embd = n_embd;
    stream->n_rot = n_rot;
    stream->u_offset = pad_part(n_embd);
    stream->residual = 0;
    stream->norm = 2 * stream->u_offset;
    stream->ssq = stream->norm + 2 * stream->u_offset; // the sums of norm take less than it
    stream->part_sums[0] = stream->ssq + max_ssq;
    stream->part_sums[1] = stream->part_sums[0] + 4 * max_ssq;
    stream->rope = stream->part_sums[1] + 4 * max_ssq;
    stream->max_ssq = max_ssq;
    stream->n_ssq = 0;
    stream->has_sums = stream->is_parted = false;
    stream->parity = 0;
    stream->norm_eps = norm_eps;
    return (stream->rope + (uint64_t)pad_part(n_rot)) * sizeof(float);
}

bool gi_cache_has_blocks(enum gi_cache_type type)
{
    return type == GI_CACHE_Q8_0 || type == GI_CACHE_Q4_0;
}

// Uints of a row, without its scales.
static uint32_t row_words(enum gi_cache_type type, uint32_t head_dim)
{
    switch (type) {
    case GI_CACHE_F32:
        return head_dim;
    case GI_CACHE_Q8_0:
        return (uint32_t)gi_round_up(head_dim, 16) / 4;
    case GI_CACHE_Q4_0:
        return (uint32_t)gi_round_up(head_dim, 32) / 8;
    default:
        return head_dim / 2;
    }
}

static uint32_t row_scale_words(enum gi_cache_type type, uint32_t head_dim)
{
    return gi_cache_has_blocks(type) ? (uint32_t)gi_round_up(head_dim, 64) / 64 : 0;
}

uint32_t gi_cache_row_size(enum gi_cache_type type, uint32_t head_dim)
{
    return (row_words(type, head_dim) + row_scale_words(type, head_dim)) *
           (uint32_t)sizeof(uint32_t);
}

const char *gi_cache_type_name(enum gi_cache_type type)
{
    static const char *const names[GI_CACHE_TYPE_COUNT] = {
        [GI_CACHE_F16] = "f16",
        [GI_CACHE_F32] = "f32",
        [GI_CACHE_Q8_0] = "q8_0",
        [GI_CACHE_Q4_0] = "q4_0",
    };
    return names[type];
}

static struct gi_cache_plane make_plane(const struct gi_kv_layer *layer, uint32_t offset,
                                        uint32_t words)
{
    const uint64_t word = sizeof(uint32_t);
    return (struct gi_cache_plane){.offset = offset * word,
                                   .head_stride = words * word * layer->n_ctx,
                                   .row_size = words * (uint32_t)word};
}

void gi_kv_layer_planes(const struct gi_kv_layer *layer,
                        struct gi_cache_plane planes[GI_CACHE_PLANES])
{
    const uint32_t n = layer->head_dim;
    planes[0] = make_plane(layer, layer->k, row_words(layer->type_k, n));
    planes[1] = make_plane(layer, layer->k_scale, row_scale_words(layer->type_k, n));
    planes[2] = make_plane(layer, layer->v, row_words(layer->type_v, n));
    planes[3] = make_plane(layer, layer->v_scale, row_scale_words(layer->type_v, n));
}

// Places rows and their scales from *end on.
static void place_rows(uint64_t *end, enum gi_cache_type type, uint64_t n_row, uint32_t head_dim,
                       uint32_t *data, uint32_t *scale)
{
    *data = (uint32_t)*end;
    *end += (n_row * row_words(type, head_dim) + 3) / 4 * 4;
    *scale = (uint32_t)*end;
    *end += (n_row * row_scale_words(type, head_dim) + 3) / 4 * 4;
}

uint64_t gi_kv_layer_layout(struct gi_kv_layer *layer, uint32_t n_head, uint32_t n_kv_head,
                            uint32_t head_dim, uint32_t n_ctx, enum gi_cache_type type_k,
                            enum gi_cache_type type_v)
{
    assert(head_dim % 8 == 0);
    const uint64_t n_row = (uint64_t)n_kv_head * n_ctx;
    uint64_t end = (uint64_t)n_head * head_dim;
    place_rows(&end, type_k, n_row, head_dim, &layer->k, &layer->k_scale);
    place_rows(&end, type_v, n_row, head_dim, &layer->v, &layer->v_scale);
    layer->n_head = n_head;
    layer->n_kv_head = n_kv_head;
    layer->head_dim = head_dim;
    layer->n_ctx = n_ctx;
    layer->type_k = type_k;
    layer->type_v = type_v;
    layer->slot_size = 0;
    return end * sizeof(uint32_t);
}
