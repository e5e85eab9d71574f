// The Silero network equals its formula, written as plain sums in double, with random weights.
#include "speech/vad.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/failing_alloc.h"
#include "tests/unit/gguf/bin_builder.h"
#include "tests/unit/gguf/gguf_opened.h"

#include <math.h>

enum { F32, F16, Q8_0 = 8 };
enum { N_BIN = 129, SPAN = 256, H = 128, N_CONV = 4, MAX_COUNT = 2 * N_BIN * SPAN };

// Tensors of the file, sizes innermost first. Convolution i has weight 2 i and bias 2 i + 1.
enum { BASIS = 2 * N_CONV, IN, HIDDEN, BIAS_IN, BIAS_HIDDEN, HEAD, HEAD_BIAS, N_TENSOR };
static const struct tensor {
    const char *name;
    uint32_t type, n_dims, dims[3];
} tensors[N_TENSOR] = {
    {"_model.encoder.0.reparam_conv.weight", F16, 3, {3, N_BIN, 128}},
    {"_model.encoder.0.reparam_conv.bias", F32, 1, {128}},
    {"_model.encoder.1.reparam_conv.weight", F16, 3, {3, 128, 64}},
    {"_model.encoder.1.reparam_conv.bias", F32, 1, {64}},
    {"_model.encoder.2.reparam_conv.weight", F16, 3, {3, 64, 64}},
    {"_model.encoder.2.reparam_conv.bias", F32, 1, {64}},
    {"_model.encoder.3.reparam_conv.weight", F16, 3, {3, 64, H}},
    {"_model.encoder.3.reparam_conv.bias", F32, 1, {H}},
    {"_model.stft.forward_basis_buffer", F16, 3, {SPAN, 1, 2 * N_BIN}},
    {"_model.decoder.rnn.weight_ih", F32, 2, {H, 4 * H}},
    {"_model.decoder.rnn.weight_hh", F32, 2, {H, 4 * H}},
    {"_model.decoder.rnn.bias_ih", F32, 1, {4 * H}},
    {"_model.decoder.rnn.bias_hh", F32, 1, {4 * H}},
    {"_model.decoder.decoder.2.weight", F16, 1, {H}},
    {"_model.decoder.decoder.2.bias", F32, 0, {0}},
};

static double weights[N_TENSOR][MAX_COUNT];
static uint32_t random_state;

static uint32_t next_random(void)
{
    random_state = random_state * 1664525 + 1013904223;
    return random_state >> 16;
}

// Writes a random weight, 1/32 to 1/16 of either sign, which f16 holds exactly.
static double write_weight(struct gguf_builder *b, uint32_t type)
{
    const uint32_t random = next_random(), mantissa = random % 1024, sign = random >> 15;
    const double value = (sign ? -1 : 1) * ldexp(1024 + mantissa, -15);
    if (type == F16) {
        gguf_u16(b, (uint16_t)(sign << 15 | 10 << 10 | mantissa));
    } else {
        gguf_f32(b, (float)value);
    }
    return value;
}

// Writes tensors [begin, N_TENSOR) of the network.
static void write_tensors(struct gguf_builder *b, int begin)
{
    random_state = 1;
    for (int i = begin; i < N_TENSOR; i++) {
        const struct tensor *t = &tensors[i];
        uint32_t count = 1;
        bin_tensor(b, t->name, t->n_dims, t->dims, t->type);
        for (uint32_t j = 0; j < t->n_dims; j++) {
            count *= t->dims[j];
        }
        for (uint32_t j = 0; j < count; j++) {
            weights[i][j] = write_weight(b, t->type);
        }
    }
}

//-- reference ---------------------------------------------------------------------------------

struct state {
    double hidden[H], cell[H];
};

static double sample_at(const float *samples, int i)
{
    const int last = GI_VAD_WINDOW - 1;
    return (double)samples[i < 0 ? -i : i > last ? 2 * last - i : i];
}

// out: (N_BIN, 4)
static void magnitudes(const float *samples, double *out)
{
    for (int bin = 0; bin < N_BIN; bin++) {
        for (int frame = 0; frame < 4; frame++) {
            double re = 0, im = 0;
            for (int i = 0; i < SPAN; i++) {
                const double x = sample_at(samples, frame * 128 + i - 64);
                re += x * weights[BASIS][bin * SPAN + i];
                im += x * weights[BASIS][(N_BIN + bin) * SPAN + i];
            }
            out[bin * 4 + frame] = sqrt(re * re + im * im);
        }
    }
}

