#include "cli/models/models_fetch.h"

#include "cli/models/models_http.h"
#include "cli/models/models_part.h"
#include "cli/models/models_pull.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_TRIES 4   // without a byte more
#define MAX_WAIT  300 // seconds for which a server may ask to be left alone
#define MAX_TEXT  (16u << 20)

struct fetch {
    const struct models_wanted *wanted;
    struct models_part part;
    struct cli_bar bar;
    char sha256[65];           // expected; "": none is known
    uint64_t size;             // expected; 0: unknown
    uint64_t start;            // bytes that were there when the request began
    double begin, shown;       // cli_now of the request and of the progress shown last
    bool is_started;           // the answer's head was looked at
    bool is_printed;           // the reason of the failure
    bool is_moving;            // bytes have come since this process began
    struct models_reply reply; // the last
};

//-- messages --------------------------------------------------------------------------------------

// Returns "example.org" of a URL for a message.
static const char *host_of(const char *url, char host[128])
{
    const char *begin = models_host(url);
    snprintf(host, 128, "%.*s", (int)strcspn(begin, "/?#"), begin);
    return host;
}

// Prints the meaning of an answer's status.
static bool refuse_status(const struct models_wanted *wanted, long status)
{
    char host[128], shown[MODELS_MAX_URL];
    host_of(wanted->url, host);
    models_shown(wanted->url, shown);
    switch (status) {
    case 401:
    case 403:
        return cli_fail(CLI_EXIT_FAILED,
                        "%s: %s wants a login (HTTP %ld): the model is gated, private, or not "
                        "there. Accept its terms on its page, then set HF_TOKEN to a token of "
                        "yours%s",
                        wanted->name, host, status,
                        wanted->token ? "; the one that is set is not enough" : "");
    case 404:
    case 410:
        return cli_fail(CLI_EXIT_FAILED, "%s: %s has no such file (HTTP %ld): %s", wanted->name,
                        host, status, shown);
    default:
        return cli_fail(CLI_EXIT_FAILED, "%s: %s answers with HTTP %ld: %s", wanted->name, host,
                        status, shown);
    }
}

static bool refuse_outcome(const struct models_wanted *wanted, const char *why, uint64_t kept)
{
    char host[128], size[24];
    if (!models_goes_on(NULL, 0, 0) && kept == 0) {
        return cli_fail(CLI_EXIT_INTERRUPTED, "interrupted");
    }
    if (!models_goes_on(NULL, 0, 0)) {
        return cli_fail(CLI_EXIT_INTERRUPTED,
                        "interrupted; %s of %s are kept; the same command continues from there",
                        cli_format_size(size, kept), wanted->name);
    }
    if (kept > 0) {
        return cli_fail(CLI_EXIT_FAILED,
                        "%s: %s: %s; %s are kept; the same command continues from there",
                        wanted->name, host_of(wanted->url, host), why, cli_format_size(size, kept));
    }
    return cli_fail(CLI_EXIT_FAILED, "%s: %s: %s", wanted->name, host_of(wanted->url, host), why);
}

static void show_progress(struct fetch *fetch)
{
    char text[160], done[24], total[24], rate_text[24];
    const double now = cli_now();
    if (now - fetch->shown < 0.2) {
        return;
    }
    fetch->shown = now;
    (void)models_goes_on(fetch->wanted->url, fetch->part.size, fetch->size);
    if (!fetch->bar.is_wanted) {
        return;
    }
    const double rate = (double)(fetch->part.size - fetch->start) / (now - fetch->begin + 1e-9);
    cli_format_size(done, fetch->part.size);
    cli_format_size(rate_text, (uint64_t)rate);
    if (fetch->size > 0) {
        const double left = (double)(fetch->size - fetch->part.size) / (rate > 1 ? rate : 1);
        const unsigned seconds = left < 359999 ? (unsigned)left : 359999;
        cli_format_size(total, fetch->size);
        snprintf(text, sizeof(text), "%3.0f %%  %s of %s  %s/s  %u:%02u left",
                 100.0 * (double)fetch->part.size / (double)fetch->size, done, total, rate_text,
                 seconds / 60, seconds % 60);
    } else {
        snprintf(text, sizeof(text), "%s  %s/s", done, rate_text);
    }
    cli_bar_text(&fetch->bar, text);
}

