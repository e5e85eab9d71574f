#include "persistent/persistent_executor.h"

#include "base/array.h"
#include "gpu/device/gpu_private.h"
#include "gpu/dispatch/joint.h"
#include "persistent/source/persistent_source.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

// Places in the control buffer, in words: glsl/persistent/grid_barrier.glsl.
enum {
    CONTROL_FAULT = 128,
    CONTROL_WORDS = 192,
};

// Locations of uniforms: persistent/grid_barrier.glsl, _walk.glsl, _stage.glsl.
enum {
    UNIFORM_STEPS,
    UNIFORM_SPIN_LIMIT,
    UNIFORM_EMPTY,
    UNIFORM_GOES_ON,
    UNIFORM_MOST_PAST,
};

enum {
    PROBE_BARRIERS = 64,
    PROBE_SPINS = 20000, // some milliseconds
    MAX_STEPS = 256,     // far below any watchdog
    MAX_STEPS_OF_LOOP_LIMIT = 2,
};

struct gi_persistent {
    struct gi_executor base;
    struct gi_executor *head, *tail;   // owned; NULL: steps begin and end in the program
    struct gi_gpu *gpu;                // borrowed
    struct gi_program_table *programs; // only its own, since a refusal ends a build
    struct gi_buffer table, control;
    struct gi_range bindings[GI_PERSISTENT_MAX_BINDINGS];
    uint32_t n_bindings;
    struct gi_range states;  // of the slots of a joint list; buffer NULL: of one sequence
    uint32_t index, program; // of programs; GL's name of it, 0: not built
    struct gi_hash key;
    uint32_t n_groups, max_spins;
};

//-- chains ----------------------------------------------------------------------------------------

// Binds the states of slots as the block that kernels of joint lists read.
static void bind_states(const struct gi_persistent *p, uint32_t most_past)
{
    const struct gi_range *states = &p->states;
    if (states->buffer) {
        glUniform1ui(UNIFORM_MOST_PAST, most_past);
        glBindBufferRange(GL_UNIFORM_BUFFER, 1, states->buffer->name, (GLintptr)states->offset,
                          (GLsizeiptr)states->size);
    }
}

// Submits n_steps steps after most_past keys, or n_empty barriers.
static void dispatch(struct gi_persistent *p, uint32_t n_steps, uint32_t most_past,
                     uint32_t n_empty, uint32_t spins, bool goes_on)
{
    glUseProgram(p->program);
    glUniform1ui(UNIFORM_STEPS, n_steps);
    glUniform1ui(UNIFORM_SPIN_LIMIT, spins);
    glUniform1ui(UNIFORM_EMPTY, n_empty);
    glUniform1ui(UNIFORM_GOES_ON, goes_on);
    bind_states(p, most_past);
    for (uint32_t i = 0; i < p->n_bindings; i++) {
        const struct gi_range *range = &p->bindings[i];
        if (range->buffer) {
            glBindBufferRange(GL_SHADER_STORAGE_BUFFER, i, range->buffer->name,
                              (GLintptr)range->offset, (GLsizeiptr)range->size);
        }
    }
    glBindBufferBase(GL_UNIFORM_BUFFER, 0, p->table.name);
    glDispatchCompute(p->n_groups, 1, 1);
    glMemoryBarrier(GL_SHADER_STORAGE_BARRIER_BIT | GL_UNIFORM_BARRIER_BIT);
}

// Returns the chain of the step after `done` steps; place receives the places of its sequences.
static struct gi_chain step_of(const struct gi_chain *chain, uint32_t done,
                               struct gi_joint_place *place)
{
    if (chain->joint) {
        *place = *chain->joint;
        for (uint32_t i = 0; i < GI_MAX_ROWS; i++) {
            place->n_past[i] += done;
        }
    }
    return (struct gi_chain){.n_past = chain->n_past + done,
                             .n_tokens = chain->joint ? chain->n_tokens : 1,
                             .n_steps = 1,
                             .joint = chain->joint ? place : NULL};
}

