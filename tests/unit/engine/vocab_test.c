#include "engine/model/vocab.h"
#include "gguf/gguf_writer.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/gguf/gguf_builder.h"

#include <stdio.h>

#define N_TOKENS 3

// Writes model, tokens and n_types types, and one pair more where key is not NULL.
static void build(struct gguf_builder *b, uint32_t n_types, const char *key, uint32_t kind,
                  uint32_t value)
{
    gguf_header(b, 0, key ? 4 : 3);
    gguf_pair_string(b, "tokenizer.ggml.model", "gpt2");
    gguf_array(b, "tokenizer.ggml.tokens", GI_GGUF_KIND_STRING, N_TOKENS);
    gguf_string(b, "a");
    gguf_string(b, "");
    gguf_string(b, "<s>");
    gguf_array(b, "tokenizer.ggml.token_type", GI_GGUF_KIND_I32, n_types);
    for (uint32_t i = 0; i < n_types; i++) {
        gguf_u32(b, i + 1);
    }
    if (key) {
        gguf_key(b, key, kind);
        if (kind == GI_GGUF_KIND_BOOL) {
            gguf_u8(b, (uint8_t)value);
        } else {
            gguf_u32(b, value);
        }
    }
}

static struct gi_gguf *open_built(struct gguf_builder *b)
{
    struct gi_gguf *gguf =
        must_do(gi_gguf_open(GI_SOURCE_MEMORY(b->data, b->size, "test.gguf"), &err));
    return gguf;
}

static void expect_bad_file(struct gguf_builder *b, const char *words)
{
    struct gi_gguf *gguf = open_built(b);
    struct gi_vocab_file file;
    must_fail(gi_vocab_read(gguf, &file, &err), BAD_FILE, words);
    assert_null(file.tokens);
    gi_gguf_close(gguf);
    gguf_finish(b);
}

TEST(vocab_reads_what_is_there)
{
    BUILDER b = {0};
    build(&b, N_TOKENS, "tokenizer.ggml.bos_token_id", GI_GGUF_KIND_U32, 2);
    GGUF *gguf = open_built(&b);
    struct gi_vocab_file file;
    assert_true(gi_vocab_read(gguf, &file, NULL));
    assert_int_equal(file.vocab.n_tokens, N_TOKENS);
    assert_int_equal(file.vocab.tokens[2].size, 3);
    assert_memory_equal(file.vocab.tokens[2].data, "<s>", 3);
    assert_int_equal(file.vocab.types[1], GI_TOKEN_TYPE_UNKNOWN);
    assert_int_equal(file.vocab.bos, 2);
    gi_vocab_finish(&file);
}

TEST(vocab_says_what_is_absent)
{
    BUILDER b = {0};
    build(&b, 0, "tokenizer.ggml.add_bos_token", GI_GGUF_KIND_BOOL, 0);
    GGUF *gguf = open_built(&b);
    struct gi_vocab_file file;
    assert_true(gi_vocab_read(gguf, &file, NULL));
    assert_null(file.vocab.types);
    assert_null(file.vocab.scores);
    assert_int_equal(file.vocab.n_merges, 0);
    assert_int_equal(file.vocab.bos, GI_NO_TOKEN);
    assert_int_equal(file.vocab.eos, GI_NO_TOKEN);
    assert_int_equal(file.vocab.add_bos, 0);
    assert_int_equal(file.vocab.add_eos, -1);
    assert_int_equal(file.vocab.chat_template.size, 0);
    gi_vocab_finish(&file);
    gi_vocab_finish(&file);
}

TEST(vocab_takes_all_bits_set_for_no_token)
{
    BUILDER b = {0};
    build(&b, N_TOKENS, "tokenizer.ggml.bos_token_id", GI_GGUF_KIND_U32, UINT32_MAX);
    GGUF *gguf = open_built(&b);
    struct gi_vocab_file file;
    assert_true(gi_vocab_read(gguf, &file, NULL));
    assert_int_equal(file.vocab.bos, GI_NO_TOKEN);
    gi_vocab_finish(&file);
}

TEST(vocab_refuses_types_of_another_count)
{
    struct gguf_builder b = {0};
    build(&b, N_TOKENS - 1, NULL, 0, 0);
    expect_bad_file(&b, "token_type has 2 elements");
}

TEST(vocab_refuses_values_of_another_kind)
{
    struct gguf_builder b = {0};
    build(&b, N_TOKENS, "tokenizer.ggml.merges", GI_GGUF_KIND_U32, 1);
    expect_bad_file(&b, "tokenizer.ggml.merges");
    build(&b, N_TOKENS, "tokenizer.ggml.eos_token_id", GI_GGUF_KIND_BOOL, 1);
    expect_bad_file(&b, "tokenizer.ggml.eos_token_id");
    build(&b, N_TOKENS, "tokenizer.ggml.pre", GI_GGUF_KIND_U32, 1);
    expect_bad_file(&b, "tokenizer.ggml.pre");
}

