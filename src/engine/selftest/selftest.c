#include "engine/selftest/selftest.h"

#include "base/clock.h"
#include "engine/selftest/test_case.h"
#include "gpu/device/fence.h"
#include "gpu/device/settings.h"
#include "gpu/dispatch/multi_executor.h"
#include "gpu/program/quarantine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Places the tests in the text, as far as the context allows: a step's attention takes several
// ranges of keys, a batch's several tiles of tokens and of keys.
enum { STEP_PAST = 1100, BATCH_PAST = 100, BATCH_TOKENS = 67, END_TOKENS = 3 };

// Tokens that the batches begin with: of rows that were kept (engine/load/weight_sample.h).
enum { N_SAMPLED_TOKENS = 16 };

struct run {
    struct gi_tables *tables;
    struct gi_dispatch_table *list;
    struct gi_step_state state; // that the tests of the list begin with
    bool *is_changed;
    uint32_t n_tested;
    struct glinfer_error *err;
};

static struct gi_gpu *gpu_of(const struct run *run)
{
    return run->tables->recorder.gpu;
}

static struct gi_program_table *programs_of(const struct run *run)
{
    return run->tables->recorder.programs;
}

static void report(const struct gi_tables *tables, uint32_t program,
                   enum glinfer_test_result result, const char *text, uint64_t ns)
{
    const struct glinfer_tested tested = {
        .program = gi_program_label(tables->recorder.programs, program),
        .result = result,
        .text = text,
        .ns = (double)ns,
    };
    if (tables->on_tested) {
        tables->on_tested(tables->tested_user, &tested);
    }
}

//-- quarantine ------------------------------------------------------------------------------------

static bool is_half(const struct gi_program_key *key)
{
    bool is_half = key->id == GI_PROGRAM_GEMM_HALF || key->id == GI_PROGRAM_GEMM_HALF_2 ||
                   key->id == GI_PROGRAM_ATTENTION_HALF || key->id == GI_PROGRAM_HALF_ROWS ||
                   gi_test_is_small_half(key) || gi_test_is_packed(key);
    for (uint32_t i = 0; i < key->n_defines; i++) {
        is_half =
            is_half || (strcmp(key->defines[i].name, "HALF") == 0 && key->defines[i].value != 0);
    }
    return is_half;
}

// Has all lists compute in f32.
static void leave_halves(struct gi_tables *tables, const char *reason)
{
    tables->recorder.is_half = tables->recorder.packs_rows = false;
    gi_program_set_half_refusal(tables->recorder.programs, reason);
    gi_log_write(gi_gpu_log(tables->recorder.gpu), GLINFER_LOG_WARN,
                 "computing in f32 in place of f16, for that reason");
}

bool gi_selftest_leave_halves(struct gi_tables *tables, const struct glinfer_error *err)
{
    struct gi_recorder *recorder = &tables->recorder;
    if ((!recorder->is_half && !recorder->packs_rows) ||
        err->status != GLINFER_STATUS_UNSUPPORTED || !gi_quarantine_has_any(recorder->gpu)) {
        return false;
    }
    gi_quarantine_clear(recorder->gpu);
    leave_halves(tables, err->message);
    return true;
}

// Has lists do without a program: products in f16, or of packed rows, are all left, others pass
// over it.
static void leave_out(struct gi_tables *tables, const struct gi_program_key *key,
                      const char *reason)
{
    struct gi_recorder *recorder = &tables->recorder;
    enum gi_program_id id = key->id;
    if (recorder->packs_rows && gi_test_is_packed(key)) {
        recorder->packs_rows = false;
        return;
    }
    if (recorder->is_half && is_half(key)) {
        leave_halves(tables, reason);
        return;
    }
    gi_quarantine_add(recorder->gpu, id, key->quant, reason);
    if (id >= GI_PROGRAM_FULL_SAMPLE_64 && id <= GI_PROGRAM_FULL_SAMPLE_1024) {
        id = id - GI_PROGRAM_FULL_SAMPLE_64 + GI_PROGRAM_FULL_BINS_64; // tested together
        gi_quarantine_add(recorder->gpu, id, key->quant, reason);
    }
}

