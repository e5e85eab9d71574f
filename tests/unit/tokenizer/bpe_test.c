#include "tests/unit/cmocka_test.h"
#include "tests/unit/tokenizer/encoding.h"
#include "tests/unit/tokenizer/small_vocab.h"

#include <stdlib.h>

//-- helpers -----------------------------------------------------------------------------------

// The vocabulary of a test and the tokenizer that it made last.
static struct small_vocab small;
static struct gi_tokenizer *tokenizer;

static int setup(void **state)
{
    (void)state;
    small_vocab_init(&small);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    gi_tokenizer_destroy(tokenizer);
    tokenizer = NULL;
    return 0;
}

static void create(void)
{
    gi_tokenizer_destroy(tokenizer);
    tokenizer = must_create(&small.vocab);
}

static void create_small(const char *pre)
{
    small.vocab.pre = small_text(pre);
    create();
}

static void expect_failure(const struct gi_vocab *vocab, enum glinfer_status status,
                           const char *words)
{
    struct glinfer_error err;
    assert_null(gi_tokenizer_create(vocab, &err));
    assert_int_equal(err.status, status);
    assert_says(err.message, words);
}

#define EXPECT_IDS(text, flags, ...)                                                               \
    expect_ids(tokenizer, small_text(text), flags, IDS(__VA_ARGS__))

static void expect_round_trip(struct gi_text text)
{
    struct gi_ids ids = {0};
    struct glinfer_error err;
    size_t n = 0;
    assert_true(gi_tokenizer_encode(tokenizer, text, false, false, &ids, &err));
    for (size_t i = 0; i < ids.count; i++) {
        struct gi_text bytes = gi_tokenizer_bytes(tokenizer, ids.data[i]);
        assert_true(n + bytes.size <= text.size);
        assert_memory_equal(text.data + n, bytes.data, bytes.size);
        n += bytes.size;
    }
    assert_int_equal(n, text.size);
    gi_ids_finish(&ids);
}

//-- merging -----------------------------------------------------------------------------------

TEST(bpe_merges_by_rank)
{
    create_small("smollm");
    EXPECT_IDS("hello", 0, SMALL_HELLO);
    EXPECT_IDS("hellhello", 0, SMALL_HELL, SMALL_HELLO);
    EXPECT_IDS("llll", 0, SMALL_LL, SMALL_LL);
    EXPECT_IDS("lll", 0, SMALL_LL, 'l');
    EXPECT_IDS("hehe", 0, SMALL_HE, SMALL_HE);
    EXPECT_IDS(" w", 0, SMALL_SPACE_W);
}

TEST(bpe_encodes_nothing_to_nothing)
{
    create_small("smollm");
    struct gi_ids ids = {0};
    assert_true(gi_tokenizer_encode(tokenizer, (struct gi_text){NULL, 0}, true, true, &ids, NULL));
    assert_int_equal(ids.count, 0);
    gi_ids_finish(&ids);
}

TEST(bpe_keeps_every_byte)
{
    create_small("smollm");
    char ascii[128];
    for (int byte = 0; byte < 128; byte++) {
        ascii[byte] = (char)byte;
    }
    expect_round_trip((struct gi_text){ascii, sizeof(ascii)});
    expect_round_trip(small_text("\u00e9\u20ac\U0001f600 \u4e2d\u6587\n\t hello  12"));
}

TEST(bpe_encodes_broken_bytes_as_replacements)
{
    create_small("smollm");
    EXPECT_IDS("\xff", 0, 0xef, 0xbf, 0xbd);
    EXPECT_IDS("\xc1\x81", 0, 'A');
    EXPECT_IDS("\xed\xa0\x80", 0, 0xed, 0xa0, 0x80);
}

TEST(bpe_drops_bytes_that_have_no_token)
{
    small.tokens['z'] = small_text("zz");
    create();
    EXPECT_IDS("azb", 0, 'a', 'b');
    EXPECT_IDS("hzello", 0, 'h', 'e', SMALL_LL, 'o');
}

TEST(bpe_encodes_long_runs)
{
    create_small("llama-bpe");
    static char text[1 << 20];
    static const char runs[] = {'l', ' ', '\n', '1', '.', (char)0xff};
    for (size_t i = 0; i < sizeof(runs); i++) {
        memset(text, runs[i], sizeof(text));
        struct gi_ids ids = {0};
        struct gi_text run = {text, sizeof(text)};
        assert_true(gi_tokenizer_encode(tokenizer, run, false, true, &ids, NULL));
        assert_true(ids.count >= sizeof(text) / 2);
        gi_ids_finish(&ids);
    }
}

//-- words -------------------------------------------------------------------------------------

TEST(smollm_parts_digits)
{
    create_small("smollm");
    EXPECT_IDS("12", 0, '1', '2');
    create_small("gpt-2");
    EXPECT_IDS("12", 0, SMALL_12);
}

