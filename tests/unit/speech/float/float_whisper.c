#include "tests/unit/speech/float/float_whisper.h"

#include "tests/unit/speech/float/float_weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Rows of floats.
struct rows {
    float *data;
    uint32_t n, width;
};

struct float_whisper {
    struct float_weights weights;
    uint32_t n_seq;
    struct rows encoded;
    struct rows *cross_keys, *cross_values; // (n_layer)
    float **keys, **values;                 // (n_seq, n_layer) of (n_ctx, n_embd)
    float *attention;   // (n_layer, n_head, n_ctx, n_audio): weights of cross-attention
    uint32_t n_decoded; // rows of them
};

static struct rows make_rows(uint32_t n, uint32_t width)
{
    return (struct rows){float_allocate((size_t)n * width, sizeof(float)), n, width};
}

struct float_whisper *float_whisper_create(const struct gi_gguf *file, uint32_t n_seq)
{
    struct float_whisper *w = float_allocate(1, sizeof(*w));
    float_weights_read(&w->weights, file);
    w->n_seq = n_seq;
    const struct tower *decoder = &w->weights.decoder;
    const size_t n_cache = (size_t)n_seq * decoder->n_layer;
    w->cross_keys = float_allocate(decoder->n_layer, sizeof(*w->cross_keys));
    w->cross_values = float_allocate(decoder->n_layer, sizeof(*w->cross_values));
    w->keys = float_allocate(n_cache, sizeof(*w->keys));
    w->values = float_allocate(n_cache, sizeof(*w->values));
    for (size_t i = 0; i < n_cache; i++) {
        w->keys[i] = float_allocate((size_t)decoder->n_ctx * decoder->n_embd, sizeof(float));
        w->values[i] = float_allocate((size_t)decoder->n_ctx * decoder->n_embd, sizeof(float));
    }
    w->attention = float_allocate((size_t)decoder->n_layer * decoder->n_head * decoder->n_ctx *
                                      w->weights.encoder.n_ctx,
                                  sizeof(float));
    return w;
}

void float_whisper_destroy(struct float_whisper *w)
{
    const uint32_t n_layer = w->weights.decoder.n_layer;
    for (uint32_t i = 0; i < n_layer; i++) {
        free(w->cross_keys[i].data);
        free(w->cross_values[i].data);
    }
    for (size_t i = 0; i < (size_t)w->n_seq * n_layer; i++) {
        free(w->keys[i]);
        free(w->values[i]);
    }
    free(w->cross_keys);
    free(w->cross_values);
    free(w->keys);
    free(w->values);
    free(w->attention);
    free(w->encoded.data);
    float_weights_free(&w->weights);
    free(w);
}

//-- operations --------------------------------------------------------------------------------

static double dot(const float *restrict a, const float *restrict b, uint32_t n)
{
    double sums[8] = {0};
    uint32_t i = 0;
    for (; i + 8 <= n; i += 8) {
        for (uint32_t j = 0; j < 8; j++) {
            sums[j] += (double)a[i + j] * (double)b[i + j];
        }
    }
    for (; i < n; i++) {
        sums[0] += (double)a[i] * (double)b[i];
    }
    return ((sums[0] + sums[4]) + (sums[1] + sums[5])) +
           ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

// out: rows of n_out. `stride` floats from one row of x to the next.
static void apply_strided(const struct linear *linear, const float *x, uint32_t n, size_t stride,
                          float *out)
{
    enum { TILE = 32 }; // rows for which a weight is read once
    for (uint32_t first = 0; first < n; first += TILE) {
        const uint32_t last = first + TILE < n ? first + TILE : n;
        for (uint32_t i = 0; i < linear->n_out; i++) {
            for (uint32_t row = first; row < last; row++) {
                const double bias = linear->bias ? (double)linear->bias[i] : 0;
                out[(size_t)row * linear->n_out + i] =
                    (float)(bias + dot(&linear->weight[(size_t)i * linear->n_in], &x[row * stride],
                                       linear->n_in));
            }
        }
    }
}

static struct rows apply(const struct linear *linear, const struct rows *x)
{
    struct rows out = make_rows(x->n, linear->n_out);
    apply_strided(linear, x->data, x->n, x->width, out.data);
    return out;
}

static struct rows normalize(const struct norm *norm, const struct rows *x)
{
    struct rows out = make_rows(x->n, x->width);
    for (uint32_t row = 0; row < x->n; row++) {
        const float *in = &x->data[(size_t)row * x->width];
        double mean = 0, square = 0;
        for (uint32_t i = 0; i < x->width; i++) {
            mean += (double)in[i] / x->width;
        }
        for (uint32_t i = 0; i < x->width; i++) {
            square += ((double)in[i] - mean) * ((double)in[i] - mean) / x->width;
        }
        for (uint32_t i = 0; i < x->width; i++) {
            out.data[(size_t)row * x->width + i] =
                (float)(((double)in[i] - mean) / sqrt(square + 1e-5)) * norm->weight[i] +
                norm->bias[i];
        }
    }
    return out;
}

static void gelu(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)(0.5 * (double)x[i] * (1 + erf((double)x[i] * sqrt(0.5))));
    }
}