//-- what arrives ----------------------------------------------------------------------------------

static bool refuse(struct fetch *fetch)
{
    fetch->is_printed = true;
    return false;
}

// Takes over what an answer says of the file, unless it contradicts what is known.
static bool accept_size(struct fetch *fetch, const struct models_reply *reply)
{
    const struct models_wanted *wanted = fetch->wanted;
    const uint64_t size = reply->status == 206 ? reply->range_size : reply->length;
    if (size > 0 && fetch->size > 0 && size != fetch->size) {
        return cli_fail(CLI_EXIT_FAILED,
                        "%s: %" PRIu64 " bytes were expected, and the server has %" PRIu64,
                        wanted->name, fetch->size, size);
    }
    fetch->size = fetch->size > 0 ? fetch->size : size;
    if (reply->sha256[0] && fetch->sha256[0] && strcmp(reply->sha256, fetch->sha256) != 0) {
        return cli_fail(CLI_EXIT_FAILED,
                        "invalid %s: the server has another file: its sha256 is %s, expected %s",
                        wanted->name, reply->sha256, fetch->sha256);
    }
    if (!fetch->sha256[0]) {
        snprintf(fetch->sha256, sizeof(fetch->sha256), "%s", reply->sha256);
    }
    return fetch->size <= fetch->part.size ||
           models_part_has_room(&fetch->part, fetch->size - fetch->part.size);
}

// Looks at the head of an answer: a server may send the rest, or the whole because it knows no
// ranges or the file has changed.
static bool start_answer(struct fetch *fetch, const struct models_reply *reply)
{
    const bool is_rest =
        reply->status == 206 && reply->range_start == fetch->part.size && fetch->part.size > 0 &&
        (reply->range_size == 0 || reply->range_size > fetch->part.size) &&
        (!reply->etag[0] || !fetch->part.etag[0] || strcmp(reply->etag, fetch->part.etag) == 0);
    fetch->is_started = true;
    if (reply->status == 206 && !is_rest) {
        // Another range, or another file; the next try asks for the whole.
        return models_part_begin(&fetch->part, fetch->wanted->url, "", "") && false;
    }
    if (!is_rest && !models_part_begin(&fetch->part, fetch->wanted->url, reply->etag,
                                       fetch->sha256[0] ? fetch->sha256 : reply->sha256)) {
        return refuse(fetch);
    }
    if (!is_rest) { // size and digest of an earlier response belong to another file
        fetch->size = fetch->wanted->size;
        snprintf(fetch->sha256, sizeof(fetch->sha256), "%s", fetch->wanted->sha256);
    }
    fetch->start = fetch->part.size;
    return accept_size(fetch, reply) || refuse(fetch);
}

