#include "engine/session/step_executors.h"

#include "base/array.h"
#include "base/cache_file.h"
#include "persistent/persistent_check.h"
#include "persistent/persistent_policy.h"
#include "persistent/persistent_upgrade.h"

#include <stdlib.h>

struct gi_step_executors {
    struct gi_upgrade *upgrades[GI_STEP_END_COUNT]; // NULL: no faster executor for this end
};

// Names for the log of the steps of a session, NULL: these have no upgrade, and of joint steps.
// With a tail what samples is a list of its own, which would make the program too long to compile.
static const struct {
    const char *name, *joint;
    bool has_tail;
} ends[GI_STEP_END_COUNT] = {
    [GI_STEP_END_GREEDY] = {"greedy", "joint, greedy", false},
    [GI_STEP_END_SMALL_K] = {"sampled, small k", "joint, sampled, small k", false},
    [GI_STEP_END_FULL] = {"sampled", "joint, sampled", true},
    [GI_STEP_END_PROBS] = {NULL, "joint, log-probabilities", false},
    [GI_STEP_END_ADJUSTED +
        GI_STEP_END_GREEDY] = {"greedy, adjusted", "joint, greedy, adjusted", false},
    [GI_STEP_END_ADJUSTED + GI_STEP_END_SMALL_K] = {"sampled, small k, adjusted",
                                                    "joint, sampled, small k, adjusted", false},
    [GI_STEP_END_ADJUSTED +
        GI_STEP_END_FULL] = {"sampled, adjusted", "joint, sampled, adjusted", true},
    [GI_STEP_END_ADJUSTED +
        GI_STEP_END_PROBS] = {NULL, "joint, log-probabilities, adjusted", false},
};

//-- what the steps are ----------------------------------------------------------------------------

static bool record_steps(void *user, uint32_t end, const struct gi_list_form *form,
                         struct gi_program_table *programs, struct gi_dispatch_table *list,
                         struct glinfer_error *err)
{
    struct glinfer_session *session = user;
    const struct gi_recorder recorder = {
        .gpu = gi_session_gpu(session), .programs = programs, .table = list, .form = *form};
    gi_tables_record_into(&session->tables, (enum gi_step_end)end, !ends[end].has_tail, &recorder);
    return gi_recorder_check(&recorder, err);
}

static struct gi_executor *find_multi(void *user, uint32_t end, struct glinfer_error *err)
{
    return gi_tables_find(&((struct glinfer_session *)user)->tables, GI_LIST_STEP + end, err);
}

// Clears the counters of attention that are zero between steps and that a step given up in the
// middle may leave nonzero (ops/attention/attention.h).
static bool clear_attention(struct gi_runner *runner, struct gi_range scratch,
                            const struct gi_graph *graph, struct glinfer_error *err)
{
    static const uint32_t zeros[4]; // the counters of a head
    bool ok = true;
    scratch.offset += (uint64_t)graph->attention.counter * sizeof(zeros[0]);
    for (uint32_t head = 0; ok && head < graph->kv_cache[0].n_head; head++) {
        ok = gi_runner_fill(runner, &scratch, zeros, sizeof(zeros), err);
        scratch.offset += sizeof(zeros);
    }
    return ok;
}

// Clears the counters of attention and of sampling (ops/sample/sample.h).
static bool clear_counters(void *user, struct glinfer_error *err)
{
    static const uint32_t zeros[4];
    struct glinfer_session *session = user;
    const struct gi_graph *graph = &session->tables.graph;
    struct gi_range range = graph->logits.range;
    range.offset += (uint64_t)graph->logits.scratch * sizeof(zeros[0]);
    return clear_attention(&session->runner, graph->attention.range, graph, err) &&
           gi_runner_fill(&session->runner, &range, zeros, sizeof(zeros), err);
}

static struct gi_executor *create_tail(void *user, uint32_t end, struct glinfer_error *err)
{
    return gi_tables_create_end(&((struct glinfer_session *)user)->tables, (enum gi_step_end)end,
                                err);
}

//-- life ------------------------------------------------------------------------------------------

void gi_step_executors_prepare_gpu(struct gi_gpu *gpu)
{
    gi_persistent_check_settings(gpu);
    gi_gpu_set_joined(gpu, gi_persistent_is_allowed(gpu));
}

