// `glinfer chat`: a conversation, typed line by line.
#include "cli/chat/cli_chat.h"

#include "cli/chat/cli_message.h"
#include "cli/flags/cli_template.h"
#include "cli/models/models_source.h"
#ifdef HAS_LIBEDIT
#include "cli/chat/cli_libedit.h"
#endif

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct cli_chat_settings defaults = {.sampling = CLI_SAMPLING_DEFAULTS, .n_predict = -1};

#define CLI_SETTINGS cli_chat_settings
static const struct cli_flag flags[] = {
    CLI_HEADING("Model and device"),
    CLI_MODEL_FLAGS,
    CLI_CONTEXT_FLAG("tokens that the model sees of the conversation; 0 (default): the smaller of "
                     "the model's and 4096"),
    CLI_HEADING("Conversation"),
    CLI_TEXT(system, "-sys, --system-prompt", "TEXT", "the system message"),
    CLI_FILE(system_file, cli_parse_line_file, "-sysf, --system-prompt-file", "FILE",
             "a file with the system message; the end of its last line is not part of it"),
    CLI_TEMPLATE_FLAG,
    CLI_CUSTOM(n_predict, cli_parse_predict, "-n, --predict, --n-predict", "N",
               "maximum number of tokens of an answer; -1 (default): to the end of the context"),
    CLI_SAMPLING_FLAGS,
    CLI_HEADING("Speed"),
    CLI_SPEED_FLAGS,
    CLI_IGNORED_VALUE("-np, --parallel", "there is one sequence"),
    CLI_IGNORED("-cnv, --conversation", "chat always is a conversation"),
    CLI_IGNORED_VALUE("--keep", "the system message is always kept"),
};

static const struct cli_rule rules[] = {
    CLI_EXCLUDES("-sys", "-sysf"),
    {NULL, NULL, false},
};

//-- lines -----------------------------------------------------------------------------------------

static void leave(struct cli_chat *chat, int status)
{
    chat->is_over = true;
    chat->status = status;
}

// Says what is kept of a stopped answer; a retry that showed nothing leaves the one before it.
static void say_what_is_kept(const struct cli_turns *turns)
{
    fputs(cli_turns_is_open(turns)
              ? "(stopped: the message is kept without an answer; /retry answers it)\n"
          : turns->answer.size == 0 ? "(stopped: the answer before is kept)\n"
                                    : "(stopped: what is shown of the answer is kept)\n",
          stderr);
}

//-- a conversation that is kept -------------------------------------------------------------------

static const char kept_name[] = "unsaved_chat.json";

bool cli_chat_find_kept(char *path, size_t size)
{
    return cli_state_path(kept_name, path, size) && access(path, R_OK) == 0;
}

void cli_chat_drop_kept(void)
{
    char path[4096];
    if (cli_state_path(kept_name, path, sizeof(path))) {
        unlink(path);
    }
}

// Keeps the conversation in a file until it is saved or another one replaces it, so that it
// survives any end of the chat.
static void keep(const struct cli_chat *chat)
{
    const struct cli_conversation *conversation = &chat->turns.conversation;
    char path[4096];
    if (!chat->lines.is_terminal || chat->is_saved ||
        conversation->count == cli_conversation_count_system(conversation) ||
        !cli_state_path(kept_name, path, sizeof(path))) {
        return;
    }
    const mode_t before = umask(077); // for no one else to read
    cli_conversation_save(conversation, path);
    umask(before);
}

// Prints a text that may hold anything, without control characters.
static void print_text(const char *mark, const char *text)
{
    fputs(mark, stderr);
    for (const char *c = text; *c; c++) {
        const bool is_control =
            ((unsigned char)*c < 0x20 && *c != '\n' && *c != '\t') || *c == 0x7F;
        fputc(is_control ? '?' : *c, stderr);
    }
    fputc('\n', stderr);
}

void cli_chat_show_last(const struct cli_chat *chat, bool with_answer)
{
    const struct cli_conversation *conversation = &chat->turns.conversation;
    size_t i = conversation->count;
    while (i > 0 && strcmp(conversation->items[i - 1].role, "user") != 0) {
        i--;
    }
    if (i == 0 || !chat->lines.is_terminal) {
        return;
    }
    print_text(chat->lines.prompt, conversation->items[i - 1].content);
    if (with_answer && i < conversation->count) {
        print_text("", conversation->items[i].content);
    }
}

//-- answers ---------------------------------------------------------------------------------------