void gi_selftest_check_refusals(struct gi_tables *tables, const struct gi_dispatch_table *list,
                                bool *is_changed)
{
    const struct gi_program_table *programs = tables->recorder.programs;
    for (uint32_t i = 0; i < gi_dispatch_table_count(list); i++) {
        const uint32_t program = gi_dispatch_table_at(list, i)->program;
        const struct gi_program_key *key = gi_program_key(programs, program);
        if (gi_program_name(programs, program) == 0 &&
            !gi_quarantine_find(tables->recorder.gpu, key->id, key->quant)) {
            report(tables, program, GLINFER_TEST_NOT_COMPILED,
                   gi_program_refusal(programs, program), 0);
            leave_out(tables, key, gi_program_refusal(programs, program));
            *is_changed = true;
        }
    }
}

//-- one program -----------------------------------------------------------------------------------

static bool write_state(const struct run *run)
{
    const struct gi_range *range = &run->tables->step_buffers.state;
    return gi_buffer_write((struct gi_buffer *)range->buffer, gpu_of(run), range->offset,
                           &run->state, sizeof(run->state), run->err);
}

static void init_test(const struct run *run, uint32_t entry, struct gi_test *test)
{
    const struct gi_dispatch *dispatch = gi_dispatch_table_at(run->list, entry);
    const struct gi_program_key *key = gi_program_key(programs_of(run), dispatch->program);
    *test = (struct gi_test){
        .gpu = gpu_of(run),
        .tables = run->tables,
        .list = run->list,
        .entry = entry,
        .dispatch = dispatch,
        .key = key,
        .n_past = run->state.n_past,
        .n_tokens = run->state.n_tokens,
        .state = run->state,
        .tolerance = is_half(key) ? 1e-2 : 1e-4,
        .err = run->err,
    };
    if (key->quant != GI_QUANT_NONE) {
        test->sample =
            gi_weight_samples_find(&run->tables->model->store.samples, &dispatch->bindings[2]);
    }
}

// Returns the check of an entry's program, NULL if it has none, or none of its weights are known.
static gi_test_check find_check(const struct run *run, uint32_t entry)
{
    struct gi_test test;
    init_test(run, entry, &test);
    const bool is_known = test.key->quant == GI_QUANT_NONE || test.sample;
    return is_known ? gi_test_find_check(test.key->id) : NULL;
}

// Runs an entry with its check, or without: *result is then RIGHT. It is NONE where all values are
// infinite.
static bool run_entry(const struct run *run, uint32_t entry, gi_test_check check,
                      enum glinfer_test_result *result, char text[200])
{
    struct gi_test test;
    init_test(run, entry, &test);
    if (!write_state(run) ||
        !gi_dispatch_table_read_params(run->list, entry, test.params, run->err)) {
        return false;
    }
    if (check) {
        check(&test);
    } else {
        gi_test_run(&test);
    }
    const bool is_blind = test.n_checked == 0 && test.n_infinite > 0;
    *result = *test.where ? GLINFER_TEST_WRONG : is_blind ? GLINFER_TEST_NONE : GLINFER_TEST_RIGHT;
    if (*test.where) {
        snprintf(text, 200, "%.120s", test.where);
    } else if (is_blind) {
        snprintf(text, 200, "all values of this model are infinite there");
    } else {
        snprintf(text, 200, "%u values, error %.2g of what is tolerated", test.n_checked,
                 test.worst);
    }
    gi_test_finish(&test);
    return !test.has_failed;
}

//-- a list ----------------------------------------------------------------------------------------

// Runs the first entry of each program up to and with `last`, in their order, so that each finds
// inputs such as it has in an answer.
static bool run_up_to(const struct run *run, uint32_t first, uint32_t last)
{
    char text[200];
    enum glinfer_test_result result;
    for (uint32_t i = first; i <= last; i++) {
        if (gi_dispatch_table_is_first(run->list, i) && !run_entry(run, i, NULL, &result, text)) {
            return false;
        }
    }
    return true;
}

