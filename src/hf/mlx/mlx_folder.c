#include "hf/mlx/mlx_folder.h"

#include "base/array.h"
#include "base/bytes.h"

#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 512 };
// The largest product of a number in E4M3 and one in E2M1, for which a global scale stands.
#define NVFP4_RANGE (448.0f * 6.0f)

// Returns the tensor "<path>.<part>" next to "<path>.scales", NULL if the folder lacks it.
static struct gi_hf_name *find_part(struct gi_hf_build *b, const char *scales, const char *part)
{
    char name[NAME_SIZE];
    const int size = (int)(strlen(scales) - strlen("scales"));
    return snprintf(name, sizeof(name), "%.*s%s", size, scales, part) < NAME_SIZE
               ? gi_hf_sources_find(b->sources, name)
               : NULL;
}

//-- config.json -----------------------------------------------------------------------------------

static const cJSON *find_config(const struct gi_hf_build *b)
{
    const cJSON *config = gi_hf_get(b, "quantization");
    return cJSON_IsObject(config) ? config : gi_hf_get(b, "quantization_config");
}

// Returns the value of a module in config.json, else the object of the whole folder.
static const cJSON *find_module(const cJSON *config, const char *path, size_t size)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, config)
    {
        const char *key = item->string ? gi_hf_skip_starts(item->string) : "";
        if (!cJSON_IsNumber(item) && !cJSON_IsString(item) && strlen(key) == size &&
            memcmp(key, path, size) == 0) {
            return item;
        }
    }
    return config;
}

// Reads a number of the module, else of the folder. Returns 0 if both lack it.
static uint32_t read_number(const cJSON *module, const cJSON *config, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(module, key);
    value = value ? value : cJSON_GetObjectItemCaseSensitive(config, key);
    return cJSON_IsNumber(value) && value->valuedouble > 0 && value->valuedouble < 1024
               ? (uint32_t)value->valuedouble
               : 0;
}

// Reads mode, bits and group.
static bool read_format(struct gi_hf_build *b, const struct gi_hf_name *scales,
                        struct gi_mlx_format *format)
{
    const size_t size = strlen(scales->name) - strlen(".scales");
    const cJSON *config = find_config(b), *module = find_module(config, scales->name, size);
    const cJSON *mode = cJSON_GetObjectItemCaseSensitive(module, "mode");
    mode = mode || cJSON_IsObject(module) ? mode : cJSON_GetObjectItemCaseSensitive(config, "mode");
    if (!cJSON_IsObject(config) || !cJSON_IsObject(module)) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE,
                   "config.json: \"quantization\" does not describe tensor %s, which is quantised",
                   scales->tensor->name);
        return false;
    }
    if (mode && !cJSON_IsString(mode)) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE,
                   "config.json: the key quantization.mode is invalid, expected a string");
        return false;
    }
    const char *name = mode ? mode->valuestring : "affine";
    if (!gi_mlx_mode_find(name, &format->mode)) {
        gi_hf_fail(b, GLINFER_STATUS_UNSUPPORTED,
                   "config.json: the mode of quantisation \"%s\" of tensor %s is unknown, expected "
                   "affine, mxfp4, nvfp4 or mxfp8",
                   name, scales->tensor->name);
        return false;
    }
    format->bits = read_number(module, config, "bits");
    format->group = read_number(module, config, "group_size");
    return true;
}

//-- shapes ----------------------------------------------------------------------------------------

static bool take_scale_type(struct gi_hf_build *b, const struct gi_safetensor *scales,
                            struct gi_mlx_format *format)
{
    switch (scales->type) {
    case GI_SAFETENSORS_U8:
        format->scale = GI_MLX_SCALE_U8;
        return true;
    case GI_SAFETENSORS_F16:
        format->scale = GI_MLX_SCALE_F16;
        return true;
    case GI_SAFETENSORS_BF16:
        format->scale = GI_MLX_SCALE_BF16;
        return true;
    case GI_SAFETENSORS_F32:
        format->scale = GI_MLX_SCALE_F32;
        return true;
    default:
        gi_hf_fail(b, GLINFER_STATUS_UNSUPPORTED,
                   "tensor %s has type %s, expected BF16, F16, F32 or U8", scales->name,
                   gi_safetensors_type_name(scales->type));
        return false;
    }
}

