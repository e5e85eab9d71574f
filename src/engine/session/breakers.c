#include "engine/session/breakers.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 40, MAX_REST = 20 };

static bool push_id(struct gi_ids *ids, int32_t id, struct glinfer_error *err)
{
    return GI_ARRAY_PUSH(ids, "sequence breakers", err, id);
}

// Adds a token followed by the tokens of a text.
static bool add(struct gi_breaker_list *list, const struct gi_tokenizer *tokenizer, uint32_t id,
                struct gi_text rest, struct glinfer_error *err)
{
    const size_t first = list->ids.count;
    if (!push_id(&list->ids, (int32_t)id, err) ||
        (rest.size > 0 && !gi_tokenizer_encode(tokenizer, rest, false, false, &list->ids, err))) {
        return false;
    }
    if (list->ids.count > first + 1 + MAX_REST) {
        list->ids.count = first + 1 + MAX_REST;
    }
    const struct gi_breaker breaker = {.n_ids = (uint32_t)(list->ids.count - first)};
    return GI_ARRAY_PUSH(list, "sequence breakers", err, breaker);
}

static bool add_text(struct gi_breaker_list *list, const struct gi_tokenizer *tokenizer,
                     uint32_t id, struct gi_text text, struct glinfer_error *err)
{
    const struct gi_text token = gi_tokenizer_bytes(tokenizer, (int32_t)id);
    if (token.size >= text.size && memmem(token.data, token.size, text.data, text.size)) {
        return add(list, tokenizer, id, (struct gi_text){NULL, 0}, err);
    }
    size_t at = token.size >= text.size ? token.size - text.size + 1 : 0;
    for (bool ok = true; at < token.size; at++) {
        const struct gi_text end = gi_text_from(token, at);
        if (gi_text_begins(text, end)) {
            ok = add(list, tokenizer, id, gi_text_from(text, end.size), err);
        }
        if (!ok) {
            return false;
        }
    }
    return true;
}

// Pointers to ids that may no longer move.
static void point(struct gi_breaker_list *list)
{
    const uint32_t *ids = (const uint32_t *)list->ids.data;
    for (size_t i = 0; i < list->count; i++) {
        list->data[i].ids = ids;
        ids += list->data[i].n_ids;
    }
}

bool gi_breaker_list_fill(struct gi_breaker_list *list, const struct gi_tokenizer *tokenizer,
                          uint32_t n_vocab, const char *const *texts, size_t n,
                          struct glinfer_error *err)
{
    for (size_t i = 0; i < n; i++) {
        struct gi_text text = gi_text_of(texts[i]);
        text.size = text.size < MAX_BYTES ? text.size : MAX_BYTES;
        for (uint32_t id = 0; text.size > 0 && id < n_vocab; id++) {
            if (!add_text(list, tokenizer, id, text, err)) {
                return false;
            }
        }
    }
    point(list);
    return true;
}

void gi_breaker_list_finish(struct gi_breaker_list *list)
{
    free(list->data);
    gi_ids_finish(&list->ids);
    *list = (struct gi_breaker_list){0};
}