// Adds `added`, which it frees, to x.
static void add(struct rows *x, struct rows added)
{
    for (size_t i = 0; i < (size_t)x->n * x->width; i++) {
        x->data[i] += added.data[i];
    }
    free(added.data);
}

// Attention of rows q to n_key rows of keys and values. Row i sees the first n_seen + i of them
// if it is causal, else all. weights: (n_head, q->n, n_key) or NULL.
static struct rows attend(const struct rows *q, const float *keys, const float *values,
                          uint32_t n_key, uint32_t n_head, uint32_t n_seen, bool is_causal,
                          float *weights)
{
    const uint32_t width = q->width, n = width / n_head;
    struct rows out = make_rows(q->n, width);
    double *p = float_allocate(n_key, sizeof(double)), *sums = float_allocate(n, sizeof(double));
    for (uint32_t head = 0; head < n_head; head++) {
        for (uint32_t row = 0; row < q->n; row++) {
            const uint32_t n_used = is_causal ? n_seen + row + 1 : n_key;
            double most = -INFINITY, total = 0;
            for (uint32_t i = 0; i < n_used; i++) {
                p[i] = dot(&q->data[(size_t)row * width + head * n],
                           &keys[(size_t)i * width + head * n], n) /
                       sqrt(n);
                most = p[i] > most ? p[i] : most;
            }
            for (uint32_t i = 0; i < n_used; i++) {
                p[i] = exp(p[i] - most);
                total += p[i];
            }
            memset(sums, 0, n * sizeof(double));
            for (uint32_t i = 0; i < n_used; i++) {
                for (uint32_t j = 0; j < n; j++) {
                    sums[j] += p[i] * (double)values[(size_t)i * width + head * n + j];
                }
                if (weights) {
                    weights[((size_t)head * q->n + row) * n_key + i] = (float)(p[i] / total);
                }
            }
            for (uint32_t j = 0; j < n; j++) {
                out.data[(size_t)row * width + head * n + j] = (float)(sums[j] / total);
            }
        }
    }
    free(p);
    free(sums);
    return out;
}

static void run_mlp(const struct block *block, struct rows *x)
{
    struct rows y = normalize(&block->norm, x), up = apply(&block->up, &y);
    gelu(up.data, (size_t)up.n * up.width);
    add(x, apply(&block->down, &up));
    free(y.data);
    free(up.data);
}

//-- encoder -----------------------------------------------------------------------------------

// in: (n, n_in). Returns (n / stride, n_out).
static struct rows convolve(const struct linear *conv, const float *in, uint32_t n, uint32_t stride)
{
    const uint32_t n_in = conv->n_in / 3;
    struct rows padded = make_rows(n + 2, n_in), out = make_rows(n / stride, conv->n_out);
    memcpy(&padded.data[n_in], in, (size_t)n * n_in * sizeof(float));
    apply_strided(conv, padded.data, out.n, (size_t)stride * n_in, out.data);
    gelu(out.data, (size_t)out.n * out.width);
    free(padded.data);
    return out;
}

static enum gi_net_result encode(void *user, const float *mel, uint32_t n_frame,
                                 struct glinfer_error *err)
{
    (void)err;
    struct float_whisper *w = user;
    const struct tower *tower = &w->weights.encoder;
    struct rows first = convolve(&w->weights.convs[0], mel, n_frame, 1);
    struct rows x = convolve(&w->weights.convs[1], first.data, n_frame, 2);
    free(first.data);
    for (size_t i = 0; i < (size_t)x.n * x.width; i++) {
        x.data[i] += tower->positions[i];
    }
    for (uint32_t layer = 0; layer < tower->n_layer; layer++) {
        const struct attention *self = &tower->blocks[layer].self;
        struct rows y = normalize(&self->norm, &x), q = apply(&self->query, &y),
                    k = apply(&self->key, &y), v = apply(&self->value, &y),
                    o = attend(&q, k.data, v.data, x.n, tower->n_head, 0, false, NULL);
        add(&x, apply(&self->out, &o));
        free(y.data);
        free(q.data);
        free(k.data);
        free(v.data);
        free(o.data);
        run_mlp(&tower->blocks[layer], &x);
    }
    free(w->encoded.data);
    w->encoded = normalize(&tower->norm, &x);
    free(x.data);
    for (uint32_t layer = 0; layer < w->weights.decoder.n_layer; layer++) {
        const struct attention *cross = &w->weights.decoder.blocks[layer].cross;
        free(w->cross_keys[layer].data);
        free(w->cross_values[layer].data);
        w->cross_keys[layer] = apply(&cross->key, &w->encoded);
        w->cross_values[layer] = apply(&cross->value, &w->encoded);
    }
    return GI_NET_DONE;
}

const float *float_whisper_encoded(const struct float_whisper *w)
{
    return w->encoded.data;
}

