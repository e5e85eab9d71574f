#include "gpu/dispatch/dispatch_table.h"

#include "base/array.h"
#include "base/memory_room.h"
#include "base/round.h"
#include "gpu/dispatch/dispatch_private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PARAMS_SIZE 256

struct gi_dispatch_table *gi_dispatch_table_create(struct gi_gpu *gpu,
                                                   const struct gi_program_table *programs,
                                                   const struct gi_dispatch_table_params *params,
                                                   struct glinfer_error *err)
{
    struct gi_dispatch_table *table = gi_array_zeroed(1, sizeof(*table), "a dispatch table", err);
    if (!table) {
        return NULL;
    }
    table->gpu = gpu;
    table->programs = programs;
    table->params = *params;
    return table;
}

void gi_dispatch_table_destroy(struct gi_dispatch_table *table)
{
    if (!table) {
        return;
    }
    gi_buffer_textures_finish(&table->textures);
    gi_buffer_finish(&table->uniforms, table->gpu);
    gi_buffer_finish(&table->scratch, table->gpu);
    free(table->entries);
    free(table->blocks);
    free(table);
}

bool gi_dispatch_table_is_indirect(const struct gi_dispatch_table *table)
{
    return table->gpu->limits.is_indirect && table->params.counts.buffer;
}

//-- grids -----------------------------------------------------------------------------------------

void gi_grid_count(const struct gi_grid *grid, uint32_t n_past, uint32_t n_tokens,
                   uint32_t count[3])
{
    memcpy(count, grid->size, 3 * sizeof(count[0]));
    if (grid->rule == GI_GRID_KEYS) {
        const uint32_t most = grid->size[grid->axis];
        const uint32_t n = gi_divide_up(n_past + n_tokens, grid->divisor);
        count[grid->axis] = most > 0 && most < n ? most : n;
    } else if (grid->rule == GI_GRID_TOKENS) {
        count[grid->axis] =
            gi_divide_up((uint64_t)n_tokens * (1 + grid->times), grid->divisor) + grid->added;
    }
}

static bool is_same_grid(const struct gi_grid_slot *a, const struct gi_grid_slot *b)
{
    return a->rule == b->rule && a->axis_divisor == b->axis_divisor &&
           memcmp(a->size, b->size, sizeof(a->size)) == 0;
}

// Returns the slot with this grid; adds it if the table lacks it.
static uint32_t find_slot(struct gi_dispatch_table *table, const struct gi_dispatch *dispatch)
{
    const struct gi_grid *grid = &dispatch->grid;
    struct gi_grid_slot slot = {.rule = grid->rule,
                                .size = {grid->size[0], grid->size[1], grid->size[2]}};
    assert(grid->times == 0 && grid->added == 0);
    if (grid->rule != GI_GRID_FIXED) {
        slot.axis_divisor = grid->axis << 30 | grid->divisor;
    }
    for (uint32_t i = 0; i < table->n_slots; i++) {
        if (is_same_grid(&table->slots[i], &slot)) {
            return i;
        }
    }
    if (table->n_slots == GI_MAX_SLOTS) {
        gi_error_set(&table->failure, GLINFER_STATUS_UNSUPPORTED,
                     "%s needs one more indirect grid than the %d that a table holds",
                     dispatch->label, GI_MAX_SLOTS);
        return GI_NO_SLOT;
    }
    gi_grid_count(grid, 0, 1, slot.count);
    table->slots[table->n_slots] = slot;
    return table->n_slots++;
}

// Returns the slot of a dispatch, if its grid is indirect. A grid that never changes is dispatched
// directly even then, at half the host time; steps past the end of a chain then run and are
// discarded.
static uint32_t choose_slot(struct gi_dispatch_table *table, const struct gi_dispatch *dispatch)
{
    const bool is_wanted = dispatch->grid.rule != GI_GRID_FIXED ||
                           table->gpu->settings->dispatch.mode == GI_DISPATCH_MODE_INDIRECT;
    return is_wanted && gi_dispatch_table_is_indirect(table) ? find_slot(table, dispatch)
                                                             : GI_NO_SLOT;
}

//-- barriers --------------------------------------------------------------------------------------

static bool is_overlap(const struct gi_range *a, const struct gi_range *b)
{
    return a->buffer->name == b->buffer->name && a->offset < b->offset + b->size &&
           b->offset < a->offset + a->size;
}

// Returns true if a slot of a set shares the step_state of the dispatch; slot 0 is all of them.
static bool is_state_shared(const struct gi_dispatch *dispatch, uint32_t set)
{
    return dispatch->slot == 0 ? set != 0 : (set & (1u | 1u << dispatch->slot)) != 0;
}

