#include "cli/common/cli_utf8.h"

// `glinfer embed`: the embeddings of texts, and how alike they are.
#include "cli/cli_commands.h"
#include "cli/common/cli_json.h"
#include "cli/common/cli_session.h"
#include "cli/embed/cli_embedding.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct settings {
    struct cli_session_flags session;
    struct cli_texts prompts;
    const char *file, *query;
    int pooling; // enum glinfer_pooling
    int64_t norm;
    bool is_json;
};

static struct settings defaults = {.norm = CLI_NORM_LENGTH};

#define CLI_SETTINGS settings
static const struct cli_flag flags[] = {
    CLI_HEADING("Model and device"),
    CLI_MODEL_FLAGS,
    CLI_CONTEXT_FLAG("tokens that a text may have; 0 (default): the smaller of the model's and "
                     "4096"),
    CLI_HEADING("Texts (lines of standard input without -p and -f)"),
    CLI_TEXTS(prompts, "-p, --prompt", "TEXT", "a text; can be repeated"),
    CLI_TEXT(file, "-f, --file", "FILE", "a file with one text a line; blank lines are skipped"),
    CLI_TEXT(query, "--query", "TEXT",
             "score each text against this one, as a reranker does (--pooling rank)"),
    CLI_HEADING("Output and speed"),
    CLI_CHOICE(pooling, cli_poolings, "--pooling", "TYPE",
               "default: as the file says; none: a vector for each token; mean; cls: the first "
               "token's; last: the last token's; rank: a classifier's scores"),
    CLI_INT(norm, -1, 64, "--embd-normalize", "N",
            "2 (default): scale embeddings to length 1; -1: do not scale; 0: scale the largest "
            "number to 32760; other N: by the sum of N-th powers"),
    CLI_SWITCH(is_json, "--json",
               "one JSON object on standard output: device, pooling, n_embedding, embeddings with "
               "index, text, tokens and embedding, cosines"),
    CLI_UBATCH_FLAG,
};

struct text {
    const char *data; // borrowed
    size_t size;
    struct cli_embedding embedding;
};

struct embed {
    const struct settings *settings;
    struct cli_session session;
    struct cli_bytes lines; // of the file
    struct {
        struct text *items; // owned
        size_t count, capacity;
    } texts;
    struct cli_ids ids;
    enum glinfer_pooling pooling; // that is used
    size_t width;                 // numbers of an embedding, or of each token's
};

//-- texts -----------------------------------------------------------------------------------------

static void add_text(struct embed *self, const char *data, size_t size)
{
    *CLI_APPEND(&self->texts) = (struct text){.data = data, .size = size};
}

// Returns true if a line has nothing but white space and zero bytes.
static bool is_blank(const char *data, size_t size)
{
    while (size > 0 && (isspace((unsigned char)data[size - 1]) || !data[size - 1])) {
        size--;
    }
    return size == 0;
}

static void add_lines(struct embed *self)
{
    const char *at = self->lines.data, *end = at + self->lines.size;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        size_t size = (size_t)(stop - at);
        size -= size > 0 && at[size - 1] == '\r';
        if (!is_blank(at, size)) {
            add_text(self, at, size);
        }
        at = stop + (newline != NULL);
    }
}

static bool find_texts(struct embed *self)
{
    const struct settings *settings = self->settings;
    for (size_t i = 0; i < settings->prompts.count; i++) {
        add_text(self, settings->prompts.items[i], strlen(settings->prompts.items[i]));
    }
    if (settings->file || settings->prompts.count == 0) {
        if (!cli_read_all(settings->file, &self->lines)) {
            return false;
        }
        add_lines(self);
    }
    return self->texts.count > 0 ||
           cli_fail(CLI_EXIT_FAILED, "cannot embed the input: it has no text");
}

