#include "persistent/source/persistent_private.h"

#include <stdlib.h>
#include <string.h>

//-- text ------------------------------------------------------------------------------------------

// Texts of one stage's names.
struct names {
    struct gi_stage_names list;
    char suffix[16];
    char prefixes[GI_STAGE_MAX_BLOCKS][96];
    char fields[GI_STAGE_MAX_FIELDS][64];
};

static const char component[] = "xyzw";

static bool name_block(struct gi_persistent_maker *m, const struct gi_persistent_stage *stage,
                       uint32_t i, struct names *names)
{
    const struct gi_stage_block *block = &stage->symbols.blocks[i];
    const struct gi_range *range = &stage->first->bindings[block->binding];
    const uint32_t size = gi_persistent_element_size(block->type);
    char index[24], begin[24];
    if (size == 0) {
        if (!stage->is_same_begin[block->binding] || !stage->is_same_buffer[block->binding]) {
            return gi_persistent_refuse(m, stage->first, "has structs in several places");
        }
        names->list.bindings[i] = gi_persistent_take_binding(m);
        return gi_persistent_bind(m, names->list.bindings[i], range);
    }
    const struct gi_persistent_view *view =
        range->buffer ? gi_persistent_find_view(m, block->type, range->buffer) : NULL;
    if (!view) {
        names->list.prefixes[i] = "unbound"; // in text that is compiled away
        names->list.suffixes[i] = "]";
        return true;
    }
    if (stage->is_same_buffer[block->binding]) {
        snprintf(index, sizeof(index), "%uu", view->index);
    } else {
        snprintf(index, sizeof(index), "entry_buffer.%c", component[block->binding]);
    }
    if (stage->is_same_begin[block->binding]) {
        snprintf(begin, sizeof(begin), "%lluu", (unsigned long long)(range->offset / size));
    } else {
        snprintf(begin, sizeof(begin), "entry_begin.%c", component[block->binding]);
    }
    snprintf(names->prefixes[i], sizeof(names->prefixes[i]), "%s_%.*ss[%s].at[%s + (",
             view->is_hot ? "hot" : "cold", GI_STAGE_TEXT(block->type), index, begin);
    names->list.prefixes[i] = names->prefixes[i];
    names->list.suffixes[i] = ")]";
    return true;
}

static void name_field(const struct gi_persistent_stage *stage, uint32_t i, struct names *names)
{
    const struct gi_stage_field *field = &stage->symbols.fields[i];
    char value[40];
    if (stage->is_same_field[i]) {
        snprintf(value, sizeof(value), "%uu", ((const uint32_t *)stage->params)[i]);
    } else {
        snprintf(value, sizeof(value), "table[entry_params + %uu].%c", i / 4, component[i % 4]);
    }
    snprintf(names->fields[i], sizeof(names->fields[i]),
             field->is_float ? "uintBitsToFloat(%s)" : "%s", value);
    names->list.fields[i] = names->fields[i];
}

static bool write_stages(struct gi_persistent_maker *m, bool has_sizes_only)
{
    const uint32_t first_binding = m->next_binding;
    struct names *names = calloc(1, sizeof(*names));
    bool ok = names != NULL || gi_error_no_memory(m->err, sizeof(*names), "a stage");
    for (uint32_t index = 0; ok && index < m->n_stages; index++) {
        const struct gi_persistent_stage *stage = &m->stages[index];
        memset(names, 0, sizeof(*names));
        snprintf(names->suffix, sizeof(names->suffix), "_s%u", index);
        names->list.suffix = names->suffix;
        names->list.state = gi_persistent_has_whole_state(m, stage->first) ? "state" : "step_now";
        for (uint32_t i = 0; ok && i < stage->symbols.n_blocks; i++) {
            ok = name_block(m, stage, i, names);
        }
        for (uint32_t i = 0; i < stage->symbols.n_fields; i++) {
            name_field(stage, i, names);
        }
        struct glinfer_error own;
        ok = ok && (gi_stage_write(stage->source.text, &stage->symbols, &names->list,
                                   has_sizes_only, m->out, &own) ||
                    gi_persistent_blame(m, stage->first, &own));
    }
    free(names);
    m->next_binding = has_sizes_only ? first_binding : m->next_binding;
    return ok;
}

// True if an earlier stage, or this one before, declares the same.
static bool is_declared(const struct gi_persistent_maker *m, uint32_t index, uint32_t i)
{
    const struct gi_stage_shared *shared = &m->stages[index].symbols.shared[i];
    for (uint32_t k = 0; k <= index; k++) {
        const struct gi_stage_symbols *symbols = &m->stages[k].symbols;
        for (uint32_t j = 0; j < (k == index ? i : symbols->n_shared); j++) {
            if (gi_stage_is_equal(symbols->shared[j].name, shared->name) &&
                gi_stage_is_equal(symbols->shared[j].type, shared->type)) {
                return true;
            }
        }
    }
    return false;
}

// Shared memory as large as the stage that wants most.
static void write_shared(const struct gi_persistent_maker *m, const struct gi_stage_shared *shared)
{
    char name[96];
    snprintf(name, sizeof(name), "%.*s_%.*s", GI_STAGE_TEXT(shared->name),
             GI_STAGE_TEXT(shared->type));
    if (!shared->is_array) {
        fprintf(m->out, "shared %.*s %s;\n", GI_STAGE_TEXT(shared->type), name);
        return;
    }
    for (uint32_t i = 0; i < m->n_stages; i++) {
        fprintf(m->out, "#ifndef SIZE_%s_s%u\n#define SIZE_%s_s%u 1\n#endif\n", name, i, name, i);
    }
    fprintf(m->out, "shared %.*s %s[", GI_STAGE_TEXT(shared->type), name);
    for (uint32_t i = 0; i + 1 < m->n_stages; i++) {
        fprintf(m->out, "max(SIZE_%s_s%u, ", name, i);
    }
    fprintf(m->out, "SIZE_%s_s%u", name, m->n_stages - 1);
    for (uint32_t i = 0; i + 1 < m->n_stages; i++) {
        fputc(')', m->out);
    }
    fputs("];\n", m->out);
}

bool gi_persistent_write_stages(struct gi_persistent_maker *m)
{
    if (!write_stages(m, true)) {
        return false;
    }
    for (uint32_t index = 0; index < m->n_stages; index++) {
        for (uint32_t i = 0; i < m->stages[index].symbols.n_shared; i++) {
            if (!is_declared(m, index, i)) {
                write_shared(m, &m->stages[index].symbols.shared[i]);
            }
        }
    }
    return write_stages(m, false);
}
