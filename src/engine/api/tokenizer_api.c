#include "base/arguments.h"
#include "base/array.h"
#include "engine/model/model.h"
#include "engine/model/vocab.h"
#include "hf/folder/hf_folder.h"

#include <stdlib.h>
#include <string.h>

static struct glinfer_tokenizer *load_tokenizer(const struct glinfer_source *source,
                                                struct glinfer_error *err)
{
    struct gi_gguf *gguf = gi_hf_open_source(source, err);
    if (!gguf) {
        return NULL;
    }
    struct glinfer_tokenizer *tokenizer =
        gi_array_zeroed(1, sizeof(*tokenizer), "a tokenizer", err);
    if (tokenizer) {
        tokenizer->core = gi_tokenizer_read(gguf, err);
    }
    gi_gguf_close(gguf);
    if (tokenizer && !tokenizer->core) {
        glinfer_tokenizer_destroy(&tokenizer);
    }
    return tokenizer;
}

struct glinfer_tokenizer *glinfer_tokenizer_load(const char *path, struct glinfer_error *err)
{
    return GI_CHECK(err, GI_SET(path)) ? load_tokenizer(GI_SOURCE_PATH(path), err) : NULL;
}

struct glinfer_tokenizer *glinfer_tokenizer_load_source(const struct glinfer_source *source,
                                                        struct glinfer_error *err)
{
    struct glinfer_source own = {.struct_size = sizeof(own)};
    return GI_CHECK(err, GI_SET(source), GI_COPY(&own, source)) ? load_tokenizer(&own, err) : NULL;
}

void glinfer_tokenizer_destroy(struct glinfer_tokenizer **tokenizer)
{
    if (tokenizer && *tokenizer) {
        gi_tokenizer_destroy((*tokenizer)->core);
        free(*tokenizer);
        *tokenizer = NULL;
    }
}

// Copies as many ids as fit if they were made, frees the list, and returns is_made.
static bool hand_over_ids(bool is_made, struct gi_ids *from, int32_t *ids, size_t cap, size_t *n)
{
    const size_t count = from->count < cap ? from->count : cap;
    if (is_made && count > 0) {
        memcpy(ids, from->data, count * sizeof(ids[0]));
    }
    *n = is_made ? from->count : *n;
    gi_ids_finish(from);
    return is_made;
}

bool glinfer_tokenize(const struct glinfer_tokenizer *tokenizer, const char *text, size_t size,
                      unsigned flags, int32_t *ids, size_t cap, size_t *n,
                      struct glinfer_error *err)
{
    const unsigned known = GLINFER_TOKENIZE_NO_BOS | GLINFER_TOKENIZE_NO_SPECIAL;
    struct gi_ids list = {0};
    if (!GI_CHECK(err, GI_SET(tokenizer), GI_ARRAY(text, size), GI_ARRAY(ids, cap), GI_SET(n),
                  GI_ENUM(flags, known))) {
        return false;
    }
    const bool ok = gi_tokenizer_encode(tokenizer->core, (struct gi_text){text, size},
                                        !(flags & GLINFER_TOKENIZE_NO_BOS),
                                        !(flags & GLINFER_TOKENIZE_NO_SPECIAL), &list, err);
    return hand_over_ids(ok, &list, ids, cap, n);
}

bool glinfer_tokenize_pair(const struct glinfer_tokenizer *tokenizer, const char *query,
                           size_t query_size, const char *text, size_t size, int32_t *ids,
                           size_t cap, size_t *n, struct glinfer_error *err)
{
    struct gi_ids list = {0};
    if (!GI_CHECK(err, GI_SET(tokenizer), GI_ARRAY(query, query_size), GI_ARRAY(text, size),
                  GI_ARRAY(ids, cap), GI_SET(n))) {
        return false;
    }
    const bool ok = gi_tokenizer_encode_pair(tokenizer->core, (struct gi_text){query, query_size},
                                             (struct gi_text){text, size}, &list, err);
    return hand_over_ids(ok, &list, ids, cap, n);
}

