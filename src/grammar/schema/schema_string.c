#include "grammar/schema/schema_string.h"

#include "base/json_escape.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_CHARS = 1024,    // of a string that a pattern lets be of any length, beside maxLength
    MAX_COUNTED = 10000, // states of the automaton that counts them
};

//-- what is asked for -----------------------------------------------------------------------------

// Narrows strings to those of an automaton, or to others; NULL was refused.
static void narrow(struct gi_schema_compiler *c, struct gi_strings *strings,
                   const struct gi_dfa *dfa, bool is_without)
{
    if (!dfa) {
        return;
    }
    if (!strings->dfa && !is_without) {
        strings->dfa = dfa;
        return;
    }
    const struct gi_dfa *from = strings->dfa ? strings->dfa : gi_dfa_of_lengths(c, 0, UINT32_MAX);
    const struct gi_dfa *narrowed = gi_dfa_product(c, from, dfa, is_without);
    strings->dfa = narrowed ? narrowed : strings->dfa;
}

static void read_holding(struct gi_schema_compiler *c, const cJSON *schema,
                         struct gi_strings *strings)
{
    const cJSON *pattern = gi_schema_use(c, schema, "pattern");
    const cJSON *format = gi_schema_use(c, schema, "format");
    if (pattern) {
        narrow(c, strings, gi_schema_cached_pattern(c, pattern, pattern->valuestring, false),
               false);
    }
    const char *text =
        format ? gi_schema_format(format->valuestring, gi_schema_get(schema, "maxLength") != NULL)
               : NULL;
    if (text) {
        narrow(c, strings, gi_schema_cached_pattern(c, format, text, false), false);
    }
    // pydantic counts the slash that it adds to a bare host
    const uint32_t most = text && strcmp(format->valuestring, "uri") == 0
                              ? gi_schema_count(c, gi_schema_get(schema, "maxLength"), 0)
                              : 0;
    if (most > 0 && most <= strings->span.most && most < UINT32_MAX) {
        strings->span.most = most - 1;
    }
    c->place = schema;
}

// Returns the automaton of the texts of a constant, or of a list of them.
static const struct gi_dfa *automaton_of(struct gi_schema_compiler *c, const cJSON *item)
{
    struct {
        const char **data;
        size_t count, capacity;
    } texts = {0};
    for (const cJSON *one = gi_schema_first_value(item); one;
         one = gi_schema_next_value(item, one)) {
        if (cJSON_IsString(one)) {
            GI_SCHEMA_PUSH(c, &texts, one->valuestring);
        }
    }
    const struct gi_dfa *dfa = gi_dfa_of_texts(c, texts.data, texts.count);
    free(texts.data);
    return dfa;
}

static void read_breaking(struct gi_schema_compiler *c, const cJSON *item,
                          struct gi_strings *strings)
{
    const char *name = item->string;
    if (strcmp(name, "pattern") == 0 && cJSON_IsString(item)) {
        narrow(c, strings, gi_schema_cached_pattern(c, item, item->valuestring, true), true);
    } else if (strcmp(name, "const") == 0 || strcmp(name, "enum") == 0) {
        const struct gi_dfa *dfa = automaton_of(c, item);
        if (dfa && !gi_dfa_is_empty(dfa)) {
            narrow(c, strings, dfa, true);
        }
    }
}

struct gi_strings gi_schema_strings_of(struct gi_schema_compiler *c, const struct gi_case *one)
{
    struct gi_strings strings = {.span = gi_schema_span(c, one, "minLength", "maxLength")};
    for (uint32_t i = 0; i < one->count && !c->build.has_failed; i++) {
        const struct gi_condition *condition = &one->conditions[i];
        if (gi_schema_holding(condition)) {
            read_holding(c, condition->schema, &strings);
        } else if (condition->kind == GI_BREAKS) {
            read_breaking(c, condition->item, &strings);
        }
    }
    return strings;
}

