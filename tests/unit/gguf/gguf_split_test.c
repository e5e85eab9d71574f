// Models in several files: opened by any piece, and the errors for a missing or wrong piece.
#include "gguf/identity.h"
#include "tests/unit/failing_alloc.h"
#include "tests/unit/gguf/gguf_opened.h"
#include "tests/unit/temp_folder.h"

enum { N_PIECES = 3, N_PIECE_TENSORS = 2 };

static char pieces[N_PIECES][64]; // paths

// The values of a piece's keys; UINT32_MAX leaves a key out.
struct keys {
    uint32_t no, count, n_tensors;
};

static void build_piece(struct gguf_builder *b, uint32_t piece, const struct keys *keys,
                        uint32_t first_tensor)
{
    const uint32_t n_tensors = piece == 0 ? 0 : N_PIECE_TENSORS; // as --no-tensor-first-split
    const uint64_t dims[1] = {16};
    const struct {
        const char *name;
        uint32_t value;
    } pairs[] = {
        {"split.no", keys->no},
        {"split.count", keys->count},
        {"split.tensors.count", keys->n_tensors},
        {"first.key", piece + 7},
    };
    const uint32_t n_pairs = piece == 0 ? 4 : 3;
    uint32_t n_written = 0;
    for (uint32_t i = 0; i < n_pairs; i++) {
        n_written += pairs[i].value != UINT32_MAX;
    }
    gguf_header(b, n_tensors, n_written);
    for (uint32_t i = 0; i < n_pairs; i++) {
        if (pairs[i].value != UINT32_MAX) {
            gguf_pair_u32(b, pairs[i].name, pairs[i].value);
        }
    }
    for (uint32_t i = 0; i < n_tensors; i++) {
        char name[16];
        snprintf(name, sizeof(name), "t%u", first_tensor + i);
        gguf_tensor(b, name, 1, dims, 0, 64 * i);
    }
    gguf_pad(b, 32);
    for (uint32_t i = 0; i < n_tensors * 64; i++) {
        gguf_u8(b, (uint8_t)(10 * piece + i / 64));
    }
}

static void write_piece(uint32_t piece, const struct keys *keys, uint32_t first_tensor)
{
    BUILDER b = {0};
    build_piece(&b, piece, keys, first_tensor);
    write_file(pieces[piece], b.data, b.size);
}

static void write_sound_piece(uint32_t piece)
{
    const struct keys keys = {piece, N_PIECES, N_PIECE_TENSORS * (N_PIECES - 1)};
    write_piece(piece, &keys, piece * N_PIECE_TENSORS);
}

static int write_pieces(void **state)
{
    if (make_temp_folder(state) != 0) {
        return -1;
    }
    for (uint32_t i = 0; i < N_PIECES; i++) {
        snprintf(pieces[i], sizeof(pieces[i]), "%s/m-%05u-of-%05u.gguf", temp_folder, i + 1,
                 (uint32_t)N_PIECES);
        write_sound_piece(i);
    }
    return 0;
}

static void assert_path_refused(const char *path, enum glinfer_status status, const char *says)
{
    struct glinfer_error err = {0};
    struct gi_gguf *gguf = gi_gguf_open(GI_SOURCE_PATH(path), &err);
    assert_null(gguf);
    assert_int_equal(err.status, status);
    assert_says(err.message, says);
}

//-- sound models --------------------------------------------------------------------------------

TEST(any_piece_opens_the_model)
{
    struct gi_hash hashes[N_PIECES];
    for (uint32_t i = 0; i < N_PIECES; i++) {
        GGUF *gguf = must_do(gi_gguf_open(GI_SOURCE_PATH(pieces[i]), &err));
        uint64_t size = 0;
        struct stat st;
        for (uint32_t j = 0; j < N_PIECES; j++) {
            assert_int_equal(stat(pieces[j], &st), 0);
            size += (uint64_t)st.st_size;
        }
        assert_int_equal(gi_gguf_file_size(gguf), size);
        assert_string_equal(gi_gguf_path(gguf), pieces[0]);
        uint32_t value;
        assert_true(gi_gguf_get_u32(gguf, "first.key", 0, &value, NULL));
        assert_int_equal(value, 7);
        assert_int_equal(gi_gguf_tensor_count(gguf), N_PIECE_TENSORS * (N_PIECES - 1));
        for (uint32_t j = 0; j < gi_gguf_tensor_count(gguf); j++) {
            char name[16];
            uint8_t bytes[64];
            const uint32_t piece = 1 + j / N_PIECE_TENSORS;
            snprintf(name, sizeof(name), "t%u", j + N_PIECE_TENSORS);
            const struct gi_gguf_tensor *t = gi_gguf_tensor_find(gguf, name);
            assert_ptr_equal(t, gi_gguf_tensor_at(gguf, j));
            assert_int_equal(t->file, piece);
            assert_true(gi_gguf_tensor_read(gguf, t, 0, sizeof(bytes), bytes, NULL));
            assert_int_equal(bytes[63], 10 * piece + j % N_PIECE_TENSORS);
        }
        assert_true(gi_gguf_identify(gguf, &hashes[i], NULL));
        assert_memory_equal(&hashes[i], &hashes[0], sizeof(hashes[0]));
    }
}

TEST(identity_is_of_all_pieces)
{
    struct gi_hash hashes[2];
    for (int i = 0; i < 2; i++) {
        struct gi_gguf *gguf = gi_gguf_open(GI_SOURCE_PATH(pieces[0]), NULL);
        assert_non_null(gguf);
        assert_true(gi_gguf_identify(gguf, &hashes[i], NULL));
        gi_gguf_close(gguf);
        FILE *file = fopen(pieces[2], "r+b");
        assert_non_null(file);
        assert_int_equal(fseek(file, -1, SEEK_END), 0);
        fputc(1, file);
        fclose(file);
    }
    assert_memory_not_equal(&hashes[0], &hashes[1], sizeof(hashes[0]));
}