const char *glinfer_token_bytes(const struct glinfer_tokenizer *tokenizer, int32_t id, size_t *size)
{
    if (!tokenizer || !size) {
        return NULL;
    }
    const struct gi_text text = gi_tokenizer_bytes(tokenizer->core, id);
    *size = text.size;
    return text.data;
}

size_t glinfer_token_ends(const struct glinfer_tokenizer *tokenizer, int32_t *ids, size_t cap)
{
    int32_t own[16];
    const size_t n = tokenizer ? gi_tokenizer_stop_ids(tokenizer->core, own) : 0;
    for (size_t i = 0; ids && i < n && i < cap; i++) {
        ids[i] = own[i];
    }
    return n;
}

bool glinfer_chat_tokenize(const struct glinfer_tokenizer *tokenizer,
                           const struct glinfer_message *messages, size_t n_messages, int32_t *ids,
                           size_t cap, size_t *n, struct glinfer_error *err)
{
    struct gi_ids list = {0};
    if (!GI_CHECK(err, GI_SET(tokenizer), GI_ARRAY(messages, n_messages), GI_ARRAY(ids, cap),
                  GI_SET(n))) {
        return false;
    }
    for (size_t i = 0; i < n_messages; i++) {
        if (!GI_CHECK(err, GI_SET(messages[i].role), GI_SET(messages[i].content))) {
            return false;
        }
    }
    const bool ok = gi_tokenizer_encode_chat(tokenizer->core, messages, n_messages,
                                             GLINFER_CHAT_END_ANSWER, &list, err);
    return hand_over_ids(ok, &list, ids, cap, n);
}

bool glinfer_chat_tokenize_json(const struct glinfer_tokenizer *tokenizer,
                                const struct glinfer_chat_json *chat, int32_t *ids, size_t cap,
                                size_t *n, struct glinfer_error *err)
{
    struct gi_ids list = {0};
    struct glinfer_chat_json own = {0};
    if (!GI_CHECK(err, GI_SET(tokenizer), GI_SET(chat), GI_COPY(&own, chat)) ||
        !GI_CHECK(err, GI_SET(own.messages), GI_ENUM(own.end, GLINFER_CHAT_END_MESSAGE),
                  GI_ARRAY(ids, cap), GI_SET(n))) {
        return false;
    }
    const bool ok = gi_tokenizer_encode_chat_json(tokenizer->core, &own, &list, err);
    return hand_over_ids(ok, &list, ids, cap, n);
}

bool glinfer_chat_write_json(const struct glinfer_tokenizer *tokenizer,
                             const struct glinfer_chat_json *chat, char *text, size_t cap,
                             size_t *size, struct glinfer_error *err)
{
    struct gi_chars own_text = {0};
    struct glinfer_chat_json own = {0};
    if (!GI_CHECK(err, GI_SET(tokenizer), GI_SET(chat), GI_COPY(&own, chat)) ||
        !GI_CHECK(err, GI_SET(own.messages), GI_ENUM(own.end, GLINFER_CHAT_END_MESSAGE),
                  GI_ARRAY(text, cap), GI_SET(size))) {
        return false;
    }
    const bool ok = gi_tokenizer_write_chat_json(tokenizer->core, &own, &own_text, err);
    if (ok && own_text.count > 0 && cap > 0) {
        memcpy(text, own_text.data, own_text.count < cap ? own_text.count : cap);
    }
    *size = ok ? own_text.count : *size;
    free(own_text.data);
    return ok;
}

const char *glinfer_chat_template_text(const struct glinfer_tokenizer *tokenizer)
{
    return tokenizer ? gi_tokenizer_template_text(tokenizer->core) : NULL;
}

const char *glinfer_chat_template_at(size_t index)
{
    return gi_tokenizer_template_at(index);
}

bool glinfer_chat_available(const struct glinfer_tokenizer *tokenizer)
{
    const char *name = tokenizer ? gi_tokenizer_template_name(tokenizer->core) : "none";
    return strcmp(name, "none") != 0 && strcmp(name, "unknown") != 0;
}
