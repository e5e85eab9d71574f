// Sets of schemas that hold together, and what they come to: cases, of which one has to hold, each
// a list of plain conditions without $ref, allOf, anyOf, oneOf, not or if. Inner to src/grammar.
#pragma once

#include "grammar/schema/schema_automaton.h"
#include "grammar/schema/schema_keyword.h"

#include <string.h>

// Schemas, each of which holds, or fails.
struct gi_schema_set {
    struct gi_schema_member {
        const cJSON *schema;
        bool fails;
    } * data;
    size_t count, capacity;
};

enum gi_condition_kind {
    GI_HOLDS,      // the keywords of schema that are plain hold
    GI_FAILS,      // schema does not hold
    GI_BREAKS,     // the keyword item of schema does not hold
    GI_HAS,        // the object has a member of that name
    GI_LACKS,      // it does not
    GI_BAD_MEMBER, // it has one, of a value that schema does not allow
    GI_ANY_OF,     // one of the schemas of item holds
    GI_ONE_OF,     // exactly one of them does
    GI_IF,         // schema has if
    GI_DEPENDS,    // item: names or a schema, if the object has a member of that name
};

struct gi_condition {
    enum gi_condition_kind kind;
    const cJSON *schema, *item;
    const char *name;
    uint32_t owner; // index of the condition that this one is a part of
};
#define GI_NO_OWNER UINT32_MAX

struct gi_case {
    int types;
    uint32_t count;
    struct gi_condition *conditions; // owned by the list of cases
    bool is_plain;                   // choices were passed over
};

struct gi_cases {
    struct gi_case *data;
    size_t count, capacity;
    bool is_partial; // more is allowed than the cases say
};

// Adds a schema to a set, unless it allows everything.
void gi_schema_set_add(struct gi_schema_compiler *c, struct gi_schema_set *set, const cJSON *schema,
                       bool fails);

// Fills *cases, which is zero-initialised. Freed with gi_schema_cases_finish.
void gi_schema_expand(struct gi_schema_compiler *c, const struct gi_schema_set *set,
                      struct gi_cases *cases);
void gi_schema_cases_finish(struct gi_cases *cases);

// Returns the rule of a set, which is built later if it is new.
uint32_t gi_schema_rule_of(struct gi_schema_compiler *c, const struct gi_schema_set *set);
// Takes the next set whose rule is to be built; false after the last. The compiler owns it.
bool gi_schema_next_set(struct gi_schema_compiler *c, struct gi_schema_set *set, uint32_t *rule);
// Forgets all sets and patterns: another schema follows.
void gi_schema_memo_reset(struct gi_schema_compiler *c);
void gi_schema_memo_destroy(struct gi_schema_memo *memo);

// Returns the first node of an automaton's strings, which are built once.
uint32_t gi_schema_node_of_dfa(struct gi_schema_compiler *c, const struct gi_dfa *dfa);

// Returns the automaton of a pattern, which an item has; made once for each text that a pattern is.
const struct gi_dfa *gi_schema_cached_pattern(struct gi_schema_compiler *c, const cJSON *item,
                                              const char *pattern, bool is_wide);

// Returns the schema of a condition that it holds, if that is an object; NULL otherwise.
static inline const cJSON *gi_schema_holding(const struct gi_condition *condition)
{
    return condition->kind == GI_HOLDS && cJSON_IsObject(condition->schema) ? condition->schema
                                                                            : NULL;
}
// Returns true if the schema false is in a set.
bool gi_schema_is_never(const struct gi_schema_set *set);

// Returns the value of `const`, or the first of `enum`; NULL if the list is empty.
static inline const cJSON *gi_schema_first_value(const cJSON *item)
{
    return strcmp(item->string, "enum") == 0 ? item->child : item;
}
// Returns the next value of `enum`.
static inline const cJSON *gi_schema_next_value(const cJSON *item, const cJSON *value)
{
    return value == item ? NULL : value->next;
}

// How many characters, items or members a value may have; nothing where least exceeds most.
struct gi_span {
    uint32_t least, most; // UINT32_MAX: any number
};
// Returns the bounds of a size that a case sets by two keywords, such as minItems and maxItems.
struct gi_span gi_schema_span(struct gi_schema_compiler *c, const struct gi_case *one,
                              const char *least, const char *most);
static inline bool gi_span_has(struct gi_span span, uint32_t count)
{
    return span.least <= count && count <= span.most;
}

// Returns the types that a case allows and says something of. Nothing else is written where no type
// is named: {"properties": ...} means an object.
int gi_schema_asked_types(const struct gi_case *one);

// The schema that allows nothing.
extern const cJSON gi_schema_never;
