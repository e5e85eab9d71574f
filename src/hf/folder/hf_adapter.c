// PEFT's files: peft, tuners/lora/config.py; the order of rows of q and k as in hf_read.c.
#include "hf/folder/hf_adapter.h"

#include "base/array.h"
#include "gguf/gguf_writer.h"
#include "hf/folder/hf_adapter_config.h"
#include "hf/safetensors.h"
#include "quant/quant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A tensor of the adapter: in the file from a byte of a tensor on, or in memory if its rows change
// places or have a factor of their own.
struct entry {
    const struct gi_safetensor *tensor;
    uint64_t begin;
    uint8_t *rows; // owned; NULL: as in the file
};

struct adapter {
    struct gi_safetensors *files;
    struct entry *entries; // n_entries, at most two for each tensor of the files
    size_t n_entries;
};

// Architectures whose projections have the names below; in some, GGUF files have the rows of q and
// k in another order.
static const struct {
    const char *name;
    bool has_pairs;
} architectures[] = {
    {"llama", true},   {"granite", true}, {"smollm3", true}, {"mistral3", true}, {"qwen2", false},
    {"qwen3", false},  {"qwen35", false}, {"gemma", false},  {"gemma2", false},  {"gemma3", false},
    {"gemma4", false}, {"phi3", false},   {"olmo2", false},  {"lfm2", false},    {"gpt-oss", false},
};

// A projection whose rows are two matrices of GGUF files has two neighbouring entries.
static const struct projection {
    const char *from, *to;
    const char *heads; // key of the heads whose rows may change places; NULL: none
    uint32_t n_pieces; // of the rows
} projections[] = {
    {"self_attn.q_proj", "attn_q", "attention.head_count", 1},
    {"self_attn.k_proj", "attn_k", "attention.head_count_kv", 1},
    {"self_attn.v_proj", "attn_v", NULL, 1},
    {"self_attn.o_proj", "attn_output", NULL, 1},
    {"self_attn.qkv_proj", "attn_qkv", NULL, 1},
    {"mlp.gate_proj", "ffn_gate", NULL, 1},
    {"mlp.up_proj", "ffn_up", NULL, 1},
    {"mlp.down_proj", "ffn_down", NULL, 1},
    {"mlp.gate_up_proj", "ffn_up", NULL, 1},          // Phi 3's gate and up are one matrix
    {"shared_mlp.input_linear", "ffn_gate", NULL, 2}, // Granite 4
    {"shared_mlp.input_linear", "ffn_up", NULL, 2},
    {"shared_mlp.output_linear", "ffn_down", NULL, 1},
    {"self_attn.out_proj", "attn_output", NULL, 1}, // LFM2
    {"feed_forward.w1", "ffn_gate", NULL, 1},
    {"feed_forward.w3", "ffn_up", NULL, 1},
    {"feed_forward.w2", "ffn_down", NULL, 1},
    {"conv.in_proj", "shortconv.in_proj", NULL, 1},
    {"conv.out_proj", "shortconv.out_proj", NULL, 1},
};

struct reading {
    const char *folder;
    const struct gi_gguf *model;
    char arch[64];
    bool has_pairs;
    struct gi_hf_adapter_config config;
    double min_alpha, max_alpha; // of the matrices B so far
    struct adapter *adapter;
    struct gi_gguf_writer writer;
    struct glinfer_error *err;
};

static void destroy(void *user)
{
    struct adapter *adapter = user;
    for (size_t i = 0; i < adapter->n_entries; i++) {
        free(adapter->entries[i].rows);
    }
    free(adapter->entries);
    gi_safetensors_close(adapter->files);
    free(adapter);
}

static bool read_tensor(void *user, size_t tensor, uint64_t offset, size_t size, void *out,
                        struct glinfer_error *err)
{
    const struct adapter *adapter = user;
    const struct entry *entry = &adapter->entries[tensor];
    if (entry->rows) {
        memcpy(out, entry->rows + offset, size);
        return true;
    }
    return gi_safetensors_read(adapter->files, entry->tensor, entry->begin + offset, size, out,
                               err);
}

