#include "ops/stream.h"

#include "ops/weight.h"

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
    stream->residual = 0;
    stream->norm = pad_part(n_embd);
    stream->ssq = stream->norm + gi_x_size(n_embd);
    stream->rope = stream->ssq + max_ssq;
    stream->max_ssq = max_ssq;
    stream->n_ssq = 0;
    stream->has_sums = false;
    stream->norm_eps = norm_eps;
    return ((uint64_t)stream->rope + pad_part(n_rot)) * sizeof(float);
}

// Uints of n elements of a cache.
static uint64_t cache_words(uint64_t n, bool is_f32)
{
    uint64_t words = is_f32 ? n : n / 2;
    return (words + 3) / 4 * 4;
}

uint64_t gi_kv_layer_layout(struct gi_kv_layer *layer, uint32_t n_head, uint32_t n_kv_head,
                            uint32_t head_dim, uint32_t n_ctx, bool is_k_f32, bool is_v_f32)
{
    assert(head_dim % 8 == 0);
    uint64_t n = (uint64_t)n_kv_head * n_ctx * head_dim;
    uint64_t k = cache_words((uint64_t)n_head * head_dim, true);
    uint64_t v = k + cache_words(n, is_k_f32);
    uint64_t end = v + cache_words(n, is_v_f32);
    layer->n_head = n_head;
    layer->n_kv_head = n_kv_head;
    layer->head_dim = head_dim;
    layer->n_ctx = n_ctx;
    layer->k = (uint32_t)k;
    layer->v = (uint32_t)v;
    layer->is_k_f32 = is_k_f32;
    layer->is_v_f32 = is_v_f32;
    return end * sizeof(uint32_t);
}
