#include "engine/lists/tables.h"

#include "base/round.h"
#include "gpu/dispatch/dispatch_replay.h"
#include "gpu/dispatch/multi_executor.h"
#include "graph/graph_ends.h"
#include "ops/sample/speech_choice.h"

#include <string.h>

const struct gi_sound_list gi_sound_lists[GI_SOUND_LISTS] = {{GI_LIST_HEAR, 2},
                                                             {GI_LIST_PROMPT, 1}};

//-- ranges ------------------------------------------------------------------------------------

// Points the graph at the ranges.
static void hand_out_ranges(struct gi_tables *tables)
{
    struct gi_graph *graph = &tables->graph;
    const struct gi_range *ranges = tables->ranges;
    graph->stream.range = ranges[GI_SESSION_STREAM];
    graph->attention.range = ranges[GI_SESSION_ATTENTION];
    graph->row.range = ranges[GI_SESSION_ROW];
    graph->ffn_act = ranges[GI_SESSION_FFN_ACT];
    graph->input.range = ranges[GI_SESSION_INPUT];
    graph->streams.range = ranges[GI_SESSION_STREAMS];
    graph->logits.range = ranges[GI_SESSION_LOGITS];
    graph->adjust.range = ranges[GI_SESSION_ADJUST];
    graph->vectors.range = ranges[GI_SESSION_VECTORS];
    graph->tokens = ranges[GI_SESSION_TOKENS];
    graph->x.range = ranges[GI_SESSION_X];
    graph->norm.range = ranges[GI_SESSION_NORM];
    graph->qkv.range = ranges[GI_SESSION_QKV];
    graph->q.range = ranges[GI_SESSION_Q];
    graph->attn.range = ranges[GI_SESSION_ATTN];
    graph->ffn_gate_up.range = ranges[GI_SESSION_FFN_GATE_UP];
    graph->ffn_act_rows.range = ranges[GI_SESSION_FFN_ACT_ROWS];
    graph->inputs.range = ranges[GI_SESSION_INPUTS];
    graph->sound.range = ranges[GI_SESSION_SOUND];
    graph->cross_state = ranges[GI_SESSION_CROSS];
    graph->stream_rows.range = ranges[GI_SESSION_STREAM_ROWS];
    graph->adapters.rows.t.range = ranges[GI_SESSION_ADAPTER_ROWS];
    graph->adapters.rows.scales = ranges[GI_SESSION_ADAPTER];
    tables->step_buffers = (struct gi_step_buffers){.state = ranges[GI_SESSION_STATE],
                                                    .ring = ranges[GI_SESSION_RING],
                                                    .counts = ranges[GI_SESSION_COUNTS]};
}

//-- recording -----------------------------------------------------------------------------------

// Begins a list. The GPU may compute its grids unless it is a batch's.
static void open_table(struct gi_tables *tables, bool is_batch, struct glinfer_error *err)
{
    struct gi_dispatch_table_params params = {.state = tables->step_buffers.state};
    if (!is_batch) {
        params.counts = tables->step_buffers.counts;
    }
    tables->graph.is_batch = is_batch;
    tables->graph.recorder = tables->recorder;
    gi_recorder_begin(&tables->graph.recorder, &params, err);
}

static void record_layers(struct gi_tables *tables)
{
    gi_graph_embed(&tables->graph);
    for (uint32_t layer = 0; layer < tables->model->hparams.n_layer; layer++) {
        gi_model_family_record(tables->model->family, &tables->graph, layer);
    }
}

// Records the choice of a token from unadjusted logits.
static void record_plain_choice(struct gi_recorder *recorder, const struct gi_logits *logits,
                                int end, const struct gi_step_buffers *buffers)
{
    static void (*const ops[GI_STEP_END_ADJUSTED])(struct gi_recorder *, const struct gi_logits *,
                                                   const struct gi_step_buffers *) = {
        [GI_STEP_END_GREEDY] = gi_op_argmax,
        [GI_STEP_END_SMALL_K] = gi_op_sample_small_k,
        [GI_STEP_END_FULL] = gi_op_sample_full,
        [GI_STEP_END_PROBS] = gi_op_sample_probs,
    };
    ops[end](recorder, logits, buffers);
}

