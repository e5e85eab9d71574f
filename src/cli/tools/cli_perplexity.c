// `glinfer perplexity`: how well a model predicts a text.
#include "cli/cli_commands.h"
#include "cli/common/cli_json.h"
#include "cli/common/cli_session.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

struct settings {
    struct cli_session_flags session;
    const char *file;
    int64_t n_chunk; // windows at most; -1: all
    bool is_json;
};

static struct settings defaults = {.n_chunk = -1};

#define CLI_SETTINGS settings
static const struct cli_flag flags[] = {
    CLI_HEADING("Model and device"),
    CLI_MODEL_FLAGS,
    CLI_HEADING("Text (standard input without -f)"),
    CLI_TEXT(file, "-f, --file", "FILE", "the text; the newline that ends it is not part of it"),
    CLI_INT(
        session.n_ctx, 4, 1 << 24, "-c, --ctx-size", "N",
        "tokens of a window, default 512, or less for a short text; the text needs two windows"),
    CLI_INT(n_chunk, -1, 1 << 30, "--chunks", "N",
            "windows at most; -1 (default): all that the text fills"),
    CLI_HEADING("Output and speed"),
    CLI_SWITCH(is_json, "--json",
               "one JSON object on standard output in place of the running values: device, n_ctx, "
               "text_tokens, chunks, scored_tokens, perplexity, error, values, seconds"),
    CLI_UBATCH_FLAG,
    CLI_IGNORED_VALUE("-s, --seed", "nothing is random"),
};

enum { DEFAULT_WINDOW = 512, LEAST_WINDOW = 4 };

struct perplexity {
    const struct settings *settings;
    struct cli_session_flags flags; // with the size of a window
    struct cli_session session;
    struct cli_bytes text;
    struct cli_ids ids;
    int32_t bos; // -1: the model adds none
    uint32_t n_ctx;
    size_t n_chunk, n_scored;
    float *logprobs; // of a window
    double *values;  // running ones, n_chunk
    double sum, sum_squares;
    double start, seconds;
};

//-- the text --------------------------------------------------------------------------------------

// Finds the token that the model adds before a text: the first one of any text, missing without it.
static bool find_bos(struct perplexity *self, const struct glinfer_tokenizer *tokenizer)
{
    const struct cli_bytes text = {.data = "a", .size = 1};
    const unsigned bare = GLINFER_TOKENIZE_NO_BOS | GLINFER_TOKENIZE_NO_SPECIAL;
    struct cli_ids with = {0}, without = {0};
    const bool is_done = cli_tokenize(tokenizer, &text, GLINFER_TOKENIZE_NO_SPECIAL, &with) &&
                         cli_tokenize(tokenizer, &text, bare, &without);
    const bool is_added =
        is_done && with.count > 0 && (without.count == 0 || with.items[0] != without.items[0]);
    self->bos = is_added ? with.items[0] : -1;
    free(with.items);
    free(without.items);
    return is_done;
}

// Halves the default window until the text fills two of it. Windows of -c stay as they are.
static bool choose_window(struct perplexity *self)
{
    while (self->settings->session.n_ctx == 0 && 2 * (size_t)self->n_ctx > self->ids.count &&
           self->n_ctx > LEAST_WINDOW) {
        self->n_ctx /= 2;
    }
    const size_t n_least = 2 * (size_t)self->n_ctx;
    if (self->ids.count < n_least) {
        return cli_fail(CLI_EXIT_FAILED,
                        "cannot measure the perplexity: the text has %zu tokens, two windows of %u "
                        "need %zu; use a longer text or a smaller -c",
                        self->ids.count, self->n_ctx, n_least);
    }
    if (self->settings->session.n_ctx == 0 && self->n_ctx < DEFAULT_WINDOW) {
        cli_note("the text has %zu tokens: windows of %u instead of %u; compare only values of the "
                 "same -c",
                 self->ids.count, self->n_ctx, DEFAULT_WINDOW);
    }
    self->flags.n_ctx = self->n_ctx;
    return true;
}

//-- windows ---------------------------------------------------------------------------------------

static double estimate(const struct perplexity *self)
{
    return exp(self->sum / (double)self->n_scored);
}

// Returns the standard error of the mean, carried over to the perplexity.
static double estimate_error(const struct perplexity *self)
{
    const double n = (double)self->n_scored;
    const double mean = self->sum / n, variance = self->sum_squares / n - mean * mean;
    return variance > 0 && n > 1 ? sqrt(variance / (n - 1)) * exp(mean) : 0;
}

static bool score_window(struct perplexity *self, size_t window, struct glinfer_error *err)
{
    int32_t *ids = self->ids.items + window * self->n_ctx;
    if (self->bos >= 0) {
        ids[0] = self->bos;
    }
    if (!cli_check_interrupt(err) ||
        !glinfer_score(self->session.session, ids, self->n_ctx, self->logprobs, err)) {
        return false;
    }
    for (size_t i = self->n_ctx / 2; i + 1 < self->n_ctx; i++) {
        const double nll = -(double)self->logprobs[i];
        self->sum += nll;
        self->sum_squares += nll * nll;
        self->n_scored++;
    }
    self->values[window] = estimate(self);
    return true;
}

