// The conversion of a tokenizer.json: what is converted makes a GGUF head, and where that makes a
// tokenizer, texts encode to ids of it; what is refused comes with a status and a sentence.
//
// The input is a JSON object whose members are the files of a folder: "tokenizer.json",
// "tokenizer_config.json", "generation_config.json", "config.json".
#include "engine/model/vocab.h"
#include "hf/tokenizer/hf_tokenizer_impl.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>

static void check_error(const struct glinfer_error *err)
{
    FUZZ_CHECK(err->status != GLINFER_STATUS_OK && err->message[0]);
}

static void encode_texts(const struct gi_tokenizer *tokenizer)
{
    static const char *const texts[] = {"", "ab a  b", "A1 <s> \u00e9e\u0301\n\u4e2d_a",
                                        "\xff\xed\xa0\x80"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct gi_ids ids = {0};
        struct glinfer_error err = {0};
        if (!gi_tokenizer_encode(tokenizer, gi_text_of(texts[i]), true, true, &ids, &err)) {
            check_error(&err);
        }
        for (size_t k = 0; k < ids.count; k++) {
            FUZZ_CHECK(ids.data[k] >= 0 && (size_t)ids.data[k] < gi_tokenizer_size(tokenizer));
        }
        gi_ids_finish(&ids);
    }
}

static void read_pairs(const struct gi_gguf_writer *writer)
{
    const struct gi_gguf_tensor_reader none = {0};
    struct glinfer_error err = {0};
    struct gi_gguf *gguf = gi_gguf_compose(writer, "folder", &none, &err);
    struct gi_tokenizer *tokenizer = gguf ? gi_tokenizer_read(gguf, &err) : NULL;
    if (tokenizer) {
        encode_texts(tokenizer);
    } else {
        check_error(&err);
    }
    gi_tokenizer_destroy(tokenizer);
    gi_gguf_close(gguf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct glinfer_error err = {0};
    cJSON *files = gi_hf_json_parse((const char *)data, size, "folder", &err);
    if (!files) {
        check_error(&err);
        return 0;
    }
    struct gi_gguf_writer writer = {0};
    cJSON *config = cJSON_DetachItemFromObjectCaseSensitive(files, "config.json");
    struct gi_hf_build b = {
        .folder = "folder", .root = config, .config = config, .arch = "llama", .out = &writer};
    struct gi_hf_tokenizer t = {
        .b = &b,
        .folder = "/nonexistent",
        .file = cJSON_DetachItemFromObjectCaseSensitive(files, "tokenizer.json"),
        .config = cJSON_DetachItemFromObjectCaseSensitive(files, "tokenizer_config.json"),
        .generation = cJSON_DetachItemFromObjectCaseSensitive(files, "generation_config.json"),
    };
    gi_hf_add_pairs(&t);
    gi_hf_tokenizer_finish(&t);
    if (gi_gguf_writer_check(&writer, &err)) {
        read_pairs(&writer);
    } else {
        check_error(&err);
    }
    gi_gguf_writer_finish(&writer);
    cJSON_Delete(config);
    cJSON_Delete(files);
    return 0;
}
