#include "tests/unit/speech/float/float_weights.h"

#include "quant/quant.h"

#include <stdio.h>
#include <stdlib.h>

void *float_allocate(size_t count, size_t size)
{
    void *data = calloc(count ? count : 1, size);
    if (!data) {
        abort();
    }
    return data;
}

//-- reading -----------------------------------------------------------------------------------

static float *read_weights(const struct gi_gguf *file, const char *name, size_t count,
                           bool may_miss)
{
    struct glinfer_error err;
    const struct gi_gguf_tensor *tensor = gi_gguf_tensor_find(file, name);
    if (!tensor && may_miss) {
        return NULL;
    }
    if (!tensor || tensor->n_elements != count) {
        fprintf(stderr, "%s: not a tensor of %zu elements\n", name, count);
        exit(1);
    }
    uint8_t *bytes = float_allocate((size_t)tensor->size, 1);
    float *values = float_allocate(count, sizeof(float));
    if (!gi_gguf_tensor_read(file, tensor, 0, (size_t)tensor->size, bytes, &err)) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    gi_quant_dequantize_row(gi_quant_find(tensor->type->type), bytes, count, values);
    free(bytes);
    return values;
}

static struct norm read_norm(const struct gi_gguf *file, const char *name, uint32_t n)
{
    char full[192];
    struct norm norm;
    snprintf(full, sizeof(full), "%s.weight", name);
    norm.weight = read_weights(file, full, n, false);
    snprintf(full, sizeof(full), "%s.bias", name);
    norm.bias = read_weights(file, full, n, false);
    return norm;
}

static struct linear read_linear(const struct gi_gguf *file, const char *name, uint32_t n_in,
                                 uint32_t n_out)
{
    char full[192];
    struct linear linear = {.n_in = n_in, .n_out = n_out};
    snprintf(full, sizeof(full), "%s.weight", name);
    linear.weight = read_weights(file, full, (size_t)n_in * n_out, false);
    snprintf(full, sizeof(full), "%s.bias", name);
    linear.bias = read_weights(file, full, n_out, true);
    return linear;
}

// `keys`: the prefix of keys and values, which for cross-attention are those of the encoder.
static struct attention read_attention(const struct gi_gguf *file, const char *block,
                                       const char *keys, uint32_t n)
{
    char full[128];
    struct attention attention;
    snprintf(full, sizeof(full), "%s.attn_norm", block);
    attention.norm = read_norm(file, full, n);
    const struct {
        const char *prefix, *name;
        struct linear *linear;
    } all[] = {{block, "attn_q", &attention.query},
               {keys, "attn_k", &attention.key},
               {keys, "attn_v", &attention.value},
               {block, "attn_output", &attention.out}};
    for (size_t i = 0; i < 4; i++) {
        snprintf(full, sizeof(full), "%s.%s", all[i].prefix, all[i].name);
        *all[i].linear = read_linear(file, full, n, n);
    }
    return attention;
}

static void read_sizes(const struct gi_gguf *file, struct tower *tower, const char *name)
{
    char full[128];
    struct glinfer_error err;
    const struct {
        const char *key;
        uint32_t *value;
    } keys[] = {{"context_length", &tower->n_ctx},
                {"embedding_length", &tower->n_embd},
                {"attention.head_count", &tower->n_head},
                {"block_count", &tower->n_layer}};
    for (size_t i = 0; i < 4; i++) {
        snprintf(full, sizeof(full), "whisper.%s.%s", name, keys[i].key);
        gi_gguf_get_u32(file, full, 0, keys[i].value, &err);
    }
}

