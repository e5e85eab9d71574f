// Models from a part of a file, a descriptor, memory and callbacks answer as one from a path, come
// back after a loss, and are errors where the bytes are not what was said. Runs on a tiny model;
// exits 77 without a device.
#include "tests/data/test_data.h"
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/temp_folder.h"

#include <fcntl.h>

enum { OFFSET = 12345, AFTER = 678, N_PREDICT = 6 };

struct fixture {
    struct tiny_model tiny;
    struct answer wanted;
    const char *path; // of a larger file: OFFSET bytes, the model, AFTER bytes
    uint8_t *data;    // the model
    size_t size;
};

static struct fixture fixture;

//-- fixture ---------------------------------------------------------------------------------------

static void write_larger_file(struct fixture *f)
{
    const size_t size = OFFSET + f->size + AFTER;
    uint8_t *bytes = calloc(size, 1);
    assert_non_null(bytes);
    memcpy(bytes, "GGUF\t", 5);
    memcpy(bytes + OFFSET, f->data, f->size);
    memcpy(bytes + OFFSET + f->size, "GGUF\t", 5);
    write_file(f->path, bytes, size);
    free(bytes);
}

static int open_fixture(void **state)
{
    struct fixture *f = &fixture;
    if (make_temp_folder(state) != 0 ||
        !tiny_model_open(&f->tiny, test_data("data/models/tiny-q4_0.gguf"), NULL)) {
        return -1;
    }
    f->data = read_file(test_data("data/models/tiny-q4_0.gguf"), &f->size);
    f->path = temp_path("larger");
    write_larger_file(f);
    struct glinfer_session *session = open_session(&f->tiny, 1, 64, 0);
    answer_more(session, prompt, N_PROMPT, N_PREDICT, &f->wanted);
    glinfer_session_destroy(&session);
    *state = f;
    return 0;
}

static int close_fixture(void **state)
{
    tiny_model_close(&fixture.tiny);
    free(fixture.data);
    return remove_temp_folder(state);
}

static struct glinfer_source make(enum glinfer_source_kind kind)
{
    struct glinfer_source source;
    glinfer_source_init(&source);
    source.kind = kind;
    if (kind == GLINFER_SOURCE_PATH || kind == GLINFER_SOURCE_FD) {
        source.path = kind == GLINFER_SOURCE_PATH ? fixture.path : NULL;
        source.fd = kind == GLINFER_SOURCE_FD ? open(fixture.path, O_RDONLY) : -1;
        source.offset = OFFSET;
    }
    source.length = fixture.size;
    source.data = kind == GLINFER_SOURCE_MEMORY ? fixture.data : NULL;
    return source;
}

static struct glinfer_model *load(const struct glinfer_source *source, struct glinfer_error *err)
{
    const struct glinfer_model_params params = PARAMS(model, .source = source);
    return glinfer_model_load(fixture.tiny.device, &params, err);
}

static void assert_answers(struct glinfer_session *session)
{
    struct answer found = {0};
    const struct glinfer_generate_params params = ask(prompt, N_PROMPT, N_PREDICT, &found);
    glinfer_session_reset(session);
    must_generate(session, &params);
    assert_same(&fixture.wanted, &found);
}

//-- readers ---------------------------------------------------------------------------------------

// Reads the model; fails from read fail_at on, 0: never.
struct reader {
    uint32_t n, fail_at;
    bool calls_back;
};

static bool read_model_at(void *user, uint64_t offset, void *data, size_t size)
{
    struct reader *reader = user;
    reader->n++;
    if (reader->calls_back) {
        must_fail(glinfer_device_recover(fixture.tiny.device, NULL, NULL, &err), INVALID_ARGUMENT,
                  "");
    }
    if ((reader->fail_at && reader->n >= reader->fail_at) || offset > fixture.size ||
        size > fixture.size - offset) {
        return false;
    }
    memcpy(data, fixture.data + offset, size);
    return true;
}

static struct glinfer_source make_reader(struct reader *reader)
{
    struct glinfer_source source = make(GLINFER_SOURCE_READER);
    source.read = read_model_at;
    source.user = reader;
    return source;
}

//-- tests -----------------------------------------------------------------------------------------

// Loads, answers, recovers and answers again; descriptors are closed in between.
static void check_source(struct glinfer_source source)
{
    struct tiny_model other = {.device = fixture.tiny.device};
    other.model = must_do(load(&source, &err));
    if (source.fd >= 0) {
        close(source.fd);
    }
    struct glinfer_session *session = open_session(&other, 1, 64, 0);
    assert_answers(session);
    must_do(glinfer_device_recover(other.device, NULL, NULL, &err));
    assert_answers(session);
    glinfer_session_destroy(&session);
    glinfer_model_destroy(&other.model);
}

TEST(a_part_of_a_file_a_descriptor_and_memory_are_a_model)
{
    check_source(make(GLINFER_SOURCE_PATH));
    check_source(make(GLINFER_SOURCE_FD));
    check_source(make(GLINFER_SOURCE_MEMORY));
}