// in: (n_in, n_frame), out: (n_out, ceil(n_frame / stride)); zeros around, then max(0, x).
static void convolve(int index, int stride, int n_frame, const double *in, double *out)
{
    const int n_in = (int)tensors[2 * index].dims[1], n_out = (int)tensors[2 * index].dims[2];
    const int n = (n_frame + stride - 1) / stride;
    for (int channel = 0; channel < n_out; channel++) {
        for (int frame = 0; frame < n; frame++) {
            double sum = weights[2 * index + 1][channel];
            for (int i = 0; i < n_in; i++) {
                for (int tap = 0; tap < 3; tap++) {
                    const int place = frame * stride + tap - 1;
                    const double x = place < 0 || place >= n_frame ? 0 : in[i * n_frame + place];
                    sum += x * weights[2 * index][(channel * n_in + i) * 3 + tap];
                }
            }
            out[channel * n + frame] = fmax(sum, 0);
        }
    }
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double gate(const struct state *state, const double *x, int row)
{
    double sum = weights[BIAS_IN][row] + weights[BIAS_HIDDEN][row];
    for (int i = 0; i < H; i++) {
        sum += weights[IN][row * H + i] * x[i] + weights[HIDDEN][row * H + i] * state->hidden[i];
    }
    return sum;
}

static double probability(struct state *state, const float *samples)
{
    double a[N_BIN * 4] = {0}, b[N_BIN * 4] = {0};
    magnitudes(samples, a);
    convolve(0, 1, 4, a, b);
    convolve(1, 2, 4, b, a);
    convolve(2, 2, 2, a, b);
    convolve(3, 1, 1, b, a);
    const struct state before = *state;
    double sum = weights[HEAD_BIAS][0];
    for (int i = 0; i < H; i++) {
        const double in = gate(&before, a, i), forget = gate(&before, a, H + i);
        const double new = gate(&before, a, 2 * H + i), out = gate(&before, a, 3 * H + i);
        state->cell[i] = sigmoid(forget) * before.cell[i] + sigmoid(in) * tanh(new);
        state->hidden[i] = sigmoid(out) * tanh(state->cell[i]);
        sum += weights[HEAD][i] * fmax(state->hidden[i], 0);
    }
    return sigmoid(sum);
}

//-- tests -------------------------------------------------------------------------------------

static struct gi_vad *open_network(void)
{
    BUILDER b = {0};
    bin_silero(&b);
    write_tensors(&b, 0);
    OPENED o = open_bytes(&b, b.size);
    must(o.gguf, &o.err);
    struct gi_vad *vad = must_do(gi_vad_create(o.gguf, &err));
    return vad;
}

static void fill(float *samples, float amplitude)
{
    for (int i = 0; i < GI_VAD_WINDOW; i++) {
        samples[i] = amplitude * ((float)next_random() / 32768 - 1);
    }
}

TEST(probabilities_equal_the_formula)
{
    struct gi_vad *vad = open_network();
    struct gi_vad_state found = {0};
    struct state expected = {0};
    for (int window = 0; window < 6; window++) {
        float samples[GI_VAD_WINDOW];
        fill(samples, window == 3 ? 0 : 0.5F);
        const double p = probability(&expected, samples);
        assert_float_equal(gi_vad_next(vad, &found, samples), p, 1e-5);
        assert_true(p > 0.02 && p < 0.98); // the comparison tells something
        for (int i = 0; i < H; i++) {
            assert_float_equal(found.hidden[i], expected.hidden[i], 1e-5);
            assert_float_equal(found.cell[i], expected.cell[i], 1e-5);
        }
    }
    gi_vad_destroy(vad);
}

TEST(wrong_samples_count_as_silence)
{
    static const float wrong[] = {NAN, INFINITY, -INFINITY, 3e38F, -65536};
    struct gi_vad *vad = open_network();
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct gi_vad_state found = {0}, expected = {0};
        float samples[GI_VAD_WINDOW];
        fill(samples, 1);
        samples[0] = samples[100] = samples[511] = 0;
        const float p = gi_vad_next(vad, &expected, samples);
        samples[0] = samples[100] = samples[511] = wrong[i];
        assert_true(gi_vad_next(vad, &found, samples) == p);
        assert_memory_equal(&found, &expected, sizeof(found));
    }
    gi_vad_destroy(vad);
}

TEST(networks_survive_every_failed_allocation)
{
    BUILDER b = {0};
    struct gi_vad *vad = NULL;
    long n_failed = 0;
    bin_silero(&b);
    write_tensors(&b, 0);
    OPENED o = open_bytes(&b, b.size);
    must(o.gguf, &o.err);
    for (; !vad && n_failed < 100; n_failed++) {
        struct glinfer_error err = {0};
        fail_allocations_after(n_failed);
        vad = gi_vad_create(o.gguf, &err);
        fail_allocations_after(-1);
        assert_true(vad || err.status == GLINFER_STATUS_NO_MEMORY);
    }
    assert_int_equal(n_failed, 1 + N_TENSOR + 1); // the network, its tensors, the success
    gi_vad_destroy(vad);
}

// Opens a network whose first tensor is another one, or missing if name is NULL.
static void expect_refused(const char *name, uint32_t type, uint32_t n_out, const char *says)
{
    BUILDER b = {0};
    bin_silero(&b);
    if (name) {
        const uint32_t dims[] = {3 * 32, N_BIN, n_out};
        bin_tensor(&b, name, 3, dims, type);
        for (uint32_t i = 0; i < 3 * N_BIN * n_out * 34; i++) { // q8_0: 34 bytes for 32 values
            gguf_u8(&b, 0);
        }
    }
    write_tensors(&b, 1);
    OPENED o = open_bytes(&b, b.size);
    must(o.gguf, &o.err);
    must_fail(gi_vad_create(o.gguf, &err), BAD_FILE, says);
}

TEST(networks_of_other_tensors_are_refused)
{
    const char *name = tensors[0].name;
    expect_refused(
        NULL, 0, 0,
        "not the network of silero-vad: tensor _model.encoder.0.reparam_conv.weight is missing");
    expect_refused("another", Q8_0, 4, "tensor _model.encoder.0.reparam_conv.weight is missing");
    expect_refused(name, Q8_0, 4, "has 49536 elements of type q8_0, expected 49536 of type f32");
    expect_refused(name, Q8_0, 1, "has 12384 elements of type q8_0, expected 49536 of type f32");
}

RUN_TESTS(NULL, NULL)
