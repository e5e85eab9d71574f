#include "grammar/schema/schema_members.h"
#include "grammar/schema/schema_refs.h"
#include "grammar/schema/schema_set.h"
#include "grammar/schema/schema_value.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_CASES = 400, MAX_CONDITIONS = 500, MAX_WORK = 200000, MAX_LOOKS = 20000 };

// The walk over what a set comes to. The conditions are those of the case that is looked at; each
// kind of condition that leaves a choice goes on with each of its alternatives in turn.
struct expander {
    struct gi_schema_compiler *c;
    struct gi_cases *cases;
    const struct gi_schema_set *set;
    struct {
        struct gi_condition *data;
        size_t count, capacity;
    } now;
    uint32_t work;
    int depth;     // of looks into members
    bool is_plain; // choices are passed over: more is allowed than the set allows
    bool is_full;
};

static void go(struct expander *x, uint32_t at, int types);

static void push(struct expander *x, struct gi_condition condition)
{
    struct gi_schema_compiler *c = x->c;
    if (c->build.has_failed) {
        return;
    }
    if (x->now.count == MAX_CONDITIONS) {
        gi_schema_stop(c, "more than %d schemas apply to one value", MAX_CONDITIONS);
    } else {
        GI_SCHEMA_PUSH(c, &x->now, condition);
    }
}

// from: the keyword that has the schema, or NULL.
static void push_schema(struct expander *x, const cJSON *schema, bool fails, uint32_t owner,
                        const cJSON *from)
{
    push(x,
         (struct gi_condition){
             .kind = fails ? GI_FAILS : GI_HOLDS, .schema = schema, .item = from, .owner = owner});
}

// Goes on with the conditions that were pushed since there were `count`, and takes them back.
static void go_on(struct expander *x, uint32_t at, int types, size_t count)
{
    go(x, at + 1, types);
    x->now.count = count;
}

//-- schemas that hold -----------------------------------------------------------------------------

// Returns true if a schema is one of those that the condition is a part of.
static bool is_within(const struct expander *x, uint32_t at, const cJSON *schema, bool fails)
{
    for (uint32_t i = at; i != GI_NO_OWNER; i = x->now.data[i].owner) {
        const struct gi_condition *condition = &x->now.data[i];
        if (condition->schema == schema && condition->kind == (fails ? GI_FAILS : GI_HOLDS)) {
            return true;
        }
    }
    return false;
}

// Pushes what a $ref of a schema leads to.
static void push_target(struct expander *x, uint32_t at, const cJSON *schema, const cJSON *ref,
                        bool fails)
{
    const cJSON *target = gi_schema_find_target(x->c, schema, ref);
    if (!target) {
        return;
    }
    x->c->place = ref;
    if (is_within(x, at, target, fails)) {
        x->c->has_cycle = true;
        gi_schema_refuse(x->c, "'%s' refers to itself in a cycle without a value between",
                         ref->string);
    } else {
        push_schema(x, target, fails, at, ref);
    }
}

static void push_choices(struct expander *x, uint32_t at, const cJSON *schema)
{
    static const struct {
        const char *keyword;
        enum gi_condition_kind kind;
    } choices[] = {{"anyOf", GI_ANY_OF},
                   {"oneOf", GI_ONE_OF},
                   {"if", GI_IF},
                   {"dependentRequired", GI_DEPENDS},
                   {"dependentSchemas", GI_DEPENDS},
                   {"dependencies", GI_DEPENDS}};
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        const cJSON *item = gi_schema_use(x->c, schema, choices[i].keyword);
        const bool is_map = choices[i].kind == GI_DEPENDS;
        for (const cJSON *one = item && is_map ? item->child : item; one;
             one = is_map ? one->next : NULL) {
            push(x, (struct gi_condition){.kind = choices[i].kind,
                                          .schema = schema,
                                          .item = one,
                                          .name = one->string,
                                          .owner = at});
        }
    }
}

