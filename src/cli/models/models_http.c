#include "cli/models/models_http.h"

#include "cli/common/cli_io.h"
#include "cli/models/models_pull.h"

#include <ctype.h>
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_REDIRECTS 10L

struct transfer {
    const struct models_request *request;
    struct models_reply *reply;
    CURL *curl;
    bool is_refused;
};

//-- headers ---------------------------------------------------------------------------------------

// Copies the value of a header line without spaces around it. False if there is no room.
static bool copy_value(char *to, size_t room, const char *value, const char *end)
{
    while (value < end && isspace((unsigned char)*value)) {
        value++;
    }
    while (end > value && isspace((unsigned char)end[-1])) {
        end--;
    }
    const bool has_room = (size_t)(end - value) < room;
    memcpy(to, value, has_room ? (size_t)(end - value) : 0);
    to[has_room ? end - value : 0] = '\0';
    return has_room;
}

// Reads "bytes 100-199/500" or "bytes */500".
static void read_range(struct models_reply *reply, const char *value)
{
    const char *slash = strchr(value, '/');
    if (strncasecmp(value, "bytes ", 6) == 0 && slash) {
        reply->range_start = strtoull(value + 6, NULL, 10);
        reply->range_size = strtoull(slash + 1, NULL, 10);
    }
}

static void read_sha256(struct models_reply *reply, const char *value)
{
    char sha256[65] = "";
    value += *value == '"';
    for (size_t i = 0; i < 64 && value[i]; i++) {
        sha256[i] = (char)tolower((unsigned char)value[i]);
    }
    if (models_is_sha256(sha256) && (value[64] == '"' || !value[64])) {
        memcpy(reply->sha256, sha256, sizeof(sha256));
    }
}

// Reads <URL>; rel="next" out of a list of links.
static void read_link(struct models_reply *reply, const char *value, const char *end)
{
    while (value < end) {
        const char *url = memchr(value, '<', (size_t)(end - value));
        const char *close = url ? memchr(url, '>', (size_t)(end - url)) : NULL;
        const char *rest = close ? memchr(close, ',', (size_t)(end - close)) : NULL;
        const char *last = rest ? rest : end;
        if (close && memmem(close, (size_t)(last - close), "rel=\"next\"", 10)) {
            copy_value(reply->next, sizeof(reply->next), url + 1, close);
        }
        value = close ? last + 1 : end;
    }
}

static size_t read_header(char *line, size_t unit, size_t n, void *user)
{
    struct models_reply *reply = ((struct transfer *)user)->reply;
    const size_t size = unit * n;
    const char *colon = memchr(line, ':', size);
    char value[256];
    if (size > 5 && strncmp(line, "HTTP/", 5) == 0) { // the first line of the next answer
        reply->etag[0] = reply->type[0] = reply->next[0] = '\0';
        reply->length = reply->range_start = reply->range_size = 0;
    }
    if (colon && colon - line == 4 && strncasecmp(line, "Link", 4) == 0) {
        read_link(reply, colon + 1, line + size);
    }
    if (!colon || !copy_value(value, sizeof(value), colon + 1, line + size)) {
        return size;
    }
    const size_t length = (size_t)(colon - line);
    if (length == 4 && strncasecmp(line, "ETag", 4) == 0 && value[0] == '"') {
        memcpy(reply->etag, value, sizeof(value));
    } else if (length == 12 && strncasecmp(line, "Content-Type", 12) == 0) {
        snprintf(reply->type, sizeof(reply->type), "%.63s", value);
    } else if (length == 13 && strncasecmp(line, "Content-Range", 13) == 0) {
        read_range(reply, value);
    } else if (length == 14 && strncasecmp(line, "Content-Length", 14) == 0) {
        reply->length = strtoull(value, NULL, 10);
    } else if (length == 13 && strncasecmp(line, "X-Linked-ETag", 13) == 0) {
        read_sha256(reply, value);
    }
    return size;
}

//-- the request -----------------------------------------------------------------------------------

static size_t take_data(char *data, size_t unit, size_t n, void *user)
{
    struct transfer *transfer = user;
    struct models_reply *reply = transfer->reply;
    curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &reply->status);
    const bool is_wanted = reply->status == 200 || reply->status == 206;
    if (is_wanted && !transfer->request->take(transfer->request->user, reply, data, unit * n)) {
        transfer->is_refused = true;
        return 0;
    }
    return unit * n;
}

