#include "base/array.h"
#include "base/bytes.h"
#include "hf/hf_json.h"
#include "hf/safetensors_file.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#define PREFIX_SIZE 8u // the length of the header

static const struct {
    const char *name;
    uint32_t bits;
    bool is_read;
} types[] = {
#define TYPE_ROW(name, bits, is_read) {#name, bits, is_read},
    GI_SAFETENSORS_TYPE_MAP(TYPE_ROW)
#undef TYPE_ROW
};

const char *gi_safetensors_type_name(enum gi_safetensors_type type)
{
    return types[type].name;
}

uint32_t gi_safetensors_type_bits(enum gi_safetensors_type type)
{
    return types[type].bits;
}

//-- one tensor ----------------------------------------------------------------------------------

// The header that is read, for checks and messages.
struct place {
    const char *path;
    const char *tensor;
    uint64_t data_start; // of the tensors, from the start of the file
    uint64_t data_size;  // bytes
    struct glinfer_error *err;
};

static bool bad_field(const struct place *place, const char *field, const char *expected)
{
    return gi_error_set(place->err, GLINFER_STATUS_BAD_FILE,
                        "%s: tensor %s: %s is missing or invalid, expected %s: the file is damaged",
                        place->path, place->tensor, field, expected);
}

static bool read_type(struct gi_safetensor *t, const cJSON *json, const struct place *place)
{
    const cJSON *dtype = cJSON_GetObjectItemCaseSensitive(json, "dtype");
    if (!cJSON_IsString(dtype)) {
        return bad_field(place, "dtype", "the name of a type");
    }
    // Names that some writers give the two types.
    const char *name =
        strcmp(dtype->valuestring, "F8_E4M3FN") == 0 ? "F8_E4M3" : dtype->valuestring;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(types[i].name, name) == 0) {
            t->type = (enum gi_safetensors_type)i;
            return true;
        }
    }
    return gi_error_set(place->err, GLINFER_STATUS_UNSUPPORTED,
                        "%s: tensor %s has type %s, which is unknown: use a model in BF16, F16 or "
                        "F32",
                        place->path, place->tensor, dtype->valuestring);
}

static bool read_shape(struct gi_safetensor *t, const cJSON *json, const struct place *place)
{
    const cJSON *shape = cJSON_GetObjectItemCaseSensitive(json, "shape"), *dim;
    if (!cJSON_IsArray(shape)) {
        return bad_field(place, "shape", "a list of sizes");
    }
    t->n_elements = 1;
    for (uint32_t i = 0; i < GI_SAFETENSORS_MAX_DIMS; i++) {
        t->dims[i] = 1;
    }
    cJSON_ArrayForEach(dim, shape)
    {
        uint64_t n;
        if (t->n_dims == GI_SAFETENSORS_MAX_DIMS) {
            return gi_error_set(place->err, GLINFER_STATUS_UNSUPPORTED,
                                "%s: tensor %s has more than %d dimensions", place->path,
                                place->tensor, GI_SAFETENSORS_MAX_DIMS);
        }
        if (!gi_hf_json_count(dim, &n) || (n > 0 && t->n_elements > (1ull << 53) / n)) {
            return bad_field(place, "shape", "sizes with a product below 2^53");
        }
        t->dims[t->n_dims++] = n;
        t->n_elements *= n;
    }
    return true;
}

static bool read_offsets(struct gi_safetensor *t, const cJSON *json, const struct place *place)
{
    const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(json, "data_offsets");
    uint64_t begin, end;
    if (!cJSON_IsArray(offsets) || cJSON_GetArraySize(offsets) != 2 ||
        !gi_hf_json_count(offsets->child, &begin) ||
        !gi_hf_json_count(offsets->child->next, &end) || begin > end) {
        return bad_field(place, "data_offsets", "the first byte and the byte after the last");
    }
    const uint64_t bits = t->n_elements * types[t->type].bits; // below 2^59
    if (bits % 8 != 0 || end - begin != bits / 8) {
        return gi_error_set(place->err, GLINFER_STATUS_BAD_FILE,
                            "%s: tensor %s: data_offsets give %" PRIu64 " bytes, expected %" PRIu64
                            " elements of type %s: the file is damaged",
                            place->path, place->tensor, end - begin, t->n_elements,
                            types[t->type].name);
    }
    if (end > place->data_size) {
        return gi_error_set(place->err, GLINFER_STATUS_BAD_FILE,
                            "%s: tensor %s ends at byte %" PRIu64 " of the data, which has %" PRIu64
                            ": the file is damaged or was not downloaded completely",
                            place->path, place->tensor, end, place->data_size);
    }
    t->offset = place->data_start + begin;
    t->size = end - begin;
    return true;
}

