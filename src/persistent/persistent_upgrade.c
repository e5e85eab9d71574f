#include "persistent/persistent_upgrade.h"

#include "base/array.h"
#include "base/clock.h"
#include "gpu/dispatch/multi_executor.h"
#include "persistent/compile_job.h"
#include "persistent/persistent_check.h"
#include "persistent/persistent_executor.h"
#include "persistent/persistent_policy.h"
#include "persistent/persistent_verdict.h"

#include <stdlib.h>
#include <string.h>

enum phase {
    PHASE_UNKNOWN,   // nothing was done yet
    PHASE_MISSING,   // the text is written, and the cache had no program of it
    PHASE_REQUESTED, // missing, and the worker compiles it
    PHASE_LOADED,    // the cache had it
    PHASE_READY,     // chains take it
    PHASE_OFF,       // for as long as the upgrade lives
};

struct gi_upgrade {
    struct gi_upgrade_params params;
    struct gi_persistent_policy policy;
    enum phase phase;
    struct gi_persistent *made; // NULL: not written yet, or of no use
    struct gi_hash key;         // of the verdict
    struct gi_verdict verdict;
};

struct gi_upgrade *gi_upgrade_create(const struct gi_upgrade_params *params,
                                     struct glinfer_error *err)
{
    struct gi_upgrade *u = gi_array_zeroed(1, sizeof(*u), "an upgrade", err);
    if (!u) {
        return NULL;
    }
    u->params = *params;
    u->policy = gi_persistent_policy(params->gpu);
    u->phase = u->policy.is_off ? PHASE_OFF : PHASE_UNKNOWN;
    return u;
}

void gi_upgrade_destroy(struct gi_upgrade *upgrade)
{
    if (upgrade) {
        gi_persistent_destroy(upgrade->made);
        free(upgrade);
    }
}

//-- phases ----------------------------------------------------------------------------------------

static void turn_off(struct gi_upgrade *u)
{
    gi_persistent_destroy(u->made);
    u->made = NULL;
    u->phase = PHASE_OFF;
}

// Logs at WARN if the user requested it explicitly.
static void refuse(struct gi_upgrade *u, const char *why)
{
    turn_off(u);
    gi_log_write(gi_gpu_log(u->params.gpu),
                 u->policy.is_asked ? GLINFER_LOG_WARN : GLINFER_LOG_INFO,
                 "a chain of steps cannot be one dispatch (%s), and is replayed as many: %s",
                 u->params.name, why);
}

static void accept(struct gi_upgrade *u)
{
    u->phase = PHASE_READY;
    gi_log_write(gi_gpu_log(u->params.gpu), GLINFER_LOG_INFO,
                 "%s is one dispatch of %u groups (%s)",
                 u->params.source.head   ? "a step from its embedding to its logits"
                 : u->params.source.tail ? "a step up to its logits"
                                         : "a chain of steps",
                 gi_persistent_groups(u->made), u->params.name);
}

//-- verdicts --------------------------------------------------------------------------------------

static const char *refusal_of(const struct gi_verdict *verdict)
{
    switch (verdict->kind) {
    case GI_VERDICT_SLOWER:
        return "many are faster here";
    case GI_VERDICT_WRONG:
        return "its tokens are not those of many dispatches";
    case GI_VERDICT_REFUSED:
        return "the driver does not compile it";
    default:
        return NULL;
    }
}

// Returns true if the executor is to be taken up: it is faster, or it is slower and asked for.
static bool is_accepted(const struct gi_upgrade *u)
{
    return u->verdict.kind == GI_VERDICT_FASTER ||
           (u->verdict.kind == GI_VERDICT_SLOWER && u->policy.is_asked);
}

static bool is_refused(const struct gi_upgrade *u)
{
    return u->verdict.kind != GI_VERDICT_NONE && !is_accepted(u);
}

//-- writing and finding the program ---------------------------------------------------------------

static struct gi_persistent_params choose_params(const struct gi_upgrade *u)
{
    struct gi_persistent_params params = u->policy.params;
    if (u->params.may_be_large &&
        gi_persistent_has_large_groups(&u->policy, u->params.layer_bytes)) {
        params.group_size = u->policy.large_group_size;
    }
    return params;
}

// Programs are described, not built: their texts become stages.
static struct gi_persistent *make(struct gi_upgrade *u, struct glinfer_error *err)
{
    struct gi_gpu *gpu = u->params.gpu;
    const struct gi_upgrade_source *source = &u->params.source;
    const struct gi_persistent_params params = choose_params(u);
    const struct gi_list_form form = {params.group_size, params.n_groups};
    const struct gi_dispatch_table_params table_params = {.state = u->params.state};
    struct gi_program_table *programs = gi_program_table_create(gpu, err);
    struct gi_dispatch_table *list =
        programs ? gi_dispatch_table_create(gpu, programs, &table_params, err) : NULL;
    struct gi_persistent *made =
        list && source->record(source->user, source->steps, &form, programs, list, err)
            ? gi_persistent_create(gpu, list, programs, &params, err)
            : NULL;
    gi_dispatch_table_destroy(list);
    gi_program_table_destroy(programs);
    return made;
}

