// Files that are wrong in one place, and their error messages.
#include "tests/unit/cmocka_test.h"
#include "tests/unit/gguf/gguf_opened.h"

#include <stdio.h>
#include <stdlib.h>

//-- header ------------------------------------------------------------------------------------

TEST(gguf_rejects_an_empty_file)
{
    struct gguf_builder b = {0};
    gguf_u8(&b, 0);
    b.size = 0;
    assert_bad(&b, "empty");
}

TEST(gguf_rejects_another_magic)
{
    struct gguf_builder b = {0};
    gguf_bytes(&b, "PK\3\4aaaaaaaaaaaaaaaaaaaaaaaaaa", 30);
    assert_bad(&b, "starts with 50 4b 03 04");
}

static void assert_version_refused(uint32_t version, const char *says)
{
    struct gguf_builder b = {0};
    gguf_bytes(&b, "GGUF", 4);
    gguf_u32(&b, version);
    gguf_u64(&b, 0);
    gguf_u64(&b, 0);
    assert_refused(&b, GLINFER_STATUS_UNSUPPORTED, says);
}

TEST(gguf_rejects_other_versions)
{
    assert_version_refused(0, "version 0");
    assert_version_refused(1, "version 1");
    assert_version_refused(4, "version 4");
    assert_version_refused(0x03000000, "big-endian");
    assert_version_refused(0x02000000, "big-endian");
}

TEST(gguf_rejects_absurd_counts)
{
    static const uint64_t counts[] = {UINT64_MAX, (uint64_t)1 << 32, (1 << 20) + 1, 1 << 20, 2};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct gguf_builder pairs = {0}, tensors = {0};
        gguf_header(&pairs, 0, counts[i]);
        assert_bad(&pairs, "metadata keys");
        gguf_header(&tensors, counts[i], 0);
        assert_bad(&tensors, "tensors");
    }
}

TEST(gguf_rejects_every_truncation)
{
    BUILDER b = {0};
    gguf_sound_file(&b);
    for (size_t size = 0; size < b.size; size++) {
        OPENED o = open_bytes(&b, size);
        assert_null(o.gguf);
        assert_int_equal(o.err.status, GLINFER_STATUS_BAD_FILE);
    }
}

//-- metadata ----------------------------------------------------------------------------------

TEST(gguf_rejects_truncated_string)
{
    static const uint64_t sizes[] = {9, 1000, INT64_MAX, UINT64_MAX, UINT64_MAX - 8};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct gguf_builder b = {0};
        gguf_header(&b, 0, 1);
        gguf_key(&b, "key", GI_GGUF_KIND_STRING);
        gguf_u64(&b, sizes[i]);
        gguf_bytes(&b, "12345678", 8);
        assert_bad(&b, "a metadata string at byte 47");
    }
}

TEST(gguf_rejects_long_and_empty_keys)
{
    struct gguf_builder b = {0};
    gguf_header(&b, 0, 1);
    gguf_u64(&b, 65536);
    gguf_pad(&b, 1 << 17);
    assert_bad(&b, "a metadata key at byte 24 is 65536 bytes long");
    gguf_header(&b, 0, 1);
    gguf_pair_u32(&b, "", 1);
    assert_bad(&b, "is empty");
}

TEST(gguf_rejects_unknown_kinds)
{
    struct gguf_builder b = {0};
    gguf_header(&b, 0, 1);
    gguf_key(&b, "key", 13);
    gguf_u64(&b, 0);
    assert_bad(&b, "kind 13 at byte 35");
    gguf_header(&b, 0, 1);
    gguf_array(&b, "key", UINT32_MAX, 0);
    assert_bad(&b, "kind 4294967295");
}

TEST(gguf_rejects_nested_arrays)
{
    struct gguf_builder b = {0};
    gguf_header(&b, 0, 1);
    gguf_array(&b, "key", GI_GGUF_KIND_ARRAY, 1);
    gguf_u32(&b, GI_GGUF_KIND_U8);
    gguf_u64(&b, 0);
    assert_refused(&b, GLINFER_STATUS_UNSUPPORTED, "array of arrays");
}

TEST(gguf_rejects_arrays_larger_than_the_file)
{
    static const uint64_t counts[] = {2, (uint64_t)1 << 60, (uint64_t)1 << 61, (uint64_t)1 << 62,
                                      UINT64_MAX};
    static const uint32_t kinds[] = {GI_GGUF_KIND_STRING, GI_GGUF_KIND_U64, GI_GGUF_KIND_F64};
    for (size_t i = 0; i < 15; i++) {
        struct gguf_builder b = {0};
        gguf_header(&b, 0, 1);
        gguf_array(&b, "key", kinds[i % 3], counts[i / 3]);
        gguf_u64(&b, 0);
        assert_bad(&b, "more than the 8 bytes left");
    }
}

TEST(gguf_rejects_bools_that_are_neither)
{
    struct gguf_builder b = {0};
    gguf_header(&b, 0, 1);
    gguf_key(&b, "key", GI_GGUF_KIND_BOOL);
    gguf_u8(&b, 2);
    gguf_pad(&b, 64);
    assert_bad(&b, "holds 2");
    gguf_header(&b, 0, 1);
    gguf_array(&b, "key", GI_GGUF_KIND_BOOL, 2);
    gguf_u8(&b, 1);
    gguf_u8(&b, 255);
    assert_bad(&b, "holds 255");
}

