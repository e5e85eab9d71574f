#include "engine/run/session_persistent.h"

#include "base/clock.h"
#include "engine/run/compile_job.h"
#include "engine/run/generate.h"
#include "engine/run/persistent_check.h"
#include "engine/run/session_tables.h"

#include <stdlib.h>
#include <string.h>

// Of those that a chain of one dispatch can have.
static const char *const end_names[GI_STEP_END_COUNT] = {
    [GI_STEP_END_ARGMAX] = "greedy",
    [GI_STEP_END_TOP] = "drawn",
    [GI_STEP_END_MANY] = "drawn among many",
};

static struct gi_gpu *gpu_of(const struct glinfer_session *session)
{
    return session->model->device->gpu;
}

static bool is_asked(const struct glinfer_session *session)
{
    return gi_gpu_persistent(gpu_of(session))->is_asked;
}

//-- making ----------------------------------------------------------------------------------------

// A program that draws among many as well takes NVIDIA's compiler ten times as long.
static bool has_tail(enum gi_step_end end)
{
    return end == GI_STEP_END_MANY;
}

static struct gi_persistent_params choose_params(const struct glinfer_session *session,
                                                 enum gi_step_end end)
{
    const struct gi_gpu_persistent *wish = gi_gpu_persistent(gpu_of(session));
    const struct glinfer_model *model = session->model;
    struct gi_persistent_params params = wish->params;
    const uint64_t layer_bytes = model->info.weights / model->hparams.n_layer;
    const bool has_room =
        end != GI_STEP_END_TOP || gi_persistent_has_room_to_draw(model->hparams.head_dim);
    if (has_room && gi_persistent_has_large_groups(layer_bytes, params.n_groups)) {
        params.group_size = wish->large_group_size;
    }
    return params;
}

// Programs are described, not built: their texts become stages.
static struct gi_persistent *make(struct glinfer_session *session, enum gi_step_end end,
                                  struct glinfer_error *err)
{
    struct gi_gpu *gpu = gpu_of(session);
    const struct gi_persistent_params params = choose_params(session, end);
    const struct gi_dispatch_table_params table_params = {.state = session->step_buffers.state};
    struct gi_program_table *programs = gi_program_table_create(gpu, err);
    struct gi_dispatch_table *table =
        programs ? gi_dispatch_table_create(gpu, programs, &table_params, err) : NULL;
    const struct gi_recorder recorder = {.gpu = gpu,
                                         .programs = programs,
                                         .table = table,
                                         .wg_size = params.group_size,
                                         .n_wg = params.n_groups,
                                         .movable = session->ranges[GI_SESSION_VECTORS]};
    struct gi_persistent *persistent = NULL;
    const int own_end = has_tail(end) ? GI_STEP_END_COUNT : (int)end;
    if (table && gi_session_record_with(session, recorder, own_end, err)) {
        persistent = gi_persistent_create(gpu, table, programs, &params, err);
    }
    gi_dispatch_table_destroy(table);
    gi_program_table_destroy(programs);
    return persistent;
}

static void add_labels(struct gi_hash *key, const struct glinfer_session *session,
                       const struct gi_dispatch_table *table)
{
    for (uint32_t i = 0; i < gi_dispatch_table_count(table); i++) {
        const char *label = gi_program_label(session->model->device->programs,
                                             gi_dispatch_table_at(table, i)->program);
        gi_hash_add(key, label, strlen(label));
    }
}

// Of a verdict: the program, and the ordinary ones that it is compared with. Tuning changes these.
static struct gi_hash make_key(struct glinfer_session *session, enum gi_step_end end)
{
    struct gi_hash key = *gi_persistent_key(session->persistent[end].made);
    add_labels(&key, session, gi_session_recorded_step(session, end));
    return key;
}

static bool write_program(struct glinfer_session *session, enum gi_step_end end,
                          struct glinfer_error *err)
{
    struct gi_session_persistent *own = &session->persistent[end];
    own->made =
        gi_session_record(session, gi_session_step_bit(end), err) ? make(session, end, err) : NULL;
    if (own->made) {
        own->tail = has_tail(end) ? gi_session_record_draw(session, err) : NULL;
        own->key = make_key(session, end);
    }
    return own->made && (own->tail || !has_tail(end));
}

//-- phases ----------------------------------------------------------------------------------------