void gi_tables_record_choice(struct gi_recorder *recorder, const struct gi_logits *logits,
                             const struct gi_adjust *adjust, enum gi_step_end end,
                             const struct gi_step_buffers *buffers)
{
    struct gi_logits adjusted = *logits;
    if (end < GI_STEP_END_ADJUSTED) {
        record_plain_choice(recorder, logits, (int)end, buffers);
        return;
    }
    const int plain = (int)end - GI_STEP_END_ADJUSTED;
    const bool has_probs = plain == GI_STEP_END_PROBS;
    if (has_probs) {
        gi_op_probs(recorder, logits, buffers);
    }
    gi_op_adjust(recorder, adjust, &adjusted, buffers);
    record_plain_choice(recorder, &adjusted, has_probs ? GI_STEP_END_FULL : plain, buffers);
}

static void record_output(struct gi_tables *tables, bool is_fine)
{
    tables->graph.logits.is_fine = is_fine;
    gi_graph_output(&tables->graph);
}

static void record_choice(struct gi_tables *tables, enum gi_step_end end,
                          const struct gi_step_buffers *buffers)
{
    struct gi_graph *graph = &tables->graph;
    gi_tables_record_choice(&graph->recorder, &graph->logits, &graph->adjust, end, buffers);
}

// Nothing reads the counts of grids.
void gi_tables_record_into(struct gi_tables *tables, enum gi_step_end end, bool is_whole,
                           const struct gi_recorder *recorder)
{
    const struct gi_step_buffers buffers = {.state = tables->step_buffers.state,
                                            .ring = tables->step_buffers.ring};
    tables->graph.is_batch = false;
    tables->graph.recorder = *recorder;
    tables->graph.recorder.is_half = tables->recorder.is_half;
    tables->graph.recorder.movable = tables->recorder.movable;
    tables->graph.recorder.n_later = tables->recorder.n_later;
    record_layers(tables);
    record_output(tables, is_whole && end == GI_STEP_END_SMALL_K);
    if (is_whole) {
        record_choice(tables, end, &buffers);
    }
}

// Records the choice of a transcript's token.
static void record_speech_choice(struct gi_tables *tables)
{
    const struct gi_whisper_ids *ids = &tables->model->speech.ids;
    const struct gi_speech_tokens tokens = {ids->end, ids->time, ids->no_speech};
    struct gi_graph *graph = &tables->graph;
    gi_op_speech_choice(&graph->recorder, &tokens, &graph->adjust, &graph->logits,
                        &tables->step_buffers);
}

// Cuts the rows of a batch to fewer tokens: ops choose kernels by the rows that there are.
static void cut_rows(struct gi_tables *tables, uint32_t n_tokens)
{
    struct gi_graph *graph = &tables->graph;
    struct gi_rows *const rows[] = {
        &graph->x,    &graph->norm,        &graph->qkv,          &graph->q,
        &graph->attn, &graph->ffn_gate_up, &graph->ffn_act_rows, &graph->inputs};
    struct gi_rows *t = &graph->adapters.rows.t;
    assert(n_tokens < tables->n_batch);
    t->range.size = (uint64_t)t->stride * n_tokens * sizeof(float);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        rows[i]->range.size = (uint64_t)rows[i]->stride * n_tokens * sizeof(float);
    }
}

static enum gi_step_end end_of(uint32_t list)
{
    return list >= GI_LIST_CHOICE       ? list - GI_LIST_CHOICE
           : list >= GI_LIST_PROMPT_END ? list - GI_LIST_PROMPT_END
                                        : list - GI_LIST_STEP;
}

