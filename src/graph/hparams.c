#include "graph/hparams.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KEY_SIZE = 128 };
enum { MAX_FF = 1 << 18, MAX_USED = 32, MAX_HEADS = 1024 }; // MAX_USED: experts of a token
static const char kv_heads_key[] = "attention.head_count_kv";
#define MAX_HEAD_DIM 512u // GI_MAX_HEAD_DIM of ops/attention/attention.h

static void make_key(const struct gi_hparams_reader *reader, const char *name, char key[KEY_SIZE])
{
    snprintf(key, KEY_SIZE, "%s.%s", reader->prefix, name);
}

// Reads a count that must be there and lie in [min, max].
static bool read_count(const struct gi_hparams_reader *reader, const char *name, uint32_t min,
                       uint32_t max, uint32_t *out)
{
    char key[KEY_SIZE];
    make_key(reader, name, key);
    if (!gi_gguf_has(reader->gguf, key)) {
        return GI_HPARAMS_FAIL(reader, BAD_FILE, "the key %s is missing", key);
    }
    if (!gi_gguf_get_u32(reader->gguf, key, 0, out, reader->err)) {
        return false;
    }
    if (*out < min || *out > max) {
        return GI_HPARAMS_FAIL(reader, BAD_FILE, "%s is %u, expected %u to %u", key, *out, min,
                               max);
    }
    return true;
}

bool gi_hparams_u32(const struct gi_hparams_reader *reader, const char *name, uint32_t fallback,
                    uint32_t *out)
{
    char key[KEY_SIZE];
    make_key(reader, name, key);
    return gi_gguf_get_u32(reader->gguf, key, fallback, out, reader->err);
}

bool gi_hparams_f32(const struct gi_hparams_reader *reader, const char *name, float fallback,
                    float *out)
{
    char key[KEY_SIZE];
    make_key(reader, name, key);
    if (!gi_gguf_get_f32(reader->gguf, key, fallback, out, reader->err)) {
        return false;
    }
    if (!(*out > 0.0f && isfinite(*out))) {
        return GI_HPARAMS_FAIL(reader, BAD_FILE, "%s is %g, expected a positive number", key,
                               (double)*out);
    }
    return true;
}

bool gi_hparams_bool(const struct gi_hparams_reader *reader, const char *name, bool fallback,
                     bool *out)
{
    char key[KEY_SIZE];
    make_key(reader, name, key);
    return gi_gguf_get_bool(reader->gguf, key, fallback, out, reader->err);
}

bool gi_hparams_string(const struct gi_hparams_reader *reader, const char *name,
                       struct gi_gguf_string *out)
{
    char key[KEY_SIZE];
    make_key(reader, name, key);
    return gi_gguf_get_string(reader->gguf, key, out, reader->err);
}

bool gi_hparams_is_word(struct gi_gguf_string text, const char *word)
{
    return text.size == strlen(word) && memcmp(text.data, word, text.size) == 0;
}

static bool read_rope_type(const struct gi_hparams_reader *reader, struct gi_rope_hparams *rope,
                           bool *is_scaled)
{
    struct gi_gguf_string type;
    if (!gi_hparams_string(reader, "rope.scaling.type", &type)) {
        return false;
    }
    *is_scaled = !gi_hparams_is_word(type, "none");
    rope->is_yarn = gi_hparams_is_word(type, "yarn");
    if (type.size == 0 || !*is_scaled || rope->is_yarn || gi_hparams_is_word(type, "linear") ||
        gi_hparams_is_word(type, "longrope")) {
        return true;
    }
    return GI_HPARAMS_FAIL(reader, UNSUPPORTED,
                           "RoPE scaling \"%.*s\" is not supported, only none, linear, yarn, "
                           "longrope and the factors of Llama 3.1",
                           (int)(type.size < 64 ? type.size : 64), type.data);
}

