#include "engine/selftest/selftest.h"

#include "base/clock.h"
#include "engine/selftest/selftest_run.h"
#include "gpu/program/quarantine.h"

#include <stdio.h>
#include <string.h>

static struct gi_program_table *programs_of(const struct gi_selftest_run *run)
{
    return run->tested.recorder->programs;
}

static void report(const struct gi_tested *tested, uint32_t program,
                   enum glinfer_test_result result, const char *text, uint64_t ns)
{
    const struct glinfer_tested found = {
        .program = gi_program_label(tested->recorder->programs, program),
        .result = result,
        .text = text,
        .ns = (double)ns,
    };
    if (tested->listener->each) {
        tested->listener->each(tested->listener->user, &found);
    }
}

//-- quarantine ------------------------------------------------------------------------------------

static bool is_half(const struct gi_program_key *key)
{
    bool is_half = key->id == GI_PROGRAM_GEMM_HALF || key->id == GI_PROGRAM_ATTENTION_HALF ||
                   key->id == GI_PROGRAM_HALF_ROWS || key->id == GI_PROGRAM_GEMV_BATCH_HALF ||
                   gi_test_is_packed(key);
    for (uint32_t i = 0; i < key->n_defines; i++) {
        is_half =
            is_half || (strcmp(key->defines[i].name, "HALF") == 0 && key->defines[i].value != 0);
    }
    return is_half;
}

// Switches all lists to f32. Joint lists switch on their own, since those of one sequence have
// separate tests.
static void leave_halves(const struct gi_tested *tested, const char *reason)
{
    struct gi_recorder *recorder = tested->recorder;
    recorder->is_half = recorder->packs_rows = false;
    if (!tested->joint) {
        gi_program_set_half_refusal(recorder->programs, reason);
    }
    gi_log_write(gi_gpu_log(recorder->gpu), GLINFER_LOG_WARN,
                 "%scomputing in f32 in place of f16, for that reason",
                 tested->joint ? "several answers together: " : "");
}

bool gi_selftest_leave_halves(const struct gi_tested *tested, const struct glinfer_error *err)
{
    const struct gi_recorder *recorder = tested->recorder;
    if ((!recorder->is_half && !recorder->packs_rows) ||
        err->status != GLINFER_STATUS_UNSUPPORTED || !gi_quarantine_has_any(recorder->gpu)) {
        return false;
    }
    gi_quarantine_clear(recorder->gpu);
    leave_halves(tested, err->message);
    return true;
}

// Disables a program: f16 and packed-row variants are disabled as a group, others individually.
static void leave_out(const struct gi_tested *tested, const struct gi_program_key *key,
                      const char *reason)
{
    struct gi_recorder *recorder = tested->recorder;
    if (recorder->packs_rows && gi_test_is_packed(key)) {
        recorder->packs_rows = false;
        return;
    }
    if (recorder->is_half && is_half(key)) {
        leave_halves(tested, reason);
        return;
    }
    gi_quarantine_add(recorder->gpu, key->id, key->quant, reason);
}

void gi_selftest_check_refusals(const struct gi_tested *tested,
                                const struct gi_dispatch_table *list, bool *is_changed)
{
    const struct gi_program_table *programs = tested->recorder->programs;
    for (uint32_t i = 0; i < gi_dispatch_table_count(list); i++) {
        const uint32_t program = gi_dispatch_table_at(list, i)->program;
        const struct gi_program_key *key = gi_program_key(programs, program);
        if (gi_program_name(programs, program) == 0 &&
            !gi_quarantine_find(tested->recorder->gpu, key->id, key->quant)) {
            report(tested, program, GLINFER_TEST_NOT_COMPILED,
                   gi_program_refusal(programs, program), 0);
            leave_out(tested, key, gi_program_refusal(programs, program));
            *is_changed = true;
        }
    }
}

//-- one program -----------------------------------------------------------------------------------

static bool write_state(const struct gi_selftest_run *run, const struct gi_range *range,
                        const struct gi_step_state *state)
{
    return gi_buffer_write(range->buffer, gi_selftest_gpu(run), range->offset, state,
                           sizeof(*state), run->err);
}

