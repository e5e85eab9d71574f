#include "hf/folder/hf_folder.h"

#include "base/array.h"
#include "hf/families/hf_families.h"
#include "hf/families/hf_fixed.h"
#include "hf/folder/hf_contents.h"
#include "hf/folder/hf_generation.h"
#include "hf/hf_source.h"
#include "hf/mlx/mlx_folder.h"
#include "hf/tokenizer/hf_tokenizer.h"
#include "quant/quant.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

// An opened folder, which the composed model owns.
struct folder {
    cJSON *config;
    cJSON *defaults; // of the family
    struct gi_safetensors *files;
    struct gi_hf_sources sources;
};

bool gi_hf_is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void destroy_folder(void *user)
{
    struct folder *folder = user;
    gi_hf_sources_finish(&folder->sources);
    gi_safetensors_close(folder->files);
    cJSON_Delete(folder->config);
    cJSON_Delete(folder->defaults);
    free(folder);
}

static bool read_tensor(void *user, size_t tensor, uint64_t offset, size_t size, void *out,
                        struct glinfer_error *err)
{
    const struct folder *folder = user;
    return gi_hf_source_read(&folder->sources, folder->files, tensor, offset, size, out, err);
}

//-- types of matrices -----------------------------------------------------------------------------

// Types by the name that the user gives, with their number in general.file_type.
static const struct quantize_row {
    const char *name;
    enum gi_ggml_type type;
    uint32_t file_type;
} quantize_rows[] = {
    {"q8_0", GI_GGML_TYPE_Q8_0, 7},  {"q5_1", GI_GGML_TYPE_Q5_1, 9}, {"q5_0", GI_GGML_TYPE_Q5_0, 8},
    {"q4_1", GI_GGML_TYPE_Q4_1, 3},  {"q4_0", GI_GGML_TYPE_Q4_0, 2}, {"f16", GI_GGML_TYPE_F16, 1},
    {"bf16", GI_GGML_TYPE_BF16, 32},
};

static const struct quantize_row *find_quantize(const char *name, struct glinfer_error *err)
{
    for (size_t i = 0; i < sizeof(quantize_rows) / sizeof(quantize_rows[0]); i++) {
        if (strcmp(quantize_rows[i].name, name) == 0) {
            return &quantize_rows[i];
        }
    }
    gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                 "invalid type of weights \"%s\": expected q8_0, q5_1, q5_0, q4_1, q4_0, f16, bf16 "
                 "or none",
                 name);
    return NULL;
}

// Returns the number of the type that most matrices keep.
static uint32_t kept_file_type(struct gi_hf_build *b)
{
    const char *type = gi_hf_text_or(b, "dtype|torch_dtype", "bfloat16");
    return strcmp(type, "float32") == 0 ? 0 : strcmp(type, "float16") == 0 ? 1 : 32;
}

//-- head ------------------------------------------------------------------------------------------

static void add_general(struct gi_hf_build *b, uint32_t file_type)
{
    size_t size = strlen(b->folder);
    while (size > 1 && b->folder[size - 1] == '/') {
        size--;
    }
    size_t start = size;
    while (start > 0 && b->folder[start - 1] != '/') {
        start--;
    }
    gi_gguf_add_string(b->out, "general.architecture", b->arch, strlen(b->arch));
    gi_gguf_add_string(b->out, "general.type", "model", 5);
    gi_gguf_add_string(b->out, "general.name", b->folder + start, size - start);
    gi_gguf_add_u32(b->out, "general.file_type", file_type);
    gi_gguf_add_u32(b->out, "general.quantization_version", 2);
}

// Marks an output matrix as not needed where the embedding stands for it.
static void check_tied(struct gi_hf_build *b)
{
    if (gi_hf_bool_or(b, "tie_embedding|tie_word_embeddings", false) &&
        gi_hf_find(b, "embed_tokens.weight")) {
        gi_hf_ignore(b, "lm_head.");
    }
}

// Refuses weights whose packing glinfer does not know.
static void check_packing(struct gi_hf_build *b)
{
    const char *method = gi_hf_text_or(b, "quantization_config.quant_method", NULL);
    if (method && strcmp(method, "mxfp4") != 0) {
        gi_hf_fail(b, GLINFER_STATUS_UNSUPPORTED,
                   "weights quantised by \"%s\" are not supported: use the folder of the original "
                   "weights, or a GGUF file of the model",
                   method);
    }
}

