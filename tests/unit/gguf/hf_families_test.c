// Folders of all families against what llama.cpp's converter makes of them: every pair and every
// tensor of tests/data/folders/*.twin, which tools/golden/folder/folder_twin.py lists.
#include "base/array.h"
#include "hf/folder/hf_adapter.h"
#include "hf/folder/hf_folder.h"
#include "hf/hf_build.h"
#include "quant/quant.h"
#include "tests/data/test_data.h"
#include "tests/unit/failing_alloc.h"
#include "tests/unit/gguf/hf_edited.h"
#include "tests/unit/temp_folder.h"
#include "tests/unit/wrap.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_LINE = 8192 };

// Tokenizers have tests of their own.
WRAP(bool, gi_hf_add_tokenizer, struct gi_hf_build *b, const char *folder)
{
    (void)b, (void)folder;
    return true;
}

static struct gi_gguf *open_folder(const char *name, const char *quantize)
{
    char file[128];
    struct glinfer_error err = {0};
    snprintf(file, sizeof(file), "data/folders/%s", name);
    struct gi_gguf *gguf = gi_hf_open(test_data(file), quantize, &err);
    if (!gguf) {
        fail_msg("%s", err.message);
    }
    return gguf;
}

// Returns the elements of a tensor, which the caller frees.
static float *read_tensor(const struct gi_gguf *gguf, const struct gi_gguf_tensor *tensor)
{
    struct glinfer_error err = {0};
    const struct gi_quant *quant = gi_quant_find(tensor->type->type);
    uint8_t *bytes = malloc((size_t)tensor->size);
    float *values = malloc((size_t)tensor->n_elements * sizeof(*values));
    assert_true(bytes && values && quant);
    assert_true(gi_gguf_tensor_read(gguf, tensor, 0, (size_t)tensor->size, bytes, &err));
    for (uint64_t done = 0; done < tensor->n_elements; done += tensor->dims[0]) {
        gi_quant_dequantize_row(quant,
                                bytes + done / tensor->type->block_size * tensor->type->block_bytes,
                                (size_t)tensor->dims[0], values + done);
    }
    free(bytes);
    return values;
}

static uint64_t fnv1a(const void *data, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ ((const uint8_t *)data)[i]) * 0x100000001b3;
    }
    return hash;
}

//-- tensors ---------------------------------------------------------------------------------------

static const struct gi_gguf_tensor *find_tensor(const struct gi_gguf *gguf, const char *name,
                                                const char *dims)
{
    const struct gi_gguf_tensor *tensor = gi_gguf_tensor_find(gguf, name);
    char text[96];
    size_t used = 0;
    if (!tensor) {
        fail_msg("%s: no tensor %s", gi_gguf_path(gguf), name);
    }
    for (uint32_t i = 0; i < tensor->n_dims; i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%llu", i > 0 ? "x" : "",
                                 (unsigned long long)tensor->dims[i]);
    }
    if (strcmp(text, dims) != 0) {
        fail_msg("%s: %s is %s, expected %s", gi_gguf_path(gguf), name, text, dims);
    }
    return tensor;
}

static void check_tensor(const struct gi_gguf *gguf, const char *name, const char *dims, char *text,
                         bool is_hash)
{
    const struct gi_gguf_tensor *tensor = find_tensor(gguf, name, dims);
    float *values = read_tensor(gguf, tensor);
    if (is_hash) {
        const uint64_t hash = fnv1a(values, (size_t)tensor->n_elements * sizeof(*values));
        if (hash != strtoull(text, NULL, 16)) {
            fail_msg("%s: the elements of %s differ, the first is %g", gi_gguf_path(gguf), name,
                     (double)values[0]);
        }
    }
    for (uint64_t i = 0; !is_hash && i < tensor->n_elements; i++) {
        const float expected = strtof(text, &text), scale = fabsf(expected);
        if (!(fabsf(values[i] - expected) <= 2e-6f * scale)) {
            fail_msg("%s: element %llu of %s is %g, expected %g", gi_gguf_path(gguf),
                     (unsigned long long)i, name, (double)values[i], (double)expected);
        }
    }
    free(values);
}