bool gi_selftest_write_states(const struct gi_selftest_run *run)
{
    const uint32_t n_slots = run->slots ? run->tested.joint->n_slots : 0;
    bool ok = write_state(run, &run->tested.state, &run->state);
    for (uint32_t i = 0; ok && i < n_slots; i++) {
        const struct gi_range range = gi_slot_range(&run->tested.joint->state, i);
        ok = write_state(run, &range, &run->slots[i]);
    }
    return ok;
}

// Returns the sampled rows of an entry's weights, or NULL.
static const struct gi_weight_sample *find_sample(const struct gi_selftest_run *run, uint32_t entry)
{
    const struct gi_dispatch *dispatch = gi_dispatch_table_at(run->list, entry);
    const struct gi_program_key *key = gi_program_key(programs_of(run), dispatch->program);
    return key->quant == GI_QUANT_NONE
               ? NULL
               : gi_weight_samples_find(&run->tested.model->store.samples, &dispatch->bindings[2]);
}

// Initializes the test of an entry; in a joint list, as `slot` sees it if it belongs to slots.
static void init_test(const struct gi_selftest_run *run, uint32_t entry, uint32_t slot,
                      struct gi_test *test)
{
    const struct gi_dispatch *dispatch = gi_dispatch_table_at(run->list, entry);
    const struct gi_program_key *key = gi_program_key(programs_of(run), dispatch->program);
    *test = (struct gi_test){
        .gpu = gi_selftest_gpu(run),
        .graph = run->tested.graph,
        .joint = run->tested.joint,
        .list = run->list,
        .entry = entry,
        .dispatch = dispatch,
        .key = key,
        .state = run->state,
        .run_past = run->state.n_past,
        .run_tokens = run->state.n_tokens,
        .tolerance = is_half(key) ? 1e-2 : 1e-4,
        .err = run->err,
    };
    if (run->slots && (dispatch->slot > 0 || gi_test_is_of_slots(test))) {
        test->slot = dispatch->slot > 0 ? dispatch->slot - 1 : slot;
        test->state = run->slots[test->slot];
    }
    test->n_past = test->state.n_past;
    test->n_tokens = test->state.n_tokens;
    test->sample = find_sample(run, entry);
}

static const struct {
    enum gi_program_id first, last;
    gi_test_check check;
} checks[] = {
    {GI_PROGRAM_EMBED_TOKEN, GI_PROGRAM_EMBED_TOKEN, gi_check_embed},
    {GI_PROGRAM_EMBED_BATCH, GI_PROGRAM_EMBED_BATCH, gi_check_embed},
    {GI_PROGRAM_GEMM, GI_PROGRAM_GEMV_BATCH_HALF, gi_check_gemm},
    {GI_PROGRAM_ADJUST_64, GI_PROGRAM_ADJUST_1024, gi_check_adjusted},
    {GI_PROGRAM_ARGMAX_64, GI_PROGRAM_ARGMAX_1024, gi_check_sampled},
    {GI_PROGRAM_TOP_K_64, GI_PROGRAM_TOP_K_1024, gi_check_sampled},
    {GI_PROGRAM_FULL_BINS_64, GI_PROGRAM_FULL_BINS_1024, gi_check_full_bins},
    {GI_PROGRAM_FULL_SAMPLE_64, GI_PROGRAM_FULL_SAMPLE_1024, gi_check_sampled},
};

gi_test_check gi_selftest_find_check(enum gi_program_id id)
{
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        if (id >= checks[i].first && id <= checks[i].last) {
            return checks[i].check;
        }
    }
    return gi_kernel_find(id) ? gi_check_reference : NULL;
}

// Returns the check of an entry's program; NULL if it has no check or no sampled weights.
static gi_test_check find_check(const struct gi_selftest_run *run, uint32_t entry)
{
    const uint32_t program = gi_dispatch_table_at(run->list, entry)->program;
    const struct gi_program_key *key = gi_program_key(programs_of(run), program);
    return key->quant == GI_QUANT_NONE || find_sample(run, entry) ? gi_selftest_find_check(key->id)
                                                                  : NULL;
}

