// tokenizer_golden_test RUN [-- RUN]...
// RUN: MODEL FILE.golden
//
// Replays token ids that another engine gave. MODEL is the name of a model that tools/fetch-model
// keeps, without which the run is skipped, or a path.
//
// A golden file is lines of words:
//     # provenance
//     text FLAGS BYTES ID ID ...      FLAGS: GLINFER_TOKENIZE_*; BYTES in hexadecimal, "-": none
//     message ROLE BYTES              collects a conversation
//     chat ID ID ...                  encodes it and begins a new one
#include "glinfer.h"
#include "tests/data/test_data.h"
#include "tests/golden/fixture/runs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SKIPPED      77
#define MESSAGES_MAX 16
#define LINE_MAX     65536
#define IDS_MAX      16384

struct replay {
    const struct glinfer_tokenizer *tokenizer;
    struct glinfer_message messages[MESSAGES_MAX];
    size_t n_messages;
    int32_t ids[IDS_MAX];
    size_t n_ids;
    size_t n_line, n_cases, n_failures;
};

// Writes the bytes of a word in hexadecimal and a 0; returns how many.
static size_t read_hex(const char *word, char *bytes)
{
    size_t n = 0;
    unsigned byte;
    while (sscanf(word + 2 * n, "%2x", &byte) == 1) {
        bytes[n++] = (char)byte;
    }
    bytes[n] = 0;
    return n;
}

static bool has_same_ids(const struct replay *replay, const char *expected)
{
    for (size_t i = 0; i < replay->n_ids; i++) {
        char *end;
        long id = strtol(expected, &end, 10);
        if (end == expected || id != replay->ids[i]) {
            return false;
        }
        expected = end;
    }
    return strspn(expected, " \n") == strlen(expected);
}

static void judge(struct replay *replay, bool is_done, const char *expected,
                  const struct glinfer_error *err)
{
    replay->n_cases++;
    if (is_done && has_same_ids(replay, expected)) {
        return;
    }
    replay->n_failures++;
    printf("line %zu: %s\n  expected %s  got     ", replay->n_line,
           is_done ? "other ids" : err->message, expected);
    for (size_t i = 0; is_done && i < replay->n_ids; i++) {
        printf(" %" PRId32, replay->ids[i]);
    }
    printf("\n");
}

static void replay_text(struct replay *replay, char *words)
{
    char *flags = strtok(words, " "), *hex = strtok(NULL, " "), *ids = strtok(NULL, "\n");
    static char bytes[LINE_MAX];
    struct glinfer_error err;
    size_t size = read_hex(hex, bytes);
    bool is_done = glinfer_tokenize(replay->tokenizer, bytes, size, (unsigned)atoi(flags),
                                    replay->ids, IDS_MAX, &replay->n_ids, &err);
    judge(replay, is_done, ids ? ids : "", &err);
}

static void replay_message(struct replay *replay, char *words)
{
    char *role = strtok(words, " "), *hex = strtok(NULL, " \n");
    static const char *const roles[] = {"system", "user", "assistant"};
    char *content = malloc(strlen(hex) + 1);
    if (replay->n_messages == MESSAGES_MAX || !content) {
        free(content);
        return;
    }
    read_hex(hex, content);
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(role, roles[i]) == 0) {
            replay->messages[replay->n_messages].role = roles[i];
        }
    }
    replay->messages[replay->n_messages++].content = content;
}

static void replay_chat(struct replay *replay, const char *expected)
{
    struct glinfer_error err;
    bool is_done = glinfer_chat_tokenize(replay->tokenizer, replay->messages, replay->n_messages,
                                         replay->ids, IDS_MAX, &replay->n_ids, &err);
    judge(replay, is_done, expected, &err);
    for (size_t i = 0; i < replay->n_messages; i++) {
        free((char *)replay->messages[i].content);
    }
    replay->n_messages = 0;
}

static void replay_file(struct replay *replay, FILE *file)
{
    static char line[LINE_MAX];
    while (fgets(line, sizeof(line), file)) {
        replay->n_line++;
        if (strncmp(line, "text ", 5) == 0) {
            replay_text(replay, line + 5);
        } else if (strncmp(line, "message ", 8) == 0) {
            replay_message(replay, line + 8);
        } else if (strncmp(line, "chat ", 5) == 0) {
            replay_chat(replay, line + 5);
        }
    }
}

static int run(const struct run *run, struct glinfer_device **device)
{
    static struct replay replay;
    struct glinfer_error err;
    (void)device;
    FILE *file = run->n_words == 2 ? fopen(run->words[1], "r") : NULL;
    if (!file) {
        fprintf(stderr, "usage: tokenizer_golden_test MODEL FILE.golden\n");
        return EXIT_FAILURE;
    }
    const char *path = strchr(run->words[0], '/') ? run->words[0] : test_model(run->words[0]);
    struct glinfer_tokenizer *tokenizer = glinfer_tokenizer_load(path, &err);
    if (!tokenizer) {
        printf("%s\n", err.message);
        fclose(file);
        return err.status == GLINFER_STATUS_NOT_FOUND ? SKIPPED : EXIT_FAILURE;
    }
    replay = (struct replay){.tokenizer = tokenizer};
    replay_file(&replay, file);
    printf("%zu cases, %zu failures\n", replay.n_cases, replay.n_failures);
    glinfer_tokenizer_destroy(&tokenizer);
    fclose(file);
    return replay.n_cases && !replay.n_failures ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int n_arg, char **args)
{
    return run_all(n_arg, args, run);
}