// Takes a factor without a type as linear scaling. Files of longrope may name no type: their
// tensors of factors tell.
static bool read_rope_scaling(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    struct gi_rope_hparams *rope = &hparams->rope;
    bool is_scaled;
    float linear;
    if (!read_rope_type(reader, rope, &is_scaled) ||
        !gi_hparams_f32(reader, "rope.scale_linear", 1.0f, &linear) ||
        !gi_hparams_f32(reader, "rope.scaling.factor", linear, &rope->divisor) ||
        !gi_hparams_f32(reader, "rope.scaling.attn_factor", 1.0f, &rope->magnitude) ||
        !gi_hparams_u32(reader, "rope.scaling.original_context_length", hparams->n_ctx_train,
                        &rope->n_ctx_orig) ||
        !gi_hparams_f32(reader, "rope.scaling.yarn_beta_fast", 32.0f, &rope->beta_fast) ||
        !gi_hparams_f32(reader, "rope.scaling.yarn_beta_slow", 1.0f, &rope->beta_slow)) {
        return false;
    }
    rope->divisor = is_scaled ? rope->divisor : 1.0f;
    if (rope->is_yarn) {
        rope->magnitude *= 1.0f + 0.1f * logf(rope->divisor);
    }
    return true;
}

static bool find_kv_heads(const struct gi_hparams_reader *reader, struct gi_gguf_array *list)
{
    char key[KEY_SIZE];
    make_key(reader, kv_heads_key, key);
    return gi_gguf_get_array(reader->gguf, key, GI_GGUF_KIND_I32, list, NULL) && list->count > 0;
}

// Fails where the list of heads of k and v is not what layers of a family may have.
static bool refuse_kv_heads(const struct gi_hparams_reader *reader)
{
    return GI_HPARAMS_FAIL(reader, UNSUPPORTED,
                           "%s.%s has not one number for all layers with attention", reader->prefix,
                           kv_heads_key);
}

// Reads the heads of k and v: a number, or one for each layer, of which those of layers without
// attention are 0. The others are alike but where a family tells those with a window apart.
static bool read_kv_heads(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    struct gi_gguf_array list;
    if (!find_kv_heads(reader, &list)) {
        return gi_hparams_u32(reader, kv_heads_key, hparams->n_head, &hparams->n_kv_head);
    }
    bool is_sound = list.count >= hparams->n_layer;
    for (uint32_t i = 0; is_sound && i < hparams->n_layer; i++) {
        const int32_t n = gi_gguf_array_i32(&list, i);
        if (n == 0) {
            gi_set_recurrent(hparams, i);
            continue;
        }
        hparams->n_kv_head = hparams->n_kv_head == 0 && n > 0 ? (uint32_t)n : hparams->n_kv_head;
        hparams->has_uneven_kv_heads |= (uint32_t)n != hparams->n_kv_head;
        is_sound = n > 0;
    }
    return is_sound || refuse_kv_heads(reader);
}

// Takes from a list the heads of k and v of layers with and without a window.
static bool sort_kv_heads(const struct gi_hparams_reader *reader, struct gi_hparams *hparams,
                          uint32_t *n_window)
{
    struct gi_gguf_array list;
    uint32_t n[2] = {0, 0};
    *n_window = hparams->n_kv_head;
    if (!hparams->has_uneven_kv_heads || !find_kv_heads(reader, &list)) {
        return true;
    }
    for (uint32_t i = 0; i < hparams->n_layer; i++) {
        uint32_t *own = &n[gi_has_window(hparams, i)];
        const uint32_t count = (uint32_t)gi_gguf_array_i32(&list, i);
        *own = *own == 0 ? count : *own;
        if (*own != count) {
            return refuse_kv_heads(reader);
        }
    }
    hparams->has_uneven_kv_heads = false;
    hparams->n_kv_head = n[0] > 0 ? n[0] : n[1];
    *n_window = n[1] > 0 ? n[1] : n[0];
    return true;
}

bool gi_hparams_check_kv_heads(const struct gi_hparams_reader *reader,
                               const struct gi_hparams *hparams)
{
    return !hparams->has_uneven_kv_heads || refuse_kv_heads(reader);
}

