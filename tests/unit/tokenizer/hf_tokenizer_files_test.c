// Tests small files of tokenizers: what is refused, special tokens, chat templates.
#include "tests/unit/temp_folder.h"
#include "tests/unit/tokenizer/hf_convert.h"

//-- small files ---------------------------------------------------------------------------------

// A tokenizer.json with one member more, which may stand in place of one of these.
static void write_small(const char *member, const char *model)
{
    char text[4096];
    const int n = snprintf(text, sizeof(text),
                           "{%s%s\"added_tokens\":[{\"id\":3,\"content\":\"<s>\",\"special\":true},"
                           "{\"id\":4,\"content\":\"</s>\",\"special\":true}],\"model\":%s}",
                           member, *member ? "," : "", model);
    assert_in_range(n, 1, sizeof(text) - 1);
    write_file(temp_path("tokenizer.json"), text, (size_t)n);
}

#define BPE "{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a b\"]}"

static const struct {
    const char *member, *model;
    enum glinfer_status status;
    const char *words;
} refused[] = {
    {"", "{\"type\":\"WordLevel\",\"vocab\":{}}", GLINFER_STATUS_UNSUPPORTED,
     "the model 'WordLevel' is not supported; BPE, Unigram and WordPiece are"},
    {"", "{\"vocab\":{}}", GLINFER_STATUS_UNSUPPORTED, "the model ''"},
    {"", "[]", GLINFER_STATUS_BAD_FILE, "tokenizer.json has no \"model\""},
    {"", "{\"type\":\"BPE\",\"vocab\":[],\"merges\":[]}", GLINFER_STATUS_BAD_FILE, "not a list"},
    {"", "{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":5}", GLINFER_STATUS_BAD_FILE,
     "\"merges\" is not a list"},
    {"", "{\"type\":\"BPE\",\"vocab\":{\"a\":-1},\"merges\":[]}", GLINFER_STATUS_BAD_FILE,
     "the id of the token 'a'"},
    {"", "{\"type\":\"BPE\",\"vocab\":{\"a\":4000000000},\"merges\":[]}", GLINFER_STATUS_BAD_FILE,
     "the id of the token 'a'"},
    {"", "{\"type\":\"BPE\",\"vocab\":{\"a\":1.5},\"merges\":[]}", GLINFER_STATUS_BAD_FILE,
     "the id of the token 'a'"},
    {"", "{\"type\":\"BPE\",\"vocab\":{\"a\":\"0\"},\"merges\":[]}", GLINFER_STATUS_BAD_FILE,
     "the id of the token 'a'"},
    {"", "{\"type\":\"BPE\",\"vocab\":{\"a\":3},\"merges\":[]}", GLINFER_STATUS_BAD_FILE,
     "the added token '<s>' has the id 3 of another token"},
    {"", "{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[[\"a\"]]}", GLINFER_STATUS_BAD_FILE,
     "a merge is neither a text nor a list of two texts"},
    {"", "{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[7]}", GLINFER_STATUS_BAD_FILE,
     "a merge is neither"},
    {"", "{\"type\":\"BPE\",\"vocab\":{},\"merges\":[],\"end_of_word_suffix\":\"</w>\"}",
     GLINFER_STATUS_UNSUPPORTED, "\"end_of_word_suffix\" of BPE is not supported"},
    {"", "{\"type\":\"Unigram\",\"vocab\":[[\"a\"]],\"unk_id\":0}", GLINFER_STATUS_BAD_FILE,
     "token 0 of Unigram is not a text and a finite score"},
    {"", "{\"type\":\"Unigram\",\"vocab\":[[\"a\",1e300]],\"unk_id\":0}", GLINFER_STATUS_BAD_FILE,
     "token 0 of Unigram"},
    {"", "{\"type\":\"WordPiece\",\"vocab\":{},\"max_input_chars_per_word\":-1}",
     GLINFER_STATUS_BAD_FILE, "\"max_input_chars_per_word\" is not a number of characters"},
    {"\"normalizer\":{\"type\":\"Reverse\"}", BPE, GLINFER_STATUS_UNSUPPORTED,
     "the type 'Reverse' of \"normalizer\" is not supported"},
    {"\"normalizer\":7", BPE, GLINFER_STATUS_BAD_FILE,
     "\"normalizer\" is not an object with a \"type\""},
    {"\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"use_regex\":\"yes\"}", BPE,
     GLINFER_STATUS_BAD_FILE, "tokenizer.json: \"use_regex\" is not true or false"},
    {"\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"?\"}", BPE,
     GLINFER_STATUS_BAD_FILE, "\"precompiled_charsmap\" is not base64"},
    {"\"normalizer\":{\"type\":\"Replace\",\"content\":\"\"}", BPE, GLINFER_STATUS_BAD_FILE,
     "a component of type Replace has no \"pattern\""},
    {"\"pre_tokenizer\":{\"type\":\"UnicodeScripts\"}", BPE, GLINFER_STATUS_UNSUPPORTED,
     "the type 'UnicodeScripts' of \"pre_tokenizer\" is not supported; use a GGUF file"},
    {"\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[a[^b]]\"}}", BPE,
     GLINFER_STATUS_UNSUPPORTED, "this class within a class is not supported"},
    {"\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[a&&b]\"}}", BPE,
     GLINFER_STATUS_UNSUPPORTED, "&& within a class"},
    {"\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a{1,3}+\"}}", BPE,
     GLINFER_STATUS_UNSUPPORTED, "+ after {}"},
    {"\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(?m:.)\"}}", BPE,
     GLINFER_STATUS_UNSUPPORTED, "byte 0 of the expression '(?m:.)': this group"},
    {"\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[a\"}}", BPE,
     GLINFER_STATUS_UNSUPPORTED, "a class without an end"},
    {"\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a\\\\\"}}", BPE,
     GLINFER_STATUS_UNSUPPORTED, "a \\ at the end"},
    {"\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":\"a\"},\"behavior\":\"No\"}",
     BPE, GLINFER_STATUS_UNSUPPORTED, "the behavior 'No'"},
    {"\"pre_tokenizer\":{\"type\":\"Metaspace\",\"prepend_scheme\":\"last\"}", BPE,
     GLINFER_STATUS_UNSUPPORTED, "the prepend_scheme 'last'"},
    {"\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"ByteLevel\"},"
     "{\"type\":\"Digits\"}]}",
     BPE, GLINFER_STATUS_UNSUPPORTED, "a pre-tokenizer (Digits) after ByteLevel"},
    {"\"decoder\":{\"type\":\"CTC\"}", BPE, GLINFER_STATUS_UNSUPPORTED,
     "the type 'CTC' of \"decoder\""},
    {"\"post_processor\":{\"type\":\"Other\"}", BPE, GLINFER_STATUS_UNSUPPORTED,
     "the type 'Other' of \"post_processor\""},
    {"\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":[\"x\",9],\"cls\":[\"y\",3]}", BPE,
     GLINFER_STATUS_BAD_FILE, "\"post_processor\" names a token that the vocabulary does not have"},
    {"\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":"
     "{\"id\":\"x\"}}],\"special_tokens\":{}}",
     BPE, GLINFER_STATUS_UNSUPPORTED, "the token 'x' of \"post_processor\" without just one id"},
    {"\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":"
     "{\"id\":\"x\"}},{\"SpecialToken\":{\"id\":\"y\"}}],\"special_tokens\":{\"x\":{\"ids\":[3]},"
     "\"y\":{\"ids\":[4]}}}",
     BPE, GLINFER_STATUS_UNSUPPORTED, "more than one token before or after a text"},
};