// Makes the key of the verdict: the program, and the list that it is compared with, which tuning
// changes.
static void make_key(struct gi_upgrade *u, const struct gi_executor *multi)
{
    const struct gi_dispatch_table *list = gi_multi_executor_list(multi);
    u->key = *gi_persistent_key(u->made);
    for (uint32_t i = 0; i < gi_dispatch_table_count(list); i++) {
        const char *label = gi_dispatch_table_program_label(list, i);
        gi_hash_add(&u->key, label, strlen(label));
    }
}

static bool write_program(struct gi_upgrade *u, struct glinfer_error *err)
{
    const struct gi_upgrade_source *source = &u->params.source;
    struct gi_executor *multi = source->multi(source->user, source->steps, err), *head, *tail;
    head = multi && source->head ? source->head(source->user, source->steps, err) : NULL;
    u->made = multi && (head || !source->head) ? make(u, err) : NULL;
    if (!u->made) {
        gi_executor_destroy(head);
        return false;
    }
    tail = source->tail ? source->tail(source->user, source->steps, err) : NULL;
    gi_persistent_set_ends(u->made, head, tail);
    if (source->tail && !tail) {
        return false;
    }
    make_key(u, multi);
    return true;
}

// Takes what is kept: the verdict, the program, or that of a peer, if it is not NULL.
static void look_up(struct gi_upgrade *u, const struct gi_upgrade *peer)
{
    struct glinfer_error why = {0};
    bool is_loaded = false;
    if (!u->made && !write_program(u, &why)) {
        refuse(u, why.message);
        return;
    }
    u->phase = u->phase == PHASE_UNKNOWN ? PHASE_MISSING : u->phase;
    if (peer) {
        gi_persistent_share(u->made, peer->made);
    }
    u->verdict = gi_verdict_load(u->params.folder, &u->key);
    if (is_refused(u)) {
        refuse(u, refusal_of(&u->verdict));
    } else if (!gi_persistent_load(u->made, &is_loaded, &why)) {
        refuse(u, why.message);
    } else if (is_loaded) {
        u->phase = PHASE_LOADED;
    }
}

//-- trying out ------------------------------------------------------------------------------------

static bool judge(struct gi_upgrade *u, const struct gi_persistent_check *check,
                  struct glinfer_error *why)
{
    if (u->policy.is_unchecked) {
        u->verdict.kind = GI_VERDICT_FASTER;
        return true;
    }
    if (!gi_persistent_check(check, !u->policy.is_at_once, &u->verdict, why)) {
        return false;
    }
    if (u->policy.is_at_once) {
        return true;
    }
    if (u->verdict.kind != GI_VERDICT_WRONG) { // then nothing was timed
        gi_log_write(gi_gpu_log(u->params.gpu), GLINFER_LOG_DEBUG,
                     "a step took %.3f ms by many dispatches, %.3f ms in one (%s)",
                     (double)u->verdict.multi_ns / 1e6, (double)u->verdict.persistent_ns / 1e6,
                     u->params.name);
    }
    gi_verdict_store(u->params.folder, &u->key, &u->verdict);
    return true;
}

// Time after which no trial begins, so that trials end within 100 ms for steps of at most 5 ms, the
// longest that a class tests.
#define TRIAL_NS UINT64_C(75000000)

static bool try_out(struct gi_upgrade *u, const struct gi_upgrade_place *place, bool is_patient,
                    struct glinfer_error *why)
{
    const struct gi_upgrade_source *source = &u->params.source;
    const struct gi_persistent_check check = {
        .runner = u->params.runner,
        .multi = source->multi(source->user, source->steps, why),
        .persistent = u->made,
        .n_past = place->n_past,
        .n_free = place->n_free,
        .token = place->token,
        .joint = place->joint,
        .slots = u->params.slots,
        .n_vocab = u->params.n_vocab,
        .end_ns = is_patient || u->policy.is_asked ? 0 : gi_clock_ns() + TRIAL_NS,
        .is_cold = is_patient && !u->policy.is_at_once,
    };
    return check.multi && judge(u, &check, why);
}

// Takes back what was found before if groups did not run together.
static bool fail(struct gi_upgrade *u, const struct glinfer_error *why, struct glinfer_error *err)
{
    if (why->status == GLINFER_STATUS_GPU_FAULT) {
        gi_verdict_forget(u->params.folder, &u->key);
    }
    if (why->status == GLINFER_STATUS_DRIVER) {
        gi_verdict_refuse(u->params.folder, &u->key);
    }
    refuse(u, why->message);
    return u->params.source.clear(u->params.source.user, err);
}