//-- decoder -----------------------------------------------------------------------------------

static void attend_self(struct float_whisper *w, uint32_t layer, uint32_t seq, uint32_t n_past,
                        struct rows *x)
{
    const struct attention *self = &w->weights.decoder.blocks[layer].self;
    const size_t cache = (size_t)seq * w->weights.decoder.n_layer + layer;
    const size_t place = (size_t)n_past * x->width;
    struct rows y = normalize(&self->norm, x), q = apply(&self->query, &y);
    apply_strided(&self->key, y.data, y.n, y.width, &w->keys[cache][place]);
    apply_strided(&self->value, y.data, y.n, y.width, &w->values[cache][place]);
    struct rows o = attend(&q, w->keys[cache], w->values[cache], n_past + x->n,
                           w->weights.decoder.n_head, n_past, true, NULL);
    add(x, apply(&self->out, &o));
    free(y.data);
    free(q.data);
    free(o.data);
}

static void attend_cross(struct float_whisper *w, uint32_t layer, struct rows *x)
{
    const struct attention *cross = &w->weights.decoder.blocks[layer].cross;
    const size_t n =
        (size_t)w->weights.decoder.n_head * w->weights.decoder.n_ctx * w->weights.encoder.n_ctx;
    struct rows y = normalize(&cross->norm, x), q = apply(&cross->query, &y);
    struct rows o = attend(&q, w->cross_keys[layer].data, w->cross_values[layer].data, w->encoded.n,
                           w->weights.decoder.n_head, 0, false, &w->attention[layer * n]);
    add(x, apply(&cross->out, &o));
    free(y.data);
    free(q.data);
    free(o.data);
}

static enum gi_net_result decode(void *user, uint32_t seq, uint32_t n_past, const uint32_t *tokens,
                                 uint32_t n, float *logits, struct glinfer_error *err)
{
    (void)err;
    struct float_whisper *w = user;
    const struct tower *tower = &w->weights.decoder;
    const uint32_t width = tower->n_embd;
    struct rows x = make_rows(n, width);
    for (uint32_t row = 0; row < n; row++) {
        for (uint32_t i = 0; i < width; i++) {
            x.data[(size_t)row * width + i] =
                w->weights.tokens.weight[(size_t)tokens[row] * width + i] +
                tower->positions[(size_t)(n_past + row) * width + i];
        }
    }
    for (uint32_t layer = 0; layer < tower->n_layer; layer++) {
        attend_self(w, layer, seq, n_past, &x);
        attend_cross(w, layer, &x);
        run_mlp(&tower->blocks[layer], &x);
    }
    w->n_decoded = n;
    struct rows y = normalize(&tower->norm, &x);
    apply_strided(&w->weights.tokens, &y.data[(size_t)(n - 1) * width], 1, width, logits);
    free(x.data);
    free(y.data);
    return GI_NET_DONE;
}

static bool copy(void *user, uint32_t to, uint32_t from, uint32_t n_past, struct glinfer_error *err)
{
    (void)err;
    struct float_whisper *w = user;
    const size_t size = (size_t)n_past * w->weights.decoder.n_embd * sizeof(float);
    for (size_t layer = 0; layer < w->weights.decoder.n_layer; layer++) {
        const size_t a = (size_t)to * w->weights.decoder.n_layer + layer;
        const size_t b = (size_t)from * w->weights.decoder.n_layer + layer;
        memcpy(w->keys[a], w->keys[b], size);
        memcpy(w->values[a], w->values[b], size);
    }
    return true;
}

static enum gi_net_result attend_all(void *user, const uint32_t *tokens, uint32_t n,
                                     struct glinfer_error *err)
{
    const struct float_whisper *w = user;
    float *logits = float_allocate(w->weights.n_vocab, sizeof(float));
    const enum gi_net_result result = decode(user, 0, 0, tokens, n, logits, err);
    free(logits);
    return result;
}

static bool align(void *user, uint32_t layer, uint32_t head, float *weights,
                  struct glinfer_error *err)
{
    (void)err;
    struct float_whisper *w = user;
    const size_t n =
        (size_t)w->weights.decoder.n_head * w->weights.decoder.n_ctx * w->weights.encoder.n_ctx;
    const size_t n_row = (size_t)w->n_decoded * w->encoded.n;
    memcpy(weights, &w->attention[layer * n + head * n_row], n_row * sizeof(float));
    return true;
}

struct gi_speech_net float_whisper_net(struct float_whisper *w)
{
    return (struct gi_speech_net){
        .user = w,
        .n_vocab = w->weights.n_vocab,
        .n_mel = w->weights.n_mel,
        .n_audio_ctx = w->weights.encoder.n_ctx,
        .n_text_ctx = w->weights.decoder.n_ctx,
        .n_layer = w->weights.decoder.n_layer,
        .n_head = w->weights.decoder.n_head,
        .n_seq = w->n_seq,
        .encode = encode,
        .decode = decode,
        .copy = copy,
        .attend = attend_all,
        .align = align,
    };
}
