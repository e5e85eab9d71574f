// Calls of sessions in any order, with calls of the driver that fail: begin, step, cancel, end,
// reset, rewind, resume and recover. Whatever came before, every token is the one that a fresh
// session gives after the same tokens, and a session holds no others.
//
//   call_order_test MODEL.gguf SEED N_COURSE
#include "tests/faults/failing_gl.h"
#include "tests/golden/fixture/tiny_model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_SESSIONS = 3, N_CTX = 96, N_OPS = 150, MOST_PROMPT = 24, MOST_ANSWER = 9 };

struct player {
    struct glinfer_session *session;
    int32_t ids[2 * N_CTX]; // that the session may hold: the last is an answer's
    int n;
    int32_t prompt[MOST_PROMPT]; // of the answer that was begun last, whose tokens are expected
    int32_t expected[MOST_ANSWER];
    int n_prompt, n_expected, n_told;
    bool is_answering, is_broken, is_cancelled;
};

static struct game {
    uint64_t random;
    struct tiny_model tiny, judge;
    struct glinfer_session *judging;
    struct player players[N_SESSIONS];
    int n_token, n_failed, n_recovered, n_resumed;
    bool is_wrong;
} game;

static uint32_t any(uint32_t n)
{
    game.random = game.random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(game.random >> 33) % n;
}

//-- what is told of a course that fails -----------------------------------------------------------

enum { N_LINES = 24, LINE_SIZE = 160 };
static char lines[N_LINES][LINE_SIZE]; // the latest calls
static int n_lines;

static void note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(lines[n_lines++ % N_LINES], LINE_SIZE, format, args);
    va_end(args);
}

static const char *failed_call(void)
{
    const char *name = first_failed_call();
    return name ? name : "no call";
}