struct seen {
    int n;
    char text[512];
};

static void note_line(void *user, enum glinfer_log_level level, const char *line)
{
    struct seen *seen = user;
    assert_int_equal(level, GLINFER_LOG_WARN);
    seen->n++;
    snprintf(seen->text, sizeof(seen->text), "%s", line);
}

TEST(ids_outside_the_vocabulary_are_left_out_with_a_warning)
{
    static const char *const names[] = {"bos",     "eos",     "eot",      "eom",
                                        "unknown", "padding", "seperator"};
    static const struct {
        uint32_t id;
        int n_warnings;
    } ids[] = {
        {N_TOKENS, 1}, {32000, 1}, {INT32_MAX, 1}, {0x80000000u, 1}, {UINT32_MAX, 0}, {0, 0},
    };
    for (size_t i = 0; i < 7 * sizeof(ids) / sizeof(ids[0]); i++) {
        char key[64];
        struct seen seen = {0};
        BUILDER b = {0};
        struct gi_vocab_file file;
        const uint32_t id = ids[i / 7].id;
        snprintf(key, sizeof(key), "tokenizer.ggml.%s_token_id", names[i % 7]);
        build(&b, N_TOKENS, key, GI_GGUF_KIND_U32, id);
        GGUF *gguf = open_built(&b);
        assert_true(gi_vocab_read(gguf, &file, NULL));
        const int32_t found[] = {file.vocab.bos, file.vocab.eos, file.vocab.eot, file.vocab.eom,
                                 file.vocab.unk, file.vocab.pad, file.vocab.sep};
        for (size_t j = 0; j < 7; j++) {
            assert_int_equal(found[j], id < N_TOKENS && j == i % 7 ? (int32_t)id : GI_NO_TOKEN);
        }
        gi_vocab_warn(gguf, N_TOKENS, &(struct gi_log){note_line, &seen});
        assert_int_equal(seen.n, ids[i / 7].n_warnings);
        assert_true(seen.n == 0 || (strstr(seen.text, key) && strstr(seen.text, "of 3 tokens")));
        gi_vocab_finish(&file);
    }
}

TEST(more_tokens_that_end_an_answer_than_are_taken_are_told)
{
    for (uint32_t n = 16; n <= 17; n++) {
        static const int32_t ids[17];
        struct gi_gguf_writer w = {0};
        struct glinfer_error err;
        struct seen seen = {0};
        gi_gguf_add_i32s(&w, "glinfer.tokenizer.stop_ids", ids, n);
        struct gi_gguf *gguf =
            gi_gguf_compose(&w, "stops", &(struct gi_gguf_tensor_reader){0}, &err);
        must(gguf, &err);
        gi_vocab_warn(gguf, N_TOKENS, &(struct gi_log){note_line, &seen});
        assert_int_equal(seen.n, n > 16);
        assert_true(n == 16 || strstr(seen.text, "names 17 tokens that end an answer"));
        gi_gguf_close(gguf);
        gi_gguf_writer_finish(&w);
    }
}

TEST(files_that_are_not_models_are_named)
{
    static const struct {
        const char *key, *value, *says;
    } cases[] = {
        {"general.type", "mmproj", "a projector"},
        {"general.architecture", "clip", "a projector"},
        {"general.type", "adapter", "an adapter"},
        {"adapter.type", "lora", "a LoRA adapter"},
        {"general.architecture", "controlvector", "a control vector"},
        {"general.type", "imatrix", "an importance matrix"},
        {"imatrix.datasets", "x", "an importance matrix"},
        {"general.type", "model", NULL},
        {"general.type", "mmproj2", NULL},
        {"general.architecture", "llama", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct glinfer_error err = {0};
        BUILDER b = {0};
        struct gi_vocab_file file;
        gguf_header(&b, 0, 1);
        gguf_pair_string(&b, cases[i].key, cases[i].value);
        GGUF *gguf = open_built(&b);
        assert_false(gi_vocab_read(gguf, &file, &err));
        assert_int_equal(err.status,
                         cases[i].says ? GLINFER_STATUS_UNSUPPORTED : GLINFER_STATUS_BAD_FILE);
        const char *says = cases[i].says ? cases[i].says : "no tokenizer";
        assert_says(err.message, says);
    }
}

TEST(vocab_refuses_a_file_without_one)
{
    struct gguf_builder b = {0};
    gguf_header(&b, 0, 0);
    expect_bad_file(&b, "no tokenizer");
}

RUN_TESTS(NULL, NULL)
