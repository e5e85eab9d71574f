// Reads the text of a grammar into a tree. The language is GBNF: rules `name ::= alternatives`,
// literals, classes, ".", groups, "? * + {m} {m,} {m,n}", <tokens> and comments. Owns all that it
// has; the text need not outlive the call. A text is not trusted: sizes and nesting are bounded.
#ifndef GI_GRAMMAR_GBNF_GRAMMAR_SYNTAX_H
#define GI_GRAMMAR_GBNF_GRAMMAR_SYNTAX_H

#include "grammar/gbnf/char_automaton.h"
#include "grammar/grammar.h"

#define GI_SYNTAX_NONE     UINT32_MAX
#define GI_SYNTAX_ENDLESS  UINT32_MAX // a repetition without an upper bound
#define GI_SYNTAX_MAX_SIZE (4u << 20) // bytes of a grammar's text

enum gi_syntax_kind {
    GI_SYNTAX_LITERAL,   // a: first of points, b: count
    GI_SYNTAX_CLASS,     // a: first of ranges, b: count, normalised and not empty
    GI_SYNTAX_RULE,      // a: index of a rule
    GI_SYNTAX_TOKEN,     // a: id
    GI_SYNTAX_NOT_TOKEN, // a: id
    GI_SYNTAX_SEQUENCE,  // child: first of its items, or NONE
    GI_SYNTAX_CHOICE,    // child: first of its alternatives
    GI_SYNTAX_REPEAT,    // child: what is repeated, a: least, b: most or ENDLESS
};

struct gi_syntax_node {
    enum gi_syntax_kind kind;
    uint32_t a, b;
    uint32_t child, next; // indices of nodes; next: the sibling, or NONE
};

struct gi_syntax_rule {
    uint32_t name, name_size; // in names
    uint32_t body;            // index of a node; NONE: mentioned, but not defined
    uint32_t at;              // the byte of its definition, or of its first mention
};

struct gi_syntax {
    struct {
        struct gi_syntax_node *data;
        size_t count, capacity;
    } nodes;
    struct {
        struct gi_syntax_rule *data;
        size_t count, capacity;
    } rules;
    struct {
        uint32_t *data; // code points of literals
        size_t count, capacity;
    } points;
    struct {
        struct gi_code_range *data;
        size_t count, capacity;
    } ranges;
    struct {
        char *data;
        size_t count, capacity;
    } names;
    uint32_t *slots; // hash table of rules, index + 1; 0: free
    size_t n_slots;
};

// Fills *syntax, which is zero-initialised. Every rule that is mentioned is defined and one is
// `root`. Fails with INVALID_ARGUMENT (line, column and what is wrong there), UNSUPPORTED (a token
// where names is NULL) and NO_MEMORY; *syntax is then to be finished, too.
bool gi_syntax_parse(struct gi_syntax *syntax, const char *text, size_t size,
                     const struct gi_grammar_names *names, struct glinfer_error *err);
void gi_syntax_finish(struct gi_syntax *syntax);

// Sets *rule to the index of the rule of that name, which is added if it is not there.
bool gi_syntax_rule_of(struct gi_syntax *syntax, const char *name, size_t size, uint32_t *rule,
                       struct glinfer_error *err);

// Fails with INVALID_ARGUMENT: the place of a rule in the text that was parsed, its name and what.
bool gi_syntax_fail(const struct gi_syntax *syntax, const char *text, size_t size, uint32_t rule,
                    const char *what, struct glinfer_error *err);

#endif