TEST(what_cannot_be_converted_is_refused_by_name)
{
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct glinfer_error err = {0};
        write_small(refused[i].member, refused[i].model);
        if (convert(temp_folder, &err)) {
            fail_msg("%s %s is accepted", refused[i].member, refused[i].model);
        }
        assert_says(err.message, refused[i].words);
        assert_int_equal(err.status, refused[i].status);
        assert_says(err.message, temp_folder);
    }
}

TEST(sequences_nest_to_a_limit)
{
    char text[2048] = "\"normalizer\":";
    for (size_t i = 0; i < 9; i++) {
        strcat(text, "{\"type\":\"Sequence\",\"normalizers\":[");
    }
    strcat(text, "{\"type\":\"NFC\"}");
    for (size_t i = 0; i < 9; i++) {
        strcat(text, "]}");
    }
    write_small(text, BPE);
    must_fail(convert(temp_folder, &err), BAD_FILE, "sequences are nested more than 8 deep");
}

TEST(a_folder_without_a_tokenizer_says_so)
{
    must_fail(convert("/nonexistent", &err), NOT_FOUND, "/nonexistent: has no tokenizer.json");
    write_file(temp_path("tokenizer.json"), "{", 1);
    must_fail(convert(temp_folder, &err), BAD_FILE, "tokenizer.json");
}

TEST(links_to_files_that_were_not_downloaded_are_named)
{
    static const char *const names[] = {"tokenizer_config.json", "chat_template.jinja"};
    for (size_t i = 0; i < 2; i++) {
        write_small("", BPE);
        assert_int_equal(symlink("/nonexistent", temp_path(names[i])), 0);
        must_fail(convert(temp_folder, &err), NOT_FOUND, names[i]);
        remove(temp_path(names[i]));
    }
}

