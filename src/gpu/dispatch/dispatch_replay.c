#include "gpu/dispatch/dispatch_private.h"

#include <assert.h>

// Keeps what is bound, so that it is not bound again. A replay begins with nothing bound: others
// who use the context need not put anything back.
struct bound {
    GLuint program;
    struct bound_range {
        GLuint buffer;
        uint64_t offset, size;
    } storage[GI_MAX_BINDINGS], uniform, params;
    GLuint textures[GI_MAX_BINDINGS];
};

static void bind_range(struct bound_range *bound, GLenum target, GLuint index,
                       const struct gi_range *range)
{
    if (range->buffer && (bound->buffer != range->buffer->name || bound->offset != range->offset ||
                          bound->size != range->size)) {
        glBindBufferRange(target, index, range->buffer->name, (GLintptr)range->offset,
                          (GLsizeiptr)range->size);
        *bound = (struct bound_range){range->buffer->name, range->offset, range->size};
    }
}

static void bind_storage(struct bound *bound, const struct gi_dispatch *dispatch)
{
    for (GLuint i = 0; i < GI_MAX_BINDINGS; i++) {
        if (dispatch->texels[i] == GI_TEXEL_NONE) {
            bind_range(&bound->storage[i], GL_SHADER_STORAGE_BUFFER, i, &dispatch->bindings[i]);
        }
    }
}

static void bind_textures(struct bound *bound, const struct gi_dispatch_entry *entry)
{
    for (GLuint i = 0; i < GI_MAX_BINDINGS; i++) {
        if (entry->textures[i] != 0 && entry->textures[i] != bound->textures[i]) {
            glActiveTexture(GL_TEXTURE0 + i);
            glBindTexture(GL_TEXTURE_BUFFER_EXT, entry->textures[i]);
            bound->textures[i] = entry->textures[i];
        }
    }
}

static void bind_entry(const struct gi_dispatch_table *table, struct bound *bound,
                       const struct gi_dispatch_entry *entry)
{
    if (bound->program != entry->program) {
        glUseProgram(entry->program);
        bound->program = entry->program;
    }
    bind_storage(bound, &entry->dispatch);
    bind_textures(bound, entry);
    bind_range(&bound->uniform, GL_UNIFORM_BUFFER, 2, &entry->dispatch.uniform);
    if (entry->dispatch.params_size > 0) {
        const struct gi_range params = {&table->uniforms, entry->params_offset,
                                        entry->dispatch.params_size};
        bind_range(&bound->params, GL_UNIFORM_BUFFER, 0, &params);
    }
}

// Does what GLINFER_FAULT asks for; returns true if the dispatch is to be left out.
static bool inject_fault(const struct gi_dispatch_table *table,
                         const struct gi_dispatch_entry *entry)
{
    struct gi_gpu *gpu = table->gpu;
    const struct gi_fault_setting *fault = &gpu->settings->fault;
    const bool is_meant =
        (fault->kind == GI_FAULT_SKIP || fault->kind == GI_FAULT_LOST) &&
        gi_program_has_fault(table->programs, entry->dispatch.program, fault->kind);
    gpu->n_faults += is_meant;
    if (!is_meant || (fault->occurrence > 0 && fault->occurrence != gpu->n_faults)) {
        return false;
    }
    gpu->is_fault_lost = fault->kind == GI_FAULT_LOST;
    return fault->kind == GI_FAULT_SKIP;
}

static void submit_entry(const struct gi_dispatch_table *table,
                         const struct gi_dispatch_entry *entry, const struct gi_replay *replay)
{
    struct gi_run_total *submitted = &table->gpu->submitted;
    const bool is_indirect = entry->slot != GI_NO_SLOT;
    uint32_t count[3] = {1, 1, 1};
    if (!is_indirect) {
        gi_grid_count(&entry->dispatch.grid, replay->n_past, replay->n_tokens, count);
    }
    submitted->n += entry->is_counted && count[0] > 0 && count[1] > 0 && count[2] > 0;
    submitted->n_indirect += entry->is_counted && is_indirect;
    if (inject_fault(table, entry)) {
        return;
    }
    if (is_indirect) {
        glDispatchComputeIndirect(
            (GLintptr)(table->params.counts.offset + entry->slot * sizeof(struct gi_grid_slot)));
    } else {
        glDispatchCompute(count[0], count[1], count[2]);
    }
}

static void bind_common(const struct gi_dispatch_table *table)
{
    struct bound_range nothing = {0};
    glBindBufferBase(GL_ATOMIC_COUNTER_BUFFER, 0, table->gpu->run_count.name);
    bind_range(&nothing, GL_UNIFORM_BUFFER, 1, &table->params.state);
    if (table->n_slots > 0) {
        glBindBuffer(GL_DISPATCH_INDIRECT_BUFFER, table->params.counts.buffer->name);
    }
}

static void replay_entry(const struct gi_dispatch_table *table, struct bound *bound,
                         const struct gi_dispatch_entry *entry, const struct gi_replay *replay)
{
    if (replay->timer) {
        gi_timer_begin(replay->timer);
    }
    if (entry->barrier) {
        glMemoryBarrier(entry->barrier);
    }
    bind_entry(table, bound, entry);
    submit_entry(table, entry, replay);
    if (replay->timer) {
        gi_timer_end(replay->timer);
    }
}

static bool is_wanted(const struct gi_dispatch *dispatch, const struct gi_replay *replay)
{
    return (replay->site == 0 || replay->site == dispatch->site) &&
           (replay->skipped_site == 0 || replay->skipped_site != dispatch->site);
}

// GL passes over a direct dispatch without groups before the driver sees it.
void gi_dispatch_table_warm(const struct gi_dispatch_table *table)
{
    static const GLuint no_groups[3] = {0, 0, 0};
    struct bound bound = {0};
    GLuint counts;
    assert(table->is_sealed);
    bind_common(table);
    glGenBuffers(1, &counts);
    glBindBuffer(GL_DISPATCH_INDIRECT_BUFFER, counts);
    glBufferData(GL_DISPATCH_INDIRECT_BUFFER, sizeof(no_groups), no_groups, GL_STATIC_DRAW);
    for (uint32_t i = 0; i < table->n_entries; i++) {
        bind_entry(table, &bound, &table->entries[i]);
        glDispatchComputeIndirect(0);
    }
    glDeleteBuffers(1, &counts);
}

void gi_dispatch_table_replay(struct gi_dispatch_table *table, const struct gi_replay *replay)
{
    struct bound bound = {0};
    assert(table->is_sealed);
    bind_common(table);
    for (uint32_t i = 0; i < table->n_entries; i++) {
        if ((replay->entry != 0 && replay->entry != i + 1) ||
            !is_wanted(&table->entries[i].dispatch, replay)) {
            continue;
        }
        replay_entry(table, &bound, &table->entries[i], replay);
        if (replay->flush_interval && (i + 1) % replay->flush_interval == 0) {
            glFlush();
        }
    }
    glMemoryBarrier(gi_dispatch_table_barrier(table, table->n_entries));
}
