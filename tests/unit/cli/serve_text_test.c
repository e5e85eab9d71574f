// Text and fields of requests, keys and origins of `glinfer serve`.
#include "cli/serve/api/serve_fields.h"
#include "cli/serve/http/serve_access.h"
#include "tests/unit/cmocka_test.h"

#define FIND_FAULT(text) serve_find_fault(text, sizeof(text) - 1)

TEST(text_is_utf8_without_zero_characters)
{
    assert_null(FIND_FAULT(""));
    assert_null(FIND_FAULT("{\"a\": \"caf\xC3\xA9 \xE4\xB8\x96 \xF0\x9F\x98\x80\"}"));
    assert_null(FIND_FAULT("\"\\\\u0000\""));
    assert_non_null(FIND_FAULT("\"\\u0000\""));
    assert_non_null(FIND_FAULT("\"\\\\\\u0000\""));
    assert_non_null(FIND_FAULT("a\0b"));
    assert_non_null(FIND_FAULT("\x80"));
    assert_non_null(FIND_FAULT("\xC3"));
    assert_non_null(FIND_FAULT("\xC0\x80"));
    assert_non_null(FIND_FAULT("\xED\xA0\x80"));
    assert_non_null(FIND_FAULT("\xF4\x90\x80\x80"));
    assert_non_null(FIND_FAULT("\xE0\x80\x80"));
}

TEST(fields_keep_the_first_mistake)
{
    cJSON *json = cJSON_Parse("{\"f\": 0.5, \"i\": 7, \"b\": true, \"t\": \"x\", \"null\": null, "
                              "\"half\": 1.5, \"large\": 1e300}");
    struct serve_fields fields = {.object = json};
    float number = 0;
    int64_t whole = 0;
    bool truth = false;
    const char *text = NULL;
    assert_true(serve_fields_float(&fields, "f", 0, 1, &number));
    assert_true(serve_fields_int(&fields, "i", 0, 9, &whole));
    assert_true(serve_fields_bool(&fields, "b", &truth));
    assert_true(serve_fields_text(&fields, "t", &text));
    assert_true(number == 0.5F && whole == 7 && truth);
    assert_string_equal(text, "x");
    assert_false(serve_fields_int(&fields, "null", 0, 9, &whole));
    assert_false(serve_fields_int(&fields, "missing", 0, 9, &whole));
    assert_false(fields.is_wrong);
    assert_false(serve_fields_int(&fields, "half", 0, 9, &whole));
    assert_false(serve_fields_int(&fields, "large", 0, INT64_MAX / 2, &whole));
    assert_false(serve_fields_int(&fields, "i", 0, 9, &whole));
    assert_true(fields.is_wrong && fields.status == 400 && whole == 7);
    assert_string_equal(fields.message, "invalid \"half\": expected a whole number from 0 to 9");
    cJSON_Delete(json);
}

TEST(keys_are_compared_whole)
{
    assert_true(serve_is_same_key("secret", "secret"));
    assert_true(serve_is_same_key("", ""));
    assert_false(serve_is_same_key("secret", "secre"));
    assert_false(serve_is_same_key("secret", "secrets"));
    assert_false(serve_is_same_key("secret", ""));
    assert_false(serve_is_same_key("", "s"));
    assert_false(serve_is_same_key("ab", "abab"));
}

TEST(keys_come_from_headers)
{
    struct serve_access access = {.n_keys = 0};
    assert_true(serve_access_has_key(&access, NULL, NULL));
    assert_true(serve_access_add_keys(&access, "one,two"));
    assert_int_equal(access.n_keys, 2);
    assert_false(serve_access_has_key(&access, NULL, NULL));
    assert_true(serve_access_has_key(&access, "Bearer two", NULL));
    assert_true(serve_access_has_key(&access, "bearer one", NULL));
    assert_true(serve_access_has_key(&access, NULL, "one"));
    assert_false(serve_access_has_key(&access, "Bearer one,two", NULL));
    assert_false(serve_access_has_key(&access, "Basic one", NULL));
    serve_access_finish(&access);
}

