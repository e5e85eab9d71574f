// ask MODEL PROMPT: prints how a model goes on after a prompt, or what it answers to it as a chat.
#include <glinfer.h>
#include <stdio.h>

enum { MAX_PROMPT = 1024 };

static bool print_token(void *user, const struct glinfer_token *token)
{
    return fwrite(token->text, 1, token->text_size, user) == token->text_size && !fflush(user);
}

int main(int argc, char **argv)
{
    struct glinfer_error err = {.message = "usage: ask MODEL PROMPT"};
    struct glinfer_device *device = NULL;
    struct glinfer_model *model = NULL;
    struct glinfer_session *session = NULL;
    int32_t prompt[MAX_PROMPT];

    struct glinfer_device_params device_params;
    glinfer_device_params_init(&device_params);
    device_params.allow_software = true; // a program that needs a GPU leaves this out
    bool ok = argc == 3 && (device = glinfer_device_create(&device_params, &err));

    struct glinfer_model_params model_params;
    glinfer_model_params_init(&model_params);
    model_params.path = argv[1];
    ok = ok && (model = glinfer_model_load(device, &model_params, &err));
    ok = ok && (session = glinfer_session_create(model, NULL, &err));

    struct glinfer_generate_params params;
    glinfer_generate_params_init(&params);
    params.prompt = prompt;
    params.n_predict = 200;
    params.on_token = print_token;
    params.token_user = stdout;
    if (ok) {
        const struct glinfer_tokenizer *tokenizer = glinfer_model_tokenizer(model);
        const struct glinfer_message message = {.role = "user", .content = argv[2]};
        ok = glinfer_chat_available(tokenizer)
                 ? glinfer_chat_tokenize(tokenizer, &message, 1, prompt, MAX_PROMPT,
                                         &params.n_prompt, &err)
                 : glinfer_tokenize(tokenizer, argv[2], strlen(argv[2]), 0, prompt, MAX_PROMPT,
                                    &params.n_prompt, &err);
        params.n_prompt = params.n_prompt < MAX_PROMPT ? params.n_prompt : MAX_PROMPT;
    }
    ok = ok && glinfer_generate(session, &params, NULL, &err);
    puts("");
    if (!ok) {
        fprintf(stderr, "ask: %s\n", err.message);
    }
    glinfer_session_destroy(&session);
    glinfer_model_destroy(&model);
    glinfer_device_destroy(&device);
    return ok ? 0 : 1;
}
