#include "cli/flags/cli_template.h"

#include <string.h>

// Tokens that begin a turn in a vocabulary, and the templates that write turns so, the first of
// them for a model that has none.
static const struct {
    const char *begin, *names[6];
} turn_marks[] = {
    {"<start_of_turn>", {"gemma", "gemma3"}},
    {"<|im_start|>", {"chatml", "chatml-bos", "qwen3", "qwq"}},
    {"<|im_sep|>", {"phi4"}},
    {"<|start_header_id|>", {"llama3", "llama3.1"}},
    {"<|start_of_role|>", {"granite", "granite-4.0"}},
    {"<|user|>", {"phi3", "phi3-first"}},
    {"<｜User｜>", {"deepseek3", "deepseek-r1", "deepseek-r1-first"}},
    {"[INST]", {"mistral-v7", "mistral-v7-tekken", "mistral-v3-tekken", "mistral-v3"}},
};
#define N_MARK (sizeof(turn_marks) / sizeof(turn_marks[0]))

static bool is_token(const struct glinfer_tokenizer *tokenizer, const char *text)
{
    const size_t size = strlen(text);
    const unsigned as_text = GLINFER_TOKENIZE_NO_BOS | GLINFER_TOKENIZE_NO_SPECIAL;
    int32_t id;
    size_t n = 0, n_text = 0;
    return glinfer_tokenize(tokenizer, text, size, GLINFER_TOKENIZE_NO_BOS, &id, 1, &n, NULL) &&
           glinfer_tokenize(tokenizer, text, size, as_text, &id, 0, &n_text, NULL) && n == 1 &&
           n_text > 1;
}

bool cli_template_is_missing(const struct cli_session *session)
{
    return strcmp(session->info.chat_template, "none") == 0;
}

bool cli_template_check(const struct cli_session *session)
{
    const char *fault = session->info.template_fault;
    if (cli_template_is_missing(session)) {
        // The template whose tokens of turns the vocabulary has, if it has any.
        struct glinfer_tokenizer *tokenizer = glinfer_tokenizer_load(session->path, NULL);
        const char *name = NULL;
        for (size_t i = 0; tokenizer && !name && i < N_MARK; i++) {
            name = is_token(tokenizer, turn_marks[i].begin) ? turn_marks[i].names[0] : NULL;
        }
        glinfer_tokenizer_destroy(&tokenizer);
        return cli_fail(CLI_EXIT_FAILED,
                        "%s has no chat template: it is a base model; `glinfer run` without -sys "
                        "continues a text, and you can still try --chat-template %s",
                        session->flags->model, name ? name : "chatml");
    }
    return strcmp(session->info.chat_template, "unknown") != 0 ||
           cli_fail(CLI_EXIT_FAILED,
                    "%s%s; choose one with --chat-template, or continue a plain text with `glinfer "
                    "run --raw`",
                    fault[0] ? fault : session->flags->model,
                    fault[0] ? "" : " has an unknown chat template");
}

void cli_template_choose(const struct cli_session *session, struct cli_session_flags *flags)
{
    const struct glinfer_model_info *info = &session->info;
    if (flags->model && cli_template_is_missing(session) && !info->is_encoder &&
        info->pooling == GLINFER_POOLING_DEFAULT) {
        flags->chat_template = "chatml";
        cli_note("%s has no chat template: chats are written as chatml; --chat-template chooses "
                 "another",
                 flags->model);
    }
}

// Returns the token that begins a turn of a template; NULL where turns are plain text.
static const char *find_mark(const char *name)
{
    for (size_t i = 0; i < N_MARK; i++) {
        for (const char *const *known = turn_marks[i].names; *known; known++) {
            if (strcmp(*known, name) == 0) {
                return turn_marks[i].begin;
            }
        }
    }
    return NULL;
}

void cli_template_warn(const struct cli_session *session)
{
    const char *name = session->info.chat_template;
    const char *mark = find_mark(name), *fault = session->info.template_fault;
    if (fault[0]) {
        const bool is_known = strcmp(name, "unknown") != 0;
        cli_warn("%s%s%s", fault, is_known ? "; used in its place: " : "", is_known ? name : "");
    }
    if (mark && !is_token(glinfer_model_tokenizer(session->model), mark)) {
        cli_warn("the chat template %s begins its turns with %s, which is not a token of this "
                 "model: the model does not know them",
                 name, mark);
    }
}