TEST(pages_of_others_are_told_by_their_origin)
{
    struct serve_access access = {
        .origins = {.items = (const char *[]){"https://a.example"}, .count = 1}};
    assert_true(serve_access_trusts(&access, NULL, "h:1"));
    assert_true(serve_access_trusts(&access, "http://h:1", "h:1"));
    assert_true(serve_access_trusts(&access, "https://a.example", "h:1"));
    assert_false(serve_access_trusts(&access, "http://h:2", "h:1"));
    assert_false(serve_access_trusts(&access, "null", "h:1"));
    assert_false(serve_access_trusts(&access, "http://h:1", NULL));
    assert_false(serve_access_allows(&access, "http://h:1"));
    access.origins.items[0] = "*";
    assert_true(serve_access_allows(&access, "http://h:1"));
    access.origins.items[0] = "https://a.example,localhost";
    assert_true(serve_access_allows(&access, "http://localhost:3000"));
    assert_true(serve_access_allows(&access, "https://[::1]"));
    assert_true(serve_access_allows(&access, "https://a.example"));
    assert_false(serve_access_allows(&access, "https://a.example.com"));
    assert_false(serve_access_allows(&access, "http://localhost.evil.com"));
    assert_false(serve_access_allows(&access, "http://notlocalhost"));
    access = (struct serve_access){.n_keys = 1};
    assert_true(serve_access_allows(&access, "https://any.example"));
    assert_false(serve_access_allows(&access, NULL));
}

static bool trusts_own(const struct serve_access *access, const char *origin)
{
    return serve_access_trusts(access, origin, strstr(origin, "://") + 3);
}

TEST(names_that_may_lead_here_later_are_not_trusted)
{
    static const char *const local[] = {"http://127.0.0.1:8080", "http://[::1]:8080",
                                        "http://192.168.0.7",    "http://localhost:8080",
                                        "http://board:8080",     "http://board.local",
                                        "http://b.HOME.arpa:1",  "https://chat.example.com"};
    static const char *const foreign[] = {"http://evil.example.com:8080", "http://127.0.0.1.nip.io",
                                          "http://evillocal.com", "http://a.local.com:80",
                                          "http://1.2.3.4x.net"};
    struct serve_access access = {.n_keys = 0};
    (void)state;
    for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++) {
        assert_true(trusts_own(&access, local[i]));
    }
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        assert_false(trusts_own(&access, foreign[i]));
    }
    assert_true(serve_access_add_keys(&access, "key"));
    assert_true(trusts_own(&access, foreign[0]));
    serve_access_finish(&access);
}

TEST(names_that_foreign_pages_may_have_are_not_known)
{
    static const char *const known[] = {"127.0.0.1:8080", "[::1]:8080", "localhost", "board.local",
                                        "chat.example.com:8080"};
    static const char *const unknown[] = {"evil.example.com:8080", "127.0.0.1.nip.io",
                                          "chat.example.com.evil.net", "xchat.example.com"};
    struct serve_access access = {
        .origins = {.items = (const char *[]){"https://chat.example.com"}, .count = 1}};
    (void)state;
    assert_true(serve_access_knows(&access, NULL, NULL));
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        assert_true(serve_access_knows(&access, known[i], NULL));
    }
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        assert_false(serve_access_knows(&access, unknown[i], NULL));
        assert_false(serve_access_knows(&access, unknown[i], "cross-site"));
        assert_true(serve_access_knows(&access, unknown[i], "same-origin"));
    }
    access.origins.items[0] = "*";
    assert_true(serve_access_knows(&access, unknown[0], NULL));
    access.origins.count = 0;
    assert_true(serve_access_add_keys(&access, "key"));
    assert_true(serve_access_knows(&access, unknown[0], NULL));
    serve_access_finish(&access);
}

RUN_TESTS(NULL, NULL)