// Reads block i, whose names begin with `block`, of an encoder, or of a decoder that follows an
// encoder of n_encoder blocks: self-attention is layer 2 i there, the rest layer 2 i + 1.
static void read_block(const struct gi_gguf *file, struct block *out, uint32_t i, bool is_decoder,
                       uint32_t n_encoder, uint32_t n)
{
    char self[64], rest[64], keys[64], full[128];
    snprintf(self, sizeof(self), is_decoder ? "blk.%u" : "enc.blk.%u", is_decoder ? 2 * i : i);
    snprintf(rest, sizeof(rest), is_decoder ? "blk.%u" : "enc.blk.%u", is_decoder ? 2 * i + 1 : i);
    out->self = read_attention(file, self, self, n);
    if (is_decoder) {
        snprintf(keys, sizeof(keys), "enc.blk.%u", n_encoder + i);
        out->cross = read_attention(file, rest, keys, n);
    }
    snprintf(full, sizeof(full), "%s.ffn_norm", rest);
    out->norm = read_norm(file, full, n);
    snprintf(full, sizeof(full), "%s.ffn_up", rest);
    out->up = read_linear(file, full, n, 4 * n);
    snprintf(full, sizeof(full), "%s.ffn_down", rest);
    out->down = read_linear(file, full, 4 * n, n);
}

static void read_tower(const struct gi_gguf *file, struct tower *tower, bool is_decoder,
                       uint32_t n_encoder)
{
    read_sizes(file, tower, is_decoder ? "decoder" : "encoder");
    const uint32_t n = tower->n_embd;
    tower->positions =
        read_weights(file, is_decoder ? "position_embd.weight" : "enc.position_embd.weight",
                     (size_t)tower->n_ctx * n, false);
    tower->norm = read_norm(file, is_decoder ? "output_norm" : "enc.output_norm", n);
    tower->blocks = float_allocate(tower->n_layer, sizeof(*tower->blocks));
    for (uint32_t i = 0; i < tower->n_layer; i++) {
        read_block(file, &tower->blocks[i], i, is_decoder, n_encoder, n);
    }
}

// Weights of a convolution of three taps, from (n_out, n_in, 3) to (n_out, 3, n_in).
static struct linear read_conv(const struct gi_gguf *file, const char *name, uint32_t n_in,
                               uint32_t n_out)
{
    struct linear conv = read_linear(file, name, 3 * n_in, n_out);
    float *weight = float_allocate((size_t)n_out * 3 * n_in, sizeof(float));
    for (size_t row = 0; row < n_out; row++) {
        for (size_t i = 0; i < (size_t)3 * n_in; i++) {
            weight[row * 3 * n_in + i % 3 * n_in + i / 3] = conv.weight[row * 3 * n_in + i];
        }
    }
    free(conv.weight);
    conv.weight = weight;
    return conv;
}

void float_weights_read(struct float_weights *w, const struct gi_gguf *file)
{
    struct glinfer_error err;
    gi_gguf_get_u32(file, "whisper.vocab_size", 0, &w->n_vocab, &err);
    gi_gguf_get_u32(file, "whisper.mel_count", 0, &w->n_mel, &err);
    read_tower(file, &w->encoder, false, 0);
    read_tower(file, &w->decoder, true, w->encoder.n_layer);
    const uint32_t n = w->encoder.n_embd;
    w->convs[0] = read_conv(file, "enc.conv1", w->n_mel, n);
    w->convs[1] = read_conv(file, "enc.conv2", n, n);
    w->tokens = read_linear(file, "token_embd", w->decoder.n_embd, w->n_vocab);
}

//-- freeing -----------------------------------------------------------------------------------

static void free_linear(struct linear *linear)
{
    free(linear->weight);
    free(linear->bias);
}

static void free_norm(struct norm *norm)
{
    free(norm->weight);
    free(norm->bias);
}

static void free_attention(struct attention *attention)
{
    free_norm(&attention->norm);
    free_linear(&attention->query);
    free_linear(&attention->key);
    free_linear(&attention->value);
    free_linear(&attention->out);
}

static void free_tower(struct tower *tower, bool has_cross)
{
    for (uint32_t i = 0; i < tower->n_layer; i++) {
        struct block *block = &tower->blocks[i];
        free_attention(&block->self);
        if (has_cross) {
            free_attention(&block->cross);
        }
        free_norm(&block->norm);
        free_linear(&block->up);
        free_linear(&block->down);
    }
    free(tower->blocks);
    free(tower->positions);
    free_norm(&tower->norm);
}

void float_weights_free(struct float_weights *w)
{
    free_linear(&w->convs[0]);
    free_linear(&w->convs[1]);
    free_linear(&w->tokens);
    free_tower(&w->encoder, false);
    free_tower(&w->decoder, true);
}
