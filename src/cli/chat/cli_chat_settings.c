// `/set`: the settings of the sampling flags, the length of answers and the system message.
#include "cli/chat/cli_chat.h"
#include "cli/flags/cli_nearest.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 64, MAX_NAMES = 128 };

// True for a flag that sets how tokens are sampled.
static bool is_setting(const struct cli_flag *flag)
{
    const size_t begin = offsetof(struct cli_chat_settings, sampling);
    return flag->kind != CLI_KIND_SECTION && flag->offset >= begin &&
           flag->offset < begin + sizeof(struct cli_sampling);
}

// Copies a name of a flag without its dashes.
static bool next_name(const char **names, char name[NAME_SIZE])
{
    char full[NAME_SIZE];
    if (!cli_next_name(names, full, sizeof(full))) {
        return false;
    }
    snprintf(name, NAME_SIZE, "%s", full + strspn(full, "-"));
    return true;
}

// Returns the last name, which is the longest one.
static void main_name(const struct cli_flag *flag, char name[NAME_SIZE])
{
    const char *names = flag->names;
    while (next_name(&names, name)) {
    }
}

const char *cli_chat_setting_at(size_t index, char name[64])
{
    static const char *const others[] = {"tokens", "system"};
    for (size_t i = 0; i < cli_chat_command.n_flag; i++) {
        if (is_setting(&cli_chat_command.flags[i]) && index-- == 0) {
            main_name(&cli_chat_command.flags[i], name);
            return name;
        }
    }
    return index < 2 ? others[index] : NULL;
}

static const struct cli_flag *find_setting(const char *word)
{
    char name[NAME_SIZE];
    for (size_t i = 0; i < cli_chat_command.n_flag; i++) {
        const struct cli_flag *flag = &cli_chat_command.flags[i];
        const char *names = flag->names;
        while (is_setting(flag) && next_name(&names, name)) {
            if (strcmp(name, word) == 0) {
                return flag;
            }
        }
    }
    return NULL;
}

//-- values ----------------------------------------------------------------------------------------

static void print_flag(const struct cli_chat *chat, const struct cli_flag *flag)
{
    const struct cli_sampling *sampling = &chat->settings->sampling;
    char name[NAME_SIZE], value[64];
    main_name(flag, name);
    if (flag->kind == CLI_KIND_TEXT) {
        const char *field = (const char *)chat->settings + flag->offset;
        const char *text = *(const char *const *)(const void *)field;
        fprintf(stderr, "%s %s\n", name, text ? text : "(default)");
    } else if (cli_value_text(flag, chat->settings, value, sizeof(value))) {
        fprintf(stderr, "%s %s\n", name, value);
    } else if (flag->parse == cli_parse_bias) {
        fprintf(stderr, "%s (%zu tokens)\n", name, sampling->samplers.values.n_logit_bias);
    } else if (flag->parse == cli_parse_breaker) {
        const bool is_own = sampling->samplers.values.dry_breakers != NULL;
        fprintf(stderr, "%s %s\n", name, is_own ? "(set)" : "(default)");
    }
}

static bool set_flag(struct cli_chat *chat, const struct cli_flag *flag, const char *value)
{
    struct cli_sampling *sampling = &chat->settings->sampling;
    const struct cli_sampling before = *sampling;
    char name[NAME_SIZE], why[512] = "something else";
    main_name(flag, name);
    char *own = strdup(value); // a flag of text keeps the pointer
    if (!own || !cli_store_value(flag, chat->settings, own, why, sizeof(why))) {
        free(own);
        *sampling = before;
        return flag->kind == CLI_KIND_FILE
                   ? cli_fail(CLI_EXIT_FAILED, "%s", why)
                   : cli_fail(CLI_EXIT_FAILED, "invalid %s \"%.40s\": expected %s", name, value,
                              why);
    }
    *CLI_APPEND(&chat->texts) = own;
    if (!cli_sampling_check(sampling)) {
        *sampling = before;
        return false;
    }
    if (sampling->seed != before.seed) { // the next answer is the first with this seed
        chat->turns.seed = cli_sampling_seed(sampling, false);
        chat->turns.n_turns = 0;
    }
    return true;
}

static bool set_tokens(struct cli_chat *chat, const char *value)
{
    char why[128];
    if (!cli_parse_predict(value, &chat->turns.n_predict, why, sizeof(why))) {
        return cli_fail(CLI_EXIT_FAILED, "invalid tokens \"%.40s\": expected %s", value, why);
    }
    return true;
}

static void print_tokens(const struct cli_chat *chat)
{
    fprintf(stderr, "tokens %lld\n", (long long)chat->turns.n_predict);
}

static void print_system(const struct cli_chat *chat)
{
    const struct cli_conversation *conversation = &chat->turns.conversation;
    const bool has_system = cli_conversation_count_system(conversation);
    fprintf(stderr, "system %s\n", has_system ? conversation->items[0].content : "(none)");
}

//-- the command -----------------------------------------------------------------------------------

static bool refuse(const char *word)
{
    char texts[MAX_NAMES][NAME_SIZE];
    const char *names[MAX_NAMES];
    size_t n = 0;
    while (n < MAX_NAMES && (names[n] = cli_chat_setting_at(n, texts[n])) != NULL) {
        n++;
    }
    const char *nearest = cli_nearest(word, names, n);
    return nearest ? cli_fail(CLI_EXIT_FAILED, "unknown setting %s; is it %s?", word, nearest)
                   : cli_fail(CLI_EXIT_FAILED, "unknown setting %s; /set lists them all", word);
}

bool cli_chat_set(struct cli_chat *chat, const char *argument)
{
    const size_t size = strcspn(argument, " \t\n=");
    const char *value = argument + size + strspn(argument + size, " \t\n=");
    char word[NAME_SIZE];
    snprintf(word, sizeof(word), "%.*s", size < 60 ? (int)size : 60, argument);
    for (char *c = word; *c; c++) {
        *c = *c == '_' ? '-' : *c;
    }
    if (size == 0) {
        for (size_t i = 0; i < cli_chat_command.n_flag; i++) {
            if (is_setting(&cli_chat_command.flags[i])) {
                print_flag(chat, &cli_chat_command.flags[i]);
            }
        }
        print_tokens(chat);
        print_system(chat);
        return true;
    }
    if (strcmp(word, "system") == 0) {
        if (value[0]) {
            return cli_chat_set_system(chat, value);
        }
        print_system(chat);
        return true;
    }
    const bool is_tokens = strcmp(word, "tokens") == 0 || strcmp(word, "n") == 0 ||
                           strcmp(word, "n-predict") == 0 || strcmp(word, "predict") == 0;
    const struct cli_flag *flag = is_tokens ? NULL : find_setting(word + strspn(word, "-"));
    if (!is_tokens && !flag) {
        return refuse(word);
    }
    if (value[0] && !(is_tokens ? set_tokens(chat, value) : set_flag(chat, flag, value))) {
        return false;
    }
    if (is_tokens) {
        print_tokens(chat);
    } else {
        print_flag(chat, flag);
    }
    return true;
}
