// Tensors of Whisper get the names of GGUF files.
#include "gguf/ggml/whisper_names.h"
#include "tests/unit/cmocka_test.h"

#include <string.h>

static const struct {
    const char *from, *to; // to NULL: not a tensor of Whisper
} cases[] = {
    {"encoder.conv1.weight", "enc.conv1.weight"},
    {"encoder.conv2.bias", "enc.conv2.bias"},
    {"encoder.positional_embedding", "enc.position_embd.weight"},
    {"encoder.ln_post.bias", "enc.output_norm.bias"},
    {"encoder.blocks.3.attn_ln.weight", "enc.blk.3.attn_norm.weight"},
    {"encoder.blocks.3.attn.key.weight", "enc.blk.3.attn_k.weight"},
    {"encoder.blocks.11.mlp_ln.weight", "enc.blk.11.ffn_norm.weight"},
    {"encoder.blocks.11.mlp.2.bias", "enc.blk.11.ffn_down.bias"},
    {"decoder.token_embedding.weight", "token_embd.weight"},
    {"decoder.positional_embedding", "position_embd.weight"},
    {"decoder.ln.weight", "output_norm.weight"},
    {"decoder.blocks.0.attn.query.weight", "blk.0.attn_q.weight"},
    {"decoder.blocks.2.attn.out.bias", "blk.4.attn_output.bias"},
    {"decoder.blocks.2.cross_attn_ln.weight", "blk.5.attn_norm.weight"},
    {"decoder.blocks.2.cross_attn.query.bias", "blk.5.attn_q.bias"},
    {"decoder.blocks.2.cross_attn.key.weight", "enc.blk.14.attn_k.weight"},
    {"decoder.blocks.2.cross_attn.value.bias", "enc.blk.14.attn_v.bias"},
    {"decoder.blocks.2.mlp.0.weight", "blk.5.ffn_up.weight"},
    {"encoder.blocks.x.attn_ln.weight", NULL},
    {"decoder.blocks.1.attn_rotation.weight", NULL},
    {"decoder.blocks.1", NULL},
    {"decoder.blocks.-1.attn_ln.weight", NULL},
    {"decoder.blocks. 1.attn_ln.weight", NULL},
    {"encoder.blocks.10000.attn_ln.weight", NULL},
    {"encoder.blocks.1.mlp.0.a_name_that_is_longer_than_any_tensor_of_a_model", NULL},
    {"vision.patch.weight", NULL},
    {"", NULL},
};

TEST(tensors_are_renamed)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct gi_gguf_string name = {cases[i].from, strlen(cases[i].from)};
        char out[GI_WHISPER_NAME_SIZE] = "";
        const bool is_known = gi_whisper_name(name, 12, out);
        assert_int_equal(is_known, cases[i].to != NULL);
        assert_string_equal(out, cases[i].to ? cases[i].to : "");
    }
}

RUN_TESTS(NULL, NULL)
