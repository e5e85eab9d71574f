// `glinfer chat`: a conversation, typed line by line.
#include "cli/chat/cli_chat.h"

#include "cli/chat/cli_message.h"
#include "cli/cli_commands.h"
#include "cli/flags/cli_template.h"
#ifdef HAS_LIBEDIT
#include "cli/chat/cli_libedit.h"
#endif

#include <string.h>

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
    CLI_INT(n_predict, -2, 1 << 24, "-n, --predict, --n-predict", "N",
            "tokens of an answer at most; -1 (default): to the end of the context"),
    CLI_SAMPLING_FLAGS,
    CLI_HEADING("Speed"),
    CLI_SPEED_FLAGS,
    CLI_IGNORED_FLAGS,
    CLI_IGNORED("-cnv, --conversation", "that is what chat is"),
    CLI_IGNORED_VALUE("--keep", "the system message is always kept"),
};

//-- lines -----------------------------------------------------------------------------------------

void cli_chat_leave(struct cli_chat *chat, int status)
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

void cli_chat_ask(struct cli_chat *chat, const struct cli_bytes *text)
{
    struct cli_turns *turns = &chat->turns;
    const enum cli_turn turn = text ? cli_turns_ask(turns, text) : cli_turns_retry(turns);
    chat->is_saved = chat->is_saved && turn == CLI_TURN_REFUSED;
    if (turn == CLI_TURN_STOPPED && chat->lines.is_terminal) {
        cli_forget_interrupt();
        say_what_is_kept(turns);
    }
    if (turn == CLI_TURN_OUTPUT) { // why is said when it is closed
        chat->is_over = true;
    } else if ((turn != CLI_TURN_DONE && !chat->lines.is_terminal)) {
        cli_chat_leave(chat, turn == CLI_TURN_STOPPED ? CLI_EXIT_INTERRUPTED : CLI_EXIT_FAILED);
    }
}

static void ask(struct cli_chat *chat, const struct cli_bytes *text)
{
    const size_t size = strlen(text->data);
    if (size == text->size) {
        cli_chat_ask(chat, text);
        return;
    }
    cli_fail(CLI_EXIT_FAILED,
             "the message has a zero byte at offset %zu, which a chat cannot carry", size);
    if (!chat->lines.is_terminal) {
        cli_chat_leave(chat, CLI_EXIT_FAILED);
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

// Leaves at the second Ctrl-C behind which nothing was typed. Without an editor nobody knows what
// was: they have to come within some seconds then.
static void take_interrupt(struct cli_chat *chat, bool is_typed)
{
    enum { SECONDS = 3 };
    const bool is_known = chat->lines.editing != NULL;
    const bool is_meant =
        chat->is_warned && !is_typed && (is_known || cli_now() - chat->warned_at < SECONDS);
    if (is_meant || !chat->lines.is_terminal) {
        cli_chat_leave(chat, CLI_EXIT_INTERRUPTED);
        return;
    }
    chat->is_warned = true;
    chat->warned_at = cli_now();
    fprintf(stderr, "(Ctrl-C again or Ctrl-D quits%s)\n",
            chat->is_saved ? "" : "; the conversation is not saved");
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
        cli_chat_leave(chat, CLI_EXIT_FAILED);
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
            cli_chat_leave(chat, CLI_EXIT_INTERRUPTED);
        }
    }
    cli_bytes_finish(&text);
    const bool is_written = cli_close_output();
    if (chat->status == CLI_EXIT_DONE && chat->has_failed && !chat->lines.is_terminal) {
        chat->status = CLI_EXIT_FAILED;
    }
    return chat->status == CLI_EXIT_DONE ? is_written : cli_end(chat->status);
}

//-- the command -----------------------------------------------------------------------------------

static bool start(struct cli_chat *chat)
{
    const struct cli_chat_settings *settings = chat->settings;
    struct glinfer_generate_params expected; // prompts of any length
    if (!cli_session_check_decoder(&chat->session) || !cli_template_check(&chat->session)) {
        return false;
    }
    if (settings->system || settings->system_file) {
        cli_conversation_set_system(&chat->turns.conversation,
                                    settings->system ? settings->system : settings->system_file);
    }
    glinfer_generate_params_init(&expected);
    cli_sampling_fill(&settings->sampling, 0, &expected);
    cli_lines_hush(); // what is typed meanwhile is shown with the prompt
    const bool is_done =
        cli_session_load(&chat->session) && cli_session_start(&chat->session, &expected);
    cli_lines_show();
    return is_done;
}

static bool open_and_talk(struct cli_chat *chat)
{
    const struct cli_chat_settings *settings = chat->settings;
    const struct cli_editor *editor = NULL;
#ifdef HAS_LIBEDIT
    editor = &cli_libedit;
#endif
    cli_set_session(NULL); // an answer ends by its callback
    chat->turns.seed =
        cli_sampling_seed(&settings->sampling, settings->session.device.verbosity > 0);
    cli_lines_open(&chat->lines, "> ", editor);
    cli_template_warn(&chat->session);
    if (chat->lines.is_terminal && !cli_is_quiet()) {
        fprintf(stderr, "%s on %s; /help lists commands, Ctrl-D leaves\n",
                chat->session.info.description, chat->session.device_info.renderer);
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
    if (settings->n_predict == 0) {
        return cli_fail(CLI_EXIT_USAGE,
                        "-n 0 asks for no token; -1 goes on to the end of the context");
    }
    if (settings->system && settings->system_file) {
        return cli_fail(CLI_EXIT_USAGE, "-sys and -sysf exclude each other");
    }
    if (!cli_sampling_check(&settings->sampling)) {
        return false;
    }
    chat.turns.session = &chat.session;
    cli_session_init(&chat.session, &settings->session);
    const bool is_done = start(&chat) && open_and_talk(&chat);
    cli_turns_finish(&chat.turns);
    cli_bytes_finish(&chat.file);
    cli_session_finish(&chat.session);
    return is_done;
}

const struct cli_command cli_chat_command = {
    .name = "chat",
    .usage = "-m MODEL [flags]",
    .summary = "Talks with a model, with line editing and history.",
    .word = "messages are typed once the model is there",
    .text =
        "Answers go to stdout, all else to stderr. Where standard input is no terminal, each "
        "of its\n"
        "lines is a message. Within the chat:\n\n"
        "    /help /reset /undo /retry /system TEXT /set NAME VALUE /save FILE /load FILE /stats "
        "/quit",
    .device = &defaults.session.device,
    .needs_model = true,
    CLI_COMMAND(flags, defaults, run_command),
};