// Refuses heads that no kernel takes.
static bool check_heads(const struct gi_hparams_reader *reader, const struct gi_hparams *hparams,
                        const struct gi_heads *heads, uint32_t value_dim)
{
    if (heads->n_kv_head == 0 || hparams->n_head % heads->n_kv_head != 0) {
        return GI_HPARAMS_FAIL(reader, BAD_FILE, "%u heads cannot share %u key/value heads evenly",
                               hparams->n_head, heads->n_kv_head);
    }
    if (heads->head_dim == 0 || heads->head_dim % 8 != 0 || heads->head_dim > MAX_HEAD_DIM ||
        value_dim != heads->head_dim) {
        return GI_HPARAMS_FAIL(reader, UNSUPPORTED,
                               "heads of %u (values %u) are not supported, only equal multiples "
                               "of 8 up to %u",
                               heads->head_dim, value_dim, MAX_HEAD_DIM);
    }
    if (heads->n_rot % 2 != 0 || heads->n_rot > heads->head_dim) {
        return GI_HPARAMS_FAIL(reader, BAD_FILE, "%u rotary dimensions do not fit heads of %u",
                               heads->n_rot, heads->head_dim);
    }
    return true;
}

// Reads the heads of q: a number, or the same one for each layer.
static bool read_head_count(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    const char *const name = "attention.head_count";
    char key[KEY_SIZE];
    struct gi_gguf_array list;
    make_key(reader, name, key);
    if (!gi_gguf_get_array(reader->gguf, key, GI_GGUF_KIND_I32, &list, NULL) || list.count == 0) {
        return read_count(reader, name, 1, MAX_HEADS, &hparams->n_head);
    }
    const int32_t n = gi_gguf_array_i32(&list, 0);
    bool is_sound = list.count >= hparams->n_layer && n >= 1 && n <= MAX_HEADS;
    for (uint32_t i = 1; is_sound && i < hparams->n_layer; i++) {
        is_sound = gi_gguf_array_i32(&list, i) == n;
    }
    hparams->n_head = (uint32_t)n;
    return is_sound || GI_HPARAMS_FAIL(reader, UNSUPPORTED,
                                       "%s does not have one number from 1 to %d for all layers",
                                       key, MAX_HEADS);
}

// Returns true for a file without attention, whose heads of q are 0.
static bool lacks_heads(const struct gi_hparams_reader *reader)
{
    uint32_t n;
    return gi_hparams_u32(reader, "attention.head_count", 1, &n) && n == 0;
}

// Makes all layers recurrent. What attention needs has the least size.
static bool take_no_heads(struct gi_hparams *hparams)
{
    hparams->n_head = hparams->n_kv_head = 1;
    hparams->head_dim = 8;
    for (uint32_t i = 0; i < hparams->n_layer; i++) {
        gi_set_recurrent(hparams, i);
    }
    return true;
}

static bool read_heads(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    uint32_t value_dim = 0;
    if (lacks_heads(reader)) {
        return take_no_heads(hparams);
    }
    if (!read_head_count(reader, hparams) || !read_kv_heads(reader, hparams) ||
        !gi_hparams_u32(reader, "attention.key_length", hparams->n_embd / hparams->n_head,
                        &hparams->head_dim) ||
        !gi_hparams_u32(reader, "attention.value_length", hparams->head_dim, &value_dim) ||
        !gi_hparams_u32(reader, "rope.dimension_count", hparams->head_dim, &hparams->n_rot)) {
        return false;
    }
    const struct gi_heads heads = {hparams->n_kv_head, hparams->head_dim, hparams->n_rot};
    return check_heads(reader, hparams, &heads, value_dim);
}

bool gi_hparams_window_heads(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    struct gi_heads *heads = &hparams->window_heads;
    uint32_t value_dim = 0;
    if (!sort_kv_heads(reader, hparams, &heads->n_kv_head)) {
        return false;
    }
    const struct gi_heads full = {hparams->n_kv_head, hparams->head_dim, hparams->n_rot};
    hparams->has_window_heads = true;
    return gi_hparams_u32(reader, "attention.key_length_swa", hparams->head_dim,
                          &heads->head_dim) &&
           gi_hparams_u32(reader, "attention.value_length_swa", heads->head_dim, &value_dim) &&
           gi_hparams_u32(reader, "rope.dimension_count_swa", heads->head_dim, &heads->n_rot) &&
           check_heads(reader, hparams, heads, value_dim) &&
           check_heads(reader, hparams, &full, hparams->head_dim);
}

