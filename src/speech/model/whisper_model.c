#include "speech/model/whisper_model.h"

#include "base/array.h"
#include "gguf/gguf.h"

#include <stdlib.h>

static bool read_mel(struct gi_whisper_model *model, const struct gi_gguf *file,
                     struct glinfer_error *err)
{
    struct gi_gguf_array filters;
    uint32_t n_band;
    if (!gi_gguf_get_u32(file, "whisper.mel_count", 0, &n_band, err) ||
        !gi_gguf_get_array(file, "whisper.mel_filters", GI_GGUF_KIND_F32, &filters, err)) {
        return false;
    }
    if (n_band == 0 || filters.count != (uint64_t)n_band * GI_MEL_N_BINS) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                            "%s: %llu weights of mel filters, expected %u bands of %d",
                            gi_gguf_path(file), (unsigned long long)filters.count, n_band,
                            GI_MEL_N_BINS);
    }
    float *weights = gi_array_zeroed((size_t)filters.count, sizeof(float), "mel filters", err);
    for (uint64_t i = 0; weights && i < filters.count; i++) {
        weights[i] = gi_gguf_array_f32(&filters, i);
    }
    model->mel = weights ? gi_mel_create(weights, n_band, err) : NULL;
    free(weights);
    return model->mel;
}

bool gi_whisper_model_init(struct gi_whisper_model *model, const struct gi_gguf *file,
                           struct glinfer_error *err)
{
    uint32_t n_vocab;
    *model = (struct gi_whisper_model){0};
    if (!gi_gguf_get_u32(file, "whisper.vocab_size", 0, &n_vocab, err)) {
        return false;
    }
    if (!gi_whisper_ids_init(&model->ids, n_vocab)) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                            "%s: a vocabulary of %u tokens is not that of a Whisper model",
                            gi_gguf_path(file), n_vocab);
    }
    model->text = gi_whisper_text_create(file, model->ids.end, err);
    if (!model->text || !read_mel(model, file, err)) {
        gi_whisper_model_finish(model);
        return false;
    }
    return true;
}

void gi_whisper_model_finish(struct gi_whisper_model *model)
{
    gi_whisper_text_destroy(model->text);
    gi_mel_destroy(model->mel);
    *model = (struct gi_whisper_model){0};
}
