// Conversations in JSON, as templates find them.
#include "tests/unit/cmocka_test.h"
#include "tests/unit/tokenizer/small_vocab.h"

#include <stdio.h>

// Messages, tools and variables as JSON; special tokens that their texts spell stay text.
TEST(json_is_what_a_template_finds)
{
    struct gi_tokenizer *tokenizer = small_vocab_create(
        "{% for t in tools or [] %}{{ t.name }}{% endfor %}{% for m in messages %}"
        "<|im_start|>{{ m.role }}\n{{ m.content }}{% for c in m.calls or [] %}"
        "{{ c | tojson }}{% endfor %}<|im_end|>{% endfor %}{{ word }}{% if "
        "add_generation_prompt %}<|im_start|>{% endif %}");
    static const char plain[] =
        "he<|im_start|>user\nll{\"a\": [1, 0.5, true, null]}<|im_end|>lo<|im_start|>";
    struct glinfer_chat_json chat = {
        .messages = "[{\"role\": \"user\", \"content\": \"ll\", "
                    "\"calls\": [{\"a\": [1, 0.5, true, null]}]}]",
        .tools = "[{\"name\": \"he\"}]",
        .variables = "{\"word\": \"lo\"}",
    };
    struct gi_ids ids = {0}, expected = {0};
    struct glinfer_error err = {0};
    assert_true(gi_tokenizer_encode_chat_json(tokenizer, &chat, &ids, &err));
    assert_true(gi_tokenizer_encode(tokenizer, small_text(plain), false, true, &expected, NULL));
    assert_int_equal(ids.count, expected.count);
    assert_memory_equal(ids.data, expected.data, ids.count * sizeof(*ids.data));
    gi_ids_finish(&ids);
    gi_ids_finish(&expected);
    chat = (struct glinfer_chat_json){.messages = "[]", .tools = "[{\"name\": \"<|im_end|>\"}]"};
    assert_true(gi_tokenizer_encode_chat_json(tokenizer, &chat, &ids, &err));
    for (size_t i = 0; i + 1 < ids.count; i++) {
        assert_false(gi_tokenizer_is_control(tokenizer, ids.data[i]));
    }
    gi_ids_finish(&ids);
    // Control tokens are those that stand within fences, not what a message spells otherwise.
    chat = (struct glinfer_chat_json){
        .messages = "[{\"role\": \"user\", \"content\": \"~<|im_end|>~<|im_end|>~ll\"}]",
        .control_fence = "~",
    };
    size_t n_control = 0;
    assert_true(gi_tokenizer_encode_chat_json(tokenizer, &chat, &ids, &err));
    for (size_t i = 0; i < ids.count; i++) {
        n_control += gi_tokenizer_is_control(tokenizer, ids.data[i]);
    }
    assert_int_equal(n_control, 4); // three of the template's
    gi_ids_finish(&ids);
    static const char *const wrong[][2] = {
        {"[", "invalid JSON in the messages at byte 1"},
        {"{}", "messages are not a JSON array"},
        {"[01]", "byte 1"},
        {"[] []", "byte 3"},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        chat = (struct glinfer_chat_json){.messages = wrong[i][0]};
        assert_fails(gi_tokenizer_encode_chat_json(tokenizer, &chat, &ids, &err), err,
                     INVALID_ARGUMENT, "");
        assert_non_null(strstr(err.message, wrong[i][1]));
    }
    gi_tokenizer_destroy(tokenizer);
}

static void expect_end(struct gi_tokenizer *tokenizer, const char *messages,
                       enum glinfer_chat_end end, const char *text)
{
    const struct glinfer_chat_json chat = {.messages = messages, .end = end};
    struct gi_ids ids = {0}, expected = {0};
    must_do(gi_tokenizer_encode_chat_json(tokenizer, &chat, &ids, &err));
    assert_true(gi_tokenizer_encode(tokenizer, small_text(text), false, true, &expected, NULL));
    if (ids.count != expected.count ||
        memcmp(ids.data, expected.data, ids.count * sizeof(*ids.data)) != 0) {
        fail_msg("%s with end %d is not '%s'", messages, end, text);
    }
    gi_ids_finish(&ids);
    gi_ids_finish(&expected);
}

// The last message is left open or closed, by a template and by a format that was chosen by name.
TEST(a_conversation_ends_as_asked)
{
    static const char talk[] = "[{\"role\": \"user\", \"content\": \"ll\"}, {\"role\": "
                               "\"assistant\", \"content\": \"he l\"}]";
    static const char *const ends[] = {
        [GLINFER_CHAT_END_ANSWER] = "<|im_end|>\n<|im_start|>assistant\n",
        [GLINFER_CHAT_END_CONTINUE] = "",
        [GLINFER_CHAT_END_MESSAGE] = "<|im_end|>\n",
    };
    struct gi_tokenizer *tokenizer = small_vocab_create(
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}");
    for (int is_named = 0; is_named < 2; is_named++) {
        for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
            char text[256];
            snprintf(text, sizeof(text),
                     "<|im_start|>user\nll<|im_end|>\n<|im_start|>assistant\nhe l%s", ends[i]);
            expect_end(tokenizer, talk, (enum glinfer_chat_end)i, text);
        }
        struct glinfer_error err;
        assert_true(gi_tokenizer_set_template(tokenizer, "llama3", &err));
        assert_true(gi_tokenizer_set_template(tokenizer, "chatml", &err));
    }
    // A format has no place for more than texts.
    static const char call[] = "[{\"role\": \"assistant\", \"content\": \"\", \"tool_calls\": []}]";
    const struct glinfer_chat_json refused[] = {
        {.messages = call}, {.messages = talk, .tools = "[]"}, {.messages = "[1]"}};
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct gi_ids ids = {0};
        struct glinfer_error err = {0};
        assert_fails(gi_tokenizer_encode_chat_json(tokenizer, &refused[i], &ids, &err), err,
                     UNSUPPORTED, "");
    }
    gi_tokenizer_destroy(tokenizer);
}

// User-defined tokens such as <think> are marks where the template writes them, and text where a
// message spells them, even across their border.
TEST(marks_that_messages_spell_are_text)
{
    static const struct {
        const char *content;
        size_t n_marks;
    } cases[] = {
        {"hello", 2}, {"a <tool> b", 2}, {"<tool>", 2}, {"ool> <t", 2}, {"~<tool>~ <tool>", 3},
    };
    struct gi_tokenizer *tokenizer = small_vocab_create(
        "<tool>{% for m in messages %}{{ m.content }}<t{{ 'ool>' }}{% endfor %}");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char messages[128];
        size_t n_marks = 0;
        struct gi_ids ids = {0};
        snprintf(messages, sizeof(messages), "[{\"role\": \"user\", \"content\": \"%s\"}]",
                 cases[i].content);
        const struct glinfer_chat_json chat = {.messages = messages, .control_fence = "~"};
        assert_true(gi_tokenizer_encode_chat_json(tokenizer, &chat, &ids, NULL));
        for (size_t k = 0; k < ids.count; k++) {
            n_marks += ids.data[k] == SMALL_TOOL;
        }
        assert_int_equal(n_marks, cases[i].n_marks);
        gi_ids_finish(&ids);
    }
    struct gi_ids ids = {0};
    assert_true(gi_tokenizer_encode(tokenizer, small_text("<tool>"), false, false, &ids, NULL));
    assert_int_equal(ids.data[0], SMALL_TOOL); // a text that is not a message
    gi_ids_finish(&ids);
    gi_tokenizer_destroy(tokenizer);
}

RUN_TESTS(NULL, NULL)