static bool read_vocab_size(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    const struct gi_gguf_tensor *embed = gi_gguf_tensor_find(reader->gguf, "token_embd.weight");
    if (!embed) {
        return gi_error_set(reader->err, GLINFER_STATUS_BAD_FILE,
                            "%s: the tensor token_embd.weight is missing; a file with a "
                            "vocabulary alone can only be tokenized with",
                            gi_gguf_path(reader->gguf));
    }
    if (embed->dims[1] == 0 || embed->dims[1] > (1u << 20)) {
        return GI_HPARAMS_FAIL(reader, BAD_FILE,
                               "token_embd.weight has %llu rows, expected 1 to %u",
                               (unsigned long long)embed->dims[1], 1u << 20);
    }
    struct gi_gguf_array tokens;
    if (!gi_gguf_get_array(reader->gguf, "tokenizer.ggml.tokens", GI_GGUF_KIND_STRING, &tokens,
                           reader->err)) {
        return false;
    }
    const uint64_t n_row = embed->dims[1];
    hparams->n_vocab_rows = (uint32_t)n_row;
    hparams->n_vocab = (uint32_t)(tokens.count > 0 && tokens.count < n_row ? tokens.count : n_row);
    return true;
}

// Reads a GGUF pooling type, of which 0 means no pooling.
static bool read_pooling(const struct gi_hparams_reader *reader, const char *name,
                         enum glinfer_pooling *out)
{
    const uint32_t unknown = UINT32_MAX, n = GLINFER_POOLING_RANK;
    uint32_t pooling;
    if (!gi_hparams_u32(reader, name, unknown, &pooling)) {
        return false;
    }
    if (pooling != unknown && pooling >= n) {
        return GI_HPARAMS_FAIL(reader, UNSUPPORTED, "%s.%s is %u, known are 0 to %u",
                               reader->prefix, name, pooling, n - 1);
    }
    *out = pooling == unknown ? GLINFER_POOLING_DEFAULT : (enum glinfer_pooling)(pooling + 1);
    return true;
}

static bool read_embedding(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    bool is_causal;
    if (!read_pooling(reader, "pooling_type", &hparams->pooling) ||
        !read_pooling(reader, "classifier.pooling_type", &hparams->rank_pooling) ||
        !gi_hparams_bool(reader, "attention.causal", true, &is_causal)) {
        return false;
    }
    hparams->is_encoder = !is_causal;
    return true;
}

// Reads the width of a layer's network, a number or one for each layer, of which those of layers
// without a network are 0. A file may leave it out if it gives that of experts.
static bool read_widths(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    const char *const name = "feed_forward_length";
    char key[KEY_SIZE], expert_key[KEY_SIZE];
    struct gi_gguf_array list;
    make_key(reader, name, key);
    make_key(reader, "expert_feed_forward_length", expert_key);
    if (!gi_gguf_get_array(reader->gguf, key, GI_GGUF_KIND_I32, &list, NULL) || list.count == 0) {
        return (!gi_gguf_has(reader->gguf, key) && gi_gguf_has(reader->gguf, expert_key)) ||
               read_count(reader, name, lacks_heads(reader) ? 0 : 1, MAX_FF, &hparams->n_ff);
    }
    for (uint32_t i = 0; i < hparams->n_layer; i++) {
        const int32_t n = i < list.count ? gi_gguf_array_i32(&list, i) : 0;
        if (n < 0 || n > MAX_FF) {
            return GI_HPARAMS_FAIL(reader, BAD_FILE, "%s of layer %u is %d, expected 0 to %d", key,
                                   i, n, MAX_FF);
        }
        hparams->layer_ff[i] = (uint32_t)n;
        hparams->n_ff = (uint32_t)n > hparams->n_ff ? (uint32_t)n : hparams->n_ff;
    }
    return hparams->n_ff > 0 || GI_HPARAMS_FAIL(reader, BAD_FILE, "%s is 0 for all layers", key);
}

// Norms and embeddings go by four elements.
static bool check_width(const struct gi_hparams_reader *reader, const struct gi_hparams *hparams)
{
    return hparams->n_embd % 4 == 0 ||
           GI_HPARAMS_FAIL(reader, UNSUPPORTED,
                           "%s.embedding_length is %u, but only multiples of 4 are supported",
                           reader->prefix, hparams->n_embd);
}

