// model_lists MODEL DEPTH[,DEPTH...] PROMPT[,PROMPT...]: prints, for tools/predict, what a decode
// step at each depth and a prompt of each length dispatch (of a speech model, a sound of each
// number of positions), a line an entry, tab-separated; numbers of "-" are defaults:
//   list NAME label number program groups invocations-a-group multiply-adds bytes sums-of-squares
// and submits each list once, since some drivers compile at the first dispatch. What the library
// and the driver say meanwhile goes to standard error. Results are not looked at, so it also works
// over a simulated kernel.
#include "engine/measure/profile_sums.h"
#include "engine/session/session.h"
#include "gpu/dispatch/dispatch_private.h"
#include "gpu/dispatch/dispatch_replay.h"
#include "gpu/dispatch/multi_executor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <GLES3/gl31.h>

static void print_line(void *user, enum glinfer_log_level level, const char *message)
{
    (void)user, (void)level;
    printf("%s\n", message);
}

// Returns the partial sums of squares that each invocation of an entry adds up.
static uint32_t count_ssq(const struct gi_dispatch_table *list, uint32_t i, GLuint program)
{
    const GLenum property = GL_OFFSET;
    const GLuint index = glGetProgramResourceIndex(program, GL_UNIFORM, "Params.n_ssq");
    const uint32_t *params = gi_dispatch_table_params(list, i);
    GLint offset = 0;
    if (index == GL_INVALID_INDEX) {
        return 0;
    }
    glGetProgramResourceiv(program, GL_UNIFORM, index, 1, &property, 1, NULL, &offset);
    return params[(size_t)offset / sizeof(uint32_t)];
}

static void print_list(const struct gi_dispatch_table *list, const char *name, uint32_t n_past,
                       uint32_t n_tokens, const struct gi_program_table *programs)
{
    for (uint32_t i = 0; i < gi_dispatch_table_count(list); i++) {
        const struct gi_dispatch *dispatch = gi_dispatch_table_at(list, i);
        const struct gi_span span = {dispatch, n_past, n_tokens};
        GLint size[3] = {1, 1, 1};
        uint32_t groups[3];
        gi_grid_count(&dispatch->grid, n_past, n_tokens, groups);
        const GLuint number = gi_program_name(programs, dispatch->program);
        glGetProgramiv(number, GL_COMPUTE_WORK_GROUP_SIZE, size);
        printf("list\t%s\t%s\t%u\t%s\t%llu\t%d\t%llu\t%llu\t%u\n", name, dispatch->label, number,
               gi_program_label(programs, dispatch->program),
               (unsigned long long)groups[0] * groups[1] * groups[2], size[0] * size[1] * size[2],
               (unsigned long long)gi_span_flops(&span) / 2,
               (unsigned long long)gi_span_bytes(&span), count_ssq(list, i, number));
    }
}

// Prints a list and submits it once.
static bool show(struct glinfer_session *session, struct gi_executor *executor, const char *name,
                 uint32_t n_past, uint32_t n_tokens, struct glinfer_error *err)
{
    if (!executor) {
        return false;
    }
    struct gi_dispatch_table *list = gi_multi_executor_list(executor);
    const struct gi_step_state state = {
        .n_past = n_past, .n_tokens = n_tokens, .max_steps = UINT32_MAX, .top_p = 1.0F};
    print_list(list, name, n_past, n_tokens, session->model->device->programs);
    const struct gi_replay replay = {.n_past = n_past, .n_tokens = n_tokens, .flush_interval = 1};
    if (!gi_runner_begin(&session->runner, err) ||
        !gi_runner_write(&session->runner, &state, err) ||
        !gi_dispatch_table_prime(list, n_past, n_tokens, err)) {
        return false;
    }
    printf("submitting %s\n", name);
    gi_dispatch_table_replay(list, &replay);
    return true;
}

// Shows what an encoder does with a sound of n positions.
static bool show_sound(struct glinfer_session *session, const char *name, uint32_t n,
                       struct glinfer_error *err)
{
    struct glinfer_session *encoder = session->encoder;
    bool is_good = n <= encoder->sequence.n_ctx;
    for (uint32_t i = 0; is_good && i < GI_SOUND_LISTS; i++) {
        is_good = show(encoder, gi_tables_find(&encoder->tables, gi_sound_lists[i].list, err), name,
                       0, gi_sound_lists[i].n_rows * n, err);
    }
    return is_good;
}

// Calls show for each number of a comma-separated list.
static bool show_all(struct glinfer_session *session, const char *numbers, bool is_prompt,
                     struct glinfer_error *err)
{
    char name[32];
    bool is_good = true;
    for (char *end = NULL; is_good && *numbers; numbers = *end ? end + 1 : end) {
        const uint32_t n = (uint32_t)strtoul(numbers, &end, 10);
        if (is_prompt && session->encoder) {
            snprintf(name, sizeof(name), "sound %u", n);
            is_good = show_sound(session, name, n, err);
        } else if (is_prompt) {
            snprintf(name, sizeof(name), "prompt %u", n);
            is_good =
                show(session, gi_tables_prompt(&session->tables, n, err), name, 0, n, err) &&
                show(session,
                     gi_tables_find(&session->tables, GI_LIST_PROMPT_END + GI_STEP_END_GREEDY, err),
                     name, n - 1, 1, err);
        } else {
            snprintf(name, sizeof(name), "step %u", n);
            is_good = show(session,
                           gi_tables_find(&session->tables, GI_LIST_STEP + GI_STEP_END_GREEDY, err),
                           name, n, 1, err);
        }
    }
    return is_good;
}

int main(int argc, char **argv)
{
    struct glinfer_error err = {.message = "usage: model_lists MODEL DEPTHS PROMPTS"};
    struct glinfer_device *device = NULL;
    struct glinfer_model *model = NULL;
    struct glinfer_session *session = NULL;
    struct glinfer_device_params dp;
    struct glinfer_model_params mp;
    struct glinfer_session_params sp;
    glinfer_device_params_init(&dp);
    glinfer_model_params_init(&mp);
    glinfer_session_params_init(&sp);
    sp.allows_speech = true;
    setvbuf(stdout, NULL, _IOLBF, 0); // keeps the order with the output of drivers
    dp.allow_software = true;
    dp.cache_dir = "";
    dp.log = print_line;
    mp.path = argv[1];
    struct gi_platform_saved saved;
    bool is_good = argc > 3 && (device = glinfer_device_create(&dp, &err)) &&
                   (model = glinfer_model_load(device, &mp, &err)) &&
                   (session = glinfer_session_create(model, &sp, &err)) &&
                   gi_session_enter(session, &saved, &err);
    if (is_good) {
        const bool is_speech = session->encoder;
        const char *depths = strcmp(argv[2], "-") != 0 ? argv[2] : is_speech ? "0" : "0,512,4096";
        const char *prompts = strcmp(argv[3], "-") != 0 ? argv[3]
                              : is_speech               ? "1500,384"
                                                        : "128,512";
        is_good = show_all(session, depths, false, &err) && show_all(session, prompts, true, &err);
        glFinish();
        gi_session_leave(session, &saved);
    }
    if (!is_good) {
        fprintf(stderr, "model_lists: %s\n", err.message);
    }
    glinfer_session_destroy(&session);
    glinfer_model_destroy(&model);
    glinfer_device_destroy(&device);
    return is_good ? 0 : 1;
}
