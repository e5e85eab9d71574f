#include "grammar/gbnf/grammar_rules.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "grammar/gbnf/grammar_recursion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char purpose[] = "a grammar";

//-- rules by name ---------------------------------------------------------------------------------

void gi_gbnf_finish(struct gi_gbnf *gbnf)
{
    free(gbnf->rules.data);
    free(gbnf->names.data);
    gi_index_finish(&gbnf->index);
    memset(gbnf, 0, sizeof(*gbnf));
}

//-- rules by name ---------------------------------------------------------------------------------

// Returns the index of the rule of a name in gbnf->rules; GI_INDEX_END if the name is
// not known.
static uint32_t find_rule(const struct gi_gbnf *gbnf, const char *name, size_t size, uint32_t *hash)
{
    struct gi_hash all;
    uint32_t step = 0, found;
    gi_hash_init(&all);
    gi_hash_add(&all, name, size);
    *hash = (uint32_t)all.lo;
    while ((found = gi_index_next(&gbnf->index, *hash, &step)) != GI_INDEX_END) {
        const struct gi_gbnf_rule *rule = &gbnf->rules.data[found];
        if (rule->name_size == size && memcmp(&gbnf->names.data[rule->name], name, size) == 0) {
            break;
        }
    }
    return found;
}

bool gi_gbnf_add(struct gi_gbnf *gbnf, struct gi_builder *builder, const char *name, size_t size,
                 uint32_t *index)
{
    const struct gi_gbnf_rule made = {
        .name = (uint32_t)gbnf->names.count, .name_size = (uint32_t)size, .at = UINT32_MAX};
    uint32_t hash;
    *index = find_rule(gbnf, name, size, &hash);
    if (*index != GI_INDEX_END) {
        return true;
    }
    *index = (uint32_t)gbnf->rules.count;
    if (!GI_ARRAY_RESERVE(&gbnf->names, made.name + size, purpose, builder->err) ||
        !GI_ARRAY_PUSH(&gbnf->rules, purpose, builder->err, made) ||
        !gi_index_add(&gbnf->index, hash, *index, purpose, builder->err)) {
        return false;
    }
    memcpy(&gbnf->names.data[made.name], name, size);
    gbnf->names.count += size;
    gbnf->rules.data[*index].rule = gi_build_rule(builder, GI_BUILD_END);
    return !builder->has_failed;
}

uint32_t gi_gbnf_declare(struct gi_gbnf *gbnf, struct gi_builder *builder, const char *name)
{
    uint32_t index;
    if (builder->has_failed || !gi_gbnf_add(gbnf, builder, name, strlen(name), &index)) {
        builder->has_failed = true;
        return 0;
    }
    gbnf->rules.data[index].is_defined = true;
    return gbnf->rules.data[index].rule;
}

uint32_t gi_gbnf_rule(const struct gi_gbnf *gbnf, const char *name)
{
    uint32_t hash;
    const uint32_t index = find_rule(gbnf, name, strlen(name), &hash);
    return index != GI_INDEX_END ? gbnf->rules.data[index].rule : GI_GBNF_NO_RULE;
}

//-- failures --------------------------------------------------------------------------------------

bool gi_gbnf_fail(const struct gi_gbnf *gbnf, size_t at, const char *what,
                  struct glinfer_error *err)
{
    uint32_t line = 1, column = 1;
    for (size_t i = 0; i < at && i < gbnf->size; i++) {
        if (gbnf->text[i] == '\n') {
            line++;
            column = 1;
        } else if (!gi_utf8_continues(gbnf->text[i])) { // columns count characters
            column++;
        }
    }
    return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                        "invalid grammar: line %u, column %u: %s", line, column, what);
}

bool gi_gbnf_fail_rule(const struct gi_gbnf *gbnf, const struct gi_gbnf_rule *rule,
                       const char *reason, struct glinfer_error *err)
{
    char sentence[256];
    snprintf(sentence, sizeof(sentence), "the rule '%.*s' %s",
             rule->name_size < 100 ? (int)rule->name_size : 100, &gbnf->names.data[rule->name],
             reason);
    return gi_gbnf_fail(gbnf, rule->at, sentence, err);
}

//-- the whole -------------------------------------------------------------------------------------

static const struct gi_gbnf_rule *rule_by_index(const struct gi_gbnf *gbnf, uint32_t index)
{
    for (size_t i = 0; i < gbnf->rules.count; i++) {
        if (gbnf->rules.data[i].rule == index) {
            return &gbnf->rules.data[i];
        }
    }
    return NULL;
}

static bool is_endless(struct gi_grammar *grammar, uint32_t rule, struct glinfer_error *err)
{
    bool has_end;
    grammar->root = rule;
    return gi_grammar_cut_endless(grammar, &has_end, err) && !has_end;
}

// Cuts the alternatives that never end. Fails if a rule begins with itself, or no text ends.
static bool check(const struct gi_gbnf *gbnf, struct gi_grammar *grammar, uint32_t n_schemas,
                  const struct glinfer_error *dead, struct glinfer_error *err)
{
    uint32_t recursion;
    bool has_end;
    if (!gi_grammar_find_left_recursion(grammar, &recursion, err) ||
        !gi_grammar_cut_endless(grammar, &has_end, err)) {
        return false;
    }
    if (recursion == GI_NO_RECURSION && has_end) {
        return true;
    }
    const struct gi_gbnf_rule *rule = rule_by_index(gbnf, recursion);
    const struct gi_gbnf_rule *root = rule_by_index(gbnf, grammar->root);
    bool is_schema = !root;
    if (rule) {
        return gi_gbnf_fail_rule(gbnf, rule, "is left-recursive: it may begin with itself", err);
    }
    for (uint32_t i = 0; i < n_schemas && !is_schema; i++) {
        is_schema = is_endless(grammar, i, err);
    }
    if (is_schema) {
        return gi_error_pass(err, dead);
    }
    return gi_gbnf_fail_rule(gbnf, root,
                             has_end ? "leads to a repeated group that begins with itself"
                                     : "never ends: each of its texts has another one within",
                             err);
}

struct gi_grammar *gi_gbnf_take(const struct gi_gbnf *gbnf, struct gi_builder *builder,
                                uint32_t root, uint32_t n_schemas, const struct glinfer_error *dead)
{
    if (!builder->has_failed && root == GI_GBNF_NO_RULE) {
        builder->has_failed = true;
        gi_error_set(builder->err, GLINFER_STATUS_INVALID_ARGUMENT,
                     "invalid grammar: missing rule 'root'");
    }
    struct gi_grammar *grammar = gi_builder_take(builder, root);
    if (grammar && !check(gbnf, grammar, n_schemas, dead, builder->err)) {
        gi_grammar_destroy(grammar);
        return NULL;
    }
    return grammar;
}
