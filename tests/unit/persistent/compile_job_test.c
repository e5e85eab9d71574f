// The bytes by which one process has a program compiled by another.
#include "persistent/compile_job.h"
#include "tests/unit/cmocka_test.h"

#include <stdlib.h>
#include <string.h>

static const struct gi_compile_job some_job = {
    .key = {0x0123456789abcdef, 0xfedcba9876543210},
    .capability = 0x281,
    .text = "void main()\n{\n}\n",
};

static void a_job_reads_as_it_was_written(void **state)
{
    struct gi_compile_job found;
    size_t size;
    (void)state;
    char *data = gi_compile_job_format(&some_job, &size, NULL);
    assert_non_null(data);
    assert_int_equal(strlen(data), size);
    assert_true(gi_compile_job_parse(data, size, &found, NULL));
    assert_memory_equal(&found.key, &some_job.key, sizeof(found.key));
    assert_int_equal(found.capability, some_job.capability);
    assert_string_equal(found.text, some_job.text);
    free(data);
}

// All of its first line counts; the text is the compiler's to judge.
static void a_damaged_job_is_refused(void **state)
{
    struct gi_compile_job found;
    struct glinfer_error err;
    size_t size;
    (void)state;
    char *data = gi_compile_job_format(&some_job, &size, NULL);
    assert_non_null(data);
    const size_t head = (size_t)(strchr(data, '\n') - data);
    for (size_t i = 0; i <= head; i++) {
        const char sound = data[i];
        data[i] = '~';
        assert_false(gi_compile_job_parse(data, size, &found, &err));
        assert_int_equal(err.status, GLINFER_STATUS_INVALID_ARGUMENT);
        data[i] = '\0';
        assert_false(gi_compile_job_parse(data, i, &found, &err));
        data[i] = sound;
    }
    data[size - 3] = '\0'; // a text that ends before the bytes do
    assert_false(gi_compile_job_parse(data, size, &found, &err));
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_reads_as_it_was_written),
        cmocka_unit_test(a_damaged_job_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
