#include "tests/unit/speech/fake/fake_vad.h"

#include "tests/unit/cmocka_test.h"
#include "tests/unit/gguf/gguf_opened.h"

#include <stdlib.h>

enum { MAX_VALUES = 512 * 128 };

// A tensor of count zeros, but for a few values.
struct tensor {
    const char *name;
    uint64_t count;
    struct {
        uint32_t begin, end; // elements
        float value;
    } ranges[3];
};

// Bin 0 is the mean of a frame. It passes the convolutions in channel 0 and opens cell 0 of the
// LSTM, whose input and output gates are open and whose forget gate is shut.
static const struct tensor tensors[] = {
    {"_model.stft.forward_basis_buffer", 258 * 256, {{0, 256, 1.0F / 256}}},
    {"_model.encoder.0.reparam_conv.weight", 128 * 129 * 3, {{1, 2, 1}}},
    {"_model.encoder.0.reparam_conv.bias", 128, {{0}}},
    {"_model.encoder.1.reparam_conv.weight", 64 * 128 * 3, {{1, 2, 1}}},
    {"_model.encoder.1.reparam_conv.bias", 64, {{0}}},
    {"_model.encoder.2.reparam_conv.weight", 64 * 64 * 3, {{1, 2, 1}}},
    {"_model.encoder.2.reparam_conv.bias", 64, {{0}}},
    {"_model.encoder.3.reparam_conv.weight", 128 * 64 * 3, {{1, 2, 1}}},
    {"_model.encoder.3.reparam_conv.bias", 128, {{0}}},
    {"_model.decoder.rnn.weight_ih", 512 * 128, {{256 * 128, 256 * 128 + 1, 10}}},
    {"_model.decoder.rnn.weight_hh", 512 * 128, {{0}}},
    {"_model.decoder.rnn.bias_ih", 512, {{0, 128, 20}, {128, 256, -20}, {384, 512, 20}}},
    {"_model.decoder.rnn.bias_hh", 512, {{0}}},
    {"_model.decoder.decoder.2.weight", 128, {{0, 1, 20}}},
    {"_model.decoder.decoder.2.bias", 1, {{0, 1, -5}}},
};
enum { N_TENSOR = sizeof(tensors) / sizeof(tensors[0]) };

struct gi_vad *fake_vad_create(void)
{
    BUILDER b = {0};
    uint64_t offset = 0;
    gguf_header(&b, N_TENSOR, 0);
    for (size_t i = 0; i < N_TENSOR; i++) {
        gguf_tensor(&b, tensors[i].name, 1, &tensors[i].count, GI_GGML_TYPE_F32, offset);
        offset += (tensors[i].count * sizeof(float) + 31) / 32 * 32;
    }
    for (size_t i = 0; i < N_TENSOR; i++) {
        static float values[128 * 129 * 3 + 258 * 256];
        memset(values, 0, sizeof(values));
        for (size_t j = 0; j < 3; j++) {
            for (uint32_t k = tensors[i].ranges[j].begin; k < tensors[i].ranges[j].end; k++) {
                values[k] = tensors[i].ranges[j].value;
            }
        }
        gguf_pad(&b, 32);
        gguf_bytes(&b, values, (size_t)tensors[i].count * sizeof(float));
    }
    OPENED file = open_bytes(&b, b.size);
    must(file.gguf, &file.err);
    struct gi_vad *vad = must_do(gi_vad_create(file.gguf, &err));
    return vad;
}