//-- pairs -----------------------------------------------------------------------------------------

// Returns true for pairs that glinfer may leave out: counts of zero, keys of a kind of layer that
// the model lacks, and keys that it does not read.
static bool is_needless(const struct gi_gguf *gguf, const char *key, const char *text)
{
    const bool has_state = gi_gguf_tensor_find(gguf, "blk.0.ssm_in.weight") != NULL;
    const bool has_experts = gi_gguf_tensor_find(gguf, "blk.0.ffn_gate_inp.weight") != NULL;
    return strcmp(text, "0") == 0 || (!has_state && strstr(key, ".ssm.")) ||
           (!has_experts && strstr(key, "expert_shared")) || strstr(key, "scaling.finetuned") ||
           strstr(key, ".vocab_size") ||
           strcmp(key, "modern-bert.attention.layer_norm_rms_epsilon") == 0;
}

// Writes an element of an array as lists have it.
static void element_text(const struct gi_gguf_array *array, uint64_t i, char *out, size_t size)
{
    if (array->kind == GI_GGUF_KIND_BOOL) {
        snprintf(out, size, "%d", array->data[i] != 0);
    } else if (array->kind == GI_GGUF_KIND_STRING) {
        snprintf(out, size, "%.*s", (int)array->strings[i].size, array->strings[i].data);
    } else {
        snprintf(out, size, "%d", gi_gguf_array_i32(array, i));
    }
}

static bool find_array(const struct gi_gguf *gguf, const char *key, struct gi_gguf_array *array)
{
    const enum gi_gguf_kind kinds[] = {GI_GGUF_KIND_I32, GI_GGUF_KIND_BOOL, GI_GGUF_KIND_STRING};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (gi_gguf_get_array(gguf, key, kinds[i], array, NULL) && array->count > 0) {
            return true;
        }
    }
    return false;
}

// Returns true if the value of a pair is what the text says.
static bool is_equal(const struct gi_gguf *gguf, const char *key, const char *text)
{
    struct gi_gguf_array array;
    struct gi_gguf_string string;
    uint32_t number;
    bool flag;
    float real;
    if (strstr(text, "0x")) {
        return gi_gguf_get_f32(gguf, key, NAN, &real, NULL) &&
               fabsf(real - strtof(text, NULL)) <= 1e-6f * fabsf(real);
    }
    if (find_array(gguf, key, &array)) {
        char joined[1024] = "";
        size_t used = 0;
        for (uint64_t i = 0; i < array.count; i++) {
            char word[64];
            element_text(&array, i, word, sizeof(word));
            used += (size_t)snprintf(joined + used, sizeof(joined) - used, "%s%s", i > 0 ? " " : "",
                                     word);
        }
        return strcmp(joined, text) == 0;
    }
    if (gi_gguf_get_string(gguf, key, &string, NULL)) {
        return string.size == strlen(text) && memcmp(string.data, text, string.size) == 0;
    }
    if (gi_gguf_get_bool(gguf, key, false, &flag, NULL)) {
        return flag == (strcmp(text, "1") == 0);
    }
    return gi_gguf_get_u32(gguf, key, UINT32_MAX, &number, NULL) &&
           number == strtoul(text, NULL, 10);
}

static void check_pair(const struct gi_gguf *gguf, const char *key, const char *text)
{
    if (gi_gguf_has(gguf, key) ? !is_equal(gguf, key, text) : !is_needless(gguf, key, text)) {
        fail_msg("%s: the pair %s is %s, expected %s", gi_gguf_path(gguf), key,
                 gi_gguf_has(gguf, key) ? "different" : "missing", text);
    }
}

//-- twins -----------------------------------------------------------------------------------------

