#include "tests/unit/cli/call_language.h"

#include "cli/common/cli_json_read.h"
#include "cli/serve/calls/serve_calls.h"
#include "grammar/schema/json_schema.h"
#include "tests/unit/cmocka_test.h"

#include <stdlib.h>
#include <string.h>

void call_language_open(struct call_language *language, const struct glinfer_grammar *grammar)
{
    struct glinfer_error err = {0};
    language->grammar = gi_json_schema_rules(grammar->gbnf, grammar->schemas, grammar->n_schemas,
                                             grammar->schemas_are_hints, NULL, &err);
    assert_string_equal(err.message, "");
    const struct gi_grammar_matcher_params params = {.grammar = language->grammar};
    language->matcher = gi_grammar_matcher_create(&params, &err);
    assert_non_null(language->matcher);
}

void call_language_close(struct call_language *language)
{
    gi_grammar_matcher_destroy(language->matcher);
    gi_grammar_destroy(language->grammar);
}

bool call_language_has(struct call_language *language, const char *text)
{
    struct gi_grammar_state state;
    gi_grammar_state_init(&state, language->matcher);
    const bool has =
        gi_grammar_accept_bytes(&state, text, strlen(text), NULL) && gi_grammar_may_end(&state);
    gi_grammar_state_finish(&state);
    return has;
}

static unsigned pick(unsigned *seed, unsigned end)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed % end;
}

// Returns a byte that may come next, one of `wanted` if there is any; 0 at the end.
static char choose(const struct gi_grammar_state *state, unsigned *seed, const char *wanted)
{
    unsigned n_all = 0, n_wanted = 0;
    char any = 0, best = 0;
    for (int byte = 1; byte < 256; byte++) {
        const char c = (char)byte;
        struct gi_grammar_state next;
        gi_grammar_state_copy(&next, state);
        if (gi_grammar_accept_bytes(&next, &c, 1, NULL)) {
            any = pick(seed, ++n_all) == 0 ? c : any;
            best = strchr(wanted, c) && pick(seed, ++n_wanted) == 0 ? c : best;
        }
        gi_grammar_state_finish(&next);
    }
    return best ? best : any;
}

void call_language_walk(struct call_language *language, const char *mark, unsigned *seed,
                        char *text, size_t size)
{
    enum { LONG = 300 };
    struct gi_grammar_state state;
    gi_grammar_state_init(&state, language->matcher);
    for (size_t n = 0;; n++) {
        if (n + 1 == size) {
            fail_msg("does not end: %.*s", 2000, text);
        }
        const bool is_closing = n > LONG || pick(seed, 4) == 0;
        if (gi_grammar_may_end(&state) && (is_closing || pick(seed, 4) == 0)) {
            text[n] = 0;
            break;
        }
        if (is_closing && mark && pick(seed, 2) == 0 && n + strlen(mark) + 1 < size &&
            gi_grammar_accept_bytes(&state, mark, strlen(mark), NULL)) {
            memcpy(text + n, mark, strlen(mark));
            n += strlen(mark) - 1;
            continue;
        }
        text[n] = choose(&state, seed, n > LONG ? "\"':=)]}>" : is_closing ? "\"'|<>/)]}=,:" : "");
        if (!text[n]) {
            assert_true(gi_grammar_may_end(&state));
            break;
        }
        assert_true(gi_grammar_accept_bytes(&state, text + n, 1, NULL));
    }
    gi_grammar_state_finish(&state);
}

const char *call_member(const cJSON *call, const char *name)
{
    return cli_json_get_text(cli_json_get(call, "function"), name);
}

void call_expect_growth(const struct serve_call_style *style, const cJSON *tools, const char *text,
                        const cJSON *whole)
{
    size_t before = 0, all = 0;
    for (size_t size = 0; size <= strlen(text); size++) {
        char *part = strndup(text, size); // so that reads past its end are found
        cJSON *list = serve_read_begun_calls(style, tools, part, size);
        const cJSON *call, *wanted = whole ? whole->child : NULL;
        size_t now = 0;
        cJSON_ArrayForEach(call, list)
        {
            const char *arguments = call_member(call, "arguments");
            if (!wanted || strcmp(call_member(call, "name"), call_member(wanted, "name")) != 0 ||
                strncmp(arguments, call_member(wanted, "arguments"), strlen(arguments)) != 0) {
                fail_msg("%s: %s, not %s; whole: %s", part, arguments,
                         wanted ? call_member(wanted, "arguments") : "a call", text);
            }
            now += 1 + strlen(arguments);
            wanted = wanted ? wanted->next : NULL;
        }
        assert_true(now >= before);
        before = now;
        cJSON_Delete(list);
        free(part);
    }
    const cJSON *call;
    cJSON_ArrayForEach(call, whole)
    {
        all += 1 + strlen(call_member(call, "arguments"));
    }
    assert_int_equal(before, all);
}