void cli_chat_ask(struct cli_chat *chat, const struct cli_bytes *text)
{
    struct cli_turns *turns = &chat->turns;
    const enum cli_turn turn = text ? cli_turns_ask(turns, text) : cli_turns_retry(turns);
    chat->is_saved = chat->is_saved && turn == CLI_TURN_REFUSED;
    if (turn == CLI_TURN_STOPPED && chat->lines.is_terminal) {
        cli_forget_interrupt();
        say_what_is_kept(turns);
    }
    keep(chat);
    if (chat->lines.is_terminal && turn != CLI_TURN_OUTPUT) {
        fputc('\n', stderr); // turns stand apart
    }
    if (turn == CLI_TURN_OUTPUT) { // why is said when it is closed
        chat->is_over = true;
    } else if ((turn != CLI_TURN_DONE && !chat->lines.is_terminal)) {
        leave(chat, turn == CLI_TURN_STOPPED ? CLI_EXIT_INTERRUPTED : CLI_EXIT_FAILED);
    }
}

static void ask(struct cli_chat *chat, const struct cli_bytes *text)
{
    const size_t size = strlen(text->data);
    if (size == text->size) {
        cli_chat_ask(chat, text);
        return;
    }
    cli_fail(CLI_EXIT_FAILED, "invalid message: zero byte at offset %zu", size);
    if (!chat->lines.is_terminal) {
        leave(chat, CLI_EXIT_FAILED);
    }
}

static void take_text(struct cli_chat *chat, struct cli_bytes *text, bool is_quoted)
{
    cli_bytes_trim(text);
    if (strspn(text->data, " \t\r\n") == text->size) {
        return;
    }
    cli_lines_remember(&chat->lines, text->data);
    if (!is_quoted && strncmp(text->data, "//", 2) == 0) {
        const struct cli_bytes rest = {.data = text->data + 1, .size = text->size - 1};
        ask(chat, &rest);
    } else if (!is_quoted && text->data[0] == '/') {
        cli_chat_obey(chat, text->data);
    } else {
        ask(chat, text);
    }
}

// Leaves at the second Ctrl-C on an empty line. Without an editor the typed text is unknown: the
// two have to come within some seconds then.
static void take_interrupt(struct cli_chat *chat, bool is_typed)
{
    enum { SECONDS = 3 };
    const bool is_known = chat->lines.editing != NULL;
    const bool is_meant =
        chat->is_warned && !is_typed && (is_known || cli_now() - chat->warned_at < SECONDS);
    if (is_meant || !chat->lines.is_terminal) {
        leave(chat, CLI_EXIT_INTERRUPTED);
        return;
    }
    chat->is_warned = !is_typed;
    chat->warned_at = cli_now();
    fputs(is_typed ? "(the line is dropped; Ctrl-D quits)\n" : "(Ctrl-C again or Ctrl-D quits)\n",
          stderr);
}

// Says where the conversation of a chat that ends is.
static void say_kept(const struct cli_chat *chat)
{
    char path[4096];
    keep(chat);
    if (chat->lines.is_terminal && !chat->is_saved && cli_chat_find_kept(path, sizeof(path))) {
        fprintf(stderr, "the conversation is kept; /load in the next chat continues it\n");
    }
}

// Reads and takes one message, or what comes in its place.
static void take_message(struct cli_chat *chat, struct cli_bytes *text)
{
    bool is_quoted;
    switch (cli_message_read(&chat->lines, text, &is_quoted)) {
    case CLI_LINE_TEXT:
        chat->is_warned = false;
        if (chat->lines.is_terminal) { // one that came before the line was edited is for no answer
            cli_forget_interrupt();
        }
        take_text(chat, text, is_quoted);
        break;
    case CLI_LINE_INTERRUPT:
        take_interrupt(chat, text->size > 0);
        break;
    case CLI_LINE_END:
        chat->is_over = true;
        break;
    case CLI_LINE_FAILED:
        leave(chat, CLI_EXIT_FAILED);
    }
}

static bool talk(struct cli_chat *chat)
{
    struct cli_bytes text = {0};
    cli_catch_interrupts();
    chat->is_saved = true;
    while (!chat->is_over) {
        take_message(chat, &text);
        if (chat->lines.is_terminal) { // an interrupt that came too late is for no other message
            cli_forget_interrupt();
        } else if (cli_is_interrupted()) {
            leave(chat, CLI_EXIT_INTERRUPTED);
        }
    }
    cli_bytes_finish(&text);
    say_kept(chat);
    const bool is_written = cli_close_output();
    if (chat->status == CLI_EXIT_DONE && chat->has_failed && !chat->lines.is_terminal) {
        chat->status = CLI_EXIT_FAILED;
    }
    return chat->status == CLI_EXIT_DONE ? is_written : cli_end(chat->status);
}

