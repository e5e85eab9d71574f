// Holds glinfer_tune to its promises: shapes that are kept for later devices and sessions, the same
// tokens with them, nothing changed when it is cancelled. Runs on a tiny model with a cache folder
// of its own; exits 77 without a device.
#include "tests/golden/fixture/tiny_fixture.h"
#include "tests/unit/temp_folder.h"

#include <dirent.h>

struct seen {
    uint32_t n_tuned, n_changed;
    uint64_t n_progress;
    double last_ns;
};

static void on_tuned(void *user, const struct glinfer_tuned *tuned)
{
    struct seen *seen = user;
    assert_true(tuned->kernel[0] && tuned->shape[0] && tuned->table_shape[0]);
    assert_true(tuned->n_rows > 0 && tuned->n_dispatches > 0);
    assert_true(tuned->n_candidates > 1 && tuned->ns > 0 && tuned->ns <= tuned->table_ns);
    seen->n_tuned++;
    seen->n_changed += strcmp(tuned->shape, tuned->table_shape) != 0;
}

static bool on_progress(void *user, enum glinfer_phase phase, uint64_t done, uint64_t total)
{
    struct seen *seen = user;
    seen->n_progress += phase == GLINFER_PHASE_TUNE;
    assert_true(done <= total);
    return true;
}

static void tune(struct fixture *f, struct glinfer_tune_stats *stats, struct seen *seen)
{
    struct glinfer_tune_params params;
    glinfer_tune_params_init(&params);
    params.max_ms = 3000;
    params.on_tuned = on_tuned;
    params.progress = on_progress;
    params.user = seen;
    stats->struct_size = sizeof(*stats);
    *seen = (struct seen){0};
    must_do(glinfer_tune(f->session, &params, stats, &err));
}

static void count_row(void *user, const struct glinfer_tuned *tuned)
{
    assert_true(tuned->kernel[0] && tuned->shape[0]);
    (*(uint32_t *)user)++;
}

TEST(tuned_shapes_are_kept_and_give_the_same_tokens)
{
    struct fixture f = {0};
    struct glinfer_tune_stats stats;
    struct glinfer_device_info info = {.struct_size = sizeof(info)};
    struct seen seen;
    int32_t before[N_PREDICT], after[N_PREDICT], later[N_PREDICT];
    uint32_t n_row = 0;
    open_fixture(&f, temp_folder);
    assert_int_equal(glinfer_device_tuning(f.tiny.device, NULL, NULL), 0);
    generate(&f, NULL, before);
    tune(&f, &stats, &seen);
    assert_true(seen.n_tuned > 0 && seen.n_progress > 0);
    assert_int_equal(seen.n_tuned, stats.n_measured);
    assert_int_equal(seen.n_changed, stats.n_changed);
    assert_non_null(stats.path);
    assert_int_equal(access(stats.path, R_OK), 0);
    assert_true(stats.n_measured <= stats.n_sites && stats.step_ns <= stats.table_step_ns);
    generate(&f, NULL, after);
    close_fixture(&f);

    open_fixture(&f, temp_folder);
    const size_t n_kept = glinfer_device_tuning(f.tiny.device, count_row, &n_row);
    assert_in_range(n_kept, seen.n_tuned, seen.n_tuned + 1); // how grids are dispatched is one more
    assert_int_equal(n_row, n_kept);
    glinfer_device_describe(f.tiny.device, &info);
    assert_int_equal(info.n_tuned, n_kept);
    generate(&f, NULL, later);
    close_fixture(&f);
    assert_memory_equal(before, after, sizeof(before));
    assert_memory_equal(before, later, sizeof(before));
}

struct halves {
    uint32_t n_half, n_single;
    char shapes[1024]; // of the latter
};

static void sort_row(void *user, const struct glinfer_tuned *tuned)
{
    struct halves *halves = user;
    if (strncmp(tuned->kernel, "gemv_", 5) != 0) {
        return;
    }
    if (strstr(tuned->kernel, "_half")) {
        halves->n_half++;
        return;
    }
    const size_t n = strlen(halves->shapes);
    halves->n_single++;
    snprintf(halves->shapes + n, sizeof(halves->shapes) - n, "%s %s\n", tuned->kernel,
             tuned->shape);
}