static void fill_head(struct gi_hf_build *b, const struct gi_hf_family *family, uint32_t file_type)
{
    gi_hf_check_objects(b);
    check_packing(b);
    gi_hf_mlx_find(b);
    gi_hf_check_fixed(b, family->fixed);
    if (gi_hf_ok(b)) {
        family->build(b);
    }
    add_general(b, b->keeps ? kept_file_type(b) : file_type); // after build, which may set arch
    gi_hf_add_sampling(b);
    check_tied(b);
    gi_hf_check_used(b);
    if (gi_hf_ok(b) && !gi_hf_add_tokenizer(b, b->folder)) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE, "cannot read the tokenizer");
    }
}

static struct gi_gguf *compose(struct folder *folder, const char *path,
                               const struct quantize_row *row, bool is_for_file,
                               struct glinfer_error *err)
{
    struct gi_gguf_writer writer = {0};
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(folder->config, "text_config");
    struct gi_hf_build b = {
        .folder = path,
        .root = folder->config,
        .config = cJSON_IsObject(text) ? text : folder->config,
        .files = folder->files,
        .type = row ? row->type : GI_GGML_TYPE_F32,
        .is_for_file = is_for_file,
        .keeps = !row,
        .out = &writer,
        .sources = &folder->sources,
    };
    const struct gi_gguf_tensor_reader reader = {folder, read_tensor, destroy_folder};
    const struct gi_hf_family *family = gi_hf_family_find(&b, err);
    struct gi_gguf *gguf = NULL;
    if (family && family->defaults) {
        folder->defaults = gi_hf_json_parse(family->defaults, strlen(family->defaults), path, err);
        b.defaults = folder->defaults;
        family = b.defaults ? family : NULL;
    }
    if (family) {
        b.arch = family->arch;
        fill_head(&b, family, row ? row->file_type : 0);
        gguf = gi_gguf_compose(&writer, path, &reader, err);
    } else {
        destroy_folder(folder);
    }
    gi_gguf_writer_finish(&writer);
    return gguf;
}

//-- open ------------------------------------------------------------------------------------------

static cJSON *read_config(const char *path, struct glinfer_error *err)
{
    char *name = gi_hf_path(path, "config.json", err);
    cJSON *config = name ? gi_hf_json_read(name, cJSON_Object, err) : NULL;
    free(name);
    return config;
}

static struct gi_gguf *open_folder(const char *path, const char *quantize, bool is_for_file,
                                   struct glinfer_error *err)
{
    const struct quantize_row *row = NULL;
    const bool keeps = quantize && strcmp(quantize, "none") == 0;
    if (!keeps) {
        row = find_quantize(quantize ? quantize : "q8_0", err);
    }
    if ((!keeps && !row) || !gi_hf_check_contents(path, err)) {
        return NULL;
    }
    struct folder *folder = gi_array_zeroed(1, sizeof(*folder), "a folder", err);
    if (!folder) {
        return NULL;
    }
    folder->config = read_config(path, err);
    folder->files = folder->config ? gi_safetensors_open_folder(path, err) : NULL;
    if (!folder->files || !gi_hf_sources_init(&folder->sources, folder->files, err)) {
        destroy_folder(folder);
        return NULL;
    }
    return compose(folder, path, row, is_for_file, err);
}

struct gi_gguf *gi_hf_open(const char *path, const char *quantize, struct glinfer_error *err)
{
    return open_folder(path, quantize, false, err);
}

struct gi_gguf *gi_hf_open_for_file(const char *path, const char *quantize,
                                    struct glinfer_error *err)
{
    return open_folder(path, quantize, true, err);
}

struct gi_gguf *gi_hf_open_source(const struct glinfer_source *source, struct glinfer_error *err)
{
    if (source->kind != GLINFER_SOURCE_PATH || !source->path || !gi_hf_is_folder(source->path)) {
        return gi_gguf_open(source, err);
    }
    if (source->offset > 0 || source->length > 0) {
        gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                     "%s: is a folder, of which no range of bytes can be opened", source->path);
        return NULL;
    }
    return gi_hf_open(source->path, source->quantize, err);
}
