// kiosk -m MODEL: draws a sign that moves, off-screen or on a display, while a model answers beside
// it in the same thread: each frame is rendered first, then glinfer_step has a budget of its time.
// See README.md.
#include "frames.h"

#include <glinfer.h>
#include <stdio.h>

enum {
    MAX_PROMPT = 256,
    MAX_TEXT = 4096,
    N_PREDICT = 160,
    N_WARM = 24, // tokens of the answer before the sign starts
    MAX_LATE = 12,
    BOX_US = 8000, // time by which glinfer_step may exceed its budget
};

static const char usage[] = "usage: kiosk -m MODEL [--seconds N] [--fps N] [--budget-us N] "
                            "[--png DIR] [--kms CARD]\n";
static const char *const questions[] = {
    "What can be seen in a museum of science?",
    "Tell me about the history of the railway.",
    "Why is the sky blue?",
    "How is bread made?",
};

struct kiosk {
    // Flags:
    const char *model_path;
    uint32_t budget_us;

    struct frames frames;
    struct glinfer_device *device;
    struct glinfer_model *model;
    struct glinfer_session *session;
    struct glinfer_error err;
    int fd; // of the device
    char text[MAX_TEXT];
    size_t text_size;
    uint32_t n_begun, n_tokens;
    bool is_answering;
    double slowest; // seconds that a call has taken lately
    double begin_seconds;
    struct durations calls;
    struct {
        double time, seconds; // since the start; how long
    } late[MAX_LATE];         // the first calls that took longer than budget and box
    uint32_t n_late;
    double warm_seconds;
};

//-- the model -------------------------------------------------------------------------------------

static bool open_model(struct kiosk *kiosk, struct glinfer_error *err)
{
    struct glinfer_generate_params expected;
    glinfer_generate_params_init(&expected);
    expected.n_predict = N_PREDICT;

    // The device has a context of its own on the sign's display.
    struct glinfer_host_gl host;
    glinfer_host_gl_init(&host);
    host.display = kiosk->frames.sign.display;
    struct glinfer_device_params device_params;
    glinfer_device_params_init(&device_params);
    device_params.host = &host;
    device_params.allow_software = true;
    kiosk->device = glinfer_device_create(&device_params, err);

    struct glinfer_model_params model_params;
    glinfer_model_params_init(&model_params);
    model_params.path = kiosk->model_path;
    kiosk->model = kiosk->device ? glinfer_model_load(kiosk->device, &model_params, err) : NULL;

    struct glinfer_session_params session_params;
    glinfer_session_params_init(&session_params);
    session_params.n_ctx = 512;
    session_params.expected = &expected; // compiled now, not between frames
    kiosk->session =
        kiosk->model ? glinfer_session_create(kiosk->model, &session_params, err) : NULL;
    kiosk->fd = kiosk->session ? glinfer_device_fd(kiosk->device, err) : -1;
    return kiosk->fd >= 0;
}

// Asks the next question.
static bool begin(struct kiosk *kiosk, struct glinfer_error *err)
{
    const size_t n_questions = sizeof(questions) / sizeof(questions[0]);
    const char *question = questions[kiosk->n_begun % n_questions];
    const struct glinfer_message message = {.role = "user", .content = question};
    const struct glinfer_tokenizer *tokenizer = glinfer_model_tokenizer(kiosk->model);
    int32_t prompt[MAX_PROMPT];
    struct glinfer_generate_params params;
    const double start = timing_now();
    glinfer_generate_params_init(&params);
    params.prompt = prompt;
    params.n_predict = N_PREDICT;
    glinfer_session_reset(kiosk->session);
    const bool ok = (glinfer_chat_available(tokenizer)
                         ? glinfer_chat_tokenize(tokenizer, &message, 1, prompt, MAX_PROMPT,
                                                 &params.n_prompt, err)
                         : glinfer_tokenize(tokenizer, question, strlen(question), 0, prompt,
                                            MAX_PROMPT, &params.n_prompt, err)) &&
                    glinfer_begin(kiosk->session, &params, err);
    const double seconds = timing_now() - start;
    kiosk->begin_seconds = seconds > kiosk->begin_seconds ? seconds : kiosk->begin_seconds;
    kiosk->text_size = (size_t)snprintf(kiosk->text, MAX_TEXT, "> %s\n\n", question);
    kiosk->n_begun++;
    kiosk->is_answering = ok;
    return ok;
}

// Calls glinfer_step once and shows what it tells.
static bool step(struct kiosk *kiosk, struct glinfer_error *err)
{
    struct glinfer_event event = {.struct_size = sizeof(event)};
    const double start = timing_now(), limit = 1e-6 * (kiosk->budget_us + BOX_US);
    const bool ok = glinfer_step(kiosk->device, kiosk->budget_us, &event, err);
    const double seconds = timing_now() - start;
    durations_add(&kiosk->calls, seconds);
    kiosk->slowest = seconds > kiosk->slowest ? seconds : 0.98 * kiosk->slowest;
    kiosk->slowest = kiosk->slowest < limit ? kiosk->slowest : limit;
    if (seconds > limit && kiosk->n_late < MAX_LATE) {
        kiosk->late[kiosk->n_late].time = start - kiosk->frames.start;
        kiosk->late[kiosk->n_late++].seconds = seconds;
    }
    if (!ok || event.kind == GLINFER_EVENT_END) {
        kiosk->is_answering = false;
    } else if (event.kind == GLINFER_EVENT_TOKEN) {
        kiosk->n_tokens++;
        if (event.token->text_size < MAX_TEXT - kiosk->text_size) {
            memcpy(kiosk->text + kiosk->text_size, event.token->text, event.token->text_size);
            kiosk->text_size += event.token->text_size;
            kiosk->text[kiosk->text_size] = 0;
        }
    }
    return ok;
}

