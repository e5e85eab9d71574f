// poll MODEL [N]: answers inside a poll loop. Enter, or N tokens (20), cancels the first answer;
// then a second one runs to its end.
#include <errno.h>
#include <glinfer.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_PROMPT = 256, BUDGET_US = 4000 };

struct loop {
    struct glinfer_device *device;
    struct glinfer_session *session;
    struct pollfd fds[2]; // the device, the keyboard
    uint32_t n_tokens;    // of the answer
};

static bool begin(struct loop *loop, const struct glinfer_tokenizer *tokenizer, const char *text,
                  struct glinfer_error *err)
{
    int32_t prompt[MAX_PROMPT];
    struct glinfer_generate_params params;
    glinfer_generate_params_init(&params);
    params.prompt = prompt;
    params.n_predict = 60;
    params.ignore_eos = true;
    loop->n_tokens = 0;
    glinfer_session_reset(loop->session);
    return glinfer_tokenize(tokenizer, text, strlen(text), 0, prompt, MAX_PROMPT, &params.n_prompt,
                            err) &&
           glinfer_begin(loop->session, &params, err);
}

// Returns true if a key was pressed. A keyboard that has ended is not looked at again.
static bool key_pressed(struct loop *loop)
{
    char bytes[64];
    if (!loop->fds[1].revents) {
        return false;
    }
    const ssize_t n = read(loop->fds[1].fd, bytes, sizeof(bytes));
    if (n <= 0) {
        loop->fds[1].fd = -1;
    }
    return n > 0;
}

// Prints tokens until the answer ends, or fails with GLINFER_STATUS_CANCELLED soon after a key or
// max_tokens.
static bool answer(struct loop *loop, uint32_t max_tokens, struct glinfer_error *err)
{
    struct glinfer_event event = {.struct_size = sizeof(event)};
    while (event.kind != GLINFER_EVENT_END) {
        // The other descriptors of a program, its socket or its display, wait here too.
        if (poll(loop->fds, 2, -1) < 0 && errno != EINTR) {
            err->status = GLINFER_STATUS_IO;
            snprintf(err->message, sizeof(err->message), "poll: %s", strerror(errno));
            return false;
        }
        if (key_pressed(loop) || loop->n_tokens >= max_tokens) {
            glinfer_session_cancel(loop->session);
        }
        if (!glinfer_step(loop->device, BUDGET_US, &event, err)) {
            return false;
        }
        if (event.kind == GLINFER_EVENT_TOKEN) {
            loop->n_tokens++;
            fwrite(event.token->text, 1, event.token->text_size, stdout);
            fflush(stdout);
        }
    }
    return true;
}

// Answers twice: the first answer is cancelled, which does the session no harm.
static bool answer_twice(struct loop *loop, const struct glinfer_tokenizer *tokenizer,
                         uint32_t max_tokens, struct glinfer_error *err)
{
    loop->fds[0] = (struct pollfd){.fd = glinfer_device_fd(loop->device, err), .events = POLLIN};
    loop->fds[1] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    if (loop->fds[0].fd < 0 || !begin(loop, tokenizer, "The capital of France is", err)) {
        return false;
    }
    if (!answer(loop, max_tokens, err) && err->status != GLINFER_STATUS_CANCELLED) {
        return false;
    }
    printf("\n[%u tokens, %s]\n", loop->n_tokens, glinfer_status_text(err->status));
    if (!begin(loop, tokenizer, "The capital of Italy is", err) || !answer(loop, UINT32_MAX, err)) {
        return false;
    }
    printf("\n[%u tokens, to the end]\n", loop->n_tokens);
    return true;
}

int main(int argc, char **argv)
{
    struct glinfer_error err = {.message = "usage: poll MODEL [N]"};
    struct loop loop = {0};
    struct glinfer_model *model = NULL;

    struct glinfer_device_params device_params;
    glinfer_device_params_init(&device_params);
    device_params.allow_software = true;
    bool ok = argc >= 2 && (loop.device = glinfer_device_create(&device_params, &err));

    struct glinfer_model_params model_params;
    glinfer_model_params_init(&model_params);
    model_params.path = argv[1];
    ok = ok && (model = glinfer_model_load(loop.device, &model_params, &err));
    ok = ok && (loop.session = glinfer_session_create(model, NULL, &err));
    err.status = GLINFER_STATUS_OK;
    ok = ok && answer_twice(&loop, glinfer_model_tokenizer(model),
                            argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 20, &err);
    if (!ok) {
        fprintf(stderr, "poll: %s\n", err.message);
    }
    glinfer_session_destroy(&loop.session);
    glinfer_model_destroy(&model);
    glinfer_device_destroy(&loop.device);
    return ok ? 0 : 1;
}
