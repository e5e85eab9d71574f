// Tests LoRA adapters of PEFT: sound ones, opened as GGUF files, and refused ones.
#include "hf/folder/hf_adapter.h"
#include "tests/data/test_data.h"
#include "tests/unit/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct gi_gguf *open_file(const char *name)
{
    char path[64];
    struct glinfer_error err;
    snprintf(path, sizeof(path), "data/models/%s", name);
    struct gi_gguf *gguf = gi_gguf_open(GI_SOURCE_PATH(test_data(path)), &err);
    must(gguf, &err);
    return gguf;
}

static void read_tensor(const struct gi_gguf *gguf, const char *name, float *values, size_t n)
{
    const struct gi_gguf_tensor *tensor = gi_gguf_tensor_find(gguf, name);
    struct glinfer_error err;
    assert_non_null(tensor);
    assert_int_equal(tensor->size, n * sizeof(*values));
    must(gi_gguf_tensor_read(gguf, tensor, 0, (size_t)tensor->size, values, &err), &err);
}

// The folder was made from a GGUF file, whose tensors it gives back.
static void folder_is_the_file_it_was_made_of(void **state)
{
    static float ours[64 * 16], theirs[64 * 16];
    static const char *const names[] = {"blk.1.attn_q.weight.lora_a", "blk.1.attn_q.weight.lora_b",
                                        "blk.1.attn_output.weight.lora_b"};
    struct gi_gguf *model = open_file("tiny-q4_0.gguf"), *file = open_file("tiny-q4_0-16.lora");
    struct glinfer_error err;
    struct gi_gguf *folder = gi_hf_open_adapter(test_data("data/peft/tiny-q4_0-16"), model, &err);
    float alpha;
    (void)state;
    must(folder, &err);
    assert_int_equal(gi_gguf_tensor_count(folder), gi_gguf_tensor_count(file));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        read_tensor(folder, names[i], ours, 64 * 16);
        read_tensor(file, names[i], theirs, 64 * 16);
        assert_memory_equal(ours, theirs, sizeof(ours));
    }
    must(gi_gguf_get_f32(folder, "adapter.lora.alpha", 0, &alpha, &err), &err);
    assert_true(alpha == 8); // 2 sqrt(16), of use_rslora
    gi_gguf_close(folder);
    gi_gguf_close(file);
    gi_gguf_close(model);
}

#define LORA "{\"peft_type\": \"LORA\", \"lora_alpha\": 2"

static void refused_folders(void **state)
{
    static const struct {
        const char *model, *config;
        enum glinfer_status status;
        const char *says;
    } cases[] = {
        {"tiny-lfm2.gguf", LORA "}", GLINFER_STATUS_UNSUPPORTED, "for models of \"lfm2\""},
        {"tiny-f32.gguf", "{\"peft_type\": \"IA3\"}", GLINFER_STATUS_UNSUPPORTED, "\"IA3\""},
        {"tiny-f32.gguf", "{\"peft_type\": \"LORA\"}", GLINFER_STATUS_BAD_FILE, "lora_alpha"},
        {"tiny-f32.gguf", LORA ", \"use_dora\": true}", GLINFER_STATUS_UNSUPPORTED, "use_dora of"},
        {"tiny-f32.gguf", LORA ", \"bias\": \"all\"}", GLINFER_STATUS_UNSUPPORTED, "bias of"},
        {"tiny-f32.gguf", "{\"peft_type\": ", GLINFER_STATUS_BAD_FILE, "adapter_config.json"},
        {"tiny-f32.gguf", LORA "}", GLINFER_STATUS_NOT_FOUND, "adapter_model.safetensors"},
        {"tiny-f32.gguf", NULL, GLINFER_STATUS_NOT_FOUND, "adapter_config.json"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct glinfer_error err = {0};
        struct gi_gguf *model = open_file(cases[i].model);
        char folder[] = "/tmp/glinfer-adapter-XXXXXX", path[64];
        assert_non_null(mkdtemp(folder));
        snprintf(path, sizeof(path), "%s/adapter_config.json", folder);
        FILE *file = cases[i].config ? fopen(path, "w") : NULL;
        if (file) {
            fputs(cases[i].config, file);
            fclose(file);
        }
        assert_null(gi_hf_open_adapter(folder, model, &err));
        assert_says(err.message, cases[i].says);
        assert_int_equal(err.status, cases[i].status);
        unlink(path);
        rmdir(folder);
        gi_gguf_close(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folder_is_the_file_it_was_made_of),
        cmocka_unit_test(refused_folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
