// Input and output that the commands share: messages and the exit status, whole files, standard
// output that may be closed, interrupts, the progress bar.
#pragma once

#include "cli/common/cli_memory.h"
#include "glinfer.h"

#include <stdio.h>

enum {
    CLI_EXIT_DONE = 0,
    CLI_EXIT_FAILED = 1,
    CLI_EXIT_USAGE = 2,
    CLI_EXIT_INTERRUPTED = 130,
    CLI_EXIT_PIPE = 141, // a shell's status of a process that SIGPIPE ended
};

// Prints "glinfer: ..." on stderr, in a line of its own, without control characters.
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Prints a line like cli_say, without "glinfer: ".
void cli_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Prints "glinfer: note: ..." like cli_say, unless --quiet was given.
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Prints "glinfer: warning: ..." like cli_say, once, unless --quiet was given.
void cli_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Disables notes, warnings, the progress bar and timings from now on.
void cli_be_quiet(void);
bool cli_is_quiet(void);
// Returns true if standard output shows styles: a terminal that is not dumb, without NO_COLOR.
bool cli_is_styled(void);
// Returns the columns of the terminal that a file writes to; 0: not a terminal, or unknown.
size_t cli_columns(FILE *file);
// Returns "s" unless n is 1, for a word after a number.
const char *cli_plural(uint64_t n);
// Prints like cli_say and notes the exit status. Returns false, for a failing step to return.
bool cli_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Prints the message of an error and notes the exit status of its kind. Returns false.
bool cli_fail_error(const struct glinfer_error *err);
// Copies what this thread prints as failures to *err too, from now on; NULL: no more.
void cli_keep_failures(struct glinfer_error *err);
// Notes the exit status and prints nothing. Returns false.
bool cli_end(int status);
// Returns the exit status: DONE, or the one that was noted last, FAILED if none was.
int cli_exit_status(bool is_done);

// Maximum size of an input, as inputs may be endless, and some systems overcommit memory.
#define CLI_MAX_BYTES (256 << 20)
// Returns true, with the failure of `name` printed, if there are CLI_MAX_BYTES or more.
bool cli_is_too_long(const struct cli_bytes *bytes, const char *name);
// Reads a file, or standard input with path NULL, of fewer than `most` bytes, which are zero-ended.
// Returns false with the reason in why.
bool cli_read_file(const char *path, size_t most, struct cli_bytes *bytes, char *why, size_t size);
// Reads a file in the same way, without a byte order mark. Returns false with the reason printed.
bool cli_read_all(const char *path, struct cli_bytes *bytes);
#define CLI_VALUE_SIZE 200
// Reads what follows `key` in the first line of a file that begins with it, or the whole first line
// with "", as files of /proc and /sys have them. "" if the file or the line is missing.
void cli_read_value(const char *path, const char *key, char value[CLI_VALUE_SIZE]);

// Writes to standard output and flushes it. Returns false if that fails.
bool cli_write(const char *data, size_t size);
// Flushes standard output. Returns false, with the reason printed, if a write failed. If its reader
// closed the pipe, sets the exit status and prints nothing.
bool cli_close_output(void);
// Closes standard output after a help text; it is not a failure if the reader has closed its end.
bool cli_close_help(void);

// Creates the folders on the way to a path. Returns false with errno set.
bool cli_make_folders(const char *path, unsigned mode);
// Creates a file to print to, or with path NULL sets *file to NULL. Returns false with the reason
// printed.
bool cli_create(const char *path, FILE **file);
// Flushes a file. Returns false, with the reason printed, if a write failed.
bool cli_check_written(FILE *file, const char *path);

// Makes SIGINT request an end, with a note on a terminal while a session finishes its step; a
// second SIGINT kills. SIGPIPE and SIGXFSZ become failed writes.
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
    char waiting[64]; // the text of cli_bar_wait; "": none
    bool may_compile;
    int percent;      // shown last
    double shown;     // cli_now of the text shown last
    const char *work; // the label of GLINFER_PHASE_PROMPT; NULL: "reading the prompt". Borrowed
    enum glinfer_phase phase;
};
void cli_bar_init(struct cli_bar *bar);
// Clears the line; it stays empty until the next progress.
void cli_bar_clear(struct cli_bar *bar);
// Clears the line and returns is_done; prints *err if it is false.
bool cli_bar_end(struct cli_bar *bar, bool is_done, const struct glinfer_error *err);
// Shows an activity, such as "reading the prompt", until cli_bar_clear, if progress is unknown.
// may_compile: also says that the driver may take long the first time.
void cli_bar_wait(struct cli_bar *bar, const char *what, bool may_compile);
// Shows a text in the bar's place, until cli_bar_clear or the next one, ten times a second at most.
void cli_bar_text(struct cli_bar *bar, const char *text);
// A glinfer_progress_fn; cancels once interrupted.
bool cli_progress(void *user, enum glinfer_phase phase, uint64_t done, uint64_t total);

// A glinfer_log_fn, in lines of their own. user points to an int: how many levels after
// GLINFER_LOG_WARN are printed. A warning is printed once, from whichever thread.
void cli_log(void *user, enum glinfer_log_level level, const char *message);
// Allows a warning again this many seconds after it was printed, for processes that run for long.
void cli_repeat_warnings(double seconds);

// Returns the seconds of a monotonic clock.
double cli_now(void);

// Formats a size for people: "93.8 MiB".
const char *cli_format_size(char text[24], uint64_t bytes);
// Formats the matrix of a kernel: "960 x 576 x 512", zeros left out.
const char *cli_format_matrix(char text[40], uint32_t n_rows, uint32_t n_cols, uint32_t extent);