char *gi_step_executors_folder(const char *cache_dir)
{
    return gi_cache_folder(cache_dir, "persistent");
}

static enum glinfer_dispatch multi_way(const struct gi_gpu *gpu)
{
    return gi_gpu_limits(gpu)->is_indirect ? GLINFER_DISPATCH_INDIRECT : GLINFER_DISPATCH_DIRECT;
}

uint32_t gi_step_executors_ways(const struct gi_gpu *gpu)
{
    return 1u << multi_way(gpu) | (uint32_t)gi_persistent_is_allowed(gpu)
                                      << GLINFER_DISPATCH_PERSISTENT;
}

// Returns the parameters that steps of a session share with joint ones.
static struct gi_upgrade_params params_of(const struct glinfer_model *model)
{
    const struct glinfer_device *device = model->device;
    return (struct gi_upgrade_params){
        .gpu = device->gpu,
        .layer_bytes = model->info.weights / model->hparams.n_layer,
        .n_vocab = model->hparams.n_vocab,
        .folder = device->verdict_folder,
        .device = gi_gpu_platform(device->gpu)->device,
        .cache_dir = device->cache_dir,
        .may_compile = device->may_compile,
    };
}

bool gi_step_executors_open(struct glinfer_session *session, struct glinfer_error *err)
{
    struct gi_upgrade_params params = params_of(session->model);
    const bool has_room = gi_persistent_has_room_to_sample(gi_gpu_limits(params.gpu),
                                                           session->model->hparams.head_dim);
    struct gi_step_executors *own = gi_array_zeroed(1, sizeof(*own), "the executors of steps", err);
    session->step_executors = own;
    params.runner = &session->runner;
    params.state = session->tables.step_buffers.state;
    for (int end = 0; own && end < GI_STEP_END_COUNT; end++) {
        params.source = (struct gi_upgrade_source){.user = session,
                                                   .steps = (uint32_t)end,
                                                   .record = record_steps,
                                                   .multi = find_multi,
                                                   .tail = ends[end].has_tail ? create_tail : NULL,
                                                   .clear = clear_counters};
        params.name = ends[end].name;
        params.may_be_large = has_room || end % GI_STEP_END_ADJUSTED != GI_STEP_END_SMALL_K;
        // In f32 the steps of a group are joint ones.
        const bool is_wanted =
            ends[end].name && (session->group->n_slots == 1 || session->tables.recorder.is_half);
        own->upgrades[end] = is_wanted ? gi_upgrade_create(&params, err) : NULL;
        if (is_wanted && !own->upgrades[end]) {
            return false;
        }
    }
    return own != NULL;
}

void gi_step_executors_close(struct glinfer_session *session)
{
    struct gi_step_executors *own = session->step_executors;
    for (int end = 0; own && end < GI_STEP_END_COUNT; end++) {
        gi_upgrade_destroy(own->upgrades[end]);
    }
    free(own);
    session->step_executors = NULL;
}

//-- around answers --------------------------------------------------------------------------------

// Returns an upgrade of the group whose steps of this end are one dispatch; NULL: none.
static const struct gi_upgrade *find_peer(const struct gi_session_group *group,
                                          enum gi_step_end end)
{
    const struct gi_upgrade *peer = NULL;
    for (uint32_t i = 0; i < group->n_slots; i++) {
        const struct glinfer_session *session = group->sessions[i];
        const bool is_open = session && session->step_executors;
        const struct gi_upgrade *own = is_open ? session->step_executors->upgrades[end] : NULL;
        peer = own && gi_upgrade_executor(own) ? own : peer;
    }
    return peer;
}

bool gi_step_executors_prepare(struct glinfer_session *session, enum gi_step_end end,
                               bool is_patient, glinfer_progress_fn progress, void *user,
                               struct glinfer_error *err)
{
    struct gi_upgrade *upgrade = session->step_executors->upgrades[end];
    struct gi_sequence *sequence = &session->sequence;
    const bool has_states = sequence->is_recurrent;
    const uint32_t n_past = has_states ? 0 : sequence->n_past;
    const struct gi_upgrade_place place = {
        .n_past = n_past,
        .n_free = sequence->n_ctx - n_past,
        .token = sequence->pending == GI_NO_TOKEN ? 1 : (uint32_t)sequence->pending,
        .peer = find_peer(session->group, end),
    };
    if (!upgrade || gi_upgrade_is_settled(upgrade)) {
        return true;
    }
    // States cannot be rolled back: both executors begin a text, and the sequence's own state is
    // lost.
    const bool ok = gi_upgrade_prepare(upgrade, &place, is_patient, progress, user, err);
    if (has_states && (!ok || gi_upgrade_is_settled(upgrade))) {
        gi_sequence_lose(sequence, 0);
    }
    return ok;
}