static void check_twin(const char *name)
{
    char file[128], line[MAX_LINE];
    snprintf(file, sizeof(file), "data/folders/%s.twin", name);
    FILE *twin = fopen(test_data(file), "r");
    assert_non_null(twin);
    struct gi_gguf *gguf = open_folder(name, "none");
    size_t n_tensors = 0;
    while (fgets(line, sizeof(line), twin)) {
        char *word = strtok(line, " "), *key = strtok(NULL, " \n"), *rest = strtok(NULL, "\n");
        if (strcmp(word, "arch") == 0) {
            assert_true(is_equal(gguf, "general.architecture", key));
        } else if (strcmp(word, "pair") == 0) {
            check_pair(gguf, key, rest);
        } else {
            char *dims = strtok(rest, " "), *text = strtok(NULL, "\n");
            check_tensor(gguf, key, dims, text, strcmp(word, "tensor") == 0);
            n_tensors++;
        }
    }
    fclose(twin);
    // The classifier of BERT has a layer more than the reference makes of it.
    n_tensors += gi_gguf_tensor_find(gguf, "cls.weight") ? 2 : 0;
    assert_int_equal(gi_gguf_tensor_count(gguf), n_tensors);
    gi_gguf_close(gguf);
}

TEST(folders_of_all_families_equal_their_twins)
{
    DIR *dir = opendir(test_data("data/folders"));
    size_t n = 0;
    assert_non_null(dir);
    for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        char name[64];
        const size_t size = strcspn(entry->d_name, ".");
        if (strcmp(entry->d_name + size, ".twin") == 0 && size < sizeof(name)) {
            snprintf(name, sizeof(name), "%.*s", (int)size, entry->d_name);
            check_twin(name);
            n++;
        }
    }
    closedir(dir);
    assert_true(n >= 30);
}

// Offsets and sizes at which a loader may read.
TEST(reading_in_pieces_gives_the_bytes_of_one_read)
{
    static const char *const names[] = {
        "qwen35", "gpt_oss", "gpt_oss_bf16", "granitehybrid_moe", "mlx_affine", "mlx_floats"};
    struct glinfer_error err = {0};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct gi_gguf *gguf = open_folder(names[i], "none");
        for (size_t t = 0; t < gi_gguf_tensor_count(gguf); t++) {
            const struct gi_gguf_tensor *tensor = gi_gguf_tensor_at(gguf, t);
            const size_t size = (size_t)tensor->size, step = 37;
            uint8_t *whole = malloc(size), *pieces = malloc(size);
            assert_true(whole && pieces);
            assert_true(gi_gguf_tensor_read(gguf, tensor, 0, size, whole, &err));
            for (size_t at = 0; at < size; at += step) {
                const size_t n = size - at < step ? size - at : step;
                assert_true(gi_gguf_tensor_read(gguf, tensor, at, n, pieces + at, &err));
            }
            assert_memory_equal(whole, pieces, size);
            free(whole);
            free(pieces);
        }
        gi_gguf_close(gguf);
    }
}

//-- what is refused -------------------------------------------------------------------------------