static bool has_same_shape(const struct gi_safetensor *a, const struct gi_safetensor *b,
                           uint32_t n_dims)
{
    return a->n_dims == b->n_dims && memcmp(a->dims, b->dims, n_dims * sizeof(a->dims[0])) == 0;
}

// Gives the shape of the matrix and checks the shapes of its parts.
static bool take_shape(struct gi_hf_build *b, struct gi_hf_mlx *mlx)
{
    const struct gi_safetensor *quants = mlx->quants, *scales = mlx->scales, *biases = mlx->biases;
    const struct gi_mlx_format *format = &mlx->format;
    const uint32_t last = quants->n_dims - 1;
    struct gi_safetensor *t = &mlx->tensor;
    if (quants->n_dims < 2 || !has_same_shape(quants, scales, last) ||
        scales->dims[last] > UINT32_MAX) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE, "the tensors %s and %s differ in their rows",
                   quants->name, scales->name);
        return false;
    }
    if (biases && (!has_same_shape(biases, scales, last + 1) || biases->type != scales->type)) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE, "the tensors %s and %s differ in shape or type",
                   scales->name, biases->name);
        return false;
    }
    *t = *quants;
    t->type = GI_SAFETENSORS_BF16;
    t->dims[last] = scales->dims[last] * format->group;
    if (t->dims[last] % 32 != 0 || t->dims[last] * format->bits != quants->dims[last] * 32) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE,
                   "tensor %s has rows of %llu words and %llu scales, but config.json says %u bits "
                   "in groups of %u",
                   quants->name, (unsigned long long)quants->dims[last],
                   (unsigned long long)scales->dims[last], format->bits, format->group);
        return false;
    }
    t->n_elements = t->dims[last];
    for (uint32_t i = 0; i < last; i++) {
        t->n_elements *= t->dims[i];
    }
    return true;
}

static bool read_factor(struct gi_hf_build *b, const struct gi_hf_name *scales,
                        struct gi_mlx_format *format)
{
    struct gi_hf_name *global = find_part(b, scales->name, "global_scale");
    uint8_t bytes[4];
    format->factor = 1.0f;
    if (!global || format->mode != GI_MLX_NVFP4) {
        return true;
    }
    const struct gi_safetensor *t = global->tensor;
    if (t->n_elements != 1 || t->type != GI_SAFETENSORS_F32) {
        gi_hf_fail(b, GLINFER_STATUS_UNSUPPORTED,
                   "tensor %s has %llu elements of type %s, expected one of F32", t->name,
                   (unsigned long long)t->n_elements, gi_safetensors_type_name(t->type));
        return false;
    }
    global->is_used = true;
    if (!gi_safetensors_read(b->files, t, 0, sizeof(bytes), bytes, &b->out->error)) {
        return false;
    }
    format->factor = gi_load_f32(bytes) / NVFP4_RANGE;
    return true;
}

//-- weights ---------------------------------------------------------------------------------------

static bool add_weight(struct gi_hf_build *b, struct gi_hf_name *scales, struct gi_hf_name *weight,
                       struct gi_hf_mlx *mlx)
{
    struct gi_hf_name *biases = find_part(b, scales->name, "biases");
    struct gi_mlx_format *format = &mlx->format;
    mlx->quants = weight->tensor;
    mlx->scales = scales->tensor;
    if (!read_format(b, scales, format) || !take_scale_type(b, scales->tensor, format)) {
        return false;
    }
    if (!gi_mlx_is_known(format)) {
        gi_hf_fail(b, GLINFER_STATUS_UNSUPPORTED,
                   "tensor %s is quantised in mode %s to %u bits in groups of %u with scales of "
                   "type %s, which MLX does not have",
                   weight->tensor->name, gi_mlx_mode_name(format->mode), format->bits,
                   format->group, gi_safetensors_type_name(scales->tensor->type));
        return false;
    }
    if (format->mode == GI_MLX_AFFINE) {
        if (!biases) {
            gi_hf_fail(b, GLINFER_STATUS_BAD_FILE, "tensor %s has no biases", weight->tensor->name);
            return false;
        }
        mlx->biases = biases->tensor;
        biases->is_used = true;
    }
    scales->is_used = true;
    weight->mlx = mlx;
    if (!take_shape(b, mlx) || !read_factor(b, scales, format)) {
        return false;
    }
    weight->tensor = &mlx->tensor;
    return true;
}

