// Input and output that the commands share: whole files, standard output that may go away, the
// progress bar, messages of the library, interrupts.
#ifndef CLI_IO_H
#define CLI_IO_H

#include "glinfer.h"

#include <stdio.h>

enum {
    CLI_EXIT_DONE = 0,
    CLI_EXIT_FAILED = 1,
    CLI_EXIT_USAGE = 2,
    CLI_EXIT_INTERRUPTED = 130,
};

// "glinfer: ..." on stderr, printable, in a line of its own, whatever else stands on the terminal; returns status.
int cli_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
// The message of an error, and the exit status that it means.
int cli_fail_error(const struct glinfer_error *err);

struct cli_bytes {
    char *data; // owned, followed by a zero byte; NULL: none
    size_t size, capacity;
};
// Reads a file, or standard input with path NULL. Prints what failed; false then.
bool cli_read_all(const char *path, struct cli_bytes *bytes);
void cli_bytes_finish(struct cli_bytes *bytes);
// Takes a line's end off the end.
void cli_bytes_trim(struct cli_bytes *bytes);
// What is read may be endless, and there are systems that grant memory until they kill.
#define CLI_MAX_BYTES (256 << 20)
// Appends; false without memory, or over CLI_MAX_BYTES.
bool cli_bytes_append(struct cli_bytes *bytes, const char *data, size_t size);
// Says so.
void cli_bytes_refuse(const struct cli_bytes *bytes, const char *name);

// Writes to standard output at once; false if it did not arrive.
bool cli_write(const char *data, size_t size);
// Flushes standard output and returns the exit status: status itself, or FAILED where what was
// written did not arrive; says why.
int cli_close_output(int status);

// Likewise for a help, of which a reader may have seen enough.
int cli_close_help(void);

// SIGINT asks for an end, and says so on a terminal where a session has to end its step first; a
// second one kills. SIGPIPE becomes a failed write.
void cli_catch_signals(void);
bool cli_is_interrupted(void);
// From now on no SIGINT kills: each is only noted, until it is forgotten.
void cli_catch_interrupts(void);
void cli_forget_interrupt(void);
// The session that SIGINT cancels; NULL: none.
void cli_set_session(struct glinfer_session *session);

// A bar on stderr, if that is a terminal: user of cli_progress.
struct cli_bar {
    bool is_wanted;
    char waiting[64]; // for what, since cli_bar_wait; "": for nothing
    bool may_compile; // meanwhile
    int percent;      // drawn last
    enum glinfer_phase phase;
};
void cli_bar_init(struct cli_bar *bar);
// Nothing is drawn from here on, until the next progress.
void cli_bar_clear(struct cli_bar *bar);
// Says what goes on, "reading the prompt", until cli_bar_clear, in the place of progress where that is unknown.
// may_compile: the driver may take long over it the first time, which is said too.
void cli_bar_wait(struct cli_bar *bar, const char *what, bool may_compile);
// A glinfer_progress_fn; cancels once interrupted.
bool cli_progress(void *user, enum glinfer_phase phase, uint64_t done, uint64_t total);

// A glinfer_log_fn, in lines of their own; user points to the bool that asks for all levels.
void cli_log(void *user, enum glinfer_log_level level, const char *message);

// One line on stderr if the device is no GPU.
void cli_note_software(const struct glinfer_device_info *info);

// Seconds of a clock that only goes forward.
double cli_now(void);

// A size for people: "93.8 MiB".
const char *cli_format_size(char text[24], uint64_t bytes);
// What a shape of a kernel is for: "960 x 576", with an extent "960 x 576 x 512"; zeros are left out.
const char *cli_format_matrix(char text[40], uint32_t n_rows, uint32_t n_cols, uint32_t extent);

#endif
