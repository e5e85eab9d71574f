// OLMo 2 and 3: norms after the blocks, and of all of q and k.
#include "hf/families/hf_families.h"
#include "hf/families/hf_fixed.h"
#include "hf/families/hf_layers.h"
#include "hf/families/hf_rows.h"

static const struct gi_hf_row rows[] = {
    GI_HF_EMBEDDING,
    GI_HF_OUTPUT(GI_HF_NONE),
    GI_HF_ATTENTION(GI_HF_NONE, GI_HF_NONE),
    GI_HF_HEAD_NORMS(GI_HF_NONE),
    GI_HF_NETWORK,
    {"layers.%.post_attention_layernorm.weight", "blk.%.post_attention_norm.weight", GI_HF_NONE},
    {"layers.%.post_feedforward_layernorm.weight", "blk.%.post_ffw_norm.weight", GI_HF_NONE},
};

static void build_olmo2(struct gi_hf_build *b)
{
    gi_hf_add_decoder(b);
    GI_HF_ADD_ROWS(b, rows);
}

static void build_olmo3(struct gi_hf_build *b)
{
    struct gi_hf_layers windowed;
    if (!gi_hf_read_layers(b, "sliding_attention", &windowed)) {
        for (uint32_t i = 0; i < windowed.count; i++) {
            windowed.is[i] = (i + 1) % 4 != 0;
        }
    }
    gi_hf_add_u32(b, "attention.sliding_window", gi_hf_u32(b, "sliding_window"));
    gi_hf_add_bools(b, "attention.sliding_window_pattern", windowed.is, windowed.count);
    gi_hf_add_f32(b, "rope.freq_base_swa", gi_hf_window_base(b, gi_hf_rope_base(b, 500000.0f)));
    build_olmo2(b);
}

#define DEFAULTS "{\"max_position_embeddings\":2048,\"rms_norm_eps\":1e-5,\"sliding_window\":4096}"

static const struct gi_hf_fixed fixed[] = {GI_HF_SILU,    GI_HF_NO_BIASES,         GI_HF_WHOLE_ROPE,
                                           GI_HF_WINDOWS, GI_HF_PLAIN_WINDOW_ROPE, {NULL, NULL}};

const struct gi_hf_family gi_hf_olmo2_families[] = {
    {"olmo2", NULL, "olmo2", build_olmo2, DEFAULTS, fixed},
    {"olmo3", NULL, "olmo2", build_olmo3, DEFAULTS, fixed},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};
