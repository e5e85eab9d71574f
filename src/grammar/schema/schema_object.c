#include "grammar/schema/schema_object.h"

#include "grammar/schema/schema_members.h"
#include "grammar/schema/schema_string.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PROPERTIES = 5000, MAX_PATTERNS = 4, MAX_STATES = 50000 };

struct property {
    const char *name;
    uint32_t rule; // of its value
    bool is_allowed;
    bool is_required;
};

struct object {
    struct gi_schema_compiler *c;
    const struct gi_case *one;
    struct {
        struct property *data;
        size_t count, capacity;
    } properties;
    size_t n_allowed;
    uint32_t least, most; // members
    uint32_t extra;       // the rule of a member that no property names
    bool has_extra;
    bool is_any_extra; // which may be any member
    bool is_dead;
};

//-- names -----------------------------------------------------------------------------------------

static void add_name(struct object *object, const char *name, bool is_required)
{
    struct gi_schema_compiler *c = object->c;
    for (size_t i = 0; i < object->properties.count; i++) {
        if (strcmp(object->properties.data[i].name, name) == 0) {
            object->properties.data[i].is_required |= is_required;
            return;
        }
    }
    if (object->properties.count == MAX_PROPERTIES) {
        gi_schema_stop(c, "more than %d properties are not supported", MAX_PROPERTIES);
    }
    GI_SCHEMA_PUSH(c, &object->properties, (struct property){name, 0, false, is_required});
}

static void add_members(struct object *object, const cJSON *properties)
{
    for (const cJSON *item = properties->child; item; item = item->next) {
        add_name(object, item->string, false);
    }
}

// Adds the properties of a condition and of those that it owns, in the order of the schema's text.
// Calls itself as deep as conditions own others, which their number bounds.
static void find_properties(struct object *object, uint32_t at)
{
    const struct gi_case *one = object->one;
    const cJSON *item =
        gi_schema_holding(&one->conditions[at]) ? one->conditions[at].schema->child : NULL;
    for (; item && !object->c->build.has_failed; item = item->next) {
        if (strcmp(item->string, "properties") == 0 && cJSON_IsObject(item)) {
            add_members(object, item);
        }
        for (uint32_t i = at + 1; i < one->count && strcmp(item->string, "properties") != 0; i++) {
            if (one->conditions[i].owner == at && one->conditions[i].item == item) {
                find_properties(object, i);
            }
        }
    }
    for (uint32_t i = at + 1; i < one->count && !gi_schema_holding(&one->conditions[at]); i++) {
        if (one->conditions[i].owner == at) {
            find_properties(object, i);
        }
    }
}

// Finds the names in the order of the schemas: properties, then others that are required.
static void find_names(struct object *object)
{
    const struct gi_case *one = object->one;
    for (uint32_t i = 0; i < one->count; i++) {
        if (one->conditions[i].owner == GI_NO_OWNER) {
            find_properties(object, i);
        }
    }
    for (uint32_t i = 0; i < one->count; i++) {
        const struct gi_condition *condition = &one->conditions[i];
        const cJSON *required = NULL;
        if (gi_schema_holding(condition)) { // conditions of dependencies do not stand at a keyword
            const cJSON *properties = gi_schema_use(object->c, condition->schema, "properties");
            required = gi_schema_use(object->c, condition->schema, "required");
            if (properties) {
                add_members(object, properties);
            }
        }
        for (const cJSON *item = required ? required->child : NULL; item; item = item->next) {
            add_name(object, item->valuestring, true);
        }
        if (condition->name && (condition->kind == GI_HAS || condition->kind == GI_LACKS ||
                                condition->kind == GI_BAD_MEMBER)) {
            add_name(object, condition->name, condition->kind != GI_LACKS);
        }
    }
}

static void find_rules(struct object *object)
{
    struct gi_schema_compiler *c = object->c;
    for (size_t i = 0; i < object->properties.count && !c->build.has_failed; i++) {
        struct property *property = &object->properties.data[i];
        const struct gi_key key = {.name = property->name};
        struct gi_schema_set set = {0};
        gi_schema_member_set(c, object->one, &key, &set);
        if (!gi_schema_is_never(&set) && gi_schema_allows_name(c, object->one, property->name)) {
            property->rule = gi_schema_rule_of(c, &set);
            property->is_allowed = true;
            object->n_allowed++;
        } else if (property->is_required) {
            gi_schema_note_dead(c, "other keywords exclude \"%.100s\", which is in 'required'",
                                property->name);
            object->is_dead = true;
        }
        free(set.data);
    }
}

//-- members that no property names ----------------------------------------------------------------