void gi_step_executors_request(struct glinfer_session *session, enum gi_step_end end)
{
    if (session->step_executors->upgrades[end]) {
        gi_upgrade_request(session->step_executors->upgrades[end], session->runner.step_ns);
    }
}

bool gi_step_executors_settle(struct glinfer_session *session, bool is_faulty,
                              struct glinfer_error *err)
{
    bool ok = gi_runner_drop(&session->runner, &is_faulty, err);
    if (!ok || !is_faulty) {
        return ok;
    }
    gi_log_write(gi_gpu_log(gi_session_gpu(session)), GLINFER_LOG_WARN,
                 "a chain of steps in one dispatch was given up: its groups did not run together; "
                 "the session goes on without");
    for (int end = 0; end < GI_STEP_END_COUNT; end++) {
        ok = (!session->step_executors->upgrades[end] ||
              gi_upgrade_give_up(session->step_executors->upgrades[end], err)) &&
             ok;
    }
    return ok;
}

struct gi_executor *gi_step_executors_find(struct glinfer_session *session, enum gi_step_end end,
                                           struct glinfer_error *err)
{
    struct gi_upgrade *upgrade = session->step_executors->upgrades[end];
    struct gi_executor *executor = upgrade ? gi_upgrade_executor(upgrade) : NULL;
    return executor ? executor : gi_tables_find(&session->tables, GI_LIST_STEP + end, err);
}

struct gi_executor *gi_step_executors_find_logits(struct glinfer_session *session,
                                                  struct glinfer_error *err)
{
    struct gi_upgrade *upgrade = session->step_executors->upgrades[GI_STEP_LOGITS];
    struct gi_executor *executor = upgrade ? gi_upgrade_executor(upgrade) : NULL;
    return executor ? executor : gi_tables_find(&session->tables, GI_LIST_LOGITS, err);
}

enum glinfer_dispatch gi_step_executors_recall(struct glinfer_session *session,
                                               enum gi_step_end end,
                                               double step_ns[GLINFER_DISPATCH_WAYS])
{
    struct gi_upgrade *upgrade = session->step_executors->upgrades[end];
    const enum glinfer_dispatch multi = multi_way(gi_session_gpu(session));
    const struct gi_upgrade_report report =
        upgrade ? gi_upgrade_recall(upgrade) : (struct gi_upgrade_report){0};
    step_ns[multi] = (double)report.multi_ns;
    step_ns[GLINFER_DISPATCH_PERSISTENT] = (double)report.persistent_ns;
    return report.is_persistent ? GLINFER_DISPATCH_PERSISTENT : multi;
}

bool gi_step_executors_is_one(const struct glinfer_session *session, enum gi_step_end end,
                              uint64_t *multi_ns, uint64_t *one_ns)
{
    struct gi_upgrade *upgrade = session->step_executors->upgrades[end];
    if (!upgrade || !gi_upgrade_executor(upgrade)) {
        return false;
    }
    const struct gi_upgrade_report report = gi_upgrade_recall(upgrade);
    const uint64_t ns = session->runner.step_ns, compared_ns = report.persistent_ns;
    const bool was_slow = ns > 0 && ns < compared_ns / 2;
    *multi_ns = was_slow ? report.multi_ns * ns / compared_ns : report.multi_ns;
    *one_ns = was_slow ? ns : compared_ns;
    return true;
}

const struct gi_hash *gi_step_executors_key(struct glinfer_session *session, enum gi_step_end end)
{
    struct gi_upgrade *upgrade = session->step_executors->upgrades[end];
    return upgrade ? gi_upgrade_recall(upgrade).key : NULL;
}

//-- joint steps -----------------------------------------------------------------------------------

