#include "cli/models/models_source.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_COMPONENT 200 // bytes of a name in a path: ".part.from" has to fit after it
#define MAX_QUERY     100 // bytes of a query that a name may have

bool models_ends_with(const char *text, const char *end)
{
    const size_t size = strlen(text), end_size = strlen(end);
    return size >= end_size && strcasecmp(text + size - end_size, end) == 0;
}

size_t models_stem_size(const char *path)
{
    static const char *const endings[] = {".gguf", ".bin"};
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        if (models_ends_with(path, endings[i])) {
            return strlen(path) - strlen(endings[i]);
        }
    }
    return 0;
}

bool models_is_folder_file(const char *path)
{
    static const char *const names[] = {
        "config.json",
        "generation_config.json",
        "chat_template.jinja",
        "chat_template.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "special_tokens_map.json",
        "model.safetensors.index.json",
        "modules.json",
        "config_sentence_transformers.json",
        "1_Pooling/config.json",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(path, names[i]) == 0) {
            return true;
        }
    }
    const char *base = models_base_name(path);
    const bool is_dense = path[0] >= '2' && path[0] <= '9' && strncmp(path + 1, "_Dense/", 7) == 0;
    return (base == path || (is_dense && base == path + 8)) &&
           ((strncmp(base, "model", 5) == 0 && models_ends_with(base, ".safetensors")) ||
            (is_dense && strcmp(base, "config.json") == 0));
}

bool models_is_ggml(const char *path)
{
    return models_ends_with(path, ".bin") && strncmp(models_base_name(path), "ggml-", 5) == 0;
}

const char *models_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

size_t models_piece(const char *text, size_t size, unsigned *number, unsigned *count)
{
    enum { ENDING_SIZE = 20 };
    const char *end = size > ENDING_SIZE ? text + size - ENDING_SIZE : "";
    *number = *count = 1;
    if (end[0] != '-' || strspn(end + 1, "0123456789") != 5 || strncmp(end + 6, "-of-", 4) != 0 ||
        strspn(end + 10, "0123456789") != 5 || strncasecmp(end + 15, ".gguf", 5) != 0) {
        return 0;
    }
    const unsigned n = (unsigned)strtoul(end + 1, NULL, 10);
    const unsigned of = (unsigned)strtoul(end + 10, NULL, 10);
    if (of < 2 || n < 1 || n > of) {
        return 0;
    }
    *number = n;
    *count = of;
    return (size_t)(end + 1 - text);
}

void models_set_piece(char *text, size_t at, unsigned number)
{
    char digits[16];
    snprintf(digits, sizeof(digits), "%05u", number);
    memcpy(text + at, digits, 5);
}

bool models_is_sha256(const char *text)
{
    return strlen(text) == 64 && strspn(text, "0123456789abcdefABCDEF") == 64;
}

const char *models_host(const char *url)
{
    const char *begin = strstr(url, "://");
    begin = begin ? begin + 3 : url;
    const char *login = begin > url ? memchr(begin, '@', strcspn(begin, "/?#")) : NULL;
    return login ? login + 1 : begin;
}

const char *models_shown(const char *url, char shown[MODELS_MAX_URL])
{
    const char *begin = strstr(url, "://");
    snprintf(shown, MODELS_MAX_URL, "%.*s%s", begin ? (int)(begin + 3 - url) : 0, url,
             models_host(url));
    return shown;
}

// True for a name without a slash that is not a hidden file, does not lead up, does not begin or
// end with a space, and has no character that controls a terminal, be it ASCII's or one of UTF-8's
// U+0080 to U+009F.
static bool is_component(const char *name, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const unsigned char c = (unsigned char)name[i], before = i ? (unsigned char)name[i - 1] : 0;
        const bool is_inner = i > 0 && i + 1 < size;
        if (c < ' ' || (c == ' ' && !is_inner) || c == 0x7F || c == '\\' ||
            (before == 0xC2 && c < 0xA0)) {
            return false;
        }
    }
    return size > 0 && size <= MAX_COMPONENT && name[0] != '.';
}

