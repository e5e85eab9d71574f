#include "jinja/jinja_run.h"

#include "jinja/jinja.h"
#include "jinja/jinja_json.h"
#include "jinja/jinja_write.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_POOL = 32 << 20, // with the parser's 16 MiB below the 64 MiB of host memory beside a model
    MAX_DEPTH = 100,
};

// How a body ends.
enum flow {
    FLOW_ON,
    FLOW_BREAK,
    FLOW_CONTINUE,
};

static enum flow run_body(struct gi_jinja_run *run, const struct gi_jinja_node *body);

struct gi_jinja_value gi_jinja_capture(struct gi_jinja_run *run, const struct gi_jinja_node *body)
{
    struct gi_jinja_scope scope = {.parent = run->scope};
    struct gi_jinja_text text = {0}, *out = run->out;
    run->scope = &scope;
    run->out = &text;
    run_body(run, body);
    run->out = out;
    run->scope = scope.parent;
    return gi_jinja_written(&text);
}

//-- variables -------------------------------------------------------------------------------------

static void set_name(struct gi_jinja_pool *pool, struct gi_jinja_dict *dict, const char *name,
                     struct gi_jinja_value value)
{
    gi_jinja_set(pool, dict, gi_jinja_constant(name), value);
}

static void set_variable(struct gi_jinja_run *run, const struct gi_jinja_node *target,
                         struct gi_jinja_value value)
{
    struct gi_jinja_dict *variables = &run->scope->variables;
    if (target->kind == GI_JINJA_NODE_ATTRIBUTE) {
        const struct gi_jinja_value object = gi_jinja_evaluate(run, target->a);
        if (object.kind != GI_JINJA_DICT || !object.dict->is_namespace) {
            gi_jinja_refuse(&run->pool, "only attributes of a namespace can be set");
            return;
        }
        variables = object.dict;
    }
    gi_jinja_set(&run->pool, variables, gi_jinja_value_of(target->name), value);
}

// Sets one target to the value, several to its elements.
static void set_targets(struct gi_jinja_run *run, const struct gi_jinja_node *targets,
                        struct gi_jinja_value value)
{
    if (!targets->next) {
        set_variable(run, targets, value);
        return;
    }
    const struct gi_jinja_list list = gi_jinja_elements(&run->pool, value);
    for (size_t i = 0; targets && !run->pool.has_failed; targets = targets->next, i++) {
        if (i >= list.count || (!targets->next && i + 1 != list.count)) {
            gi_jinja_refuse(&run->pool, "cannot unpack %zu values into another number of names",
                            list.count);
            return;
        }
        set_variable(run, targets, list.items[i]);
    }
}

//-- loops -----------------------------------------------------------------------------------------

// Forgets the variables of the iteration before; their room is used again.
static void clear_scope(struct gi_jinja_scope *scope)
{
    scope->variables.keys.count = scope->variables.values.count = 0;
}

static struct gi_jinja_list choose_items(struct gi_jinja_run *run, const struct gi_jinja_node *node)
{
    const struct gi_jinja_list all = gi_jinja_elements(&run->pool, gi_jinja_evaluate(run, node->a));
    struct gi_jinja_list chosen = {0};
    struct gi_jinja_scope scope = {.parent = run->scope};
    if (!node->c) {
        return all;
    }
    run->scope = &scope;
    for (size_t i = 0; i < all.count && !run->pool.has_failed; i++) {
        clear_scope(&scope);
        set_targets(run, node->b, all.items[i]);
        if (gi_jinja_is_true(gi_jinja_evaluate(run, node->c))) {
            gi_jinja_push(&run->pool, &chosen, all.items[i]);
        }
    }
    run->scope = scope.parent;
    return chosen;
}

