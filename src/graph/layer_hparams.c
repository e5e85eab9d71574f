// Says what differs from layer to layer: what each keeps, its heads, the width of its network.
#include "graph/graph.h"

#include <math.h>
#include <stdio.h>

enum gi_layer_kind gi_layer_kind(const struct gi_hparams *hparams, uint32_t layer)
{
    const enum gi_layer_kind kind = (enum gi_layer_kind)hparams->layer_kinds[layer];
    if (kind != GI_LAYER_ATTENTION) {
        return kind;
    }
    if (gi_cache_layer(hparams, layer) != layer) {
        return GI_LAYER_SHARED_KV;
    }
    return hparams->has_window_heads && gi_has_window(hparams, layer) ? GI_LAYER_WINDOW
                                                                      : GI_LAYER_ATTENTION;
}

struct gi_heads gi_layer_heads(const struct gi_hparams *hparams, uint32_t layer)
{
    return hparams->has_window_heads && gi_has_window(hparams, layer)
               ? hparams->window_heads
               : (struct gi_heads){hparams->n_kv_head, hparams->head_dim, hparams->n_rot};
}

uint32_t gi_layer_ff(const struct gi_hparams *hparams, uint32_t layer)
{
    return hparams->layer_ff[layer] > 0 ? hparams->layer_ff[layer] : hparams->n_ff;
}

uint32_t gi_cache_layer(const struct gi_hparams *hparams, uint32_t layer)
{
    const uint32_t n_own = hparams->n_layer - hparams->n_shared_kv;
    if (layer < n_own) {
        return layer;
    }
    const bool has_window = gi_has_window(hparams, layer);
    uint32_t own = n_own;
    while (own > 0 && gi_has_window(hparams, own - 1) != has_window) {
        own--;
    }
    return own > 0 ? own - 1 : layer;
}

uint32_t gi_memory_layer(const struct gi_hparams *hparams, uint32_t layer)
{
    const enum gi_layer_kind kind = gi_layer_kind(hparams, layer);
    uint32_t own = layer;
    while (hparams->is_encoder && kind != GI_LAYER_KEYS && own > 0 &&
           gi_layer_kind(hparams, own - 1) == kind) {
        own--;
    }
    return own;
}

bool gi_keeps_rows(const struct gi_hparams *hparams, uint32_t layer)
{
    const enum gi_layer_kind kind = gi_layer_kind(hparams, layer);
    return kind != GI_LAYER_RECURRENT && kind != GI_LAYER_SHARED_KV && kind != GI_LAYER_CROSS &&
           kind != GI_LAYER_NETWORK;
}

bool gi_layer_is_other(const struct gi_hparams *hparams, uint32_t layer)
{
    const enum gi_layer_kind kind = gi_layer_kind(hparams, layer);
    return kind == GI_LAYER_RECURRENT || kind == GI_LAYER_CROSS || kind == GI_LAYER_KEYS;
}

bool gi_has_q(const struct gi_hparams *hparams, uint32_t layer)
{
    return gi_layer_kind(hparams, layer) != GI_LAYER_KEYS;
}

bool gi_has_kv(const struct gi_hparams *hparams, uint32_t layer)
{
    return gi_cache_layer(hparams, layer) == layer &&
           gi_layer_kind(hparams, layer) != GI_LAYER_CROSS;
}

bool gi_keeps_state(const struct gi_hparams *hparams, uint32_t layer)
{
    const enum gi_layer_kind kind = gi_layer_kind(hparams, layer);
    return kind == GI_LAYER_RECURRENT || kind == GI_LAYER_BOTH;
}

bool gi_has_recurrence(const struct gi_hparams *hparams)
{
    return hparams->recurrent.state_size > 0;
}

uint64_t gi_states_size(const struct gi_hparams *hparams)
{
    uint64_t size = 0;
    for (uint32_t i = 0; i < hparams->n_layer; i++) {
        size += gi_keeps_state(hparams, i) ? hparams->recurrent.state_size * sizeof(float) : 0;
    }
    return size;
}