// A step that was given up half-way leaves counters behind that are zero between steps (ops/attention/attention.h,
// ops/sample/sample_top.h).
static bool clear_counters(struct glinfer_session *session, struct glinfer_error *err)
{
    static const uint32_t zeros[4]; // of a head
    const struct gi_attention_scratch *scratch = &session->graph.attention;
    const struct gi_logits *logits = &session->graph.logits;
    const uint64_t begin = scratch->range.offset + (uint64_t)scratch->counter * sizeof(zeros[0]);
    bool ok = true;
    for (uint32_t head = 0; ok && head < session->kv_cache[0].n_head; head++) {
        ok = gi_buffer_write((struct gi_buffer *)scratch->range.buffer, gpu_of(session),
                             begin + head * sizeof(zeros), zeros, sizeof(zeros), err);
    }
    return ok && gi_buffer_write((struct gi_buffer *)logits->range.buffer, gpu_of(session),
                                 logits->range.offset + (uint64_t)logits->top * sizeof(zeros[0]),
                                 zeros, sizeof(zeros), err);
}

static void leave(struct glinfer_session *session, enum gi_step_end end)
{
    struct gi_session_persistent *own = &session->persistent[end];
    gi_persistent_destroy(own->made);
    gi_dispatch_table_destroy(own->tail);
    own->made = NULL;
    own->tail = NULL;
    own->phase = GI_PERSISTENT_OFF;
}

// Said aloud to who asked for it.
static void refuse(struct glinfer_session *session, enum gi_step_end end, const char *why)
{
    leave(session, end);
    gi_log_write(gi_gpu_log(gpu_of(session)),
                 is_asked(session) ? GLINFER_LOG_WARN : GLINFER_LOG_INFO,
                 "a chain of steps cannot be one dispatch (%s), and is replayed as many: %s",
                 end_names[end], why);
}

static void take(struct glinfer_session *session, enum gi_step_end end)
{
    struct gi_session_persistent *own = &session->persistent[end];
    own->phase = GI_PERSISTENT_READY;
    gi_log_write(gi_gpu_log(gpu_of(session)), GLINFER_LOG_INFO,
                 "%s is one dispatch of %u groups (%s)",
                 own->tail ? "a step up to its logits" : "a chain of steps",
                 gi_persistent_groups(own->made), end_names[end]);
}

//-- verdicts --------------------------------------------------------------------------------------

static const char *refusal_of(const struct gi_verdict *verdict)
{
    switch (verdict->kind) {
    case GI_VERDICT_SLOWER:
        return "many are faster here";
    case GI_VERDICT_WRONG:
        return "its tokens are not the ordinary ones";
    case GI_VERDICT_REFUSED:
        return "the driver does not compile it";
    default:
        return NULL;
    }
}

// Who asks for it takes it even where it is slower.
static bool is_welcome(const struct glinfer_session *session, const struct gi_verdict *verdict)
{
    return verdict->kind == GI_VERDICT_FASTER ||
           (verdict->kind == GI_VERDICT_SLOWER && is_asked(session));
}

static void keep_verdict(const struct glinfer_session *session, enum gi_step_end end)
{
    const struct gi_session_persistent *own = &session->persistent[end];
    gi_verdict_store(session->model->device->verdict_folder, &own->key, &own->verdict);
}

static void follow_verdict(struct glinfer_session *session, enum gi_step_end end)
{
    const struct gi_verdict *verdict = &session->persistent[end].verdict;
    if (is_welcome(session, verdict)) {
        take(session, end);
    } else {
        refuse(session, end, refusal_of(verdict));
    }
}

//-- trying out ------------------------------------------------------------------------------------

static bool judge(struct glinfer_session *session, const struct gi_persistent_check *check,
                  struct glinfer_error *why)
{
    struct gi_verdict *verdict = &session->persistent[check->end].verdict;
    const struct gi_gpu_persistent *wish = gi_gpu_persistent(gpu_of(session));
    if (wish->is_unchecked) {
        verdict->kind = GI_VERDICT_FASTER;
        return true;
    }
    if (wish->mode == GI_PERSISTENT_AT_ONCE) {
        return gi_persistent_check_tokens(session, check, verdict, why);
    }
    if (!gi_persistent_check(session, check, verdict, why)) {
        return false;
    }
    if (verdict->kind == GI_VERDICT_WRONG) { // nothing was timed
        return true;
    }
    gi_log_write(gi_gpu_log(gpu_of(session)), GLINFER_LOG_DEBUG,
                 "a step took %.3f ms by ordinary dispatches, %.3f ms in one (%s)",
                 (double)verdict->ordinary_ns / 1e6, (double)verdict->persistent_ns / 1e6,
                 end_names[check->end]);
    return true;
}