// Shapes of products in f16 and in f32 do not take each other's place.
TEST(precisions_are_tuned_apart)
{
    static const struct test_setting has_halves[] = {{"GLINFER_HALF", "yes"}, {0}};
    struct halves halves[2] = {0};
    struct glinfer_tune_stats stats;
    struct seen seen;
    struct glinfer_error err;
    for (int i = 0; i < 2; i++) {
        struct fixture f = {.settings = has_halves,
                            .params = session_params(
                                64, 16, i == 0 ? GLINFER_PRECISION_F32 : GLINFER_PRECISION_F16)};
        open_fixture(&f, temp_folder);
        assert_true(i == 1 ||
                    glinfer_device_reset_tuning(f.tiny.device, &err)); // left by an earlier test
        tune(&f, &stats, &seen);
        glinfer_device_tuning(f.tiny.device, sort_row, &halves[i]);
        close_fixture(&f);
    }
    assert_int_equal(halves[0].n_half, 0);
    assert_true(halves[0].n_single > 0);
    assert_true(halves[1].n_half > 0);
    assert_string_equal(halves[0].shapes, halves[1].shapes);
}

TEST(reset_forgets)
{
    struct fixture f = {0};
    for (int i = 0; i < 2; i++) {
        open_fixture(&f, temp_folder);
        assert_int_equal(glinfer_device_tuning(f.tiny.device, NULL, NULL) > 0, i == 0);
        must_do(glinfer_device_reset_tuning(f.tiny.device, &err));
        assert_int_equal(glinfer_device_tuning(f.tiny.device, NULL, NULL), 0);
        close_fixture(&f);
    }
}

static uint32_t count_kept_files(void)
{
    char path[80];
    uint32_t n = 0;
    snprintf(path, sizeof(path), "%s/tuning", temp_folder);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        n += entry->d_name[0] != '.';
    }
    if (folder) {
        closedir(folder);
    }
    return n;
}

static bool cancel_by_session(void *session, enum glinfer_phase phase, uint64_t done,
                              uint64_t total)
{
    (void)phase, (void)done, (void)total;
    glinfer_session_cancel(session);
    return true;
}

TEST(cancelled_tuning_changes_nothing)
{
    struct fixture f = {0};
    int32_t before[N_PREDICT], after[N_PREDICT];
    open_fixture(&f, temp_folder);
    generate(&f, NULL, before);
    struct glinfer_tune_params params;
    glinfer_tune_params_init(&params);
    params.progress = cancel_by_session;
    params.user = f.session;
    must_fail(glinfer_tune(f.session, &params, NULL, &err), CANCELLED, "");
    assert_int_equal(glinfer_device_tuning(f.tiny.device, NULL, NULL), 0);
    assert_int_equal(count_kept_files(), 0);
    glinfer_session_reset(f.session);
    generate(&f, NULL, after);
    assert_memory_equal(before, after, sizeof(before));
    close_fixture(&f);
}

TEST(tuning_without_a_cache_says_so)
{
    struct fixture f = {0};
    struct glinfer_tune_params params;
    glinfer_tune_params_init(&params);
    params.max_ms = 1;
    open_fixture(&f, "");
    must_fail(glinfer_tune(f.session, &params, NULL, &err), IO, "");
    close_fixture(&f);
}

// Puts a file in the place of the folder once measuring began.
static bool take_folder_away(void *user, enum glinfer_phase phase, uint64_t done, uint64_t total)
{
    bool *is_consumed = user;
    (void)done, (void)total;
    if (phase == GLINFER_PHASE_TUNE && !*is_consumed) {
        remove_temp_folder(NULL);
        write_file(temp_folder, "", 0);
        *is_consumed = true;
    }
    return true;
}

// The last test, since it takes the folder away.
TEST(tuning_that_cannot_be_kept_changes_nothing)
{
    struct fixture f = {0};
    struct glinfer_tune_params params;
    struct glinfer_device_info before = {.struct_size = sizeof(before)}, after = before;
    struct glinfer_error err;
    bool is_consumed = false;
    glinfer_tune_params_init(&params);
    params.max_ms = 1000;
    params.progress = take_folder_away;
    params.user = &is_consumed;
    open_fixture(&f, temp_folder);
    glinfer_device_describe(f.tiny.device, &before);
    assert_false(glinfer_tune(f.session, &params, NULL, &err));
    assert_true(is_consumed);
    assert_int_equal(err.status, GLINFER_STATUS_IO);
    assert_int_equal(glinfer_device_tuning(f.tiny.device, NULL, NULL), 0);
    glinfer_device_describe(f.tiny.device, &after);
    assert_memory_equal(&before, &after, offsetof(struct glinfer_device_info, cache_refusal));
    assert_string_equal(before.cache_refusal, "");
    assert_says(after.cache_refusal, temp_folder); // and why
    close_fixture(&f);
}

RUN_TESTS(make_temp_folder, remove_temp_folder)
