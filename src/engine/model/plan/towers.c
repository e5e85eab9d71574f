#include "engine/model/plan/towers.h"

#include "graph/hparams.h"

const struct gi_tower *gi_towers_find(const struct gi_gguf *gguf)
{
    static const struct gi_tower whisper[GI_TOWER_COUNT] = {
        [GI_TOWER_DECODER] = {"whisper.decoder", NULL},
        [GI_TOWER_ENCODER] = {"whisper.encoder", "enc."},
    };
    struct gi_gguf_string name = {0};
    const bool is_whisper = gi_gguf_get_string(gguf, "general.architecture", &name, NULL) &&
                            gi_hparams_is_word(name, "whisper");
    return is_whisper ? whisper : NULL;
}
