#include "engine/speech/speech_align.h"

#include "base/array.h"
#include "base/softmax.h"
#include "gpu/dispatch/multi_executor.h"
#include "quant/quant.h"

#include <stdlib.h>
#include <string.h>

void gi_speech_align_finish(struct gi_speech_align *align)
{
    free(align->queries);
    *align = (struct gi_speech_align){0};
}

static uint32_t query_width(const struct gi_hparams *decoder)
{
    return decoder->n_head * decoder->head_dim;
}

bool gi_speech_align_begin(struct gi_speech_align *align, const struct gi_hparams *decoder,
                           uint32_t n)
{
    align->n_token = n;
    align->n_cross = 0;
    for (uint32_t i = 0; i < decoder->n_layer; i++) {
        align->n_cross += gi_layer_kind(decoder, i) == GI_LAYER_CROSS;
    }
    return gi_array_grow(&align->queries, &align->capacity,
                         (size_t)align->n_cross * n * query_width(decoder), sizeof(float),
                         "queries of tokens", align->failure);
}

//-- queries ---------------------------------------------------------------------------------------

// Returns the next entry of cross-attention after an entry; 0 after the last one.
static uint32_t find_attention(const struct gi_dispatch_table *list, const struct gi_range *keys,
                               uint32_t after)
{
    for (uint32_t i = after + 1; i < gi_dispatch_table_count(list); i++) {
        const struct gi_range *state = &gi_dispatch_table_at(list, i)->state;
        if (state->buffer == keys->buffer && state->offset == keys->offset) {
            return i;
        }
    }
    return 0;
}

// The list stops before the attention of each layer, when its queries are in the graph's rows q.
enum gi_net_result gi_speech_align_run(struct gi_speech_align *align, struct gi_speech_call *call,
                                       const struct gi_step_state *state)
{
    struct glinfer_session *session = call->session;
    const struct gi_tables *tables = &session->tables;
    struct gi_executor *executor = gi_tables_find(&session->tables, GI_LIST_PROMPT, call->failure);
    struct gi_replay_cursor *cursor = &call->cursor;
    const uint32_t width = query_width(&session->model->hparams);
    const uint64_t size = (uint64_t)state->n_tokens * width * sizeof(float);
    enum gi_net_result result = executor ? GI_NET_DONE : GI_NET_FAILED;
    while (result == GI_NET_DONE) {
        const bool is_at_stop = call->is_open && cursor->stop > 0 && cursor->entry == cursor->stop;
        if (is_at_stop) { // and the queries were fetched
            float *rows =
                &align->queries[((size_t)align->layer++ * align->n_token + state->n_past) * width];
            memcpy(rows, session->logits.data, size);
        }
        align->layer = call->is_open ? align->layer : 0;
        if (!call->is_open || is_at_stop) {
            cursor->stop = find_attention(gi_multi_executor_list(executor),
                                          &tables->graph.cross_state, cursor->entry);
        }
        result = gi_speech_call_run(call, GI_LIST_PROMPT, state);
        if (result == GI_NET_DONE && !call->is_open) {
            break;
        }
        if (result == GI_NET_DONE) {
            result = gi_speech_call_fetch(call, &tables->graph.q.range, 1, size);
        }
    }
    return result;
}

//-- weights ---------------------------------------------------------------------------------------

// Returns the cache of a layer of cross-attention.
static const struct gi_kv_layer *find_cache(const struct glinfer_session *decoder, uint32_t layer)
{
    uint32_t i = 0;
    for (uint32_t n = 0; n <= layer; i++) {
        n += gi_layer_kind(&decoder->model->hparams, i) == GI_LAYER_CROSS;
    }
    return &decoder->sequence.cache[i - 1];
}

// Reads the keys of a head, (n_key, head_dim).
static float *read_keys(struct glinfer_session *decoder, const struct gi_kv_layer *cache,
                        uint32_t head, uint32_t n_key, struct glinfer_error *failure)
{
    struct gi_cache_plane planes[GI_CACHE_PLANES];
    struct gi_gpu *gpu = gi_session_gpu(decoder);
    struct gi_range range = cache->range;
    const size_t n = (size_t)n_key * cache->head_dim;
    struct gi_readback readback = {0};
    const void *data = NULL;
    gi_kv_layer_planes(cache, planes);
    const uint64_t size = (uint64_t)n_key * planes[0].row_size;
    range.offset += planes[0].offset + head * planes[0].head_stride;
    float *keys = gi_array_zeroed(n, sizeof(float), "keys of a sound", failure);
    if (keys && gi_readback_init(&readback, gpu, size, failure)) {
        gi_readback_begin(&readback);
        gi_readback_add_checked(&readback, gpu, range.buffer, range.offset, size);
        data = gi_readback_end(&readback, gpu, failure) ? gi_readback_wait(&readback, gpu, failure)
                                                        : NULL;
    }
    for (size_t i = 0; data && i < n; i++) {
        keys[i] = cache->type_k == GI_CACHE_F16 ? gi_half_to_float(((const uint16_t *)data)[i])
                                                : ((const float *)data)[i];
    }
    gi_readback_finish(&readback, gpu);
    if (!data) {
        free(keys);
    }
    return data ? keys : NULL;
}

bool gi_speech_align_weigh(const struct gi_speech_align *align, struct glinfer_session *decoder,
                           uint32_t layer, uint32_t head, uint32_t n_key, float *weights)
{
    const struct gi_kv_layer *cache = find_cache(decoder, layer);
    const float scale = decoder->model->hparams.attention_scale;
    const uint32_t n = cache->head_dim, width = query_width(&decoder->model->hparams);
    float *keys = read_keys(decoder, cache, head, n_key, align->failure);
    for (uint32_t token = 0; keys && token < align->n_token; token++) {
        const float *query =
            &align->queries[((size_t)layer * align->n_token + token) * width + (size_t)head * n];
        float *row = &weights[(size_t)token * n_key];
        for (uint32_t i = 0; i < n_key; i++) {
            float sum = 0;
            for (uint32_t j = 0; j < n; j++) {
                sum += query[j] * keys[(size_t)i * n + j];
            }
            row[i] = scale * sum;
        }
        gi_softmax(row, n_key);
    }
    free(keys);
    return keys;
}
