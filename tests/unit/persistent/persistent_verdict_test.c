// Tests the file that keeps how a persistent program did, and files that are damaged.
#include "base/cache_file.h"
#include "persistent/persistent_verdict.h"
#include "tests/unit/temp_folder.h"

#include <errno.h>

static const struct gi_hash key = {0x0123456789abcdef, 0xfedcba9876543210};

static void expect(const struct gi_verdict *found, enum gi_verdict_kind kind)
{
    assert_int_equal(found->kind, kind);
    if (kind == GI_VERDICT_NONE) {
        assert_int_equal(found->multi_ns, 0);
        assert_int_equal(found->persistent_ns, 0);
    }
}

TEST(a_line_says_what_was_written)
{
    static const struct gi_verdict verdicts[] = {
        {GI_VERDICT_FASTER, 790000, 380000},
        {GI_VERDICT_SLOWER, 380000, 790000},
        {GI_VERDICT_SLOWER, 5, 5},
        {GI_VERDICT_WRONG, 0, 0},
        {GI_VERDICT_REFUSED, 0, 0},
        {GI_VERDICT_SLOWER, 1, UINT64_MAX},
        {GI_VERDICT_FASTER, UINT64_MAX, UINT64_MAX - 1},
    };
    for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
        char line[GI_VERDICT_LINE_SIZE];
        gi_verdict_format(&verdicts[i], &key, line);
        assert_true(strlen(line) < sizeof(line) - 1);
        const struct gi_verdict found = gi_verdict_parse(line, &key);
        expect(&found, verdicts[i].kind);
        assert_true(found.multi_ns == verdicts[i].multi_ns);
        assert_true(found.persistent_ns == verdicts[i].persistent_ns);
    }
}

TEST(another_programs_line_is_no_verdict)
{
    const struct gi_verdict verdict = {GI_VERDICT_FASTER, 2, 1};
    const struct gi_hash other = {key.lo, key.hi ^ 1};
    char line[GI_VERDICT_LINE_SIZE];
    gi_verdict_format(&verdict, &key, line);
    const struct gi_verdict found = gi_verdict_parse(line, &other);
    expect(&found, GI_VERDICT_NONE);
}

// If any byte is lost or changed, only a figure may differ.
TEST(a_damaged_line_is_no_verdict)
{
    const struct gi_verdict verdict = {GI_VERDICT_FASTER, 790123, 380456};
    char sound[GI_VERDICT_LINE_SIZE], line[GI_VERDICT_LINE_SIZE];
    gi_verdict_format(&verdict, &key, sound);
    for (size_t i = 0; i < strlen(sound); i++) {
        snprintf(line, sizeof(line), "%.*s", (int)i, sound);
        struct gi_verdict found = gi_verdict_parse(line, &key);
        expect(&found, GI_VERDICT_NONE);
        for (int bit = 0; bit < 7; bit++) {
            memcpy(line, sound, sizeof(line));
            line[i] ^= (char)(1 << bit);
            found = gi_verdict_parse(line, &key);
            const bool is_figure = sound[i] >= '0' && sound[i] <= '9';
            expect(&found, is_figure ? found.kind : GI_VERDICT_NONE);
            assert_true(found.kind == GI_VERDICT_NONE || found.kind == GI_VERDICT_FASTER);
        }
    }
}

TEST(what_contradicts_itself_is_no_verdict)
{
    static const struct gi_verdict verdicts[] = {
        {GI_VERDICT_FASTER, 1, 2}, {GI_VERDICT_FASTER, 2, 2}, {GI_VERDICT_FASTER, 0, 0},
        {GI_VERDICT_SLOWER, 2, 1}, {GI_VERDICT_NONE, 1, 2},
    };
    for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
        char line[GI_VERDICT_LINE_SIZE];
        gi_verdict_format(&verdicts[i], &key, line);
        const struct gi_verdict found = gi_verdict_parse(line, &key);
        assert_int_equal(found.kind, GI_VERDICT_NONE);
    }
}

