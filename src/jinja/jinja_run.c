#include "jinja/jinja_run.h"

#include "jinja/jinja.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_POOL = 32 << 20, // with the parser's, host memory beside a model stays under 64 MiB
    MAX_DEPTH = 100,
};

// How a body ended.
enum flow {
    FLOW_ON,
    FLOW_BREAK,
    FLOW_CONTINUE,
};

void gi_jinja_run_fail(struct gi_jinja_run *run, const struct gi_jinja_node *node,
                       const char *format, ...)
{
    char sentence[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    gi_jinja_fail(&run->pool, GLINFER_STATUS_UNSUPPORTED, "line %u of the chat template: %s",
                  node->line, sentence);
}

static enum flow run_body(struct gi_jinja_run *run, const struct gi_jinja_node *body);

// What a body writes.
static struct gi_jinja_value capture(struct gi_jinja_run *run, const struct gi_jinja_node *body)
{
    struct gi_jinja_text text = {0}, *out = run->out;
    run->out = &text;
    run_body(run, body);
    run->out = out;
    return gi_jinja_text_value(gi_jinja_text_string(&text));
}

//-- variables -------------------------------------------------------------------------------------

static void set_variable(struct gi_jinja_run *run, const struct gi_jinja_node *target,
                         struct gi_jinja_value value)
{
    const struct gi_jinja_value name = gi_jinja_text_value(target->name);
    if (target->kind == GI_JINJA_NODE_NAME) {
        gi_jinja_put(&run->pool, &run->scope->variables, name, value);
        return;
    }
    const struct gi_jinja_value object = gi_jinja_evaluate_node(run, target->a);
    if (object.kind != GI_JINJA_DICT || !object.dict->is_namespace) {
        gi_jinja_run_fail(run, target, "only what a namespace has can be set");
        return;
    }
    gi_jinja_put(&run->pool, object.dict, name, value);
}

// One target takes the value, several its elements.
static void set_targets(struct gi_jinja_run *run, const struct gi_jinja_node *targets,
                        struct gi_jinja_value value)
{
    if (!targets->next) {
        set_variable(run, targets, value);
        return;
    }
    const struct gi_jinja_list list = gi_jinja_elements(run, targets, value);
    size_t i = 0;
    for (; targets && !run->pool.has_failed; targets = targets->next, i++) {
        if (i >= list.count || (!targets->next && i + 1 != list.count)) {
            gi_jinja_run_fail(run, targets, "%zu values do not fit the names for them", list.count);
            return;
        }
        set_variable(run, targets, list.items[i]);
    }
}

static void run_set(struct gi_jinja_run *run, const struct gi_jinja_node *node)
{
    if (node->a) {
        set_targets(run, node->b, gi_jinja_evaluate_node(run, node->a));
        return;
    }
    struct gi_jinja_value value = capture(run, node->list);
    const struct gi_jinja_node *chain[8];
    size_t n = 0;
    for (const struct gi_jinja_node *filter = node->c; filter && n < 8; filter = filter->a) {
        chain[n++] = filter;
    }
    while (n-- > 0 && !run->pool.has_failed) {
        struct gi_jinja_arguments arguments;
        gi_jinja_read_arguments(run, chain[n]->list, &arguments);
        value = gi_jinja_filter(run, chain[n], chain[n]->name, value, &arguments);
    }
    set_targets(run, node->b, value);
}

//-- loops -----------------------------------------------------------------------------------------

// Begins a turn of a loop: the variables of the turn before are gone, their room is used again.
static void begin_turn(struct gi_jinja_scope *scope)
{
    scope->variables.keys.count = scope->variables.values.count = 0;
}

static struct gi_jinja_list choose_items(struct gi_jinja_run *run, const struct gi_jinja_node *node)
{
    const struct gi_jinja_list all =
        gi_jinja_elements(run, node, gi_jinja_evaluate_node(run, node->a));
    struct gi_jinja_list chosen = {0};
    struct gi_jinja_scope scope = {.parent = run->scope};
    if (!node->c) {
        return all;
    }
    run->scope = &scope;
    for (size_t i = 0; i < all.count && !run->pool.has_failed; i++) {
        begin_turn(&scope);
        set_targets(run, node->b, all.items[i]);
        if (gi_jinja_is_true(gi_jinja_evaluate_node(run, node->c))) {
            gi_jinja_push(&run->pool, &chosen, all.items[i]);
        }
    }
    run->scope = scope.parent;
    return chosen;
}

// Tells the variable `loop`, which is one for all turns, of turn i.
static void set_loop(struct gi_jinja_pool *pool, struct gi_jinja_dict *loop,
                     const struct gi_jinja_list *items, size_t i)
{
    const int64_t n = (int64_t)items->count, at = (int64_t)i;
    gi_jinja_put_name(pool, loop, "index", gi_jinja_int(at + 1));
    gi_jinja_put_name(pool, loop, "index0", gi_jinja_int(at));
    gi_jinja_put_name(pool, loop, "revindex", gi_jinja_int(n - at));
    gi_jinja_put_name(pool, loop, "revindex0", gi_jinja_int(n - at - 1));
    gi_jinja_put_name(pool, loop, "first", gi_jinja_bool(at == 0));
    gi_jinja_put_name(pool, loop, "last", gi_jinja_bool(at + 1 == n));
    gi_jinja_put_name(pool, loop, "length", gi_jinja_int(n));
    gi_jinja_put_name(pool, loop, "previtem", at > 0 ? items->items[i - 1] : gi_jinja_undefined());
    gi_jinja_put_name(pool, loop, "nextitem",
                      at + 1 < n ? items->items[i + 1] : gi_jinja_undefined());
}

static void run_for(struct gi_jinja_run *run, const struct gi_jinja_node *node)
{
    const struct gi_jinja_list items = choose_items(run, node);
    enum flow flow = FLOW_ON;
    if (items.count == 0) {
        run_body(run, node->other);
        return;
    }
    struct gi_jinja_scope scope = {.parent = run->scope};
    const struct gi_jinja_value loop = gi_jinja_new_dict(&run->pool);
    run->scope = &scope;
    for (size_t i = 0; i < items.count && flow != FLOW_BREAK && !run->pool.has_failed; i++) {
        begin_turn(&scope);
        set_loop(&run->pool, loop.dict, &items, i);
        gi_jinja_put_name(&run->pool, &scope.variables, "loop", loop);
        set_targets(run, node->b, items.items[i]);
        flow = run_body(run, node->list);
    }
    run->scope = scope.parent;
}

//-- macros ----------------------------------------------------------------------------------------

static void bind_parameters(struct gi_jinja_run *run, const struct gi_jinja_node *macro,
                            const struct gi_jinja_arguments *arguments)
{
    size_t i = 0;
    for (const struct gi_jinja_node *p = macro->b; p && !run->pool.has_failed; p = p->next, i++) {
        const bool has_default = p->name.size > 0;
        const struct gi_jinja_value name = gi_jinja_text_value(has_default ? p->name : p->a->name);
        struct gi_jinja_value value = i < arguments->values.count
                                          ? arguments->values.items[i]
                                          : gi_jinja_get(&run->pool, &arguments->named, name);
        if (value.kind == GI_JINJA_UNDEFINED && has_default) {
            value = gi_jinja_evaluate_node(run, p->a);
        }
        gi_jinja_put(&run->pool, &run->scope->variables, name, value);
    }
}

struct gi_jinja_value gi_jinja_call_macro(struct gi_jinja_run *run,
                                          const struct gi_jinja_node *macro,
                                          const struct gi_jinja_arguments *arguments)
{
    struct gi_jinja_scope scope = {.parent = run->root}, *caller = run->scope;
    run->scope = &scope;
    bind_parameters(run, macro, arguments);
    const struct gi_jinja_value value = capture(run, macro->list);
    run->scope = caller;
    return value;
}

//-- bodies ----------------------------------------------------------------------------------------

static enum flow run_statement(struct gi_jinja_run *run, const struct gi_jinja_node *node)
{
    switch (node->kind) {
    case GI_JINJA_NODE_TEXT:
        gi_jinja_append(&run->pool, run->out, node->constant.string);
        return FLOW_ON;
    case GI_JINJA_NODE_PRINT:
        gi_jinja_append(&run->pool, run->out,
                        gi_jinja_to_string(&run->pool, gi_jinja_evaluate_node(run, node->a)));
        return FLOW_ON;
    case GI_JINJA_NODE_IF:
        return run_body(run, gi_jinja_is_true(gi_jinja_evaluate_node(run, node->a)) ? node->list
                                                                                    : node->other);
    case GI_JINJA_NODE_FOR:
        run_for(run, node);
        return FLOW_ON;
    case GI_JINJA_NODE_SET:
        run_set(run, node);
        return FLOW_ON;
    case GI_JINJA_NODE_MACRO:
        gi_jinja_put(&run->pool, &run->scope->variables, gi_jinja_text_value(node->name),
                     (struct gi_jinja_value){.kind = GI_JINJA_MACRO, .macro = node});
        return FLOW_ON;
    case GI_JINJA_NODE_BREAK:
        return FLOW_BREAK;
    case GI_JINJA_NODE_CONTINUE:
        return FLOW_CONTINUE;
    default:
        return FLOW_ON;
    }
}

static enum flow run_body(struct gi_jinja_run *run, const struct gi_jinja_node *body)
{
    enum flow flow = FLOW_ON;
    if (run->depth > MAX_DEPTH && body) {
        gi_jinja_run_fail(run, body, "it nests too deeply");
    }
    run->depth++;
    for (; body && flow == FLOW_ON && !run->pool.has_failed; body = body->next) {
        run->n_steps++;
        flow = run_statement(run, body);
    }
    run->depth--;
    return flow;
}

//-- the whole -------------------------------------------------------------------------------------

static void add_messages(struct gi_jinja_run *run, const struct gi_jinja_input *input)
{
    struct gi_jinja_pool *pool = &run->pool;
    struct gi_jinja_value list = gi_jinja_new_list(pool);
    for (size_t i = 0; i < input->n_messages && !pool->has_failed; i++) {
        const struct glinfer_message *message = &input->messages[i];
        struct gi_jinja_value dict = gi_jinja_new_dict(pool);
        struct gi_jinja_string content =
            gi_jinja_string_of(message->content ? message->content : "");
        uint8_t *marks = gi_jinja_allocate(pool, content.size + 1);
        if (!marks) {
            return;
        }
        memset(marks, 1, content.size);
        content.marks = marks;
        gi_jinja_put_name(pool, dict.dict, "role", gi_jinja_constant(message->role));
        gi_jinja_put_name(pool, dict.dict, "content", gi_jinja_text_value(content));
        gi_jinja_push(pool, list.list, dict);
    }
    gi_jinja_put_name(pool, &run->root->variables, "messages", list);
}

static bool take_output(struct gi_jinja_run *run, const struct gi_jinja_text *text,
                        struct gi_jinja_output *output)
{
    if (run->pool.has_failed) {
        return false;
    }
    *output = (struct gi_jinja_output){
        .data = malloc(text->size + 1), .is_data = malloc(text->size + 1), .size = text->size};
    if (!output->data || !output->is_data) {
        gi_jinja_output_finish(output);
        return gi_error_no_memory(run->pool.err, text->size, "a conversation");
    }
    if (text->size) {
        memcpy(output->data, text->data, text->size);
        memcpy(output->is_data, text->marks, text->size);
    }
    return true;
}

static struct gi_jinja_value token_value(const char *text, size_t size)
{
    return gi_jinja_text_value((struct gi_jinja_string){text, NULL, size});
}

bool gi_jinja_render(const struct gi_jinja *jinja, const struct gi_jinja_input *input,
                     struct gi_jinja_output *output, struct glinfer_error *err)
{
    struct gi_jinja_text text = {0};
    struct gi_jinja_scope root = {.parent = NULL};
    struct gi_jinja_run run = {.scope = &root, .root = &root, .out = &text};
    struct gi_jinja_dict *variables = &root.variables;
    gi_jinja_pool_init(&run.pool, MAX_POOL, err);
    add_messages(&run, input);
    gi_jinja_put_name(&run.pool, variables, "bos_token", token_value(input->bos, input->bos_size));
    gi_jinja_put_name(&run.pool, variables, "eos_token", token_value(input->eos, input->eos_size));
    gi_jinja_put_name(&run.pool, variables, "add_generation_prompt", gi_jinja_bool(true));
    gi_jinja_put_name(&run.pool, variables, "tools", gi_jinja_none());
    gi_jinja_put_name(&run.pool, variables, "documents", gi_jinja_none());
    if (!run.pool.has_failed) {
        run_body(&run, jinja->body);
    }
    const bool is_done = take_output(&run, &text, output);
    gi_jinja_pool_finish(&run.pool);
    return is_done;
}

void gi_jinja_output_finish(struct gi_jinja_output *output)
{
    free(output->data);
    free(output->is_data);
    *output = (struct gi_jinja_output){0};
}
