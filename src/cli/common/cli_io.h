// Input and output that the commands share: messages and the exit status, whole files, standard
// output that may be closed, interrupts, the progress bar.
#ifndef CLI_IO_H
#define CLI_IO_H

#include "cli/common/cli_memory.h"
#include "glinfer.h"

#include <stdio.h>

enum {
    CLI_EXIT_DONE = 0,
    CLI_EXIT_FAILED = 1,
    CLI_EXIT_USAGE = 2,
    CLI_EXIT_INTERRUPTED = 130,
    CLI_EXIT_PIPE = 141, // as a shell has it of one that SIGPIPE ended
};

// Prints "glinfer: ..." on stderr, in a line of its own, without control characters.
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Prints a line on stderr in the same way, without a name before it.
void cli_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Prints "glinfer: note: ..." in the same way, unless only errors are wanted.
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Prints "glinfer: warning: ..." in the same way, once, unless only errors are wanted.
void cli_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Leaves out notes, warnings, the progress bar and timings from now on.
void cli_be_quiet(void);
bool cli_is_quiet(void);
// True if standard output shows styles: a terminal that is not dumb, without NO_COLOR.
bool cli_is_styled(void);
// Returns the columns of the terminal that a file writes to; 0: not a terminal, or unknown.
size_t cli_columns(FILE *file);
// Returns "s" unless n is 1, for a word after a number.
const char *cli_plural(uint64_t n);
// Does as cli_say, and notes the exit status. Returns false, so that a step that fails can return
// it.
bool cli_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Prints the message of an error and notes the exit status of its kind. Returns false.
bool cli_fail_error(const struct glinfer_error *err);
// Notes the exit status without a word. Returns false.
bool cli_end(int status);
// Returns the exit status: DONE, or the one that was noted last, FAILED if none was.
int cli_exit_status(bool is_done);

// The limit of what is read: it may be endless, and some systems grant memory until they kill.
#define CLI_MAX_BYTES (256 << 20)
// True, with the failure of `name` printed, if there are CLI_MAX_BYTES or more.
bool cli_is_too_long(const struct cli_bytes *bytes, const char *name);
// Reads a file, or standard input with path NULL. Prints what failed; false then.
bool cli_read_all(const char *path, struct cli_bytes *bytes);

// Writes to standard output at once; false if it did not arrive.
bool cli_write(const char *data, size_t size);
// Flushes standard output; false, with the reason printed, if something written did not arrive.
// If its reader has gone away, only the exit status tells it.
bool cli_close_output(void);
// Closes standard output after a help text; it is not a failure if the reader has closed its end.
bool cli_close_help(void);

// Creates a file to print to, or with path NULL sets *file to NULL. False with the reason printed.
bool cli_create(const char *path, FILE **file);
// Flushes a file; false, with the reason printed, if something written did not arrive.
bool cli_check_written(FILE *file, const char *path);

// SIGINT asks for an end, and says so on a terminal where a session has to end its step first; a
// second one kills. SIGPIPE and SIGXFSZ become failed writes.
void cli_catch_signals(void);
bool cli_is_interrupted(void);
// From now on, a SIGINT does not kill: it is noted until it is forgotten, and cancels the session.
// A note that the work stops replaces a bar.
void cli_catch_interrupts(void);
void cli_forget_interrupt(void);
// Fails with CANCELLED after a SIGINT. For use before each long call with a session: a cancel has
// no effect on an idle one.
bool cli_check_interrupt(struct glinfer_error *err);
// Sets the session that SIGINT cancels; NULL: none.
void cli_set_session(struct glinfer_session *session);

// A bar on stderr, if that is a terminal: user of cli_progress.
struct cli_bar {
    bool is_wanted;
    char waiting[64]; // what cli_bar_wait says; "": nothing
    bool may_compile;
    int percent;  // shown last
    double shown; // cli_now of the text shown last
    enum glinfer_phase phase;
};
void cli_bar_init(struct cli_bar *bar);
// Clears the line; it stays empty until the next progress.
void cli_bar_clear(struct cli_bar *bar);
// Clears the line and returns whether what was waited for is done; prints *err if it is not.
bool cli_bar_end(struct cli_bar *bar, bool is_done, const struct glinfer_error *err);
// Says what goes on, "reading the prompt", until cli_bar_clear, in the place of progress where that
// is unknown. may_compile: the driver may take long over it the first time, which is said too.
void cli_bar_wait(struct cli_bar *bar, const char *what, bool may_compile);
// Shows a text in the bar's place, until cli_bar_clear or the next one, ten times a second at most.
void cli_bar_text(struct cli_bar *bar, const char *text);
// A glinfer_progress_fn; cancels once interrupted.
bool cli_progress(void *user, enum glinfer_phase phase, uint64_t done, uint64_t total);

// A glinfer_log_fn, in lines of their own. user points to an int: how many levels after
// GLINFER_LOG_WARN are printed. A warning is printed once, from whichever thread.
void cli_log(void *user, enum glinfer_log_level level, const char *message);
// Repeats a warning that many seconds after it was last printed, for a process that runs for long.
void cli_repeat_warnings(double seconds);

// Returns seconds of a clock that only goes forward.
double cli_now(void);

// Formats a size for people: "93.8 MiB".
const char *cli_format_size(char text[24], uint64_t bytes);
// Formats the matrix of a kernel: "960 x 576 x 512", zeros left out.
const char *cli_format_matrix(char text[40], uint32_t n_rows, uint32_t n_cols, uint32_t extent);

#endif