// Returns true if the schemas ask for members beyond the properties. Others would allow them too,
// but nothing says what they are.
static bool asks_for_extra(const struct object *object)
{
    static const char *const keywords[] = {"additionalProperties", "patternProperties",
                                           "propertyNames", "unevaluatedProperties"};
    bool asks = object->n_allowed == 0 || object->least > object->n_allowed;
    for (uint32_t i = 0; i < object->one->count; i++) {
        for (size_t k = 0; gi_schema_holding(&object->one->conditions[i]) && k < 4; k++) {
            const cJSON *item = gi_schema_get(object->one->conditions[i].schema, keywords[k]);
            asks = asks || (item && !cJSON_IsFalse(item));
        }
    }
    return asks;
}

static uint32_t find_patterns(struct object *object, const cJSON **patterns)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < object->one->count; i++) {
        const struct gi_condition *condition = &object->one->conditions[i];
        const cJSON *map =
            gi_schema_use(object->c, gi_schema_holding(condition), "patternProperties");
        for (const cJSON *item = map ? map->child : NULL; item; item = item->next) {
            uint32_t k = 0;
            while (k < n && strcmp(patterns[k]->string, item->string) != 0) {
                k++;
            }
            if (k == MAX_PATTERNS) {
                object->c->place = map;
                gi_schema_refuse(object->c, "more than %d patterns are not supported",
                                 MAX_PATTERNS);
                return n;
            }
            patterns[k] = item;
            n = k == n ? n + 1 : n;
        }
    }
    return n;
}

// Returns the automaton of the names of a class; NULL: any text, or that was refused.
static const struct gi_dfa *names_of_class(struct object *object, const struct gi_key *key,
                                           bool *is_refused)
{
    struct gi_schema_compiler *c = object->c;
    const struct gi_dfa *names = gi_schema_names_of(c, object->one);
    const size_t n = object->properties.count;
    *is_refused = false;
    if (!names && n == 0 && key->n_patterns == 0) {
        return NULL;
    }
    const char **texts = gi_schema_zeroed(c, n, sizeof(*texts));
    if (!texts) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        texts[i] = object->properties.data[i].name;
    }
    names = names ? names : gi_dfa_of_lengths(c, 0, UINT32_MAX);
    names = gi_dfa_product(c, names, gi_dfa_of_texts(c, texts, n), true);
    free(texts);
    for (uint32_t i = 0; i < key->n_patterns; i++) {
        const bool is_in = key->matches >> i & 1;
        const struct gi_dfa *dfa =
            gi_schema_cached_pattern(c, key->patterns[i], key->patterns[i]->string, !is_in);
        names = gi_dfa_product(c, names, dfa, !is_in);
    }
    *is_refused = !names;
    return names;
}

// Builds the members of a class, of which none may be possible.
static uint32_t build_class(struct object *object, const struct gi_key *key)
{
    struct gi_schema_compiler *c = object->c;
    struct gi_schema_set set = {0};
    bool is_refused = false;
    uint32_t first = GI_BUILD_NOTHING;
    gi_schema_member_set(c, object->one, key, &set);
    const struct gi_dfa *names =
        gi_schema_is_never(&set) ? NULL : names_of_class(object, key, &is_refused);
    if (!gi_schema_is_never(&set) && !is_refused && !(names && gi_dfa_is_empty(names))) {
        object->is_any_extra = !names && set.count == 0;
        const uint32_t value = gi_schema_build_value(c, gi_schema_rule_of(c, &set), GI_BUILD_END);
        const uint32_t colon =
            gi_schema_build_text(c, ":", gi_schema_build_shared(c, GI_RULE_WS, value));
        first = names ? gi_schema_build_dfa(c, names, true, colon)
                      : gi_schema_build_shared(c, GI_RULE_STRING, colon);
    }
    free(set.data);
    return first;
}

static void find_extra(struct object *object)
{
    struct gi_schema_compiler *c = object->c;
    const cJSON *patterns[MAX_PATTERNS];
    uint32_t first = GI_BUILD_NOTHING;
    if (!asks_for_extra(object)) {
        return;
    }
    const uint32_t n_patterns = find_patterns(object, patterns);
    for (uint32_t bits = 0; bits < 1u << n_patterns && !c->build.has_failed; bits++) {
        const struct gi_key key = {NULL, patterns, n_patterns, bits};
        first = gi_build_either(&c->build, first, build_class(object, &key));
    }
    object->has_extra = first != GI_BUILD_NOTHING;
    object->extra = object->has_extra ? gi_build_rule(&c->build, first) : 0;
}

//-- members ---------------------------------------------------------------------------------------

static uint32_t build_member(struct gi_schema_compiler *c, const struct property *property,
                             uint32_t next)
{
    cJSON *name = cJSON_CreateStringReference(property->name);
    char *text = name ? cJSON_PrintUnformatted(name) : NULL;
    if (text) {
        next = gi_schema_build_value(c, property->rule, next);
        next = gi_schema_build_text(c, ":", gi_schema_build_shared(c, GI_RULE_WS, next));
        next = gi_schema_build_text(c, text, next);
    } else {
        gi_schema_no_memory(c);
    }
    cJSON_free(text);
    cJSON_Delete(name);
    return next;
}

