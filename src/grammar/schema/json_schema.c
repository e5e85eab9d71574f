#include "grammar/schema/json_schema.h"

#include "grammar/gbnf/grammar_parser.h"
#include "grammar/schema/schema_json.h"
#include "grammar/schema/schema_scalar.h"
#include "grammar/schema/schema_visit.h"

#include <stdio.h>
#include <string.h>

// Builds the rule of texts in a frame around those of a rule.
static uint32_t build_frame(struct gi_schema_compiler *c, const struct gi_schema_frame *frame,
                            uint32_t rule)
{
    struct gi_builder *build = &c->build;
    const uint32_t after = gi_schema_build_text(c, frame->after ? frame->after : "", GI_BUILD_END);
    const uint32_t json = gi_build_call(build, rule, after);
    uint32_t first = gi_schema_build_text(c, frame->before ? frame->before : "", json);
    if (frame->token) {
        first = gi_build_either(build, first,
                                gi_build_node(build, GI_NODE_TOKEN, (uint32_t)*frame->token, json));
    }
    const uint32_t one = gi_build_rule(build, first);
    const uint32_t most = frame->max_count ? frame->max_count : 1;
    return gi_build_rule(build, gi_build_repeat(build, GI_NODE_CALL, one, 1, most, GI_BUILD_END));
}

// Returns why no value of a schema ends.
static const struct glinfer_error *why_dead(struct gi_schema_compiler *c)
{
    if (!c->dead.message[0]) {
        gi_error_set(&c->dead, GLINFER_STATUS_UNSUPPORTED,
                     "JSON schema: every allowed value contains another one without end");
    }
    return &c->dead;
}

struct gi_grammar *gi_json_schema_create(const char *text, size_t size,
                                         const struct gi_schema_frame *frame,
                                         struct glinfer_error *err)
{
    struct gi_schema_compiler c = {0};
    cJSON *root = gi_schema_read(text, size, err);
    if (!root) {
        return NULL;
    }
    struct gi_gbnf shared = {0};
    gi_builder_init(&c.build, err);
    gi_schema_build_shared_rules(&c, &shared);
    c.root = root;
    uint32_t rule = gi_schema_visit(&c);
    rule = frame ? build_frame(&c, frame, rule) : rule;
    struct gi_grammar *grammar = gi_gbnf_take(&shared, &c.build, rule, 0, why_dead(&c));
    gi_schema_compiler_finish(&c);
    gi_gbnf_finish(&shared);
    cJSON_Delete(root);
    return grammar;
}

struct gi_grammar *gi_json_schema_rules(const char *gbnf, const char *const *schemas, size_t n,
                                        bool is_lenient, const struct gi_grammar_names *names,
                                        struct glinfer_error *err)
{
    struct gi_schema_compiler c = {.is_lenient = is_lenient};
    struct gi_gbnf rules = {0};
    gi_builder_init(&c.build, err);
    for (size_t i = 0; i < n; i++) { // the first of the grammar's rules
        char name[32];
        snprintf(name, sizeof(name), "json-%zu", i + 1);
        gi_gbnf_declare(&rules, &c.build, name);
    }
    if (n > 0) {
        gi_schema_build_shared_rules(&c, &rules);
    }
    gi_gbnf_read(&rules, &c.build, gbnf, strlen(gbnf), names);
    for (uint32_t i = 0; i < n && !c.build.has_failed; i++) {
        cJSON *root = gi_schema_read(schemas[i], strlen(schemas[i]), err);
        if (!root) {
            c.build.has_failed = true;
            break;
        }
        c.root = root;
        c.place = NULL;
        const uint32_t rule = gi_schema_visit(&c);
        gi_build_set_rule(&c.build, i, gi_build_call(&c.build, rule, GI_BUILD_END));
        c.root = NULL;
        cJSON_Delete(root);
    }
    struct gi_grammar *grammar =
        gi_gbnf_take(&rules, &c.build, gi_gbnf_rule(&rules, "root"), (uint32_t)n, why_dead(&c));
    gi_gbnf_finish(&rules);
    gi_schema_compiler_finish(&c);
    return grammar;
}