static const struct {
    const char *folder, *text, *other;
    enum glinfer_status status;
    const char *says;
} wrong[] = {
    {"gemma3", "\"gemma3_text\"", "\"gemma9\"", GLINFER_STATUS_UNSUPPORTED,
     "model_type \"gemma9\" (Gemma3ForCausalLM), is not supported in folders, but may be in "
     "GGUF files (-m FILE.gguf, `glinfer pull`); folders may be of llama"},
    {"gemma3", "\"num_hidden_layers\"", "\"layers\"", GLINFER_STATUS_BAD_FILE,
     "the key num_hidden_layers is missing"},
    {"gemma4_dense", "\"layer_types\"", "\"layers\"", GLINFER_STATUS_BAD_FILE,
     "the key layer_types is missing"},
    {"gemma4_dense", "\"full_attention\"]", "7]", GLINFER_STATUS_UNSUPPORTED,
     "layer_types has 7, only full_attention or sliding_attention is supported"},
    {"gemma4_dense", ",\"full_attention\"]", "]", GLINFER_STATUS_BAD_FILE,
     "the key layer_types is invalid, expected a list of 2 texts"},
    {"gemma4_dense", "\"num_hidden_layers\":2", "\"num_hidden_layers\":700",
     GLINFER_STATUS_BAD_FILE, "num_hidden_layers is 700, expected 1 to 512"},
    {"gemma4", "\"global_head_dim\":32", "\"global_head_dim\":0", GLINFER_STATUS_UNSUPPORTED,
     "a global_head_dim of 0"},
    {"gemma4", "\"full_attention\":{", "\"full_attention\":1,\"other\":{", GLINFER_STATUS_BAD_FILE,
     "the key rope_parameters.full_attention is invalid, expected an object"},
    {"qwen35moe", "\"shared_expert_intermediate_size\":32", "\"shared_expert_intermediate_size\":0",
     GLINFER_STATUS_BAD_FILE, "shared_expert_intermediate_size is 0"},
    {"lfm2moe", "\"norm_topk_prob\":true", "\"norm_topk_prob\":[]", GLINFER_STATUS_UNSUPPORTED,
     "norm_topk_prob is [], only true"},
    {"llama", "\"head_dim\":16", "\"head_dim\":0", GLINFER_STATUS_BAD_FILE,
     "4 heads of 0 elements are invalid"},
    {"llama", "\"rope_scaling\":{", "\"rope_scaling\":7,\"other\":{", GLINFER_STATUS_BAD_FILE,
     "the key rope_scaling is invalid, expected an object"},
    {"llama", "\"rope_type\":\"llama3\"", "\"rope_type\":3", GLINFER_STATUS_BAD_FILE,
     "the key rope_scaling.rope_type is invalid, expected a text"},
    {"llama", "\"factor\":32.0", "\"factor\":0", GLINFER_STATUS_BAD_FILE,
     "the factor of rope_scaling is 0, expected 1 to 1000000"},
    {"llama", "\"low_freq_factor\":1.0", "\"low_freq_factor\":-1", GLINFER_STATUS_BAD_FILE,
     "low_freq_factor -1"},
    {"phi3", "\"longrope\"", "\"yarn\"", GLINFER_STATUS_UNSUPPORTED, "RoPE scaling \"yarn\""},
    {"phi3", "\"short_factor\":[1.0,", "\"short_factor\":[", GLINFER_STATUS_BAD_FILE,
     "rope_scaling has 5 numbers for rope_factors_short.weight, expected 6"},
    {"phi3", "original_max_position_embeddings\":128", "original_max_position_embeddings\":0",
     GLINFER_STATUS_BAD_FILE, "an original context of 0"},
    {"llama", "\"head_dim\":16", "\"head_dim\":16,\"partial_rotary_factor\":1e30",
     GLINFER_STATUS_UNSUPPORTED, "partial_rotary_factor is 1e+30, only 1 is supported"},
    {"llama", "\"head_dim\":16", "\"head_dim\":4294967295", GLINFER_STATUS_BAD_FILE,
     "4 heads of 4294967295 elements are invalid, expected 1 to 65536"},
    {"phi3", "\"partial_rotary_factor\":0.75", "\"partial_rotary_factor\":-1",
     GLINFER_STATUS_BAD_FILE, "config.json: partial_rotary_factor is -1 of 64"},
    {"lfm2", "\"block_multiple_of\":16", "\"block_multiple_of\":0", GLINFER_STATUS_BAD_FILE,
     "block_multiple_of is 0"},
    {"qwen35", "\"linear_num_key_heads\":2", "\"linear_num_key_heads\":3", GLINFER_STATUS_BAD_FILE,
     "4 heads of v cannot share 3 heads of k"},
    {"qwen35", "\"linear_value_head_dim\":16", "\"linear_value_head_dim\":24",
     GLINFER_STATUS_BAD_FILE, "does not have the 160 rows"},
    {"qwen35", "[2,1,1]", "[2,1,1,0,0]", GLINFER_STATUS_BAD_FILE, "mrope_section is invalid"},
    {"qwen35", "\"partial_rotary_factor\":0.25", "\"partial_rotary_factor\":1e30",
     GLINFER_STATUS_BAD_FILE, "partial_rotary_factor is 1e+30 of 32, expected 0 to 1"},
    {"granitehybrid", "\"mamba_n_groups\":1", "\"mamba_n_groups\":3", GLINFER_STATUS_BAD_FILE,
     "expected rows of 21"},
    {"gpt_oss", "\"head_dim\":16", "\"head_dim\":\"16\"", GLINFER_STATUS_BAD_FILE,
     "the key head_dim is invalid"},
    {"modernbert", "\"local_attention\":16", "\"local_attention\":0", GLINFER_STATUS_BAD_FILE,
     "local_attention 0, expected positive"},
    {"modernbert", "\"mean\"", "\"most\"", GLINFER_STATUS_UNSUPPORTED,
     "classifier_pooling is \"most\""},
};

