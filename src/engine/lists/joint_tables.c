#include "engine/lists/joint_tables.h"

#include "gpu/program/quarantine.h"
#include "graph/graph_ends.h"
#include "graph/joint_rows.h"

#include <assert.h>
#include <string.h>

//-- memory ----------------------------------------------------------------------------------------

static struct gi_slot_array make_array(struct gi_range range, uint32_t n_slots, uint64_t size)
{
    return (struct gi_slot_array){range, range.size / n_slots, size};
}

// Points the graph's activations at the rows of n slots from `first` on.
static void choose_rows(struct gi_joint_tables *tables, uint32_t first, uint32_t n)
{
    const struct {
        struct gi_rows *rows;
        enum gi_joint_range range;
    } rows[] = {
        {&tables->graph.x, GI_JOINT_STREAM},
        {&tables->graph.norm, GI_JOINT_NORM},
        {&tables->graph.qkv, GI_JOINT_QKV},
        {&tables->graph.ffn_gate_up, GI_JOINT_FFN_GATE_UP},
        {&tables->graph.ffn_act_rows, GI_JOINT_FFN_ACT},
        {&tables->graph.attn, GI_JOINT_ATTENTION},
        {&tables->graph.inputs, GI_JOINT_INPUTS},
        {&tables->graph.stream_rows, GI_JOINT_STREAMS},
        {&tables->graph.adapters.rows.t, GI_JOINT_ADAPTER},
    };
    const uint32_t n_slots = tables->joint.n_slots;
    tables->joint.first_row = first;
    tables->joint.n_rows = n;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct gi_range range = tables->ranges[rows[i].range];
        const bool is_input = rows[i].range == GI_JOINT_NORM || rows[i].range == GI_JOINT_FFN_ACT;
        const bool has_more = rows[i].range == GI_JOINT_STREAMS;
        const uint32_t n_room = is_input ? gi_joint_input_rows(n_slots) : n_slots + has_more;
        const struct gi_slot_array array = make_array(range, n_room, 0);
        *rows[i].rows = gi_joint_rows(&tables->joint, &array);
        rows[i].rows->range = n == n_slots ? range : rows[i].rows->range;
    }
    struct gi_adapter_rows *adapters = &tables->graph.adapters.rows;
    adapters->scales = gi_joint_rows(&tables->joint, &tables->scales).range;
    adapters->scale_stride = (uint32_t)(tables->scales.stride / sizeof(float));
    tables->graph.q = tables->graph.ffn_act_rows; // scratch for f16: joint steps have q elsewhere
}

void gi_joint_tables_init(struct gi_joint_tables *tables, const struct gi_tables *slot,
                          uint32_t n_slots, const struct gi_slot_array *state,
                          const struct gi_slot_array *ring, const struct gi_slot_array *adjust,
                          const struct gi_slot_array *scales, const struct gi_slot_array *kv,
                          const struct gi_range ranges[GI_JOINT_RANGE_COUNT])
{
    const struct gi_graph *graph = &slot->graph;
    assert(n_slots > 1 && n_slots <= GI_MAX_ROWS && state->stride == GI_STEP_STATE_STRIDE);
    *tables =
        (struct gi_joint_tables){.model = slot->model, .graph = *graph, .recorder = slot->recorder};
    tables->adjust = *adjust;
    tables->scales = *scales;
    tables->recorder.packs_rows = false; // only for large batches
    tables->recorder.table = NULL;
    tables->joint = (struct gi_joint){
        .n_slots = n_slots,
        .state = *state,
        .ring = *ring,
        .stream = make_array(ranges[GI_JOINT_STREAM], n_slots, graph->stream.range.size),
        .attention = make_array(ranges[GI_JOINT_ATTENTION], n_slots, graph->attention.range.size),
        .logits = make_array(ranges[GI_JOINT_LOGITS], n_slots, graph->logits.range.size),
        .kv = kv,
    };
    memcpy(tables->ranges, ranges, sizeof(tables->ranges));
    tables->graph.is_batch = true;
    tables->graph.joint = &tables->joint;
    choose_rows(tables, 0, n_slots);
    tables->joint.x = tables->graph.x;
    tables->joint.qkv = tables->graph.qkv;
    tables->joint.inputs = tables->graph.inputs;
}

void gi_joint_tables_forget(struct gi_joint_tables *tables)
{
    for (uint32_t list = 0; list < GI_JOINT_LIST_COUNT; list++) {
        for (int end = 0; end < GI_STEP_END_COUNT; end++) {
            gi_executor_destroy(tables->executors[list][end]);
            tables->executors[list][end] = NULL;
        }
    }
    tables->n_ready = 0;
    tables->n_forgotten++;
    tables->is_stale = false;
}

