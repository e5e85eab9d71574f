// The lines of a chat that begin with a slash.
#include "cli/chat/cli_chat.h"
#include "cli/chat/cli_message.h"
#include "cli/flags/cli_nearest.h"

#include <string.h>
#include <sys/stat.h>

static const char commands_help[] =
    "    /help            show these lines\n"
    "    /reset, /clear   forget the conversation, but not the system message\n"
    "    /undo            forget the last message and its answer\n"
    "    /retry           answer the last message again, with a new seed\n"
    "    /system TEXT     set the system message; without TEXT, show it\n"
    "    /set NAME VALUE  change a setting, such as temp, top_k, seed or tokens (the\n"
    "                     limit of an answer); without VALUE, show it; without NAME,\n"
    "                     show all settings\n"
    "    /save FILE       write the conversation as JSON; /save! replaces a file\n"
    "    /load FILE       continue a saved conversation; without FILE, the last one\n"
    "                     that was not saved\n"
    "    /stats           show tokens and times of the last answer\n"
    "    /quit, /exit, /bye\n"
    "                     leave, as Ctrl-D does\n"
    "Tab completes commands, settings and files. // starts a message with a slash.\n"
    "A backslash at the end of a line continues the message on the next line, and so\n"
    "do \"\"\" before and after several lines. Pasted lines are one message.\n"
    "Ctrl-C stops an answer or drops the line; pressed twice on an empty line it\n"
    "leaves. A conversation that was not saved is kept: /load continues it.\n";

static bool run_help(struct cli_chat *chat, const char *argument)
{
    (void)chat, (void)argument;
    fputs(commands_help, stderr);
    return true;
}

//-- the conversation ------------------------------------------------------------------------------

static bool run_reset(struct cli_chat *chat, const char *argument)
{
    (void)argument;
    cli_turns_reset(&chat->turns);
    chat->is_saved = true;
    fprintf(stderr, "the conversation is empty\n");
    return true;
}

static bool run_undo(struct cli_chat *chat, const char *argument)
{
    (void)argument;
    if (!cli_turns_undo(&chat->turns)) {
        return cli_fail(CLI_EXIT_FAILED, "cannot undo: the conversation has no question");
    }
    const struct cli_conversation *conversation = &chat->turns.conversation;
    const size_t n = conversation->count - cli_conversation_count_system(conversation);
    chat->is_saved = false;
    fprintf(stderr, "the last message and its answer are forgotten, %zu message%s %s left\n", n,
            cli_plural(n), n == 1 ? "is" : "are");
    return true;
}

static bool run_retry(struct cli_chat *chat, const char *argument)
{
    const struct cli_conversation *conversation = &chat->turns.conversation;
    (void)argument;
    if (conversation->count == cli_conversation_count_system(conversation)) {
        return cli_fail(CLI_EXIT_FAILED, "cannot retry: the conversation has no question");
    }
    cli_chat_show_last(chat, false);
    if (chat->settings->sampling.temperature <= 0 && chat->lines.is_terminal) {
        fprintf(stderr, "(the temperature is 0, so the answer will be the same)\n");
    }
    cli_chat_ask(chat, NULL);
    return true;
}

bool cli_chat_set_system(struct cli_chat *chat, const char *text)
{
    cli_conversation_set_system(&chat->turns.conversation, text);
    chat->is_saved = false;
    fprintf(stderr, "the system message is set\n");
    return true;
}

static bool run_system(struct cli_chat *chat, const char *argument)
{
    struct cli_conversation *conversation = &chat->turns.conversation;
    if (argument[0]) {
        return cli_chat_set_system(chat, argument);
    }
    if (cli_conversation_count_system(conversation)) {
        fprintf(stderr, "%s\n", conversation->items[0].content);
    } else {
        fprintf(stderr, "there is no system message\n");
    }
    return true;
}

//-- files -----------------------------------------------------------------------------------------

static void note_file(struct cli_chat *chat, struct cli_bytes *path)
{
    cli_bytes_finish(&chat->file);
    chat->file = *path;
    *path = (struct cli_bytes){0};
    chat->is_saved = true;
    cli_chat_drop_kept();
}

