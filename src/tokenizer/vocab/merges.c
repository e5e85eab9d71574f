#include "tokenizer/vocab/merges.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define NO_MERGE UINT32_MAX

static struct gi_pair_merge *find_merge(const struct gi_merges *merges, int32_t left, int32_t right)
{
    uint64_t hash = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9e3779b97f4a7c15u;
    size_t slot = (hash ^ hash >> 29) & merges->mask;
    while (merges->slots[slot].left != GI_NO_TOKEN &&
           (merges->slots[slot].left != left || merges->slots[slot].right != right)) {
        slot = (slot + 1) & merges->mask;
    }
    return &merges->slots[slot];
}

static bool refuse_merge(struct gi_text merge, size_t rank, const char *reason,
                         struct glinfer_error *err)
{
    return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                        "merge %zu of the vocabulary (tokenizer.ggml.merges), '%.*s', %s", rank,
                        (int)(merge.size < 64 ? merge.size : 64), merge.data, reason);
}

// Cuts "left right" at a space that is not the first byte, the first of those where both sides and
// the two joined are tokens; else at the last.
static struct gi_pair_merge cut_merge(const struct gi_text_map *ids, struct gi_text text,
                                      const char *space, uint32_t rank)
{
    struct gi_pair_merge merge = {GI_NO_TOKEN, GI_NO_TOKEN, GI_NO_TOKEN, rank};
    const char *end = text.data + text.size;
    while (space && (merge.left < 0 || merge.right < 0 || merge.joined < 0)) {
        const struct gi_text left = {text.data, (size_t)(space - text.data)};
        const struct gi_text right = {space + 1, (size_t)(end - space) - 1};
        merge.left = gi_text_map_find(ids, left);
        merge.right = gi_text_map_find(ids, right);
        merge.joined = gi_text_map_find_joined(ids, left, right);
        space = right.size ? memchr(right.data, ' ', right.size) : NULL;
    }
    return merge;
}

static bool add_merge(struct gi_merges *merges, const struct gi_text_map *ids, struct gi_text text,
                      uint32_t rank, struct glinfer_error *err)
{
    const char *space = text.size > 1 ? memchr(text.data + 1, ' ', text.size - 1) : NULL;
    if (!space) {
        return refuse_merge(text, rank, "has no space between two tokens", err);
    }
    const struct gi_pair_merge merge = cut_merge(ids, text, space, rank);
    if (merge.left < 0 || merge.right < 0 || merge.joined < 0) {
        return refuse_merge(text, rank, "uses a token that is not in the vocabulary", err);
    }
    struct gi_pair_merge *slot = find_merge(merges, merge.left, merge.right);
    if (slot->left == GI_NO_TOKEN) {
        *slot = merge;
    }
    return true;
}

bool gi_merges_init(struct gi_merges *merges, const struct gi_text_map *ids,
                    const struct gi_vocab *vocab, struct glinfer_error *err)
{
    if (vocab->n_merges >= NO_MERGE) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE, "the vocabulary has too many merges: %zu",
                            vocab->n_merges);
    }
    size_t n_slots = 16;
    while (n_slots < vocab->n_merges * 2) {
        n_slots *= 2;
    }
    merges->slots = gi_array_zeroed(n_slots, sizeof(*merges->slots), "the merges", err);
    if (!merges->slots) {
        return false;
    }
    merges->mask = n_slots - 1;
    for (size_t i = 0; i < n_slots; i++) {
        merges->slots[i].left = GI_NO_TOKEN;
    }
    for (size_t i = 0; i < vocab->n_merges; i++) {
        if (!add_merge(merges, ids, vocab->merges[i], (uint32_t)i, err)) {
            return false;
        }
    }
    return true;
}

void gi_merges_finish(struct gi_merges *merges)
{
    free(merges->slots);
    *merges = (struct gi_merges){0};
}

bool gi_merges_find(const void *user, const struct gi_piece *left, const struct gi_piece *right,
                    uint32_t *rank, int32_t *id)
{
    if (left->id == GI_NO_TOKEN || right->id == GI_NO_TOKEN) {
        return false;
    }
    const struct gi_pair_merge *merge = find_merge(user, left->id, right->id);
    *rank = merge->rank;
    *id = merge->joined;
    return merge->left != GI_NO_TOKEN;
}