void gi_joint_tables_renew(struct gi_joint_tables *tables)
{
    if (tables->is_stale) {
        gi_joint_tables_forget(tables);
    }
}

void gi_joint_tables_finish(struct gi_joint_tables *tables)
{
    gi_joint_tables_forget(tables);
    memset(tables, 0, sizeof(*tables));
}

struct gi_range gi_joint_tables_logits(const struct gi_joint_tables *tables, uint32_t slot)
{
    return gi_slot_range(&tables->joint.logits, slot);
}

struct gi_range gi_joint_tables_state(const struct gi_joint_tables *tables)
{
    return gi_slot_range(&tables->joint.state, tables->joint.n_slots);
}

//-- recording -------------------------------------------------------------------------------------

static void record_layers(struct gi_joint_tables *tables)
{
    for (uint32_t layer = 0; layer < tables->model->hparams.n_layer; layer++) {
        gi_model_family_record(tables->model->family, &tables->graph, layer);
    }
}

// Records the choice of each row's token. The GPU computes no grid of a joint step.
static void record_choices(struct gi_joint_tables *tables, enum gi_step_end end)
{
    struct gi_graph *graph = &tables->graph;
    const uint32_t first = tables->joint.first_row;
    for (uint32_t i = first; i < first + tables->joint.n_rows; i++) {
        const struct gi_logits logits = gi_joint_slot_logits(graph, i);
        const struct gi_step_buffers buffers = {
            .state = gi_slot_range(&tables->joint.state, i),
            .ring = gi_slot_range(&tables->joint.ring, i),
        };
        graph->adjust.range = gi_slot_range(&tables->adjust, i);
        gi_joint_begin_slot(graph, i);
        gi_tables_record_choice(&graph->recorder, &logits, &graph->adjust, end, &buffers);
    }
    gi_joint_end_slot(graph);
}

// Records the logits of all rows and, if the GPU chooses the tokens, their choices.
static void record_tail(struct gi_joint_tables *tables, enum gi_step_end end)
{
    tables->graph.logits.is_fine = end == GI_STEP_END_SMALL_K;
    gi_graph_output(&tables->graph);
    if (tables->graph.cross_state.size == 0) { // the CPU chooses the tokens of transcripts
        record_choices(tables, end);
    }
}

// Returns true and the slot if the set has one slot and its row a list of its own. In f16, a single
// sequence uses the non-joint step instead.
static bool is_alone(const struct gi_joint_tables *tables, uint32_t set, uint32_t *slot)
{
    *slot = 0;
    while (*slot + 1 < tables->joint.n_slots && !(set >> *slot & 1)) {
        ++*slot;
    }
    return set == 1u << *slot && !tables->recorder.is_half;
}

struct gi_dispatch_table *gi_joint_tables_record(struct gi_joint_tables *tables, uint32_t set,
                                                 enum gi_step_end end, struct glinfer_error *err)
{
    const struct gi_dispatch_table_params params = {.state = gi_joint_tables_state(tables)};
    struct gi_graph *graph = &tables->graph;
    uint32_t slot;
    if (is_alone(tables, set, &slot)) {
        choose_rows(tables, slot, 1);
    } else {
        choose_rows(tables, 0, tables->joint.n_slots);
    }
    graph->recorder = tables->recorder;
    gi_recorder_begin(&graph->recorder, &params, err);
    gi_graph_embed(graph);
    record_layers(tables);
    record_tail(tables, end);
    return gi_recorder_end(&graph->recorder, err);
}

void gi_joint_tables_record_layers(struct gi_joint_tables *tables,
                                   const struct gi_recorder *recorder)
{
    struct gi_graph *graph = &tables->graph;
    choose_rows(tables, 0, tables->joint.n_slots);
    graph->recorder = tables->recorder;
    graph->recorder.programs = recorder->programs;
    graph->recorder.table = recorder->table;
    graph->recorder.form = recorder->form;
    record_layers(tables);
}

struct gi_executor *gi_joint_tables_create_head(struct gi_joint_tables *tables,
                                                struct glinfer_error *err)
{
    const struct gi_dispatch_table_params params = {.state = gi_joint_tables_state(tables)};
    struct gi_recorder *recorder = &tables->graph.recorder;
    *recorder = tables->recorder;
    gi_recorder_begin(recorder, &params, err);
    gi_graph_embed(&tables->graph);
    return gi_list_build(recorder->programs, gi_recorder_end(recorder, err), err);
}