static bool show_window(struct perplexity *self, size_t window)
{
    char text[64];
    if (self->settings->is_json) {
        cli_progress(&self->session.bar, GLINFER_PHASE_PROMPT, window + 1, self->n_chunk);
        return true;
    }
    if (window == 0 && isatty(STDERR_FILENO)) {
        const double seconds = cli_now() - self->start, all = seconds * (double)self->n_chunk;
        fprintf(stderr, "%zu windows of %u tokens, %.1f seconds each, %.1f %s in all\n",
                self->n_chunk, self->n_ctx, seconds, all < 120 ? all : all / 60,
                all < 120 ? "seconds" : "minutes");
    }
    const int size = snprintf(text, sizeof(text), "[%zu]%.4f,", window + 1, self->values[window]);
    return cli_write(text, (size_t)size);
}

static bool score_windows(struct perplexity *self)
{
    struct glinfer_error err;
    self->start = cli_now();
    cli_bar_wait(&self->session.bar, "scoring the first window", true);
    for (size_t window = 0; window < self->n_chunk; window++) {
        const bool ok = score_window(self, window, &err);
        cli_bar_clear(&self->session.bar);
        if (!ok) {
            if (window > 0 && !self->settings->is_json) {
                cli_write("\n", 1);
            }
            return cli_fail_error(&err);
        }
        if (!show_window(self, window)) {
            cli_close_output();
            return false;
        }
    }
    self->seconds = cli_now() - self->start;
    return true;
}

//-- results ---------------------------------------------------------------------------------------

static bool print_json(const struct perplexity *self)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "device", self->session.device_info.renderer);
    cJSON_AddNumberToObject(object, "n_ctx", self->n_ctx);
    cJSON_AddNumberToObject(object, "text_tokens", (double)self->ids.count);
    cJSON_AddNumberToObject(object, "chunks", (double)self->n_chunk);
    cJSON_AddNumberToObject(object, "scored_tokens", (double)self->n_scored);
    cJSON_AddNumberToObject(object, "perplexity", estimate(self));
    cJSON_AddNumberToObject(object, "error", estimate_error(self));
    cJSON_AddItemToObject(object, "values",
                          cJSON_CreateDoubleArray(self->values, (int)self->n_chunk));
    cJSON_AddNumberToObject(object, "seconds", self->seconds);
    return cli_json_print(object);
}

//-- the command -----------------------------------------------------------------------------------

static bool measure(struct perplexity *self)
{
    struct cli_bytes *text = &self->text;
    const int64_t most = self->settings->n_chunk;
    if (!cli_session_check_generator(&self->session) || !cli_read_all(self->settings->file, text)) {
        return false;
    }
    text->size -= text->size > 0 && text->data[text->size - 1] == '\n';
    if (!cli_session_load(&self->session)) {
        return false;
    }
    const struct glinfer_tokenizer *tokenizer = glinfer_model_tokenizer(self->session.model);
    if (!find_bos(self, tokenizer) ||
        !cli_tokenize(tokenizer, text, GLINFER_TOKENIZE_NO_SPECIAL, &self->ids) ||
        !choose_window(self)) {
        return false;
    }
    self->n_chunk = self->ids.count / self->n_ctx;
    if (most >= 0 && (size_t)most < self->n_chunk) {
        self->n_chunk = (size_t)most;
    }
    self->logprobs = cli_alloc(self->n_ctx, sizeof(*self->logprobs));
    self->values = cli_alloc(self->n_chunk, sizeof(*self->values));
    if (!cli_session_start(&self->session, NULL) || !score_windows(self)) {
        return false;
    }
    if (self->settings->is_json) {
        return print_json(self);
    }
    printf("\nFinal estimate: PPL = %.4f +/- %.5f\n", estimate(self), estimate_error(self));
    return cli_close_output();
}

static bool run_command(void *user)
{
    const struct settings *settings = user;
    struct perplexity self = {.settings = settings, .flags = settings->session};
    if (self.flags.n_ctx == 0) {
        self.flags.n_ctx = DEFAULT_WINDOW;
    }
    self.n_ctx = (uint32_t)self.flags.n_ctx;
    if (settings->n_chunk == 0) {
        return cli_fail(CLI_EXIT_USAGE, "invalid --chunks \"0\": expected at least 1, or -1: all");
    }
    cli_session_init(&self.session, &self.flags);
    const bool is_done = measure(&self);
    cli_session_finish(&self.session);
    cli_bytes_finish(&self.text);
    free(self.ids.items);
    free(self.logprobs);
    free(self.values);
    return is_done;
}

const struct cli_command cli_perplexity_command = {
    .name = "perplexity",
    .usage = "-m MODEL -f TEXT [flags]",
    .summary = "Measures how well a model predicts a text, in llama.cpp's windows.",
    .word = "the text is given with -f",
    .text =
        "The text is cut into windows of -c tokens without overlap. If the model adds a token "
        "before a text,\nit replaces the first of each window. Of each window the second half is "
        "predicted. The values\ncompare with llama-perplexity's for the same text and -c.\n\n"
        "    glinfer perplexity -m model.gguf -f wiki.test.raw --chunks 20",
    .common = "-m, -hf, -dev, -v, -f, -c, --chunks, --json",
    .needs_model = true,
    CLI_SESSION_COMMAND(flags, defaults, run_command),
};
