
#include "gpu/dispatch/dispatch_replay.h"

#include "gpu/dispatch/dispatch_estimate.h"
#include "gpu/dispatch/dispatch_private.h"

#include <assert.h>

// The current bindings, so that nothing is bound twice. A replay begins with nothing bound: other
// users of the context need not restore anything.
struct bound {
    GLuint program;
    struct bound_range {
        GLuint buffer;
        uint64_t offset, size;
    } storage[GI_MAX_BINDINGS], uniform, params, state;
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
    bind_range(&bound->state, GL_UNIFORM_BUFFER, 1,
               entry->dispatch.state.buffer ? &entry->dispatch.state : &table->params.state);
    if (entry->dispatch.params_size > 0) {
        const struct gi_range params = {&table->uniforms, entry->params_offset,
                                        entry->dispatch.params_size};
        bind_range(&bound->params, GL_UNIFORM_BUFFER, 0, &params);
    }
}

// Applies GLINFER_FAULT; returns true if the dispatch must be skipped.
static bool inject_fault(const struct gi_dispatch_table *table,
                         const struct gi_dispatch_entry *entry)
{
    struct gi_gpu *gpu = table->gpu;
    const struct gi_fault_setting *fault = &gpu->settings->fault;
    const bool is_meant =
        (fault->kind == GI_FAULT_SKIP || fault->kind == GI_FAULT_LOST) &&
        gi_program_has_fault(table->programs, entry->dispatch.program, fault->kind);
    gpu->counts.n_faults += is_meant;
    if (!is_meant || (fault->occurrence > 0 && fault->occurrence != gpu->counts.n_faults)) {
        return false;
    }
    gpu->is_fault_lost = fault->kind == GI_FAULT_LOST;
    return fault->kind == GI_FAULT_SKIP;
}

// Binds scratch in place of the ranges that an entry writes.
static void bind_scratch(const struct gi_dispatch_table *table, struct bound *bound,
                         const struct gi_dispatch_entry *entry)
{
    struct gi_dispatch dispatch = entry->dispatch;
    for (uint32_t i = 0; i < GI_MAX_BINDINGS; i++) {
        if (dispatch.writes >> i & 1) {
            dispatch.bindings[i].buffer = &table->scratch;
            dispatch.bindings[i].offset = 0;
        }
    }
    bind_storage(bound, &dispatch);
}

// Returns the number that the GPU adds to its count for a dispatch of a grid.
static uint32_t find_weight(const struct gi_dispatch_table *table,
                            const struct gi_dispatch_entry *entry, const uint32_t count[3])
{
    const bool runs = entry->is_counted && count[0] > 0 && count[1] > 0 && count[2] > 0;
    const uint32_t odd = table->gpu->counts_groups ? (count[0] + count[1] + count[2]) % 2 : 0;
    return runs ? 1 + odd : 0;
}

// Dispatches `count` workgroups of a bound entry; an entry that repeats first runs on scratch.
static void dispatch_groups(const struct gi_dispatch_table *table, struct bound *bound,
                            const struct gi_dispatch_entry *entry, const uint32_t count[3])
{
    if (entry->n_repeat > 1) {
        bind_scratch(table, bound, entry);
        for (uint32_t i = 1; i < entry->n_repeat; i++) {
            table->gpu->submitted.n += find_weight(table, entry, count);
            glDispatchCompute(count[0], count[1], count[2]);
        }
        bind_storage(bound, &entry->dispatch);
    }
    table->gpu->submitted.n += find_weight(table, entry, count);
    if (!inject_fault(table, entry)) {
        glDispatchCompute(count[0], count[1], count[2]);
    }
}

// Returns true if the dispatch is of a slot that takes no part.
static bool is_left_out(const struct gi_dispatch *dispatch, const struct gi_replay *replay)
{
    return dispatch->slot > 0 && replay->joint &&
           !(replay->joint->live >> (dispatch->slot - 1) & 1);
}

// Returns the keys that are in the cache, or caches, of a dispatch.
static uint32_t find_past(const struct gi_dispatch *dispatch, const struct gi_replay *replay)
{
    return dispatch->slot > 0 && replay->joint
               ? replay->joint->n_past[dispatch->slot - 1] + replay->joint_step
               : replay->n_past;
}

// Counts the groups of a dispatch; one of a slot has one token.
static void count_groups(const struct gi_dispatch *dispatch, const struct gi_replay *replay,
                         uint32_t count[3])
{
    gi_grid_count(&dispatch->grid, find_past(dispatch, replay),
                  dispatch->slot > 0 ? 1 : replay->n_tokens, count);
}