// Builds the rest of an object of `count` members when no property is left. more: the rule of a
// comma and another member.
static uint32_t build_end(struct object *object, uint32_t count, uint32_t more, uint32_t close)
{
    struct gi_builder *build = &object->c->build;
    const uint32_t end = count >= object->least ? close : GI_BUILD_NOTHING;
    // Members beyond the properties may have one name, so that they count as one.
    if (!object->has_extra || count >= object->most || count + 1 < object->least) {
        return end;
    }
    const uint32_t left = object->most - count - 1;
    const bool is_endless = object->most == UINT32_MAX || left > GI_SCHEMA_MAX_COUNT;
    const uint32_t others =
        gi_build_repeat(build, GI_NODE_CALL, more, 0, is_endless ? GI_BUILD_ENDLESS : left, close);
    const uint32_t first = gi_build_call(build, object->extra, others);
    return gi_build_either(build, count > 0 ? gi_schema_build_comma(object->c, first) : first, end);
}

// Builds a state for each property and each count of members before it that matters. Returns the
// first.
static uint32_t build_members(struct object *object)
{
    struct gi_schema_compiler *c = object->c;
    struct gi_builder *build = &c->build;
    const uint32_t n = (uint32_t)object->properties.count;
    uint32_t last = object->least > 1 ? object->least : 1; // higher counts are all alike
    if (object->most != UINT32_MAX) {
        last = object->most > last ? object->most : last;
    }
    if ((uint64_t)(n + 1) * ((uint64_t)last + 1) > MAX_STATES) {
        gi_schema_stop(c, "'minProperties' or 'maxProperties' is too large here");
        return GI_BUILD_NOTHING;
    }
    const uint32_t width = last + 1, first = gi_build_joins(build, (size_t)(n + 1) * width);
    const uint32_t close = gi_schema_build_text(c, "}", GI_BUILD_END);
    uint32_t more = 0;
    if (object->has_extra) {
        const uint32_t other = gi_build_call(build, object->extra, GI_BUILD_END);
        more = gi_build_rule(build, gi_schema_build_comma(c, other));
    }
    for (uint32_t i = 0; i <= n && !build->has_failed; i++) {
        for (uint32_t count = 0; count <= last && count <= i; count++) {
            const uint32_t state = first + i * width + count, next = first + (i + 1) * width;
            if (i == n) {
                gi_build_lead(build, state, build_end(object, count, more, close));
                continue;
            }
            const struct property *property = &object->properties.data[i];
            uint32_t node = property->is_required ? GI_BUILD_NOTHING : next + count;
            if (property->is_allowed && count < object->most) {
                uint32_t member =
                    build_member(c, property, next + (count < last ? count + 1 : count));
                member = count > 0 ? gi_schema_build_comma(c, member) : member;
                node = gi_build_either(build, member, node);
            }
            gi_build_lead(build, state, node);
        }
    }
    return first;
}

static uint32_t build_object(struct object *object)
{
    struct gi_schema_compiler *c = object->c;
    if (object->most != UINT32_MAX && !object->has_extra && object->most >= object->n_allowed) {
        object->most = UINT32_MAX;
    }
    if (object->least > object->n_allowed + (object->has_extra ? 1 : 0)) {
        if (!object->has_extra) {
            gi_schema_note_dead(c, "'minProperties' exceeds the number of allowed properties");
            return GI_BUILD_NOTHING;
        }
        gi_schema_refuse(c, "'minProperties' above the number of named properties and one "
                            "more is not supported");
        object->least = (uint32_t)object->n_allowed + 1;
    }
    if (object->properties.count == 0 && object->has_extra && object->is_any_extra &&
        object->least == 0 && object->most == UINT32_MAX) {
        return gi_schema_build_shared(c, GI_RULE_OBJECT, GI_BUILD_END);
    }
    return gi_schema_build_text(c, "{",
                                gi_schema_build_shared(c, GI_RULE_WS, build_members(object)));
}

uint32_t gi_schema_build_object(struct gi_schema_compiler *c, const struct gi_case *one)
{
    struct object object = {.c = c, .one = one};
    uint32_t first = GI_BUILD_NOTHING;
    find_names(&object);
    find_rules(&object);
    const struct gi_span span = gi_schema_span(c, one, "minProperties", "maxProperties");
    object.least = span.least;
    object.most = span.most;
    if (object.least > object.most) {
        gi_schema_note_dead(c, "'minProperties' exceeds 'maxProperties'");
        object.is_dead = true;
    }
    if (!object.is_dead && !c->build.has_failed) {
        find_extra(&object);
        first = build_object(&object);
    }
    free(object.properties.data);
    return first;
}