static bool find_architecture(struct reading *reading)
{
    struct gi_gguf_string arch;
    if (!reading->model) {
        return true;
    }
    if (!gi_gguf_get_string(reading->model, "general.architecture", &arch, reading->err)) {
        return false;
    }
    snprintf(reading->arch, sizeof(reading->arch), "%.*s", (int)arch.size,
             arch.data ? arch.data : "");
    for (size_t i = 0; i < sizeof(architectures) / sizeof(architectures[0]); i++) {
        if (strcmp(architectures[i].name, reading->arch) == 0) {
            reading->has_pairs = architectures[i].has_pairs;
            return true;
        }
    }
    return gi_error_set(reading->err, GLINFER_STATUS_UNSUPPORTED,
                        "%s: adapters of PEFT are not supported for models of \"%s\"; "
                        "convert_lora_to_gguf.py of llama.cpp makes a GGUF file of it",
                        reading->folder, reading->arch);
}

//-- tensors ---------------------------------------------------------------------------------------

// Fills n_head with the heads of a matrix of n_row rows, whose rows change places; 0: they do not.
static bool find_heads(const struct reading *reading, const struct gi_safetensor *tensor,
                       const char *heads, uint64_t n_row, uint32_t *n_head)
{
    char key[128];
    *n_head = 0;
    snprintf(key, sizeof(key), "%s.%s", reading->arch, heads ? heads : "");
    if (!heads || !reading->has_pairs ||
        !gi_gguf_get_u32(reading->model, key, 0, n_head, reading->err)) {
        return !heads || !reading->has_pairs;
    }
    const uint64_t dim = *n_head > 0 ? n_row / *n_head : 0;
    return (dim > 0 && dim % 2 == 0 && n_row % *n_head == 0) ||
           gi_error_set(reading->err, GLINFER_STATUS_BAD_FILE,
                        "%s: %s has %llu rows, expected those of %u heads of even size",
                        reading->folder, tensor->name, (unsigned long long)n_row, *n_head);
}

// Reads n_row rows of a matrix B. Where each of n_head heads has the first half of pairs and then
// the second half, orders them pair by pair. Multiplies by a factor unless it is 1; the rows are
// f32 then.
static bool read_rows(const struct reading *reading, struct entry *entry, enum gi_ggml_type type,
                      uint64_t n_row, uint32_t n_head, double factor)
{
    const struct gi_safetensor *tensor = entry->tensor;
    const struct gi_quant *quant = gi_quant_find((uint32_t)type);
    const size_t n_col = (size_t)tensor->dims[1], size = (size_t)(tensor->size / tensor->dims[0]);
    const size_t own_size = factor == 1 ? size : n_col * sizeof(float);
    uint8_t *file = gi_array_zeroed((size_t)n_row, size, "an adapter", reading->err);
    entry->rows =
        file ? gi_array_zeroed((size_t)n_row, own_size, "an adapter", reading->err) : NULL;
    const bool ok =
        entry->rows && gi_safetensors_read(reading->adapter->files, tensor, entry->begin,
                                           (size_t)n_row * size, file, reading->err);
    for (uint64_t i = 0; ok && i < n_row; i++) {
        const uint64_t dim = n_head > 0 ? n_row / n_head : 1, at = n_head > 0 ? i % dim : 0;
        const uint64_t from = i - at + at % 2 * (dim / 2) + at / 2;
        uint8_t *row = entry->rows + i * own_size;
        if (factor == 1) {
            memcpy(row, file + from * size, size);
            continue;
        }
        float *floats = (float *)row;
        gi_quant_dequantize_row(quant, file + from * size, n_col, floats);
        for (size_t j = 0; j < n_col; j++) {
            floats[j] = (float)(floats[j] * factor);
        }
    }
    free(file);
    return ok;
}

