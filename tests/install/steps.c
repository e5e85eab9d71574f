// steps MODEL: an outside program that has an answer in its poll loop, cancels it, recovers its
// device and goes on. Prints how many tokens came.
#include <glinfer.h>
#include <poll.h>
#include <stdio.h>

static struct glinfer_error err;

// Continues the answer to its end, or cancels it after n_most tokens. Returns the number of tokens.
static int answer(struct glinfer_device *device, struct glinfer_session *session, int n_most)
{
    struct glinfer_event event = {sizeof(event)};
    struct pollfd loop = {.fd = glinfer_device_fd(device, &err), .events = POLLIN};
    int n = 0;
    while (event.kind != GLINFER_EVENT_END && poll(&loop, 1, 60000) == 1 &&
           glinfer_step(device, 4000, &event, &err)) {
        n += event.kind == GLINFER_EVENT_TOKEN;
        if (n == n_most) {
            glinfer_session_cancel(session);
        }
    }
    return n;
}

int main(int argc, char **argv)
{
    int32_t prompt[64];
    struct glinfer_device_params device_params;
    struct glinfer_model_params model_params;
    struct glinfer_generate_params params;
    glinfer_device_params_init(&device_params);
    glinfer_model_params_init(&model_params);
    glinfer_generate_params_init(&params);
    device_params.allow_software = true;
    model_params.path = argc > 1 ? argv[1] : "";
    params.prompt = prompt;
    params.n_predict = 12;
    params.ignore_eos = true;
    struct glinfer_device *device = glinfer_device_create(&device_params, &err);
    struct glinfer_model *model = device ? glinfer_model_load(device, &model_params, &err) : NULL;
    struct glinfer_session *session = model ? glinfer_session_create(model, NULL, &err) : NULL;
    bool ok = session && glinfer_tokenize(glinfer_model_tokenizer(model), "The capital", 11, 0,
                                          prompt, 64, &params.n_prompt, &err);
    ok = ok && glinfer_begin(session, &params, &err);
    const int n_cancelled = ok ? answer(device, session, 5) : 0;
    ok = ok && err.status == GLINFER_STATUS_CANCELLED;
    params.resume = true;
    ok = ok && glinfer_device_recover(device, NULL, NULL, &err) &&
         glinfer_begin(session, &params, &err);
    const int n_resumed = ok ? answer(device, session, -1) : 0;
    printf("%d tokens, cancelled, then %d\n", n_cancelled, n_resumed);
    if (!ok) {
        fprintf(stderr, "steps: %s\n", err.message);
    }
    glinfer_session_destroy(&session);
    glinfer_model_destroy(&model);
    glinfer_device_destroy(&device);
    return ok ? 0 : 1;
}
