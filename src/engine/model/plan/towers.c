#include "engine/model/plan/towers.h"

#include "graph/hparams.h"

const struct gi_tower gi_whisper_towers[GI_TOWER_COUNT] = {
    [GI_TOWER_DECODER] = {"whisper.decoder", NULL},
    [GI_TOWER_ENCODER] = {"whisper.encoder", "enc."},
};

const struct gi_tower *gi_towers_find(const struct gi_gguf *gguf)
{
    struct gi_gguf_string name = {0};
    const bool is_whisper = gi_gguf_get_string(gguf, "general.architecture", &name, NULL) &&
                            gi_hparams_is_word(name, "whisper");
    return is_whisper ? gi_whisper_towers : NULL;
}

enum glinfer_cache_type gi_tower_cache(const struct gi_weight *weight)
{
    return gi_weight_quant(weight)->type == GI_GGML_TYPE_F32 ? GLINFER_CACHE_F32
                                                             : GLINFER_CACHE_F16;
}