void gi_set_recurrent(struct gi_hparams *hparams, uint32_t layer)
{
    hparams->layer_kinds[layer] = GI_LAYER_RECURRENT;
}

void gi_add_state(struct gi_hparams *hparams, uint32_t layer)
{
    hparams->layer_kinds[layer] = GI_LAYER_BOTH;
}

bool gi_has_window(const struct gi_hparams *hparams, uint32_t layer)
{
    const uint32_t place = hparams->begins_unwindowed ? layer : layer + 1;
    if (hparams->has_window_list) {
        return hparams->window > 0 && hparams->window_list[layer];
    }
    return hparams->window > 0 && hparams->window_period > 0 && place % hparams->window_period != 0;
}

struct gi_qkv_layout gi_layer_qkv_layout(const struct gi_hparams *hparams, uint32_t layer,
                                         bool has_gate)
{
    const struct gi_heads heads = gi_layer_heads(hparams, layer);
    struct gi_qkv_layout layout;
    gi_qkv_layout_init(&layout, gi_has_q(hparams, layer) ? hparams->n_head : 0,
                       gi_has_kv(hparams, layer) ? heads.n_kv_head : 0, heads.head_dim);
    if (has_gate) {
        gi_qkv_layout_add_gate(&layout, hparams->has_head_gates ? heads.head_dim : 1);
    }
    return layout;
}

bool gi_hparams_shared_kv(const struct gi_hparams_reader *reader, uint32_t fallback,
                          struct gi_hparams *hparams)
{
    const char *const name = "attention.shared_kv_layers";
    const uint32_t n_layer = hparams->n_layer;
    char key[128];
    float number;
    snprintf(key, sizeof(key), "%s.%s", reader->prefix, name);
    if (gi_gguf_has(reader->gguf, key) && gi_gguf_get_f32(reader->gguf, key, 0, &number, NULL)) {
        // Maps an invalid number to n_layer so that the check below rejects it.
        hparams->n_shared_kv = number >= 0 && number < (float)n_layer && floorf(number) == number
                                   ? (uint32_t)number
                                   : n_layer;
    } else if (!gi_hparams_u32(reader, name, fallback, &hparams->n_shared_kv)) {
        return false;
    }
    bool is_sound = hparams->n_shared_kv < n_layer;
    for (uint32_t i = n_layer - hparams->n_shared_kv; is_sound && i < n_layer; i++) {
        is_sound = gi_cache_layer(hparams, i) != i;
    }
    return is_sound || GI_HPARAMS_FAIL(reader, BAD_FILE,
                                       "the last %u of %u layers share keys and values, but no "
                                       "earlier layer of their kind has them",
                                       hparams->n_shared_kv, n_layer);
}

bool gi_hparams_loops(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    const uint32_t n_own = hparams->n_layer;
    uint32_t n = 1;
    bool has_no_norm = false;
    if (!gi_hparams_u32(reader, "num_loops", 1, &n) ||
        !gi_hparams_bool(reader, "skip_loop_final_norm", false, &has_no_norm)) {
        return false;
    }
    if (n == 0 || n > GI_MAX_LAYERS / n_own) {
        return GI_HPARAMS_FAIL(reader, BAD_FILE,
                               "%u layers that run %u times, expected 1 to %d layers in all", n_own,
                               n, GI_MAX_LAYERS);
    }
    hparams->n_own_layer = n > 1 ? n_own : 0;
    hparams->has_loop_norm = n > 1 && !has_no_norm;
    hparams->n_layer = n * n_own;
    for (uint32_t i = n_own; i < hparams->n_layer; i++) {
        hparams->layer_ff[i] = hparams->layer_ff[i - n_own];
    }
    return true;
}

uint32_t gi_file_layer(const struct gi_hparams *hparams, uint32_t layer)
{
    return hparams->n_own_layer > 0 ? layer % hparams->n_own_layer : layer;
}