TEST(gpt2_leaves_the_last_space_to_the_word)
{
    create_small("gpt-2");
    EXPECT_IDS("   w", 0, SMALL_TWO_SPACES, SMALL_SPACE_W);
    EXPECT_IDS("w   ", 0, 'w', SMALL_TWO_SPACES, ' ');
    EXPECT_IDS("l\u00a0l", 0, 'l', 0xc2, 0xa0, 'l');
}

TEST(llama_takes_a_word_that_is_a_token)
{
    small.vocab.n_merges = 1;
    create();
    EXPECT_IDS("hello", 0, SMALL_HE, 'l', 'l', 'o');
    small.vocab.pre = small_text("llama-bpe");
    create();
    EXPECT_IDS("hello", 0, SMALL_HELLO);
}

TEST(every_pretokenizer_compiles)
{
    static const char *const names[] = {
        "smollm",       "exaone-moe",     "ufakzeka",         "laguna",
        "jais-2",       "spark2_5",       "chameleon",        "granite-embed-multi-97m",
        "starcoder",    "refact",         "command-r",        "llama-bpe",
        "llama3",       "llama-v3",       "falcon3",          "smaug-bpe",
        "glm4",         "qwen2",          "deepseek-r1-qwen", "qwen35",
        "gpt-2",        "olmo",           "default",          "falcon",
        "deepseek-llm", "deepseek-v3",    "tekken",           "gpt-4o",
        "llama4",       "deepseek-coder", "bailingmoe",       "seed-coder",
        "minicpm5",     "bloom",          "viking",           ""};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        create_small(names[i]);
        expect_round_trip(small_text("Hello, w\u00f6rld!  It's 2024:\n\n\t x = 0xFF; "));
    }
}

//-- special tokens ----------------------------------------------------------------------------

TEST(control_tokens_are_text_unless_parsed)
{
    create_small("smollm");
    EXPECT_IDS("l<|im_end|>l", PARSE_SPECIAL, 'l', SMALL_IM_END, 'l');
    EXPECT_IDS("<unk>", PARSE_SPECIAL, SMALL_UNKNOWN);
    EXPECT_IDS("<unk>", 0, '<', 'u', 'n', 'k', '>');
    EXPECT_IDS("<|im_end|", PARSE_SPECIAL, '<', '|', 'i', 'm', '_', 'e', 'n', 'd', '|');
}

TEST(user_defined_tokens_are_always_found_longest_first)
{
    create_small("smollm");
    EXPECT_IDS("<tool>", 0, SMALL_TOOL);
    EXPECT_IDS("<tool>call<tool>", 0, SMALL_TOOL_CALL, SMALL_TOOL);
    EXPECT_IDS("<tool><tool>cal", PARSE_SPECIAL, SMALL_TOOL, SMALL_TOOL, 'c', 'a', 'l');
}

TEST(longer_tokens_win_over_earlier_ones)
{
    small.tokens[SMALL_TOOL] = small_text("ab");
    small.tokens[SMALL_TOOL_CALL] = small_text("bcd");
    create();
    EXPECT_IDS("abcd", 0, 'a', SMALL_TOOL_CALL);
    EXPECT_IDS("abab", 0, SMALL_TOOL, SMALL_TOOL);
}

TEST(bos_and_eos_follow_the_file)
{
    small.vocab.bos = SMALL_IM_START;
    create();
    EXPECT_IDS("l", ADD_SPECIAL, 'l');
    small.vocab.add_bos = small.vocab.add_eos = 1;
    create();
    EXPECT_IDS("l", ADD_SPECIAL, SMALL_IM_START, 'l', SMALL_END);
    EXPECT_IDS("l", 0, 'l');
    small.vocab.add_bos = small.vocab.add_eos = -1;
    small.vocab.pre = small_text("llama-bpe");
    create();
    EXPECT_IDS("l", ADD_SPECIAL, SMALL_IM_START, 'l');
}

TEST(stop_ids_are_known_by_spelling)
{
    create_small("smollm");
    int32_t ids[16];
    assert_int_equal(gi_tokenizer_stop_ids(tokenizer, ids), 2);
    assert_int_equal(ids[0], SMALL_END);
    assert_int_equal(ids[1], SMALL_IM_END);
}

TEST(stop_ids_leave_out_end_where_return_and_call_are)
{
    small.tokens[SMALL_TOOL] = small_text("<|end|>");
    small.tokens[SMALL_TOOL_CALL] = small_text("<|return|>");
    small.tokens[SMALL_UNUSED] = small_text("<|call|>");
    create();
    int32_t ids[16];
    assert_int_equal(gi_tokenizer_stop_ids(tokenizer, ids), 4);
    assert_false(gi_tokenizer_is_control(tokenizer, SMALL_TOOL));
    assert_true(gi_tokenizer_is_control(tokenizer, SMALL_TOOL_CALL));
}