bool models_is_place(const char *place)
{
    size_t size = strcspn(place, "/");
    while (place[size] && is_component(place, size)) {
        place += size + 1;
        size = strcspn(place, "/");
    }
    return !place[size] && is_component(place, size);
}

// True for "USER/REPO" with the characters that the hub allows.
static bool is_repo(const char *repo)
{
    const char *slash = strchr(repo, '/');
    return slash && !strchr(slash + 1, '/') && models_is_place(repo) &&
           strspn(repo, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/") ==
               strlen(repo);
}

// Copies size bytes, if there is room for them.
static bool copy(char *to, size_t room, const char *from, size_t size)
{
    if (size >= room) {
        return false;
    }
    memcpy(to, from, size);
    to[size] = '\0';
    return true;
}

bool models_source_choose(struct models_source *source, const char *file)
{
    if (!models_is_place(file) || !copy(source->file, sizeof(source->file), file, strlen(file))) {
        return false;
    }
    source->known = models_known_file(source->repo, file);
    const int size =
        source->known
            ? snprintf(source->place, sizeof(source->place), "%s", source->known->file)
            : snprintf(source->place, sizeof(source->place), "hf/%s/%s", source->repo, file);
    return size > 0 && (size_t)size < sizeof(source->place);
}

bool models_source_read_hub(struct models_source *source, const char *word, const char *file,
                            char *why, size_t size)
{
    *source = (struct models_source){.kind = MODELS_HUB};
    const size_t user = strcspn(word, "/");
    const size_t repo = word[user] ? user + 1 + strcspn(word + user + 1, "/:") : user;
    if (!copy(source->repo, sizeof(source->repo), word, repo) || !is_repo(source->repo)) {
        snprintf(why, size, "expected USER/REPO on Hugging Face");
        return false;
    }
    const char *rest = word + repo;
    if (*rest == ':' &&
        (!rest[1] || !copy(source->quant, sizeof(source->quant), rest + 1, strlen(rest + 1)))) {
        snprintf(why, size, "expected a type of weights after the colon, such as :Q8_0");
        return false;
    }
    file = file ? file : *rest == '/' ? rest + 1 : NULL;
    if (file && (!(models_ends_with(file, ".gguf") || models_is_ggml(file)) ||
                 !models_source_choose(source, file))) {
        snprintf(why, size, "\"%.200s\" is not the name of a GGUF file", file);
        return false;
    }
    return true;
}

static int digit_of(char c)
{
    return isdigit((unsigned char)c)    ? c - '0'
           : isxdigit((unsigned char)c) ? tolower(c) - 'a' + 10
                                        : 0;
}

// Writes the characters of codes such as %20 in a path, except slashes and those that control a
// terminal.
static void decode(char *path)
{
    char *to = path;
    for (const char *from = path; *from; from++) {
        const bool is_code =
            from[0] == '%' && isxdigit((unsigned char)from[1]) && isxdigit((unsigned char)from[2]);
        const int c = is_code ? digit_of(from[1]) * 16 + digit_of(from[2]) : 0;
        const bool is_taken = c >= ' ' && c != 0x7F && !strchr("/\\%", c);
        *to++ = is_taken ? (char)c : *from;
        from += is_taken ? 2 : 0;
    }
    *to = '\0';
}

// Reads the address of a repository's page, of a file's page or of the file itself on the hub,
// which knows its sha256. False for any other.
static bool read_hub_page(struct models_source *source, const char *url)
{
    static const char *const hosts[] = {"https://huggingface.co/", "https://hf.co/"};
    static const char *const ways[] = {"/resolve/main/", "/blob/main/", "/tree/main"};
    char word[MODELS_MAX_URL], why[256];
    const char *repo = NULL;
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        const size_t size = strlen(hosts[i]);
        repo = strncmp(url, hosts[i], size) == 0 ? url + size : repo;
    }
    if (!repo) {
        return false;
    }
    snprintf(word, sizeof(word), "%.*s", (int)strcspn(repo, "?#"), repo);
    decode(word);
    char *way = NULL;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]) && !way; i++) {
        way = strstr(word, ways[i]);
        if (way) { // the way is cut out, but for a slash before a file
            const char *file = way + strlen(ways[i]);
            memmove(way + (*file != '\0'), file, strlen(file) + 1);
        }
    }
    const char *slash = strchr(word, '/');
    const bool is_page = way || (slash && !strchr(slash + 1, '/'));
    return is_page && models_source_read_hub(source, word, NULL, why, sizeof(why));
}

