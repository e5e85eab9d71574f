// Reads of damaged model files what loading does before it needs a GPU: vocabulary, tokenizer,
// hyperparameters and the plan of the weights, or the pairs of an adapter. An input is the head of
// a GGUF file, and zeros follow as the data of its tensors; or a whole file of whisper.cpp.
#include "engine/model/adapter/adapter_set.h"
#include "engine/model/model_info.h"
#include "engine/model/plan/towers.h"
#include "engine/model/vocab.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HEAD = 48 << 10, FILE_SIZE = 400 << 10 };

static void check_error(bool is_done, const struct glinfer_error *err)
{
    FUZZ_CHECK(is_done || (err->status != GLINFER_STATUS_OK && err->message[0]));
}

static struct gi_tokenizer *read_tokenizer(const struct gi_gguf *gguf)
{
    struct glinfer_error err = {0};
    struct gi_vocab_file file;
    const bool is_read = gi_vocab_read(gguf, &file, &err);
    check_error(is_read, &err);
    struct gi_tokenizer *tokenizer = is_read ? gi_tokenizer_create(&file.vocab, &err) : NULL;
    check_error(tokenizer != NULL, &err);
    if (is_read) {
        gi_vocab_finish(&file);
    }
    return tokenizer;
}

static void encode(const struct gi_tokenizer *tokenizer)
{
    const struct gi_text text = {"Hello \xf0\x9f\x8c\x8d 12", 13};
    struct glinfer_error err = {0};
    struct gi_ids ids = {0};
    check_error(gi_tokenizer_encode(tokenizer, text, true, true, &ids, &err), &err);
    gi_ids_finish(&ids);
}

// tower: the part of a speech model to plan; NULL: the file is another model.
static void inspect(const struct gi_gguf *gguf, const struct gi_tower *tower,
                    const struct gi_tokenizer *tokenizer)
{
    const struct gi_plan_limits limits = {.max_range = 128u << 20, .alignment = 256};
    const struct glinfer_model_params params = {.struct_size = sizeof(params)};
    static struct glinfer_model_info info;
    struct glinfer_error err = {0};
    struct gi_model_plan plan;
    info = (struct glinfer_model_info){0};
    check_error(gi_model_info_file(&info, gguf, tokenizer, &err), &err);
    const bool is_planned = gi_model_plan_init(&plan, gguf, tower, &limits, NULL, &err);
    check_error(is_planned, &err);
    if (is_planned) {
        gi_model_info_plan(&info, &plan, &params, limits.alignment,
                           tokenizer ? gi_tokenizer_size(tokenizer) : 0, 0);
        gi_model_plan_finish(&plan);
    }
}

static void open_adapter(const struct glinfer_source *source)
{
    struct glinfer_error err = {0};
    struct gi_adapter_set set;
    const bool is_open = gi_adapter_set_open(&set, NULL, &source, 1, &err);
    check_error(is_open, &err);
    for (size_t i = 0; is_open && i < set.adapters[0].n_pairs; i++) {
        const struct gi_adapter_pair *pair = &set.adapters[0].pairs[i];
        FUZZ_CHECK(pair->a && pair->b && pair->a->dims[1] == pair->b->dims[0]);
        FUZZ_CHECK(gi_adapter_find(&set.adapters[0], pair->base) == pair);
    }
    gi_adapter_set_close(&set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t file[FILE_SIZE];
    size = size < MAX_HEAD ? size : MAX_HEAD;
    memcpy(file, data, size);
    memset(file + size, 0, sizeof(file) - size);
    const bool is_gguf = size < 4 || memcmp(file, "lmgg", 4) != 0;
    const struct glinfer_source *source =
        GI_SOURCE_MEMORY(file, is_gguf ? sizeof(file) : size, "fuzz.gguf");
    struct gi_gguf *gguf = gi_gguf_open(source, NULL);
    open_adapter(source);
    if (gguf) {
        struct gi_tokenizer *tokenizer = read_tokenizer(gguf);
        if (tokenizer) {
            encode(tokenizer);
        }
        const struct gi_tower *towers = gi_towers_find(gguf);
        for (int i = 0; i < (towers ? GI_TOWER_COUNT : 1); i++) {
            inspect(gguf, towers ? &towers[i] : NULL, tokenizer);
        }
        gi_tokenizer_destroy(tokenizer);
        gi_gguf_close(gguf);
    }
    return 0;
}
