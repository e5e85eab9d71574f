// Tests files of SafeTensors, sound ones and refused ones, alone and in folders.
#include "hf/safetensors.h"
#include "tests/unit/failing_alloc.h"
#include "tests/unit/temp_folder.h"

#define FILES __attribute__((cleanup(close_files))) struct gi_safetensors
static void close_files(struct gi_safetensors **files)
{
    gi_safetensors_close(*files);
}

// Writes a file: the length of the header, the header, and data_size bytes 0, 1, 2, ...
static size_t make_file(uint8_t out[2048], const char *header, size_t data_size)
{
    const size_t n = strlen(header);
    assert_in_range(8 + n + data_size, 8, 2048);
    memset(out, 0, 8);
    out[0] = (uint8_t)n;
    out[1] = (uint8_t)(n >> 8);
    memcpy(out + 8, header, n);
    for (size_t i = 0; i < data_size; i++) {
        out[8 + n + i] = (uint8_t)i;
    }
    return 8 + n + data_size;
}

static void write_tensors(const char *name, const char *header, size_t data_size)
{
    uint8_t bytes[2048];
    const size_t size = make_file(bytes, header, data_size);
    write_file(temp_path(name), bytes, size);
}

static void write_text(const char *name, const char *text)
{
    write_file(temp_path(name), text, strlen(text));
}

static struct gi_safetensors *open_bytes(const uint8_t *bytes, size_t size,
                                         struct glinfer_error *err)
{
    return gi_safetensors_open(GI_SOURCE_MEMORY(bytes, size, "x.safetensors"), err);
}

static const char two[] = "{\"__metadata__\":{\"format\":\"pt\"},"
                          "\"b\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[4,16]},"
                          "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}   ";

//-- one file --------------------------------------------------------------------------------------

TEST(safetensors_gives_names_types_shapes_and_bytes)
{
    uint8_t bytes[2048], data[3];
    const size_t size = make_file(bytes, two, 16);
    FILES *files = must_do(open_bytes(bytes, size, &err));
    assert_int_equal(gi_safetensors_count(files), 2);
    assert_string_equal(gi_safetensors_at(files, 0)->name, "a");
    assert_int_equal(gi_safetensors_at(files, 0)->n_dims, 0);
    assert_int_equal(gi_safetensors_at(files, 0)->n_elements, 1);
    const struct gi_safetensor *b = gi_safetensors_find(files, "b");
    assert_non_null(b);
    assert_int_equal(b->type, GI_SAFETENSORS_BF16);
    assert_int_equal(b->n_dims, 2);
    assert_int_equal(b->dims[0], 2);
    assert_int_equal(b->dims[1], 3);
    assert_int_equal(b->size, 12);
    must_do(gi_safetensors_read(files, b, 1, sizeof(data), data, &err));
    assert_memory_equal(data, ((const uint8_t[]){5, 6, 7}), sizeof(data));
    assert_null(gi_safetensors_find(files, "c"));
}

TEST(safetensors_without_tensors_are_sound)
{
    uint8_t bytes[2048];
    const size_t size = make_file(bytes, "{}", 0);
    FILES *files = must_do(open_bytes(bytes, size, &err));
    assert_int_equal(gi_safetensors_count(files), 0);
    assert_null(gi_safetensors_find(files, "a"));
}

TEST(safetensors_refuse_wrong_headers)
{
    static const struct {
        const char *header;
        size_t data_size;
        const char *says;
    } cases[] = {
        {"", 0, "invalid JSON at byte 0"},
        {"[]", 0, "is not a JSON object"},
        {"{} x", 0, "invalid JSON at byte 3"},
        {"{\"a\":3}", 0, "tensor a: its description"},
        {"{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "tensor a: dtype"},
        {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "tensor a: shape"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,4]}}", 4, "shape"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4, "shape"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[9007199254740992,2],\"data_offsets\":[0,4]}}", 4,
         "shape"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "data_offsets"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, "data_offsets"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4, "data_offsets"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
         "data_offsets give 4 bytes, expected 2 elements of type F32"},
        {"{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]}}", 1, "expected 3 elem"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 3,
         "ends at byte 4 of the data, which has 3"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 5, "but the file has"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8, "begins at byte"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
         "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[2,6]}}",
         6, "inside tensor a"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
         "\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}}",
         8, "tensor a appears twice"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t bytes[2048];
        const size_t size = make_file(bytes, cases[i].header, cases[i].data_size);
        must_fail(open_bytes(bytes, size, &err), BAD_FILE, cases[i].says);
    }
}