static bool tokenize_text(struct embed *self, const struct text *text)
{
    const struct glinfer_tokenizer *tokenizer = glinfer_model_tokenizer(self->session.model);
    const struct cli_bytes bytes = {.data = (char *)text->data, .size = text->size};
    const char *query = self->settings->query;
    struct glinfer_error err;
    return query ? cli_tokenize_pair(tokenizer, query, &bytes, &self->ids, &err) ||
                       cli_fail_error(&err)
                 : cli_tokenize(tokenizer, &bytes, 0, &self->ids);
}

static bool embed_text(struct embed *self, struct text *text)
{
    struct glinfer_error err;
    if (!tokenize_text(self, text)) {
        return false;
    }
    const bool is_done =
        cli_check_interrupt(&err) && cli_embed(self->session.session, &self->ids, self->pooling,
                                               self->settings->norm, &text->embedding, &err);
    if (!is_done && self->texts.count > 1) {
        return cli_fail(CLI_EXIT_FAILED, "text %zu: %s", (size_t)(text - self->texts.items) + 1,
                        err.message);
    }
    return is_done || cli_fail_error(&err);
}

static bool embed_texts(struct embed *self)
{
    cli_bar_wait(&self->session.bar, "computing the first embedding", true);
    for (size_t i = 0; i < self->texts.count; i++) {
        const bool is_done = embed_text(self, &self->texts.items[i]);
        cli_bar_clear(&self->session.bar);
        if (!is_done) {
            return false;
        }
        cli_progress(&self->session.bar, GLINFER_PHASE_PROMPT, i + 1, self->texts.count);
    }
    cli_bar_clear(&self->session.bar);
    return true;
}

//-- results ---------------------------------------------------------------------------------------

// Returns true if each text has one vector.
static bool has_cosines(const struct embed *self)
{
    return self->texts.count > 1 && self->pooling != GLINFER_POOLING_NONE &&
           self->pooling != GLINFER_POOLING_RANK;
}

static double cosine(const struct embed *self, size_t a, size_t b)
{
    const struct text *texts = self->texts.items;
    return cli_cosine(texts[a].embedding.values, texts[b].embedding.values, self->width);
}

static cJSON *list_rows(const struct embed *self, const struct cli_embedding *embedding)
{
    if (self->pooling != GLINFER_POOLING_NONE) {
        return cli_json_floats(embedding->values, embedding->count);
    }
    cJSON *rows = cJSON_CreateArray();
    for (size_t i = 0; i < embedding->n_tokens; i++) {
        cJSON_AddItemToArray(rows,
                             cli_json_floats(embedding->values + i * self->width, self->width));
    }
    return rows;
}

static cJSON *list_cosines(const struct embed *self)
{
    cJSON *table = cJSON_CreateArray();
    for (size_t i = 0; i < self->texts.count; i++) {
        cJSON *row = cJSON_CreateArray();
        for (size_t j = 0; j < self->texts.count; j++) {
            cJSON_AddItemToArray(row, cJSON_CreateNumber(cosine(self, i, j)));
        }
        cJSON_AddItemToArray(table, row);
    }
    return table;
}

static bool print_json(const struct embed *self)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "device", self->session.device_info.renderer);
    cJSON_AddStringToObject(object, "pooling", cli_poolings[self->pooling]);
    cJSON_AddNumberToObject(object, "n_embedding", (double)self->width);
    cJSON *list = cJSON_AddArrayToObject(object, "embeddings");
    for (size_t i = 0; i < self->texts.count; i++) {
        const struct text *text = &self->texts.items[i];
        cJSON *item = cli_json_append(list);
        cJSON_AddNumberToObject(item, "index", (double)i);
        cJSON_AddItemToObject(item, "text", cli_json_text(text->data, text->size));
        cJSON_AddNumberToObject(item, "tokens", (double)text->embedding.n_tokens);
        cJSON_AddItemToObject(item, "embedding", list_rows(self, &text->embedding));
    }
    if (has_cosines(self)) {
        cJSON_AddItemToObject(object, "cosines", list_cosines(self));
    }
    return cli_json_print(object);
}