// A count of 1 or 0 asks for nothing, whatever the file's name is.
TEST(one_piece_is_a_whole_model)
{
    for (uint32_t count = 0; count < 2; count++) {
        BUILDER b = {0};
        build_piece(&b, 1, &(struct keys){0, count, 7}, 0);
        OPENED o = open_bytes(&b, b.size);
        assert_non_null(o.gguf);
    }
}

//-- refusals ------------------------------------------------------------------------------------

TEST(names_the_missing_piece)
{
    for (uint32_t missing = 0; missing < N_PIECES; missing++) {
        char says[256];
        snprintf(says, sizeof(says), "%s: the file is missing, piece %u of 3", pieces[missing],
                 missing + 1);
        remove(pieces[missing]);
        for (uint32_t i = 0; i < N_PIECES; i++) {
            if (i != missing) {
                assert_path_refused(pieces[i], GLINFER_STATUS_NOT_FOUND, says);
            }
        }
        write_sound_piece(missing);
    }
    assert_int_equal(mkfifo(pieces[1], 0600), -1);
    remove(pieces[1]);
    assert_int_equal(mkfifo(pieces[1], 0600), 0);
    assert_path_refused(pieces[0], GLINFER_STATUS_IO, "-00002-of-00003.gguf: is a pipe");
}

TEST(refuses_wrong_keys)
{
    static const struct {
        uint32_t piece;
        struct keys keys;
        uint32_t first_tensor;
        const char *says;
    } cases[] = {
        {0, {0, 3, 5}, 0, "the pieces have 4 tensors, split.tensors.count is 5"},
        {0, {0, 3, UINT32_MAX}, 0, "the key split.tensors.count is missing"},
        {0, {3, 3, 4}, 0, "split.no is 3 and split.count 3"},
        {0, {0, 100000, 4}, 0, "split.count 100000"},
        {0, {0, UINT32_MAX - 1, 4}, 0, "which is at most 99999"},
        {0, {0, 2, 4}, 0, "has to end in -00001-of-00002.gguf"},
        {0, {1, 3, 4}, 0, "has to end in -00002-of-00003.gguf"},
        {1, {2, 3, 4}, 2, "split.no is 2 and split.count 3, expected 1 and 3"},
        {1, {1, 4, 4}, 2, "split.no is 1 and split.count 4, expected 1 and 3"},
        {1, {UINT32_MAX, 3, 4}, 2, "the key split.no is missing"},
        {1, {1, 3, 4}, 4, "tensor t4 appears twice"},
        {2, {UINT32_MAX, UINT32_MAX, 4}, 4, "-00003-of-00003.gguf: the key split.no is missing"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_piece(cases[i].piece, &cases[i].keys, cases[i].first_tensor);
        assert_path_refused(pieces[0], GLINFER_STATUS_BAD_FILE, cases[i].says);
        write_sound_piece(cases[i].piece);
    }
}

TEST(refuses_pieces_without_a_path)
{
    struct gguf_builder b = {0};
    build_piece(&b, 1, &(struct keys){1, 3, 4}, 2);
    assert_refused(&b, GLINFER_STATUS_UNSUPPORTED, "is piece 2 of 3 of a model");
    assert_int_equal(rename(pieces[1], temp_path("m.gguf")), 0);
    assert_path_refused(temp_path("m.gguf"), GLINFER_STATUS_BAD_FILE,
                        "has to end in -00002-of-00003.gguf");
}

// Every cut and every damaged byte of a piece: the model opens, or a sentence says why not.
TEST(survives_damaged_pieces)
{
    for (uint32_t piece = 0; piece < 2; piece++) {
        BUILDER b = {0};
        const struct keys keys = {piece, N_PIECES, N_PIECE_TENSORS * (N_PIECES - 1)};
        build_piece(&b, piece, &keys, piece * N_PIECE_TENSORS);
        assert_true(b.size > 0);
        for (size_t i = 0; i < 2 * b.size; i++) {
            struct glinfer_error err = {0};
            const size_t at = i % b.size;
            b.data[at] ^= i < b.size ? 0x81 : 0;
            write_file(pieces[piece], b.data, i < b.size ? b.size : at);
            b.data[at] ^= i < b.size ? 0x81 : 0;
            GGUF *gguf = gi_gguf_open(GI_SOURCE_PATH(pieces[2]), &err);
            for (size_t j = 0; gguf && j < gi_gguf_tensor_count(gguf); j++) {
                const struct gi_gguf_tensor *t = gi_gguf_tensor_at(gguf, j);
                uint8_t bytes[64];
                assert_true(t->size <= sizeof(bytes));
                assert_true(gi_gguf_tensor_read(gguf, t, 0, t->size, bytes, NULL));
            }
            assert_true(gguf || (err.status != GLINFER_STATUS_OK && err.message[0]));
        }
        write_sound_piece(piece);
    }
}

TEST(reports_that_there_is_no_memory)
{
    GGUF *gguf = NULL;
    long n_failed = 0;
    for (; !gguf && n_failed < 100; n_failed++) {
        struct glinfer_error err;
        fail_allocations_after(n_failed);
        gguf = gi_gguf_open(GI_SOURCE_PATH(pieces[1]), &err);
        fail_allocations_after(-1);
        assert_true(gguf || err.status == GLINFER_STATUS_NO_MEMORY);
    }
    assert_non_null(gguf);
}

RUN_TESTS_EACH(NULL, NULL, write_pieces, remove_temp_folder)