// Returns the first projection of a tensor with its layer, and whether it is a matrix B; NULL for
// names of something else, such as layers of a tower for pictures.
static const struct projection *find_projection(const char *name, unsigned long *layer, bool *is_b)
{
    enum { MAX_DIGITS = 9 };
    static const char *const ends[] = {".lora_A.weight", ".lora_B.weight"};
    const char *at = strstr(name, "layers.");
    const char *number = at ? at + strlen("layers.") : "", *end = number;
    for (*layer = 0; *end >= '0' && *end <= '9' && end - number < MAX_DIGITS; end++) {
        *layer = *layer * 10 + (unsigned long)(*end - '0');
    }
    if (end == number || *end != '.' || (*number == '0' && end > number + 1) ||
        strstr(name, "vision") || strstr(name, "audio")) {
        return NULL;
    }
    for (size_t i = 0; i < 2 * sizeof(projections) / sizeof(projections[0]); i++) {
        const size_t size = strlen(projections[i / 2].from);
        if (strncmp(end + 1, projections[i / 2].from, size) == 0 &&
            strcmp(end + 1 + size, ends[i % 2]) == 0) {
            *is_b = i % 2;
            return &projections[i / 2];
        }
    }
    return NULL;
}

// Returns the alpha of a product that is divided by its rank, where no pattern gives another.
static double find_alpha(const struct gi_hf_adapter_config *config)
{
    return config->alpha * (config->divides_by_root ? sqrt(config->rank) : 1);
}

// Adds a piece of the rows of a matrix B, or a matrix A once more.
static bool add_piece(struct reading *reading, const struct gi_safetensor *tensor,
                      const struct projection *projection, uint32_t piece, unsigned long layer,
                      bool is_b)
{
    struct entry *entry = &reading->adapter->entries[reading->adapter->n_entries++];
    const enum gi_ggml_type type = tensor->type == GI_SAFETENSORS_F32   ? GI_GGML_TYPE_F32
                                   : tensor->type == GI_SAFETENSORS_F16 ? GI_GGML_TYPE_F16
                                                                        : GI_GGML_TYPE_BF16;
    const uint32_t n = is_b ? projection->n_pieces : 1;
    const uint64_t dims[4] = {tensor->dims[1], tensor->dims[0] / n, 1, 1};
    const double factor =
        is_b ? gi_hf_adapter_factor(&reading->config, tensor->name, tensor->dims[1]) : 1;
    const double alpha = factor * find_alpha(&reading->config);
    uint32_t n_head;
    char name[96];
    if (is_b) {
        reading->min_alpha = fmin(reading->min_alpha, alpha);
        reading->max_alpha = fmax(reading->max_alpha, alpha);
    }
    entry->tensor = tensor;
    entry->begin = n > 1 ? tensor->size / n * piece : 0;
    snprintf(name, sizeof(name), "blk.%lu.%s.weight.lora_%c", layer, projection->to,
             is_b ? 'b' : 'a');
    gi_gguf_add_tensor(&reading->writer, name, factor == 1 ? type : GI_GGML_TYPE_F32, 2, dims);
    return find_heads(reading, tensor, is_b ? projection->heads : NULL, dims[1], &n_head) &&
           ((n_head == 0 && factor == 1) ||
            read_rows(reading, entry, type, dims[1], n_head, factor));
}

static bool add_tensor(struct reading *reading, const struct gi_safetensor *tensor)
{
    const bool is_float = tensor->type == GI_SAFETENSORS_F32 ||
                          tensor->type == GI_SAFETENSORS_F16 || tensor->type == GI_SAFETENSORS_BF16;
    unsigned long layer;
    bool is_b = false;
    const struct projection *projection = find_projection(tensor->name, &layer, &is_b);
    const uint32_t n = projection ? projection->n_pieces : 1;
    if (!projection || !is_float || tensor->n_dims != 2 || tensor->n_elements == 0 ||
        (is_b && tensor->dims[0] % n != 0)) {
        return gi_error_set(reading->err, GLINFER_STATUS_UNSUPPORTED,
                            "%s: cannot use tensor %.120s: adapters may change the matrices of "
                            "attention and of dense networks, by matrices of F32, F16 or "
                            "BF16; " GI_HF_ADAPTER_MERGE,
                            reading->folder, tensor->name);
    }
    bool ok = gi_hf_adapter_check_rank(&reading->config, tensor->name, tensor->dims[is_b ? 1 : 0],
                                       reading->err);
    for (uint32_t i = 0; ok && i < n; i++) {
        ok = add_piece(reading, tensor, projection + i, i, layer, is_b);
    }
    return ok;
}

