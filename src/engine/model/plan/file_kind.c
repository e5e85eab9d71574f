#include "engine/model/plan/file_kind.h"

static const char projector[] =
    "a projector of images or sound (mmproj); load the model that it belongs to";
static const char adapter[] = "an adapter: give its model with -m and the adapter with --lora";
static const char lora[] = "a LoRA adapter: give its model with -m and the adapter with --lora";
static const char matrix[] = "an importance matrix, which only llama-quantize reads";
static const char vector[] = "a control vector, which is not supported";

// Values of keys that only files of a kind have.
static const struct {
    const char *key, *value; // value NULL: any
    const char *is;
} kinds[] = {
    {"general.type", "mmproj", projector},
    {"general.architecture", "clip", projector},
    {"adapter.type", "lora", lora},
    {"general.type", "adapter", adapter},
    {"general.architecture", "controlvector", vector},
    {"general.type", "imatrix", matrix},
    {"imatrix.datasets", NULL, matrix},
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