// Returns true if the dispatch reads what was written, or writes what was read or written, since
// the last barrier. Every dispatch reads the step_state of its slot, so one that writes it waits
// for those of the same slot.
static bool is_dependent(const struct gi_dispatch_table *table, const struct gi_dispatch *dispatch)
{
    if (dispatch->writes_state && is_state_shared(dispatch, table->ran)) {
        return true;
    }
    for (uint32_t i = 0; i < GI_MAX_BINDINGS; i++) {
        const struct gi_range *range = &dispatch->bindings[i];
        const bool is_write = (dispatch->writes >> i & 1) != 0;
        for (uint32_t k = 0; range->buffer && k < table->n_accesses; k++) {
            const struct gi_dispatch_access *access = &table->accesses[k];
            if ((is_write || access->is_write) && is_overlap(range, &access->range)) {
                return true;
            }
        }
    }
    return false;
}

static void add_accesses(struct gi_dispatch_table *table, const struct gi_dispatch *dispatch)
{
    for (uint32_t i = 0; i < GI_MAX_BINDINGS; i++) {
        if (dispatch->bindings[i].buffer) {
            table->accesses[table->n_accesses++] = (struct gi_dispatch_access){
                dispatch->bindings[i], (dispatch->writes >> i & 1) != 0};
        }
    }
}

// Returns the bits that make written storage visible to all that a table reads.
static GLbitfield storage_bits(const struct gi_dispatch_table *table)
{
    return GL_SHADER_STORAGE_BARRIER_BIT |
           (table->textures.count > 0 ? GL_TEXTURE_FETCH_BARRIER_BIT : 0u) |
           (table->has_uniform ? GL_UNIFORM_BARRIER_BIT : 0u);
}

// Returns the bits owed after dispatches that wrote step_state: others read it as a uniform block,
// and the counts of an indirect table as commands. COMMAND costs as much as a dispatch on NVIDIA.
static GLbitfield owed_bits(const struct gi_dispatch_table *table)
{
    GLbitfield bits = GL_SHADER_STORAGE_BARRIER_BIT | GL_UNIFORM_BARRIER_BIT;
    bits |= table->gpu->limits.is_indirect ? GL_COMMAND_BARRIER_BIT : 0;
    return table->wrote ? bits : 0;
}

// Returns the barrier that must precede the dispatch, and notes its reads and writes.
static GLbitfield plan_barrier(struct gi_dispatch_table *table, const struct gi_dispatch *dispatch)
{
    GLbitfield barrier = 0;
    bool is_full = table->n_accesses + GI_MAX_BINDINGS > GI_MAX_ACCESSES;
    if (is_full || is_dependent(table, dispatch) || is_state_shared(dispatch, table->wrote)) {
        barrier = GL_SHADER_STORAGE_BARRIER_BIT | owed_bits(table);
        table->n_accesses = table->ran = table->wrote = 0;
    }
    add_accesses(table, dispatch);
    table->ran |= 1u << dispatch->slot;
    table->wrote |= dispatch->writes_state ? 1u << dispatch->slot : 0;
    return barrier;
}

//-- recording -------------------------------------------------------------------------------------

static bool check_ranges(struct gi_dispatch_table *table, const struct gi_dispatch *dispatch)
{
    const struct gi_limits *limits = &table->gpu->limits;
    for (uint32_t i = 0; i < GI_MAX_BINDINGS; i++) {
        const struct gi_range *range = &dispatch->bindings[i];
        if (!range->buffer) {
            continue;
        }
        assert(range->size > 0 && range->offset + range->size <= range->buffer->size);
        assert(range->offset % limits->storage_alignment == 0);
        if (range->size > limits->max_storage_block_size) {
            return gi_error_set(&table->failure, GLINFER_STATUS_UNSUPPORTED,
                                "%s: binding %u has %llu bytes, over the largest storage block of "
                                "%llu",
                                dispatch->label, i, (unsigned long long)range->size,
                                (unsigned long long)limits->max_storage_block_size);
        }
    }
    const struct gi_range *uniform = &dispatch->uniform, *whole = &dispatch->bindings[1];
    assert(!dispatch->state.buffer || dispatch->state.offset % limits->uniform_alignment == 0);
    assert(!uniform->buffer ||
           (uniform->buffer == whole->buffer && uniform->offset >= whole->offset &&
            uniform->offset + uniform->size <= whole->offset + whole->size &&
            uniform->offset % limits->uniform_alignment == 0 &&
            uniform->size <= limits->max_uniform_block_size));
    (void)uniform, (void)whole;
    return true;
}