bool gi_hparams_read(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    if (!read_count(reader, "block_count", 1, GI_MAX_LAYERS, &hparams->n_layer) ||
        !read_count(reader, "embedding_length", 8, 1u << 16, &hparams->n_embd) ||
        !check_width(reader, hparams) || !read_widths(reader, hparams) ||
        !read_count(reader, "context_length", 1, 1u << 24, &hparams->n_ctx_train) ||
        !gi_hparams_f32(reader, "attention.layer_norm_rms_epsilon", 1e-5f, &hparams->norm_eps) ||
        !gi_hparams_f32(reader, "rope.freq_base", 10000.0f, &hparams->rope.base) ||
        !read_rope_scaling(reader, hparams) || !read_heads(reader, hparams) ||
        !read_vocab_size(reader, hparams) || !read_embedding(reader, hparams)) {
        return false;
    }
    hparams->attention_scale = 1.0f / sqrtf((float)hparams->head_dim);
    hparams->embed_scale = hparams->residual_scale = hparams->logit_scale = 1.0f;
    return true;
}

bool gi_hparams_check_inputs(const struct gi_hparams_reader *reader,
                             const struct gi_hparams *hparams)
{
    const uint32_t width = hparams->inputs.width, most = 4096;
    return (width % GI_INPUT_BLOCK == 0 && width <= most) ||
           GI_HPARAMS_FAIL(
               reader, UNSUPPORTED,
               "inputs of layers of %u are not supported, only multiples of %u up to %u", width,
               GI_INPUT_BLOCK, most);
}

static bool read_expert_count(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    return read_count(reader, "expert_count", 1, 1024, &hparams->n_expert) &&
           read_count(reader, "expert_used_count", 1,
                      hparams->n_expert < MAX_USED ? hparams->n_expert : MAX_USED,
                      &hparams->n_expert_used);
}

bool gi_hparams_read_experts(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    if (!read_expert_count(reader, hparams) ||
        !gi_hparams_u32(reader, "leading_dense_block_count", 0, &hparams->n_leading) ||
        !gi_hparams_u32(reader, "expert_feed_forward_length", hparams->n_ff,
                        &hparams->n_expert_ff)) {
        return false;
    }
    if (hparams->n_leading >= hparams->n_layer || hparams->n_expert_ff == 0 ||
        hparams->n_expert_ff > MAX_FF || (hparams->n_leading > 0 && hparams->n_ff == 0)) {
        return GI_HPARAMS_FAIL(
            reader, BAD_FILE,
            "invalid sizes of experts: expert_feed_forward_length %u, "
            "feed_forward_length %u, leading_dense_block_count %u, block_count %u",
            hparams->n_expert_ff, hparams->n_ff, hparams->n_leading, hparams->n_layer);
    }
    return true;
}

bool gi_hparams_read_shared(const struct gi_hparams_reader *reader, uint32_t fallback,
                            struct gi_hparams *hparams)
{
    const uint32_t n = hparams->n_expert_ff;
    uint32_t n_shared_ff;
    if (!gi_hparams_u32(reader, "expert_shared_feed_forward_length", fallback, &n_shared_ff)) {
        return false;
    }
    hparams->n_shared = n_shared_ff / n;
    return (n_shared_ff % n == 0 && hparams->n_shared <= MAX_USED - hparams->n_expert_used) ||
           GI_HPARAMS_FAIL(reader, UNSUPPORTED,
                           "an expert of %u that all tokens share is not supported beside %u of "
                           "%u, only up to %u times as wide as these",
                           n_shared_ff, hparams->n_expert_used, n,
                           MAX_USED - hparams->n_expert_used);
}

bool gi_hparams_read_router(const struct gi_hparams_reader *reader, struct gi_router_rule fallback,
                            struct gi_hparams *hparams)
{
    enum { SOFTMAX = 1, SIGMOID = 2, SOFTMAX_OF_CHOSEN = 3 }; // of llama.cpp
    struct gi_router_rule *rule = &hparams->router;
    uint32_t gating;
    *rule = fallback;
    if (!gi_hparams_u32(reader, "expert_gating_func", 0, &gating) ||
        !gi_hparams_bool(reader, "expert_weights_norm", fallback.is_normalised,
                         &rule->is_normalised) ||
        !gi_hparams_f32(reader, "expert_weights_scale", 1.0f, &rule->scale)) {
        return false;
    }
    if (gating > SOFTMAX_OF_CHOSEN) {
        return GI_HPARAMS_FAIL(reader, UNSUPPORTED,
                               "%s.expert_gating_func is %u, only 1 (softmax), 2 (sigmoid) and 3 "
                               "(softmax of those chosen) are supported",
                               reader->prefix, gating);
    }
    rule->gating = gating == SOFTMAX             ? GI_GATING_ALL
                   : gating == SIGMOID           ? GI_GATING_SIGMOID
                   : gating == SOFTMAX_OF_CHOSEN ? GI_GATING_CHOSEN
                                                 : fallback.gating;
    return true;
}

