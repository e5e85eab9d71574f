#include "persistent/source/persistent_private.h"

#include <string.h>

static const char component[] = "xyzw";

// The begin and the buffer of each binding of an entry (glsl/persistent/grid_stage.glsl).
static const char *const entry_places[GI_MAX_BINDINGS][2] = {
    {"entry_begin.x", "entry_buffer.x"}, {"entry_begin.y", "entry_buffer.y"},
    {"entry_begin.z", "entry_buffer.z"}, {"entry_begin.w", "entry_buffer.w"},
    {"entry_fifth.x", "entry_fifth.y"},
};

static bool name_block(struct gi_persistent_maker *m, const struct gi_persistent_stage *stage,
                       struct gi_stage_block *block)
{
    const struct gi_range *range = &stage->first->bindings[block->binding];
    const uint32_t size = gi_persistent_element_size(block->type);
    char index[24], begin[24];
    uint32_t place;
    if (size == 0) {
        if (!stage->is_same_begin[block->binding] || !stage->is_same_buffer[block->binding]) {
            return gi_persistent_refuse(m, stage->first, "has structs in several places");
        }
        block->own_binding = m->next_binding;
        return gi_persistent_bind(m, range);
    }
    const struct gi_persistent_view *view =
        gi_persistent_find_view(m, block->type, range->buffer, &place);
    if (!view) {
        snprintf(block->prefix, sizeof(block->prefix), "unbound[("); // compiled away
        return true;
    }
    if (stage->is_same_buffer[block->binding]) {
        snprintf(index, sizeof(index), "%uu", place);
    } else {
        snprintf(index, sizeof(index), "%s", entry_places[block->binding][1]);
    }
    if (stage->is_same_begin[block->binding] && !(stage->runtime_begins >> block->binding & 1)) {
        snprintf(begin, sizeof(begin), "%lluu", (unsigned long long)(range->offset / size));
    } else {
        snprintf(begin, sizeof(begin), "%s", entry_places[block->binding][0]);
    }
    snprintf(block->prefix, sizeof(block->prefix), "%s_%.*ss[%s].at[%s + (",
             view->is_hot ? "hot" : "cold", GI_STAGE_TEXT(block->type), index, begin);
    return true;
}

static void name_field(struct gi_persistent_stage *stage, uint32_t i)
{
    struct gi_stage_field *field = &stage->text.fields[i];
    const uint32_t n_given = stage->first->params_size / (uint32_t)sizeof(uint32_t);
    char value[40];
    if (stage->is_same_field[i]) { // 0 of other kernels: the text is the same in every table
        snprintf(value, sizeof(value), "%uu",
                 i < n_given ? ((const uint32_t *)stage->params)[i] : 0);
    } else {
        snprintf(value, sizeof(value), "table[entry_params + %uu].%c", i / 4, component[i % 4]);
    }
    snprintf(field->text, sizeof(field->text), field->is_float ? "uintBitsToFloat(%s)" : "%s",
             value);
}

static bool name_stages(struct gi_persistent_maker *m)
{
    for (uint32_t index = 0; index < m->n_stages; index++) {
        struct gi_persistent_stage *stage = &m->stages[index];
        struct gi_stage *text = &stage->text;
        snprintf(text->suffix, sizeof(text->suffix), "_s%u", index);
        text->state_name = gi_persistent_has_whole_state(m, stage->first) ? "state" : "step_now";
        for (uint32_t i = 0; i < text->n_blocks; i++) {
            if (!name_block(m, stage, &text->blocks[i])) {
                return false;
            }
        }
        for (uint32_t i = 0; i < text->n_fields; i++) {
            name_field(stage, i);
        }
    }
    return true;
}

static bool write_stages(struct gi_persistent_maker *m, bool has_sizes_only)
{
    struct glinfer_error own;
    for (uint32_t i = 0; i < m->n_stages; i++) {
        if (!gi_stage_write(&m->stages[i].text, has_sizes_only, m->out, &own)) {
            return gi_persistent_blame(m, m->stages[i].first, &own);
        }
    }
    return true;
}

// Returns true if an earlier stage, or this one before, declares the same.
static bool is_declared(const struct gi_persistent_maker *m, uint32_t index, uint32_t i)
{
    const struct gi_stage_shared *shared = &m->stages[index].text.shared[i];
    for (uint32_t k = 0; k <= index; k++) {
        const struct gi_stage *text = &m->stages[k].text;
        for (uint32_t j = 0; j < (k == index ? i : text->n_shared); j++) {
            if (gi_stage_is_equal(text->shared[j].name, shared->name) &&
                gi_stage_is_equal(text->shared[j].type, shared->type)) {
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
    if (!name_stages(m) || !write_stages(m, true)) {
        return false;
    }
    for (uint32_t index = 0; index < m->n_stages; index++) {
        for (uint32_t i = 0; i < m->stages[index].text.n_shared; i++) {
            if (!is_declared(m, index, i)) {
                write_shared(m, &m->stages[index].text.shared[i]);
            }
        }
    }
    return write_stages(m, false);
}
