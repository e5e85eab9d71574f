// Bodies of multipart/form-data.
#include "cli/serve/upload/serve_multipart.h"
#include "tests/unit/cmocka_test.h"

#include <stdio.h>

#define TYPE            "multipart/form-data; boundary=xyz"
#define ENTRY(name)     "Content-Disposition: form-data; name=\"" name "\"\r\n\r\n"
#define FILE_ENTRY(end) "content-type: audio/wav\r\ncontent-disposition: form-data; name=file; " end

static struct serve_form form;
static char why[128];

static bool read_body(const char *type, const char *body)
{
    return serve_form_read(&form, type, body, strlen(body), why, sizeof(why));
}

static void check_entry(const char *name, const char *filename, const char *data)
{
    const struct serve_entry *entry = serve_form_find(&form, name);
    assert_non_null(entry);
    assert_string_equal(entry->filename, filename);
    assert_int_equal(entry->size, strlen(data));
    assert_memory_equal(entry->data, data, entry->size);
}

TEST(entries_have_names_and_data)
{
    assert_true(read_body(
        TYPE,
        "--xyz\r\n" ENTRY("model") "whisper\r\n--xyz\r\n" FILE_ENTRY(
            "filename=\"a;b\\\"c\\d.wav\"") "\r\n\r\nRIFF\r\n--xy\r\n\r\n"
                                            "--xyz \t\r\n" ENTRY("empty") "\r\n--xyz\r\n" ENTRY(
                                                "nothing") "--xyz--\r\nafterwards"));
    assert_int_equal(form.n_entry, 4);
    check_entry("model", "", "whisper");
    check_entry("file", "a;b\"c\\d.wav", "RIFF\r\n--xy\r\n");
    check_entry("empty", "", "");
    assert_null(serve_form_find(&form, "language"));
}

TEST(the_boundary_is_read_as_clients_write_it)
{
    static const struct {
        const char *type, *mark;
    } types[] = {
        {"multipart/form-data; boundary=----WebKitFormBoundaryABC", "----WebKitFormBoundaryABC"},
        {"Multipart/Form-Data; charset=utf-8; BOUNDARY=\"a b;c\"", "a b;c"},
        {"multipart/form-data;boundary=x;charset=\"utf-8\"", "x"},
        {"multipart/form-data; y; boundary=x", "x"},
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        char body[256];
        snprintf(body, sizeof(body), "preamble\r\n--%s\r\n" ENTRY("a") "b\r\n--%s--", types[i].mark,
                 types[i].mark);
        assert_true(serve_form_is(types[i].type));
        assert_true(read_body(types[i].type, body));
        check_entry("a", "", "b");
    }
    assert_false(serve_form_is(NULL));
    assert_false(serve_form_is("application/json"));
    assert_false(serve_form_is("multipart/form-data2; boundary=x"));
    assert_true(serve_form_is("multipart/form-data"));
}

TEST(wrong_bodies_are_refused)
{
#define SEVENTY "1234567890123456789012345678901234567890123456789012345678901234567890"
    static const struct {
        const char *type, *body, *words;
    } wrong[] = {
        {"multipart/form-data", "", "no boundary of 1 to 70 characters"},
        {"multipart/form-data; boundary=", "", "no boundary"},
        {"multipart/form-data; boundary", "", "no boundary"},
        {"multipart/form-data; boundary=" SEVENTY "1", "", "no boundary"},
        {"multipart/form-data; boundary=" SEVENTY, "", "ends before its last boundary"},
        {TYPE, "", "ends before its last boundary"},
        {TYPE, "--xy", "ends before its last boundary"},
        {TYPE, "--xyz", "ends before its last boundary"},
        {TYPE, "{\"file\":1}", "ends before its last boundary"},
        {TYPE, "--xyz\r\n" ENTRY("a") "b", "ends before its last boundary"},
        {TYPE, "--xyz\r\n" ENTRY("a") "b\r\n--xyz", "ends before its last boundary"},
        {TYPE, "--xyz\r\n\r\nb\r\n--xyz--", "no header Content-Disposition with a name"},
        {TYPE, "--xyz\r\nContent-Type: a\r\n\r\nb\r\n--xyz--", "no header Content-Disposition"},
        {TYPE, "--xyz\r\nContent-Disposition: form-data; name=\r\n\r\nb\r\n--xyz--", "no header"},
        {TYPE, "--xyz\r\nContent-Disposition: form-data; name=a", "no header"},
        {TYPE, "--xyz123\r\n" ENTRY("a") "b\r\n--xyz--", "no header"},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_false(read_body(wrong[i].type, wrong[i].body));
        assert_says(why, "invalid multipart/form-data: ");
        assert_says(why, wrong[i].words);
    }
}

TEST(entries_and_their_headers_have_limits)
{
    static char body[20000];
    for (int n = SERVE_MAX_ENTRIES; n <= SERVE_MAX_ENTRIES + 1; n++) {
        int size = 0;
        for (int i = 0; i < n; i++) {
            size +=
                snprintf(body + size, sizeof(body) - (size_t)size, "\r\n--xyz\r\n" ENTRY("a") "b");
        }
        snprintf(body + size, sizeof(body) - (size_t)size, "\r\n--xyz--");
        assert_true(read_body(TYPE, body) == (n == SERVE_MAX_ENTRIES));
    }
    assert_says(why, "more than 64 entries");
    int n =
        snprintf(body, sizeof(body), "--xyz\r\nX: %*s\r\n" ENTRY("a"), SERVE_MAX_ENTRY_HEAD, "");
    snprintf(body + n, sizeof(body) - (size_t)n, "b\r\n--xyz--");
    assert_false(read_body(TYPE, body));
    n = snprintf(body, sizeof(body), "--xyz\r\n" FILE_ENTRY("filename=%0300d\r\n\r\n"), 1);
    snprintf(body + n, sizeof(body) - (size_t)n, "b\r\n--xyz--");
    assert_true(read_body(TYPE, body));
    assert_int_equal(strlen(form.entries[0].filename), sizeof(form.entries[0].filename) - 1);
}

RUN_TESTS(NULL, NULL)