static void go_holds(struct expander *x, uint32_t at, int types)
{
    static const char *const refs[] = {"$ref", "$dynamicRef", "$recursiveRef"};
    struct gi_schema_compiler *c = x->c;
    const cJSON *schema = x->now.data[at].schema;
    const size_t count = x->now.count;
    if (!cJSON_IsObject(schema)) {
        if (cJSON_IsFalse(schema)) {
            c->place = schema;
            gi_schema_note_dead(c, "no value is allowed here");
            return;
        }
        go(x, at + 1, types);
        return;
    }
    const cJSON *type = gi_schema_use(c, schema, "type");
    if (type) {
        types &= gi_schema_types_of(c, type);
    }
    for (size_t i = 0; i < sizeof(refs) / sizeof(refs[0]); i++) {
        const cJSON *ref = gi_schema_get(schema, refs[i]);
        if (ref) {
            push_target(x, at, schema, ref, false);
        }
    }
    const cJSON *all = gi_schema_use(c, schema, "allOf");
    for (const cJSON *one = all ? all->child : NULL; one; one = one->next) {
        push_schema(x, one, false, at, all);
    }
    const cJSON *not = gi_schema_use(c, schema, "not");
    if (not ) {
        push_schema(x, not, true, at, not );
    }
    if (!x->is_plain) {
        push_choices(x, at, schema);
    }
    if (!types) {
        c->place = type ? type : schema;
        gi_schema_note_dead(c, "no type is allowed by all schemas for this value");
    }
    go_on(x, at, types, count);
}

//-- schemas that fail -----------------------------------------------------------------------------

// Goes on with one condition more.
static void go_with(struct expander *x, uint32_t at, int types, struct gi_condition condition)
{
    const size_t count = x->now.count;
    condition.owner = at;
    push(x, condition);
    go_on(x, at, types, count);
}

// Goes on with a schema's names that are missing, or members that are wrong. False if the keyword
// is another.
static bool break_names(struct expander *x, uint32_t at, int types, const cJSON *schema,
                        const cJSON *item)
{
    const bool is_required = strcmp(item->string, "required") == 0;
    const bool is_members = strcmp(item->string, "properties") == 0;
    const bool is_dependent = strcmp(item->string, "dependentRequired") == 0;
    types &= GI_IS_OBJECT;
    for (const cJSON *one = is_required || is_members || is_dependent ? item->child : NULL;
         types && one; one = one->next) {
        if (is_required && cJSON_IsString(one)) {
            go_with(x, at, types,
                    (struct gi_condition){
                        .kind = GI_LACKS, .schema = schema, .name = one->valuestring});
        } else if (is_members && !gi_schema_is_any(one)) {
            go_with(
                x, at, types,
                (struct gi_condition){.kind = GI_BAD_MEMBER, .schema = one, .name = one->string});
        }
        for (const cJSON *name = is_dependent ? one->child : NULL; name; name = name->next) {
            const size_t count = x->now.count;
            push(x, (struct gi_condition){
                        .kind = GI_HAS, .schema = schema, .name = one->string, .owner = at});
            push(x,
                 (struct gi_condition){
                     .kind = GI_LACKS, .schema = schema, .name = name->valuestring, .owner = at});
            go_on(x, at, types, count);
        }
    }
    return is_required || is_members || is_dependent;
}

// Goes on with names that a closed object does not have, as far as other schemas name them.
static void break_closed(struct expander *x, uint32_t at, int types, const cJSON *schema)
{
    const cJSON *own = gi_schema_get(schema, "properties");
    for (uint32_t i = 0; i < at; i++) {
        const struct gi_condition condition = x->now.data[i];
        const cJSON *others = gi_schema_get(gi_schema_holding(&condition), "properties");
        for (const cJSON *one = others ? others->child : NULL; one; one = one->next) {
            if (!own || !gi_schema_get(own, one->string)) {
                go_with(
                    x, at, types & GI_IS_OBJECT,
                    (struct gi_condition){.kind = GI_HAS, .schema = schema, .name = one->string});
            }
        }
    }
    x->cases->is_partial = true;
}

