// Tests heads that are written and composed models.
#include "gguf/gguf_writer.h"
#include "gguf/identity.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/failing_alloc.h"
#include "tests/unit/gguf/gguf_opened.h"

static int n_destroyed;

// Byte i of tensor t is 16 t + i.
static bool read_pattern(void *user, size_t tensor, uint64_t offset, size_t size, void *out,
                         struct glinfer_error *err)
{
    uint8_t *bytes = out;
    if (user) {
        return gi_error_set(err, GLINFER_STATUS_IO, "the reader fails");
    }
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(16 * tensor + offset + i);
    }
    return true;
}

static void count_destroy(void *user)
{
    (void)user;
    n_destroyed++;
}

static const struct gi_gguf_tensor_reader pattern = {.read = read_pattern,
                                                     .destroy = count_destroy};
#define WRITER __attribute__((cleanup(gi_gguf_writer_finish))) struct gi_gguf_writer

static void write_all(struct gi_gguf_writer *w)
{
    static const struct gi_gguf_string strings[] = {{"a", 1}, {"", 0}, {"b\0c", 3}};
    gi_gguf_add_string(w, "general.architecture", "llama", 5);
    gi_gguf_add_u32(w, "t.u32", 4000000000u);
    gi_gguf_add_i32(w, "t.i32", 7);
    gi_gguf_add_f32(w, "t.f32", -0.5f);
    gi_gguf_add_bool(w, "t.bool", true);
    gi_gguf_add_strings(w, "t.strings", strings, 3);
    gi_gguf_add_u8s(w, "t.u8s", (const uint8_t[]){7, 255}, 2);
    gi_gguf_add_u32s(w, "t.u32s", (const uint32_t[]){1, 2, 3}, 3);
    gi_gguf_add_i32s(w, "t.i32s", (const int32_t[]){-1, 2}, 2);
    gi_gguf_add_f32s(w, "t.f32s", (const float[]){0.25f}, 1);
    gi_gguf_add_bools(w, "t.bools", (const bool[]){true, false}, 2);
    gi_gguf_add_tensor(w, "vector", GI_GGML_TYPE_F32, 1, (const uint64_t[4]){3});
    gi_gguf_add_tensor(w, "matrix", GI_GGML_TYPE_Q8_0, 2, (const uint64_t[4]){64, 2});
}

TEST(a_composed_model_has_what_was_written)
{
    WRITER w = {0};
    uint32_t u32;
    float f32;
    bool boolean;
    struct gi_gguf_string string;
    struct gi_gguf_array array;
    write_all(&w);
    GGUF *gguf = must_do(gi_gguf_compose(&w, "folder", &pattern, &err));
    assert_string_equal(gi_gguf_path(gguf), "folder");
    assert_true(gi_gguf_get_string(gguf, "general.architecture", &string, NULL));
    assert_string_is(string, "llama");
    assert_true(gi_gguf_get_u32(gguf, "t.u32", 0, &u32, NULL) && u32 == 4000000000u);
    assert_true(gi_gguf_get_u32(gguf, "t.i32", 0, &u32, NULL) && u32 == 7);
    assert_true(gi_gguf_get_f32(gguf, "t.f32", 0, &f32, NULL) && f32 == -0.5f);
    assert_true(gi_gguf_get_bool(gguf, "t.bool", false, &boolean, NULL) && boolean);
    assert_true(gi_gguf_get_array(gguf, "t.strings", GI_GGUF_KIND_STRING, &array, NULL));
    assert_int_equal(array.count, 3);
    assert_memory_equal(array.strings[2].data, "b\0c", 3);
    assert_true(gi_gguf_get_array(gguf, "t.u8s", GI_GGUF_KIND_U8, &array, NULL));
    assert_int_equal(array.count, 2);
    assert_int_equal(array.data[1], 255);
    assert_true(gi_gguf_get_array(gguf, "t.u32s", GI_GGUF_KIND_U32, &array, NULL));
    assert_int_equal(gi_gguf_array_i32(&array, 2), 3);
    assert_true(gi_gguf_get_array(gguf, "t.i32s", GI_GGUF_KIND_I32, &array, NULL));
    assert_int_equal(gi_gguf_array_i32(&array, 0), -1);
    assert_true(gi_gguf_get_array(gguf, "t.f32s", GI_GGUF_KIND_F32, &array, NULL));
    assert_true(gi_gguf_array_f32(&array, 0) == 0.25f);
    assert_true(gi_gguf_get_array(gguf, "t.bools", GI_GGUF_KIND_BOOL, &array, NULL));
    assert_int_equal(array.count, 2);
}