static void submit_entry(const struct gi_dispatch_table *table, struct bound *bound,
                         const struct gi_dispatch_entry *entry, const struct gi_replay *replay)
{
    struct gi_run_total *submitted = &table->gpu->submitted;
    uint32_t count[3];
    if (entry->slot == GI_NO_SLOT) {
        count_groups(&entry->dispatch, replay, count);
        dispatch_groups(table, bound, entry, count);
        return;
    }
    submitted->n += entry->is_counted;
    submitted->n_indirect += entry->is_counted;
    if (!inject_fault(table, entry)) {
        glDispatchComputeIndirect(
            (GLintptr)(table->params.counts.offset + entry->slot * sizeof(struct gi_grid_slot)));
    }
}

static void bind_common(const struct gi_dispatch_table *table)
{
    table->gpu->has_work = true;
    glBindBufferBase(GL_ATOMIC_COUNTER_BUFFER, 0, table->gpu->run_count.name);
    if (table->n_slots > 0) {
        glBindBuffer(GL_DISPATCH_INDIRECT_BUFFER, table->params.counts.buffer->name);
    }
}

static void replay_entry(const struct gi_dispatch_table *table, struct bound *bound,
                         const struct gi_dispatch_entry *entry, const struct gi_replay *replay)
{
    if (replay->selection.timer) {
        gi_timer_begin(replay->selection.timer);
    }
    if (entry->barrier) {
        glMemoryBarrier(entry->barrier);
    }
    if (!is_left_out(&entry->dispatch, replay)) {
        bind_entry(table, bound, entry);
        submit_entry(table, bound, entry, replay);
    }
    if (replay->selection.timer) {
        gi_timer_end(replay->selection.timer);
    }
}

static bool is_wanted(const struct gi_dispatch *dispatch, const struct gi_replay *replay)
{
    return (replay->selection.site == 0 || replay->selection.site == dispatch->site) &&
           (replay->selection.skipped_site == 0 ||
            replay->selection.skipped_site != dispatch->site);
}

// GL passes over a direct dispatch without groups before the driver sees it.
void gi_dispatch_table_warm(const struct gi_dispatch_table *table, uint32_t i)
{
    static const GLuint no_groups[3] = {0, 0, 0};
    struct bound bound = {0};
    GLuint counts;
    assert(table->is_sealed);
    bind_common(table);
    glGenBuffers(1, &counts);
    glBindBuffer(GL_DISPATCH_INDIRECT_BUFFER, counts);
    glBufferData(GL_DISPATCH_INDIRECT_BUFFER, sizeof(no_groups), no_groups, GL_STATIC_DRAW);
    bind_entry(table, &bound, &table->entries[i]);
    glDispatchComputeIndirect(0);
    glDeleteBuffers(1, &counts);
}

