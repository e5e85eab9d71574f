// Words for models, places in the cache, and the hub's lists.
#include "cli/models/models_hub.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/data/case_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_word(const char *const fields[])
{
    static const char *const kinds[] = {
        [MODELS_HUB] = "hub", [MODELS_NAME] = "name", [MODELS_PATH] = "path", [MODELS_URL] = "url"};
    struct models_source source;
    char why[512];
    assert_true(models_source_read(&source, fields[0], why, sizeof(why)));
    assert_string_equal(kinds[source.kind], fields[1]);
    assert_string_equal(source.repo, fields[2]);
    assert_string_equal(source.quant, fields[3]);
    assert_string_equal(source.place, fields[4]);
}

TEST(reads_words)
{
    each_case("models.cases", "words", check_word);
}

static void check_wrong_word(const char *const fields[])
{
    struct models_source source;
    char why[512] = "";
    if (models_source_read(&source, fields[0], why, sizeof(why))) {
        fail_msg("%s is taken, for %s", fields[0], source.place);
    }
    assert_true(strlen(why) > 10);
}

TEST(refuses_words_that_lead_elsewhere)
{
    each_case("models.cases", "wrong words", check_wrong_word);
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

static void check_choice(const char *const fields[])
{
    struct models_file items[10] = {0};
    struct models_files files = {.items = items};
    struct models_source source = {.kind = MODELS_HUB};
    char why[256];
    snprintf(source.quant, sizeof(source.quant), "%s", fields[0]);
    for (const char *path = fields[2]; *path; path += *path == '~') {
        const int size = (int)strcspn(path, "~");
        snprintf(items[files.count++].path, sizeof(items[0].path), "%.*s", size, path);
        path += size;
    }
    const struct models_file *file = models_hub_choose(&files, &source, why, sizeof(why));
    assert_string_equal(file ? file->path : "", fields[1]);
}

TEST(chooses_by_type)
{
    each_case("models.cases", "choices", check_choice);
}

static void check_piece(const char *const fields[])
{
    unsigned number, count;
    assert_int_equal(models_piece(fields[0], strlen(fields[0]), &number, &count),
                     strtoul(fields[1], NULL, 10));
    assert_int_equal(number, strtoul(fields[2], NULL, 10));
    assert_int_equal(count, strtoul(fields[3], NULL, 10));
}

TEST(finds_pieces)
{
    char text[] = "m-00002-of-00003.gguf";
    each_case("models.cases", "pieces", check_piece);
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
        "\"lfs\":{\"oid\":\"12\"}},{\"type\":\"file\",\"path\":\"model.safetensors\"}]";
    struct models_files files = {0};
    assert_true(models_hub_read(&files, list, strlen(list)));
    assert_int_equal(files.count, 2);
    assert_true(files.folder.count == 1 && !models_hub_is_folder(&files));
    assert_string_equal(files.items[0].sha256,
                        "abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789");
    assert_int_equal(files.items[0].size, 9);
    assert_string_equal(files.items[1].sha256, "");
    assert_int_equal(files.items[1].size, 0);
    for (size_t size = 0; size < strlen(list); size++) {
        assert_false(models_hub_read(&files, list, size)); // cut
    }
    models_files_finish(&files);
}

TEST(knows_files_of_folders)
{
    static const struct {
        const char *path;
        bool is_file;
    } cases[] = {
        {"config.json", true},
        {"tokenizer.json", true},
        {"model.safetensors", true},
        {"model-00001-of-00002.safetensors", true},
        {"1_Pooling/config.json", true},
        {"2_Dense/model.safetensors", true},
        {"README.md", false},
        {"onnx/config.json", false},
        {"onnx/model.safetensors", false},
        {"adapter_model.safetensors", false},
        {"pytorch_model.bin", false},
        {"2_Dense/x/config.json", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(models_is_folder_file(cases[i].path), cases[i].is_file);
    }
}

RUN_TESTS(NULL, NULL)
