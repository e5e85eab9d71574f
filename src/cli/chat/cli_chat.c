// `glinfer chat`: a conversation, typed line by line.
#include "cli/chat/cli_chat_turn.h"
#include "cli/chat/cli_lines.h"
#include "cli/cli_commands.h"
#ifdef HAS_LIBEDIT
#include "cli/chat/cli_libedit.h"
#endif

#include <string.h>

struct settings {
    struct cli_session_flags session;
    struct cli_sampling sampling;
    const char *system;
    int64_t n_predict;
};

static struct settings defaults = {.sampling = CLI_SAMPLING_DEFAULTS, .n_predict = -1};

#define CLI_SETTINGS settings
static const struct cli_flag flags[] = {
    CLI_HEADING("Model and device"),
    CLI_MODEL_FLAGS,
    CLI_CONTEXT_FLAG("tokens that the model sees of the conversation; 0 (default): the smaller of "
                     "the model's and 4096"),
    CLI_HEADING("Conversation"),
    CLI_TEXT(system, "-sys, --system-prompt", "TEXT", "the system message"),
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

static const char commands_help[] =
    "    /help         these lines\n"
    "    /reset        forget the conversation, but not the system message\n"
    "    /system TEXT  set the system message; without a text print it\n"
    "    /save FILE    write the conversation as JSON\n"
    "    /load FILE    go on with a conversation that was saved\n"
    "    /stats        tokens and times of the last answer\n"
    "    /quit, /exit  leave, as Ctrl-D does\n"
    "A message that begins with a slash is written with two. Ctrl-C stops an answer, or drops the\n"
    "line; twice it leaves. Lines that are pasted together are one message.\n";

struct chat {
    struct settings *settings; // a template that is guessed is set there
    struct cli_session session;
    struct cli_turns turns;
    struct cli_lines lines;
    bool is_over, is_warned; // warned: Ctrl-C came at the prompt
    int status;              // of the command
};

//-- commands --------------------------------------------------------------------------------------

static void run_help(struct chat *chat, const char *argument)
{
    (void)chat, (void)argument;
    fputs(commands_help, stderr);
}

static void run_reset(struct chat *chat, const char *argument)
{
    (void)argument;
    cli_turns_reset(&chat->turns);
    fprintf(stderr, "the conversation is empty\n");
}

static void run_system(struct chat *chat, const char *argument)
{
    struct cli_conversation *conversation = &chat->turns.conversation;
    if (argument[0]) {
        cli_conversation_set_system(conversation, argument);
    } else if (cli_conversation_count_system(conversation)) {
        fprintf(stderr, "%s\n", conversation->items[0].content);
    } else {
        fprintf(stderr, "there is no system message\n");
    }
}

static void run_save(struct chat *chat, const char *argument)
{
    if (!argument[0]) {
        cli_say("/save needs a file");
    } else if (cli_conversation_save(&chat->turns.conversation, argument)) {
        fprintf(stderr, "%zu messages are saved\n", chat->turns.conversation.count);
    }
}

static void run_load(struct chat *chat, const char *argument)
{
    if (!argument[0]) {
        cli_say("/load needs a file");
    } else if (cli_conversation_load(&chat->turns.conversation, argument)) {
        cli_turns_begin(&chat->turns);
        fprintf(stderr, "%zu messages are loaded\n", chat->turns.conversation.count);
    }
}

static void run_stats(struct chat *chat, const char *argument)
{
    const struct glinfer_stats *stats = &chat->turns.stats;
    char memory[24];
    (void)argument;
    if (stats->struct_size == 0) {
        fprintf(stderr, "there is no answer yet\n");
        return;
    }
    fprintf(stderr, "held    %6zu tokens of the conversation before\n", chat->turns.n_reused);
    cli_print_speeds(stats);
    fprintf(stderr, "context %6u tokens of %u, peak memory %s\n", stats->n_past,
            chat->session.info.n_ctx, cli_format_size(memory, stats->peak_memory));
}

static void run_quit(struct chat *chat, const char *argument)
{
    (void)argument;
    chat->is_over = true;
}

static const struct {
    const char *name;
    void (*run)(struct chat *chat, const char *argument);
} commands[] = {
    {"/help",   run_help  },
    {"/reset",  run_reset },
    {"/system", run_system},
    {"/save",   run_save  },
    {"/load",   run_load  },
    {"/stats",  run_stats },
    {"/quit",   run_quit  },
    {"/exit",   run_quit  },
};
#define N_COMMAND (sizeof(commands) / sizeof(commands[0]))

static void refuse_command(const char *text, size_t size)
{
    const char *names[N_COMMAND];
    char word[64];
    for (size_t i = 0; i < N_COMMAND; i++) {
        names[i] = commands[i].name;
    }
    snprintf(word, sizeof(word), "%.*s", (int)size, text);
    const char *nearest = cli_nearest(word, names, N_COMMAND);
    if (nearest) {
        cli_say("unknown command %s; is it %s?", word, nearest);
    } else {
        cli_say("unknown command %s; /help lists them, and // begins a message with a slash", word);
    }
}

static void obey(struct chat *chat, const char *text)
{
    const size_t size = strcspn(text, " \t\n");
    for (size_t i = 0; i < N_COMMAND; i++) {
        if (strlen(commands[i].name) == size && strncmp(commands[i].name, text, size) == 0) {
            commands[i].run(chat, text + size + strspn(text + size, " \t\n"));
            return;
        }
    }
    refuse_command(text, size < 60 ? size : 60);
}

//-- lines -----------------------------------------------------------------------------------------

static void leave(struct chat *chat, int status)
{
    chat->is_over = true;
    chat->status = status;
}

static void ask(struct chat *chat, const struct cli_bytes *text)
{
    const enum cli_turn turn = cli_turns_ask(&chat->turns, text);
    if (turn == CLI_TURN_STOPPED) {
        cli_forget_interrupt();
    }
    if (turn == CLI_TURN_OUTPUT || (turn != CLI_TURN_DONE && !chat->lines.is_terminal)) {
        leave(chat, turn == CLI_TURN_STOPPED ? CLI_EXIT_INTERRUPTED : CLI_EXIT_FAILED);
    }
}

static void take_text(struct chat *chat, struct cli_bytes *text)
{
    cli_bytes_trim(text);
    if (strspn(text->data, " \t\r\n") == text->size) {
        return;
    }
    cli_lines_remember(&chat->lines, text->data);
    if (strncmp(text->data, "//", 2) == 0) {
        const struct cli_bytes rest = {.data = text->data + 1, .size = text->size - 1};
        ask(chat, &rest);
    } else if (text->data[0] == '/') {
        obey(chat, text->data);
    } else {
        ask(chat, text);
    }
}

static void take_interrupt(struct chat *chat)
{
    cli_forget_interrupt();
    if (chat->is_warned || !chat->lines.is_terminal) {
        leave(chat, CLI_EXIT_INTERRUPTED);
        return;
    }
    chat->is_warned = true;
    fprintf(stderr, "(Ctrl-C again leaves)\n");
}

static bool talk(struct chat *chat)
{
    struct cli_bytes text = {0};
    cli_catch_interrupts();
    while (!chat->is_over) {
        switch (cli_lines_read(&chat->lines, &text)) {
        case CLI_LINE_TEXT:
            chat->is_warned = false;
            take_text(chat, &text);
            break;
        case CLI_LINE_INTERRUPT:
            take_interrupt(chat);
            break;
        case CLI_LINE_END:
            chat->is_over = true;
            break;
        case CLI_LINE_FAILED:
            leave(chat, CLI_EXIT_FAILED);
        }
    }
    cli_bytes_finish(&text);
    const bool is_written = cli_close_output();
    return chat->status == CLI_EXIT_DONE ? is_written : cli_end(chat->status);
}

//-- the command -----------------------------------------------------------------------------------

// Tokens that begin a turn in a vocabulary, and the template that writes turns so.
static const struct {
    const char *begin, *name;
} turn_marks[] = {
    {"<start_of_turn>",     "gemma"  },
    {"<|im_start|>",        "chatml" },
    {"<|start_header_id|>", "llama3" },
    {"<|start_of_role|>",   "granite"},
};

static bool is_special(const struct glinfer_tokenizer *tokenizer, const char *text)
{
    const size_t size = strlen(text);
    const unsigned as_text = GLINFER_TOKENIZE_NO_BOS | GLINFER_TOKENIZE_NO_SPECIAL;
    int32_t id;
    size_t n = 0, n_text = 0;
    return glinfer_tokenize(tokenizer, text, size, GLINFER_TOKENIZE_NO_BOS, &id, 1, &n, NULL) &&
           glinfer_tokenize(tokenizer, text, size, as_text, &id, 0, &n_text, NULL) && n == 1 &&
           n_text > 1;
}

// Returns the template whose tokens of turns the vocabulary has; NULL if it has none.
static const char *guess_template(const char *model)
{
    struct glinfer_tokenizer *tokenizer = glinfer_tokenizer_load(model, NULL);
    const char *name = NULL;
    for (size_t i = 0; tokenizer && !name && i < sizeof(turn_marks) / sizeof(turn_marks[0]); i++) {
        name = is_special(tokenizer, turn_marks[i].begin) ? turn_marks[i].name : NULL;
    }
    glinfer_tokenizer_destroy(&tokenizer);
    return name;
}

static bool choose_template(const struct chat *chat)
{
    struct cli_session_flags *asked = &chat->settings->session;
    const char *name = chat->session.info.chat_template;
    const bool is_missing = strcmp(name, "none") == 0;
    if (!is_missing && strcmp(name, "unknown") != 0) {
        return true;
    }
    asked->chat_template = is_missing ? guess_template(chat->session.path) : NULL;
    if (asked->chat_template) {
        cli_say("note: %s has no chat template; its vocabulary has the turns of %s, which are used "
                "(--chat-template names another)",
                asked->model, asked->chat_template);
        return true;
    }
    return cli_fail(
        CLI_EXIT_FAILED,
        "%s has %s; --chat-template names one, `glinfer run --raw` continues a plain text",
        asked->model,
        is_missing ? "no chat template" : "a chat template that glinfer does not know");
}

static bool start(struct chat *chat)
{
    const struct settings *settings = chat->settings;
    struct glinfer_generate_params expected; // prompts of any length
    if (!cli_session_check(&chat->session) || !choose_template(chat)) {
        return false;
    }
    if (settings->system) {
        cli_conversation_set_system(&chat->turns.conversation, settings->system);
    }
    glinfer_generate_params_init(&expected);
    cli_sampling_fill(&settings->sampling, 0, &expected);
    return cli_session_load(&chat->session) && cli_session_start(&chat->session, &expected);
}

static bool open_and_talk(struct chat *chat)
{
    const struct settings *settings = chat->settings;
    const struct cli_editor *editor = NULL;
#ifdef HAS_LIBEDIT
    editor = &cli_libedit;
#endif
    cli_set_session(NULL); // an answer ends by its callback
    chat->turns.seed = cli_sampling_seed(&settings->sampling, settings->session.device.is_verbose);
    cli_lines_open(&chat->lines, "> ", editor);
    if (chat->lines.is_terminal) {
        fprintf(stderr, "%s on %s; /help lists commands, Ctrl-D leaves\n",
                chat->session.info.description, chat->session.device_info.renderer);
    }
    const bool is_done = talk(chat);
    cli_lines_close(&chat->lines);
    return is_done;
}

static bool run_command(void *user)
{
    struct settings *settings = user;
    struct chat chat = {
        .settings = settings,
        .turns = {.sampling = &settings->sampling, .n_predict = settings->n_predict},
    };
    if (settings->n_predict == 0) {
        return cli_fail(CLI_EXIT_USAGE,
                        "-n 0 asks for no token; -1 goes on to the end of the context");
    }
    chat.turns.session = &chat.session;
    cli_session_init(&chat.session, &settings->session);
    const bool is_done = start(&chat) && open_and_talk(&chat);
    cli_turns_finish(&chat.turns);
    cli_session_finish(&chat.session);
    return is_done;
}

const struct cli_command cli_chat_command = {
    .name = "chat",
    .usage = "-m MODEL [flags]",
    .summary = "Talks with a model, with line editing and history.",
    .word = "messages are typed once the model is there",
    .text = "Answers go to stdout, all else to stderr. Where standard input is no terminal, each "
            "of its\n"
            "lines is a message. Within the chat:\n\n"
            "    /help /reset /system TEXT /save FILE /load FILE /stats /quit",
    .device = &defaults.session.device,
    .needs_model = true,
    CLI_COMMAND(flags, defaults, run_command),
};