TEST(the_vocabulary_has_as_many_tokens_as_the_embedding_rows)
{
    write_small("", BPE);
    struct gi_gguf_array tokens;
    struct gi_gguf *gguf = must_do(convert_as(temp_folder, "{\"vocab_size\":7}", "llama", &err));
    must_do(gi_gguf_get_array(gguf, "tokenizer.ggml.tokens", GI_GGUF_KIND_STRING, &tokens, &err));
    assert_int_equal(tokens.count, 7);
    assert_memory_equal(tokens.strings[6].data, "[PAD6]", 6);
    gi_gguf_close(gguf);
    // Added tokens without a row are left out, those of the model are not.
    gguf = must_do(convert_as(temp_folder, "{\"vocab_size\":4}", "llama", &err));
    must_do(gi_gguf_get_array(gguf, "tokenizer.ggml.tokens", GI_GGUF_KIND_STRING, &tokens, &err));
    assert_int_equal(tokens.count, 4);
    gi_gguf_close(gguf);
    must_fail(convert_as(temp_folder, "{\"vocab_size\":2}", "llama", &err), BAD_FILE,
              "\"vocab_size\" does not fit the 3 tokens");
}

// Files made from tiktoken's keep the matches instead of isolating them.
TEST(an_expression_that_matches_all_may_keep_its_matches)
{
    write_small("\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\","
                "\"pattern\":"
                "{\"Regex\":\"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|"
                "\\\\p{N}| ?[^\\\\s\\\\p{L}"
                "\\\\p{N}]+[\\r\\n]*|\\\\s*[\\r\\n]+|\\\\s+(?!\\\\S)|\\\\s+\"},\"behavior\":"
                "\"Removed\",\"invert\":true},"
                "{\"type\":\"ByteLevel\",\"use_regex\":false,\"add_prefix_space\":false}]}",
                BPE);
    struct gi_gguf *gguf = must_do(convert(temp_folder, &err));
    expect_text(gguf, "tokenizer.ggml.pre", "qwen2");
    gi_gguf_close(gguf);
}

//-- special tokens and templates ----------------------------------------------------------------

#define PROCESSOR(single)                                                                          \
    "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[" single                      \
    "],\"special_tokens\":{\"b\":{\"ids\":[3]},\"e\":{\"ids\":[4]}}}"
#define BEFORE "{\"SpecialToken\":{\"id\":\"b\",\"type_id\":0}},"
#define TEXT   "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}"
#define AFTER  ",{\"SpecialToken\":{\"id\":\"e\",\"type_id\":0}}"

static const struct {
    const char *member, *config, *generation; // "" for no file
    uint32_t bos, eos;                        // UINT32_MAX: none
    bool add_bos, add_eos;
    int32_t stops[2]; // -1: none
} ends[] = {
    {"", "", "", UINT32_MAX, UINT32_MAX, false, false, {-1, -1}},
    {PROCESSOR(BEFORE TEXT), "", "", 3, UINT32_MAX, true, false, {-1, -1}},
    {PROCESSOR(TEXT AFTER), "", "", UINT32_MAX, 4, false, true, {4, -1}},
    {PROCESSOR(BEFORE TEXT AFTER), "", "", 3, 4, true, true, {4, -1}},
    {"\"post_processor\":{\"type\":\"RobertaProcessing\",\"sep\":[\"</s>\",4],\"cls\":[\"<s>\",3]}",
     "",
     "",
     3,
     4,
     true,
     true,
     {4, -1}},
    {"",
     "{\"bos_token\":\"<s>\",\"eos_token\":{\"content\":\"</s>\"}}",
     "",
     3,
     4,
     false,
     false,
     {4, -1}},
    {"",
     "{\"bos_token\":null,\"eos_token\":\"none\"}",
     "{\"eos_token_id\":[2,1]}",
     UINT32_MAX,
     2,
     false,
     false,
     {2, 1}},
    {"",
     "{\"bos_token\":\"<s>\",\"add_bos_token\":true}",
     "{\"eos_token_id\":4}",
     3,
     4,
     true,
     false,
     {4, -1}},
    {PROCESSOR(BEFORE TEXT),
     "{\"add_bos_token\":false}",
     "{\"eos_token_id\":99}",
     3,
     UINT32_MAX,
     false,
     false,
     {-1, -1}},
};

static void write_or_remove(const char *name, const char *text)
{
    if (*text) {
        write_file(temp_path(name), text, strlen(text));
    } else {
        unlink(temp_path(name));
    }
}