// Goes on with each way to break several schemas: all of them fail, or one does.
static void break_lists(struct expander *x, uint32_t at, int types, const cJSON *item)
{
    const size_t count = x->now.count;
    if (strcmp(item->string, "allOf") == 0) {
        for (const cJSON *one = item->child; one; one = one->next) {
            push_schema(x, one, true, at, NULL);
            go_on(x, at, types, count);
        }
        return;
    }
    for (const cJSON *one = item->child; one; one = one->next) {
        push_schema(x, one, true, at, NULL);
    }
    go_on(x, at, types, count);
    for (const cJSON *one = strcmp(item->string, "oneOf") == 0 ? item->child : NULL; one;
         one = one->next) {
        for (const cJSON *two = one->next; two; two = two->next) {
            push_schema(x, one, false, at, NULL);
            push_schema(x, two, false, at, NULL);
            go_on(x, at, types, count);
        }
    }
}

static void break_if(struct expander *x, uint32_t at, int types, const cJSON *schema)
{
    const size_t count = x->now.count;
    for (int is_else = 0; is_else < 2; is_else++) {
        const cJSON *then = gi_schema_get(schema, is_else ? "else" : "then");
        if (then) {
            push_schema(x, gi_schema_get(schema, "if"), is_else, at, NULL);
            push_schema(x, then, true, at, NULL);
            go_on(x, at, types, count);
        }
    }
}

static void break_keyword(struct expander *x, uint32_t at, int types, const cJSON *schema,
                          const cJSON *item)
{
    const struct gi_keyword *keyword = gi_schema_keyword(item->string);
    const char *name = item->string;
    const size_t count = x->now.count;
    switch (keyword ? keyword->negation : GI_NEGATION_NONE) {
    case GI_NEGATION_DIRECT:
        if ((types & keyword->types) && gi_schema_use(x->c, schema, name)) {
            go_with(x, at, types & keyword->types,
                    (struct gi_condition){.kind = GI_BREAKS, .schema = schema, .item = item});
        }
        return;
    case GI_NEGATION_PARTIAL:
        x->cases->is_partial = true;
        return;
    case GI_NEGATION_EXPANDED:
        break;
    default:
        return;
    }
    if (break_names(x, at, types, schema, item)) {
        return;
    }
    if (strcmp(name, "$ref") == 0) {
        push_target(x, at, schema, item, true);
        go_on(x, at, types, count);
    } else if (strcmp(name, "not") == 0) {
        push_schema(x, item, false, at, NULL);
        go_on(x, at, types, count);
    } else if (strcmp(name, "allOf") == 0 || strcmp(name, "anyOf") == 0 ||
               strcmp(name, "oneOf") == 0) {
        break_lists(x, at, types, item);
    } else if (strcmp(name, "if") == 0) {
        break_if(x, at, types, schema);
    } else if (cJSON_IsFalse(item)) { // additionalProperties
        break_closed(x, at, types, schema);
    } else {
        x->cases->is_partial = true;
    }
}

static void go_fails(struct expander *x, uint32_t at, int types)
{
    const cJSON *schema = x->now.data[at].schema;
    if (x->is_plain || cJSON_IsFalse(schema)) {
        go(x, at + 1, types);
        return;
    }
    const size_t n_before = x->cases->count;
    for (const cJSON *item = cJSON_IsObject(schema) ? schema->child : NULL; item;
         item = item->next) {
        break_keyword(x, at, types, schema, item);
    }
    if (x->cases->count == n_before) {
        x->c->place = schema;
        gi_schema_note_dead(x->c, "every value matches this schema, which 'not' excludes");
    }
}

//-- choices ---------------------------------------------------------------------------------------

static bool is_dead_together(struct expander *x, const cJSON *one, const cJSON *two);