// Fills the variable `loop`, one mapping for all iterations, for iteration i.
static void set_loop(struct gi_jinja_pool *pool, struct gi_jinja_dict *loop,
                     const struct gi_jinja_list *items, size_t i)
{
    const int64_t n = (int64_t)items->count, at = (int64_t)i;
    set_name(pool, loop, "index", gi_jinja_int(at + 1));
    set_name(pool, loop, "index0", gi_jinja_int(at));
    set_name(pool, loop, "revindex", gi_jinja_int(n - at));
    set_name(pool, loop, "revindex0", gi_jinja_int(n - at - 1));
    set_name(pool, loop, "first", gi_jinja_bool(at == 0));
    set_name(pool, loop, "last", gi_jinja_bool(at + 1 == n));
    set_name(pool, loop, "length", gi_jinja_int(n));
    set_name(pool, loop, "previtem", at > 0 ? items->items[i - 1] : gi_jinja_undefined());
    set_name(pool, loop, "nextitem", at + 1 < n ? items->items[i + 1] : gi_jinja_undefined());
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
        clear_scope(&scope);
        set_loop(&run->pool, loop.dict, &items, i);
        set_name(&run->pool, &scope.variables, "loop", loop);
        set_targets(run, node->b, items.items[i]);
        flow = run_body(run, node->list);
    }
    run->scope = scope.parent;
}

//-- macros ----------------------------------------------------------------------------------------

static void bind_parameters(const struct gi_jinja_call *call, const struct gi_jinja_node *macro)
{
    struct gi_jinja_run *run = call->run;
    size_t i = 0;
    for (const struct gi_jinja_node *p = macro->b; p && !run->pool.has_failed; p = p->next, i++) {
        const bool has_default = p->name.size > 0;
        const struct gi_jinja_value name = gi_jinja_value_of(has_default ? p->name : p->a->name);
        struct gi_jinja_value value = i < call->arguments.count
                                          ? call->arguments.items[i]
                                          : gi_jinja_get(call->pool, &call->named, name);
        if (value.kind == GI_JINJA_UNDEFINED && has_default) {
            value = gi_jinja_evaluate(run, p->a);
        }
        gi_jinja_set(call->pool, &run->scope->variables, name, value);
    }
}

// Runs a macro, or the body of a call, in a scope with its parameters.
static struct gi_jinja_value run_macro(const struct gi_jinja_call *call,
                                       const struct gi_jinja_node *macro,
                                       struct gi_jinja_scope *parent,
                                       const struct gi_jinja_caller *caller)
{
    struct gi_jinja_run *run = call->run;
    const struct gi_jinja_caller *outer = run->caller;
    struct gi_jinja_scope scope = {.parent = parent}, *own = run->scope;
    run->scope = &scope;
    run->caller = caller;
    bind_parameters(call, macro);
    const struct gi_jinja_value value = gi_jinja_capture(run, macro->list);
    run->scope = own;
    run->caller = outer;
    return value;
}

struct gi_jinja_value gi_jinja_call_macro(const struct gi_jinja_call *call,
                                          const struct gi_jinja_node *macro)
{
    return run_macro(call, macro, call->run->root, call->caller);
}

struct gi_jinja_value gi_jinja_call_caller(const struct gi_jinja_call *call)
{
    const struct gi_jinja_caller *caller = call->run->caller;
    return run_macro(call, caller->block, caller->scope, caller->outer);
}