// Builds the program, and learns what taking it from the cache costs: NVIDIA's driver (580) ends compiling when a
// binary is first used, unless it finds the end of it in a cache of its own.
static bool build(struct glinfer_session *session, enum gi_step_end end,
                  glinfer_progress_fn progress, void *user, struct glinfer_error *why)
{
    struct gi_session_persistent *own = &session->persistent[end];
    const uint64_t start = gi_clock_ns();
    // The programs of the tail are those of the ordinary steps that the check needs too.
    if (!gi_persistent_build(own->made, progress, user, why) ||
        (own->tail && !gi_dispatch_table_seal(own->tail, why))) {
        return false;
    }
    const uint64_t time = gi_clock_ns() - start;
    own->take_ns = own->phase == GI_PERSISTENT_LOADED ? time : 0;
    gi_log_write(gi_gpu_log(gpu_of(session)), GLINFER_LOG_DEBUG,
                 "its program was ready after %.1f ms (%s)", (double)time / 1e6, end_names[end]);
    return true;
}

// What was found just now, or takes another time than it did.
static void keep_news(struct glinfer_session *session, enum gi_step_end end, bool is_new)
{
    struct gi_session_persistent *own = &session->persistent[end];
    const uint64_t known_ns = own->verdict.take_ns;
    const bool has_changed =
        own->take_ns > 0 && (own->take_ns > 2 * known_ns || own->take_ns < known_ns / 2);
    if (gi_gpu_persistent(gpu_of(session))->mode == GI_PERSISTENT_BACKGROUND &&
        (is_new || has_changed)) {
        own->verdict.take_ns = own->take_ns > 0 ? own->take_ns : known_ns;
        keep_verdict(session, end);
    }
}

static void keep_refusal(struct glinfer_session *session, enum gi_step_end end,
                         const struct glinfer_error *why)
{
    if (why->status == GLINFER_STATUS_DRIVER) {
        struct gi_session_persistent *own = &session->persistent[end];
        own->verdict = (struct gi_verdict){.kind = GI_VERDICT_REFUSED};
        gi_verdict_refuse(session->model->device->verdict_folder, &own->key);
    }
}

// A fault takes back what was found before.
static bool give_up(struct glinfer_session *session, enum gi_step_end end,
                    const struct glinfer_error *why, struct glinfer_error *err)
{
    if (why->status == GLINFER_STATUS_GPU_FAULT) {
        gi_verdict_forget(session->model->device->verdict_folder, &session->persistent[end].key);
    }
    refuse(session, end, why->message);
    return clear_counters(session, err);
}

// Builds, where that is not done yet, and tries it out. params, whose progress is told, may be NULL.
static bool settle(struct glinfer_session *session, const struct gi_persistent_check *where,
                   const struct glinfer_generate_params *params, struct glinfer_error *err)
{
    struct gi_session_persistent *own = &session->persistent[where->end];
    struct gi_persistent_check check = *where;
    const bool is_new = own->verdict.kind == GI_VERDICT_NONE;
    struct glinfer_error why = {0};
    check.persistent = own->made;
    if (!build(session, check.end, params ? params->progress : NULL,
               params ? params->progress_user : NULL, &why)) {
        if (why.status == GLINFER_STATUS_CANCELLED) {
            own->phase = GI_PERSISTENT_MISSING;
            return gi_error_set(err, why.status, "%s", why.message);
        }
        keep_refusal(session, check.end, &why);
        refuse(session, check.end, why.message);
    } else if (is_new && !judge(session, &check, &why)) {
        if (!give_up(session, check.end, &why, err)) {
            return false;
        }
    } else {
        keep_news(session, check.end, is_new);
        follow_verdict(session, check.end);
    }
    return gi_gpu_check(gpu_of(session), "preparing persistent steps", err);
}

//-- between chains --------------------------------------------------------------------------------

static struct gi_persistent_scene look_around(const struct glinfer_session *session,
                                              enum gi_step_end end)
{
    const struct glinfer_device *device = session->model->device;
    const struct gi_session_persistent *own = &session->persistent[end];
    return (struct gi_persistent_scene){
        .phase = own->phase,
        .is_hurried = is_asked(session),
        .has_delegate = device->delegate && device->verdict_folder,
        .is_tried = own->verdict.kind != GI_VERDICT_NONE,
        .take_ns = own->verdict.take_ns,
        .session_ns = session->decode_ns,
        .process_ns = device->decode_ns,
        .step_ns = session->step_ns,
        .waited_ns = gi_clock_ns() - own->looked_ns,
    };
}