// Returns true if the file begins as GGUF or a file of whisper.cpp does, or has not got that far.
static bool is_model(struct fetch *fetch, const char *type)
{
    char head[4], shown[MODELS_MAX_URL];
    if (fetch->wanted->is_any || fetch->part.size < sizeof(head) ||
        pread(fetch->part.file, head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
        memcmp(head, "GGUF", sizeof(head)) == 0 || memcmp(head, "lmgg", sizeof(head)) == 0) {
        return true;
    }
    models_part_discard(&fetch->part);
    const bool is_page = strncasecmp(type, "text/html", 9) == 0 || head[0] == '<';
    return cli_fail(CLI_EXIT_FAILED,
                    is_page ? "%s is a web page, not a GGUF file: give the address of the file "
                              "itself, which the page links to"
                            : "%s is not a GGUF file; the download was stopped",
                    models_shown(fetch->wanted->url, shown));
}

static bool take_bytes(void *user, const struct models_reply *reply, const char *data, size_t size)
{
    struct fetch *fetch = user;
    if (!fetch->is_started && !start_answer(fetch, reply)) {
        return false;
    }
    if (fetch->size > 0 && size > fetch->size - fetch->part.size) {
        cli_fail(CLI_EXIT_FAILED,
                 "%s: the server sends more than the %" PRIu64 " bytes of the file",
                 fetch->wanted->name, fetch->size);
        models_part_discard(&fetch->part);
        return refuse(fetch);
    }
    const bool is_head = fetch->part.size < 4;
    if (!models_part_append(&fetch->part, data, size) ||
        (is_head && !is_model(fetch, reply->type))) {
        return refuse(fetch);
    }
    show_progress(fetch);
    return true;
}

//-- tries -----------------------------------------------------------------------------------------

// Returns true if what is here is a part of what is wanted, as far as can be told.
static bool is_usable(const struct fetch *fetch)
{
    const struct models_part *part = &fetch->part;
    return part->size > 0 && strcmp(part->url, fetch->wanted->url) == 0 &&
           (fetch->sha256[0] ? strcmp(part->sha256, fetch->sha256) == 0 : part->etag[0]) &&
           (fetch->size == 0 || part->size <= fetch->size);
}

// Returns how much of it the next process goes on from.
static uint64_t kept(const struct fetch *fetch)
{
    return is_usable(fetch) ? fetch->part.size : 0;
}

// Waits before the next try, as long as the server asks for; Ctrl-C ends it. False with the reason
// printed if that is too long.
static bool pause_before(const struct models_wanted *wanted, const struct models_reply *reply,
                         const char *why, int n_try)
{
    char host[128], text[64];
    struct cli_bar bar;
    const uint64_t seconds =
        reply->retry_after > 0 ? reply->retry_after : UINT64_C(1) << (n_try - 1);
    if (seconds > MAX_WAIT) {
        return cli_fail(CLI_EXIT_FAILED,
                        "%s: %s; %s asks to wait %" PRIu64 " s: try again after that", wanted->name,
                        why, host_of(wanted->url, host), seconds);
    }
    cli_say("%s: %s; trying again in %" PRIu64 " s", wanted->name, why, seconds);
    cli_bar_init(&bar);
    for (uint64_t left = seconds; left > 0 && models_goes_on(NULL, 0, 0); left--) {
        const struct timespec second = {.tv_sec = 1};
        snprintf(text, sizeof(text), "trying again in %" PRIu64 " s", left);
        cli_bar_text(&bar, text);
        nanosleep(&second, NULL);
    }
    cli_bar_clear(&bar);
    return true;
}

// True unless the open file is a damaged GGUF file or ends before its tensors do.
static bool is_whole_file(int file, const char *name, char *why, size_t size)
{
    struct glinfer_source source;
    struct glinfer_model_params params;
    struct glinfer_model_info info = {.struct_size = sizeof(info)};
    struct glinfer_error err;
    glinfer_source_init(&source);
    glinfer_model_params_init(&params);
    source.kind = GLINFER_SOURCE_FD;
    source.fd = file;
    source.name = name;
    params.source = &source;
    if (glinfer_model_inspect(&params, &info, &err) || err.status != GLINFER_STATUS_BAD_FILE) {
        return true;
    }
    snprintf(why, size, "%.400s", err.message);
    return false;
}

// Checks that the end of the file is not missing, unless its sha256 will tell. False with the
// reason printed if the file of the server itself is cut (is_all: the server has no more).
static bool check_whole(struct fetch *fetch, bool is_all, bool *is_whole, char *why, size_t size)
{
    *is_whole = fetch->sha256[0] || fetch->wanted->is_any || fetch->part.size < 4 ||
                is_whole_file(fetch->part.file, "the file", why, size);
    if (*is_whole || !is_all) {
        fetch->size = *is_whole ? fetch->size : fetch->wanted->size;
        return true;
    }
    models_part_discard(&fetch->part);
    return cli_fail(CLI_EXIT_FAILED, "cannot fetch %s: %s; the server sends no more of it",
                    fetch->wanted->name, why);
}

// Makes a request for what is missing. Sets *is_whole when there is no more to come; false with the
// reason printed where no further try helps.
static bool request_rest(struct fetch *fetch, bool *is_whole, char *why, size_t why_size)
{
    struct models_reply reply;
    const struct models_wanted *wanted = fetch->wanted;
    const uint64_t asked = fetch->part.size;
    const struct models_request request = {
        .url = wanted->url,
        .token = wanted->token,
        .start = asked,
        .if_range = fetch->part.etag,
        .timeout_s = wanted->timeout_s,
        .take = take_bytes,
        .user = fetch,
    };
    fetch->is_started = false;
    fetch->begin = cli_now();
    fetch->start = asked;
    const enum models_outcome outcome = models_http_get(&request, &reply, why, why_size);
    cli_bar_clear(&fetch->bar);
    fetch->reply = reply;
    if (fetch->is_printed) {
        return false;
    }
    // A network that was there a moment ago may come back.
    if (!models_goes_on(NULL, 0, 0) || (outcome == MODELS_HOPELESS && !fetch->is_moving)) {
        return refuse_outcome(wanted, why, kept(fetch));
    }
    if (outcome == MODELS_ANSWERED && reply.status == 416) {
        *is_whole = reply.range_size == asked && (fetch->size == 0 || fetch->size == asked);
        return *is_whole ? check_whole(fetch, true, is_whole, why, why_size)
                         : models_part_begin(&fetch->part, wanted->url, "", "");
    }
    if (outcome == MODELS_ANSWERED && reply.status != 200 && reply.status != 206) {
        return refuse_status(wanted, reply.status);
    }
    if (outcome == MODELS_REFUSED) {
        snprintf(why, why_size, "the file on the server has changed");
    }
    *is_whole = outcome == MODELS_ANSWERED && (fetch->size == 0 || fetch->part.size == fetch->size);
    return !*is_whole || check_whole(fetch, wanted->size > 0, is_whole, why, why_size);
}

static bool fetch_rest(struct fetch *fetch)
{
    char why[512] = "the file is empty";
    uint64_t most = fetch->part.size;
    bool is_whole = fetch->size > 0 && fetch->part.size == fetch->size;
    if (is_whole && !check_whole(fetch, true, &is_whole, why, sizeof(why))) {
        return false;
    }
    for (int n_try = 1; !is_whole; n_try++) {
        if (!request_rest(fetch, &is_whole, why, sizeof(why))) {
            return false;
        }
        fetch->is_moving = fetch->is_moving || fetch->part.size > most;
        n_try = fetch->part.size > most ? 1 : n_try;
        most = fetch->part.size > most ? fetch->part.size : most;
        if (!is_whole && n_try == MAX_TRIES) {
            return refuse_outcome(fetch->wanted, why, kept(fetch));
        }
        if (!is_whole && !pause_before(fetch->wanted, &fetch->reply, why, n_try)) {
            return false;
        }
        if (!models_goes_on(NULL, 0, 0)) {
            return refuse_outcome(fetch->wanted, why, kept(fetch));
        }
    }
    return fetch->part.size >= 4 || fetch->wanted->is_any ||
           refuse_outcome(fetch->wanted, "the file is too short for a GGUF file", 0);
}

// Checks the whole part. *is_right is false if it has another sha256 than expected; false with the
// reason printed if that cannot be told.
static bool check_hash(struct fetch *fetch, char found[65], bool *is_right)
{
    *is_right = true;
    if (fetch->sha256[0]) {
        if (!models_hash_file(fetch->part.file, fetch->part.path, fetch->part.size, &fetch->bar,
                              found)) {
            return false;
        }
        *is_right = strcmp(found, fetch->sha256) == 0;
    }
    return true;
}

static void announce(const struct fetch *fetch)
{
    char size[24], with_size[32] = "", here[24], with_here[48] = "";
    char shown[MODELS_MAX_URL];
    if (fetch->size > 0) {
        snprintf(with_size, sizeof(with_size), ", %s,", cli_format_size(size, fetch->size));
    }
    if (fetch->part.size > 0) {
        snprintf(with_here, sizeof(with_here), ", after %s",
                 cli_format_size(here, fetch->part.size));
    }
    cli_say("fetching %s%s from %s%s", models_base_name(fetch->wanted->path), with_size,
            models_shown(fetch->wanted->url, shown), with_here);
}

static bool fetch_locked(struct fetch *fetch)
{
    char found[65];
    bool is_right = false, is_resumed = is_usable(fetch);
    if (!is_resumed && !models_part_begin(&fetch->part, fetch->wanted->url, "", "")) {
        return false;
    }
    announce(fetch);
    for (;;) {
        if (!fetch_rest(fetch) || !check_hash(fetch, found, &is_right)) {
            return false;
        }
        if (is_right) {
            return models_part_finish(&fetch->part);
        }
        if (!is_resumed) {
            break;
        }
        cli_say(
            "%s: the part on this machine does not match the rest; fetching the whole file again",
            fetch->wanted->name);
        is_resumed = false;
        if (!models_part_begin(&fetch->part, fetch->wanted->url, "", "")) {
            return false;
        }
    }
    models_part_discard(&fetch->part);
    return cli_fail(CLI_EXIT_FAILED,
                    "cannot use %s: its sha256 is %s, expected %s; the download was deleted",
                    fetch->wanted->name, found, fetch->sha256);
}

bool models_fetch(const struct models_wanted *wanted)
{
    struct fetch fetch = {.wanted = wanted, .size = wanted->size};
    bool is_there = false;
    signal(SIGXFSZ, SIG_IGN); // a limit becomes a failed write
    cli_bar_init(&fetch.bar);
    snprintf(fetch.sha256, sizeof(fetch.sha256), "%s", wanted->sha256);
    if (!models_part_open(&fetch.part, wanted->path, &is_there)) {
        return false;
    }
    const bool is_done = is_there || fetch_locked(&fetch);
    models_part_close(&fetch.part);
    return is_done;
}

//-- texts, and files that are here ----------------------------------------------------------------

static bool take_text(void *user, const struct models_reply *reply, const char *data, size_t size)
{
    struct cli_bytes *text = user;
    (void)reply;
    if (size > MAX_TEXT - text->size) {
        return false;
    }
    cli_bytes_append(text, data, size);
    return true;
}

bool models_fetch_text(const struct models_wanted *wanted, struct cli_bytes *text,
                       char next[MODELS_MAX_URL])
{
    char why[512];
    struct models_reply reply;
    const struct models_request request = {
        .url = wanted->url,
        .token = wanted->token,
        .if_range = "",
        .timeout_s = wanted->timeout_s,
        .take = take_text,
        .user = text,
    };
    for (int n_try = 1;; n_try++) {
        text->size = 0;
        const enum models_outcome outcome = models_http_get(&request, &reply, why, sizeof(why));
        if (outcome == MODELS_ANSWERED) {
            snprintf(next, MODELS_MAX_URL, "%s", reply.next);
            return reply.status == 200 || refuse_status(wanted, reply.status);
        }
        if (outcome != MODELS_BROKEN || n_try == MAX_TRIES || !models_goes_on(NULL, 0, 0)) {
            return refuse_outcome(wanted,
                                  outcome == MODELS_REFUSED ? "the answer is too long" : why, 0);
        }
        if (!pause_before(wanted, &reply, why, n_try)) {
            return false;
        }
    }
}

bool models_is_whole(const char *path, char *why, size_t size)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool is_whole = file < 0 || is_whole_file(file, path, why, size);
    if (file >= 0) {
        close(file);
    }
    return is_whole;
}

bool models_hash_path(const char *path, char sha256[65])
{
    struct cli_bar bar;
    struct stat state;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &state) != 0) {
        cli_fail(CLI_EXIT_FAILED, "cannot read %s: %s", path, strerror(errno));
        if (file >= 0) {
            close(file);
        }
        return false;
    }
    cli_bar_init(&bar);
    const bool is_done = models_hash_file(file, path, (uint64_t)state.st_size, &bar, sha256);
    close(file);
    return is_done;
}
