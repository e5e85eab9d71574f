// ask MODEL PROMPT [TOKENS]: prints how a model goes on behind a prompt.
#include <glinfer.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_PROMPT = 1024 };

static bool print_token(void *user, const struct glinfer_token *token)
{
    return fwrite(token->text, 1, token->text_size, user) == token->text_size && !fflush(user);
}

int main(int argc, char **argv)
{
    struct glinfer_error err = {.message = "usage: ask MODEL PROMPT [TOKENS]"};
    struct glinfer_device_params device_params = {sizeof(device_params), .allow_software = true};
    struct glinfer_device *device =
        argc == 3 || argc == 4 ? glinfer_device_create(&device_params, &err) : NULL;
    struct glinfer_model_params model_params = {sizeof(model_params), .path = argv[1]};
    struct glinfer_model *model = device ? glinfer_model_load(device, &model_params, &err) : NULL;
    struct glinfer_session *session = model ? glinfer_session_create(model, NULL, &err) : NULL;
    int32_t prompt[MAX_PROMPT];
    struct glinfer_generate_params params = {sizeof(params), .prompt = prompt};
    params.n_predict = argc == 4 ? atoi(argv[3]) : 200;
    params.on_token = print_token;
    params.token_user = stdout;
    bool ok = session && glinfer_tokenize(glinfer_model_tokenizer(model), argv[2], strlen(argv[2]),
                                          0, prompt, MAX_PROMPT, &params.n_prompt, &err);
    params.n_prompt = params.n_prompt < MAX_PROMPT ? params.n_prompt : MAX_PROMPT;
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
