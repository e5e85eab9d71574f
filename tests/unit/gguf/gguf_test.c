// Tests sound files, from memory or from a path; gguf_refusal_test.c has those that are refused.
#include "gguf/identity.h"
#include "tests/unit/failing_alloc.h"
#include "tests/unit/gguf/gguf_opened.h"
#include "tests/unit/temp_folder.h"

static uint8_t first_byte(const struct gi_gguf *gguf, const struct gi_gguf_tensor *tensor)
{
    uint8_t byte;
    assert_true(gi_gguf_tensor_read(gguf, tensor, 0, 1, &byte, NULL));
    return byte;
}

//-- what a sound file gives -------------------------------------------------------------------

TEST(gguf_reads_integers_of_any_kind)
{
    static const struct {
        const char *key;
        uint32_t value;
    } cases[] = {{"t.u8", 200},          {"t.u16", 60000}, {"t.i16", 12345},
                 {"t.u32", 4000000000u}, {"t.i64", 77},    {"t.none", 42}};
    OPENED o = open_sound_file();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t value;
        assert_true(gi_gguf_get_u32(o.gguf, cases[i].key, 42, &value, NULL));
        assert_int_equal(value, cases[i].value);
    }
}

TEST(gguf_refuses_integers_that_do_not_fit)
{
    static const char *const keys[] = {"t.i8", "t.i32", "t.u64"};
    static const char *const says[] = {"is -5", "is -7", "is 18446744073709551615"};
    OPENED o = open_sound_file();
    for (size_t i = 0; i < 3; i++) {
        uint32_t value;
        assert_fails(gi_gguf_get_u32(o.gguf, keys[i], 42, &value, &o.err), o.err, BAD_FILE, "");
        assert_non_null(strstr(o.err.message, keys[i]));
        assert_non_null(strstr(o.err.message, says[i]));
    }
}

TEST(gguf_refuses_a_value_of_another_kind)
{
    OPENED o = open_sound_file();
    uint32_t u32;
    float f32;
    bool boolean;
    struct gi_gguf_string string;
    struct gi_gguf_array array;
    assert_false(gi_gguf_get_u32(o.gguf, "t.f32", 0, &u32, &o.err));
    assert_string_equal(o.err.message,
                        "test.gguf: metadata key t.f32 is of kind f32, expected a whole number");
    assert_false(gi_gguf_get_u32(o.gguf, "t.bool", 0, &u32, &o.err));
    assert_false(gi_gguf_get_f32(o.gguf, "t.u32", 0, &f32, &o.err));
    assert_false(gi_gguf_get_bool(o.gguf, "t.u8", 0, &boolean, &o.err));
    assert_false(gi_gguf_get_string(o.gguf, "t.strings", &string, &o.err));
    assert_false(gi_gguf_get_array(o.gguf, "t.string", GI_GGUF_KIND_STRING, &array, &o.err));
    assert_false(gi_gguf_get_array(o.gguf, "t.f32s", GI_GGUF_KIND_I32, &array, &o.err));
    assert_string_equal(
        o.err.message,
        "test.gguf: metadata key t.f32s is an array of f32, expected an array of i32");
}

TEST(gguf_reads_floats_bools_and_strings)
{
    OPENED o = open_sound_file();
    float f32;
    bool boolean;
    struct gi_gguf_string string;
    assert_true(gi_gguf_get_f32(o.gguf, "t.f32", 0, &f32, NULL) && f32 == 0.5f);
    assert_true(gi_gguf_get_f32(o.gguf, "t.f64", 0, &f32, NULL) && f32 == -0.25f);
    assert_true(gi_gguf_get_f32(o.gguf, "t.none", 3, &f32, NULL) && f32 == 3.0f);
    assert_true(gi_gguf_get_bool(o.gguf, "t.bool", false, &boolean, NULL) && boolean);
    assert_true(gi_gguf_get_bool(o.gguf, "t.none", true, &boolean, NULL) && boolean);
    assert_true(gi_gguf_get_string(o.gguf, "t.string", &string, NULL));
    assert_string_is(string, "text\033[2J");
    assert_true(gi_gguf_get_string(o.gguf, "t.none", &string, NULL));
    assert_null(string.data);
    assert_true(gi_gguf_has(o.gguf, "t.u8"));
    assert_false(gi_gguf_has(o.gguf, "t.u"));
    assert_false(gi_gguf_has(o.gguf, ""));
}

TEST(gguf_refuses_f64_beyond_f32)
{
    BUILDER b = {0};
    gguf_header(&b, 0, 1);
    gguf_key(&b, "t.f64", GI_GGUF_KIND_F64);
    gguf_f64(&b, 1e300);
    OPENED o = open_bytes(&b, b.size);
    float f32;
    assert_non_null(o.gguf);
    assert_false(gi_gguf_get_f32(o.gguf, "t.f64", 0, &f32, &o.err));
    assert_says(o.err.message, "1e+300");
}

