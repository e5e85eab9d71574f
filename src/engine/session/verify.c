#include "engine/session/verify.h"

#include "base/array.h"
#include "ops/sample/logit_rows.h"

#include <stdlib.h>

enum range {
    STATES,
    LOGITS,
    RANGE_COUNT,
};

static void destroy(struct gi_owned *owned)
{
    struct gi_verifier *verifier = (struct gi_verifier *)owned;
    struct glinfer_session *session = verifier->session;
    session->verifier = NULL;
    for (int end = 0; end < GI_STEP_END_COUNT; end++) {
        gi_executor_destroy(verifier->choices[end]);
    }
    gi_executor_destroy(verifier->rows);
    gi_arena_finish(&verifier->arena, gi_session_gpu(session));
    session->model->used -= verifier->reserved;
    free(verifier);
}

void gi_verifier_close(struct glinfer_session *session)
{
    gi_owned_destroy(&session->on_gpu, (struct gi_owned *)session->verifier);
}

//-- memory ----------------------------------------------------------------------------------------

static bool allocate(struct gi_verifier *verifier, struct glinfer_session *session,
                     struct glinfer_error *err)
{
    struct gi_gpu *gpu = gi_session_gpu(session);
    const uint64_t row_size = session->tables.ranges[GI_SESSION_LOGITS].size;
    uint64_t sizes[RANGE_COUNT];
    gi_session_draft_sizes(verifier->n_rows, row_size, &sizes[STATES], &sizes[LOGITS]);
    const struct gi_arena_request request = {.sizes = sizes, .n = RANGE_COUNT, .label = "drafts"};
    struct gi_range ranges[RANGE_COUNT];
    const uint64_t size = gi_arena_total(&request, gpu);
    if (!gi_model_reserve(session->model, size, 0, "drafts need", "do without them", err)) {
        return false;
    }
    verifier->reserved = size;
    if (!gi_arena_place(&verifier->arena, gpu, &request, ranges, err)) {
        return false;
    }
    verifier->states =
        (struct gi_slot_array){ranges[STATES], GI_STEP_STATE_STRIDE, sizeof(struct gi_step_state)};
    verifier->logits = (struct gi_slot_array){ranges[LOGITS], gi_slot_stride(row_size), row_size};
    return true;
}

//-- lists -----------------------------------------------------------------------------------------

// Records the logits of all rows. Ops choose kernels for small batches by the sizes of their
// ranges.
static void record_rows(void *user, struct gi_recorder *recorder)
{
    struct glinfer_session *session = user;
    struct gi_verifier *verifier = session->verifier;
    struct gi_graph graph = session->tables.graph;
    const struct gi_hparams *hparams = graph.hparams;
    const struct gi_rows logits = {verifier->logits.range,
                                   (uint32_t)(verifier->logits.stride / sizeof(float)), false};
    graph.x.range.size = (uint64_t)graph.x.stride * verifier->n_rows * sizeof(float);
    graph.norm.range.size = (uint64_t)graph.norm.stride * verifier->n_rows * sizeof(float);
    graph.is_batch = true;
    verifier->layout = graph.logits;
    verifier->layout.is_fine = false;
    gi_graph_norm_rows(&graph, recorder, "output_norm", hparams->n_layer - 1, GI_NORM_NEXT,
                       &graph.norm);
    gi_op_gemm(recorder, "output", graph.weights.output, &graph.norm, false, 1.0f, &logits);
    gi_op_logit_rows(recorder, "logit_rows", &logits, hparams->logit_scale, hparams->logit_softcap,
                     &verifier->layout);
}

// A list of choices to make ready.
struct choices {
    struct glinfer_session *session;
    enum gi_step_end end;
    struct gi_joint rows;
    struct gi_step_state slots[GI_MAX_ROWS]; // of the test
};

static struct gi_dispatch_table *record_choices(void *user, uint32_t list,
                                                struct glinfer_error *err)
{
    const struct choices *choices = user;
    const struct glinfer_session *session = choices->session;
    const struct gi_verifier *verifier = session->verifier;
    const struct gi_dispatch_table_params params = {.state = session->runner.state};
    struct gi_recorder recorder = session->tables.recorder;
    (void)list;
    gi_recorder_begin(&recorder, &params, err);
    for (uint32_t i = 0; i < verifier->n_rows; i++) {
        struct gi_logits logits = verifier->layout;
        const struct gi_step_buffers buffers = {.state = gi_slot_range(&verifier->states, i),
                                                .ring = session->runner.ring};
        logits.range = gi_slot_range(&verifier->logits, i);
        recorder.state = buffers.state;
        recorder.slot = i + 1;
        gi_tables_record_choice(&recorder, &logits, &session->tables.graph.adjust, choices->end,
                                &buffers);
    }
    return gi_recorder_end(&recorder, err);
}

