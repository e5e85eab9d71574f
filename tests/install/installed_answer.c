// answer MODEL: an outside program that embeds the installed library and prints eight tokens.
#include <glinfer.h>
#include <stdio.h>

static bool print_token(void *user, const struct glinfer_token *token)
{
    (void)user;
    return fwrite(token->text, 1, token->text_size, stdout) == token->text_size;
}

int main(int argc, char **argv)
{
    struct glinfer_error err = {.message = "usage: answer MODEL"};
    struct glinfer_device *device = NULL;
    struct glinfer_model *model = NULL;
    struct glinfer_session *session = NULL;
    struct glinfer_stats stats = {.struct_size = sizeof(stats)};
    const char *text = "The capital of France is";
    int32_t prompt[64];
    bool ok = argc == 2;

    struct glinfer_device_params dp;
    glinfer_device_params_init(&dp);
    dp.allow_software = true;
    ok = ok && (device = glinfer_device_create(&dp, &err));

    struct glinfer_model_params mp;
    glinfer_model_params_init(&mp);
    mp.path = argv[1];
    ok = ok && (model = glinfer_model_load(device, &mp, &err));
    ok = ok && (session = glinfer_session_create(model, NULL, &err));

    struct glinfer_generate_params gp;
    glinfer_generate_params_init(&gp);
    gp.prompt = prompt;
    gp.n_predict = 8;
    gp.ignore_eos = true;
    gp.on_token = print_token;
    ok = ok && glinfer_tokenize(glinfer_model_tokenizer(model), text, strlen(text), 0, prompt, 64,
                                &gp.n_prompt, &err);
    ok = ok && glinfer_generate(session, &gp, &stats, &err);

    printf("\n%u tokens\n", (unsigned)stats.predicted_n);
    if (!ok) {
        fprintf(stderr, "answer: %s\n", err.message);
    }
    glinfer_session_destroy(&session);
    glinfer_model_destroy(&model);
    glinfer_device_destroy(&device);
    return ok ? 0 : 1;
}