TEST(safetensors_refuse_wrong_lengths_of_headers)
{
    static const struct {
        uint8_t length[8];
        const char *says;
    } cases[] = {
        {{0, 0, 0, 0, 0, 0, 0, 0x80}, "takes 9223372036854775808 bytes"},
        {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, "takes 18446744073709551615 bytes"},
        {{1, 0, 0x40, 6}, "takes 104857601 bytes, at most 104857600"},
        {{0, 0, 0x40, 6}, "but 4 are left"},
        {{5}, "but 4 are left"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t bytes[12] = {0};
        memcpy(bytes, cases[i].length, 8);
        must_fail(open_bytes(bytes, sizeof(bytes), &err), BAD_FILE, cases[i].says);
    }
    must_fail(open_bytes((const uint8_t *)"1234567", 7, &err), BAD_FILE, "it has 7 bytes");
    must_fail(open_bytes((const uint8_t *)"version https://git-lfs", 23, &err), BAD_FILE,
              "is a pointer of Git LFS");
}

TEST(safetensors_refuse_types_by_name)
{
    uint8_t bytes[2048];
    size_t size =
        make_file(bytes, "{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[4],\"data_offsets\":[0,4]}}", 4);
    FILES *files = must_do(open_bytes(bytes, size, &err));
    must_fail(gi_safetensors_check_type(files, gi_safetensors_at(files, 0), &err), UNSUPPORTED,
              "tensor a has type F8_E4M3");
    size = make_file(bytes, "{\"a\":{\"dtype\":\"Q3\",\"shape\":[4],\"data_offsets\":[0,4]}}", 4);
    must_fail(open_bytes(bytes, size, &err), UNSUPPORTED, "tensor a has type Q3");
    size = make_file(bytes,
                     "{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],"
                     "\"data_offsets\":[0,1]}}",
                     1);
    must_fail(open_bytes(bytes, size, &err), UNSUPPORTED, "more than 8 dimensions");
}

TEST(safetensors_survive_every_failed_allocation)
{
    uint8_t bytes[2048];
    const size_t size = make_file(bytes, two, 16);
    struct gi_safetensors *files = NULL;
    long n_failed = 0;
    for (; !files && n_failed < 100; n_failed++) {
        struct glinfer_error err = {0};
        fail_allocations_after(n_failed);
        files = open_bytes(bytes, size, &err);
        fail_allocations_after(-1);
        assert_true(files || err.status == GLINFER_STATUS_NO_MEMORY);
    }
    assert_in_range(n_failed, 5, 20);
    gi_safetensors_close(files);
}

//-- folders ---------------------------------------------------------------------------------------

#define ONE(name) "{\"" name "\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}"

TEST(a_folder_is_read_by_its_index)
{
    write_tensors("x.safetensors", ONE("a"), 4);
    write_tensors("y.safetensors", ONE("b"), 4);
    write_tensors("model.safetensors", ONE("c"), 4); // not in the index
    write_text(
        "model.safetensors.index.json",
        "{\"metadata\":{},\"weight_map\":{\"b\":\"y.safetensors\",\"a\":\"x.safetensors\"}}");
    FILES *files = must_do(gi_safetensors_open_folder(temp_folder, &err));
    assert_int_equal(gi_safetensors_count(files), 2);
    assert_says(gi_safetensors_file_path(files, gi_safetensors_find(files, "b")), "/y.safetensors");
}

TEST(a_folder_without_an_index_is_read_whole)
{
    write_tensors("model-00001-of-00002.safetensors", ONE("a"), 4);
    write_tensors("model-00002-of-00002.safetensors", ONE("b"), 4);
    write_tensors("adapter.safetensors", ONE("c"), 4);
    FILES *files = must_do(gi_safetensors_open_folder(temp_folder, &err));
    assert_int_equal(gi_safetensors_count(files), 2);
    write_tensors("model.safetensors", ONE("d"), 4);
    FILES *whole = must_do(gi_safetensors_open_folder(temp_folder, &err));
    assert_int_equal(gi_safetensors_count(whole), 1);
}

TEST(a_folder_tells_of_missing_files)
{
    must_fail(gi_safetensors_open_folder(temp_folder, &err), NOT_FOUND, "has no file model.safet");
    write_tensors("model-00001-of-00002.safetensors", ONE("a"), 4);
    must_fail(gi_safetensors_open_folder(temp_folder, &err), NOT_FOUND, "has 1 of the 2 files");
    write_text("model.safetensors.index.json", "{\"weight_map\":{\"a\":\"z.safetensors\"}}");
    must_fail(gi_safetensors_open_folder(temp_folder, &err), NOT_FOUND,
              "/z.safetensors: the file is missing, which model.safetensors.index.json lists");
}

TEST(a_wrong_index_is_refused)
{
    static const struct {
        const char *index, *says;
    } cases[] = {
        {"{", "invalid JSON"},
        {"{}", "weight_map is missing"},
        {"{\"weight_map\":{\"a\":3}}", "tensor a: invalid file name"},
        {"{\"weight_map\":{\"a\":\"../x.safetensors\"}}", "invalid file name"},
        {"{\"weight_map\":{\"a\":\"f/x.safetensors\"}}", "invalid file name"},
        {"{\"weight_map\":{\"a\":\"x.safetensors\",\"a\":\"y.safetensors\"}}",
         "has two values of a:"},
        {"{\"weight_map\":{\"a\":\"x.safetensors\",\"a\":\"x.safetensors\"}}",
         "names tensor a twice"},
        {"{\"weight_map\":{\"a\":\"y.safetensors\",\"b\":\"x.safetensors\"}}",
         "tensor a is not in y.safetensors"},
        {"{\"weight_map\":{\"n\":\"x.safetensors\"}}", "tensor n is not in x.safetensors"},
    };
    write_tensors("x.safetensors", ONE("a"), 4);
    write_tensors("y.safetensors", ONE("b"), 4);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_text("model.safetensors.index.json", cases[i].index);
        must_fail(gi_safetensors_open_folder(temp_folder, &err), BAD_FILE, cases[i].says);
    }
}

TEST(a_tensor_in_two_files_is_refused)
{
    write_tensors("model-a.safetensors", ONE("a"), 4);
    write_tensors("model-b.safetensors", ONE("a"), 4);
    must_fail(gi_safetensors_open_folder(temp_folder, &err), BAD_FILE, "the files are of two mod");
}

RUN_TESTS_EACH(NULL, NULL, make_temp_folder, remove_temp_folder)