TEST(gguf_reads_arrays)
{
    OPENED o = open_sound_file();
    struct gi_gguf_array array;
    assert_true(gi_gguf_get_array(o.gguf, "t.strings", GI_GGUF_KIND_STRING, &array, NULL));
    assert_int_equal(array.count, 3);
    assert_string_is(array.strings[0], "one");
    assert_string_is(array.strings[1], "");
    assert_string_is(array.strings[2], "three");
    assert_true(gi_gguf_get_array(o.gguf, "t.i32s", GI_GGUF_KIND_I32, &array, NULL));
    assert_int_equal(array.count, 2);
    assert_int_equal(gi_gguf_array_i32(&array, 0), -1);
    assert_int_equal(gi_gguf_array_i32(&array, 1), 2);
    assert_true(gi_gguf_get_array(o.gguf, "t.f32s", GI_GGUF_KIND_F32, &array, NULL));
    assert_true(array.count == 1 && gi_gguf_array_f32(&array, 0) == 1.5f);
    assert_true(gi_gguf_get_array(o.gguf, "t.bools", GI_GGUF_KIND_BOOL, &array, NULL));
    assert_true(array.count == 2 && !array.data[0] && array.data[1]);
    assert_true(gi_gguf_get_array(o.gguf, "t.empty", GI_GGUF_KIND_STRING, &array, NULL));
    assert_int_equal(array.count, 0);
    assert_true(gi_gguf_get_array(o.gguf, "t.none", GI_GGUF_KIND_STRING, &array, NULL));
    assert_int_equal(array.count, 0);
}

TEST(gguf_takes_u32_for_i32_and_clamps)
{
    OPENED o = open_sound_file();
    struct gi_gguf_array array;
    assert_true(gi_gguf_get_array(o.gguf, "t.u32s", GI_GGUF_KIND_I32, &array, NULL));
    assert_int_equal(array.kind, GI_GGUF_KIND_U32);
    assert_int_equal(gi_gguf_array_i32(&array, 0), 3);
    assert_int_equal(gi_gguf_array_i32(&array, 1), INT32_MAX);
}

TEST(gguf_reads_the_tensor_directory)
{
    OPENED o = open_sound_file();
    assert_int_equal(gi_gguf_tensor_count(o.gguf), 3);
    const struct gi_gguf_tensor *t = gi_gguf_tensor_find(o.gguf, "matrix");
    assert_non_null(t);
    assert_ptr_equal(t, gi_gguf_tensor_at(o.gguf, 2));
    assert_string_is(t->name, "matrix");
    assert_string_equal(t->type->name, "q4_0");
    assert_int_equal(t->n_dims, 2);
    assert_int_equal(t->dims[0], 64);
    assert_int_equal(t->dims[1], 2);
    assert_int_equal(t->dims[2], 1);
    assert_int_equal(t->dims[3], 1);
    assert_int_equal(t->n_elements, 128);
    assert_int_equal(t->size, 72);
    assert_int_equal(t->file_offset, gi_gguf_file_size(o.gguf) - 72);
    assert_int_equal(first_byte(o.gguf, t), 96);
    assert_int_equal(gi_gguf_tensor_at(o.gguf, 1)->size, 48);
    assert_null(gi_gguf_tensor_find(o.gguf, "matri"));
    assert_null(gi_gguf_tensor_find(o.gguf, ""));
}

TEST(gguf_opens_a_vocabulary_without_tensors)
{
    enum { N_TOKEN = 262144 };
    BUILDER b = {0};
    gguf_header(&b, 0, 1);
    gguf_array(&b, "tokens", GI_GGUF_KIND_STRING, N_TOKEN);
    for (int i = 0; i < N_TOKEN; i++) {
        char text[16];
        snprintf(text, sizeof(text), "token%d", i);
        gguf_string(&b, text);
    }
    OPENED o = open_bytes(&b, b.size);
    struct gi_gguf_array array;
    assert_non_null(o.gguf);
    assert_true(gi_gguf_get_array(o.gguf, "tokens", GI_GGUF_KIND_STRING, &array, NULL));
    assert_string_is(array.strings[N_TOKEN - 1], "token262143");
}

TEST(gguf_opens_version_2)
{
    BUILDER b = {0};
    gguf_sound_file(&b);
    b.data[4] = 2;
    OPENED o = open_bytes(&b, b.size);
    assert_non_null(o.gguf);
}

TEST(gguf_obeys_the_alignment_key)
{
    BUILDER b = {0};
    gguf_header(&b, 2, 1);
    gguf_pair_u32(&b, "general.alignment", 256);
    gguf_tensor(&b, "a", 1, (uint64_t[]){1}, GI_GGML_TYPE_F32, 0);
    gguf_tensor(&b, "b", 1, (uint64_t[]){1}, GI_GGML_TYPE_F32, 256);
    gguf_pad(&b, 256);
    gguf_u32(&b, 1);
    gguf_pad(&b, 256);
    gguf_u32(&b, 2);
    OPENED o = open_bytes(&b, b.size);
    assert_non_null(o.gguf);
    assert_int_equal(gi_gguf_tensor_find(o.gguf, "b")->file_offset, 512);
    assert_int_equal(first_byte(o.gguf, gi_gguf_tensor_find(o.gguf, "b")), 2);
}