static void run_block(struct gi_jinja_run *run, const struct gi_jinja_node *node)
{
    const struct gi_jinja_caller caller = {node, run->scope, run->caller};
    const struct gi_jinja_value value = gi_jinja_evaluate_call(run, node->a, &caller);
    gi_jinja_append(&run->pool, run->out, gi_jinja_to_string(&run->pool, value));
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
                        gi_jinja_to_string(&run->pool, gi_jinja_evaluate(run, node->a)));
        return FLOW_ON;
    case GI_JINJA_NODE_IF:
        return run_body(run, gi_jinja_is_true(gi_jinja_evaluate(run, node->a)) ? node->list
                                                                               : node->other);
    case GI_JINJA_NODE_FOR:
        run_for(run, node);
        return FLOW_ON;
    case GI_JINJA_NODE_SET:
        set_targets(run, node->b, gi_jinja_evaluate(run, node->a));
        return FLOW_ON;
    case GI_JINJA_NODE_MACRO:
        gi_jinja_set(&run->pool, &run->scope->variables, gi_jinja_value_of(node->name),
                     (struct gi_jinja_value){.kind = GI_JINJA_MACRO, .macro = node});
        return FLOW_ON;
    case GI_JINJA_NODE_BLOCK:
        run_block(run, node);
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
    const unsigned line = run->pool.line;
    enum flow flow = FLOW_ON;
    if (run->depth++ > MAX_DEPTH && body) {
        gi_jinja_refuse(&run->pool, "blocks and calls nest too deeply");
    }
    for (; body && flow == FLOW_ON && !run->pool.has_failed; body = body->next) {
        run->pool.line = body->line;
        run->n_steps++;
        flow = run_statement(run, body);
    }
    run->depth--;
    run->pool.line = line;
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
        set_name(pool, dict.dict, "role", gi_jinja_constant(message->role));
        set_name(pool, dict.dict, "content", gi_jinja_value_of(content));
        gi_jinja_push(pool, list.list, dict);
    }
    set_name(pool, &run->root->variables, "messages", list);
}

// Adds the variables that come as JSON; those of the language keep their names.
static void add_json(struct gi_jinja_run *run, const struct gi_jinja_input *input)
{
    struct gi_jinja_pool *pool = &run->pool;
    struct gi_jinja_dict *variables = &run->root->variables;
    if (input->json_variables) {
        const struct gi_jinja_value own =
            gi_jinja_from_json(pool, input->json_variables, GI_JINJA_DICT, "variables");
        for (size_t i = 0; own.kind == GI_JINJA_DICT && i < own.dict->keys.count; i++) {
            gi_jinja_set(pool, variables, own.dict->keys.items[i], own.dict->values.items[i]);
        }
    }
    if (input->json_messages) {
        set_name(pool, variables, "messages",
                 gi_jinja_from_json(pool, input->json_messages, GI_JINJA_LIST, "messages"));
    } else {
        add_messages(run, input);
    }
    set_name(pool, variables, "tools",
             input->json_tools ? gi_jinja_from_json(pool, input->json_tools, GI_JINJA_LIST, "tools")
                               : gi_jinja_none());
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

bool gi_jinja_render(const struct gi_jinja *jinja, const struct gi_jinja_input *input,
                     struct gi_jinja_output *output, struct glinfer_error *err)
{
    struct gi_jinja_text text = {0};
    struct gi_jinja_scope root = {.parent = NULL};
    struct gi_jinja_run run = {.scope = &root, .root = &root, .out = &text};
    struct gi_jinja_dict *variables = &root.variables;
    gi_jinja_pool_init(&run.pool, MAX_POOL, err);
    const struct gi_jinja_string bos = {input->bos, NULL, input->bos_size};
    const struct gi_jinja_string eos = {input->eos, NULL, input->eos_size};
    set_name(&run.pool, variables, "add_generation_prompt", gi_jinja_bool(!input->has_no_answer));
    set_name(&run.pool, variables, "documents", gi_jinja_none());
    // The date for templates of Llama 3 and of Firefunction, which have no function for it.
    set_name(&run.pool, variables, "date_string", gi_jinja_today(&run.pool, "%d %b %Y"));
    set_name(&run.pool, variables, "datetime", gi_jinja_today(&run.pool, "%b %d %Y"));
    set_name(&run.pool, variables, "functions", // the text of the tools, for Firefunction
             gi_jinja_value_of(gi_jinja_string_of(input->json_tools ? input->json_tools : "")));
    add_json(&run, input);
    set_name(&run.pool, variables, "bos_token", gi_jinja_value_of(bos));
    set_name(&run.pool, variables, "eos_token", gi_jinja_value_of(eos));
    run_body(&run, jinja->body);
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