//-- entries ---------------------------------------------------------------------------------------

// Returns a bit set of the entry's parameter words that are not zero.
static uint64_t nonzero_params(const struct gi_selftest_run *run, uint32_t entry)
{
    const uint32_t n = gi_dispatch_table_at(run->list, entry)->params_size / sizeof(uint32_t);
    const uint32_t *words = n > 0 ? gi_dispatch_table_params(run->list, entry) : NULL;
    uint64_t bits = 0;
    for (uint32_t i = 0; i < n; i++) {
        bits |= (uint64_t)(words[i] != 0) << i;
    }
    return bits;
}

static bool has_same_params(const struct gi_selftest_run *run, uint32_t a, uint32_t b)
{
    const uint32_t size = gi_dispatch_table_at(run->list, a)->params_size;
    return size == 0 || memcmp(gi_dispatch_table_params(run->list, a),
                               gi_dispatch_table_params(run->list, b), size) == 0;
}

static bool has_same_shape(const struct gi_selftest_run *run, uint32_t a, uint32_t b)
{
    const struct gi_weight_sample *of_a = find_sample(run, a), *of_b = find_sample(run, b);
    return !of_a || (of_b && of_a->n_rows == of_b->n_rows && of_a->n_cols == of_b->n_cols);
}

// Returns the next entry of the same program that can be checked; the count of entries if there is
// none.
static uint32_t next_entry(const struct gi_selftest_run *run, uint32_t entry)
{
    const uint32_t n = gi_dispatch_table_count(run->list);
    const uint32_t program = gi_dispatch_table_at(run->list, entry)->program;
    do {
        entry++;
    } while (entry < n && (gi_dispatch_table_at(run->list, entry)->program != program ||
                           !find_check(run, entry)));
    return entry;
}

bool gi_selftest_is_chosen(const struct gi_selftest_run *run, uint32_t entry)
{
    const uint32_t program = gi_dispatch_table_at(run->list, entry)->program;
    bool is_new = false, is_shape = true;
    uint64_t nonzero = nonzero_params(run, entry);
    if (gi_dispatch_table_is_first(run->list, entry) || !find_check(run, entry)) {
        return gi_dispatch_table_is_first(run->list, entry);
    }
    for (uint32_t i = 0; i < entry; i++) {
        if (gi_dispatch_table_at(run->list, i)->program == program &&
            (gi_dispatch_table_is_first(run->list, i) || find_check(run, i))) {
            is_new = is_new || !has_same_params(run, i, entry);
            is_shape = is_shape && !has_same_shape(run, i, entry);
            nonzero &= ~nonzero_params(run, i);
        }
    }
    const bool is_last = next_entry(run, entry) == gi_dispatch_table_count(run->list);
    return nonzero != 0 || is_shape || (is_last && is_new);
}

// Returns true if no later entry of the program is tested.
static bool is_last_chosen(const struct gi_selftest_run *run, uint32_t entry)
{
    const uint32_t n = gi_dispatch_table_count(run->list);
    uint32_t next = next_entry(run, entry);
    while (next < n && !gi_selftest_is_chosen(run, next)) {
        next = next_entry(run, next);
    }
    return next == n;
}

//-- results ---------------------------------------------------------------------------------------

// Returns the result of a test and describes it in text.
static enum glinfer_test_result judge(const struct gi_test *test, char text[200])
{
    const bool is_blind = test->n_checked == 0 && test->n_infinite > 0;
    if (*test->where) {
        snprintf(text, 200, "%.120s", test->where);
    } else if (is_blind) {
        snprintf(text, 200, "all values of this model are infinite there");
    } else {
        snprintf(text, 200, "%u values, largest error %.2g times the tolerance", test->n_checked,
                 test->worst);
    }
    return *test->where ? GLINFER_TEST_WRONG : is_blind ? GLINFER_TEST_NONE : GLINFER_TEST_RIGHT;
}