// Goes on with each schema of oneOf in turn, the others failing unless they exclude it.
static void go_one_of(struct expander *x, uint32_t at, int types)
{
    const cJSON *list = x->now.data[at].item;
    const size_t count = x->now.count;
    for (const cJSON *one = list->child; one && !x->c->build.has_failed; one = one->next) {
        push_schema(x, one, false, at, NULL);
        for (const cJSON *other = list->child; other; other = other->next) {
            if (other != one && !is_dead_together(x, one, other)) {
                push_schema(x, other, true, at, NULL);
            }
        }
        go_on(x, at, types, count);
    }
}

static void go_if(struct expander *x, uint32_t at, int types)
{
    const cJSON *schema = x->now.data[at].schema;
    const size_t count = x->now.count;
    for (int is_else = 0; is_else < 2; is_else++) {
        const cJSON *then = gi_schema_use(x->c, schema, is_else ? "else" : "then");
        push_schema(x, x->now.data[at].item, is_else, at, NULL);
        if (then) {
            push_schema(x, then, false, at, NULL);
        }
        go_on(x, at, types, count);
    }
}

static void go_depends(struct expander *x, uint32_t at, int types)
{
    const struct gi_condition condition = x->now.data[at];
    const cJSON *item = condition.item;
    const size_t count = x->now.count;
    go_with(x, at, types,
            (struct gi_condition){
                .kind = GI_LACKS, .schema = condition.schema, .name = condition.name});
    if (!(types & GI_IS_OBJECT)) {
        return;
    }
    push(x, (struct gi_condition){
                .kind = GI_HAS, .schema = condition.schema, .name = condition.name, .owner = at});
    for (const cJSON *name = cJSON_IsArray(item) ? item->child : NULL; name; name = name->next) {
        push(x, (struct gi_condition){.kind = GI_HAS,
                                      .schema = condition.schema,
                                      .name = cJSON_IsString(name) ? name->valuestring : "",
                                      .owner = at});
    }
    if (!cJSON_IsArray(item)) {
        push_schema(x, item, false, at, NULL);
    }
    go_on(x, at, types & GI_IS_OBJECT, count);
}

//-- cases -----------------------------------------------------------------------------------------

static bool is_dead_case(struct gi_schema_compiler *c, const struct gi_case *one, int depth);

static void add_case(struct expander *x, int types)
{
    struct gi_schema_compiler *c = x->c;
    struct gi_case one = {types, (uint32_t)x->now.count, x->now.data, x->is_plain};
    if (is_dead_case(c, &one, x->depth) || c->build.has_failed) {
        return;
    }
    if (x->cases->count == MAX_CASES) {
        x->is_full = true;
        return;
    }
    one.conditions = gi_schema_zeroed(c, one.count, sizeof(*one.conditions));
    if (one.conditions && one.count > 0) {
        memcpy(one.conditions, x->now.data, one.count * sizeof(*one.conditions));
    }
    if (!one.conditions || !GI_SCHEMA_PUSH(c, x->cases, one)) {
        free(one.conditions);
    }
}

// Looks at a condition and goes on with all that follow it. Calls itself once for each of at most
// MAX_CONDITIONS.
static void go(struct expander *x, uint32_t at, int types)
{
    if (x->c->build.has_failed || x->is_full || !types) {
        return;
    }
    if (x->work++ > MAX_WORK) {
        x->is_full = true;
        return;
    }
    if (at == x->now.count) {
        add_case(x, types);
        return;
    }
    switch (x->now.data[at].kind) {
    case GI_HOLDS:
        go_holds(x, at, types);
        break;
    case GI_FAILS:
        go_fails(x, at, types);
        break;
    case GI_ANY_OF:
        for (const cJSON *one = x->now.data[at].item->child; one; one = one->next) {
            go_with(x, at, types, (struct gi_condition){.kind = GI_HOLDS, .schema = one});
        }
        break;
    case GI_ONE_OF:
        go_one_of(x, at, types);
        break;
    case GI_IF:
        go_if(x, at, types);
        break;
    case GI_DEPENDS:
        go_depends(x, at, types);
        break;
    case GI_BREAKS:
        if (strcmp(x->now.data[at].item->string, "type") == 0) {
            types &= ~gi_schema_types_of(x->c, x->now.data[at].item);
        }
        go(x, at + 1, types);
        break;
    default:
        go(x, at + 1, types);
    }
}