static bool is_alike(const struct gi_mlx_format *a, const struct gi_mlx_format *b)
{
    return a->mode == b->mode && a->bits == b->bits && a->group == b->group;
}

// Adds the format of most weights, for people, who do not know the types that they become.
static void add_words(struct gi_hf_build *b, const struct gi_hf_mlx *mlx, size_t n)
{
    const struct gi_mlx_format *usual = NULL;
    char text[160];
    size_t most = 0;
    for (size_t i = 0; i < n; i++) {
        size_t n_alike = 0;
        for (size_t j = 0; j < n; j++) {
            n_alike += is_alike(&mlx[i].format, &mlx[j].format);
        }
        usual = n_alike > most ? &mlx[i].format : usual;
        most = n_alike > most ? n_alike : most;
    }
    if (!usual || b->is_for_file) {
        return;
    }
    const int size = snprintf(text, sizeof(text), "MLX %s, %u bits, groups of %u",
                              gi_mlx_mode_name(usual->mode), usual->bits, usual->group);
    if (most < n) {
        snprintf(text + size, sizeof(text) - (size_t)size, "; %zu of %zu matrices have others",
                 n - most, n);
    }
    gi_gguf_add_string(b->out, "glinfer.mlx.format", text, strlen(text));
    if (usual->mode == GI_MLX_AFFINE) { // other modes are types of their names
        gi_gguf_add_u32(b->out, "glinfer.mlx.bits", usual->bits);
    }
}

void gi_hf_mlx_find(struct gi_hf_build *b)
{
    struct gi_hf_sources *sources = b->sources;
    size_t n = 0;
    for (size_t i = 0; i < sources->n_names; i++) {
        n += gi_hf_ends_in(sources->names[i].name, ".scales");
    }
    if (n == 0 || !gi_hf_ok(b)) {
        return;
    }
    sources->mlx = gi_array_zeroed(n, sizeof(*sources->mlx), "quantised tensors", &b->out->error);
    struct gi_hf_mlx *mlx = sources->mlx;
    for (size_t i = 0; mlx && i < sources->n_names; i++) {
        struct gi_hf_name *scales = &sources->names[i];
        struct gi_hf_name *weight =
            gi_hf_ends_in(scales->name, ".scales") ? find_part(b, scales->name, "weight") : NULL;
        if (weight && weight->tensor->type == GI_SAFETENSORS_U32 &&
            !add_weight(b, scales, weight, mlx++)) {
            return;
        }
    }
    add_words(b, sources->mlx, mlx ? (size_t)(mlx - sources->mlx) : 0);
}

//-- rows ------------------------------------------------------------------------------------------

// Reads n rows of a part and puts them where the records have them.
static bool read_part(const struct gi_safetensors *files, const struct gi_safetensor *part,
                      uint64_t row, uint64_t n, size_t size, size_t step, uint8_t *out,
                      uint8_t *memory, struct glinfer_error *err)
{
    if (!gi_safetensors_read(files, part, row * size, (size_t)n * size, memory, err)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        memcpy(out + i * step, memory + i * size, size);
    }
    return true;
}

bool gi_hf_mlx_read(const struct gi_hf_mlx *mlx, const struct gi_safetensors *files, uint64_t row,
                    uint64_t n, uint8_t *out, uint8_t **memory, size_t *capacity,
                    struct glinfer_error *err)
{
    const uint64_t n_cols = mlx->tensor.dims[mlx->tensor.n_dims - 1];
    const size_t quants = (size_t)gi_mlx_quants_size(&mlx->format, n_cols);
    const size_t scales = (size_t)gi_mlx_scales_size(&mlx->format, n_cols);
    const size_t step = (size_t)gi_mlx_row_size(&mlx->format, n_cols);
    return gi_array_grow(memory, capacity, (size_t)n * (quants > scales ? quants : scales), 1,
                         "rows of a folder", err) &&
           read_part(files, mlx->quants, row, n, quants, step, out, *memory, err) &&
           read_part(files, mlx->scales, row, n, scales, step, out + quants, *memory, err) &&
           (!mlx->biases || read_part(files, mlx->biases, row, n, scales, step,
                                      out + quants + scales, *memory, err));
}
