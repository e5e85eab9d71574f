#include "cli/common/cli_io.h"

#include "cli/common/cli_utf8.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

//-- messages --------------------------------------------------------------------------------------

static bool is_text_open; // the last cli_write ended in the middle of a line
static volatile sig_atomic_t is_bar_shown;
static volatile sig_atomic_t is_interrupted;
static bool is_quiet; // errors alone are printed
static int exit_status;

static void erase_bar(void)
{
    if (is_bar_shown) {
        fputs("\r\033[K", stderr);
        is_bar_shown = false;
    }
}

static bool shares_terminal(void)
{
    struct stat output, errors;
    return isatty(STDOUT_FILENO) && fstat(STDOUT_FILENO, &output) == 0 &&
           fstat(STDERR_FILENO, &errors) == 0 && output.st_rdev == errors.st_rdev;
}

size_t cli_columns(FILE *file)
{
    struct winsize size = {.ws_col = 0};
    return ioctl(fileno(file), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static void begin_message(void)
{
    erase_bar();
    if (is_text_open && shares_terminal()) {
        fputc('\n', stderr);
        is_text_open = false;
    }
}

// Replaces spaces by newlines so that the terminal breaks no word. column: where the text begins.
static void break_lines(char *text, size_t column)
{
    const size_t n_columns = cli_columns(stderr);
    char *space = NULL;
    if (n_columns == 0) {
        return;
    }
    for (char *c = text; *c; c++) {
        space = *c == ' ' ? c : space;
        column += !cli_utf8_continues(*c);
        if (column > n_columns && space) {
            *space = '\n';
            column = (size_t)(c - space);
            space = NULL;
        }
    }
}

static void print_text(const char *mark, char *text)
{
    for (char *c = text; *c; c++) {
        *c = (unsigned char)*c < 0x20 || *c == 0x7F ? '?' : *c;
    }
    fflush(stdout);
    begin_message();
    break_lines(text, strlen(mark));
    fprintf(stderr, "%s%s\n", mark, text);
}

static void print_message(const char *mark, const char *format, va_list args)
{
    char text[2048];
    vsnprintf(text, sizeof(text), format, args);
    print_text(mark, text);
}

void cli_tell(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_message("", format, args);
    va_end(args);
}

void cli_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_message("glinfer: ", format, args);
    va_end(args);
}

static double repeat_s = INFINITY; // after which a warning is said again

void cli_repeat_warnings(double seconds)
{
    repeat_s = seconds;
}

// True for a text that was printed lately: devices that are opened twice warn twice.
static bool is_repeated(const char *text)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct {
        uint32_t hash;
        double said;
    } seen[64];
    static size_t n_seen;
    const double now = cli_now();
    uint32_t hash = 2166136261u; // FNV-1a
    for (const char *c = text; *c; c++) {
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    }
    pthread_mutex_lock(&lock);
    size_t i = 0;
    while (i < n_seen && seen[i].hash != hash) {
        i++;
    }
    const bool is_known = i < n_seen, is_lately = is_known && now - seen[i].said < repeat_s;
    if (!is_lately && i < sizeof(seen) / sizeof(seen[0])) {
        seen[i].hash = hash;
        seen[i].said = now;
        n_seen += !is_known;
    }
    pthread_mutex_unlock(&lock);
    return is_lately;
}

// Prints a message unless it is a repeated one that may be left out.
static void print_once(const char *mark, bool may_repeat, const char *format, va_list args)
{
    char text[2048];
    vsnprintf(text, sizeof(text), format, args);
    if (!is_quiet && (may_repeat || !is_repeated(text))) {
        print_text(mark, text);
    }
}

void cli_warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_once("glinfer: warning: ", false, format, args);
    va_end(args);
}

void cli_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    // A server loads models again and again.
    print_once("glinfer: note: ", !isfinite(repeat_s), format, args);
    va_end(args);
}

void cli_be_quiet(void)
{
    is_quiet = true;
}

bool cli_is_quiet(void)
{
    return is_quiet;
}

bool cli_is_styled(void)
{
    const char *terminal = getenv("TERM"), *setting = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && terminal && strcmp(terminal, "dumb") != 0 &&
           !(setting && setting[0]);
}

const char *cli_plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static _Thread_local struct glinfer_error *kept; // NULL: failures are only printed

