#include "speech/vad.h"

#include "base/array.h"
#include "gguf/gguf.h"
#include "quant/quant.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SAMPLE 32768.0F // louder samples are not sound, even in units of 16 bits

enum {
    PAD = 64,     // mirrored samples on both sides of a window
    SPAN = 256,   // samples of a frame of the transform
    STRIDE = 128, // from one frame to the next
    N_FRAME = (GI_VAD_WINDOW + 2 * PAD - SPAN) / STRIDE + 1,
    N_BIN = SPAN / 2 + 1,
    N_CONV = 4,
    N_TAP = 3, // of every convolution
    MAX_CHANNEL = N_BIN,
    H = GI_VAD_N_HIDDEN,
    N_GATE = 4 * H, // rows of the LSTM: input, forget, cell, output
};

// Convolution over frames with N_TAP taps and zeros around, then max(0, x).
struct conv {
    uint32_t n_in, n_out, stride;
};

static const struct conv convs[N_CONV] = {{N_BIN, 128, 1}, {128, 64, 2}, {64, 64, 2}, {64, H, 1}};

struct gi_vad {
    float *basis;                        // (2 * N_BIN, SPAN) cosines, then sines
    float *conv_weights[N_CONV];         // (n_out, n_in, N_TAP)
    float *conv_biases[N_CONV];          // (n_out)
    float *weights_in, *bias_in;         // (N_GATE, H), (N_GATE)
    float *weights_hidden, *bias_hidden; // (N_GATE, H), (N_GATE)
    float *head, *head_bias;             // (H), (1)
};

//-- weights -----------------------------------------------------------------------------------

static bool read_tensor(const struct gi_gguf *file, const char *name, size_t count, float **out,
                        struct glinfer_error *err)
{
    const struct gi_gguf_tensor *tensor = gi_gguf_tensor_find(file, name);
    if (!tensor) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                            "%s: not the network of silero-vad: tensor %s is missing",
                            gi_gguf_path(file), name);
    }
    const uint32_t type = tensor->type->type;
    if (tensor->n_elements != count || (type != GI_GGML_TYPE_F32 && type != GI_GGML_TYPE_F16)) {
        return gi_error_set(
            err, GLINFER_STATUS_BAD_FILE,
            "%s: tensor %s has %" PRIu64 " elements of type %s, expected %zu of type f32 or f16",
            gi_gguf_path(file), name, tensor->n_elements, tensor->type->name, count);
    }
    float *values = gi_array_zeroed(count, sizeof(float), "weights of the VAD", err);
    *out = values;
    if (!values || !gi_gguf_tensor_read(file, tensor, 0, (size_t)tensor->size, values, err)) {
        return false;
    }
    if (type == GI_GGML_TYPE_F16) { // in place, from the end on
        for (size_t i = count; i-- > 0;) {
            uint16_t half;
            memcpy(&half, (const uint8_t *)values + i * sizeof(half), sizeof(half));
            values[i] = gi_half_to_float(half);
        }
    }
    return true;
}

static bool read_weights(struct gi_vad *vad, const struct gi_gguf *file, struct glinfer_error *err)
{
    for (int i = 0; i < N_CONV; i++) {
        char weight[64], bias[64];
        snprintf(weight, sizeof(weight), "_model.encoder.%d.reparam_conv.weight", i);
        snprintf(bias, sizeof(bias), "_model.encoder.%d.reparam_conv.bias", i);
        const size_t n = (size_t)convs[i].n_out * convs[i].n_in * N_TAP;
        if (!read_tensor(file, weight, n, &vad->conv_weights[i], err) ||
            !read_tensor(file, bias, convs[i].n_out, &vad->conv_biases[i], err)) {
            return false;
        }
    }
    const struct {
        const char *name;
        size_t count;
        float **out;
    } tensors[] = {
        {"_model.stft.forward_basis_buffer", (size_t)2 * N_BIN * SPAN, &vad->basis},
        {"_model.decoder.rnn.weight_ih", (size_t)N_GATE * H, &vad->weights_in},
        {"_model.decoder.rnn.weight_hh", (size_t)N_GATE * H, &vad->weights_hidden},
        {"_model.decoder.rnn.bias_ih", N_GATE, &vad->bias_in},
        {"_model.decoder.rnn.bias_hh", N_GATE, &vad->bias_hidden},
        {"_model.decoder.decoder.2.weight", H, &vad->head},
        {"_model.decoder.decoder.2.bias", 1, &vad->head_bias},
    };
    for (size_t i = 0; i < sizeof(tensors) / sizeof(tensors[0]); i++) {
        if (!read_tensor(file, tensors[i].name, tensors[i].count, tensors[i].out, err)) {
            return false;
        }
    }
    return true;
}

