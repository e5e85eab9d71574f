// Tests the text that each chat format writes.
#include "tests/unit/cmocka_test.h"
#include "tests/unit/data/case_file.h"
#include "tests/unit/tokenizer/small_vocab.h"

static const struct glinfer_message user[] = {{"user", "ll"}};

static const struct glinfer_message whole_chat[] = {
    {"system", " he "}, {"user", " a "}, {"assistant", "w</think>\nb "}, {"user", "c"}};

// BOS is <tool>, EOS is <|endoftext|>; a date is not compared.
static void expect_named(const char *name, const struct glinfer_message *messages,
                         size_t n_messages, const char *text)
{
    struct small_vocab small;
    struct gi_ids ids = {0}, expected = {0};
    small_vocab_init(&small);
    small.vocab.bos = SMALL_TOOL;
    struct gi_tokenizer *tokenizer = must_do(gi_tokenizer_create(&small.vocab, &err));
    must_do(gi_tokenizer_set_template(tokenizer, name, &err));
    assert_string_equal(gi_tokenizer_template_name(tokenizer), name);
    must_do(gi_tokenizer_encode_chat(tokenizer, messages, n_messages, GLINFER_CHAT_END_ANSWER, &ids,
                                     &err));
    must_do(gi_tokenizer_encode(tokenizer, small_text(text), false, true, &expected, &err));
    if (ids.count != expected.count ||
        memcmp(ids.data, expected.data, ids.count * sizeof(*ids.data)) != 0) {
        fail_msg("%s does not write '%s'", name, text);
    }
    gi_ids_finish(&ids);
    gi_ids_finish(&expected);
    gi_tokenizer_destroy(tokenizer);
}

static void check_format(const char *const fields[])
{
    expect_named(fields[0], user, 1, fields[1]);
    expect_named(fields[0], whole_chat, 4, fields[2]);
}

TEST(formats_write_their_turns)
{
    each_case("chat_format.cases", "formats", check_format);
}

TEST(blank_contents_are_trimmed_with_what_is_around_them)
{
    static const struct glinfer_message blank[] = {{"system", " \n"}, {"user", "\t"}};
    expect_named("gemma", blank, 2,
                 "<tool><start_of_turn>user\n<end_of_turn>\n<start_of_turn>model\n");
    expect_named("llama2", blank, 2, "<tool>[INST] <<SYS>>\n \n\n<</SYS>> [/INST]");
}

TEST(the_first_bos_is_written_once)
{
    struct small_vocab small;
    small_vocab_init(&small);
    small_vocab_set_bos(&small);
    struct gi_tokenizer *tokenizer = must_do(gi_tokenizer_create(&small.vocab, &err));
    must_do(gi_tokenizer_set_template(tokenizer, "llama2", &err));
    assert_true(small_vocab_begins_once(tokenizer, user));
    gi_tokenizer_destroy(tokenizer);
}

RUN_TESTS(NULL, NULL)