// Makes a query a part of a file's name: a path such as "/download" may have many files.
static bool add_query(char *place, size_t room, const char *query)
{
    const size_t size = strcspn(query, "#");
    char text[MAX_QUERY + 1] = "";
    uint64_t hash = 0xCBF29CE484222325u; // FNV-1a
    for (size_t i = 0; i < size; i++) {
        const bool is_plain = isalnum((unsigned char)query[i]) || strchr("-._=", query[i]);
        hash = (hash ^ (unsigned char)query[i]) * 0x100000001B3u;
        text[i < MAX_QUERY ? i : 0] = is_plain ? query[i] : '_';
    }
    if (size > MAX_QUERY) {
        snprintf(text, sizeof(text), "%016" PRIx64, hash);
    }
    const size_t used = strlen(place);
    const int n = snprintf(place + used, room - used, "%s%s", size > 0 ? "-" : "", text);
    return n >= 0 && (size_t)n < room - used;
}

static bool read_url(struct models_source *source, const char *url, char *why, size_t size)
{
    for (const char *c = url; *c; c++) {
        if ((unsigned char)*c <= ' ' || *c == 0x7F) {
            snprintf(why, size, "a URL has no spaces; write %%20");
            return false;
        }
    }
    if (read_hub_page(source, url)) {
        return true;
    }
    *source = (struct models_source){.kind = MODELS_URL};
    const char *host = models_host(url);
    const size_t size_of_path = strcspn(host, "?#"), room = sizeof(source->place) - 8;
    const char *query = host[size_of_path] == '?' ? host + size_of_path + 1 : "";
    if (!copy(source->url, sizeof(source->url), url, strlen(url)) ||
        !copy(source->place, room, host, size_of_path) ||
        (models_stem_size(source->place) == 0 && !add_query(source->place, room, query))) {
        snprintf(why, size, "the URL is too long");
        return false;
    }
    decode(source->place);
    if (models_stem_size(source->place) == 0) {
        strncat(source->place, ".gguf", sizeof(source->place) - strlen(source->place) - 1);
    }
    // A host of the name hf would share the hub's folder.
    if (!strchr(source->place, '/') || !models_is_place(source->place) ||
        strncmp(source->place, "hf/", 3) == 0) {
        snprintf(why, size, "the URL has no usable file name; give the address of the file itself");
        return false;
    }
    return true;
}

// True for what is a file, by its spelling.
static bool is_path(const char *word)
{
    static const char *const endings[] = {".gguf", ".safetensors", ".bin", ".pt",
                                          ".pth",  ".onnx",        ".ggml"};
    bool is_file = strchr(word, '/') != NULL;
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        is_file = is_file || models_ends_with(word, endings[i]);
    }
    return is_file || word[0] == '.' || word[0] == '~';
}

bool models_source_read(struct models_source *source, const char *word, char *why, size_t size)
{
    if (strncasecmp(word, "https://", 8) == 0 || strncasecmp(word, "http://", 7) == 0) {
        return read_url(source, word, why, size);
    }
    if (strncmp(word, "hf:", 3) == 0) {
        return models_source_read_hub(source, word + 3, NULL, why, size);
    }
    *source = (struct models_source){.kind = is_path(word) ? MODELS_PATH : MODELS_NAME};
    source->known = source->kind == MODELS_NAME ? models_known_named(word) : NULL;
    if (source->known) {
        copy(source->repo, sizeof(source->repo), source->known->repo, strlen(source->known->repo));
        return models_source_choose(source, source->known->file);
    }
    return true;
}