TEST(wrong_keys_of_families_are_named)
{
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct glinfer_error err = {0};
        assert_null(open_edited(wrong[i].folder, wrong[i].text, wrong[i].other, &err));
        assert_says(err.message, wrong[i].says);
        assert_int_equal(err.status, wrong[i].status);
    }
}

TEST(keys_that_transformers_has_defaults_for_may_be_missing)
{
    static const struct {
        const char *folder, *text, *pair;
        uint32_t value;
    } cases[] = {
        {"gemma2", "\"sliding_window\":16,", "gemma2.attention.sliding_window", 4096},
        {"gemma2", "\"max_position_embeddings\":512,", "gemma2.context_length", 8192},
        {"llama", "\"max_position_embeddings\":2048,", "llama.context_length", 2048},
        {"lfm2", "\"conv_L_cache\":3,", "lfm2.shortconv.l_cache", 3},
        {"gpt_oss", "\"sliding_window\":16,", "gpt-oss.attention.sliding_window", 128},
        {"modernbert", "\"local_attention\":16,", "modern-bert.attention.sliding_window", 128},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t value = 0;
        struct glinfer_error err = {0};
        struct gi_gguf *gguf = open_edited(cases[i].folder, cases[i].text, "", &err);
        must(gguf, &err);
        must(gi_gguf_get_u32(gguf, cases[i].pair, 0, &value, &err), &err);
        assert_int_equal(value, cases[i].value);
        gi_gguf_close(gguf);
    }
}

TEST(layers_of_older_files_are_found_by_their_numbers)
{
    struct glinfer_error err = {0};
    struct gi_gguf_array heads;
    const char *types = "\"layer_types\":[\"conv\",\"full_attention\",\"conv\"]";
    struct gi_gguf *gguf = open_edited("lfm2", types, "\"full_attn_idxs\":[1]", &err);
    must(gguf, &err);
    must(gi_gguf_get_array(gguf, "lfm2.attention.head_count_kv", GI_GGUF_KIND_I32, &heads, &err),
         &err);
    assert_int_equal(heads.count, 3);
    assert_int_equal(gi_gguf_array_i32(&heads, 0), 0);
    assert_int_equal(gi_gguf_array_i32(&heads, 1), 2);
    gi_gguf_close(gguf);
    assert_fails(open_edited("lfm2", types, "\"full_attn_idxs\":[3]", &err), err, BAD_FILE,
                 "full_attn_idxs is invalid, expected numbers below 3");
}