static void expect_ends(const struct gi_gguf *gguf, size_t i)
{
    uint32_t bos, eos;
    bool add_bos, add_eos;
    struct gi_gguf_array stops;
    const uint32_t none = UINT32_MAX;
    must_do(gi_gguf_get_u32(gguf, "tokenizer.ggml.bos_token_id", none, &bos, &err));
    must_do(gi_gguf_get_u32(gguf, "tokenizer.ggml.eos_token_id", none, &eos, &err));
    must_do(gi_gguf_get_bool(gguf, "tokenizer.ggml.add_bos_token", true, &add_bos, &err));
    must_do(gi_gguf_get_bool(gguf, "tokenizer.ggml.add_eos_token", true, &add_eos, &err));
    must_do(gi_gguf_get_array(gguf, "glinfer.tokenizer.stop_ids", GI_GGUF_KIND_I32, &stops, &err));
    assert_int_equal(bos, ends[i].bos);
    assert_int_equal(eos, ends[i].eos);
    assert_int_equal(add_bos, ends[i].add_bos);
    assert_int_equal(add_eos, ends[i].add_eos);
    assert_int_equal(stops.count, (ends[i].stops[0] >= 0) + (ends[i].stops[1] >= 0));
    for (size_t k = 0; k < stops.count; k++) {
        assert_int_equal(gi_gguf_array_i32(&stops, k), ends[i].stops[k]);
    }
}

TEST(ends_of_a_text_come_from_processor_and_configs)
{
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        write_small(ends[i].member, BPE);
        write_or_remove("tokenizer_config.json", ends[i].config);
        write_or_remove("generation_config.json", ends[i].generation);
        struct gi_gguf *gguf = must_do(convert(temp_folder, &err));
        expect_ends(gguf, i);
        gi_gguf_close(gguf);
    }
    write_or_remove("generation_config.json", "");
}

TEST(two_tokens_between_the_texts_of_a_pair_are_a_separator)
{
    uint32_t id;
    bool is_added;
    write_small("\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[" TEXT AFTER
                "],\"pair\":[" TEXT AFTER AFTER "," TEXT
                "],\"special_tokens\":{\"e\":{\"ids\":[4]}}}",
                BPE);
    struct gi_gguf *gguf = must_do(convert(temp_folder, &err));
    must_do(gi_gguf_get_u32(gguf, "tokenizer.ggml.seperator_token_id", 0, &id, &err));
    must_do(gi_gguf_get_bool(gguf, "tokenizer.ggml.add_sep_token", false, &is_added, &err));
    assert_true(id == 4 && is_added);
    gi_gguf_close(gguf);
}

TEST(chat_templates_come_from_a_file_or_the_config)
{
    write_small("", BPE);
    write_or_remove("tokenizer_config.json", "{\"chat_template\":\"one\"}");
    struct gi_gguf *gguf = must_do(convert(temp_folder, &err));
    expect_text(gguf, "tokenizer.chat_template", "one");
    gi_gguf_close(gguf);
    write_or_remove("tokenizer_config.json",
                    "{\"chat_template\":[{\"name\":\"default\",\"template\":\"two\"},"
                    "{\"name\":\"tool_use\",\"template\":\"three\"},{\"name\":7}]}");
    gguf = must_do(convert(temp_folder, &err));
    expect_text(gguf, "tokenizer.chat_template", "two");
    expect_text(gguf, "tokenizer.chat_template.tool_use", "three");
    gi_gguf_close(gguf);
    write_or_remove("chat_template.jinja", "four");
    gguf = must_do(convert(temp_folder, &err));
    expect_text(gguf, "tokenizer.chat_template", "four");
    expect_text(gguf, "tokenizer.chat_template.tool_use", "three");
    gi_gguf_close(gguf);
    write_or_remove("chat_template.jinja", "");
    write_or_remove("tokenizer_config.json", "");
}

TEST(a_template_of_older_folders_is_read_where_there_is_no_other)
{
    write_small("", BPE);
    write_or_remove("chat_template.json", "{\"chat_template\":\"five\"}");
    write_or_remove("tokenizer_config.json", "{\"chat_template\":null}");
    struct gi_gguf *gguf = must_do(convert(temp_folder, &err));
    expect_text(gguf, "tokenizer.chat_template", "five");
    gi_gguf_close(gguf);
    write_or_remove("tokenizer_config.json", "{\"chat_template\":\"one\"}");
    gguf = must_do(convert(temp_folder, &err));
    expect_text(gguf, "tokenizer.chat_template", "one");
    gi_gguf_close(gguf);
    write_or_remove("chat_template.json", "");
    write_or_remove("tokenizer_config.json", "");
}

RUN_TESTS(make_temp_folder, remove_temp_folder)
