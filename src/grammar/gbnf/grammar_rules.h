// The rules of a GBNF text by name, and the grammar that they become. Inner to src/grammar.
#pragma once

#include "base/index.h"
#include "grammar/gbnf/grammar_builder.h"
#include "grammar/grammar.h"

struct gi_gbnf_rule {
    uint32_t name, name_size; // in names
    uint32_t at;              // the byte of its definition, or of its first mention
    uint32_t rule;            // its index in the grammar
    bool is_defined;
};

// The rules of a text by name. Zero-initialised; freed with gi_gbnf_finish.
struct gi_gbnf {
    const char *text; // borrowed
    size_t size;
    struct {
        struct gi_gbnf_rule *data;
        size_t count, capacity;
    } rules;
    struct {
        char *data;
        size_t count, capacity;
    } names;
    struct gi_index index; // of rules by name
};

void gi_gbnf_finish(struct gi_gbnf *gbnf);

// Adds a rule that the text may mention, but not define. Returns its index in the grammar.
uint32_t gi_gbnf_declare(struct gi_gbnf *gbnf, struct gi_builder *builder, const char *name);
// Sets *index to that of the rule of a name in gbnf->rules, which is added if it is not there.
// Fails with NO_MEMORY.
bool gi_gbnf_add(struct gi_gbnf *gbnf, struct gi_builder *builder, const char *name, size_t size,
                 uint32_t *index);
#define GI_GBNF_NO_RULE UINT32_MAX
// Returns the index in the grammar of a rule; GI_GBNF_NO_RULE without such a rule.
uint32_t gi_gbnf_rule(const struct gi_gbnf *gbnf, const char *name);

// Takes the grammar of the rule `root` from the builder and cuts the alternatives that never end.
// The first n_schemas rules are of schemas, and so is a root that the text does not define. Fails
// with INVALID_ARGUMENT without a root, or if a rule begins with itself, or if no text of the
// grammar ends; with *dead if a schema is the reason. dead may be NULL without schemas.
struct gi_grammar *gi_gbnf_take(const struct gi_gbnf *gbnf, struct gi_builder *builder,
                                uint32_t root, uint32_t n_schemas,
                                const struct glinfer_error *dead);

// Fail with INVALID_ARGUMENT: "invalid grammar: line 3, column 7: " and a reason for a byte of the
// text, lines and columns counted from 1, columns in characters; or a rule's place and name before
// the reason. Return false.
bool gi_gbnf_fail(const struct gi_gbnf *gbnf, size_t at, const char *what,
                  struct glinfer_error *err);
bool gi_gbnf_fail_rule(const struct gi_gbnf *gbnf, const struct gi_gbnf_rule *rule,
                       const char *reason, struct glinfer_error *err);