// Takes what is kept: a verdict, the program.
static void look_up(struct glinfer_session *session, enum gi_step_end end)
{
    struct gi_session_persistent *own = &session->persistent[end];
    struct glinfer_error why = {0};
    bool is_loaded = false;
    own->looked_ns = gi_clock_ns();
    own->verdict = gi_verdict_load(session->model->device->verdict_folder, &own->key);
    if (refusal_of(&own->verdict) && !is_welcome(session, &own->verdict)) {
        refuse(session, end, refusal_of(&own->verdict));
    } else if (!gi_persistent_load(own->made, &is_loaded, &why)) {
        refuse(session, end, why.message);
    } else if (is_loaded) {
        own->phase = GI_PERSISTENT_LOADED;
    }
}

static void look_first(struct glinfer_session *session, enum gi_step_end end)
{
    struct glinfer_error why = {0};
    if (!write_program(session, end, &why)) {
        refuse(session, end, why.message);
        return;
    }
    session->persistent[end].phase = GI_PERSISTENT_MISSING;
    look_up(session, end);
}

// Has the program compiled by another process, for the cache.
static void delegate(struct glinfer_session *session, enum gi_step_end end)
{
    struct gi_session_persistent *own = &session->persistent[end];
    const struct glinfer_device *device = session->model->device;
    struct gi_compile_job job = {.key = own->key};
    size_t size;
    job.text = gi_persistent_text(own->made, &job.capability);
    char *data = gi_compile_job_format(&job, &size, NULL);
    const bool ok = data && device->delegate(device->delegate_user, data, size);
    free(data);
    if (!ok) {
        refuse(session, end, "there is nobody to compile it");
        return;
    }
    own->phase = GI_PERSISTENT_DELEGATED;
    gi_log_write(gi_gpu_log(gpu_of(session)), GLINFER_LOG_INFO,
                 "another process compiles a chain of steps as one dispatch (%s)", end_names[end]);
}

enum glinfer_dispatch gi_session_recall_dispatch(struct glinfer_session *session,
                                                 enum gi_step_end end, uint64_t *step_ns)
{
    const struct gi_session_persistent *own = &session->persistent[end];
    if (own->phase == GI_PERSISTENT_UNKNOWN) {
        look_first(session, end);
    }
    *step_ns = own->verdict.persistent_ns;
    const bool is_taken = own->phase == GI_PERSISTENT_LOADED && is_welcome(session, &own->verdict);
    return is_taken ? GLINFER_DISPATCH_PERSISTENT : gi_session_dispatch(session, end);
}

void gi_session_attend_persistent(struct glinfer_session *session, enum gi_step_end end)
{
    const struct gi_persistent_scene first = look_around(session, end);
    if (gi_persistent_may_look(&first)) {
        look_first(session, end);
    } else if (gi_persistent_may_look_again(&first)) {
        look_up(session, end);
    }
    const struct gi_persistent_scene scene = look_around(session, end);
    if (gi_persistent_may_delegate(&scene)) {
        delegate(session, end);
    }
}

bool gi_session_wants_trial(const struct glinfer_session *session, enum gi_step_end end,
                            uint32_t n_past)
{
    struct gi_persistent_scene scene = look_around(session, end);
    scene.n_free = session->n_ctx - n_past;
    return gi_persistent_may_try(&scene);
}

bool gi_session_try_persistent(struct glinfer_session *session, enum gi_step_end end,
                               uint32_t n_past, uint32_t token, struct glinfer_error *err)
{
    const struct gi_persistent_check check = {.end = end, .n_past = n_past, .token = token};
    return settle(session, &check, NULL, err);
}

struct gi_persistent *gi_session_persistent(const struct glinfer_session *session,
                                            enum gi_step_end end)
{
    const struct gi_session_persistent *own = &session->persistent[end];
    return own->phase == GI_PERSISTENT_READY ? own->made : NULL;
}

// As many dispatches as keep each of them within the time budget, however many steps.
static void replay_chain(const struct glinfer_session *session, struct gi_persistent *made,
                         uint32_t n_steps)
{
    const uint32_t most = gi_persistent_max_steps(made, session->step_ns, session->budget_ns);
    for (uint32_t done = 0, n; done < n_steps; done += n) {
        n = n_steps - done < most ? n_steps - done : most;
        gi_persistent_replay(made, n, done > 0);
    }
}