static int check_interrupt(void *user, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    (void)user, (void)a, (void)b, (void)c, (void)d;
    return !models_goes_on(NULL, 0, 0);
}

static void limit_protocols(CURL *curl, const char *url)
{
    const bool is_secret = strncasecmp(url, "https:", 6) == 0;
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, is_secret ? "https" : "http,https");
#else
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS,
                     (long)(is_secret ? CURLPROTO_HTTPS : CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

// Returns the headers of a request, owned by the caller. libcurl leaves Authorization out where a
// redirect leads to another host.
static struct curl_slist *list_headers(const struct models_request *request)
{
    char line[1024];
    struct curl_slist *headers = NULL;
    if (request->token) {
        snprintf(line, sizeof(line), "Authorization: Bearer %.900s", request->token);
        headers = curl_slist_append(headers, line);
    }
    if (request->start > 0 && request->if_range[0]) {
        snprintf(line, sizeof(line), "If-Range: %.255s", request->if_range);
        headers = curl_slist_append(headers, line);
    }
    return headers;
}

static void set_options(struct transfer *transfer, struct curl_slist *headers)
{
    CURL *curl = transfer->curl;
    const struct models_request *request = transfer->request;
    char agent[64], range[32];
    snprintf(agent, sizeof(agent), "glinfer/%s", glinfer_version());
    curl_easy_setopt(curl, CURLOPT_URL, request->url);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, agent);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, MAX_REDIRECTS);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)request->timeout_s);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)request->timeout_s);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, read_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, transfer);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_data);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, check_interrupt);
    limit_protocols(curl, request->url);
    if (request->start > 0) {
        snprintf(range, sizeof(range), "%llu-", (unsigned long long)request->start);
        curl_easy_setopt(curl, CURLOPT_RANGE, range);
    }
}

static enum models_outcome judge(CURLcode code, const struct transfer *transfer)
{
    switch (code) {
    case CURLE_OK:
        return transfer->reply->status >= 500 || transfer->reply->status == 429 ? MODELS_BROKEN
                                                                                : MODELS_ANSWERED;
    case CURLE_WRITE_ERROR:
        return transfer->is_refused ? MODELS_REFUSED : MODELS_BROKEN;
    case CURLE_ABORTED_BY_CALLBACK:
        return MODELS_REFUSED;
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return MODELS_BROKEN;
    default:
        return MODELS_HOPELESS;
    }
}

enum models_outcome models_http_get(const struct models_request *request,
                                    struct models_reply *reply, char *why, size_t size)
{
    static bool is_ready;
    char error[CURL_ERROR_SIZE] = "";
    is_ready = is_ready || curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    struct transfer transfer = {request, reply, is_ready ? curl_easy_init() : NULL, false};
    *reply = (struct models_reply){0};
    if (!transfer.curl) {
        snprintf(why, size, "libcurl does not start");
        return MODELS_HOPELESS;
    }
    struct curl_slist *headers = list_headers(request);
    curl_easy_setopt(transfer.curl, CURLOPT_ERRORBUFFER, error);
    set_options(&transfer, headers);
    const CURLcode code = curl_easy_perform(transfer.curl);
    curl_easy_getinfo(transfer.curl, CURLINFO_RESPONSE_CODE, &reply->status);
    const enum models_outcome outcome = judge(code, &transfer);
    curl_off_t wait = 0;
#if LIBCURL_VERSION_NUM >= 0x074200
    curl_easy_getinfo(transfer.curl, CURLINFO_RETRY_AFTER, &wait);
#endif
    reply->retry_after = wait > 0 ? (uint64_t)wait : 0;
    if (code == CURLE_OK) {
        snprintf(why, size,
                 reply->status == 429 ? "the server limits requests (HTTP %ld)"
                                      : "the server answers with status %ld",
                 reply->status);
    } else {
        const bool is_distrusted =
            code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;
        snprintf(why, size, "%s%s", error[0] ? error : curl_easy_strerror(code),
                 is_distrusted ? " (is the package ca-certificates installed, and the clock right?)"
                               : "");
    }
    curl_slist_free_all(headers);
    curl_easy_cleanup(transfer.curl);
    return outcome;
}