static void reject(const struct run *run, uint32_t entry, const char *text)
{
    const uint32_t program = gi_dispatch_table_at(run->list, entry)->program;
    char reason[256];
    snprintf(reason, sizeof(reason), "%.140s computes wrong results: %.90s",
             gi_program_label(programs_of(run), program), text);
    gi_log_write(gi_gpu_log(gpu_of(run)), GLINFER_LOG_WARN, "%s; it is left out", reason);
    leave_out(run->tables, gi_program_key(programs_of(run), program), reason);
    *run->is_changed = true;
}

// Tests the program of an entry. One that is wrong twice is rejected.
static bool test_entry(struct run *run, uint32_t entry, gi_test_check check)
{
    const uint32_t program = gi_dispatch_table_at(run->list, entry)->program;
    const uint64_t begin = gi_clock_ns();
    char text[200];
    enum glinfer_test_result result;
    if (!run_entry(run, entry, check, &result, text)) {
        return false;
    }
    if (result == GLINFER_TEST_WRONG && ((entry > 0 && !run_up_to(run, 0, entry - 1)) ||
                                         !run_entry(run, entry, check, &result, text))) {
        return false;
    }
    run->n_tested++;
    report(run->tables, program, result, text, gi_clock_ns() - begin);
    if (result != GLINFER_TEST_NONE) {
        gi_program_set_finding(programs_of(run), program,
                               result == GLINFER_TEST_RIGHT ? GI_FINDING_RIGHT : GI_FINDING_WRONG,
                               text);
    }
    if (result == GLINFER_TEST_WRONG) {
        reject(run, entry, text);
    }
    return true;
}

// Rejects what was found to be wrong before. Returns true if programs are left to be tested.
static bool look_up_findings(const struct run *run)
{
    bool is_open = false;
    for (uint32_t i = 0; i < gi_dispatch_table_count(run->list); i++) {
        char text[200];
        if (!gi_dispatch_table_is_first(run->list, i) || !find_check(run, i)) {
            continue;
        }
        const uint32_t program = gi_dispatch_table_at(run->list, i)->program;
        const enum gi_finding finding = gi_program_finding(programs_of(run), program, text);
        is_open = is_open || finding == GI_FINDING_NONE;
        if (finding == GI_FINDING_WRONG) {
            reject(run, i, text);
        }
    }
    return is_open;
}

static bool test_list(struct run *run)
{
    for (uint32_t i = 0; i < gi_dispatch_table_count(run->list) && !*run->is_changed; i++) {
        const uint32_t program = gi_dispatch_table_at(run->list, i)->program;
        char text[200];
        if (!gi_dispatch_table_is_first(run->list, i)) {
            continue;
        }
        const gi_test_check check = find_check(run, i);
        if (!check) {
            report(run->tables, program, GLINFER_TEST_NONE, "only with what reads its results", 0);
        }
        const bool is_known =
            !check || gi_program_finding(programs_of(run), program, text) != GI_FINDING_NONE;
        if (is_known ? !run_up_to(run, i, i) : !test_entry(run, i, check)) {
            return false;
        }
    }
    return true;
}

//-- inputs ----------------------------------------------------------------------------------------

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

// Sets the state of a list's tests: position, tokens, and settings under which each filter of the
// sampler has something to do.
static void choose_state(struct run *run, uint32_t list)
{
    const struct gi_tables *tables = run->tables;
    const uint32_t n_ctx = tables->graph.kv_cache[0].n_ctx;
    const bool is_step = list >= GI_LIST_STEP && list < GI_LIST_PROMPT_END;
    const bool is_end = list >= GI_LIST_PROMPT_END;
    const uint32_t end =
        (list - (is_end ? GI_LIST_PROMPT_END : GI_LIST_STEP)) % (uint32_t)GI_STEP_END_ADJUSTED;
    uint32_t n_tokens = list == GI_LIST_PROMPT_SMALL ? tables->n_small
                        : is_step                    ? 1
                        : is_end                     ? END_TOKENS
                                                     : BATCH_TOKENS;
    n_tokens = least(least(n_tokens, tables->n_batch), n_ctx);
    run->state = (struct gi_step_state){
        .token = 3,
        .n_past = least(n_ctx - n_tokens, is_step ? STEP_PAST : BATCH_PAST),
        .n_tokens = n_tokens,
        .epoch = 1,
        .max_steps = 1000,
        .seed_lo = 17,
        .temperature = 0.8f,
        .top_p = 1,
        .top_k = (is_step || is_end) && end == GI_STEP_END_SMALL_K ? 8 : 0,
        .min_p = (is_step || is_end) && end == GI_STEP_END_FULL ? 0.02f : 0,
        .n_probs = (is_step || is_end) && end == GI_STEP_END_PROBS ? 4 : 0,
    };
}