// Joint steps consume nothing that an earlier dispatch published: slots come and go between two.
static bool submit(struct gi_executor *self, const struct gi_chain *chain,
                   struct glinfer_error *err)
{
    struct gi_persistent *p = (struct gi_persistent *)self;
    const uint32_t most =
        p->tail ? 1 : gi_persistent_max_steps(p, chain->step_ns, chain->budget_ns);
    for (uint32_t done = 0, n; done < chain->n_steps; done += n) {
        struct gi_joint_place place;
        const struct gi_chain step = step_of(chain, done, &place);
        n = chain->n_steps - done < most ? chain->n_steps - done : most;
        if (p->head && !gi_executor_submit(p->head, &step, err)) {
            return false;
        }
        dispatch(p, n, step.n_past, 0, p->max_spins, done > 0 && !chain->joint);
        if (p->tail && !chain->is_without_tail && !gi_executor_submit(p->tail, &step, err)) {
            return false;
        }
    }
    return true;
}

static struct gi_range find_fault(const struct gi_executor *self)
{
    const struct gi_persistent *p = (const struct gi_persistent *)self;
    return (struct gi_range){&p->control, CONTROL_FAULT * sizeof(uint32_t), sizeof(uint32_t)};
}

static void destroy(struct gi_executor *self)
{
    gi_persistent_destroy((struct gi_persistent *)self);
}

static const struct gi_executor_class class = {.dispatch = GLINFER_DISPATCH_PERSISTENT,
                                               .submit = submit,
                                               .fault = find_fault,
                                               .destroy = destroy};

struct gi_executor *gi_persistent_executor(struct gi_persistent *persistent)
{
    return &persistent->base;
}

void gi_persistent_set_ends(struct gi_persistent *persistent, struct gi_executor *head,
                            struct gi_executor *tail)
{
    persistent->head = head;
    persistent->tail = tail;
}

uint32_t gi_persistent_groups(const struct gi_persistent *persistent)
{
    return persistent->n_groups;
}

uint32_t gi_persistent_max_steps(const struct gi_persistent *persistent, uint64_t step_ns,
                                 uint64_t budget_ns)
{
    const bool is_limited = gi_gpu_quirks(persistent->gpu) & GI_QUIRK_LOOP_LIMIT;
    const uint32_t most = is_limited ? MAX_STEPS_OF_LOOP_LIMIT : MAX_STEPS;
    const uint64_t fit = step_ns > 0 ? budget_ns / step_ns : 1;
    return fit < 1 ? 1 : fit < most ? (uint32_t)fit : most;
}

//-- probe -----------------------------------------------------------------------------------------

// Sets *are_together to whether n_groups were seen to run together.
static bool try_groups(struct gi_persistent *p, bool *are_together, struct glinfer_error *err)
{
    static const uint32_t zeros[CONTROL_WORDS];
    uint32_t fault = 1;
    if (!gi_buffer_write(&p->control, p->gpu, 0, zeros, p->control.size, err)) {
        return false;
    }
    dispatch(p, 0, 0, PROBE_BARRIERS, PROBE_SPINS, false);
    if (!gi_buffer_read(&p->control, p->gpu, CONTROL_FAULT * sizeof(uint32_t), &fault,
                        sizeof(fault), err)) {
        return false;
    }
    *are_together = fault == 0;
    return true;
}

// Takes as many groups as run together twice, with one failure forgiven: other work may hold them
// up.
static bool probe(struct gi_persistent *p, struct glinfer_error *err)
{
    const uint32_t asked = p->n_groups;
    uint32_t n_good = 0, n_bad = 0;
    while (n_good < 2) {
        bool are_together;
        if (!try_groups(p, &are_together, err)) {
            return false;
        }
        n_good = are_together ? n_good + 1 : 0;
        n_bad = are_together ? n_bad : n_bad + 1;
        if (n_bad == 2 && p->n_groups == 1) {
            return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                                "a group that waits for itself does not come back");
        }
        if (n_bad == 2) {
            p->n_groups = p->n_groups * 3 / 4;
            n_bad = 0;
        }
    }
    if (p->n_groups == 1 && asked > 1) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "no two groups of a dispatch were seen to run at the same time");
    }
    return true;
}

//-- building --------------------------------------------------------------------------------------