void gi_session_replay_persistent(const struct glinfer_session *session, enum gi_step_end end,
                                  uint32_t n_steps)
{
    const struct gi_session_persistent *own = &session->persistent[end];
    const struct gi_replay draw = {.n_tokens = 1}; // its grids do not change
    if (!own->tail) {
        replay_chain(session, own->made, n_steps);
        return;
    }
    for (uint32_t i = 0; i < n_steps; i++) {
        gi_persistent_replay(own->made, 1, i > 0);
        gi_dispatch_table_replay(own->tail, &draw);
    }
}

enum glinfer_dispatch gi_session_dispatch(const struct glinfer_session *session,
                                          enum gi_step_end end)
{
    const bool is_indirect = gi_gpu_limits(gpu_of(session))->is_indirect;
    return gi_session_persistent(session, end) ? GLINFER_DISPATCH_PERSISTENT
           : is_indirect                       ? GLINFER_DISPATCH_INDIRECT
                                               : GLINFER_DISPATCH_DIRECT;
}

//-- life ------------------------------------------------------------------------------------------

// Compiles and tries out on an empty cache.
static bool open_at_once(struct glinfer_session *session, enum gi_step_end end,
                         struct glinfer_error *err)
{
    const struct gi_persistent_check check = {.end = end, .token = 1};
    struct glinfer_error why = {0};
    if (!write_program(session, end, &why)) {
        refuse(session, end, why.message);
        return true;
    }
    return settle(session, &check, NULL, err);
}

bool gi_session_open_persistent(struct glinfer_session *session, int expected,
                                struct glinfer_error *err)
{
    const enum gi_persistent_mode mode = gi_gpu_persistent(gpu_of(session))->mode;
    for (int end = 0; mode != GI_PERSISTENT_NEVER && end < GI_STEP_END_COUNT; end++) {
        if (!end_names[end]) {
            continue;
        }
        session->persistent[end].phase = GI_PERSISTENT_UNKNOWN;
        if (mode == GI_PERSISTENT_AT_ONCE && end == expected && !open_at_once(session, end, err)) {
            return false;
        }
    }
    return true;
}

void gi_session_close_persistent(struct glinfer_session *session)
{
    for (int end = 0; end < GI_STEP_END_COUNT; end++) {
        gi_persistent_destroy(session->persistent[end].made);
        gi_dispatch_table_destroy(session->persistent[end].tail);
    }
}

bool gi_session_drop_persistent(struct glinfer_session *session, struct glinfer_error *err)
{
    for (int end = 0; end < GI_STEP_END_COUNT; end++) {
        const struct gi_session_persistent *own = &session->persistent[end];
        if (own->phase == GI_PERSISTENT_READY) {
            gi_verdict_forget(session->model->device->verdict_folder, &own->key);
        }
        leave(session, end);
    }
    return clear_counters(session, err);
}

//-- in the foreground -----------------------------------------------------------------------------

// From where the session is.
static struct gi_persistent_check check_here(const struct glinfer_session *session,
                                             enum gi_step_end end)
{
    return (struct gi_persistent_check){
        .persistent = session->persistent[end].made,
        .end = end,
        .n_past = session->n_past,
        .token = session->pending == GI_NO_TOKEN ? 1 : (uint32_t)session->pending,
        .is_cold = true,
    };
}

// Without room to try out nothing is decided.
bool gi_session_finish_persistent(struct glinfer_session *session, enum gi_step_end end,
                                  const struct glinfer_generate_params *params,
                                  struct glinfer_error *err)
{
    const struct gi_session_persistent *own = &session->persistent[end];
    if (own->phase == GI_PERSISTENT_UNKNOWN) {
        look_first(session, end);
    }
    const struct gi_persistent_check check = check_here(session, end);
    return own->phase == GI_PERSISTENT_OFF || own->phase == GI_PERSISTENT_READY ||
           session->n_ctx - check.n_past < GI_PERSISTENT_TRIED_STEPS ||
           settle(session, &check, params, err);
}

bool gi_session_prepare_persistent(struct glinfer_session *session, enum gi_step_end end,
                                   const struct glinfer_generate_params *params,
                                   struct glinfer_error *err)
{
    return gi_gpu_persistent(gpu_of(session))->mode != GI_PERSISTENT_AT_ONCE ||
           gi_session_finish_persistent(session, end, params, err);
}