void cli_keep_failures(struct glinfer_error *err)
{
    kept = err;
}

bool cli_fail(int status, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (kept) {
        kept->status = GLINFER_STATUS_INVALID_ARGUMENT;
        snprintf(kept->message, sizeof(kept->message), "%.1000s", text);
    }
    print_text("glinfer: ", text);
    exit_status = status;
    return false;
}

bool cli_fail_error(const struct glinfer_error *err)
{
    if (err->status == GLINFER_STATUS_CANCELLED && cli_is_interrupted()) {
        return cli_fail(CLI_EXIT_INTERRUPTED, "interrupted");
    }
    cli_fail(CLI_EXIT_FAILED, "%s", err->message);
    if (kept) {
        kept->status = err->status;
    }
    return false;
}

bool cli_end(int status)
{
    exit_status = status;
    return false;
}

int cli_exit_status(bool is_done)
{
    return is_done ? CLI_EXIT_DONE : exit_status ? exit_status : CLI_EXIT_FAILED;
}

void cli_log(void *user, enum glinfer_log_level level, const char *message)
{
    const int *verbosity = user;
    if ((int)level > GLINFER_LOG_WARN + *verbosity || (level == GLINFER_LOG_WARN && is_quiet) ||
        (level == GLINFER_LOG_WARN && is_repeated(message))) {
        return;
    }
    begin_message();
    if (level <= GLINFER_LOG_WARN) {
        fprintf(stderr, "glinfer: %s: ", level == GLINFER_LOG_ERROR ? "error" : "warning");
    }
    fprintf(stderr, "%s\n", message);
}

double cli_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

const char *cli_format_size(char text[24], uint64_t bytes)
{
    const double mib = (double)bytes / (1 << 20);
    if (mib >= 1024) {
        snprintf(text, 24, "%.2f GiB", mib / 1024);
    } else if (bytes < 1024) {
        snprintf(text, 24, "%u byte%s", (unsigned)bytes, cli_plural(bytes));
    } else if (mib < 1) {
        snprintf(text, 24, "%.0f KiB", mib * 1024);
    } else {
        snprintf(text, 24, mib >= 100 ? "%.0f MiB" : "%.1f MiB", mib);
    }
    return text;
}

const char *cli_format_matrix(char text[40], uint32_t n_rows, uint32_t n_cols, uint32_t extent)
{
    const uint32_t sizes[] = {n_rows, n_cols, extent};
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (sizes[i] > 0) {
            used +=
                (size_t)snprintf(text + used, 40 - used, "%s%u", used > 0 ? " x " : "", sizes[i]);
        }
    }
    return text;
}

//-- input -----------------------------------------------------------------------------------------

bool cli_is_too_long(const struct cli_bytes *bytes, const char *name)
{
    if (bytes->size < CLI_MAX_BYTES) {
        return false;
    }
    cli_fail(CLI_EXIT_FAILED, "cannot read %s: it is longer than %d MiB", name,
             CLI_MAX_BYTES >> 20);
    return true;
}

bool cli_read_file(const char *path, size_t most, struct cli_bytes *bytes, char *why, size_t size)
{
    const char *name = path ? path : "standard input";
    FILE *file = path ? fopen(path, "rb") : stdin;
    char block[65536];
    size_t n;
    *bytes = (struct cli_bytes){0};
    cli_bytes_append(bytes, "", 0);
    // On a terminal reading on after the end of file would wait for another one.
    while (file && !feof(file) && bytes->size < most && !is_interrupted &&
           (n = fread(block, 1, sizeof(block), file)) > 0) {
        cli_bytes_append(bytes, block, n);
    }
    const bool has_failed = !file || ferror(file);
    const int reason = errno;
    if (file && path) {
        fclose(file);
    }
    if (is_interrupted) {
        snprintf(why, size, "interrupted");
    } else if (has_failed) {
        snprintf(why, size, "cannot read %.400s: %s", name, strerror(reason));
    } else if (bytes->size >= most) {
        snprintf(why, size, "cannot read %.400s: it is longer than %zu MiB", name, most >> 20);
    } else {
        return true;
    }
    cli_bytes_finish(bytes);
    return false;
}