// Writes the tokens of a batch, and the rows that a batch leaves for what follows.
static bool write_inputs(const struct run *run)
{
    const struct gi_graph *graph = &run->tables->graph;
    const uint32_t n = graph->hparams->n_embd, n_tokens = run->state.n_tokens;
    uint32_t tokens[BATCH_TOKENS + 1] = {0};
    float *x = malloc(n * sizeof(*x));
    bool ok = x || gi_error_no_memory(run->err, n * sizeof(*x), "the self-test");
    for (uint32_t i = 0; i < n_tokens; i++) {
        tokens[i] = i * 5 % N_SAMPLED_TOKENS;
    }
    for (uint32_t i = 0; ok && i < n; i++) {
        x[i] = (float)(i * 37 % 101) / 50.0f - 1.0f;
    }
    ok = ok && gi_buffer_write((struct gi_buffer *)graph->tokens.buffer, gpu_of(run),
                               graph->tokens.offset, tokens, n_tokens * sizeof(*tokens), run->err);
    for (uint32_t i = 0; ok && i < n_tokens; i++) {
        const uint64_t row = (uint64_t)i * graph->x.stride * sizeof(*x);
        ok = gi_buffer_write((struct gi_buffer *)graph->x.range.buffer, gpu_of(run),
                             graph->x.range.offset + row, x, n * sizeof(*x), run->err);
    }
    free(x);
    return ok;
}

//-- what must not be lost -------------------------------------------------------------------------

// The caches and states of all layers of a sequence that has tokens, and step_state.
struct kept {
    uint8_t *caches; // of one layer behind the other, then states; NULL: the sequence is empty
    struct gi_step_state state;
};

// Returns the cache of layer i or, from the number of layers on, a state.
static const struct gi_range *kept_range(const struct gi_graph *graph, uint32_t i)
{
    const uint32_t n_layer = graph->hparams->n_layer;
    return i < n_layer ? &graph->kv_cache[i].range : &graph->states[i - n_layer];
}

static bool keep(const struct run *run, struct kept *kept)
{
    const struct gi_tables *tables = run->tables;
    const struct gi_range *state = &tables->step_buffers.state;
    const uint32_t n = tables->sequence->n_past > 0 ? 2 * tables->graph.hparams->n_layer : 0;
    uint64_t size = 0, at = 0;
    for (uint32_t i = 0; i < n; i++) {
        size += kept_range(&tables->graph, i)->size;
    }
    *kept = (struct kept){.caches = n > 0 ? malloc(size) : NULL};
    bool ok = n == 0 || kept->caches || gi_error_no_memory(run->err, size, "the self-test");
    for (uint32_t i = 0; ok && i < n; i++) {
        const struct gi_range *range = kept_range(&tables->graph, i);
        ok = range->size == 0 || gi_buffer_read(range->buffer, gpu_of(run), range->offset,
                                                kept->caches + at, range->size, run->err);
        at += range->size;
    }
    return ok && gi_buffer_read(state->buffer, gpu_of(run), state->offset, &kept->state,
                                sizeof(kept->state), run->err);
}