TEST(generation_config_gives_the_sampling)
{
    static const struct {
        const char *text, *key;
        double value;     // -1: the key is absent
        const char *says; // NULL: the folder is opened
    } cases[] = {
        {"{\"temperature\":0.5,\"top_k\":20}", "general.sampling.temp", 0.5, NULL},
        {"{\"do_sample\":true,\"top_p\":0.75}", "general.sampling.top_p", 0.75, NULL},
        {"{\"repetition_penalty\":1.25}", "general.sampling.penalty_repeat", 1.25, NULL},
        {"{\"repetition_penalty\":1.25,\"do_sample\":false}", "general.sampling.penalty_repeat", -1,
         NULL},
        {"{\"temperature\":null}", "general.sampling.temp", -1, NULL},
        {"{\"do_sample\":false,\"temperature\":0.5}", "general.sampling.temp", -1, NULL},
        {"{\"temperature\":\"hot\"}", NULL, 0, "the key temperature is invalid"},
        {"{\"top_p\":1.5}", NULL, 0, "the key top_p is invalid, expected a number of 0 to 1"},
        {"{\"top_k\":-1}", NULL, 0, "the key top_k is invalid"},
        {"{\"top_k\"", NULL, 0, "generation_config.json: invalid JSON"},
        {"[1]", NULL, 0, "generation_config.json: not a JSON object"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct glinfer_error err = {0};
        float value = 0;
        write_file(temp_path("generation_config.json"), cases[i].text, strlen(cases[i].text));
        struct gi_gguf *gguf = open_edited("llama", "\"llama\"", "\"llama\"", &err);
        if (cases[i].says) {
            assert_null(gguf);
            assert_says(err.message, cases[i].says);
            assert_int_equal(err.status, GLINFER_STATUS_BAD_FILE);
            continue;
        }
        must(gguf, &err);
        must(gi_gguf_get_f32(gguf, cases[i].key, -1, &value, &err), &err);
        assert_float_equal(value, cases[i].value, 0);
        gi_gguf_close(gguf);
    }
}

TEST(a_link_to_a_file_that_was_not_downloaded_is_named)
{
    struct glinfer_error err = {0};
    assert_int_equal(symlink("/nonexistent", temp_path("generation_config.json")), 0);
    assert_fails(open_edited("llama", "\"llama\"", "\"llama\"", &err), err, NOT_FOUND,
                 "generation_config.json");
}

// Opens each adapter of tests/data/peft with its model; llama.cpp's converter has listed the
// tensors: tools/golden/folder/make_folder_peft.py.
TEST(adapters_of_peft_become_those_of_the_reference)
{
    static const char *const names[] = {
        "smollm2", "smollm3", "qwen2",          "qwen3",      "qwen35", "gemma2",  "gemma3",
        "gemma4",  "granite", "granite4_dense", "phi3_short", "olmo2",  "gpt_oss", "lfm2"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[300], file[128], *line = NULL;
        size_t capacity = 0, n = 0;
        struct glinfer_error err;
        struct gi_gguf *model = open_folder(names[i], NULL);
        snprintf(file, sizeof(file), "data/peft/%s", names[i]);
        snprintf(path, sizeof(path), "%s", test_data(file));
        struct gi_gguf *adapter = gi_hf_open_adapter(path, model, &err);
        must(adapter, &err);
        strcat(path, ".twin");
        FILE *list = fopen(path, "r");
        assert_non_null(list);
        while (getline(&line, &capacity, list) >= 0) {
            char name[64], dims[32], hash[32];
            float alpha;
            if (sscanf(line, "tensor %63s %31s %31s", name, dims, hash) == 3) {
                check_tensor(adapter, name, dims, hash, true);
                n++;
            } else {
                must(gi_gguf_get_f32(adapter, "adapter.lora.alpha", 0, &alpha, &err), &err);
                assert_true(alpha == strtof(line + strlen("alpha "), NULL));
            }
        }
        assert_int_equal(gi_gguf_tensor_count(adapter), n);
        fclose(list);
        free(line);
        gi_gguf_close(adapter);
        gi_gguf_close(model);
    }
}

// Allocations of JSON do not fail here.
TEST(an_allocation_that_fails_is_reported)
{
    static const char *const names[] = {"qwen35", "gpt_oss", "embeddinggemma", "bert_rank"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char file[128], path[300];
        struct gi_gguf *gguf = NULL;
        long n = 0;
        snprintf(file, sizeof(file), "data/folders/%s", names[i]);
        snprintf(path, sizeof(path), "%s", test_data(file));
        for (; !gguf && n < 400; n++) {
            struct glinfer_error err = {0};
            fail_one_allocation(n);
            gguf = gi_hf_open(path, "none", &err);
            const bool has_passed = count_allocations() <= n;
            fail_allocations_after(-1);
            if (!gguf) {
                assert_int_equal(err.status, GLINFER_STATUS_NO_MEMORY);
            } else {
                assert_true(has_passed);
            }
        }
        assert_in_range(n, 10, 399);
        gi_gguf_close(gguf);
    }
}

RUN_TESTS_EACH(NULL, NULL, make_temp_folder, remove_temp_folder)
