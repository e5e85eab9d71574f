// The activations of feed-forward networks.
#pragma once

enum gi_activation { // glsl/norm/activation.glsl has the same numbers
    GI_ACTIVATION_SILU,
    GI_ACTIVATION_GELU_TANH,
    GI_ACTIVATION_RELU_SQUARED,
    GI_ACTIVATION_CLAMPED, // SwiGLU with clamped factors, as in gpt-oss
    GI_ACTIVATION_RELU,
    GI_ACTIVATION_XIELU, // with parameters of the layer
    GI_ACTIVATION_GELU_ERF,
};

struct gi_xielu {
    float square, fall, slope, edge;
};

struct gi_activation_rule {
    enum gi_activation activation;
    struct gi_xielu xielu; // of GI_ACTIVATION_XIELU
};