struct gi_joint_executors {
    struct gi_session_group *group;                 // borrowed
    struct gi_runner *runner;                       // borrowed
    struct gi_upgrade *upgrades[GI_STEP_END_COUNT]; // NULL: not prepared yet
    uint32_t n_forgotten;                           // of the lists, when the upgrades were created
    bool is_given_up;                               // after a fault: no program is used
};

static uint32_t all_slots(const struct gi_joint_executors *own)
{
    return (1u << own->group->n_slots) - 1;
}

static bool record_joint(void *user, uint32_t end, const struct gi_list_form *form,
                         struct gi_program_table *programs, struct gi_dispatch_table *list,
                         struct glinfer_error *err)
{
    struct gi_joint_executors *own = user;
    const struct gi_recorder recorder = {.programs = programs, .table = list, .form = *form};
    (void)end;
    gi_joint_tables_record_layers(&own->group->joint, &recorder);
    return gi_recorder_check(&recorder, err);
}

static struct gi_executor *find_joint_multi(void *user, uint32_t end, struct glinfer_error *err)
{
    struct gi_joint_executors *own = user;
    return gi_joint_tables_step(&own->group->joint, all_slots(own), (enum gi_step_end)end, err);
}

static struct gi_executor *create_joint_head(void *user, uint32_t end, struct glinfer_error *err)
{
    (void)end;
    return gi_joint_tables_create_head(&((struct gi_joint_executors *)user)->group->joint, err);
}

static struct gi_executor *create_joint_tail(void *user, uint32_t end, struct glinfer_error *err)
{
    return gi_joint_tables_create_tail(&((struct gi_joint_executors *)user)->group->joint,
                                       (enum gi_step_end)end, err);
}

static bool clear_joint_counters(void *user, struct glinfer_error *err)
{
    const struct gi_joint_executors *own = user;
    const struct gi_joint_tables *tables = &own->group->joint;
    bool ok = true;
    for (uint32_t slot = 0; ok && slot < own->group->n_slots; slot++) {
        const struct gi_range scratch = gi_slot_range(&tables->joint.attention, slot);
        ok = clear_attention(own->runner, scratch, &tables->graph, err);
    }
    return ok;
}

struct gi_joint_executors *gi_joint_executors_create(struct gi_session_group *group,
                                                     struct gi_runner *runner,
                                                     struct glinfer_error *err)
{
    struct gi_joint_executors *own =
        gi_array_zeroed(1, sizeof(*own), "the executors of joint steps", err);
    if (own) {
        own->group = group;
        own->runner = runner;
    }
    return own;
}

static void forget(struct gi_joint_executors *own)
{
    for (int end = 0; end < GI_STEP_END_COUNT; end++) {
        gi_upgrade_destroy(own->upgrades[end]);
        own->upgrades[end] = NULL;
    }
}

// Destroys lists that are stale, and programs that are as old as lists that were destroyed. No list
// is being submitted.
static void renew(struct gi_joint_executors *own)
{
    struct gi_joint_tables *tables = &own->group->joint;
    gi_joint_tables_renew(tables);
    if (own->n_forgotten != tables->n_forgotten) {
        own->n_forgotten = tables->n_forgotten;
        forget(own);
    }
}

void gi_joint_executors_destroy(struct gi_joint_executors *executors)
{
    if (executors) {
        forget(executors);
        free(executors);
    }
}

static struct gi_upgrade *create_joint_upgrade(struct gi_joint_executors *own, enum gi_step_end end,
                                               struct glinfer_error *err)
{
    const struct gi_joint_tables *tables = &own->group->joint;
    struct gi_upgrade_params params = params_of(own->group->model);
    params.runner = own->runner;
    params.source = (struct gi_upgrade_source){.user = own,
                                               .steps = (uint32_t)end,
                                               .record = record_joint,
                                               .multi = find_joint_multi,
                                               .head = create_joint_head,
                                               .tail = create_joint_tail,
                                               .clear = clear_joint_counters};
    params.name = ends[end].joint;
    params.state = gi_joint_tables_state(tables);
    params.slots = tables->joint.state.range;
    return gi_upgrade_create(&params, err);
}

// Returns true if no other session than `own` has an answer in progress. Joint chains that all have
// left may be in flight.
static bool is_idle(const struct gi_joint_executors *executors, const struct glinfer_session *own)
{
    const struct gi_session_group *group = executors->group;
    bool is_any = gi_runner_joint_slots(executors->runner) != 0;
    for (uint32_t i = 0; i < group->n_slots; i++) {
        const struct glinfer_session *session = group->sessions[i];
        is_any = is_any || (session && session != own && session->answer);
    }
    return !is_any;
}