//-- files -------------------------------------------------------------------------------------

static const char *write_sound_file(void)
{
    BUILDER b = {0};
    gguf_sound_file(&b);
    write_file(temp_path("sound"), b.data, b.size);
    return temp_path("sound");
}

// Blocks that the cursor reads end anywhere.
TEST(gguf_of_a_path_has_what_memory_has)
{
    const char *path = temp_path("words");
    BUILDER b = {0};
    struct gi_gguf_array array;
    enum { N_STRING = 60000 };
    gguf_header(&b, 0, 1);
    gguf_array(&b, "words", 8, N_STRING);
    for (uint32_t i = 0; i < N_STRING; i++) {
        char word[16];
        snprintf(word, sizeof(word), "word %u", i);
        gguf_string(&b, word);
    }
    write_file(path, b.data, b.size);
    GGUF *gguf = gi_gguf_open(GI_SOURCE_PATH(path), NULL);
    assert_non_null(gguf);
    assert_true(gi_gguf_get_array(gguf, "words", GI_GGUF_KIND_STRING, &array, NULL));
    assert_int_equal(array.count, N_STRING);
    for (uint32_t i = 0; i < N_STRING; i++) {
        char expected[16];
        snprintf(expected, sizeof(expected), "word %u", i);
        assert_string_is(array.strings[i], expected);
    }
}

// A changed vocabulary or weight is another model; the same bytes elsewhere are the same one.
TEST(gguf_identity_is_that_of_the_content)
{
    const char *path = write_sound_file();
    BUILDER b = {0};
    struct gi_hash hashes[4];
    gguf_sound_file(&b);
    for (int i = 0; i < 4; i++) {
        uint8_t *changed = i == 2 ? b.data + b.size - 1 : i == 3 ? b.data + 40 : NULL;
        if (changed) {
            *changed ^= 1;
        }
        GGUF *gguf = gi_gguf_open(
            i == 0 ? GI_SOURCE_PATH(path) : GI_SOURCE_MEMORY(b.data, b.size, "memory"), NULL);
        assert_non_null(gguf);
        assert_true(gi_gguf_identify(gguf, &hashes[i], NULL));
    }
    assert_memory_equal(&hashes[0], &hashes[1], sizeof(hashes[0]));
    assert_memory_not_equal(&hashes[1], &hashes[2], sizeof(hashes[0]));
    assert_memory_not_equal(&hashes[2], &hashes[3], sizeof(hashes[0]));
}

TEST(gguf_tells_a_file_that_has_shrunk)
{
    const char *path = write_sound_file();
    uint8_t bytes[72];
    GGUF *gguf = gi_gguf_open(GI_SOURCE_PATH(path), NULL);
    assert_non_null(gguf);
    assert_int_equal(truncate(path, (off_t)gi_gguf_file_size(gguf) - 1), 0);
    const struct gi_gguf_tensor *t = gi_gguf_tensor_find(gguf, "matrix");
    must_fail(gi_gguf_tensor_read(gguf, t, 0, t->size, bytes, &err), IO,
              "was changed while it was read");
}

TEST(gguf_refuses_paths_that_are_no_file)
{
    must_fail(gi_gguf_open(GI_SOURCE_PATH("/nonexistent.gguf"), &err), NOT_FOUND, "");
    must_fail(gi_gguf_open(GI_SOURCE_PATH("/tmp"), &err), IO, "");
    must_fail(gi_gguf_open(GI_SOURCE_PATH("/dev/null"), &err), IO, "");
}

TEST(gguf_survives_every_failed_allocation)
{
    const char *path = write_sound_file();
    GGUF *gguf = NULL;
    long n_failed = 0;
    for (; !gguf && n_failed < 100; n_failed++) {
        struct glinfer_error err;
        fail_allocations_after(n_failed);
        gguf = gi_gguf_open(GI_SOURCE_PATH(path), &err);
        fail_allocations_after(-1);
        assert_true(gguf || err.status == GLINFER_STATUS_NO_MEMORY);
    }
    assert_non_null(gguf);
    assert_in_range(n_failed, 7, 20); // gguf, path, pairs, 2 string arrays, keys, tensors, names
}

TEST(type_facts_agree_with_the_table)
{
    const struct gi_ggml_type_info *q6_k = gi_ggml_type_find(GI_GGML_TYPE_Q6_K);
    assert_string_equal(q6_k->name, "q6_k");
    assert_int_equal(q6_k->block_size, 256);
    assert_int_equal(q6_k->block_bytes, 210);
    assert_null(gi_ggml_type_find(4));
}

RUN_TESTS(make_temp_folder, remove_temp_folder)