TEST(gguf_rejects_duplicate_keys)
{
    struct gguf_builder b = {0};
    gguf_header(&b, 0, 3);
    gguf_pair_u32(&b, "same", 1);
    gguf_pair_u32(&b, "other", 2);
    gguf_pair_string(&b, "same", "3");
    assert_bad(&b, "same appears twice");
}

TEST(gguf_rejects_bad_alignment)
{
    static const uint32_t values[] = {0, 3, 48, UINT32_MAX};
    struct gguf_builder b = {0};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        gguf_header(&b, 0, 1);
        gguf_pair_u32(&b, "general.alignment", values[i]);
        assert_bad(&b, "expected a power of two");
    }
    gguf_header(&b, 0, 1);
    gguf_pair_string(&b, "general.alignment", "32");
    assert_bad(&b, "expected a whole number");
}

//-- tensors -----------------------------------------------------------------------------------

#define P2(n) ((uint64_t)1 << (n))

// A tensor, and the error message for a file with 8192 bytes, of which the first 96 at most are the
// directory.
static const struct {
    uint32_t n_dims;
    uint64_t dims[5];
    uint32_t type;
    uint64_t offset;
    const char *says;
} tensors[] = {
    {0, {1, 1, 1, 1, 1}, GI_GGML_TYPE_F32, 0, ": the number of dimensions is 0"},
    {5, {1, 1, 1, 1, 1}, GI_GGML_TYPE_F32, 0, ": the number of dimensions is 5"},
    {4, {0, 1, 1, 1}, GI_GGML_TYPE_F32, 0, ": a dimension is"},
    {4, {32, 0, 1, 1}, GI_GGML_TYPE_F32, 0, ": a dimension is"},
    {4, {32, 1, 1, 0}, GI_GGML_TYPE_F32, 0, ": a dimension is"},
    {4, {UINT64_MAX, 1, 1, 1}, GI_GGML_TYPE_F32, 0, ": a dimension is"},
    {4, {P2(32), P2(32), 1, 1}, GI_GGML_TYPE_F32, 0, ": a dimension is"},
    {4, {P2(32), P2(31), 1, 1}, GI_GGML_TYPE_F32, 0, ": a dimension is"},
    {4, {2, P2(62), 2, P2(63)}, GI_GGML_TYPE_F32, 0, ": a dimension is"},
    {2, {INT64_MAX, 1}, GI_GGML_TYPE_F64, 0, ": the number of blocks"},
    {2, {P2(40), 4096}, GI_GGML_TYPE_F64, 0, " takes 36028797018963968 bytes"},
    {2, {48, 2}, GI_GGML_TYPE_Q4_0, 0, " of type q4_0 has rows of 48"},
    {1, {32}, 4, 0, " has type number"},
    {1, {32}, 5, 0, " has type number"},
    {1, {32}, 31, 0, " has type number"},
    {1, {32}, 36, 0, " has type number"},
    {1, {32}, 1000, 0, " has type number"},
    {1, {32}, UINT32_MAX, 0, " has type number"},
    {1, {1024}, GI_GGML_TYPE_F32, 8192 + 32, " takes 4096 bytes"},
    {1, {1024}, GI_GGML_TYPE_F32, 8192, " takes 4096 bytes"},
    {1, {1024}, GI_GGML_TYPE_F32, 4096 + UINT64_MAX - 31, " takes 4096 bytes"},
    {1, {1024}, GI_GGML_TYPE_F32, 4096 + P2(63), " takes 4096 bytes"},
    {1, {1}, GI_GGML_TYPE_F32, 4, " has offset 4, expected a multiple of 32"},
};

TEST(gguf_rejects_tensors_that_cannot_be)
{
    for (size_t i = 0; i < sizeof(tensors) / sizeof(tensors[0]); i++) {
        char says[96];
        struct gguf_builder b = {0};
        gguf_header(&b, 1, 0);
        gguf_tensor(&b, "the.weight", tensors[i].n_dims, tensors[i].dims, tensors[i].type,
                    tensors[i].offset);
        gguf_pad(&b, 4096);
        gguf_u8(&b, 0);
        gguf_pad(&b, 4096);
        snprintf(says, sizeof(says), "the.weight%s", tensors[i].says);
        const bool is_type = strstr(says, "type number") != NULL;
        assert_refused(&b, is_type ? GLINFER_STATUS_UNSUPPORTED : GLINFER_STATUS_BAD_FILE, says);
    }
}

TEST(gguf_rejects_duplicate_tensors)
{
    struct gguf_builder b = {0};
    gguf_header(&b, 2, 0);
    gguf_tensor(&b, "same", 1, (uint64_t[]){1}, GI_GGML_TYPE_F32, 0);
    gguf_tensor(&b, "same", 1, (uint64_t[]){1}, GI_GGML_TYPE_F32, 32);
    gguf_pad(&b, 256);
    assert_bad(&b, "same appears twice");
}

TEST(gguf_rejects_long_and_empty_tensor_names)
{
    char name[66] = "";
    memset(name, 'n', 65);
    struct gguf_builder b = {0};
    gguf_header(&b, 1, 0);
    gguf_tensor(&b, name, 1, (uint64_t[]){1}, GI_GGML_TYPE_F32, 0);
    gguf_pad(&b, 256);
    assert_bad(&b, "65 bytes long");
    gguf_header(&b, 1, 0);
    gguf_tensor(&b, "", 1, (uint64_t[]){1}, GI_GGML_TYPE_F32, 0);
    gguf_pad(&b, 256);
    assert_bad(&b, "is empty");
}

RUN_TESTS(NULL, NULL)