static void expand(struct gi_schema_compiler *c, const struct gi_schema_set *set, bool is_plain,
                   int depth, struct gi_cases *cases)
{
    struct expander x = {.c = c, .cases = cases, .set = set, .is_plain = is_plain, .depth = depth};
    for (size_t i = 0; i < set->count; i++) {
        push_schema(&x, set->data[i].schema, set->data[i].fails, GI_NO_OWNER, NULL);
    }
    go(&x, 0, GI_IS_ANY);
    free(x.now.data);
    if (x.is_full && !c->build.has_failed) {
        c->place = set->count ? set->data[0].schema : c->root;
        gi_schema_stop(c,
                       "anyOf, oneOf, not or if give more than %d cases here; schemas of oneOf "
                       "should exclude each other by a type or a constant",
                       MAX_CASES);
    }
}

void gi_schema_expand(struct gi_schema_compiler *c, const struct gi_schema_set *set,
                      struct gi_cases *cases)
{
    expand(c, set, false, 1, cases);
}

void gi_schema_cases_finish(struct gi_cases *cases)
{
    for (size_t i = 0; i < cases->count; i++) {
        free(cases->data[i].conditions);
    }
    free(cases->data);
    memset(cases, 0, sizeof(*cases));
}

//-- what allows nothing ---------------------------------------------------------------------------

// Returns true if it is plain that nothing satisfies a set; it looks `depth` members deep.
static bool is_dead(struct gi_schema_compiler *c, const struct gi_schema_set *set, int depth)
{
    struct gi_cases cases = {0};
    expand(c, set, true, depth, &cases);
    const bool is_dead = !c->build.has_failed && cases.count == 0;
    gi_schema_cases_finish(&cases);
    return is_dead;
}

static bool is_dead_together(struct expander *x, const cJSON *one, const cJSON *two)
{
    struct gi_schema_set set = {0};
    for (size_t i = 0; i < x->set->count; i++) {
        gi_schema_set_add(x->c, &set, x->set->data[i].schema, x->set->data[i].fails);
    }
    gi_schema_set_add(x->c, &set, one, false);
    gi_schema_set_add(x->c, &set, two, false);
    const struct glinfer_error before = x->c->dead;
    const bool is_so = is_dead(x->c, &set, 2);
    x->c->dead = before; // that they exclude each other is as it should be
    free(set.data);
    return is_so;
}

// Returns true if the case asks for a member that nothing can be.
static bool has_dead_member(struct gi_schema_compiler *c, const struct gi_case *one,
                            const char *name, int depth)
{
    const struct gi_key key = {.name = name};
    struct gi_schema_set set = {0};
    if (c->n_looks++ > MAX_LOOKS) {
        return false;
    }
    gi_schema_member_set(c, one, &key, &set);
    const bool is_so = is_dead(c, &set, depth - 1);
    free(set.data);
    return is_so;
}

static bool is_dead_case(struct gi_schema_compiler *c, const struct gi_case *one, int depth)
{
    bool is_so = gi_schema_has_no_constant(c, one);
    for (uint32_t i = 0; !is_so && depth > 0 && one->types == GI_IS_OBJECT && i < one->count; i++) {
        const struct gi_condition *condition = &one->conditions[i];
        if (condition->kind == GI_HAS || condition->kind == GI_BAD_MEMBER) {
            is_so = has_dead_member(c, one, condition->name, depth);
        }
        const cJSON *required = gi_schema_use(c, gi_schema_holding(condition), "required");
        for (const cJSON *name = required ? required->child : NULL; !is_so && name;
             name = name->next) {
            is_so = cJSON_IsString(name) && has_dead_member(c, one, name->valuestring, depth);
        }
    }
    return is_so;
}