// Runs an entry with its check or, without one, only its dispatch, as a slot of a joint list sees
// it. *result: RIGHT without a check, NONE if all values are infinite.
static bool run_slot(const struct gi_selftest_run *run, uint32_t entry, uint32_t slot,
                     gi_test_check check, enum glinfer_test_result *result, char text[200])
{
    struct gi_test test;
    init_test(run, entry, slot, &test);
    if (test.dispatch->params_size > 0) {
        memcpy(test.params, gi_dispatch_table_params(run->list, entry), test.dispatch->params_size);
    }
    if (!gi_selftest_write_states(run)) {
        return false;
    }
    if (check) {
        check(&test);
    } else {
        gi_test_run(&test);
    }
    *result = judge(&test, text);
    gi_test_rewind(&test, 0);
    return !test.has_failed;
}

// Runs an entry for the first slot and, if it serves all slots, for the last.
static bool run_entry(const struct gi_selftest_run *run, uint32_t entry, gi_test_check check,
                      enum glinfer_test_result *result, char text[200])
{
    struct gi_test test;
    init_test(run, entry, 0, &test);
    const uint32_t last = run->slots && gi_test_is_of_slots(&test) ? test.joint->n_slots - 1 : 0;
    return run_slot(run, entry, 0, check, result, text) &&
           (last == 0 || !check || *result == GLINFER_TEST_WRONG ||
            run_slot(run, entry, last, check, result, text));
}

//-- a list ----------------------------------------------------------------------------------------

// Runs the first entry of each program from `first` to `last` in order, so that the next one finds
// inputs as in an answer.
static bool run_up_to(const struct gi_selftest_run *run, uint32_t first, uint32_t last)
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

static void reject(const struct gi_selftest_run *run, uint32_t entry, const char *text)
{
    const uint32_t program = gi_dispatch_table_at(run->list, entry)->program;
    char reason[256];
    snprintf(reason, sizeof(reason), "%.140s computes wrong results: %.90s",
             gi_program_label(programs_of(run), program), text);
    gi_log_write(gi_gpu_log(gi_selftest_gpu(run)), GLINFER_LOG_WARN, "%s; it is left out", reason);
    leave_out(&run->tested, gi_program_key(programs_of(run), program), reason);
    *run->is_changed = true;
}

// Tests the program of an entry. A program is rejected if it is wrong twice, and accepted if all of
// its chosen entries are right.
static bool test_entry(struct gi_selftest_run *run, uint32_t entry, gi_test_check check)
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
    if (result == GLINFER_TEST_RIGHT && !is_last_chosen(run, entry)) {
        return true;
    }
    run->n_tested++;
    report(&run->tested, program, result, text, gi_clock_ns() - begin);
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

bool gi_selftest_look_up(const struct gi_selftest_run *run)
{
    bool is_open = false;
    for (uint32_t i = 0; i < gi_dispatch_table_count(run->list); i++) {
        char text[200];
        if (!find_check(run, i) || !gi_selftest_is_chosen(run, i) || !is_last_chosen(run, i)) {
            continue; // each program once
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

bool gi_selftest_run_list(struct gi_selftest_run *run)
{
    for (uint32_t i = 0; i < gi_dispatch_table_count(run->list) && !*run->is_changed; i++) {
        const uint32_t program = gi_dispatch_table_at(run->list, i)->program;
        char text[200];
        if (!gi_selftest_is_chosen(run, i)) {
            continue;
        }
        const gi_test_check check = find_check(run, i);
        if (!check && next_entry(run, i) == gi_dispatch_table_count(run->list)) {
            report(&run->tested, program, GLINFER_TEST_NONE,
                   "tested only through the programs that read its results", 0);
        }
        const bool is_known =
            !check || gi_program_finding(programs_of(run), program, text) != GI_FINDING_NONE;
        if (is_known ? !run_up_to(run, i, i) : !test_entry(run, i, check)) {
            return false;
        }
    }
    return true;
}