void gi_dispatch_table_replay(struct gi_dispatch_table *table, const struct gi_replay *replay)
{
    struct bound bound = {0};
    assert(table->is_sealed);
    bind_common(table);
    for (uint32_t i = 0; i < table->n_entries; i++) {
        if ((replay->selection.entry != 0 && replay->selection.entry != i + 1) ||
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

//-- in time boxes ---------------------------------------------------------------------------------

// An entry of a boxed replay.
struct boxed {
    uint32_t index, program;
    uint32_t count[3];
    uint32_t *n;     // of count, along which it may run in pieces; NULL: it may not
    double class_ns; // estimated for the class, all pieces together
};

static void describe_entry(const struct gi_dispatch_table *table, uint32_t index,
                           const struct gi_replay *replay, struct boxed *boxed)
{
    const struct gi_dispatch *dispatch = &table->entries[index].dispatch;
    const struct gi_grid *grid = &dispatch->grid;
    const uint32_t n_past = find_past(dispatch, replay);
    const uint32_t n_tokens = dispatch->slot > 0 ? 1 : replay->n_tokens;
    boxed->index = index;
    boxed->program = dispatch->program;
    boxed->class_ns = gi_dispatch_estimate(dispatch, table->gpu->class, n_past, n_tokens);
    boxed->n = grid->is_divisible ? &boxed->count[grid->divisible_axis] : NULL;
    gi_grid_count(grid, n_past, n_tokens, boxed->count);
}

// Dispatches n workgroups from `first` on, which is the program's uniform 0 (zero otherwise).
static void dispatch_piece(const struct gi_dispatch_table *table, struct bound *bound,
                           const struct boxed *boxed, uint32_t first, uint32_t n)
{
    uint32_t count[3] = {boxed->count[0], boxed->count[1], boxed->count[2]};
    if (boxed->n) {
        count[boxed->n - boxed->count] = n;
    }
    if (first > 0) {
        glUniform1ui(0, first);
    }
    dispatch_groups(table, bound, &table->entries[boxed->index], count);
    if (first > 0) {
        glUniform1ui(0, 0);
    }
}

// Submits the pieces of an entry that are left, each as long as the box then says.
static bool replay_pieces(struct gi_dispatch_table *table, struct bound *bound,
                          const struct boxed *boxed, struct gi_time_box *box,
                          struct gi_replay_cursor *cursor, struct glinfer_error *err)
{
    const struct gi_dispatch_entry *entry = &table->entries[boxed->index];
    const uint32_t n = boxed->n ? *boxed->n : 1;
    for (uint32_t taken; cursor->group < n; cursor->group += taken) {
        const uint32_t first = cursor->group, left = n - first;
        if (!gi_time_box_pause(box, &cursor->is_paused, err)) {
            return false;
        }
        if (cursor->is_paused) {
            return true;
        }
        const double left_ns = boxed->class_ns * left / n;
        const uint32_t n_pieces = gi_time_box_pieces(box, boxed->program, left_ns, left);
        taken = (left + n_pieces - 1) / n_pieces;
        const double ns = boxed->class_ns * taken / n;
        if (!gi_time_box_enter(box, boxed->program, ns, err)) {
            return false;
        }
        if (box->plan) {
            const struct gi_box_event event = {.label = entry->dispatch.label,
                                               .entry = boxed->index,
                                               .n_pieces = n_pieces,
                                               .ns = gi_time_box_estimate(box, boxed->program, ns)};
            box->plan(box->user, &event);
        } else {
            if (first == 0 && entry->barrier) {
                glMemoryBarrier(entry->barrier);
            }
            bind_entry(table, bound, entry);
            dispatch_piece(table, bound, boxed, first, taken);
        }
        if (!gi_time_box_leave(box, boxed->program, err)) {
            return false;
        }
    }
    return true;
}

// Leaves an entry out, but not the barrier before it, on which later ones rely.
static void pass_over(const struct gi_dispatch_entry *entry, const struct gi_time_box *box)
{
    if (entry->barrier && !box->plan) {
        glMemoryBarrier(entry->barrier);
    }
}

bool gi_dispatch_table_replay_boxed(struct gi_dispatch_table *table, const struct gi_replay *replay,
                                    struct gi_time_box *box, struct gi_replay_cursor *cursor,
                                    struct glinfer_error *err)
{
    struct bound bound = {0};
    struct boxed boxed;
    assert(table->is_sealed || box->plan);
    if (!box->plan) {
        bind_common(table);
    }
    for (; cursor->entry < table->n_entries; cursor->entry++, cursor->group = 0) {
        const struct gi_dispatch_entry *entry = &table->entries[cursor->entry];
        cursor->is_paused = cursor->stop > 0 && cursor->entry == cursor->stop;
        if (cursor->is_paused) {
            return true;
        }
        if (is_left_out(&entry->dispatch, replay)) {
            pass_over(entry, box);
            continue;
        }
        describe_entry(table, cursor->entry, replay, &boxed);
        if (!replay_pieces(table, &bound, &boxed, box, cursor, err)) {
            return false;
        }
        if (cursor->is_paused) {
            return true;
        }
    }
    cursor->entry = 0;
    if (!box->plan) {
        glMemoryBarrier(gi_dispatch_table_barrier(table, table->n_entries));
    }
    return true;
}

double gi_dispatch_table_longest(const struct gi_dispatch_table *table, uint32_t n_past,
                                 uint32_t n_tokens, const struct gi_time_box *box)
{
    const struct gi_replay replay = {.n_past = n_past, .n_tokens = n_tokens};
    struct boxed boxed;
    double longest = 0;
    for (uint32_t i = 0; i < table->n_entries; i++) {
        describe_entry(table, i, &replay, &boxed);
        double ns = gi_time_box_estimate(box, boxed.program, boxed.class_ns);
        ns = boxed.n ? ns / *boxed.n : ns;
        longest = ns > longest ? ns : longest;
    }
    return longest;
}