TEST(a_composed_model_reads_its_tensors_from_the_reader)
{
    WRITER w = {0};
    uint8_t bytes[4];
    size_t head_size;
    write_all(&w);
    GGUF *gguf = must_do(gi_gguf_compose(&w, "folder", &pattern, &err));
    const struct gi_gguf_tensor *t = gi_gguf_tensor_find(gguf, "matrix");
    assert_non_null(t);
    assert_int_equal(t->size, 2 * 2 * 34);
    must_do(gi_gguf_tensor_read(gguf, t, 5, sizeof(bytes), bytes, &err));
    assert_memory_equal(bytes, ((const uint8_t[]){21, 22, 23, 24}), sizeof(bytes));
    assert_non_null(gi_gguf_composed_head(gguf, &head_size));
    assert_int_equal(gi_gguf_tensor_at(gguf, 0)->file_offset, head_size);
    assert_int_equal(t->file_offset, head_size + 32);
    assert_int_equal(gi_gguf_file_size(gguf), head_size + 32 + 160);
}

TEST(a_written_head_and_its_tensors_are_a_gguf_file)
{
    WRITER w = {0};
    size_t size;
    write_all(&w);
    GGUF *composed = must_do(gi_gguf_compose(&w, "folder", &pattern, &err));
    const uint8_t *head = gi_gguf_composed_head(composed, &size);
    BUILDER b = {0};
    gguf_bytes(&b, head, size);
    for (int i = 0; i < 192; i++) {
        gguf_u8(&b, 0);
    }
    OPENED o = open_bytes(&b, b.size);
    must(o.gguf, &o.err);
    assert_int_equal(gi_gguf_tensor_count(o.gguf), 2);
    assert_null(gi_gguf_composed_head(o.gguf, &size));
}

TEST(composed_models_differ_by_head_and_tensors)
{
    struct gi_hash hashes[2];
    for (uint32_t i = 0; i < 2; i++) {
        WRITER w = {0};
        write_all(&w);
        gi_gguf_add_u32(&w, "t.more", i);
        GGUF *gguf = must_do(gi_gguf_compose(&w, "folder", &pattern, &err));
        must_do(gi_gguf_identify(gguf, &hashes[i], &err));
    }
    assert_memory_not_equal(&hashes[0], &hashes[1], sizeof(hashes[0]));
}

TEST(a_composed_model_passes_on_errors_of_its_reader)
{
    WRITER w = {0};
    uint8_t byte;
    int user;
    write_all(&w);
    GGUF *gguf = must_do(gi_gguf_compose(
        &w, "folder", &(struct gi_gguf_tensor_reader){&user, read_pattern, NULL}, &err));
    must_fail(gi_gguf_tensor_read(gguf, gi_gguf_tensor_at(gguf, 0), 0, 1, &byte, &err), IO,
              "the reader fails");
}

TEST(a_writer_keeps_its_first_error)
{
    static const struct {
        uint64_t dims[4];
        const char *says;
    } cases[] = {{{33, 2}, "multiple of 32"},
                 {{0, 2}, "a dimension is 0"},
                 {{1ull << 40, 1ull << 40}, "a dimension"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        WRITER w = {0};
        gi_gguf_add_tensor(&w, "odd", GI_GGML_TYPE_Q8_0, 2, cases[i].dims);
        write_all(&w);
        n_destroyed = 0;
        must_fail(gi_gguf_writer_check(&w, &err), BAD_FILE, cases[i].says);
        must_fail(gi_gguf_compose(&w, "folder", &pattern, &err), BAD_FILE, "tensor odd");
        assert_int_equal(n_destroyed, 1);
    }
}

TEST(tensors_of_more_than_2_63_bytes_together_are_refused)
{
    WRITER w = {0};
    static const uint64_t dims[4] = {1ull << 30, 1ull << 30}; // 2^62 bytes
    gi_gguf_add_tensor(&w, "a", GI_GGML_TYPE_F32, 2, dims);
    must_do(gi_gguf_writer_check(&w, &err));
    gi_gguf_add_tensor(&w, "b", GI_GGML_TYPE_F32, 2, dims);
    must_fail(gi_gguf_writer_check(&w, &err), BAD_FILE, "more than 2^63 bytes");
}

TEST(a_key_and_a_tensor_that_are_added_twice_are_refused)
{
    for (int i = 0; i < 2; i++) {
        WRITER w = {0};
        write_all(&w);
        if (i == 0) {
            gi_gguf_add_u32(&w, "t.u32", 1);
        } else {
            gi_gguf_add_tensor(&w, "vector", GI_GGML_TYPE_F32, 1, (const uint64_t[4]){3});
        }
        must_fail(gi_gguf_compose(&w, "folder", &pattern, &err), BAD_FILE, "appears twice");
    }
}

TEST(a_writer_survives_every_failed_allocation)
{
    struct gi_gguf *gguf = NULL;
    long n_failed = 0;
    for (; !gguf && n_failed < 100; n_failed++) {
        struct glinfer_error err = {0};
        WRITER w = {0};
        n_destroyed = 0;
        fail_allocations_after(n_failed);
        write_all(&w);
        gguf = gi_gguf_compose(&w, "folder", &pattern, &err);
        fail_allocations_after(-1);
        assert_true(gguf || err.status == GLINFER_STATUS_NO_MEMORY);
        assert_int_equal(n_destroyed, gguf ? 0 : 1);
    }
    assert_non_null(gguf);
    gi_gguf_close(gguf);
    assert_int_equal(n_destroyed, 1);
}

RUN_TESTS(NULL, NULL)
