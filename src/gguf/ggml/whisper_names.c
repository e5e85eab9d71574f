#include "gguf/ggml/whisper_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum part { ENCODER, SELF, CROSS, CROSS_KEYS };

// Names within a layer.
static const struct {
    const char *from, *to;
    enum part part; // of a decoder's layer; a layer of the encoder is one part
} in_layer[] = {
    {"attn_ln.", "attn_norm.", SELF},
    {"attn.query.", "attn_q.", SELF},
    {"attn.key.", "attn_k.", SELF},
    {"attn.value.", "attn_v.", SELF},
    {"attn.out.", "attn_output.", SELF},
    {"cross_attn_ln.", "attn_norm.", CROSS},
    {"cross_attn.query.", "attn_q.", CROSS},
    {"cross_attn.out.", "attn_output.", CROSS},
    {"cross_attn.key.", "attn_k.", CROSS_KEYS},
    {"cross_attn.value.", "attn_v.", CROSS_KEYS},
    {"mlp_ln.", "ffn_norm.", CROSS},
    {"mlp.0.", "ffn_up.", CROSS},
    {"mlp.2.", "ffn_down.", CROSS},
};

// Names outside the layers.
static const struct {
    const char *from, *to;
} others[] = {
    {"encoder.conv1.", "enc.conv1."},
    {"encoder.conv2.", "enc.conv2."},
    {"encoder.positional_embedding", "enc.position_embd.weight"},
    {"encoder.ln_post.", "enc.output_norm."},
    {"decoder.token_embedding.", "token_embd."},
    {"decoder.positional_embedding", "position_embd.weight"},
    {"decoder.ln.", "output_norm."},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool skip(const char **text, const char *prefix)
{
    const size_t size = strlen(prefix);
    const bool is_there = strncmp(*text, prefix, size) == 0;
    *text += is_there ? size : 0;
    return is_there;
}

static bool name_in_layer(const char *text, bool is_decoder, uint32_t n_layer,
                          char out[GI_WHISPER_NAME_SIZE])
{
    const size_t n_digit = strspn(text, "0123456789");
    if (n_digit == 0 || n_digit > 4 || text[n_digit] != '.') {
        return false;
    }
    const unsigned layer = (unsigned)strtoul(text, NULL, 10);
    text += n_digit + 1;
    for (size_t i = 0; i < COUNT(in_layer); i++) {
        if (skip(&text, in_layer[i].from)) {
            const enum part part = is_decoder ? in_layer[i].part : ENCODER;
            const uint32_t own = part == SELF         ? 2 * layer
                                 : part == CROSS      ? 2 * layer + 1
                                 : part == CROSS_KEYS ? n_layer + layer
                                                      : layer;
            const char *prefix = part == ENCODER || part == CROSS_KEYS ? "enc." : "";
            snprintf(out, GI_WHISPER_NAME_SIZE, "%sblk.%u.%s%s", prefix, own, in_layer[i].to, text);
            return true;
        }
    }
    return false;
}

bool gi_whisper_name(struct gi_gguf_string name, uint32_t n_layer, char out[GI_WHISPER_NAME_SIZE])
{
    char own[GI_WHISPER_NAME_SIZE];
    if (name.size >= sizeof(own) || memchr(name.data, 0, name.size)) {
        return false;
    }
    snprintf(own, sizeof(own), "%.*s", (int)name.size, name.data);
    const char *text = own;
    if (skip(&text, "encoder.blocks.")) {
        return name_in_layer(text, false, n_layer, out);
    }
    if (skip(&text, "decoder.blocks.")) {
        return name_in_layer(text, true, n_layer, out);
    }
    for (size_t i = 0; i < COUNT(others); i++) {
        if (skip(&text, others[i].from)) {
            snprintf(out, GI_WHISPER_NAME_SIZE, "%s%s", others[i].to, text);
            return true;
        }
    }
    return false;
}