// Takes a boolean for each layer, if the file has the list.
static bool read_layer_bools(const struct gi_hparams_reader *reader, const char *name,
                             const struct gi_hparams *hparams, bool *has_list,
                             bool out[GI_MAX_LAYERS])
{
    char key[KEY_SIZE];
    struct gi_gguf_array list;
    make_key(reader, name, key);
    *has_list =
        gi_gguf_get_array(reader->gguf, key, GI_GGUF_KIND_BOOL, &list, NULL) && list.count > 0;
    if (*has_list && list.count < hparams->n_layer) {
        return GI_HPARAMS_FAIL(reader, BAD_FILE,
                               "%s has %llu elements, expected one for each of the %u layers", key,
                               (unsigned long long)list.count, hparams->n_layer);
    }
    for (uint32_t i = 0; *has_list && i < hparams->n_layer; i++) {
        out[i] = list.data[i] != 0;
    }
    return true;
}

bool gi_hparams_rope_pattern(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    bool has_list, has_rope[GI_MAX_LAYERS];
    if (!read_layer_bools(reader, "attention.rope_pattern", hparams, &has_list, has_rope)) {
        return false;
    }
    for (uint32_t i = 0; has_list && i < hparams->n_layer; i++) {
        hparams->is_unrotated[i] = !has_rope[i];
    }
    return true;
}

bool gi_hparams_window_period(const struct gi_hparams_reader *reader, uint32_t fallback,
                              struct gi_hparams *hparams)
{
    const char *const name = "attention.sliding_window_pattern";
    if (!read_layer_bools(reader, name, hparams, &hparams->has_window_list, hparams->window_list)) {
        return false;
    }
    if (hparams->has_window_list) {
        return true;
    }
    return gi_hparams_u32(reader, name, fallback, &hparams->window_period);
}

// Returns the rotary pair that makes `turns` turns over the original context.
static double pair_of_turns(const struct gi_rope_hparams *rope, uint32_t n_rot, double turns)
{
    const double pi = 3.14159265358979323846;
    return n_rot * log(rope->n_ctx_orig / (turns * 2.0 * pi)) / (2.0 * log((double)rope->base));
}

// Returns the share of a pair's angle that is left as it was trained: 1 for fast pairs, 0 for slow
// ones.
static double yarn_share(const struct gi_rope_hparams *rope, uint32_t n_rot, uint32_t pair)
{
    const double first = fmax(0.0, floor(pair_of_turns(rope, n_rot, (double)rope->beta_fast)));
    const double last =
        fmin(n_rot - 1.0, ceil(pair_of_turns(rope, n_rot, (double)rope->beta_slow)));
    const double place = (pair - first) / fmax(0.001, last - first);
    return 1.0 - fmin(1.0, fmax(0.0, place));
}

void gi_rope_table_fill(const struct gi_rope_hparams *rope, uint32_t n_rot, const float *factors,
                        uint32_t n_ctx, float *table)
{
    const uint32_t n_pair = n_rot / 2;
    for (uint32_t i = 0; i < n_pair; i++) {
        const double trained = pow((double)rope->base, -2.0 * (double)i / (double)n_rot) /
                               (factors ? (double)factors[i] : 1.0);
        const double share = rope->is_yarn ? yarn_share(rope, n_rot, i) : 0.0;
        const double rate = trained * (share + (1.0 - share) / (double)rope->divisor);
        for (uint32_t pos = 0; pos < n_ctx; pos++) {
            float *turn = table + (size_t)pos * n_rot + 2 * (size_t)i;
            turn[0] = (float)((double)rope->magnitude * cos((double)pos * rate));
            turn[1] = (float)((double)rope->magnitude * sin((double)pos * rate));
        }
    }
}