// Prints the beginning of a text, which ends with a whole character, and ends the line.
static void print_beginning(const struct text *text)
{
    size_t n = text->size < 40 ? text->size : 40;
    while (n > 0 && n < text->size && cli_utf8_continues(text->data[n])) {
        n--;
    }
    printf("  ");
    for (size_t i = 0; i < n; i++) {
        const unsigned char byte = (unsigned char)text->data[i];
        putchar(byte < 0x20 || byte == 0x7f ? ' ' : byte);
    }
    putchar('\n');
}

static void print_table(const struct embed *self)
{
    for (size_t i = 0; i < self->texts.count; i++) {
        const struct text *text = &self->texts.items[i];
        for (size_t j = 0; j < self->texts.count; j++) {
            printf("%8.4f", cosine(self, i, j));
        }
        print_beginning(text);
    }
}

static void print_values(const struct embed *self, const struct cli_embedding *embedding)
{
    for (size_t i = 0; i < embedding->count; i++) {
        const bool is_last = (i + 1) % self->width == 0;
        printf("%.9g%c", (double)embedding->values[i], is_last ? '\n' : ' ');
    }
}

static void print_scores(const struct text *text)
{
    for (size_t i = 0; i < text->embedding.count; i++) {
        printf(i > 0 ? " %10.6f" : "%10.6f", (double)text->embedding.values[i]);
    }
    print_beginning(text);
}

static bool print_text(const struct embed *self)
{
    if (has_cosines(self)) {
        print_table(self);
        return cli_close_output();
    }
    for (size_t i = 0; i < self->texts.count; i++) {
        if (self->settings->query) {
            print_scores(&self->texts.items[i]);
        } else {
            print_values(self, &self->texts.items[i].embedding);
        }
    }
    return cli_close_output();
}

//-- the command -----------------------------------------------------------------------------------

static bool choose_pooling(struct embed *self)
{
    const enum glinfer_pooling asked = (enum glinfer_pooling)self->settings->pooling;
    self->pooling = asked == GLINFER_POOLING_DEFAULT ? self->session.info.pooling : asked;
    if (self->settings->query && self->pooling != GLINFER_POOLING_RANK) {
        return cli_fail(CLI_EXIT_USAGE, "--query needs --pooling rank");
    }
    return self->pooling != GLINFER_POOLING_DEFAULT ||
           cli_fail(CLI_EXIT_FAILED,
                    "%s is not an embedding model; use --pooling mean or last to try anyway",
                    self->settings->session.model);
}

static bool compute(struct embed *self)
{
    if (!cli_session_check_text(&self->session) || !choose_pooling(self) || !find_texts(self) ||
        !cli_session_load(&self->session) || !cli_session_start(&self->session, NULL) ||
        !embed_texts(self)) {
        return false;
    }
    const struct cli_embedding *first = &self->texts.items[0].embedding;
    self->width =
        self->pooling == GLINFER_POOLING_NONE ? first->count / first->n_tokens : first->count;
    return self->settings->is_json ? print_json(self) : print_text(self);
}

static bool run_command(void *user)
{
    struct embed self = {.settings = user};
    cli_session_init(&self.session, &self.settings->session);
    const bool is_done = compute(&self);
    cli_session_finish(&self.session);
    for (size_t i = 0; i < self.texts.count; i++) {
        free(self.texts.items[i].embedding.values);
    }
    free(self.texts.items);
    free(self.ids.items);
    cli_bytes_finish(&self.lines);
    return is_done;
}

const struct cli_command cli_embed_command = {
    .name = "embed",
    .usage = "-m MODEL [-p TEXT]... [-f FILE] [flags]",
    .summary = "Computes the embeddings of texts, and how alike they are.",
    .word = "a text is given with -p",
    .text =
        "For one text, prints its numbers; for several, a table of cosines with a line for each "
        "text.\n--json prints all of it.\n\n"
        "    glinfer embed -m qwen3-embedding.gguf -p 'a cat' -p 'a kitten' -p 'a bridge'",
    .common = "-m, -hf, -dev, -v, -c, -p, -f, --query, --pooling, --json",
    .needs_model = true,
    CLI_SESSION_COMMAND(flags, defaults, run_command),
};
