// The activations of feed-forward networks, numbered as in glsl/norm/activation.glsl. CLAMPED is
// SwiGLU with clamped factors, as in gpt-oss; XIELU has parameters of the layer.
#pragma once

#define GI_ACTIVATION_MAP(X)                                                                       \
    X(SILU) X(GELU_TANH) X(RELU_SQUARED) X(CLAMPED) X(RELU) X(XIELU) X(GELU_ERF)

enum gi_activation {
#define GI_ACTIVATION_ENUM(name) GI_ACTIVATION_##name,
    GI_ACTIVATION_MAP(GI_ACTIVATION_ENUM)
#undef GI_ACTIVATION_ENUM
};

struct gi_xielu {
    float square, fall, slope, edge;
};

struct gi_activation_rule {
    enum gi_activation activation;
    struct gi_xielu xielu; // of GI_ACTIVATION_XIELU
};
