#include "engine/run/session_tables.h"

#include "engine/run/session_persistent.h"
#include "ops/gemm/batch_class.h"
#include "ops/sample/sample_many.h"
#include "ops/sample/sample_top.h"

//-- recording -----------------------------------------------------------------------------------

static struct gi_dispatch_table *open_table(struct glinfer_session *session, bool is_batch,
                                            struct glinfer_error *err)
{
    const struct gi_recorder *recorder = &session->recorder;
    struct gi_dispatch_table_params params = {.state = session->step_buffers.state};
    if (!is_batch) {
        params.counts = session->step_buffers.counts;
    }
    session->graph.is_batch = is_batch;
    session->graph.recorder = *recorder;
    session->graph.recorder.table =
        gi_dispatch_table_create(recorder->gpu, recorder->programs, &params, err);
    return session->graph.recorder.table;
}

static bool record_layers(struct glinfer_session *session, struct glinfer_error *err)
{
    const struct glinfer_model *model = session->model;
    if (!gi_graph_embed(&session->graph, err)) {
        return false;
    }
    for (uint32_t layer = 0; layer < model->hparams.n_layer; layer++) {
        if (!model->family->record_layer(&session->graph, layer, err)) {
            return false;
        }
    }
    return true;
}

static bool record_end(struct glinfer_session *session, int end,
                       const struct gi_step_buffers *buffers, struct glinfer_error *err)
{
    struct gi_graph *graph = &session->graph;
    graph->logits.is_fine = end == GI_STEP_END_TOP;
    if (!gi_graph_output(graph, err)) {
        return false;
    }
    if (end == GI_STEP_END_ARGMAX) {
        return gi_op_argmax(&graph->recorder, &graph->logits, buffers, err);
    }
    if (end == GI_STEP_END_TOP) {
        return gi_op_sample_top(&graph->recorder, &graph->logits, buffers, err);
    }
    if (end == GI_STEP_END_MANY) {
        return gi_op_sample_many(&graph->recorder, &graph->logits, buffers, err);
    }
    return (end == GI_STEP_END_SAMPLE ||
            gi_op_sample_scan(&graph->recorder, &graph->logits, err)) &&
           gi_op_sample(&graph->recorder, &graph->logits, buffers, err);
}

bool gi_session_record_with(struct glinfer_session *session, struct gi_recorder recorder, int end,
                            struct glinfer_error *err)
{
    // Nothing reads the counts of grids.
    const struct gi_step_buffers buffers = {.state = session->step_buffers.state,
                                            .ring = session->step_buffers.ring};
    session->graph.is_batch = false;
    session->graph.recorder = recorder;
    session->graph.recorder.is_half = session->recorder.is_half;
    session->graph.logits.is_fine = false;
    return record_layers(session, err) &&
           (end == GI_STEP_END_COUNT ? gi_graph_output(&session->graph, err)
                                     : record_end(session, end, &buffers, err));
}

struct gi_dispatch_table *gi_session_record_draw(struct glinfer_session *session,
                                                 struct glinfer_error *err)
{
    struct gi_dispatch_table *table = open_table(session, true, err); // its grids never change
    session->graph.is_batch = false;
    if (table && !gi_op_sample_many(&session->graph.recorder, &session->graph.logits,
                                    &session->step_buffers, err)) {
        gi_dispatch_table_destroy(table);
        return NULL;
    }
    return table;
}

struct gi_dispatch_table *gi_session_record_prompt(struct glinfer_session *session,
                                                   struct glinfer_error *err)
{
    struct gi_dispatch_table *table = open_table(session, true, err);
    if (table && !record_layers(session, err)) {
        gi_dispatch_table_destroy(table);
        return NULL;
    }
    return table;
}

struct gi_dispatch_table *gi_session_record_step(struct glinfer_session *session,
                                                 enum gi_step_end end, struct glinfer_error *err)
{
    struct gi_dispatch_table *table = open_table(session, false, err);
    if (table &&
        (!record_layers(session, err) || !record_end(session, end, &session->step_buffers, err))) {
        gi_dispatch_table_destroy(table);
        return NULL;
    }
    return table;
}

// Batches of few tokens have kernels of their own, which ops choose by the rows that there are.
static struct gi_dispatch_table *record_few(struct glinfer_session *session,
                                            struct glinfer_error *err)
{
    struct gi_graph *graph = &session->graph;
    struct gi_rows *const rows[] = {&graph->x,           &graph->norm, &graph->qkv,
                                    &graph->q,           &graph->attn, &graph->ffn_gate_up,
                                    &graph->ffn_act_rows};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        rows[i]->range.size = (uint64_t)rows[i]->stride * session->n_few * sizeof(float);
    }
    struct gi_dispatch_table *table = gi_session_record_prompt(session, err);
    gi_session_hand_out_ranges(session);
    return table;
}

