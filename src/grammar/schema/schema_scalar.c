#include "grammar/schema/schema_scalar.h"

#include "grammar/schema/schema_json.h"
#include "grammar/schema/schema_string.h"

#include <string.h>

enum {
    N_WHOLE = 20,    // digits of a number that is whole: those of 64 bits
    N_BROKEN = 15,   // digits of any other, which a double keeps
    MAX_WHOLE = 100, // digits that bounds may ask for
    MAX_BOUND = 240, // digits of a bound before the point, or after it
};

void gi_schema_build_shared_rules(struct gi_schema_compiler *c, struct gi_gbnf *gbnf)
{
    static const char text[] =
        "ws ::= \" \"? | \"\\n\" [ \\t]{0,20}\n"
        "value ::= object | array | string | number | \"true\" | \"false\" | \"null\"\n"
        "object ::= \"{\" ws (member (\",\" ws member)*)? \"}\"\n"
        "member ::= string \":\" ws value ws\n"
        "array ::= \"[\" ws (value ws (\",\" ws value ws)*)? \"]\"\n"
        "string ::= \"\\\"\" char* \"\\\"\"\n"
        "char ::= [^\"\\\\\\x00-\\x1f\\x7f] | \"\\\\\" ([\"\\\\/bfnrt] | \"u\" code)\n"
        "code ::= [0-9a-cefA-CEF] hex{3} | [dD] [0-7] hex{2} | pair\n"
        "pair ::= [dD] [89abAB] hex{2} \"\\\\u\" [dD] [c-fC-F] hex{2}\n"
        "hex ::= [0-9a-fA-F]\n"
        "number ::= integer (\".\" [0-9]{1,16})? ([eE] [-+]? [0-9]{1,2})?\n"
        "integer ::= \"-\"? (\"0\" | [1-9] [0-9]{0,19})\n";
    static const char *const names[GI_N_SHARED_RULES] = {"ws",     "value", "object", "array",
                                                         "string", "char",  "number", "integer"};
    gi_gbnf_read(gbnf, &c->build, text, strlen(text), NULL);
    for (size_t i = 0; i < GI_N_SHARED_RULES && !c->build.has_failed; i++) {
        c->shared[i] = gi_gbnf_rule(gbnf, names[i]);
    }
}

uint32_t gi_schema_build_constant(struct gi_schema_compiler *c, const cJSON *value)
{
    char *text = cJSON_PrintUnformatted(value);
    if (!text) {
        gi_schema_no_memory(c);
        return GI_BUILD_NOTHING;
    }
    const uint32_t first = gi_schema_build_text(c, text, GI_BUILD_END);
    cJSON_free(text);
    return first;
}

//-- bounds ----------------------------------------------------------------------------------------

static bool read_decimal(struct gi_schema_compiler *c, const cJSON *place, const cJSON *number,
                         struct gi_decimal *value)
{
    if (gi_schema_is_number(number) && gi_decimal_read(number->valuestring, value)) {
        return true;
    }
    c->place = place;
    gi_schema_refuse(c, "expected a number of at most %d digits", GI_DECIMAL_DIGITS);
    return false;
}

bool gi_schema_read_bound(struct gi_schema_compiler *c, const cJSON *schema, const cJSON *item,
                          bool breaks, struct gi_bound *bound)
{
    static const struct {
        const char *keyword, *strict; // strict: true in older schemas if the bound is not within
        enum gi_relation relation, strict_relation, broken, strict_broken;
    } bounds[] = {
        {"minimum", "exclusiveMinimum", GI_AT_LEAST, GI_ABOVE, GI_BELOW, GI_AT_MOST},
        {"maximum", "exclusiveMaximum", GI_AT_MOST, GI_BELOW, GI_ABOVE, GI_AT_LEAST},
        {"exclusiveMinimum", "", GI_ABOVE, GI_ABOVE, GI_AT_MOST, GI_AT_MOST},
        {"exclusiveMaximum", "", GI_BELOW, GI_BELOW, GI_AT_LEAST, GI_AT_LEAST},
    };
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        if (strcmp(item->string, bounds[i].keyword) != 0 || cJSON_IsBool(item)) {
            continue;
        }
        const bool is_strict = cJSON_IsTrue(gi_schema_get(schema, bounds[i].strict));
        bound->relation = breaks ? (is_strict ? bounds[i].strict_broken : bounds[i].broken)
                                 : (is_strict ? bounds[i].strict_relation : bounds[i].relation);
        if (read_decimal(c, item, item, &bound->value)) {
            return true;
        }
    }
    return false;
}

// Rounds a bound to the digits that a double keeps, inwards, so that a number within it is within
// after rounding to a double too.
static void round_inwards(struct gi_bound *bound)
{
    struct gi_decimal *value = &bound->value;
    const bool is_upper = bound->relation == GI_BELOW || bound->relation == GI_AT_MOST;
    if (value->n <= N_BROKEN || bound->relation == GI_EQUAL || bound->relation == GI_NOT_EQUAL) {
        return;
    }
    value->n = N_BROKEN;
    if (is_upper == value->is_negative) { // away from 0
        int i = N_BROKEN - 1;
        while (i >= 0 && value->digits[i] == '9') {
            i--;
        }
        if (i < 0) {
            value->digits[0] = '0';
            value->point++;
            i = 0;
        }
        value->digits[i]++;
        value->n = i + 1;
    }
    while (value->n > 0 && value->digits[value->n - 1] == '0') {
        value->n--;
    }
}