// Generates the beginning of an answer before the sign starts: drivers compile much of a program
// only when it first runs, and the library measures how long its parts take.
static bool warm_up(struct kiosk *kiosk, struct glinfer_error *err)
{
    const double start = timing_now();
    bool ok = begin(kiosk, err);
    while (ok && kiosk->is_answering && kiosk->n_tokens < N_WARM) {
        ok = step(kiosk, err);
        timing_wait(timing_now() + 0.01, kiosk->fd);
    }
    glinfer_end(kiosk->session);
    durations_finish(&kiosk->calls);
    kiosk->is_answering = false;
    kiosk->n_tokens = kiosk->n_begun = kiosk->n_late = 0;
    kiosk->begin_seconds = 0.0;
    kiosk->warm_seconds = timing_now() - start;
    return ok;
}

// Runs the model within a frame: one call, and more while there is work and a call as long as the
// slowest recent one would end before the next frame. After the end of an answer the next one
// begins in the same frame.
static bool answer(void *user, double next)
{
    struct kiosk *kiosk = user;
    do {
        if ((!kiosk->is_answering && !begin(kiosk, &kiosk->err)) || !step(kiosk, &kiosk->err)) {
            // The sign stays on, and shows the error.
            snprintf(kiosk->text, MAX_TEXT, "%s", kiosk->err.message);
            return false;
        }
    } while (kiosk->is_answering ? timing_wait(next - kiosk->slowest, kiosk->fd)
                                 : timing_now() < next - kiosk->slowest);
    return true;
}

static void report(struct kiosk *kiosk)
{
    const double limit = 1e-3 * (kiosk->budget_us + BOX_US);
    frames_report(&kiosk->frames);
    printf("glinfer_step: %.2f %% within %.1f ms, %u us of budget and %u us\n",
           durations_share(&kiosk->calls, limit), limit, kiosk->budget_us, BOX_US);
    durations_print(&kiosk->calls, "durations of glinfer_step");
    for (uint32_t i = 0; i < kiosk->n_late; i++) {
        printf("  late: %.2f ms at %.2f s\n", 1e3 * kiosk->late[i].seconds, kiosk->late[i].time);
    }
    printf("glinfer_begin: %u, longest %.2f ms\n", kiosk->n_begun, 1e3 * kiosk->begin_seconds);
    printf("tokens: %u, %.1f tokens/s\n", kiosk->n_tokens,
           (double)kiosk->n_tokens / kiosk->frames.seconds);
}

//-- life ------------------------------------------------------------------------------------------

static bool take_flags(struct kiosk *kiosk, int argc, char **argv)
{
    bool ok = argc % 2 == 1;
    for (int i = 1; ok && i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "-m") == 0) {
            kiosk->model_path = argv[i + 1];
        } else if (strcmp(argv[i], "--budget-us") == 0) {
            ok = frames_take_number(argv[i + 1], 1000000, &kiosk->budget_us);
        } else {
            ok = frames_take_flag(&kiosk->frames, argv[i], argv[i + 1]);
        }
    }
    return ok && kiosk->model_path;
}

static void close_kiosk(struct kiosk *kiosk)
{
    glinfer_session_destroy(&kiosk->session);
    glinfer_model_destroy(&kiosk->model);
    glinfer_device_destroy(&kiosk->device);
    frames_close(&kiosk->frames); // ends the display: the device was there before
    durations_finish(&kiosk->calls);
}

int main(int argc, char **argv)
{
    static struct kiosk kiosk = {
        .budget_us = 4000,
        .fd = -1,
        .frames = {.seconds = 20, .fps = 60, .name = "kiosk", .title = "Ask the kiosk"},
    };
    struct frames *frames = &kiosk.frames;
    frames->text = kiosk.text;
    if (!take_flags(&kiosk, argc, argv)) {
        fputs(usage, stderr);
        return 2;
    }
    bool ok = frames_open(frames) && open_model(&kiosk, &kiosk.err) && warm_up(&kiosk, &kiosk.err);
    if (ok) {
        printf("sign: %ux%u on %s\n", SIGN_WIDTH, SIGN_HEIGHT,
               (const char *)glGetString(GL_RENDERER));
        printf("warming up: %.2f s\n", kiosk.warm_seconds);
        ok = frames_run(frames, answer, &kiosk);
        report(&kiosk);
        ok = frames_write(frames) && ok && !frames->failure;
    }
    if (!ok) {
        fprintf(stderr, "kiosk: %s\n", frames->failure ? frames->failure : kiosk.err.message);
    }
    close_kiosk(&kiosk);
    return ok ? 0 : 1;
}