//-- header --------------------------------------------------------------------------------------

static bool read_tensors(struct gi_safetensors *files, struct gi_safetensors_file *file,
                         uint64_t header_size, struct glinfer_error *err)
{
    const struct gi_source *source = &file->source;
    struct place place = {.path = source->name,
                          .data_start = PREFIX_SIZE + header_size,
                          .data_size = source->size - PREFIX_SIZE - header_size,
                          .err = err};
    const cJSON *json;
    cJSON_ArrayForEach(json, file->header)
    {
        struct gi_safetensor t = {.name = json->string,
                                  .file = (uint32_t)(file - files->files.data)};
        place.tensor = json->string;
        if (strcmp(json->string, "__metadata__") == 0) {
            continue;
        }
        if (!cJSON_IsObject(json)) {
            return bad_field(&place, "its description", "an object");
        }
        if (!read_type(&t, json, &place) || !read_shape(&t, json, &place) ||
            !read_offsets(&t, json, &place) ||
            !GI_ARRAY_PUSH(&files->tensors, "the tensor directory", err, t)) {
            return false;
        }
    }
    return true;
}

static int compare_offsets(const void *a, const void *b)
{
    const struct gi_safetensor *left = a, *right = b;
    if (left->offset != right->offset) {
        return left->offset < right->offset ? -1 : 1;
    }
    return left->size < right->size ? -1 : left->size > right->size;
}

// Checks that the n tensors of a file lie one after another and leave no byte over.
static bool check_cover(const struct gi_source *source, struct gi_safetensor *tensors, size_t n,
                        uint64_t data_start, struct glinfer_error *err)
{
    uint64_t end = data_start;
    if (n > 1) {
        qsort(tensors, n, sizeof(*tensors), compare_offsets);
    }
    for (size_t i = 0; i < n; i++) {
        const struct gi_safetensor *t = &tensors[i];
        if (t->offset < end) {
            return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                                "%s: tensor %s begins at byte %" PRIu64
                                " inside tensor %s: the file is damaged",
                                source->name, t->name, t->offset, tensors[i - 1].name);
        }
        if (t->offset > end) {
            return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                                "%s: tensor %s begins at byte %" PRIu64 ", expected %" PRIu64
                                ", where the data before it ends: the file is damaged",
                                source->name, t->name, t->offset, end);
        }
        end += t->size;
    }
    return end == source->size ||
           gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                        "%s: the tensors end at byte %" PRIu64 ", but the file has %" PRIu64
                        " bytes: the file is damaged",
                        source->name, end, source->size);
}

static bool read_header_size(const struct gi_source *source, uint64_t *header_size,
                             struct glinfer_error *err)
{
    uint8_t bytes[PREFIX_SIZE];
    if (source->size < PREFIX_SIZE) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                            "%s: not a SafeTensors file: it has %" PRIu64 " bytes", source->name,
                            source->size);
    }
    if (!gi_source_read(source, 0, PREFIX_SIZE, bytes, err)) {
        return false;
    }
    if (memcmp(bytes, "version ", PREFIX_SIZE) == 0) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                            "%s: is a pointer of Git LFS; the file itself comes with `git lfs "
                            "pull`",
                            source->name);
    }
    *header_size = gi_load_u64(bytes);
    if (*header_size > GI_HF_JSON_MAX_SIZE) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                            "%s: the header takes %" PRIu64 " bytes, at most %d are allowed: it is "
                            "not a SafeTensors file, or damaged",
                            source->name, *header_size, GI_HF_JSON_MAX_SIZE);
    }
    return *header_size <= source->size - PREFIX_SIZE ||
           gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                        "%s: the header takes %" PRIu64 " bytes, but %" PRIu64
                        " are left: the file is damaged or was not downloaded completely",
                        source->name, *header_size, source->size - PREFIX_SIZE);
}

static cJSON *parse_header(const struct gi_source *source, uint64_t size, struct glinfer_error *err)
{
    char *text = gi_array_zeroed(size + 1, 1, "a header of SafeTensors", err);
    cJSON *json = NULL;
    if (text && gi_source_read(source, PREFIX_SIZE, (size_t)size, text, err)) {
        json = gi_hf_json_parse(text, (size_t)size, source->name, err);
    }
    free(text);
    if (json && !cJSON_IsObject(json)) {
        gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                     "%s: the header is not a JSON object: the file is damaged", source->name);
        cJSON_Delete(json);
        return NULL;
    }
    return json;
}