// A list without layers ends the one recorded last, whose partial results of logits it takes.
struct gi_dispatch_table *gi_tables_record(struct gi_tables *tables, uint32_t list,
                                           struct glinfer_error *err)
{
    const bool is_speech = list == GI_LIST_SPEECH, is_norm = list == GI_LIST_NORM;
    const bool has_layers = list <= GI_LIST_LOGITS || is_speech;
    const bool is_prompt = list <= GI_LIST_PROMPT || is_norm || list == GI_LIST_HEAR;
    const bool has_choice = !is_prompt && list != GI_LIST_LOGITS && !is_speech;
    struct gi_graph *graph = &tables->graph;
    if (!is_prompt && !gi_model_check_decoder(tables->model, err)) {
        return NULL;
    }
    open_table(tables, is_prompt || !has_layers, err);
    if (list < GI_LIST_PROMPT) {
        cut_rows(tables, tables->n_most[list]);
    }
    if (has_layers) {
        record_layers(tables);
    }
    if (list == GI_LIST_HEAR) {
        gi_graph_hear(graph);
    }
    if (is_norm) {
        gi_graph_norm_rows(graph, &graph->recorder, "output_norm", graph->hparams->n_layer - 1,
                           GI_NORM_NEXT, &graph->norm);
    }
    if (!is_prompt && (list < GI_LIST_CHOICE || is_speech)) {
        record_output(tables, has_choice && end_of(list) == GI_STEP_END_SMALL_K);
    }
    if (is_speech) {
        record_speech_choice(tables);
    }
    if (has_choice) {
        record_choice(tables, end_of(list), &tables->step_buffers);
    }
    if (list < GI_LIST_PROMPT) {
        hand_out_ranges(tables);
    }
    return gi_recorder_end(&graph->recorder, err);
}

struct gi_executor *gi_tables_create_end(struct gi_tables *tables, enum gi_step_end end,
                                         struct glinfer_error *err)
{
    return gi_list_build(tables->recorder.programs,
                         gi_tables_record(tables, GI_LIST_CHOICE + (uint32_t)end, err), err);
}

//-- the lists -----------------------------------------------------------------------------------

enum { BATCH_TOKENS = GI_SELFTEST_TOKENS - 1 }; // of a test

// Returns the bit set of lists of the batches of n tokens. If the time budget divides batches, the
// lists of smaller ones are prepared on first use instead.
static uint32_t choose_batches(const struct gi_tables *tables, size_t n)
{
    const uint32_t rest = (uint32_t)(n % tables->n_batch);
    return (n >= tables->n_batch ? 1u << gi_tables_prompt_list(tables, tables->n_batch) : 0) |
           (rest > 0 ? 1u << gi_tables_prompt_list(tables, rest) : 0);
}

// Returns true if such a list exists at all. Prompts have the same ends as steps.
static bool is_needed(const struct gi_tables *tables, uint32_t list)
{
    return list < GI_LIST_PROMPT
               ? tables->n_most[list] > (list > 0 ? tables->n_most[list - 1] : 0)
               : list <= GI_LIST_STEP || (list >= GI_LIST_PROMPT_END && list < GI_LIST_CHOICE);
}

uint32_t gi_tables_choose(const struct gi_tables *tables, enum gi_step_end end, size_t n_prompt,
                          bool has_steps)
{
    const uint32_t step = 1u << (GI_LIST_STEP + end);
    uint32_t lists = 1u << (GI_LIST_PROMPT_END + end) | (has_steps ? step : 0);
    if (n_prompt == 1) {
        return step;
    }
    const size_t first = gi_gpu_class(tables->recorder.gpu)->first_batch;
    lists |= choose_batches(tables, n_prompt);
    if (first > 0 && n_prompt > first) {
        lists |= choose_batches(tables, first) | choose_batches(tables, n_prompt - first);
    }
    for (uint32_t i = 0; n_prompt == 0 && i <= GI_LIST_PROMPT; i++) {
        lists |= (uint32_t)is_needed(tables, i) << i;
    }
    return lists;
}

uint32_t gi_tables_choose_batch(const struct gi_tables *tables,
                                const struct gi_dispatch_table *list, const struct gi_time_box *box,
                                uint32_t n_past, uint32_t n_left, bool is_first)
{
    const uint32_t first = gi_gpu_class(tables->recorder.gpu)->first_batch;
    uint32_t most = tables->n_batch;
    most = is_first && first > 0 && first < most ? first : most;
    while (most > 1 &&
           gi_dispatch_table_longest(list, n_past, most, box) > (double)box->budget_ns) {
        most /= 2;
    }
    return n_left < most ? n_left : most;
}

bool gi_tables_check(struct gi_tables *tables, struct glinfer_error *err)
{
    const uint32_t end = tables->model->hparams.is_encoder ? GI_LIST_STEP : GI_LIST_COUNT;
    struct gi_program_table *own = tables->recorder.programs;
    struct gi_program_table *programs = gi_program_table_create(tables->recorder.gpu, err);
    bool ok = programs != NULL;
    tables->recorder.programs = programs;
    for (uint32_t i = 0; ok && i < end; i++) {
        if (is_needed(tables, i)) {
            struct gi_dispatch_table *list = gi_tables_record(tables, i, err);
            ok = list != NULL;
            gi_dispatch_table_destroy(list);
        }
    }
    gi_program_table_destroy(programs);
    tables->recorder.programs = own;
    return ok;
}