static bool save(struct cli_chat *chat, const char *argument, bool may_replace)
{
    const struct cli_conversation *conversation = &chat->turns.conversation;
    struct cli_bytes path = {0};
    struct stat status;
    bool is_done = false;
    cli_message_path(argument, &path);
    const bool is_own = path.size > 0 && chat->file.data && strcmp(chat->file.data, path.data) == 0;
    if (path.size == 0) {
        cli_fail(CLI_EXIT_FAILED, "/save needs a file");
    } else if (!may_replace && !is_own && stat(path.data, &status) == 0 &&
               S_ISREG(status.st_mode)) {
        cli_fail(CLI_EXIT_FAILED, "cannot save to %s: it exists; /save! %s replaces it", path.data,
                 argument);
    } else if (cli_conversation_save(conversation, path.data)) {
        fprintf(stderr, "%zu message%s %s saved to %s\n", conversation->count,
                cli_plural(conversation->count), conversation->count == 1 ? "is" : "are",
                path.data);
        note_file(chat, &path);
        is_done = true;
    }
    cli_bytes_finish(&path);
    return is_done;
}

static bool run_save(struct cli_chat *chat, const char *argument)
{
    return save(chat, argument, false);
}

static bool run_replace(struct cli_chat *chat, const char *argument)
{
    return save(chat, argument, true);
}

static bool run_load(struct cli_chat *chat, const char *argument)
{
    struct cli_conversation *conversation = &chat->turns.conversation;
    struct cli_bytes path = {0};
    char kept[4096];
    bool is_done = false;
    cli_message_path(argument, &path);
    const bool is_kept = path.size == 0 && cli_chat_find_kept(kept, sizeof(kept));
    if (path.size == 0 && !is_kept) {
        cli_fail(CLI_EXIT_FAILED, "/load needs a file, as no conversation was left unsaved");
    } else if (cli_conversation_load(conversation, is_kept ? kept : path.data)) {
        cli_turns_begin(&chat->turns);
        fprintf(stderr, "%zu message%s %s loaded\n", conversation->count,
                cli_plural(conversation->count), conversation->count == 1 ? "is" : "are");
        if (is_kept) {
            chat->is_saved = false;
        } else {
            note_file(chat, &path);
        }
        cli_chat_show_last(chat, true);
        is_done = true;
    }
    cli_bytes_finish(&path);
    return is_done;
}

//-- the others ------------------------------------------------------------------------------------

static bool run_stats(struct cli_chat *chat, const char *argument)
{
    const struct glinfer_stats *stats = &chat->turns.stats;
    char memory[24];
    (void)argument;
    if (stats->struct_size == 0) {
        fprintf(stderr, "there is no answer yet\n");
        return true;
    }
    fprintf(stderr, "reused  %6zu tokens of the earlier conversation\n", chat->turns.n_reused);
    cli_print_speeds(stats);
    fprintf(stderr, "context %6u tokens of %u, peak memory %s\n", stats->n_past,
            chat->session.info.n_ctx, cli_format_size(memory, stats->peak_memory));
    return true;
}

static bool run_quit(struct cli_chat *chat, const char *argument)
{
    (void)argument;
    chat->is_over = true;
    return true;
}

static const struct {
    const char *name;
    bool (*run)(struct cli_chat *chat, const char *argument); // false with the reason printed
} commands[] = {
    {"/help", run_help},     {"/reset", run_reset},   {"/clear", run_reset},  {"/undo", run_undo},
    {"/retry", run_retry},   {"/system", run_system}, {"/set", cli_chat_set}, {"/save", run_save},
    {"/save!", run_replace}, {"/load", run_load},     {"/stats", run_stats},  {"/quit", run_quit},
    {"/exit", run_quit},     {"/bye", run_quit},
};
#define N_COMMAND (sizeof(commands) / sizeof(commands[0]))

const char *cli_chat_command_at(size_t index)
{
    return index < N_COMMAND ? commands[index].name : NULL;
}

static bool refuse_command(const char *text, size_t size)
{
    const char *names[N_COMMAND];
    char word[64];
    for (size_t i = 0; i < N_COMMAND; i++) {
        names[i] = commands[i].name;
    }
    snprintf(word, sizeof(word), "%.*s", (int)size, text);
    const char *nearest = cli_nearest(word, names, N_COMMAND);
    if (nearest) {
        return cli_fail(CLI_EXIT_FAILED, "unknown command %s; is it %s?", word, nearest);
    }
    return cli_fail(
        CLI_EXIT_FAILED,
        "unknown command %s; /help lists them; to start a message with a slash, type //", word);
}

void cli_chat_obey(struct cli_chat *chat, const char *text)
{
    const size_t size = strcspn(text, " \t\n");
    for (size_t i = 0; i < N_COMMAND; i++) {
        if (strlen(commands[i].name) == size && strncmp(commands[i].name, text, size) == 0) {
            const char *argument = text + size + strspn(text + size, " \t\n");
            chat->has_failed = !commands[i].run(chat, argument) || chat->has_failed;
            return;
        }
    }
    chat->has_failed = !refuse_command(text, size < 60 ? size : 60) || chat->has_failed;
}
