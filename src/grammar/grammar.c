#include "grammar/grammar.h"

#include "grammar/gbnf/grammar_parser.h"

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

struct gi_grammar *gi_grammar_create(const char *text, size_t size,
                                     const struct gi_grammar_names *names,
                                     struct glinfer_error *err)
{
    struct gi_gbnf gbnf = {0};
    struct gi_builder builder;
    gi_builder_init(&builder, err);
    gi_gbnf_read(&gbnf, &builder, text, size, names);
    struct gi_grammar *grammar =
        gi_gbnf_take(&gbnf, &builder, gi_gbnf_rule(&gbnf, "root"), 0, NULL);
    gi_builder_finish(&builder);
    gi_gbnf_finish(&gbnf);
    return grammar;
}