TEST(a_folder_gives_back_what_it_was_given)
{
    const struct gi_verdict verdict = {GI_VERDICT_SLOWER, 1, 2}, newer = {GI_VERDICT_WRONG, 0, 0};
    const struct gi_hash other = {1, 2};
    const char *inner = temp_path("persistent");
    struct gi_verdict found = gi_verdict_load(inner, &key);
    expect(&found, GI_VERDICT_NONE);
    assert_true(gi_verdict_store(inner, &key, &verdict));
    found = gi_verdict_load(inner, &key);
    expect(&found, GI_VERDICT_SLOWER);
    found = gi_verdict_load(inner, &other);
    expect(&found, GI_VERDICT_NONE);
    assert_true(gi_verdict_store(inner, &key, &newer));
    found = gi_verdict_load(inner, &key);
    expect(&found, GI_VERDICT_WRONG);
    gi_verdict_forget(inner, &key);
    gi_verdict_forget(inner, &other);
    found = gi_verdict_load(inner, &key);
    expect(&found, GI_VERDICT_NONE);
    assert_true(gi_verdict_store(inner, &key, &newer));
    char digits[33], path[128];
    gi_hash_text(&key, digits);
    snprintf(path, sizeof(path), "%s/%s", inner, digits);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(inner), 0);
}

static enum gi_verdict_kind kind_in(const char *folder)
{
    return gi_verdict_load(folder, &key).kind;
}

static bool has_lock(const char *folder)
{
    char digits[33], path[128];
    gi_hash_text(&key, digits);
    snprintf(path, sizeof(path), "%s/.%s", folder, digits);
    return access(path, F_OK) == 0;
}

TEST(a_refusal_is_believed_the_second_time)
{
    struct gi_verdict_lock lock, other;
    const char *folder = temp_folder;
    for (int is_elsewhere = 0; is_elsewhere < 2; is_elsewhere++) { // refused the second time
        gi_verdict_refuse(folder, &key);
        assert_int_equal(kind_in(folder), GI_VERDICT_NONE);
        assert_true(gi_verdict_lock(folder, &key, &lock));
        assert_int_equal(lock.n_begun, 1);
        gi_verdict_refuse(folder, &key); // that is for the lock's holder to find out
        assert_false(gi_verdict_lock(folder, &key, &other));
        assert_int_equal(errno, EWOULDBLOCK);
        assert_int_equal(kind_in(folder), GI_VERDICT_NONE);
        if (is_elsewhere) {
            assert_true(gi_verdict_begin(&lock));
            gi_verdict_unlock(folder, &key, &lock, true);
        } else {
            close(lock.fd); // as a process that ends
            gi_verdict_refuse(folder, &key);
        }
        assert_int_equal(kind_in(folder), GI_VERDICT_REFUSED);
        assert_false(has_lock(folder));
        gi_verdict_forget(folder, &key);
    }
    assert_int_equal(rmdir(folder), 0);
}

TEST(what_compiles_forgets_refusals)
{
    struct gi_verdict_lock lock;
    const char *folder = temp_folder;
    gi_verdict_refuse(folder, &key);
    assert_true(has_lock(folder));
    assert_true(gi_verdict_lock(folder, &key, &lock));
    assert_true(gi_verdict_begin(&lock));
    gi_verdict_unlock(folder, &key, &lock, false);
    assert_false(has_lock(folder));
    assert_int_equal(kind_in(folder), GI_VERDICT_NONE);
    assert_int_equal(rmdir(folder), 0);
}

TEST(what_is_cleared_forgets_refusals)
{
    const struct gi_hash other = {1, 2};
    const char *folder = temp_folder;
    for (int i = 0; i < 2; i++) { // a verdict, and what would become one
        gi_verdict_refuse(folder, &key);
    }
    gi_verdict_refuse(folder, &other);
    assert_true(gi_cache_clear(folder));
    gi_verdict_refuse(folder, &other);
    assert_int_equal(kind_in(folder), GI_VERDICT_NONE);
    assert_int_equal(gi_verdict_load(folder, &other).kind, GI_VERDICT_NONE);
    assert_true(gi_cache_clear(folder));
    assert_int_equal(rmdir(folder), 0);
}

TEST(without_a_folder_nothing_is_kept)
{
    const struct gi_verdict verdict = {GI_VERDICT_SLOWER, 1, 2};
    assert_false(gi_verdict_store(NULL, &key, &verdict));
    gi_verdict_forget(NULL, &key);
    gi_verdict_refuse(NULL, &key);
    const struct gi_verdict found = gi_verdict_load(NULL, &key);
    expect(&found, GI_VERDICT_NONE);
}

RUN_TESTS_EACH(NULL, NULL, make_temp_folder, remove_temp_folder)