static bool add_textures(struct gi_dispatch_table *table, struct gi_dispatch_entry *entry)
{
    for (uint32_t i = 0; i < GI_MAX_BINDINGS; i++) {
        const struct gi_range *range = &entry->dispatch.bindings[i];
        enum gi_texel texel = entry->dispatch.texels[i];
        if (!range->buffer || texel == GI_TEXEL_NONE) {
            continue;
        }
        assert(!(entry->dispatch.writes >> i & 1));
        uint64_t n_texel = range->size / (texel == GI_TEXEL_UINT ? 4 : 16);
        if (n_texel > table->gpu->limits.max_texels) {
            return gi_error_set(&table->failure, GLINFER_STATUS_UNSUPPORTED,
                                "%s: binding %u has %llu texels, over the %u of a buffer texture",
                                entry->dispatch.label, i, (unsigned long long)n_texel,
                                table->gpu->limits.max_texels);
        }
        if (!gi_buffer_textures_find(&table->textures, table->gpu, range, texel,
                                     &entry->textures[i], &table->failure)) {
            return false;
        }
    }
    return true;
}

// Checks a grid. One that grows has its largest count as its size.
static bool check_grid(struct gi_dispatch_table *table, const struct gi_dispatch *dispatch)
{
    const struct gi_grid *grid = &dispatch->grid;
    assert(grid->rule == GI_GRID_FIXED || (grid->axis < 3 && grid->divisor > 0));
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t limit = table->gpu->limits.max_group_count[i];
        if (grid->size[i] > limit) {
            return gi_error_set(&table->failure, GLINFER_STATUS_UNSUPPORTED,
                                "%s: %u workgroups along axis %u exceed the limit of %u",
                                dispatch->label, grid->size[i], i, limit);
        }
    }
    return true;
}

// Finds an earlier entry with the same parameters: the layers of a model share theirs.
static bool find_params(const struct gi_dispatch_table *table, const void *block, uint32_t size,
                        uint32_t *offset)
{
    for (uint32_t i = 0; i < table->n_entries; i++) {
        const struct gi_dispatch_entry *entry = &table->entries[i];
        if (entry->dispatch.params_size == size &&
            memcmp(table->blocks + entry->params_offset, block, size) == 0) {
            *offset = entry->params_offset;
            return true;
        }
    }
    return false;
}

static uint32_t padded_size(const struct gi_dispatch *dispatch)
{
    assert(dispatch->params_size <= MAX_PARAMS_SIZE);
    return gi_divide_up(dispatch->params_size, 16) * 16;
}

// Sets *offset to the place of the parameter block; blocks start at the uniform alignment.
static bool add_params(struct gi_dispatch_table *table, const struct gi_dispatch *dispatch,
                       uint32_t *offset)
{
    const uint32_t alignment = table->gpu->limits.uniform_alignment, size = padded_size(dispatch);
    uint8_t block[MAX_PARAMS_SIZE] = {0};
    *offset = 0;
    if (size == 0) {
        return true;
    }
    memcpy(block, dispatch->params, dispatch->params_size);
    if (find_params(table, block, size, offset)) {
        return true;
    }
    *offset = gi_divide_up(table->blocks_size, alignment) * alignment;
    if (!gi_array_grow(&table->blocks, &table->blocks_capacity, *offset + size, 1,
                       "parameter blocks", &table->failure)) {
        return false;
    }
    memset(table->blocks + table->blocks_size, 0, *offset - table->blocks_size);
    memcpy(table->blocks + *offset, block, size);
    table->blocks_size = *offset + size;
    return true;
}

void gi_dispatch_table_record(struct gi_dispatch_table *table, const struct gi_dispatch *dispatch)
{
    struct gi_dispatch_entry entry = {.dispatch = *dispatch};
    assert(!table->is_sealed);
    if (table->failure.status || !check_ranges(table, dispatch) || !check_grid(table, dispatch) ||
        !gi_array_grow(&table->entries, &table->capacity, table->n_entries + 1, sizeof(entry),
                       "a dispatch table", &table->failure) ||
        !add_textures(table, &entry) || !add_params(table, dispatch, &entry.params_offset)) {
        return;
    }
    entry.slot = choose_slot(table, dispatch);
    entry.dispatch.params = NULL; // blocks have a copy
    entry.dispatch.params_size = padded_size(dispatch);
    table->has_uniform = table->has_uniform || dispatch->uniform.buffer;
    entry.barrier = plan_barrier(table, dispatch);
    table->entries[table->n_entries++] = entry;
    table->weight_bytes += dispatch->weight_bytes;
}

struct glinfer_error *gi_dispatch_table_failure(struct gi_dispatch_table *table)
{
    return &table->failure;
}