// Returns the place where all slots with room are tested, after what each has in its cache.
static struct gi_upgrade_place find_place(const struct gi_joint_executors *executors,
                                          struct gi_joint_place *joint)
{
    const struct gi_session_group *group = executors->group;
    struct gi_upgrade_place place = {.token = 1, .joint = joint};
    *joint = (struct gi_joint_place){0};
    for (uint32_t i = 0; i < group->n_slots; i++) {
        const struct glinfer_session *session = group->sessions[i];
        if (session &&
            session->sequence.n_past + GI_PERSISTENT_TRIED_STEPS <= session->sequence.n_ctx) {
            joint->live |= 1u << i;
            joint->n_past[i] = session->sequence.n_past;
            place.n_past = gi_max_u32(place.n_past, session->sequence.n_past);
            place.n_free = GI_PERSISTENT_TRIED_STEPS;
        }
    }
    return place;
}

bool gi_joint_executors_prepare(struct gi_joint_executors *executors,
                                const struct glinfer_session *own, enum gi_step_end end,
                                bool is_patient, glinfer_progress_fn progress, void *user,
                                struct glinfer_error *err)
{
    const struct gi_joint_tables *tables = &executors->group->joint;
    struct gi_upgrade **upgrade = &executors->upgrades[end];
    struct glinfer_error ignored;
    struct gi_joint_place joint;
    if (!tables->recorder.is_half || tables->is_refused || executors->is_given_up ||
        !is_idle(executors, own)) {
        return true;
    }
    renew(executors);
    if (*upgrade && gi_upgrade_is_settled(*upgrade)) {
        return true;
    }
    *upgrade = *upgrade ? *upgrade : create_joint_upgrade(executors, end, err);
    gi_runner_set_budget(executors->runner, own->runner.budget_ns);
    const struct gi_upgrade_place place = find_place(executors, &joint);
    const bool ok =
        *upgrade && gi_upgrade_prepare(*upgrade, &place, is_patient, progress, user, err);
    // Nobody waits for the chain of a trial that was cancelled.
    return gi_runner_begin(executors->runner, ok ? err : &ignored) && ok;
}

struct gi_executor *gi_joint_executors_find(struct gi_joint_executors *executors, uint32_t set,
                                            enum gi_step_end end, struct glinfer_error *err)
{
    struct gi_joint_tables *tables = &executors->group->joint;
    renew(executors);
    const bool may_be_one = tables->recorder.is_half && !tables->is_refused;
    struct gi_upgrade *upgrade = may_be_one ? executors->upgrades[end] : NULL;
    struct gi_executor *executor = upgrade ? gi_upgrade_executor(upgrade) : NULL;
    return executor ? executor : gi_joint_tables_step(tables, set, end, err);
}

void gi_joint_executors_request(struct gi_joint_executors *executors, enum gi_step_end end,
                                uint64_t step_ns)
{
    if (executors->upgrades[end]) {
        gi_upgrade_request(executors->upgrades[end], step_ns);
    }
}

bool gi_joint_executors_give_up(struct gi_joint_executors *executors, struct glinfer_error *err)
{
    bool ok = true;
    executors->is_given_up = true;
    gi_log_write(gi_gpu_log(executors->runner->gpu), GLINFER_LOG_WARN,
                 "a joint step in one dispatch was given up: its groups did not run together; the "
                 "sessions go on without");
    for (int end = 0; end < GI_STEP_END_COUNT; end++) {
        ok = (!executors->upgrades[end] || gi_upgrade_give_up(executors->upgrades[end], err)) && ok;
    }
    return ok;
}

//-- names -----------------------------------------------------------------------------------------

const char *glinfer_dispatch_name(enum glinfer_dispatch dispatch)
{
    static const char *const names[] = {
        [GLINFER_DISPATCH_DIRECT] = "direct",
        [GLINFER_DISPATCH_INDIRECT] = "indirect",
        [GLINFER_DISPATCH_PERSISTENT] = "persistent",
    };
    return (size_t)dispatch < sizeof(names) / sizeof(names[0]) ? names[dispatch] : "unknown";
}
