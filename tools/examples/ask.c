// ask MODEL PROMPT [TOKENS]: answers a question; a model without a chat template continues the
// text.
#include <glinfer.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_PROMPT = 1024 };

static bool print_token(void *user, const struct glinfer_token *token)
{
    return fwrite(token->text, 1, token->text_size, user) == token->text_size && !fflush(user);
}

// Fills at most MAX_PROMPT ids: the text as a message of a chat if the model has a chat template.
static bool encode(const struct glinfer_tokenizer *tokenizer, const char *text, int32_t *ids,
                   size_t *n, struct glinfer_error *err)
{
    const struct glinfer_message message = {"user", text};
    const bool ok =
        glinfer_chat_available(tokenizer)
            ? glinfer_chat_tokenize(tokenizer, &message, 1, ids, MAX_PROMPT, n, err)
            : glinfer_tokenize(tokenizer, text, strlen(text), 0, ids, MAX_PROMPT, n, err);
    if (ok && *n > MAX_PROMPT) {
        snprintf(err->message, sizeof(err->message), "the prompt has %zu tokens, more than %d", *n,
                 MAX_PROMPT);
    }
    return ok && *n <= MAX_PROMPT;
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
    params.n_predict = argc == 4 ? (uint32_t)strtoul(argv[3], NULL, 10) : 200;
    params.on_token = print_token;
    params.token_user = stdout;
    const bool ok =
        session &&
        encode(glinfer_model_tokenizer(model), argv[2], prompt, &params.n_prompt, &err) &&
        glinfer_generate(session, &params, NULL, &err);
    puts("");
    if (!ok) {
        fprintf(stderr, "ask: %s\n", err.message);
    }
    glinfer_session_destroy(&session);
    glinfer_model_destroy(&model);
    glinfer_device_destroy(&device);
    return ok ? 0 : 1;
}