// Builds, tries out what was never tried, and takes it up or turns it off.
static bool settle(struct gi_upgrade *u, const struct gi_upgrade_place *place, bool is_patient,
                   glinfer_progress_fn progress, void *user, struct glinfer_error *err)
{
    const bool is_new = u->verdict.kind == GI_VERDICT_NONE;
    struct glinfer_error why = {0};
    if (!gi_persistent_build(u->made, progress, user, &why) ||
        (is_new && !try_out(u, place, is_patient, &why))) {
        if (why.status == GLINFER_STATUS_CANCELLED) {
            u->phase = PHASE_MISSING;
            return gi_error_pass(err, &why);
        }
        return fail(u, &why, err) && gi_gpu_check(u->params.gpu, "preparing steps", err);
    }
    if (is_accepted(u)) {
        accept(u);
    } else {
        refuse(u, refusal_of(&u->verdict));
    }
    return gi_gpu_check(u->params.gpu, "preparing steps", err);
}

bool gi_upgrade_prepare(struct gi_upgrade *upgrade, const struct gi_upgrade_place *place,
                        bool is_patient, glinfer_progress_fn progress, void *user,
                        struct glinfer_error *err)
{
    if (gi_upgrade_is_settled(upgrade)) {
        return true;
    }
    look_up(upgrade, place->peer);
    const bool may_compile = is_patient || upgrade->policy.is_at_once;
    const bool is_new = upgrade->verdict.kind == GI_VERDICT_NONE;
    const uint64_t step_ns = upgrade->params.runner->step_ns;
    const bool may_try = may_compile || upgrade->policy.is_asked || step_ns == 0 ||
                         gi_persistent_is_worthwhile(&upgrade->policy, step_ns);
    if (upgrade->phase == PHASE_OFF || (upgrade->phase != PHASE_LOADED && !may_compile) ||
        (is_new && (!may_try || place->n_free < GI_PERSISTENT_TRIED_STEPS))) {
        return true;
    }
    return settle(upgrade, place, is_patient, progress, user, err);
}

bool gi_upgrade_is_settled(const struct gi_upgrade *upgrade)
{
    return upgrade->phase == PHASE_READY || upgrade->phase == PHASE_OFF;
}

struct gi_executor *gi_upgrade_executor(const struct gi_upgrade *upgrade)
{
    return upgrade->phase == PHASE_READY ? gi_persistent_executor(upgrade->made) : NULL;
}

//-- after an answer -------------------------------------------------------------------------------

void gi_upgrade_request(struct gi_upgrade *upgrade, uint64_t step_ns)
{
    const struct gi_upgrade_params *params = &upgrade->params;
    struct glinfer_error why = {0};
    const bool is_wanted =
        upgrade->policy.is_asked || gi_persistent_is_worthwhile(&upgrade->policy, step_ns);
    if (upgrade->phase != PHASE_MISSING || !params->may_compile || !params->folder || !is_wanted) {
        return;
    }
    struct gi_compile_job job = {.key = upgrade->key};
    job.text = gi_persistent_text(upgrade->made, &job.capability);
    upgrade->phase = PHASE_REQUESTED;
    if (gi_compile_job_start(&job, params->device, params->cache_dir, &why)) {
        gi_log_write(gi_gpu_log(params->gpu), GLINFER_LOG_INFO,
                     "another process compiles a chain of steps as one dispatch (%s)",
                     params->name);
    } else {
        gi_log_write(gi_gpu_log(params->gpu), GLINFER_LOG_INFO,
                     "a chain of steps is not compiled as one dispatch: %s", why.message);
    }
}

bool gi_upgrade_give_up(struct gi_upgrade *upgrade, struct glinfer_error *err)
{
    if (upgrade->phase == PHASE_READY) {
        gi_verdict_forget(upgrade->params.folder, &upgrade->key);
    }
    turn_off(upgrade);
    return upgrade->params.source.clear(upgrade->params.source.user, err);
}

struct gi_upgrade_report gi_upgrade_recall(struct gi_upgrade *upgrade)
{
    if (upgrade->phase != PHASE_READY && upgrade->phase != PHASE_OFF) {
        look_up(upgrade, NULL);
    }
    return (struct gi_upgrade_report){
        .is_persistent = upgrade->phase == PHASE_READY ||
                         (upgrade->phase == PHASE_LOADED && is_accepted(upgrade)),
        .multi_ns = upgrade->verdict.multi_ns,
        .persistent_ns = upgrade->verdict.persistent_ns,
        .key = upgrade->made ? &upgrade->key : NULL,
    };
}