bool gi_safetensors_add(struct gi_safetensors *files, const struct glinfer_source *source,
                        struct glinfer_error *err)
{
    const size_t first = files->tensors.count;
    uint64_t header_size = 0;
    if (!GI_ARRAY_PUSH(&files->files, "files of a folder", err, (struct gi_safetensors_file){0})) {
        return false;
    }
    struct gi_safetensors_file *file = &files->files.data[files->files.count - 1];
    if (!gi_source_open(&file->source, source, err) ||
        !read_header_size(&file->source, &header_size, err)) {
        return false;
    }
    file->header = parse_header(&file->source, header_size, err);
    return file->header && read_tensors(files, file, header_size, err) &&
           check_cover(&file->source, first > 0 ? &files->tensors.data[first] : files->tensors.data,
                       files->tensors.count - first, PREFIX_SIZE + header_size, err);
}

//-- open, close ---------------------------------------------------------------------------------

struct gi_safetensors *gi_safetensors_create(const char *path, struct glinfer_error *err)
{
    struct gi_safetensors *files = NULL;
    char *copy = NULL;
    if (GI_ARRAYS_ZEROED("the files of a model", err, GI_NEW(files, 1),
                         GI_NEW(copy, strlen(path) + 1))) {
        memcpy(copy, path, strlen(path) + 1);
        files->path = copy;
    }
    return files;
}

static int compare_names(const void *a, const void *b)
{
    const struct gi_safetensor *left = a, *right = b;
    return strcmp(left->name, right->name);
}

bool gi_safetensors_sort(struct gi_safetensors *files, struct glinfer_error *err)
{
    const struct gi_safetensor *t = files->tensors.data;
    if (files->tensors.count > 1) {
        qsort(files->tensors.data, files->tensors.count, sizeof(*t), compare_names);
    }
    for (size_t i = 1; i < files->tensors.count; i++) {
        if (strcmp(t[i - 1].name, t[i].name) == 0) {
            const char *other = gi_safetensors_file_path(files, &t[i - 1]);
            return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                                t[i].file == t[i - 1].file
                                    ? "%s: tensor %s appears twice: the file is damaged"
                                    : "%s: tensor %s is in %s, too: the files are of two models",
                                gi_safetensors_file_path(files, &t[i]), t[i].name, other);
        }
    }
    return true;
}

struct gi_safetensors *gi_safetensors_open(const struct glinfer_source *source,
                                           struct glinfer_error *err)
{
    struct gi_safetensors *files =
        gi_safetensors_create(source->path ? source->path : "SafeTensors", err);
    if (files && (!gi_safetensors_add(files, source, err) || !gi_safetensors_sort(files, err))) {
        gi_safetensors_close(files);
        return NULL;
    }
    return files;
}

void gi_safetensors_close(struct gi_safetensors *files)
{
    for (size_t i = 0; files && i < files->files.count; i++) {
        gi_source_close(&files->files.data[i].source);
        cJSON_Delete(files->files.data[i].header);
    }
    if (files) {
        free(files->files.data);
        free(files->tensors.data);
        free(files->path);
        free(files);
    }
}

//-- contents -----------------------------------------------------------------------------------

const char *gi_safetensors_path(const struct gi_safetensors *files)
{
    return files->path;
}

const char *gi_safetensors_file_path(const struct gi_safetensors *files,
                                     const struct gi_safetensor *tensor)
{
    return files->files.data[tensor->file].source.name;
}

size_t gi_safetensors_count(const struct gi_safetensors *files)
{
    return files->tensors.count;
}

const struct gi_safetensor *gi_safetensors_at(const struct gi_safetensors *files, size_t index)
{
    return &files->tensors.data[index];
}

const struct gi_safetensor *gi_safetensors_find(const struct gi_safetensors *files,
                                                const char *name)
{
    const struct gi_safetensor key = {.name = name};
    return files->tensors.count == 0 ? NULL
                                     : bsearch(&key, files->tensors.data, files->tensors.count,
                                               sizeof(key), compare_names);
}

bool gi_safetensors_check_type(const struct gi_safetensors *files,
                               const struct gi_safetensor *tensor, struct glinfer_error *err)
{
    return types[tensor->type].is_read ||
           gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                        "%s: tensor %s has type %s, which is not supported: use a model in BF16, "
                        "F16 or F32",
                        gi_safetensors_file_path(files, tensor), tensor->name,
                        types[tensor->type].name);
}

bool gi_safetensors_read(const struct gi_safetensors *files, const struct gi_safetensor *tensor,
                         uint64_t offset, size_t size, void *out, struct glinfer_error *err)
{
    assert(offset <= tensor->size && size <= tensor->size - offset);
    return gi_source_read(&files->files.data[tensor->file].source, tensor->offset + offset, size,
                          out, err);
}