// Records the lists of a set that are not recorded, and builds nothing.
static bool record_lists(struct gi_tables *tables, uint32_t lists, struct glinfer_error *err)
{
    for (uint32_t i = 0; i < GI_LIST_COUNT; i++) {
        if ((lists >> i & 1) && !tables->recorded[i] && !tables->executors[i]) {
            tables->recorded[i] = gi_tables_record(tables, i, err);
            if (!tables->recorded[i]) {
                return false;
            }
        }
    }
    return true;
}

struct gi_tested gi_tables_tested(struct gi_tables *tables)
{
    return (struct gi_tested){
        .model = tables->model,
        .graph = &tables->graph,
        .recorder = &tables->recorder,
        .state = tables->step_buffers.state,
        .listener = &tables->listener,
    };
}

// Returns a list that was recorded in advance, or records it.
static struct gi_dispatch_table *take_list(void *user, uint32_t i, struct glinfer_error *err)
{
    struct gi_tables *tables = user;
    struct gi_dispatch_table *list = tables->recorded[i];
    tables->recorded[i] = NULL;
    return list ? list : gi_tables_record(tables, i, err);
}

// Describes the test of a list. Batches lie in the text: attention takes several tiles of keys.
static void describe_list(void *user, uint32_t i, struct gi_tested_list *test)
{
    enum { BATCH_PAST = 100, END_TOKENS = 3 };
    const struct gi_tables *tables = user;
    const uint32_t n_ctx = tables->graph.kv_cache[0].n_ctx;
    const bool is_end = i >= GI_LIST_PROMPT_END && i < GI_LIST_NORM;
    const bool has_end = i >= GI_LIST_STEP && i < GI_LIST_NORM;
    const bool is_step = (has_end && !is_end) || i == GI_LIST_SPEECH;
    uint32_t n_tokens = i == GI_LIST_PROMPT_SMALL ? tables->n_most[i]
                        : is_step                 ? 1
                        : is_end                  ? END_TOKENS
                                                  : BATCH_TOKENS;
    n_tokens = gi_min_u32(gi_min_u32(n_tokens, tables->n_batch), n_ctx);
    test->state = (struct gi_step_state){
        .token = 3,
        .n_past = gi_min_u32(n_ctx - n_tokens, is_step ? GI_LIST_TEST_PAST : BATCH_PAST),
        .n_tokens = n_tokens,
        .step = 5,
        .epoch = 3,
        .max_steps = 1000,
        .seed_lo = 17,
    };
    if (has_end) {
        gi_list_set_end(&test->state, end_of(i));
    }
}

// Destroys the lists that were recorded in advance.
static void drop_recorded(void *user)
{
    struct gi_tables *tables = user;
    for (uint32_t i = 0; i < GI_LIST_COUNT; i++) {
        gi_dispatch_table_destroy(tables->recorded[i]);
        tables->recorded[i] = NULL;
    }
}

bool gi_tables_prepare(struct gi_tables *tables, uint32_t lists, glinfer_progress_fn progress,
                       void *user, struct glinfer_error *err)
{
    const struct gi_list_source source = {
        .n = GI_LIST_COUNT,
        .tested = gi_tables_tested(tables),
        .user = tables,
        .record = take_list,
        .describe = describe_list,
        .change = drop_recorded,
        .progress = progress,
        .progress_user = user,
    };
    const uint32_t missing = lists & ~tables->ready;
    if (!gi_lists_prepare(&source, missing, tables->executors, err)) {
        drop_recorded(tables);
        return false;
    }
    tables->ready |= missing;
    return true;
}

void gi_tables_forget(struct gi_tables *tables)
{
    drop_recorded(tables);
    for (uint32_t i = 0; i < GI_LIST_COUNT; i++) {
        gi_executor_destroy(tables->executors[i]);
        tables->executors[i] = NULL;
    }
    tables->ready = 0;
}

//-- lists of rows ---------------------------------------------------------------------------------