static struct gi_dispatch_table *record_prompt_end(struct glinfer_session *session, int end,
                                                   struct glinfer_error *err)
{
    struct gi_dispatch_table *table = open_table(session, true, err);
    if (table && !record_end(session, end, &session->step_buffers, err)) {
        gi_dispatch_table_destroy(table);
        return NULL;
    }
    return table;
}

//-- the tables ----------------------------------------------------------------------------------

_Static_assert(GI_TABLE_COUNT <= 32, "sets of tables are bits of a uint32_t");

static struct gi_dispatch_table **slot_of(struct glinfer_session *session, uint32_t table)
{
    return table == GI_TABLE_PROMPT       ? &session->prompt
           : table == GI_TABLE_PROMPT_FEW ? &session->prompt_few
           : table < GI_TABLE_PROMPT_END  ? &session->step[table - GI_TABLE_STEP]
                                          : &session->prompt_end[table - GI_TABLE_PROMPT_END];
}

static struct gi_dispatch_table *record_table(struct glinfer_session *session, uint32_t table,
                                              struct glinfer_error *err)
{
    if (table == GI_TABLE_PROMPT) {
        return gi_session_record_prompt(session, err);
    }
    if (table == GI_TABLE_PROMPT_FEW) {
        return record_few(session, err);
    }
    return table < GI_TABLE_PROMPT_END
               ? gi_session_record_step(session, (enum gi_step_end)(table - GI_TABLE_STEP), err)
               : record_prompt_end(session, (int)(table - GI_TABLE_PROMPT_END), err);
}

static bool may_persist(const struct glinfer_session *session)
{
    return gi_gpu_persistent(session->recorder.gpu)->mode != GI_PERSISTENT_NEVER;
}

// As a stage of one dispatch, in groups that are large enough for it, or where many groups are worth while anyway.
static bool has_top(const struct glinfer_session *session)
{
    const struct gi_gpu *gpu = session->recorder.gpu;
    const bool is_useful = may_persist(session)
                               ? gi_gpu_persistent(gpu)->params.group_size >= GI_SAMPLE_TOP_GROUP
                               : gi_gpu_class(gpu)->is_large;
    return is_useful && gi_sample_top_is_possible(gpu, session->model->hparams.n_vocab);
}

enum gi_step_end gi_session_choose_end(const struct glinfer_session *session,
                                       const struct glinfer_generate_params *params)
{
    const bool is_cut = params->top_k > 0 && params->top_k < session->model->hparams.n_vocab;
    if (params->n_probs > 0) {
        return GI_STEP_END_SAMPLE_ALL;
    }
    if (!(params->temperature > 0.0f)) {
        return GI_STEP_END_ARGMAX;
    }
    if (is_cut && params->top_k <= GI_SAMPLE_TOP && has_top(session)) {
        return GI_STEP_END_TOP;
    }
    return is_cut && params->top_k <= GI_SAMPLE_FEW && !may_persist(session) ? GI_STEP_END_SAMPLE
                                                                             : GI_STEP_END_MANY;
}

uint32_t gi_session_step_bit(enum gi_step_end end)
{
    return 1u << (GI_TABLE_STEP + end);
}

uint32_t gi_session_choose_tables(const struct glinfer_session *session, enum gi_step_end end,
                                  size_t n_prompt, bool has_steps)
{
    const size_t rest = n_prompt % session->n_batch; // a batch of its own
    const uint32_t step = gi_session_step_bit(end);
    uint32_t tables = 1u << (GI_TABLE_PROMPT_END + end) | (has_steps ? step : 0);
    if (n_prompt == 1) {
        return step;
    }
    if (n_prompt == 0 || n_prompt > session->n_few) {
        tables |= 1u << GI_TABLE_PROMPT;
    }
    if (session->n_few > 0 && (n_prompt == 0 || (rest > 0 && rest <= session->n_few))) {
        tables |= 1u << GI_TABLE_PROMPT_FEW;
    }
    return tables;
}

// Whether there is such a table, whatever is asked for.
static bool is_needed(const struct glinfer_session *session, uint32_t table)
{
    switch (table) {
    case GI_TABLE_PROMPT_FEW:
        return session->n_few > 0;
    case GI_TABLE_PROMPT_END + GI_STEP_END_TOP:
        return has_top(session);
    default: // the ends of steps are those of prompts
        return table <= GI_TABLE_STEP || table >= GI_TABLE_PROMPT_END;
    }
}

// Layers of every kind, and every end that there is.
bool gi_session_check_tables(struct glinfer_session *session, struct glinfer_error *err)
{
    struct gi_program_table *own = session->recorder.programs;
    bool ok = true;
    session->recorder.programs = gi_program_table_create(session->recorder.gpu, err);
    for (uint32_t i = 0; ok && i < GI_TABLE_COUNT; i++) {
        if (!is_needed(session, i)) {
            continue;
        }
        struct gi_dispatch_table *table =
            session->recorder.programs ? record_table(session, i, err) : NULL;
        ok = table != NULL;
        gi_dispatch_table_destroy(table);
    }
    gi_program_table_destroy(session->recorder.programs);
    session->recorder.programs = own;
    return ok;
}

