#include "grammar/grammar.h"

#include "base/array.h"
#include "grammar/gbnf/grammar_compile.h"
#include "grammar/gbnf/grammar_recursion.h"

#include <stdlib.h>

void gi_grammar_destroy(struct gi_grammar *grammar)
{
    if (!grammar) {
        return;
    }
    free(grammar->nodes.data);
    free(grammar->rules.data);
    gi_char_automata_finish(&grammar->automata);
    free(grammar);
}

static bool check_recursion(const struct gi_grammar *grammar, const struct gi_syntax *syntax,
                            const char *text, size_t size, struct glinfer_error *err)
{
    uint32_t rule;
    if (!gi_grammar_find_left_recursion(grammar, &rule, err)) {
        return false;
    }
    if (rule == GI_SYNTAX_NONE) {
        return true;
    }
    // The rule of a repeated group has no name; one that has a name leads to it.
    if (rule >= syntax->rules.count) {
        rule = grammar->root;
        return gi_syntax_fail(syntax, text, size, rule,
                              "leads to a repeated group that begins with itself", err);
    }
    return gi_syntax_fail(syntax, text, size, rule, "is left-recursive: it may begin with itself",
                          err);
}

static bool check_end(struct gi_grammar *grammar, const struct gi_syntax *syntax, const char *text,
                      size_t size, struct glinfer_error *err)
{
    bool has_end;
    return gi_grammar_cut_endless(grammar, &has_end, err) &&
           (has_end || gi_syntax_fail(syntax, text, size, grammar->root,
                                      "never ends: each of its texts has another one within", err));
}

struct gi_grammar *gi_grammar_create(const char *text, size_t size,
                                     const struct gi_grammar_names *names,
                                     struct glinfer_error *err)
{
    struct gi_syntax syntax = {0};
    struct gi_grammar *grammar = gi_array_zeroed(1, sizeof(*grammar), "a grammar", err);
    if (!grammar) {
        return NULL;
    }
    if (!gi_syntax_parse(&syntax, text, size, names, err) ||
        !gi_grammar_compile(grammar, &syntax, err) ||
        !check_recursion(grammar, &syntax, text, size, err) ||
        !check_end(grammar, &syntax, text, size, err)) {
        gi_grammar_destroy(grammar);
        grammar = NULL;
    }
    gi_syntax_finish(&syntax);
    return grammar;
}
