// json MODEL [CITY]: fills a struct with what a model says of a city. The schema makes every answer
// one that parses; whether it is true is the model's affair.
#include <cjson/cJSON.h>
#include <glinfer.h>
#include <stdio.h>

enum { MAX_PROMPT = 256, MAX_ANSWER = 1024 };

struct city {
    char country[81]; // 20 characters of UTF-8
    char river[81];
    double population;
    bool is_capital;
};

static const char schema[] =
    "{\"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
    "\"country\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 20},"
    "\"river\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 20},"
    "\"population\": {\"type\": \"integer\", \"minimum\": 0, \"maximum\": 99999999},"
    "\"is_capital\": {\"type\": \"boolean\"}},"
    "\"required\": [\"country\", \"river\", \"population\", \"is_capital\"]}";

struct text {
    char bytes[MAX_ANSWER];
    size_t size;
};

static bool add_token(void *user, const struct glinfer_token *token)
{
    struct text *text = user;
    if (token->text_size >= sizeof(text->bytes) - text->size) {
        return false; // longer than any answer of the schema
    }
    memcpy(text->bytes + text->size, token->text, token->text_size);
    text->size += token->text_size;
    return true;
}

static bool fill(struct city *city, const char *json)
{
    cJSON *object = cJSON_Parse(json);
    const cJSON *country = cJSON_GetObjectItem(object, "country");
    const cJSON *river = cJSON_GetObjectItem(object, "river");
    const cJSON *population = cJSON_GetObjectItem(object, "population");
    const cJSON *is_capital = cJSON_GetObjectItem(object, "is_capital");
    const bool ok = cJSON_IsString(country) && cJSON_IsString(river) &&
                    cJSON_IsNumber(population) && cJSON_IsBool(is_capital);
    if (ok) {
        snprintf(city->country, sizeof(city->country), "%s", country->valuestring);
        snprintf(city->river, sizeof(city->river), "%s", river->valuestring);
        city->population = population->valuedouble;
        city->is_capital = cJSON_IsTrue(is_capital);
    }
    cJSON_Delete(object);
    return ok;
}

static bool ask(struct glinfer_model *model, const char *name, struct text *text,
                struct glinfer_error *err)
{
    char question[128];
    int32_t prompt[MAX_PROMPT];
    struct glinfer_grammar grammar;
    struct glinfer_generate_params params;
    struct glinfer_session *session = glinfer_session_create(model, NULL, err);
    glinfer_grammar_init(&grammar);
    grammar.json_schema = schema;
    glinfer_generate_params_init(&params);
    params.prompt = prompt;
    params.n_predict = 250;
    params.grammar = &grammar;
    params.on_token = add_token;
    params.token_user = text;
    snprintf(question, sizeof(question), "The city %.64s as JSON: ", name);
    const bool ok = session &&
                    glinfer_tokenize(glinfer_model_tokenizer(model), question, strlen(question), 0,
                                     prompt, MAX_PROMPT, &params.n_prompt, err) &&
                    glinfer_generate(session, &params, NULL, err);
    glinfer_session_destroy(&session);
    return ok;
}

int main(int argc, char **argv)
{
    struct glinfer_error err = {.message = "usage: json MODEL [CITY]"};
    struct glinfer_device *device = NULL;
    struct glinfer_model *model = NULL;
    struct text text = {0};
    struct city city = {0};

    struct glinfer_device_params device_params;
    glinfer_device_params_init(&device_params);
    device_params.allow_software = true;
    bool ok = argc >= 2 && (device = glinfer_device_create(&device_params, &err));

    struct glinfer_model_params model_params;
    glinfer_model_params_init(&model_params);
    model_params.path = argv[1];
    ok = ok && (model = glinfer_model_load(device, &model_params, &err));
    ok = ok && ask(model, argc > 2 ? argv[2] : "Paris", &text, &err);
    if (ok && !(ok = fill(&city, text.bytes))) {
        snprintf(err.message, sizeof(err.message), "no city: %.900s", text.bytes);
    }
    if (ok) {
        printf("country: %s\nriver: %s\npopulation: %.0f\ncapital: %s\n", city.country, city.river,
               city.population, city.is_capital ? "yes" : "no");
    } else {
        fprintf(stderr, "json: %s\n", err.message);
    }
    glinfer_model_destroy(&model);
    glinfer_device_destroy(&device);
    return ok ? 0 : 1;
}