static struct gi_tested describe_tables(struct choices *choices)
{
    struct gi_tested tested = gi_tables_tested(&choices->session->tables);
    tested.joint = &choices->rows;
    return tested;
}

static void describe_choices(void *user, uint32_t list, struct gi_tested_list *test)
{
    struct choices *choices = user;
    const struct gi_tested tested = describe_tables(choices);
    (void)list;
    gi_list_describe_slots(&tested, choices->rows.n_slots, choices->end, choices->slots, test);
    test->logits = choices->session->verifier->rows;
}

// Creates the executor of choices with this end, of correct programs.
static struct gi_executor *create_choices(const struct gi_verifier *verifier,
                                          struct glinfer_session *session, enum gi_step_end end,
                                          struct glinfer_error *err)
{
    struct choices choices = {.session = session,
                              .end = end,
                              .rows = {.n_slots = verifier->n_rows, .state = verifier->states}};
    const struct gi_list_source source = {.n = 1,
                                          .tested = describe_tables(&choices),
                                          .user = &choices,
                                          .record = record_choices,
                                          .describe = describe_choices,
                                          .keeps_halves = true};
    struct gi_executor *executor = NULL;
    return gi_lists_prepare(&source, 1, &executor, err) ? executor : NULL;
}

//-- life ------------------------------------------------------------------------------------------

uint32_t gi_verifier_rows(const struct glinfer_session *session)
{
    const uint32_t n = session->tables.n_most[GI_LIST_PROMPT_SMALL];
    return n < 2 ? 0 : n < GI_MAX_ROWS ? n : GI_MAX_ROWS;
}

bool gi_verifier_suits(const struct glinfer_session *session)
{
    const struct gi_hparams *hparams = &session->model->hparams;
    return gi_verifier_rows(session) > 0 && !gi_has_recurrence(hparams) && !hparams->is_encoder;
}

// Creates session->verifier and returns it; NULL on failure.
static struct gi_verifier *create(struct glinfer_session *session, struct glinfer_error *err)
{
    struct gi_verifier *verifier = gi_array_zeroed(1, sizeof(*verifier), "drafts", err);
    if (!verifier) {
        return NULL;
    }
    session->verifier = verifier;
    verifier->session = session;
    gi_owned_add(&session->on_gpu, &verifier->owned, destroy);
    verifier->n_rows = gi_verifier_rows(session);
    verifier->rows =
        allocate(verifier, session, err)
            ? gi_tables_create_rows(&session->tables, verifier->n_rows, record_rows, session, err)
            : NULL;
    if (!verifier->rows) {
        gi_verifier_close(session);
    }
    return session->verifier;
}

bool gi_verifier_open(struct glinfer_session *session, enum gi_step_end end,
                      struct glinfer_error *err)
{
    if (gi_verifier_rows(session) == 0) {
        return true;
    }
    struct gi_verifier *verifier = session->verifier ? session->verifier : create(session, err);
    if (verifier && !verifier->choices[end]) {
        verifier->choices[end] = create_choices(verifier, session, end, err);
    }
    return verifier && verifier->choices[end];
}

bool gi_verifier_prepare(struct glinfer_session *session,
                         const struct glinfer_generate_params *params, enum gi_step_end end,
                         struct glinfer_error *err)
{
    if (params->lookup == 0 || end >= GI_STEP_END_ADJUSTED || session->group->n_slots > 1 ||
        !gi_verifier_suits(session)) {
        return true;
    }
    struct glinfer_error why = {0};
    if (!gi_tables_prepare(&session->tables, 1u << GI_LIST_PROMPT_SMALL, params->progress,
                           params->progress_user, err)) {
        return false;
    }
    if (gi_verifier_open(session, end, &why)) {
        return true;
    }
    if (why.status != GLINFER_STATUS_UNSUPPORTED) {
        return gi_error_pass(err, &why);
    }
    gi_log_write(&session->model->device->log, GLINFER_LOG_WARN, "there are no drafts: %s",
                 why.message);
    return true;
}