bool cli_read_all(const char *path, struct cli_bytes *bytes)
{
    char why[512];
    if (!cli_read_file(path, CLI_MAX_BYTES, bytes, why, sizeof(why))) {
        return cli_fail(is_interrupted ? CLI_EXIT_INTERRUPTED : CLI_EXIT_FAILED, "%s", why);
    }
    cli_bytes_skip_mark(bytes);
    return true;
}

void cli_read_value(const char *path, const char *key, char value[CLI_VALUE_SIZE])
{
    char line[512];
    FILE *file = fopen(path, "r");
    value[0] = '\0';
    while (file && !value[0] && fgets(line, sizeof(line), file)) {
        if (strncmp(line, key, strlen(key)) == 0) {
            const char *begin = line + strlen(key);
            begin += strspn(begin, " \t:=\"");
            snprintf(value, CLI_VALUE_SIZE, "%.*s", (int)strcspn(begin, "\"\n"), begin);
        }
    }
    if (file) {
        fclose(file);
    }
}

//-- output ----------------------------------------------------------------------------------------

static int output_errno; // reason of the first write that failed

static bool flush_output(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return true;
    }
    output_errno = output_errno ? output_errno : errno;
    // A printf may have found out that nobody reads it long before the flush.
    struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
    if (output_errno == 0 && poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0) {
        output_errno = EPIPE;
    }
    return false;
}

bool cli_write(const char *data, size_t size)
{
    errno = 0;
    is_text_open = size > 0 ? data[size - 1] != '\n' : is_text_open;
    fwrite(data, 1, size, stdout);
    return flush_output();
}

bool cli_close_output(void)
{
    errno = 0;
    if (flush_output()) {
        return true;
    }
    if (output_errno == EPIPE) {
        return cli_end(CLI_EXIT_PIPE);
    }
    return cli_fail(CLI_EXIT_FAILED, "cannot write standard output%s%s", output_errno ? ": " : "",
                    output_errno ? strerror(output_errno) : "");
}

bool cli_close_help(void)
{
    errno = 0;
    return flush_output() || output_errno == EPIPE || cli_close_output();
}