//-- the command -----------------------------------------------------------------------------------

static bool start(struct cli_chat *chat)
{
    struct cli_chat_settings *settings = chat->settings;
    struct glinfer_generate_params expected; // prompts of any length
    if (!cli_session_check_generator(&chat->session) || !cli_template_check(&chat->session)) {
        return false;
    }
    if (settings->system || settings->system_file) {
        cli_conversation_set_system(&chat->turns.conversation,
                                    settings->system ? settings->system : settings->system_file);
    }
    cli_sampling_take(&settings->sampling, &chat->session.info);
    glinfer_generate_params_init(&expected);
    cli_sampling_fill(&settings->sampling, 0, &expected);
    cli_lines_hush(); // input that arrives meanwhile is shown with the prompt
    const bool is_done =
        cli_session_load(&chat->session) && cli_session_start(&chat->session, &expected);
    cli_lines_show();
    return is_done;
}

// Prints the name that was typed, and the name, size and type that the file tells.
static void print_banner(const struct cli_chat *chat)
{
    const struct glinfer_model_info *info = &chat->session.info;
    const char *typed = chat->settings->session.model;
    const char *name = models_base_name(typed ? typed : chat->session.path);
    const char *size = strchr(info->description, ' '); // "llama 135M Q4_1"
    if (!chat->lines.is_terminal || cli_is_quiet()) {
        return;
    }
    cli_tell("%s (%s,%s) on %s", name, info->name[0] ? info->name : info->architecture,
             size ? size : "", chat->session.device_info.renderer);
    cli_tell("/help lists commands, Ctrl-D leaves");
}

static bool open_and_talk(struct cli_chat *chat)
{
    const struct cli_chat_settings *settings = chat->settings;
    const struct cli_editor *editor = NULL;
    char path[4096];
#ifdef HAS_LIBEDIT
    editor = &cli_libedit;
    cli_libedit_complete = cli_chat_complete;
#endif
    chat->turns.seed =
        cli_sampling_seed(&settings->sampling, settings->session.device.verbosity > 0);
    cli_lines_open(&chat->lines, "> ", editor);
    cli_template_warn(&chat->session);
    print_banner(chat);
    if (chat->lines.is_terminal && !cli_is_quiet() && cli_chat_find_kept(path, sizeof(path))) {
        fprintf(stderr, "the last conversation was not saved; /load continues it\n");
    }
    chat->turns.thoughts.is_styled = cli_is_styled();
    const bool is_done = talk(chat);
    cli_lines_close(&chat->lines);
    return is_done;
}

static bool run_command(void *user)
{
    struct cli_chat_settings *settings = user;
    struct cli_chat chat = {
        .settings = settings,
        .turns = {.sampling = &settings->sampling, .n_predict = settings->n_predict},
    };
    if (!cli_sampling_check(&settings->sampling)) {
        return false;
    }
    chat.turns.session = &chat.session;
    cli_session_init(&chat.session, &settings->session);
    const bool is_done = start(&chat) && open_and_talk(&chat);
    cli_turns_finish(&chat.turns);
    cli_bytes_finish(&chat.file);
    while (chat.texts.count > 0) {
        free(chat.texts.items[--chat.texts.count]);
    }
    free(chat.texts.items);
    cli_session_finish(&chat.session);
    return is_done;
}

const struct cli_command cli_chat_command = {
    .name = "chat",
    .usage = "-m MODEL [flags]",
    .summary = "Talks with a model, with line editing and history.",
    .word = "messages are typed once the model is there",
    .text = "Answers go to stdout, everything else to stderr. If standard input is not a\n"
            "terminal, each of its lines is a message. Within the chat:\n\n"
            "    /help /reset /undo /retry /system TEXT /set NAME VALUE\n"
            "    /save FILE /load FILE /stats /quit",
    .common = "-m, -hf, -c, -dev, -v, -sys, -sysf, --chat-template, -rea, -n, -s, --temp, --top-k, "
              "--top-p, --min-p",
    .rules = rules,
    .needs_model = true,
    CLI_SESSION_COMMAND(flags, defaults, run_command),
};