struct numbers {
    struct gi_schema_compiler *c;
    const struct gi_dfa *dfa;
    int types, n_digits;
    bool is_dead;
};

// Begins with the numbers that may be written where limits are set.
static void begin_limits(struct numbers *numbers)
{
    if (!numbers->dfa) {
        numbers->dfa = gi_number_digits(numbers->c, numbers->types, numbers->n_digits);
    }
}

static void narrow(struct numbers *numbers, const struct gi_dfa *dfa, bool is_without)
{
    if (!dfa) {
        return; // was refused
    }
    begin_limits(numbers);
    const struct gi_dfa *narrowed = gi_dfa_product(numbers->c, numbers->dfa, dfa, is_without);
    numbers->dfa = narrowed ? narrowed : numbers->dfa;
}

static void add_bound(struct numbers *numbers, struct gi_bound bound)
{
    const bool is_upper = bound.relation == GI_BELOW || bound.relation == GI_AT_MOST;
    if (bound.value.point > MAX_BOUND) { // beyond all numbers that are written
        numbers->is_dead = numbers->is_dead || bound.relation == GI_EQUAL ||
                           (bound.relation != GI_NOT_EQUAL && is_upper == bound.value.is_negative);
        begin_limits(numbers);
        return;
    }
    if (numbers->types & GI_IS_BROKEN) {
        round_inwards(&bound);
    }
    bool is_without = false;
    const struct gi_dfa *dfa = gi_number_bound(numbers->c, &bound, &is_without);
    narrow(numbers, dfa, is_without);
}

static void add_multiple(struct numbers *numbers, const cJSON *item, bool breaks)
{
    struct gi_decimal of;
    if (read_decimal(numbers->c, item, item, &of)) {
        narrow(numbers, gi_number_multiples(numbers->c, &of), breaks);
    }
}

// Excludes the numbers of a constant, or of a list of them.
static void exclude(struct numbers *numbers, const cJSON *item)
{
    for (const cJSON *one = gi_schema_first_value(item); one;
         one = gi_schema_next_value(item, one)) {
        struct gi_bound bound = {.relation = GI_NOT_EQUAL};
        if (gi_schema_is_number(one) && read_decimal(numbers->c, item, one, &bound.value)) {
            add_bound(numbers, bound);
        }
    }
}

static void read_keyword(struct numbers *numbers, const cJSON *schema, const cJSON *item,
                         bool breaks, bool is_counting)
{
    struct gi_bound bound;
    numbers->c->place = item;
    if (gi_schema_read_bound(numbers->c, schema, item, breaks, &bound)) {
        const int n = bound.value.point;
        if (!is_counting) {
            add_bound(numbers, bound);
        } else if (n > numbers->n_digits && n <= MAX_WHOLE) {
            numbers->n_digits = n;
        }
    } else if (is_counting) {
        return;
    } else if (strcmp(item->string, "multipleOf") == 0) {
        add_multiple(numbers, item, breaks);
    } else if (breaks &&
               (strcmp(item->string, "const") == 0 || strcmp(item->string, "enum") == 0)) {
        exclude(numbers, item);
    }
}

// Reads the keywords of a case. is_counting: only raises n_digits to the digits that bounds need.
static void read_case(struct numbers *numbers, const struct gi_case *one, bool is_counting)
{
    const bool *has_failed = &numbers->c->build.has_failed;
    for (uint32_t i = 0; i < one->count && !*has_failed; i++) {
        const struct gi_condition *condition = &one->conditions[i];
        const bool breaks = condition->kind == GI_BREAKS;
        const cJSON *item = breaks                        ? condition->item
                            : condition->kind == GI_HOLDS ? condition->schema->child
                                                          : NULL;
        for (; item && !*has_failed; item = breaks ? NULL : item->next) {
            if (item->string) {
                read_keyword(numbers, condition->schema, item, breaks, is_counting);
            }
        }
    }
}

const struct gi_dfa *gi_schema_numbers_of(struct gi_schema_compiler *c, const struct gi_case *one,
                                          bool is_all)
{
    const bool is_whole = !(one->types & GI_IS_BROKEN);
    struct numbers numbers = {
        .c = c, .types = one->types, .n_digits = is_whole ? N_WHOLE : N_BROKEN};
    read_case(&numbers, one, true);
    read_case(&numbers, one, false);
    if (is_all || (one->types & GI_IS_NUMBER) == GI_IS_BROKEN) {
        begin_limits(&numbers);
    }
    return numbers.is_dead ? gi_dfa_of_texts(c, NULL, 0) : numbers.dfa;
}

uint32_t gi_schema_build_numbers(struct gi_schema_compiler *c, const struct gi_case *one)
{
    const struct gi_dfa *dfa = gi_schema_numbers_of(c, one, false);
    if (!dfa) {
        return gi_schema_build_shared(
            c, one->types & GI_IS_BROKEN ? GI_RULE_NUMBER : GI_RULE_INTEGER, GI_BUILD_END);
    }
    if (gi_dfa_is_empty(dfa)) {
        gi_schema_note_dead(c, "no number satisfies the bounds and multiples");
    }
    return gi_schema_build_dfa(c, dfa, false, GI_BUILD_END);
}
