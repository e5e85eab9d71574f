// The lines of a chat that begin with a slash.
#include "cli/chat/cli_chat.h"
#include "cli/chat/cli_message.h"
#include "cli/flags/cli_nearest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char commands_help[] =
    "    /help             these lines\n"
    "    /reset, /clear    forget the conversation, but not the system message\n"
    "    /undo             forget the last message and its answer\n"
    "    /retry            answer the last message again, by another seed\n"
    "    /system TEXT      set the system message; without a text print it\n"
    "    /set NAME VALUE   set temperature, tokens (of an answer; -1: no limit) or system; "
    "without\n"
    "                      a value print it, without a name all\n"
    "    /save FILE        write the conversation as JSON; /save! FILE replaces a file\n"
    "    /load FILE        go on with a conversation that was saved\n"
    "    /stats            tokens and times of the last answer\n"
    "    /quit, /exit, /bye  leave, as Ctrl-D does\n"
    "A message that begins with a slash is written with two. A line that ends in a backslash goes "
    "on\n"
    "with the next one, and so does text from \"\"\" to \"\"\"; lines that are pasted together are "
    "one\n"
    "message. Ctrl-C stops an answer, or drops the line; twice on an empty line it leaves.\n";

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
        return cli_fail(CLI_EXIT_FAILED, "there is no message to forget");
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
        return cli_fail(CLI_EXIT_FAILED, "there is no message to answer again");
    }
    cli_chat_ask(chat, NULL);
    return true;
}

static bool run_system(struct cli_chat *chat, const char *argument)
{
    struct cli_conversation *conversation = &chat->turns.conversation;
    if (argument[0]) {
        cli_conversation_set_system(conversation, argument);
        chat->is_saved = false;
        fprintf(stderr, "the system message is set\n");
    } else if (cli_conversation_count_system(conversation)) {
        fprintf(stderr, "%s\n", conversation->items[0].content);
    } else {
        fprintf(stderr, "there is no system message\n");
    }
    return true;
}

//-- settings --------------------------------------------------------------------------------------

static bool set_temperature(struct cli_chat *chat, const char *value)
{
    char *end;
    const double number = strtod(value, &end);
    if (end == value || *end || !(number >= 0 && number <= 1000)) {
        return cli_fail(CLI_EXIT_FAILED,
                        "/set temperature \"%.40s\": expected a number from 0 to 1000", value);
    }
    chat->settings->sampling.temperature = (float)number;
    return true;
}

static bool set_tokens(struct cli_chat *chat, const char *value)
{
    char *end;
    errno = 0;
    const long number = strtol(value, &end, 10);
    if (end == value || *end || errno || number < -1 || number == 0 || number > 1 << 24) {
        return cli_fail(CLI_EXIT_FAILED,
                        "/set tokens \"%.40s\": expected a number from 1 to %d, or -1: no limit",
                        value, 1 << 24);
    }
    chat->turns.n_predict = number;
    return true;
}

static void print_temperature(const struct cli_chat *chat)
{
    fprintf(stderr, "temperature %g\n", (double)chat->settings->sampling.temperature);
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

static bool run_set(struct cli_chat *chat, const char *argument)
{
    static const struct {
        const char *name;
        bool (*set)(struct cli_chat *chat, const char *value);
        void (*print)(const struct cli_chat *chat);
    } names[] = {
        {"temperature", set_temperature, print_temperature},
        {"tokens",      set_tokens,      print_tokens     },
        {"system",      run_system,      print_system     }
    };
    const size_t size = strcspn(argument, " \t\n");
    const char *value = argument + size + strspn(argument + size, " \t\n");
    bool is_known = size == 0; // all of them are printed
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const bool is_named =
            strlen(names[i].name) == size && strncmp(names[i].name, argument, size) == 0;
        const bool is_set = is_named && value[0];
        if (is_set && !names[i].set(chat, value)) {
            return false;
        }
        if ((is_named || size == 0) && !(is_set && names[i].set == run_system)) {
            names[i].print(chat);
        }
        is_known = is_known || is_named;
    }
    return is_known ||
           cli_fail(CLI_EXIT_FAILED, "/set %.*s: expected temperature, tokens or system",
                    size < 40 ? (int)size : 40, argument);
}

//-- files -----------------------------------------------------------------------------------------

// True if path is the file that this conversation was in before.
static bool is_own(const struct cli_chat *chat, const char *path)
{
    return chat->file.data && strcmp(chat->file.data, path) == 0;
}

static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static void note_file(struct cli_chat *chat, struct cli_bytes *path)
{
    cli_bytes_finish(&chat->file);
    chat->file = *path;
    *path = (struct cli_bytes){0};
    chat->is_saved = true;
}

static bool save(struct cli_chat *chat, const char *argument, bool may_replace)
{
    const struct cli_conversation *conversation = &chat->turns.conversation;
    struct cli_bytes path = {0};
    bool is_done = false;
    cli_message_path(argument, &path);
    if (path.size == 0) {
        cli_fail(CLI_EXIT_FAILED, "/save needs a file");
    } else if (!may_replace && !is_own(chat, path.data) && is_file(path.data)) {
        cli_fail(CLI_EXIT_FAILED, "%s is there already; /save! %s replaces it", path.data,
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
    bool is_done = false;
    cli_message_path(argument, &path);
    if (path.size == 0) {
        cli_fail(CLI_EXIT_FAILED, "/load needs a file");
    } else if (cli_conversation_load(conversation, path.data)) {
        cli_turns_begin(&chat->turns);
        fprintf(stderr, "%zu message%s %s loaded\n", conversation->count,
                cli_plural(conversation->count), conversation->count == 1 ? "is" : "are");
        note_file(chat, &path);
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
    fprintf(stderr, "held    %6zu tokens of the conversation before\n", chat->turns.n_reused);
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
    {"/help",   run_help   },
    {"/reset",  run_reset  },
    {"/clear",  run_reset  },
    {"/undo",   run_undo   },
    {"/retry",  run_retry  },
    {"/system", run_system },
    {"/set",    run_set    },
    {"/save",   run_save   },
    {"/save!",  run_replace},
    {"/load",   run_load   },
    {"/stats",  run_stats  },
    {"/quit",   run_quit   },
    {"/exit",   run_quit   },
    {"/bye",    run_quit   },
};
#define N_COMMAND (sizeof(commands) / sizeof(commands[0]))

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
    return cli_fail(CLI_EXIT_FAILED,
                    "unknown command %s; /help lists them, and // begins a message with a slash",
                    word);
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