const struct gi_dfa *gi_strings_automaton(struct gi_schema_compiler *c,
                                          const struct gi_strings *strings)
{
    uint32_t most = strings->span.most;
    const uint32_t least = strings->span.least;
    if (least > most) {
        return gi_dfa_of_texts(c, NULL, 0);
    }
    if (!strings->dfa) {
        return gi_dfa_of_lengths(c, least, most);
    }
    const uint32_t longest = gi_dfa_longest(c, strings->dfa);
    most = longest <= most ? UINT32_MAX : most;
    if (least <= gi_dfa_shortest(c, strings->dfa) && most == UINT32_MAX) {
        return strings->dfa;
    }
    // Fewer characters than allowed where an automaton of them would be too large.
    const struct gi_dfa *dfa = NULL;
    const uint32_t n_states = (uint32_t)strings->dfa->states.count + 1;
    const uint32_t counted = MAX_COUNTED / n_states + 32;
    if (longest == UINT32_MAX && most >= MAX_CHARS && most < UINT32_MAX) {
        most = counted < MAX_CHARS ? counted : MAX_CHARS;
    }
    do {
        const struct gi_dfa *lengths = gi_dfa_of_lengths(c, least, most);
        c->max_states = GI_DFA_MAX_STATES;
        dfa = gi_dfa_product(c, strings->dfa, lengths, false);
        c->max_states = 0;
        most = most / 2 < GI_DFA_MAX_STATES / n_states ? most / 2 : GI_DFA_MAX_STATES / n_states;
    } while (!dfa && !c->build.has_failed && most >= least && most >= 16);
    if (!dfa) {
        gi_schema_refuse(c, "'minLength' or 'maxLength' is too large for this pattern");
    }
    return dfa;
}

const struct gi_dfa *gi_schema_names_of(struct gi_schema_compiler *c, const struct gi_case *one)
{
    struct gi_schema_set set = {0};
    struct gi_cases cases = {0};
    for (uint32_t i = 0; i < one->count; i++) {
        const struct gi_condition *condition = &one->conditions[i];
        const cJSON *names = gi_schema_use(c, gi_schema_holding(condition), "propertyNames");
        if (names) {
            gi_schema_set_add(c, &set, names, false);
        }
    }
    if (set.count == 0) {
        return NULL;
    }
    gi_schema_expand(c, &set, &cases);
    const struct gi_dfa *none = gi_dfa_of_lengths(c, 0, UINT32_MAX); // all but the names
    for (size_t i = 0; i < cases.count && !c->build.has_failed; i++) {
        const struct gi_case names = cases.data[i];
        if (!(names.types & GI_IS_STRING)) {
            continue;
        }
        struct gi_strings strings = gi_schema_strings_of(c, &names);
        const struct gi_dfa *dfa = gi_strings_automaton(c, &strings);
        for (uint32_t k = 0; k < names.count; k++) {
            const struct gi_condition *condition = &names.conditions[k];
            const cJSON *schema = gi_schema_holding(condition);
            const cJSON *list = gi_schema_use(c, schema, "enum");
            const cJSON *constant = gi_schema_get(schema, "const");
            dfa = list ? gi_dfa_product(c, dfa, automaton_of(c, list), false) : dfa;
            dfa = constant ? gi_dfa_product(c, dfa, automaton_of(c, constant), false) : dfa;
        }
        none = gi_dfa_product(c, none, dfa, true);
    }
    gi_schema_cases_finish(&cases);
    free(set.data);
    return none ? gi_dfa_complement(c, none) : NULL;
}

//-- nodes -----------------------------------------------------------------------------------------