struct rows {
    struct gi_tables *tables;
    uint32_t n_rows;
    void (*record)(void *user, struct gi_recorder *recorder);
    void *user;
};

static struct gi_dispatch_table *record_rows(void *user, uint32_t i, struct glinfer_error *err)
{
    const struct rows *rows = user;
    const struct gi_dispatch_table_params params = {.state = rows->tables->step_buffers.state};
    struct gi_recorder recorder = rows->tables->recorder;
    (void)i;
    gi_recorder_begin(&recorder, &params, err);
    rows->record(rows->user, &recorder);
    return gi_recorder_end(&recorder, err);
}

static void describe_rows(void *user, uint32_t i, struct gi_tested_list *test)
{
    const struct rows *rows = user;
    (void)i;
    test->state = (struct gi_step_state){
        .n_tokens = gi_min_u32(rows->n_rows, BATCH_TOKENS), .epoch = 1, .max_steps = 1000};
}

struct gi_executor *gi_tables_create_rows(struct gi_tables *tables, uint32_t n_rows,
                                          void (*record)(void *user, struct gi_recorder *recorder),
                                          void *user, struct glinfer_error *err)
{
    struct rows rows = {tables, n_rows, record, user};
    const struct gi_list_source source = {.n = 1,
                                          .tested = gi_tables_tested(tables),
                                          .user = &rows,
                                          .record = record_rows,
                                          .describe = describe_rows,
                                          .keeps_halves = true};
    struct gi_executor *executor = NULL;
    return gi_lists_prepare(&source, 1, &executor, err) ? executor : NULL;
}

//-- the other programs ----------------------------------------------------------------------------

// Returns true if the driver has threads that compile without blocking us.
static bool can_begin(const struct gi_tables *tables)
{
    const struct gi_gpu *gpu = tables->recorder.gpu;
    return gi_gpu_limits(gpu)->has_parallel_compile && !gi_gpu_platform(gpu)->is_debug &&
           !(gi_gpu_quirks(gpu) & GI_QUIRK_LATE_COMPILE);
}

// Only logs most errors, since they recur when a list is needed.
bool gi_tables_prepare_rest(struct gi_tables *tables, struct glinfer_error *err)
{
    struct glinfer_error why = {0};
    if (tables->has_rest || !can_begin(tables)) {
        return true;
    }
    tables->has_rest = true;
    const uint32_t lists = gi_tables_choose(tables, GI_STEP_END_GREEDY, 0, true) |
                           gi_tables_choose(tables, GI_STEP_END_SMALL_K, 0, true);
    if (record_lists(tables, lists, &why) &&
        gi_program_table_start(tables->recorder.programs, &why)) {
        return true;
    }
    if (why.status == GLINFER_STATUS_GPU_LOST) {
        return gi_error_pass(err, &why);
    }
    gi_log_write(gi_gpu_log(tables->recorder.gpu), GLINFER_LOG_WARN,
                 "programs are not compiled in advance: %s", why.message);
    return true;
}

struct gi_executor *gi_tables_find(struct gi_tables *tables, uint32_t list,
                                   struct glinfer_error *err)
{
    return gi_tables_prepare(tables, 1u << list, NULL, NULL, err) ? tables->executors[list] : NULL;
}

struct gi_executor *gi_tables_prompt(struct gi_tables *tables, uint32_t n_tokens,
                                     struct glinfer_error *err)
{
    return gi_tables_find(tables, gi_tables_prompt_list(tables, n_tokens), err);
}

struct gi_dispatch_table *gi_tables_list(struct gi_tables *tables, uint32_t list,
                                         struct glinfer_error *err)
{
    if (tables->executors[list]) {
        return gi_multi_executor_list(tables->executors[list]);
    }
    return record_lists(tables, 1u << list, err) ? tables->recorded[list] : NULL;
}

//-- life ----------------------------------------------------------------------------------------

void gi_tables_init(struct gi_tables *tables, const struct gi_range ranges[GI_SESSION_RANGE_COUNT])
{
    memcpy(tables->ranges, ranges, sizeof(tables->ranges));
    hand_out_ranges(tables);
}

void gi_tables_finish(struct gi_tables *tables)
{
    gi_tables_forget(tables);
    *tables = (struct gi_tables){0};
}
