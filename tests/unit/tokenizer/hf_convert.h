// Converts the tokenizers of folders, for tests.
#pragma once

#include "engine/model/vocab.h"
#include "hf/tokenizer/hf_tokenizer_impl.h"
#include "tests/unit/cmocka_test.h"

// Returns the pairs of a folder's tokenizer, for a config.json of that text.
static inline struct gi_gguf *convert_as(const char *folder, const char *config, const char *arch,
                                         struct glinfer_error *err)
{
    struct gi_gguf_writer writer = {0};
    const struct gi_gguf_tensor_reader none = {0};
    struct gi_gguf *gguf = NULL;
    cJSON *json = gi_hf_json_parse(config, strlen(config), "config.json", err);
    struct gi_hf_build b = {
        .folder = folder, .root = json, .config = json, .arch = arch, .out = &writer};
    if (json && gi_hf_add_tokenizer(&b, folder)) {
        gi_gguf_add_string(&writer, "general.architecture", arch, strlen(arch));
        gguf = gi_gguf_compose(&writer, folder, &none, err);
    } else if (json) {
        gi_gguf_writer_check(&writer, err);
    }
    gi_gguf_writer_finish(&writer);
    cJSON_Delete(json);
    return gguf;
}

static inline struct gi_gguf *convert(const char *folder, struct glinfer_error *err)
{
    return convert_as(folder, "{}", "llama", err);
}

static inline struct gi_tokenizer *read_tokenizer(const char *folder, struct glinfer_error *err)
{
    struct gi_gguf *gguf = convert(folder, err);
    struct gi_tokenizer *tokenizer = gguf ? gi_tokenizer_read(gguf, err) : NULL;
    gi_gguf_close(gguf);
    return tokenizer;
}

// Checks a text of the pairs; NULL: none.
static inline void expect_text(const struct gi_gguf *gguf, const char *key, const char *expected)
{
    struct gi_gguf_string text = {0};
    must_do(gi_gguf_get_string(gguf, key, &text, &err));
    assert_int_equal(text.data != NULL, expected != NULL);
    if (expected) {
        assert_int_equal(text.size, strlen(expected));
        assert_memory_equal(text.data, expected, text.size);
    }
}