static void wrong(const char *format, ...)
{
    va_list args;
    for (int i = n_lines > N_LINES ? n_lines - N_LINES : 0; i < n_lines; i++) {
        fprintf(stderr, "  %s\n", lines[i % N_LINES]);
    }
    n_lines = 0;
    va_start(args, format);
    fputs("call_order_test: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    game.is_wrong = true;
}

//-- what is expected ------------------------------------------------------------------------------

static bool keep_expected(void *user, const struct glinfer_token *token)
{
    struct player *player = user;
    if (token->id >= 0 && player->n_expected < MOST_ANSWER) {
        player->expected[player->n_expected++] = token->id;
    }
    return true;
}

// Asks a session of another device for the answer after the player's tokens.
static void judge(struct player *player, int n_predict)
{
    struct glinfer_error err;
    const struct glinfer_generate_params params = PARAMS(
        generate, .prompt = player->ids, .n_prompt = (size_t)player->n, .n_predict = n_predict,
        .ignore_eos = true, .on_token = keep_expected, .token_user = player);
    player->n_expected = player->n_told = 0;
    const unsigned pending = exchange_error(0); // of the other device
    glinfer_session_reset(game.judging);
    if (!glinfer_generate(game.judging, &params, NULL, &err)) {
        wrong("the judge fails: %s", err.message);
    }
    exchange_error(pending);
}

static void check_token(struct player *player, const struct glinfer_token *token)
{
    if (token->id < 0) { // text that was held back
        return;
    }
    if (player->n_told == player->n_expected || player->expected[player->n_told] != token->id) {
        wrong("session %d, token %d of %d is %d, not %d", (int)(player - game.players),
              player->n_told, player->n_expected, token->id, player->expected[player->n_told]);
    }
    player->n_told++;
    player->ids[player->n++] = token->id;
    game.n_token++;
}

// Reads how many of its tokens an idle session holds: all after an answer that is whole.
static void settle(struct player *player, bool is_whole)
{
    const int n = (int)glinfer_session_match(player->session, player->ids, (size_t)player->n);
    if (is_whole && n != player->n) {
        wrong("session %d holds %d of its %d tokens", (int)(player - game.players), n, player->n);
    }
    player->n = n;
    player->is_answering = player->is_cancelled = false;
}

//-- failures --------------------------------------------------------------------------------------

// Refuses one of the next n calls, or all from it on. An error that nothing has read yet stays.
static void fail_later(void (*fail)(long), uint32_t n)
{
    const unsigned pending = exchange_error(0);
    game.n_failed++;
    fail((long)any(n));
    exchange_error(pending);
}

static void check_failure(const struct glinfer_error *err, bool is_cancelled)
{
    const bool is_driver =
        err->status == GLINFER_STATUS_GPU_LOST || err->status == GLINFER_STATUS_GPU_FAULT ||
        err->status == GLINFER_STATUS_DRIVER || err->status == GLINFER_STATUS_NO_MEMORY;
    if (!(is_driver && game.n_failed > 0) &&
        !(is_cancelled && err->status == GLINFER_STATUS_CANCELLED)) {
        wrong("status %d, %s; %s failed", (int)err->status, err->message, failed_call());
    }
}

// Brings a device back that is lost, after the calls that fail have ended; which ends all answers.
static void recover(const struct glinfer_error *why)
{
    struct glinfer_error err;
    fail_calls_after(-1);
    if (why->status == GLINFER_STATUS_GPU_LOST || why->status == GLINFER_STATUS_GPU_FAULT) {
        game.n_recovered++;
        note("the device is recovered");
        if (!glinfer_device_recover(game.tiny.device, NULL, NULL, &err)) {
            wrong("the device is not recovered: %s", err.message);
        }
        for (int i = 0; i < N_SESSIONS; i++) {
            struct player *player = &game.players[i];
            if (player->is_answering) {
                player->is_broken = true;
                settle(player, false);
            }
        }
    }
}

//-- calls -----------------------------------------------------------------------------------------

static void begin(struct player *player)
{
    struct glinfer_error err = {0};
    const bool resumes = player->is_broken && any(2);
    if (player->is_answering || player->n + MOST_PROMPT + MOST_ANSWER > N_CTX) {
        return;
    }
    if (!resumes) {
        player->n_prompt = 1 + (int)any(MOST_PROMPT);
        for (int i = 0; i < player->n_prompt; i++) {
            player->prompt[i] = 3 + (int32_t)any(200);
        }
    }
    if (!resumes || player->n_told == 0) { // a prompt that gave no token yet is processed again
        memcpy(player->ids + player->n, player->prompt, (size_t)player->n_prompt * sizeof(int32_t));
        player->n += player->n_prompt;
    }
    if (!resumes) {
        judge(player, (int)any(MOST_ANSWER));
    }
    const struct glinfer_generate_params params =
        PARAMS(generate, .prompt = player->prompt, .n_prompt = (size_t)player->n_prompt,
               .n_predict = player->n_expected, .ignore_eos = true, .resume = resumes);
    if (any(8) == 0) {
        fail_later(fail_one_call, 60);
    }
    const bool ok = glinfer_begin(player->session, &params, &err);
    note("session %d begins: %d tokens, %d wanted, %d told%s; %s failed; %s",
         (int)(player - game.players), player->n, player->n_expected, player->n_told,
         resumes ? ", resumed" : "", failed_call(), ok ? "done" : err.message);
    player->is_answering = ok;
    player->is_broken = false;
    game.n_resumed += resumes && ok;
    if (!ok) {
        check_failure(&err, false);
        settle(player, false);
        recover(&err);
    }
    end_failures();
}

static struct player *player_of(const struct glinfer_session *session)
{
    for (int i = 0; session && i < N_SESSIONS; i++) {
        if (game.players[i].session == session) {
            return &game.players[i];
        }
    }
    return NULL;
}

static void step(void)
{
    static const uint32_t budgets[] = {0, 1000, 20000, 100000};
    struct glinfer_event event = {.struct_size = sizeof(event)};
    struct glinfer_error err = {0};
    int n_answers = 0;
    for (int i = 0; i < N_SESSIONS; i++) {
        n_answers += game.players[i].is_answering;
    }
    if (any(25) == 0) {
        fail_later(any(3) ? fail_one_call : fail_calls_after, 40);
    }
    const bool ok = glinfer_step(game.tiny.device, budgets[any(4)], &event, &err);
    struct player *player = player_of(event.session);
    note("step: event %d of session %d; %s failed; %s", (int)event.kind,
         player ? (int)(player - game.players) : -1, failed_call(), ok ? "done" : err.message);
    if (n_answers == 0) {
        if (ok || err.status != GLINFER_STATUS_INVALID_ARGUMENT) {
            wrong("a step without an answer: %s", ok ? "succeeds" : err.message);
        }
    } else if (!ok) {
        check_failure(&err, player && player->is_cancelled);
        if (player) {
            player->is_broken = true;
            settle(player, false);
        }
        recover(&err);
    } else if (event.kind == GLINFER_EVENT_TOKEN) {
        check_token(player, event.token);
    } else if (event.kind == GLINFER_EVENT_END) {
        if (player->n_told != player->n_expected) {
            wrong("an answer ends after %d tokens of %d", player->n_told, player->n_expected);
        }
        settle(player, true);
    }
    end_failures();
}

static void play(struct player *player)
{
    const uint32_t call = any(100);
    if (call < 70) {
        step();
    } else if (call < 84) {
        begin(player);
    } else if (call < 88) {
        note("session %d is cancelled", (int)(player - game.players));
        glinfer_session_cancel(player->session);
        player->is_cancelled = true;
    } else if (call < 91) {
        note("session %d ends", (int)(player - game.players));
        glinfer_end(player->session);
        player->is_broken = player->is_broken || player->is_answering;
        settle(player, false);
    } else if (call < 94) {
        note("session %d is reset", (int)(player - game.players));
        glinfer_session_reset(player->session);
        player->n = 0;
        player->is_broken = false;
        settle(player, true);
    } else if (call < 97) {
        const int n = (int)any((uint32_t)player->n + 1);
        note("session %d is rewound from %d to %d", (int)(player - game.players), player->n, n);
        glinfer_session_rewind(player->session, (size_t)n);
        player->is_broken = false;
        player->n = n < player->n ? n : player->n;
        settle(player, false);
    } else if (any(4) == 0) {
        struct glinfer_error lost = {.status = GLINFER_STATUS_GPU_LOST};
        recover(&lost);
    }
}

static bool open_players(bool is_joint, struct glinfer_error *err)
{
    struct glinfer_session *sessions[N_SESSIONS] = {0};
    struct glinfer_session_params params =
        PARAMS(session, .n_ctx = N_CTX, .n_batch = 16, .chain_length = any(3) * 2,
               .precision = GLINFER_PRECISION_F32);
    bool ok =
        !is_joint || glinfer_sessions_create(game.tiny.model, &params, N_SESSIONS, sessions, err);
    for (int i = 0; ok && i < N_SESSIONS; i++) {
        sessions[i] =
            is_joint ? sessions[i] : glinfer_session_create(game.tiny.model, &params, err);
        game.players[i] = (struct player){.session = sessions[i]};
        ok = sessions[i] != NULL;
    }
    params.n_batch = 0;
    params.chain_length = 1;
    game.judging = ok ? glinfer_session_create(game.judge.model, &params, err) : NULL;
    return game.judging != NULL;
}

static bool run_course(uint64_t seed)
{
    struct glinfer_error err = {0};
    game.random = seed;
    game.is_wrong = false;
    const bool is_open = open_players(seed % 2 == 1, &err);
    if (!is_open) {
        wrong("cannot begin: %s", err.message);
    }
    for (int i = 0; is_open && i < N_OPS && !game.is_wrong; i++) {
        play(&game.players[any(N_SESSIONS)]);
    }
    for (int i = 0; i < N_SESSIONS; i++) {
        glinfer_session_destroy(&game.players[i].session);
    }
    glinfer_session_destroy(&game.judging);
    fail_calls_after(-1);
    if (!glinfer_device_recover(game.tiny.device, NULL, NULL, &err)) { // it may be lost since
        wrong("the device is not recovered: %s", err.message);
    }
    if (game.is_wrong) {
        fprintf(stderr, "call_order_test: with seed %llu\n", (unsigned long long)seed);
    }
    return !game.is_wrong;
}

int main(int n_arg, char **args)
{
    if (n_arg < 4 || !tiny_model_open(&game.tiny, args[1], NULL) ||
        !tiny_model_open(&game.judge, args[1], NULL)) {
        return EXIT_FAILURE;
    }
    const uint64_t seed = strtoull(args[2], NULL, 10);
    bool ok = true;
    for (uint64_t i = 0; i < strtoull(args[3], NULL, 10); i++) {
        ok = run_course(seed + i) && ok;
    }
    printf("%d tokens, %d calls that failed, %d recoveries, %d resumed answers\n", game.n_token,
           game.n_failed, game.n_recovered, game.n_resumed);
    tiny_model_close(&game.judge);
    tiny_model_close(&game.tiny);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