struct gi_vad *gi_vad_create(const struct gi_gguf *file, struct glinfer_error *err)
{
    struct gi_vad *vad = gi_array_zeroed(1, sizeof(*vad), "the VAD", err);
    if (vad && !read_weights(vad, file, err)) {
        gi_vad_destroy(vad);
        return NULL;
    }
    return vad;
}

void gi_vad_destroy(struct gi_vad *vad)
{
    if (!vad) {
        return;
    }
    for (int i = 0; i < N_CONV; i++) {
        free(vad->conv_weights[i]);
        free(vad->conv_biases[i]);
    }
    free(vad->basis);
    free(vad->weights_in);
    free(vad->bias_in);
    free(vad->weights_hidden);
    free(vad->bias_hidden);
    free(vad->head);
    free(vad->head_bias);
    free(vad);
}

//-- a window ----------------------------------------------------------------------------------

static float dot(const float *restrict a, const float *restrict b, uint32_t n)
{
    float sums[8] = {0}; // one vector register or two
    for (uint32_t i = 0; i < n; i += 8) {
        for (uint32_t j = 0; j < 8; j++) {
            sums[j] += a[i + j] * b[i + j];
        }
    }
    return ((sums[0] + sums[4]) + (sums[1] + sums[5])) +
           ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

// Writes the magnitudes of the window's frames, (N_BIN, N_FRAME).
static void find_magnitudes(const struct gi_vad *vad, const float *samples, float *out)
{
    float padded[PAD + GI_VAD_WINDOW + PAD];
    for (int i = 0; i < GI_VAD_WINDOW; i++) {
        padded[PAD + i] = fabsf(samples[i]) <= MAX_SAMPLE ? samples[i] : 0; // 0 for NaN, too
    }
    for (int i = 1; i <= PAD; i++) {
        padded[PAD - i] = padded[PAD + i];
        padded[PAD + GI_VAD_WINDOW - 1 + i] = padded[PAD + GI_VAD_WINDOW - 1 - i];
    }
    for (size_t bin = 0; bin < N_BIN; bin++) {
        for (size_t frame = 0; frame < N_FRAME; frame++) {
            const float *x = &padded[frame * STRIDE];
            const float re = dot(&vad->basis[bin * SPAN], x, SPAN);
            const float im = dot(&vad->basis[(N_BIN + bin) * SPAN], x, SPAN);
            out[bin * N_FRAME + frame] = sqrtf(re * re + im * im);
        }
    }
}

// in: (n_in, n_frame), out: (n_out, ceil(n_frame / stride)). Returns that number of frames.
static size_t convolve(const struct conv *conv, const float *weights, const float *biases,
                       const float *in, size_t n_frame, float *out)
{
    const size_t n = (n_frame + conv->stride - 1) / conv->stride;
    for (size_t channel = 0; channel < conv->n_out; channel++) {
        for (size_t frame = 0; frame < n; frame++) {
            float sum = biases[channel];
            for (size_t i = 0; i < conv->n_in; i++) {
                const float *taps = &weights[(channel * conv->n_in + i) * N_TAP];
                for (size_t tap = 0; tap < N_TAP; tap++) {
                    const size_t place = frame * conv->stride + tap - 1; // wraps before the first
                    sum += place < n_frame ? taps[tap] * in[i * n_frame + place] : 0;
                }
            }
            out[channel * n + frame] = fmaxf(sum, 0);
        }
    }
    return n;
}

static float sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

static void step_lstm(const struct gi_vad *vad, struct gi_vad_state *state, const float *x)
{
    float gates[N_GATE];
    for (size_t i = 0; i < N_GATE; i++) {
        gates[i] = vad->bias_in[i] + vad->bias_hidden[i] + dot(&vad->weights_in[i * H], x, H) +
                   dot(&vad->weights_hidden[i * H], state->hidden, H);
    }
    for (uint32_t i = 0; i < H; i++) {
        state->cell[i] =
            sigmoid(gates[H + i]) * state->cell[i] + sigmoid(gates[i]) * tanhf(gates[2 * H + i]);
        state->hidden[i] = sigmoid(gates[3 * H + i]) * tanhf(state->cell[i]);
    }
}

float gi_vad_next(const struct gi_vad *vad, struct gi_vad_state *state, const float *samples)
{
    float buffers[2][MAX_CHANNEL * N_FRAME];
    find_magnitudes(vad, samples, buffers[0]);
    size_t n_frame = N_FRAME;
    for (int i = 0; i < N_CONV; i++) {
        n_frame = convolve(&convs[i], vad->conv_weights[i], vad->conv_biases[i], buffers[i % 2],
                           n_frame, buffers[(i + 1) % 2]);
    }
    step_lstm(vad, state, buffers[N_CONV % 2]); // one frame is left
    float sum = vad->head_bias[0];
    for (uint32_t i = 0; i < H; i++) {
        sum += vad->head[i] * fmaxf(state->hidden[i], 0);
    }
    return sigmoid(sum);
}
