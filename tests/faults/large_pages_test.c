// A model whose buffers in large pages lose what is written to them is loaded into small ones, with
// a line in the log, and computes the same. The pages are made up here: the extension's functions
// are replaced, and those of platform/cuda_large_pages.h. Runs on a tiny model; exits 77 without a
// device.
#include "engine/device/device.h"
#include "gpu/device/gpu_private.h"
#include "tests/data/test_data.h"
#include "tests/golden/fixture/tiny_model.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/wrap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_OBJECTS = 256, N_TOKENS = 6, MARK_SIZE = 16 };

static struct {
    GLuint buffers[MAX_OBJECTS]; // by the number of their memory object, counted from 1
    GLuint n_object;
    int least_lost; // bytes of the smallest copy that is lost; 0: no copy is lost
    int n_lost;
    char log[8192];
} fake;

//-- pages -----------------------------------------------------------------------------------------

WRAP(struct gi_cuda_pages *, gi_cuda_pages_open, struct glinfer_error *err)
{
    (void)err;
    return calloc(1, 1);
}

WRAP(bool, gi_cuda_pages_choose, struct gi_cuda_pages *pages, const uint8_t uuid[GI_UUID_SIZE],
     struct glinfer_error *err)
{
    (void)uuid, (void)err;
    return pages != NULL;
}

WRAP(void, gi_cuda_pages_close, struct gi_cuda_pages *pages)
{
    free(pages);
}

WRAP(int, gi_cuda_pages_export, struct gi_cuda_pages *pages, uint64_t size, uint64_t *allocated,
     struct glinfer_error *err)
{
    (void)pages, (void)err;
    *allocated = size;
    return open("/dev/null", O_RDONLY);
}

static void get_unsigned_bytes(GLenum name, GLuint index, GLubyte *data)
{
    (void)name, (void)index;
    memset(data, 1, GI_UUID_SIZE);
}

static void create_memory_objects(GLsizei n, GLuint *names)
{
    assert_true(n == 1 && fake.n_object + 1 < MAX_OBJECTS);
    *names = ++fake.n_object;
}

static void delete_memory_objects(GLsizei n, const GLuint *names)
{
    assert_int_equal(n, 1);
    fake.buffers[*names] = 0;
}

static void import_memory_fd(GLuint memory, GLuint64 size, GLenum type, GLint fd)
{
    (void)memory, (void)size, (void)type;
    close(fd);
}

static GLuint bound_buffer(void)
{
    GLint name = 0;
    glGetIntegerv(GL_COPY_WRITE_BUFFER_BINDING, &name);
    return (GLuint)name;
}

static void buffer_storage_memory(GLenum target, GLsizeiptr size, GLuint memory, GLuint64 offset)
{
    (void)offset;
    glBufferData(target, size, NULL, GL_STATIC_DRAW);
    fake.buffers[memory] = bound_buffer();
}

// Loses copies to the second half of a buffer in large pages.
WRAP(void, glCopyBufferSubData, GLenum from, GLenum to, GLintptr from_offset, GLintptr to_offset,
     GLsizeiptr size)
{
    const GLuint name = bound_buffer();
    GLint64 whole = 0;
    bool is_large = false;
    for (GLuint i = 1; i <= fake.n_object; i++) {
        is_large = is_large || fake.buffers[i] == name;
    }
    glGetBufferParameteri64v(GL_COPY_WRITE_BUFFER, GL_BUFFER_SIZE, &whole);
    if (is_large && fake.least_lost > 0 && size >= fake.least_lost && to_offset >= whole / 2) {
        fake.n_lost++;
        return;
    }
    __real_glCopyBufferSubData(from, to, from_offset, to_offset, size);
}

//-- a model ---------------------------------------------------------------------------------------

static void keep_line(void *user, enum glinfer_log_level level, const char *message)
{
    (void)user, (void)level;
    strncat(fake.log, message, sizeof(fake.log) - strlen(fake.log) - 1);
}

static bool take_token(void *user, const struct glinfer_token *token)
{
    int32_t **next = user;
    *(*next)++ = token->id;
    return true;
}

// Loads the model and answers. Skips without a device.
static void answer(int least_lost, int32_t tokens[N_TOKENS])
{
    struct glinfer_error err = {GLINFER_STATUS_OK, ""};
    const int32_t prompt[] = {1, 7, 3};
    const struct glinfer_device_params device_params =
        PARAMS(device, .allow_software = true, .log = keep_line);
    const struct glinfer_model_params model_params =
        PARAMS(model, .path = test_data("data/models/tiny-q4_0.gguf"));
    const struct glinfer_generate_params params =
        PARAMS(generate, .prompt = prompt, .n_prompt = 3, .n_predict = N_TOKENS, .ignore_eos = true,
               .on_token = take_token, .token_user = &tokens);
    memset(&fake, 0, sizeof(fake));
    struct glinfer_device *device = glinfer_device_create(&device_params, &err);
    if (!device) {
        print_message("skipped: %s\n", err.message);
        exit(77);
    }
    device->gpu->ext.get_unsigned_bytes = get_unsigned_bytes;
    device->gpu->ext.create_memory_objects = create_memory_objects;
    device->gpu->ext.delete_memory_objects = delete_memory_objects;
    device->gpu->ext.import_memory_fd = import_memory_fd;
    device->gpu->ext.buffer_storage_memory = buffer_storage_memory;
    fake.least_lost = least_lost;
    struct glinfer_model *model = glinfer_model_load(device, &model_params, &err);
    struct glinfer_session *session = model ? glinfer_session_create(model, NULL, &err) : NULL;
    if (!session || !glinfer_generate(session, &params, NULL, &err)) {
        fail_msg("%s", err.message);
    }
    glinfer_session_destroy(&session);
    glinfer_model_destroy(&model);
    glinfer_device_destroy(&device);
}

TEST(pages_that_lose_what_is_written_are_given_up)
{
    int32_t wanted[N_TOKENS], found[N_TOKENS];
    setenv("GLINFER_PAGES", "large", 1);
    answer(0, wanted);
    assert_true(fake.n_object > 0);
    assert_null(strstr(fake.log, "small pages"));
    answer(1, found); // loses the marks of pages, too
    assert_int_equal(fake.n_object, 1);
    assert_true(fake.n_lost > 0);
    assert_says(fake.log, "buffers lie in small pages: ");
    assert_memory_equal(found, wanted, sizeof(wanted));
    answer(MARK_SIZE + 1, found); // loses the weights alone
    assert_true(fake.n_lost > 0);
    assert_says(fake.log, "buffers lie in small pages: ");
    assert_says(fake.log, "lost a copy between buffers");
    assert_memory_equal(found, wanted, sizeof(wanted));
}

RUN_TESTS(NULL, NULL)