bool cli_make_folders(const char *path, unsigned mode)
{
    char *own = cli_copy(path);
    int reason = 0;
    for (char *slash = strchr(own + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        reason = mkdir(own, (mode_t)mode) == 0 || errno == EEXIST ? 0 : reason ? reason : errno;
        *slash = '/';
    }
    free(own);
    errno = reason;
    return reason == 0;
}

bool cli_create(const char *path, FILE **file)
{
    *file = path ? fopen(path, "w") : NULL;
    return !path || *file ||
           cli_fail(CLI_EXIT_FAILED, "cannot write %s: %s", path, strerror(errno));
}

bool cli_check_written(FILE *file, const char *path)
{
    return (fflush(file) == 0 && !ferror(file)) ||
           cli_fail(CLI_EXIT_FAILED, "cannot write %s: %s", path, strerror(errno));
}

//-- signals ---------------------------------------------------------------------------------------

static struct glinfer_session *volatile session_to_cancel;

static volatile sig_atomic_t is_terminal; // stderr is one; isatty is not for handlers

static void note_interrupt(int number)
{
    struct glinfer_session *session = session_to_cancel;
    (void)number;
    is_interrupted = 1;
    if (session) {
        glinfer_session_cancel(session);
    }
}

// Notes the signal and replaces the bar of a prompt by a note: a prompt takes longer to stop than
// an answer, which has no bar.
static void note_and_say(int number)
{
    static const char text[] = "\r\033[K(stopping)\n";
    const int saved = errno;
    const bool is_new = !is_interrupted;
    note_interrupt(number);
    if (is_new && is_bar_shown && write(STDERR_FILENO, text, sizeof(text) - 1) > 0) {
        is_bar_shown = 0;
    }
    errno = saved;
}

static void handle_interrupt(int number)
{
    static const char text[] =
        "\nglinfer: stopping after the current step; Ctrl-C again ends at once\n";
    const int saved = errno;
    note_interrupt(number);
    if (is_terminal && session_to_cancel && write(STDERR_FILENO, text, sizeof(text) - 1) < 0) {
        is_terminal = 0;
    }
    errno = saved;
}

void cli_catch_signals(void)
{
    is_terminal = isatty(STDERR_FILENO) != 0;
    struct sigaction action = {.sa_handler = handle_interrupt, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    action = (struct sigaction){.sa_handler = SIG_IGN};
    sigemptyset(&action.sa_mask);
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
}

void cli_catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = note_and_say};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

void cli_forget_interrupt(void)
{
    is_interrupted = 0;
}

bool cli_is_interrupted(void)
{
    return is_interrupted != 0;
}

bool cli_check_interrupt(struct glinfer_error *err)
{
    if (is_interrupted) {
        *err = (struct glinfer_error){GLINFER_STATUS_CANCELLED, "interrupted"};
    }
    return !is_interrupted;
}

void cli_set_session(struct glinfer_session *session)
{
    session_to_cancel = session;
}

//-- progress --------------------------------------------------------------------------------------

#define BAR_WIDTH      40
#define BAR_MIN_WIDTH  10
#define BAR_TEXT_WIDTH 29 // label, brackets, percent, and the last column, which may wrap

static size_t count_columns(void)
{
    const size_t n = cli_columns(stderr);
    return n > 0 ? n : 80;
}

void cli_bar_init(struct cli_bar *bar)
{
    *bar = (struct cli_bar){.is_wanted = !is_quiet && isatty(STDERR_FILENO) != 0};
}

void cli_bar_clear(struct cli_bar *bar)
{
    bar->waiting[0] = '\0';
    erase_bar();
}

bool cli_bar_end(struct cli_bar *bar, bool is_done, const struct glinfer_error *err)
{
    cli_bar_clear(bar);
    return is_done || cli_fail_error(err);
}

static void show_waiting(struct cli_bar *bar)
{
    static const char why[] = " (the first run also compiles in the driver)";
    const bool has_room = count_columns() > strlen(bar->waiting) + sizeof(why) + 3;
    fprintf(stderr, "\r\033[K%s%s...", bar->waiting, bar->may_compile && has_room ? why : "");
    fflush(stderr);
    is_bar_shown = true;
    bar->percent = -1;
}

void cli_bar_wait(struct cli_bar *bar, const char *what, bool may_compile)
{
    snprintf(bar->waiting, sizeof(bar->waiting), "%s", what);
    bar->may_compile = may_compile;
    if (bar->is_wanted) {
        show_waiting(bar);
    }
}

void cli_bar_text(struct cli_bar *bar, const char *text)
{
    const double now = cli_now();
    if (bar->is_wanted && now - bar->shown >= 0.1) {
        fprintf(stderr, "\r\033[K%.*s", (int)count_columns() - 1, text);
        fflush(stderr);
        is_bar_shown = true;
        bar->shown = now;
        bar->percent = -1;
    }
}

static void show_bar(struct cli_bar *bar, enum glinfer_phase phase, int percent)
{
    static const char *const labels[] = {
        [GLINFER_PHASE_LOAD] = "loading",
        [GLINFER_PHASE_COMPILE] = "compiling",
        [GLINFER_PHASE_PROMPT] = "reading the prompt",
        [GLINFER_PHASE_TUNE] = "measuring",
    };
    static const char full[] = "########################################";
    static const char empty[] = "........................................";
    const int room = (int)count_columns() - BAR_TEXT_WIDTH;
    const int width = room < BAR_WIDTH ? room : BAR_WIDTH;
    const char *label = phase == GLINFER_PHASE_PROMPT && bar->work ? bar->work : labels[phase];
    if (is_bar_shown && bar->phase == phase && bar->percent == percent) {
        return;
    }
    if (width >= BAR_MIN_WIDTH) {
        const int n_full = percent * width / 100;
        fprintf(stderr, "\r\033[K%-18s [%.*s%.*s] %3d %%", label, n_full, full, width - n_full,
                empty, percent);
    } else {
        fprintf(stderr, "\r\033[K%s %d %%", label, percent);
    }
    fflush(stderr);
    is_bar_shown = true;
    bar->phase = phase;
    bar->percent = percent;
}

bool cli_progress(void *user, enum glinfer_phase phase, uint64_t done, uint64_t total)
{
    struct cli_bar *bar = user;
    const bool is_free = !is_text_open || !shares_terminal();
    if (bar->is_wanted && is_free && total > 0 && done < total) {
        show_bar(bar, phase, (int)((double)done * 100 / (double)total));
    } else if (bar->is_wanted && is_free && bar->waiting[0]) {
        show_waiting(bar);
    } else {
        erase_bar();
    }
    return !cli_is_interrupted();
}