TEST(bytes_of_tokens)
{
    create_small("smollm");
    expect_bytes(tokenizer, SMALL_SPACE_W, " w");
    expect_bytes(tokenizer, 0xff, "\xff");
    expect_bytes(tokenizer, SMALL_IM_END, "<|im_end|>");
    expect_bytes(tokenizer, SMALL_TOOL, "<tool>");
    expect_bytes(tokenizer, SMALL_BYTE, "\n");
    expect_bytes(tokenizer, SMALL_UNUSED, "");
    assert_null(gi_tokenizer_bytes(tokenizer, -1).data);
    assert_null(gi_tokenizer_bytes(tokenizer, SMALL_COUNT).data);
    assert_true(gi_tokenizer_is_control(tokenizer, SMALL_IM_START));
    assert_false(gi_tokenizer_is_control(tokenizer, SMALL_TOOL));
    assert_false(gi_tokenizer_is_control(tokenizer, 'a'));
    assert_false(gi_tokenizer_is_control(tokenizer, -1));
    assert_string_equal(gi_tokenizer_name(tokenizer), "gpt2/smollm");
    assert_int_equal(gi_tokenizer_size(tokenizer), SMALL_COUNT);
}

//-- hostile vocabularies ----------------------------------------------------------------------

TEST(create_refuses_unknown_kinds)
{
    small.vocab.pre = small_text("no-such-pre");
    expect_failure(&small.vocab, GLINFER_STATUS_UNSUPPORTED, "no-such-pre");
    expect_failure(&small.vocab, GLINFER_STATUS_UNSUPPORTED, "smollm");
    small.vocab.model = small_text("rwkv");
    expect_failure(&small.vocab, GLINFER_STATUS_UNSUPPORTED, "rwkv");
    small.vocab.model = (struct gi_text){NULL, 0};
    expect_failure(&small.vocab, GLINFER_STATUS_UNSUPPORTED, "gpt2");
}

TEST(create_refuses_an_empty_vocabulary)
{
    small.vocab.n_tokens = 0;
    expect_failure(&small.vocab, GLINFER_STATUS_BAD_FILE, "0 tokens");
}

TEST(create_refuses_ids_out_of_range)
{
    small.vocab.eos = SMALL_COUNT;
    expect_failure(&small.vocab, GLINFER_STATUS_BAD_FILE, "eos_token_id");
    small.vocab.eos = GI_NO_TOKEN;
    small.vocab.bos = -2;
    expect_failure(&small.vocab, GLINFER_STATUS_BAD_FILE, "bos_token_id");
    small.vocab.bos = GI_NO_TOKEN;
    small.vocab.eot = INT32_MAX;
    expect_failure(&small.vocab, GLINFER_STATUS_BAD_FILE, "eot_token_id");
}

TEST(create_refuses_merges_that_name_no_token)
{
    static const char *const merges[] = {"", " ", "h", "he", "h qq", "qq h", "h  e", " h", "l h"};
    for (size_t i = 0; i < sizeof(merges) / sizeof(merges[0]); i++) {
        small_vocab_init(&small);
        small.merges[2] = small_text(merges[i]);
        expect_failure(&small.vocab, GLINFER_STATUS_BAD_FILE, "merge 2");
    }
}

TEST(create_takes_odd_vocabularies)
{
    small.tokens[SMALL_UNUSED] = (struct gi_text){NULL, 0};
    small.types[SMALL_UNUSED] = GI_TOKEN_TYPE_CONTROL;
    small.tokens[SMALL_TOOL] = small_text("hello");
    small.types[SMALL_UNKNOWN] = 77;
    small.tokens[SMALL_BYTE] = small_text("<0xZZ>");
    create();
    EXPECT_IDS("hello", PARSE_SPECIAL, SMALL_TOOL);
    expect_bytes(tokenizer, SMALL_UNUSED, "");
    small.vocab = (struct gi_vocab){.model = small_text("gpt2"),
                                    .tokens = small.tokens,
                                    .n_tokens = 1,
                                    .bos = GI_NO_TOKEN,
                                    .eos = GI_NO_TOKEN,
                                    .eot = GI_NO_TOKEN,
                                    .eom = GI_NO_TOKEN};
    create();
    expect_ids(tokenizer, (struct gi_text){"a\0b", 3}, 0, (const int32_t[]){0}, 1);
}

TEST(create_takes_a_long_token)
{
    size_t size = 1 << 20;
    char *text = malloc(size);
    memset(text, 'x', size);
    small.tokens[SMALL_TOOL] = (struct gi_text){text, size};
    create();
    expect_ids(tokenizer, (struct gi_text){text, size}, 0, (const int32_t[]){SMALL_TOOL}, 1);
    EXPECT_IDS("xx", 0, 'x', 'x');
    assert_int_equal(gi_tokenizer_bytes(tokenizer, SMALL_TOOL).size, size);
    free(text);
}

TEST(create_survives_failing_allocations)
{
    small.vocab.chat_template = small_text("'<|im_start|>system\\nHi<|im_end|>'");
    gi_tokenizer_destroy(create_in_the_end(&small.vocab));
}

TEST(encode_survives_failing_allocations)
{
    create_small("llama-bpe");
    struct gi_text text =
        small_text("hello w\xed\xa0\x80<|im_end|> lllllllllllllllllllllllllllllll");
    encode_in_the_end(tokenizer, text, PARSE_SPECIAL);
}

RUN_TESTS_EACH(NULL, NULL, setup, teardown)