TEST(callbacks_are_a_model_and_do_not_call_back)
{
    struct reader reader = {.calls_back = true};
    check_source(make_reader(&reader));
    assert_true(reader.n > 10);
}

TEST(sources_are_inspected_and_tokenize)
{
    struct reader reader = {0};
    struct glinfer_source sources[] = {make(GLINFER_SOURCE_PATH), make(GLINFER_SOURCE_FD),
                                       make(GLINFER_SOURCE_MEMORY), make_reader(&reader)};
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        struct glinfer_model_info info = {.struct_size = sizeof(info)};
        int32_t ids[8];
        size_t n = 0;
        const struct glinfer_model_params params = PARAMS(model, .source = &sources[i]);
        assert_true(glinfer_model_inspect(&params, &info, NULL));
        assert_true(info.is_supported);
        assert_int_equal(info.file_size, fixture.size);
        struct glinfer_tokenizer *tokenizer = glinfer_tokenizer_load_source(&sources[i], NULL);
        assert_non_null(tokenizer);
        assert_true(glinfer_tokenize(tokenizer, "a", 1, 0, ids, 8, &n, NULL));
        assert_true(n > 0);
        glinfer_tokenizer_destroy(&tokenizer);
    }
    close(sources[1].fd);
}

TEST(a_transient_source_is_not_read_again)
{
    struct glinfer_error err;
    uint8_t *copy = malloc(fixture.size);
    assert_non_null(copy);
    memcpy(copy, fixture.data, fixture.size);
    struct glinfer_source source = make(GLINFER_SOURCE_MEMORY);
    source.data = copy;
    source.is_transient = true;
    struct tiny_model other = {fixture.tiny.device, load(&source, &err)};
    free(copy);
    assert_non_null(other.model);
    struct glinfer_session *session = open_session(&other, 1, 64, 0);
    assert_answers(session);
    assert_fails(glinfer_device_recover(other.device, NULL, NULL, &err), err, UNSUPPORTED,
                 "the model in memory was only there while");
    assert_answers(session);
    glinfer_session_destroy(&session);
    glinfer_model_destroy(&other.model);
    assert_true(glinfer_device_recover(fixture.tiny.device, NULL, NULL, &err));
}

TEST(a_reader_that_fails_is_an_error)
{
    struct reader whole = {0};
    struct glinfer_source source = make_reader(&whole);
    struct glinfer_model *model = must_do(load(&source, &err));
    glinfer_model_destroy(&model);
    for (uint32_t i = 1; i <= whole.n; i += i < 8 ? 1 : 5) {
        struct reader reader = {.fail_at = i};
        source = make_reader(&reader);
        must_fail(load(&source, &err), IO, "the model's reader: cannot read");
    }
}

TEST(a_size_that_is_a_lie_is_an_error)
{
    struct reader reader = {0};
    struct glinfer_source source = make_reader(&reader);
    source.length = fixture.size - 1;
    must_fail(load(&source, &err), BAD_FILE, "");
    source.length = UINT64_MAX;
    must_fail(load(&source, &err), IO, "");
    source = make(GLINFER_SOURCE_MEMORY);
    source.length = fixture.size - 1;
    must_fail(load(&source, &err), BAD_FILE, "");
    source.length = 0;
    must_fail(load(&source, &err), BAD_FILE, "");
    source = make(GLINFER_SOURCE_PATH);
    source.length = fixture.size + AFTER + 1;
    must_fail(load(&source, &err), BAD_FILE, "");
}

static bool cut_file(void *user, enum glinfer_phase phase, uint64_t done, uint64_t total)
{
    (void)user, (void)phase, (void)done, (void)total;
    return truncate(fixture.path, OFFSET + 5000) == 0;
}

TEST(a_file_that_shrinks_meanwhile_is_an_error)
{
    const enum glinfer_source_kind kinds[] = {GLINFER_SOURCE_PATH, GLINFER_SOURCE_FD};
    for (int i = 0; i < 2; i++) {
        struct glinfer_source source = make(kinds[i]);
        const struct glinfer_model_params params =
            PARAMS(model, .source = &source, .progress = cut_file);
        must_fail(glinfer_model_load(fixture.tiny.device, &params, &err), IO,
                  "was changed while it was read");
        if (source.fd >= 0) {
            close(source.fd);
        }
        write_larger_file(&fixture);
    }
}

TEST(a_path_beside_a_source_is_refused)
{
    struct glinfer_source source = make(GLINFER_SOURCE_MEMORY);
    struct glinfer_model_info info = {.struct_size = sizeof(info)};
    struct glinfer_model_params params = PARAMS(model, .path = fixture.path, .source = &source);
    must_fail(glinfer_model_inspect(&params, &info, &err), INVALID_ARGUMENT, "");
    params.path = NULL;
    source.struct_size = 0;
    must_fail(glinfer_model_inspect(&params, &info, &err), INVALID_ARGUMENT, "");
    must_fail(glinfer_tokenizer_load_source(&source, &err), INVALID_ARGUMENT, "");
    must_fail(glinfer_tokenizer_load_source(NULL, &err), INVALID_ARGUMENT, "");
}

RUN_TESTS(open_fixture, close_fixture)