// Builds the characters of edges to one state as JSON has them within quotes: as they are, or as a
// letter after a backslash.
static uint32_t build_edges(struct gi_schema_compiler *c, const struct gi_dfa_edge *edges,
                            uint32_t n, uint32_t to, uint32_t next)
{
    static const struct gi_code_range plain[] = {
        {0x20, 0x21}, {0x23, 0x5b}, {0x5d, 0x7e}, {0x80, GI_CODE_MAX}};
    struct gi_builder *build = &c->build;
    for (uint32_t i = 0; i < n; i++) {
        for (size_t k = 0; edges[i].to == to && k < sizeof(plain) / sizeof(plain[0]); k++) {
            const uint32_t lo = edges[i].lo > plain[k].lo ? edges[i].lo : plain[k].lo;
            const uint32_t hi = edges[i].hi < plain[k].hi ? edges[i].hi : plain[k].hi;
            if (lo <= hi) {
                gi_build_range(build, lo, hi);
            }
        }
    }
    const uint32_t characters = gi_build_class(build, false, next);
    for (uint32_t i = 0; i < n; i++) {
        for (const char *code = GI_JSON_ESCAPED; edges[i].to == to && *code; code++) {
            if (edges[i].lo <= (uint8_t)*code && (uint8_t)*code <= edges[i].hi) {
                const uint32_t letter = (uint8_t)gi_json_escape_letter((uint8_t)*code);
                gi_build_range(build, letter, letter);
            }
        }
    }
    const uint32_t letters = gi_build_class(build, false, next);
    return gi_build_either(build, characters, gi_schema_build_text(c, "\\", letters));
}

uint32_t gi_schema_build_dfa(struct gi_schema_compiler *c, const struct gi_dfa *dfa, bool is_string,
                             uint32_t next)
{
    struct gi_builder *build = &c->build;
    const uint32_t end = is_string ? gi_schema_build_text(c, "\"", next) : next;
    if (gi_dfa_is_empty(dfa)) {
        return GI_BUILD_NOTHING;
    }
    const uint32_t first = gi_build_joins(build, dfa->states.count);
    for (uint32_t i = 0; i < dfa->states.count && !build->has_failed; i++) {
        const struct gi_dfa_state *state = &dfa->states.data[i];
        const struct gi_dfa_edge *edges = &dfa->edges.data[state->first];
        uint32_t node = state->is_end ? end : GI_BUILD_NOTHING;
        for (uint32_t k = 0; k < state->count; k++) {
            bool is_new = true;
            for (uint32_t j = 0; j < k; j++) {
                is_new = is_new && edges[j].to != edges[k].to;
            }
            if (is_new) {
                const uint32_t to = edges[k].to;
                node = gi_build_either(build, node,
                                       build_edges(c, edges, state->count, to, first + to));
            }
        }
        gi_build_lead(build, first + i, node);
    }
    return is_string ? gi_schema_build_text(c, "\"", first) : first;
}

uint32_t gi_schema_build_strings(struct gi_schema_compiler *c, const struct gi_case *one)
{
    struct gi_strings strings = gi_schema_strings_of(c, one);
    const bool has_bounds = strings.span.least > 0 || strings.span.most != UINT32_MAX;
    const struct gi_dfa *dfa = strings.dfa;
    bool is_dead = strings.span.least > strings.span.most;
    if (!is_dead && (dfa ? has_bounds : strings.span.least > GI_SCHEMA_MAX_COUNT)) {
        dfa = gi_strings_automaton(c, &strings);
        dfa = dfa ? dfa : strings.dfa;
    }
    is_dead = is_dead || (dfa && gi_dfa_is_empty(dfa));
    if (is_dead) {
        gi_schema_note_dead(c, "no string satisfies all of 'pattern', 'format', 'minLength' "
                               "and 'maxLength' here");
        return GI_BUILD_NOTHING;
    }
    if (dfa) {
        return gi_schema_node_of_dfa(c, dfa);
    }
    if (!has_bounds) {
        return gi_schema_build_shared(c, GI_RULE_STRING, GI_BUILD_END);
    }
    const uint32_t most = strings.span.most == UINT32_MAX           ? GI_BUILD_ENDLESS
                          : strings.span.most < GI_SCHEMA_MAX_COUNT ? strings.span.most
                                                                    : GI_SCHEMA_MAX_COUNT;
    const uint32_t chars =
        gi_build_repeat(&c->build, GI_NODE_CALL, c->shared[GI_RULE_CHAR], strings.span.least, most,
                        gi_schema_build_text(c, "\"", GI_BUILD_END));
    return gi_schema_build_text(c, "\"", chars);
}