struct gi_executor *gi_joint_tables_create_tail(struct gi_joint_tables *tables,
                                                enum gi_step_end end, struct glinfer_error *err)
{
    const struct gi_dispatch_table_params params = {.state = gi_joint_tables_state(tables)};
    struct gi_recorder *recorder = &tables->graph.recorder;
    *recorder = tables->recorder;
    gi_recorder_begin(recorder, &params, err);
    record_tail(tables, end);
    return gi_list_build(recorder->programs, gi_recorder_end(recorder, err), err);
}

//-- lists that are ready --------------------------------------------------------------------------

// A list to make ready.
struct wanted {
    struct gi_joint_tables *tables;
    uint32_t set;
    enum gi_step_end end;
    struct gi_step_state slots[GI_MAX_ROWS]; // of the test
};

static struct gi_tested describe_tables(struct gi_joint_tables *tables)
{
    return (struct gi_tested){
        .model = tables->model,
        .graph = &tables->graph,
        .joint = &tables->joint,
        .recorder = &tables->recorder,
        .state = gi_joint_tables_state(tables),
        .listener = &tables->listener,
    };
}

static struct gi_dispatch_table *record_wanted(void *user, uint32_t i, struct glinfer_error *err)
{
    const struct wanted *wanted = user;
    (void)i;
    return gi_joint_tables_record(wanted->tables, wanted->set, wanted->end, err);
}

static void describe_wanted(void *user, uint32_t i, struct gi_tested_list *test)
{
    struct wanted *wanted = user;
    const struct gi_tested tested = describe_tables(wanted->tables);
    (void)i;
    gi_list_describe_slots(&tested, gi_joint_tables_rows(wanted->tables, wanted->set), wanted->end,
                           wanted->slots, test);
}

static void note_change(void *user)
{
    struct gi_joint_tables *tables = ((struct wanted *)user)->tables;
    tables->is_stale = tables->is_stale || tables->n_ready > 0;
}

// Disables joint steps, so that sequences are decoded one after another. A program that is wrong in
// a joint list may be right in the list of one sequence.
static void refuse(struct gi_joint_tables *tables, const char *reason)
{
    struct gi_gpu *gpu = tables->recorder.gpu;
    tables->is_refused = true;
    gi_quarantine_clear(gpu);
    gi_log_write(gi_gpu_log(gpu), GLINFER_LOG_WARN,
                 "answers and beams are decoded one after another: %s", reason);
}

enum gi_step_end gi_joint_end(enum gi_step_end a, enum gi_step_end b)
{
    const enum gi_step_end plain_a = a % GI_STEP_END_ADJUSTED, plain_b = b % GI_STEP_END_ADJUSTED;
    const bool is_adjusted = a >= GI_STEP_END_ADJUSTED || b >= GI_STEP_END_ADJUSTED;
    return (plain_a > plain_b ? plain_a : plain_b) + (is_adjusted ? GI_STEP_END_ADJUSTED : 0);
}

struct gi_executor *gi_joint_tables_step(struct gi_joint_tables *tables, uint32_t set,
                                         enum gi_step_end end, struct glinfer_error *err)
{
    uint32_t slot;
    const uint32_t list = is_alone(tables, set, &slot) ? 1 + slot : 0;
    struct gi_executor **executor = &tables->executors[list][end];
    struct glinfer_error why = {0};
    if (*executor || tables->is_refused) {
        return tables->is_refused ? NULL : *executor;
    }
    struct wanted wanted = {.tables = tables, .set = set, .end = end};
    const struct gi_list_source source = {.n = 1,
                                          .tested = describe_tables(tables),
                                          .user = &wanted,
                                          .record = record_wanted,
                                          .describe = describe_wanted,
                                          .change = note_change};
    struct gi_executor *made = NULL;
    if (gi_lists_prepare(&source, 1, &made, &why)) {
        // After a switch to f32, a single row has a list of its own.
        tables->executors[is_alone(tables, set, &slot) ? 1 + slot : 0][end] = made;
        tables->n_ready++;
    } else if (why.status == GLINFER_STATUS_UNSUPPORTED) {
        refuse(tables, why.message);
    } else {
        gi_error_pass(err, &why);
    }
    return made;
}

bool gi_joint_tables_prepare(struct gi_joint_tables *tables, uint32_t set, enum gi_step_end end,
                             struct glinfer_error *err)
{
    return gi_joint_tables_step(tables, set, end, err) || tables->is_refused;
}

uint32_t gi_joint_tables_rows(const struct gi_joint_tables *tables, uint32_t set)
{
    uint32_t slot, n = 0;
    if (is_alone(tables, set, &slot)) {
        return 1;
    }
    for (uint32_t i = 0; i < tables->joint.n_slots; i++) {
        n = set >> i & 1 ? i + 1 : n;
    }
    return n;
}
