#include "engine/api/file_kind.h"

// Values of keys that only files of a kind have.
static const struct {
    const char *key, *value; // value NULL: any
    const char *is;
} kinds[] = {
    {"general.type",         "mmproj",
     "a projector of images or sound (mmproj); load the "
     "model that it belongs to"                                                                 },
    {"general.architecture", "clip",
     "a projector of images or sound (mmproj); load the "
     "model that it belongs to"                                                                 },
    {"adapter.type",         "lora",
     "a LoRA adapter; llama-export-lora merges it into its "
     "model"                                                                                    },
    {"general.type",         "adapter",
     "an adapter; llama-export-lora merges it into its "
     "model"                                                                                    },
    {"general.architecture", "controlvector", "a control vector, which glinfer does not support"},
    {"general.type",         "imatrix",
     "an importance matrix, which only llama-quantize "
     "reads"                                                                                    },
    {"imatrix.datasets",     NULL,
     "an importance matrix, which only llama-quantize "
     "reads"                                                                                    },
};

bool gi_check_is_model(const struct gi_gguf *gguf, struct glinfer_error *err)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const char *value = kinds[i].value;
        struct gi_gguf_string found = {0};
        const bool is_kind = value ? gi_gguf_get_string(gguf, kinds[i].key, &found, NULL) &&
                                         found.size == strlen(value) &&
                                         memcmp(found.data, value, found.size) == 0
                                   : gi_gguf_has(gguf, kinds[i].key);
        if (is_kind) {
            return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                                "%s: the file is not a language model but %s", gi_gguf_path(gguf),
                                kinds[i].is);
        }
    }
    return true;
}
