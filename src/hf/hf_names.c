// Names of a folder's tensors, without the prefixes of a model that is a part of a larger one.
#include "base/array.h"
#include "hf/hf_source.h"

#include <stdlib.h>

const char *gi_hf_skip_starts(const char *name)
{
    static const char *const starts[] = {"model.", "language_model.", "text_model.", "transformer.",
                                         "bert."};
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        const size_t n = strlen(starts[i]);
        if (strncmp(name, starts[i], n) == 0) {
            return gi_hf_skip_starts(name + n);
        }
    }
    return name;
}

static int compare_names(const void *a, const void *b)
{
    const struct gi_hf_name *left = a, *right = b;
    return strcmp(left->name, right->name);
}

bool gi_hf_sources_init(struct gi_hf_sources *sources, const struct gi_safetensors *files,
                        struct glinfer_error *err)
{
    const size_t n = gi_safetensors_count(files);
    sources->names = gi_array_zeroed(n, sizeof(*sources->names), "names of tensors", err);
    if (!sources->names) {
        return false;
    }
    sources->n_names = n;
    for (size_t i = 0; i < n; i++) {
        const struct gi_safetensor *t = gi_safetensors_at(files, i);
        sources->names[i] = (struct gi_hf_name){.name = gi_hf_skip_starts(t->name), .tensor = t};
    }
    if (n > 1) {
        qsort(sources->names, n, sizeof(*sources->names), compare_names);
    }
    for (size_t i = 1; i < n; i++) {
        if (strcmp(sources->names[i - 1].name, sources->names[i].name) == 0) {
            return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                                "%s: the tensors %s and %s are the same one of a model: the "
                                "folder has files of two models",
                                gi_safetensors_path(files), sources->names[i - 1].tensor->name,
                                sources->names[i].tensor->name);
        }
    }
    return true;
}

void gi_hf_sources_finish(struct gi_hf_sources *sources)
{
    free(sources->names);
    free(sources->mlx);
    free(sources->rows.data);
    free(sources->tensors.data);
    free(sources->values.data);
    *sources = (struct gi_hf_sources){0};
}

struct gi_hf_name *gi_hf_sources_find(const struct gi_hf_sources *sources, const char *name)
{
    const struct gi_hf_name key = {.name = name};
    return sources->n_names == 0
               ? NULL
               : bsearch(&key, sources->names, sources->n_names, sizeof(key), compare_names);
}

const struct gi_safetensor *gi_hf_find(const struct gi_hf_build *b, const char *name)
{
    const struct gi_hf_name *found = gi_hf_sources_find(b->sources, name);
    return found ? found->tensor : NULL;
}

void gi_hf_ignore(struct gi_hf_build *b, const char *start)
{
    for (size_t i = 0; i < b->sources->n_names; i++) {
        struct gi_hf_name *name = &b->sources->names[i];
        name->is_used |= strncmp(name->name, start, strlen(start)) == 0;
    }
}

// Returns true for tensors that no model of text needs: towers of vision and sound, heads that
// predict further tokens, frequencies of RoPE, which follow from config.json.
static bool is_needless(const char *name)
{
    static const char *const starts[] = {
        "vision_tower.", "vision_model.", "visual.",      "multi_modal_projector.",
        "embed_vision.", "audio_tower.",  "embed_audio.", "audio_model.",
        "mtp.",          "connector.",
    };
    static const char *const ends[] = {".rotary_emb.inv_freq", ".attn.masked_bias", ".attn.bias",
                                       ".position_ids"};
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        if (strncmp(name, starts[i], strlen(starts[i])) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        if (gi_hf_ends_in(name, ends[i])) {
            return true;
        }
    }
    return false;
}

void gi_hf_check_used(struct gi_hf_build *b)
{
    for (size_t i = 0; i < b->sources->n_names; i++) {
        const struct gi_hf_name *name = &b->sources->names[i];
        if (!name->is_used && !is_needless(name->name)) {
            gi_hf_fail(b, GLINFER_STATUS_UNSUPPORTED,
                       "the tensor %s is unknown in models of the family %s", name->tensor->name,
                       b->arch);
            return;
        }
    }
}
