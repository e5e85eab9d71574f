// Tests how a tokenizer.json becomes pairs, against ids of the tokenizers library, which
// tools/golden/make_tokenizers.py wrote.
#include "tests/data/test_data.h"
#include "tests/unit/failing_alloc.h"
#include "tests/unit/tokenizer/hf_convert.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

//-- against the library -------------------------------------------------------------------------

static const struct {
    const char *name, *model, *pre; // pre is NULL where llama.cpp has no name
} kinds[] = {
    {"llama3", "gpt2", "llama-bpe"},
    {"qwen2", "gpt2", "qwen2"},
    {"qwen35", "gpt2", "qwen35"},
    {"gpt2", "gpt2", "gpt-2"},
    {"smollm", "gpt2", "smollm"},
    {"gpt-oss", "gpt2", "gpt-4o"},
    {"tekken", "gpt2", "tekken"},
    {"olmo2", "gpt2", "dbrx"},
    {"roberta", "gpt2", NULL},
    {"deepseek3", "gpt2", "deepseek-v3"},
    {"unnamed", "gpt2", NULL},
    {"added", "gpt2", NULL},
    {"gemma", "llama", "default"},
    {"llama2", "llama", "default"},
    {"llama2-old", "llama", "default"},
    {"mistral", "llama", "default"},
    {"t5", "t5", "default"},
    {"xlm-r", "t5", "default"},
    {"unigram-bytes", "t5", "default"},
    {"bert", "bert", "default"},
    {"bert-cased", "bert", "default"},
};

enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]), LINE_MAX_SIZE = 65536 };

// Returns the path of a kind's folder or a file in it, which is valid until the next call.
static const char *path_of(const char *name, const char *file)
{
    static char path[1024];
    char part[128];
    snprintf(part, sizeof(part), "golden/data/tokenizers/%s%s%s", name, *file ? "/" : "", file);
    snprintf(path, sizeof(path), "%s", test_data(part));
    return path;
}

TEST(a_pre_tokenizer_is_known_by_its_expressions)
{
    for (size_t i = 0; i < N_KINDS; i++) {
        struct gi_gguf *gguf = must_do(convert(path_of(kinds[i].name, ""), &err));
        expect_text(gguf, "tokenizer.ggml.model", kinds[i].model);
        expect_text(gguf, "tokenizer.ggml.pre", kinds[i].pre);
        gi_gguf_close(gguf);
    }
}

//-- expressions ---------------------------------------------------------------------------------

static const struct {
    const char *oniguruma, *pcre2;
} expressions[] = {
    {"a|(?i:b)*c{1,2}?", "a|(?i:b)*c{1,2}?"},
    {"\\p{N}+[^\\p{L}]", "\\p{N}+[^\\p{L}]"},
    {"\r\n\t[\n]", "\\r\\n\\t[\\n]"},
    {"\\u00e9\\u{1F600}[\\u00e9]", "\\x{00e9}\\x{1F600}[\\x{00e9}]"},
    {"\\h[\\h]\\v\\d", "[0-9A-Fa-f][0-9A-Fa-f]\\x{0b}\\d"},
    {"[a[-b]c][[:alpha:]_]", "[a\\-bc][[:alpha:]_]"},
    {"[]a][^]]", "[\\]a][^\\]]"},
    {"\\[\\]\\\\", "\\[\\]\\\\"},
};

TEST(expressions_become_those_of_pcre2)
{
    for (size_t i = 0; i < sizeof(expressions) / sizeof(expressions[0]); i++) {
        struct gi_gguf_writer writer = {0};
        struct gi_hf_build b = {.folder = "folder", .out = &writer};
        struct gi_hf_tokenizer t = {.b = &b};
        struct gi_hf_text out = {0};
        gi_hf_translate(&t, expressions[i].oniguruma, &out);
        must_do(gi_gguf_writer_check(&writer, &err));
        assert_int_equal(out.count, strlen(expressions[i].pcre2));
        assert_memory_equal(out.data, expressions[i].pcre2, out.count);
        free(out.data);
    }
}

//-- ids -----------------------------------------------------------------------------------------

// Reads "text FLAGS HEX ID ID ..." and compares.
static void expect_line(const struct gi_tokenizer *tokenizer, const char *name, size_t number,
                        char *line)
{
    static char bytes[LINE_MAX_SIZE];
    const char *flags = strtok(line + 5, " "), *hex = strtok(NULL, " \n");
    struct gi_ids ids = {0};
    size_t size = 0, n = 0;
    unsigned byte;
    for (; sscanf(hex + 2 * size, "%2x", &byte) == 1; size++) {
        bytes[size] = (char)byte;
    }
    must_do(gi_tokenizer_encode(tokenizer, (struct gi_text){bytes, size}, *flags == '0', true, &ids,
                                &err));
    for (const char *word = strtok(NULL, " \n"); word; word = strtok(NULL, " \n"), n++) {
        if (n >= ids.count || ids.data[n] != atoi(word)) {
            fail_msg("%s, line %zu: id %zu is %" PRId32 ", expected %s", name, number, n,
                     n < ids.count ? ids.data[n] : -1, word);
        }
    }
    assert_int_equal(ids.count, n);
    gi_ids_finish(&ids);
}

TEST(ids_equal_those_of_the_tokenizers_library)
{
    static char line[LINE_MAX_SIZE];
    for (size_t i = 0; i < N_KINDS; i++) {
        struct gi_tokenizer *tokenizer = must_do(read_tokenizer(path_of(kinds[i].name, ""), &err));
        FILE *file = fopen(path_of(kinds[i].name, "expected.golden"), "r");
        assert_non_null(file);
        size_t number = 0;
        while (fgets(line, sizeof(line), file)) {
            number++;
            if (strncmp(line, "text ", 5) == 0) {
                expect_line(tokenizer, kinds[i].name, number, line);
            }
        }
        assert_true(number > 40);
        fclose(file);
        gi_tokenizer_destroy(tokenizer);
    }
}

//-- without memory ------------------------------------------------------------------------------

TEST(every_failed_allocation_is_reported)
{
    static const char *const names[] = {"qwen2", "mistral", "t5", "bert"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct gi_tokenizer *tokenizer = NULL;
        struct glinfer_error err = {0};
        // The file alone takes thousands of allocations.
        for (long n = 0; !tokenizer; n += 1 + n / 37) {
            fail_allocations_after(n);
            tokenizer = read_tokenizer(path_of(names[i], ""), &err);
            fail_allocations_after(-1);
            assert_true(tokenizer || err.status == GLINFER_STATUS_NO_MEMORY);
        }
        gi_tokenizer_destroy(tokenizer);
    }
}

RUN_TESTS(NULL, NULL)