// Puts it back, even where the tests were cancelled. Returns ok, or false with what failed.
static bool restore(const struct run *run, struct kept *kept, bool ok)
{
    const struct gi_tables *tables = run->tables;
    const struct gi_range *state = &tables->step_buffers.state;
    struct glinfer_error late = {0};
    atomic_bool *watched = gi_gpu_watch(gpu_of(run), NULL);
    bool is_back = gi_buffer_write((struct gi_buffer *)state->buffer, gpu_of(run), state->offset,
                                   &kept->state, sizeof(kept->state), &late);
    uint64_t at = 0;
    const uint32_t n = kept->caches ? 2 * tables->graph.hparams->n_layer : 0;
    for (uint32_t i = 0; is_back && i < n; i++) {
        const struct gi_range *range = kept_range(&tables->graph, i);
        is_back = range->size == 0 ||
                  gi_buffer_write((struct gi_buffer *)range->buffer, gpu_of(run), range->offset,
                                  kept->caches + at, range->size, &late);
        at += range->size;
    }
    gi_gpu_watch(gpu_of(run), watched);
    return ok && (is_back || gi_error_set(run->err, late.status, "%s", late.message));
}

//-- all lists -------------------------------------------------------------------------------------

// Looks at all findings first: nothing is saved or run where all are known.
static bool test_lists(struct run *run, uint32_t open)
{
    struct kept kept;
    const bool is_kept = keep(run, &kept);
    bool ok = is_kept;
    for (uint32_t i = 0; ok && i < GI_LIST_COUNT && !*run->is_changed; i++) {
        if (open >> i & 1) {
            run->list = gi_multi_executor_list(run->tables->executors[i]);
            choose_state(run, i);
            ok = write_inputs(run) && test_list(run);
        }
    }
    ok = is_kept && restore(run, &kept, ok);
    free(kept.caches);
    return ok;
}

// True unless GLINFER_SELFTEST says no, or GLINFER_FAULT breaks dispatches of programs that are
// right.
static bool is_asked(const struct gi_tables *tables)
{
    const struct gi_settings *settings = gi_gpu_settings(tables->recorder.gpu);
    const enum gi_fault_kind kind = settings->fault.kind;
    return (settings->selftest != GI_CHOICE_NO || tables->on_tested) && kind != GI_FAULT_SKIP &&
           kind != GI_FAULT_SLOW && kind != GI_FAULT_LOST;
}

bool gi_selftest_run_rows(struct gi_tables *tables, struct gi_dispatch_table *list, uint32_t n_rows,
                          bool *is_changed, struct glinfer_error *err)
{
    struct run run = {.tables = tables, .list = list, .is_changed = is_changed, .err = err};
    struct kept kept;
    *is_changed = false;
    if (!is_asked(tables) || !look_up_findings(&run) || *is_changed) {
        return true;
    }
    run.state = (struct gi_step_state){
        .n_tokens = least(n_rows, BATCH_TOKENS), .epoch = 1, .max_steps = 1000};
    const bool ok =
        keep(&run, &kept) && restore(&run, &kept, write_inputs(&run) && test_list(&run));
    free(kept.caches);
    return ok;
}

// NOLINTNEXTLINE(readability-non-const-parameter): the run writes through it
bool gi_selftest_run(struct gi_tables *tables, uint32_t lists, bool *is_changed,
                     struct glinfer_error *err)
{
    struct run run = {.tables = tables, .is_changed = is_changed, .err = err};
    const uint64_t begin = gi_clock_ns(), waits = gi_gpu_wait_count(tables->recorder.gpu);
    uint32_t open = 0;
    if (!is_asked(tables)) {
        return true;
    }
    for (uint32_t i = 0; i < GI_LIST_COUNT; i++) {
        if (lists >> i & 1) {
            run.list = gi_multi_executor_list(tables->executors[i]);
            open |= (uint32_t)look_up_findings(&run) << i;
        }
    }
    if (*is_changed || open == 0) {
        return true;
    }
    const bool ok = test_lists(&run, open);
    if (ok && !*is_changed && tables->recorder.is_half) {
        gi_program_set_half_refusal(tables->recorder.programs, NULL);
    }
    gi_log_write(gi_gpu_log(tables->recorder.gpu), GLINFER_LOG_INFO,
                 "the self-test of %u programs took %.0f ms, %u waits", run.n_tested,
                 (double)(gi_clock_ns() - begin) / 1e6,
                 (uint32_t)(gi_gpu_wait_count(tables->recorder.gpu) - waits));
    return ok;
}