static bool add_tensors(struct reading *reading)
{
    struct adapter *adapter = reading->adapter;
    const size_t n = gi_safetensors_count(adapter->files);
    adapter->entries = gi_array_zeroed(2 * n, sizeof(struct entry), "an adapter", reading->err);
    bool ok = adapter->entries;
    for (size_t i = 0; ok && i < n; i++) {
        ok = add_tensor(reading, gi_safetensors_at(adapter->files, i));
    }
    return ok;
}

static void add_pairs(struct reading *reading)
{
    const struct gi_hf_adapter_config *config = &reading->config;
    const char *base = gi_hf_json_text(config->json, "base_model_name_or_path");
    if (reading->model) {
        gi_gguf_add_string(&reading->writer, "general.architecture", reading->arch,
                           strlen(reading->arch));
    }
    gi_gguf_add_string(&reading->writer, "general.base_model.0.name", base, strlen(base));
    gi_gguf_add_string(&reading->writer, "general.type", "adapter", strlen("adapter"));
    gi_gguf_add_string(&reading->writer, "adapter.type", "lora", strlen("lora"));
    gi_gguf_add_f32(&reading->writer, "adapter.lora.alpha", (float)find_alpha(config));
    gi_gguf_add_f32(&reading->writer, GI_HF_MIN_ALPHA, (float)reading->min_alpha);
    gi_gguf_add_f32(&reading->writer, GI_HF_MAX_ALPHA, (float)reading->max_alpha);
}

static bool has_file(const char *folder, const char *name)
{
    char *path = gi_hf_path(folder, name, NULL);
    const bool is_there = path && access(path, F_OK) == 0;
    free(path);
    return is_there;
}

// Fails with NOT_FOUND and advice if the folder lacks one of its two files.
static bool check_files(const char *folder, struct glinfer_error *err)
{
    const struct {
        const char *name, *advice;
    } files[] = {
        {"adapter_config.json", "a folder of PEFT has adapter_config.json and "
                                "adapter_model.safetensors; a whole model is given with -m"},
        {"adapter_model.safetensors",
         has_file(folder, "adapters.safetensors")
             ? "adapters of MLX are not supported; mlx_lm.fuse merges one into its model"
             : "save the adapter as SafeTensors, as save_pretrained of PEFT does"},
    };
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof(files) / sizeof(files[0]); i++) {
        char *path = gi_hf_path(folder, files[i].name, err);
        ok = path && (access(path, F_OK) == 0 ||
                      gi_error_set(err, GLINFER_STATUS_NOT_FOUND, "%s: there is no %s: %s", folder,
                                   files[i].name, files[i].advice));
        free(path);
    }
    return ok;
}

bool gi_hf_is_adapter(const char *path)
{
    return has_file(path, "adapter_config.json") && !has_file(path, "config.json");
}

struct gi_gguf *gi_hf_open_adapter(const char *folder, const struct gi_gguf *model,
                                   struct glinfer_error *err)
{
    struct reading reading = {.folder = folder,
                              .model = model,
                              .min_alpha = INFINITY,
                              .max_alpha = -INFINITY,
                              .err = err};
    if (!check_files(folder, err)) {
        return NULL;
    }
    char *path = gi_hf_path(folder, "adapter_model.safetensors", err);
    reading.adapter = path ? gi_array_zeroed(1, sizeof(*reading.adapter), "an adapter", err) : NULL;
    bool ok = reading.adapter && gi_hf_adapter_config_read(&reading.config, folder, err) &&
              find_architecture(&reading);
    if (ok) {
        reading.adapter->files = gi_safetensors_open(GI_SOURCE_PATH(path), err);
        ok = reading.adapter->files && add_tensors(&reading);
    }
    free(path);
    struct gi_gguf *gguf = NULL;
    if (ok) {
        const struct gi_gguf_tensor_reader reader = {reading.adapter, read_tensor, destroy};
        add_pairs(&reading);
        gguf = gi_gguf_compose(&reading.writer, folder, &reader, err);
    } else if (reading.adapter) {
        destroy(reading.adapter);
    }
    gi_hf_adapter_config_finish(&reading.config);
    gi_gguf_writer_finish(&reading.writer);
    return gguf;
}