// Repeats the work of the programs that GLINFER_FAULT slows down.
static bool plan_repeats(struct gi_dispatch_table *table, struct glinfer_error *err)
{
    enum { TIMES = 100 };
    const uint32_t asked = table->gpu->settings->fault.occurrence;
    uint64_t size = 0;
    for (uint32_t i = 0; i < table->n_entries; i++) {
        struct gi_dispatch_entry *entry = &table->entries[i];
        if (!entry->dispatch.writes_state &&
            gi_program_has_fault(table->programs, entry->dispatch.program, GI_FAULT_SLOW)) {
            entry->n_repeat = asked > 0 ? asked : TIMES;
        }
        for (uint32_t k = 0; entry->n_repeat > 0 && k < GI_MAX_BINDINGS; k++) {
            const uint64_t bound = entry->dispatch.bindings[k].size;
            size = (entry->dispatch.writes >> k & 1) && bound > size ? bound : size;
        }
    }
    return size == 0 || gi_buffer_init(&table->scratch, table->gpu, size, "scratch", err);
}

bool gi_dispatch_table_seal(struct gi_dispatch_table *table, struct glinfer_error *err)
{
    assert(!table->is_sealed);
    if (table->failure.status) {
        return gi_error_pass(err, &table->failure);
    }
    if (!gi_address_check(GI_ROOM_TO_COMPILE, "run programs for the first time", err)) {
        return false;
    }
    for (uint32_t i = 0; i < table->n_entries; i++) {
        struct gi_dispatch_entry *entry = &table->entries[i];
        entry->program = gi_program_name(table->programs, entry->dispatch.program);
        if (entry->program == 0) {
            return gi_error_set(err, GLINFER_STATUS_DRIVER, "%s",
                                gi_program_refusal(table->programs, entry->dispatch.program));
        }
        // A program that takes no first group would run its first ones again and again.
        entry->dispatch.grid.is_divisible =
            entry->dispatch.grid.is_divisible &&
            glGetUniformLocation(entry->program, "first_group") == 0;
        entry->is_counted = gi_program_is_counted(table->programs, entry->dispatch.program);
        entry->barrier |= entry->barrier ? storage_bits(table) : 0;
    }
    if (!plan_repeats(table, err)) {
        return false;
    }
    if (table->blocks_size > 0 &&
        (!gi_buffer_init(&table->uniforms, table->gpu, table->blocks_size, "params", err) ||
         !gi_buffer_write(&table->uniforms, table->gpu, 0, table->blocks, table->blocks_size,
                          err))) {
        return false;
    }
    table->is_sealed = true;
    return gi_dispatch_table_prime(table, 0, 1, err);
}

bool gi_dispatch_table_prime(struct gi_dispatch_table *table, uint32_t n_past, uint32_t n_tokens,
                             struct glinfer_error *err)
{
    if (table->n_slots == 0) {
        return true;
    }
    for (uint32_t i = 0; i < table->n_slots; i++) {
        struct gi_grid_slot *slot = &table->slots[i];
        const struct gi_grid grid = {.size = {slot->size[0], slot->size[1], slot->size[2]},
                                     .rule = (enum gi_grid_rule)slot->rule,
                                     .axis = slot->axis_divisor >> 30,
                                     .divisor = slot->axis_divisor & 0x3fffffff};
        gi_grid_count(&grid, n_past, n_tokens, slot->count);
    }
    const struct gi_range *counts = &table->params.counts;
    return gi_buffer_write(counts->buffer, table->gpu, counts->offset, table->slots,
                           sizeof(table->slots), err);
}

uint32_t gi_dispatch_table_count(const struct gi_dispatch_table *table)
{
    return table->n_entries;
}

uint64_t gi_dispatch_table_weight_bytes(const struct gi_dispatch_table *table)
{
    return table->weight_bytes;
}

const struct gi_dispatch *gi_dispatch_table_at(const struct gi_dispatch_table *table, uint32_t i)
{
    assert(i < table->n_entries);
    return &table->entries[i].dispatch;
}

bool gi_dispatch_table_is_first(const struct gi_dispatch_table *table, uint32_t i)
{
    uint32_t first = 0;
    while (table->entries[first].dispatch.program != table->entries[i].dispatch.program) {
        first++;
    }
    return first == i;
}

const void *gi_dispatch_table_params(const struct gi_dispatch_table *table, uint32_t i)
{
    assert(i < table->n_entries);
    return table->blocks + table->entries[i].params_offset;
}

const char *gi_dispatch_table_program_label(const struct gi_dispatch_table *table, uint32_t i)
{
    return gi_program_label(table->programs, gi_dispatch_table_at(table, i)->program);
}

const struct gi_range *gi_dispatch_table_state(const struct gi_dispatch_table *table)
{
    return &table->params.state;
}

uint32_t gi_dispatch_table_barrier(const struct gi_dispatch_table *table, uint32_t i)
{
    return i < table->n_entries ? table->entries[i].barrier
                                : owed_bits(table) | storage_bits(table);
}