bool gi_session_record(struct glinfer_session *session, uint32_t tables, struct glinfer_error *err)
{
    for (uint32_t i = 0; i < GI_TABLE_COUNT; i++) {
        struct gi_dispatch_table **slot = slot_of(session, i);
        if ((tables >> i & 1) && !*slot) {
            *slot = record_table(session, i, err);
            if (!*slot) {
                return false;
            }
        }
    }
    return true;
}

// What software renderers leave to the first dispatch of a program they do here, so that no answer waits for
// it: a real GPU's compiles before.
static bool seal_tables(struct glinfer_session *session, uint32_t tables,
                        glinfer_progress_fn progress, void *user, struct glinfer_error *err)
{
    const bool is_software = gi_gpu_platform(session->model->device->gpu)->is_software;
    for (uint32_t i = 0; i < GI_TABLE_COUNT; i++) {
        struct gi_dispatch_table *table = *slot_of(session, i);
        if (!(tables >> i & 1)) {
            continue;
        }
        if (!gi_dispatch_table_seal(table, err)) {
            return false;
        }
        session->ready |= 1u << i;
        if (is_software && progress && !progress(user, GLINFER_PHASE_COMPILE, i, GI_TABLE_COUNT)) {
            return gi_error_set(err, GLINFER_STATUS_CANCELLED, "compiling programs was cancelled");
        }
        if (is_software) {
            gi_dispatch_table_warm(table);
        }
    }
    return true;
}

bool gi_session_prepare(struct glinfer_session *session, uint32_t tables,
                        glinfer_progress_fn progress, void *user, struct glinfer_error *err)
{
    const uint32_t missing = tables & ~session->ready;
    return missing == 0 ||
           (gi_session_record(session, missing, err) &&
            gi_program_table_build_all(session->recorder.programs, progress, user, err) &&
            seal_tables(session, missing, progress, user, err));
}

// True if tables can be compiled without waiting: the driver has threads for it.
static bool can_begin(const struct glinfer_session *session)
{
    const struct gi_gpu *gpu = session->recorder.gpu;
    const struct gi_platform_info *platform = gi_gpu_platform(gpu);
    return gi_gpu_limits(gpu)->has_parallel_compile && !platform->is_software &&
           !platform->is_debug;
}

// Begins to compile the tables of a set without waiting, where that can be. What stands in the way is logged, and
// shows where they are needed; fails with GPU_LOST.
static bool begin_tables(struct glinfer_session *session, uint32_t tables,
                         struct glinfer_error *err)
{
    struct glinfer_error why = {0};
    if (!can_begin(session) || (gi_session_record(session, tables, &why) &&
                                gi_program_table_start(session->recorder.programs, &why))) {
        return true;
    }
    if (why.status == GLINFER_STATUS_GPU_LOST) {
        return gi_error_set(err, why.status, "%s", why.message);
    }
    gi_log_write(gi_gpu_log(session->recorder.gpu), GLINFER_LOG_WARN,
                 "programs are not compiled ahead: %s", why.message);
    return true;
}

bool gi_session_prepare_rest(struct glinfer_session *session, struct glinfer_error *err)
{
    if (session->has_rest) {
        return true;
    }
    const struct glinfer_generate_params drawn = {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f};
    const uint32_t tables =
        gi_session_choose_tables(session, GI_STEP_END_ARGMAX, 0, true) |
        gi_session_choose_tables(session, gi_session_choose_end(session, &drawn), 0, true);
    session->has_rest = true;
    return begin_tables(session, tables, err);
}

const struct gi_dispatch_table *gi_session_recorded_step(const struct glinfer_session *session,
                                                         enum gi_step_end end)
{
    return session->step[end];
}

struct gi_dispatch_table *gi_session_step(struct glinfer_session *session, enum gi_step_end end,
                                          struct glinfer_error *err)
{
    return gi_session_prepare(session, gi_session_step_bit(end), NULL, NULL, err)
               ? session->step[end]
               : NULL;
}

struct gi_dispatch_table *gi_session_prompt(struct glinfer_session *session, uint32_t n_tokens,
                                            struct glinfer_error *err)
{
    const uint32_t table = n_tokens <= session->n_few ? GI_TABLE_PROMPT_FEW : GI_TABLE_PROMPT;
    return gi_session_prepare(session, 1u << table, NULL, NULL, err) ? *slot_of(session, table)
                                                                     : NULL;
}

void gi_session_destroy_tables(struct glinfer_session *session)
{
    for (uint32_t i = 0; i < GI_TABLE_COUNT; i++) {
        struct gi_dispatch_table **slot = slot_of(session, i);
        gi_dispatch_table_destroy(*slot);
        *slot = NULL;
    }
}