bool gi_persistent_load(struct gi_persistent *persistent, bool *is_loaded,
                        struct glinfer_error *err)
{
    return gi_program_table_load(persistent->programs, is_loaded, err);
}

void gi_persistent_share(struct gi_persistent *persistent, const struct gi_persistent *other)
{
    if (memcmp(&persistent->key, &other->key, sizeof(other->key)) == 0) {
        gi_program_table_destroy(persistent->programs);
        persistent->programs = gi_program_table_share(other->programs);
        persistent->index = other->index;
    }
}

bool gi_persistent_build(struct gi_persistent *persistent, glinfer_progress_fn progress, void *user,
                         struct glinfer_error *err)
{
    if (!gi_program_table_build(persistent->programs, progress, user, err)) {
        return false;
    }
    persistent->program = gi_program_name(persistent->programs, persistent->index);
    return probe(persistent, err);
}

const char *gi_persistent_text(const struct gi_persistent *persistent, uint32_t *capability)
{
    return gi_program_text(persistent->programs, persistent->index, capability);
}

//-- life ------------------------------------------------------------------------------------------

static void make_key(struct gi_persistent *p, const struct gi_persistent_source *source)
{
    gi_hash_init(&p->key);
    gi_gpu_identify(p->gpu, &p->key);
    gi_hash_add(&p->key, source->text, strlen(source->text));
    gi_hash_add(&p->key, &p->n_groups, sizeof(p->n_groups));
}

static bool init(struct gi_persistent *p, const struct gi_dispatch_table *table,
                 const struct gi_program_table *programs, uint32_t group_size,
                 struct glinfer_error *err)
{
    struct gi_persistent_source source;
    if (p->n_groups > 1 && (gi_gpu_quirks(p->gpu) & GI_QUIRK_SERIAL_GROUPS)) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "%s does not run groups at the same time",
                            gi_gpu_platform(p->gpu)->renderer);
    }
    if (!gi_persistent_source_init(&source, p->gpu, table, programs, group_size, err)) {
        return false;
    }
    const uint64_t size = source.n_words * sizeof(uint32_t);
    p->programs = gi_program_table_create(p->gpu, err);
    const bool ok =
        p->programs &&
        gi_program_table_request_text(p->programs, "persistent", source.text, source.capability,
                                      &p->index, err) &&
        gi_buffer_init(&p->table, p->gpu, size, "table", err) &&
        gi_buffer_write(&p->table, p->gpu, 0, source.table, size, err) &&
        gi_buffer_init(&p->control, p->gpu, CONTROL_WORDS * sizeof(uint32_t), "control", err);
    if (ok) {
        memcpy(p->bindings, source.bindings, sizeof(p->bindings));
        p->n_bindings = source.n_bindings;
        p->states = source.states;
        p->bindings[GI_PERSISTENT_CONTROL] = (struct gi_range){&p->control, 0, p->control.size};
        make_key(p, &source);
    }
    gi_persistent_source_finish(&source);
    return ok;
}

struct gi_persistent *gi_persistent_create(struct gi_gpu *gpu,
                                           const struct gi_dispatch_table *table,
                                           const struct gi_program_table *programs,
                                           const struct gi_persistent_params *params,
                                           struct glinfer_error *err)
{
    struct gi_persistent *p = gi_array_zeroed(1, sizeof(*p), "a persistent table", err);
    if (!p) {
        return NULL;
    }
    p->base.class = &class;
    p->gpu = gpu;
    p->n_groups = params->n_groups;
    p->max_spins = params->max_spins;
    if (!init(p, table, programs, params->group_size, err)) {
        gi_persistent_destroy(p);
        return NULL;
    }
    return p;
}

void gi_persistent_destroy(struct gi_persistent *persistent)
{
    if (!persistent) {
        return;
    }
    gi_executor_destroy(persistent->head);
    gi_executor_destroy(persistent->tail);
    gi_buffer_finish(&persistent->table, persistent->gpu);
    gi_buffer_finish(&persistent->control, persistent->gpu);
    gi_program_table_destroy(persistent->programs);
    free(persistent);
}

const struct gi_hash *gi_persistent_key(const struct gi_persistent *persistent)
{
    return &persistent->key;
}
