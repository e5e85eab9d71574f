// Byte pair encoding as SentencePiece has it: the characters of a text, with U+2581 for a space, are
// the first pieces, and the two neighbours that make the piece with the best score become one,
// until none make any. A character that is no piece is written in byte tokens.
//   Kudo and Richardson, SentencePiece (2018).
#include "tokenizer/array.h"
#include "tokenizer/tokenizer_impl.h"
#include "tokenizer/vocab/merge_heap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SPACE      "\u2581"
#define SPACE_SIZE (sizeof(SPACE) - 1)

struct spm {
    uint32_t *ranks;       // one a token, the lowest for the best score
    size_t piece_size_max; // bytes of the longest token
    int32_t byte_ids[256]; // GI_NO_TOKEN: nothing stands for that byte
    bool has_space_prefix;
    bool joins_space[256]; // whether a token has a space behind a character that ends in the byte
};

static size_t decode_token(char *text, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < size;) {
        if (size - i >= SPACE_SIZE && memcmp(text + i, SPACE, SPACE_SIZE) == 0) {
            text[n++] = ' ';
            i += SPACE_SIZE;
        } else {
            text[n++] = text[i++];
        }
    }
    return n;
}

//-- create ------------------------------------------------------------------------------------

// Maps floats to integers in reverse order; what is no number comes last, both zeros are equal.
static uint32_t rank_of(float score)
{
    if (isnan(score)) {
        return UINT32_MAX;
    }
    float sum = score + 0.0f;
    uint32_t bits;
    memcpy(&bits, &sum, sizeof(bits));
    return bits >> 31 ? bits : ~bits & INT32_MAX;
}

static int32_t find_byte(const struct gi_text_map *ids, uint8_t byte, int32_t unk)
{
    char name[8];
    snprintf(name, sizeof(name), "<0x%02X>", byte);
    int32_t id = gi_text_map_find(ids, (struct gi_text){name, strlen(name)});
    if (id < 0) {
        id = gi_text_map_find(ids, (struct gi_text){(const char *)&byte, 1});
    }
    return id < 0 ? unk : id;
}

static void destroy_spm(void *state)
{
    struct spm *spm = state;
    if (spm) {
        free(spm->ranks);
        free(spm);
    }
}

static bool is_space_at(struct gi_text text, size_t i)
{
    return text.size - i >= SPACE_SIZE && memcmp(text.data + i, SPACE, SPACE_SIZE) == 0;
}

static void note_joined_spaces(struct spm *spm, struct gi_text token)
{
    for (size_t i = 1; i < token.size; i++) {
        spm->joins_space[(uint8_t)token.data[i - 1]] |= is_space_at(token, i);
    }
}

static void init_pieces(struct spm *spm, const struct gi_vocab *vocab)
{
    for (size_t id = 0; id < vocab->n_tokens; id++) {
        note_joined_spaces(spm, vocab->tokens[id]);
        size_t size = vocab->tokens[id].size;
        spm->ranks[id] = rank_of(vocab->scores ? vocab->scores[id] : 0.0f);
        spm->piece_size_max = size > spm->piece_size_max ? size : spm->piece_size_max;
    }
}

static void *create_spm(struct gi_tokenizer *tokenizer, const struct gi_vocab *vocab,
                        struct glinfer_error *err)
{
    struct spm *spm = gi_array_zeroed(1, sizeof(*spm), "a tokenizer", err);
    if (!spm) {
        return NULL;
    }
    spm->ranks = gi_array_zeroed(vocab->n_tokens, sizeof(*spm->ranks), "the scores", err);
    if (!spm->ranks) {
        destroy_spm(spm);
        return NULL;
    }
    init_pieces(spm, vocab);
    bool has_unk = vocab->unk >= 0 && (size_t)vocab->unk < vocab->n_tokens;
    for (size_t byte = 0; byte < 256; byte++) {
        spm->byte_ids[byte] =
            find_byte(&tokenizer->text_to_id, (uint8_t)byte, has_unk ? vocab->unk : GI_NO_TOKEN);
    }
    spm->has_space_prefix = vocab->add_space_prefix != 0;
    snprintf(tokenizer->name, sizeof(tokenizer->name), "llama");
    tokenizer->is_bos_added = true;
    return spm;
}

//-- pieces ------------------------------------------------------------------------------------

// A run of bytes that is one piece so far.
struct node {
    uint32_t offset, size; // size is 0 in a node that was merged into the one before it
    int32_t prev, next;    // -1: none
    int32_t id;            // GI_NO_TOKEN: a character that nothing was merged into
};

struct pieces {
    const struct gi_tokenizer *tokenizer;
    struct gi_text text;
    struct node *nodes;
    size_t count, capacity;
    struct gi_merge_heap heap;
};

static void finish_pieces(struct pieces *pieces)
{
    free(pieces->nodes);
    gi_merge_heap_finish(&pieces->heap);
}

// Control tokens and the unknown token are never made of text.
static int32_t find_piece(const struct pieces *pieces, size_t offset, size_t size)
{
    const struct gi_tokenizer *tokenizer = pieces->tokenizer;
    struct gi_text text = {pieces->text.data + offset, size};
    int32_t id = gi_text_map_find(&tokenizer->text_to_id, text);
    return id >= 0 && gi_tokenizer_is_control(tokenizer, id) ? GI_NO_TOKEN : id;
}

// Offers the pair that starts at a node.
static void offer_pair(struct pieces *pieces, int32_t node)
{
    if (node < 0 || pieces->nodes[node].next < 0) {
        return;
    }
    const struct spm *spm = pieces->tokenizer->state;
    const struct node *left = &pieces->nodes[node];
    const struct node *right = &pieces->nodes[left->next];
    size_t size = (size_t)left->size + right->size;
    if (size > spm->piece_size_max) {
        return;
    }
    int32_t id = find_piece(pieces, left->offset, size);
    if (id >= 0) {
        gi_merge_heap_push(
            &pieces->heap,
            (struct gi_merge){spm->ranks[id], node, (int32_t)left->size, (int32_t)right->size, id});
    }
}

static void apply_merge(struct pieces *pieces, const struct gi_merge *merge)
{
    struct node *left = &pieces->nodes[merge->node];
    if (left->size != (uint32_t)merge->left || left->next < 0 ||
        pieces->nodes[left->next].size != (uint32_t)merge->right) {
        return;
    }
    struct node *right = &pieces->nodes[left->next];
    left->id = merge->joined;
    left->size += right->size;
    left->next = right->next;
    right->size = 0;
    if (left->next >= 0) {
        pieces->nodes[left->next].prev = merge->node;
    }
    offer_pair(pieces, left->prev);
    offer_pair(pieces, merge->node);
}

// Bytes of the character that begins with lead. SentencePiece's text is not repaired, so a byte
// that begins none is a character of its own.
static size_t character_at(struct gi_text text, size_t offset)
{
    uint8_t lead = (uint8_t)text.data[offset];
    size_t size = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    return size < text.size - offset ? size : text.size - offset;
}

// A pair is offered at most once when the text begins and twice a merge, of which there are fewer
// than characters.
static bool init_nodes(struct pieces *pieces, struct glinfer_error *err)
{
    size_t size = pieces->text.size;
    if (size > INT32_MAX / 4) {
        return gi_error_no_memory(err, size, "a text");
    }
    struct node *nodes = gi_array_grow(pieces->nodes, &pieces->capacity, size, sizeof(*nodes),
                                       "the characters of a text", err);
    if (!nodes) {
        return false;
    }
    pieces->nodes = nodes;
    pieces->count = 0;
    if (!gi_merge_heap_reserve(&pieces->heap, 3 * size, err)) {
        return false;
    }
    for (uint32_t offset = 0; offset < size;) {
        uint32_t n = (uint32_t)character_at(pieces->text, offset);
        int32_t i = (int32_t)pieces->count++;
        nodes[i] = (struct node){offset, n, i - 1, offset + n < size ? i + 1 : -1, GI_NO_TOKEN};
        offset += n;
    }
    return true;
}

static bool push_bytes(const struct pieces *pieces, const struct node *node, struct gi_ids *ids,
                       struct glinfer_error *err)
{
    const struct spm *spm = pieces->tokenizer->state;
    for (size_t i = 0; i < node->size; i++) {
        int32_t id = spm->byte_ids[(uint8_t)pieces->text.data[node->offset + i]];
        if (id >= 0 && !gi_ids_push(ids, id, err)) {
            return false;
        }
    }
    return true;
}

static bool push_pieces(const struct pieces *pieces, struct gi_ids *ids, struct glinfer_error *err)
{
    for (int32_t i = 0; i >= 0; i = pieces->nodes[i].next) {
        const struct node *node = &pieces->nodes[i];
        int32_t id = node->id >= 0 ? node->id : find_piece(pieces, node->offset, node->size);
        if (id >= 0 ? !gi_ids_push(ids, id, err) : !push_bytes(pieces, node, ids, err)) {
            return false;
        }
    }
    return true;
}

static bool encode_pieces(struct pieces *pieces, struct gi_ids *ids, struct glinfer_error *err)
{
    if (!init_nodes(pieces, err)) {
        return false;
    }
    for (size_t i = 0; i < pieces->count; i++) {
        offer_pair(pieces, (int32_t)i);
    }
    while (pieces->heap.count) {
        struct gi_merge merge = gi_merge_heap_pop(&pieces->heap);
        apply_merge(pieces, &merge);
    }
    return push_pieces(pieces, ids, err);
}

// Bytes from the front of a text that no piece reaches past: up to a space that no token has behind
// such a character. Merging a word at a time keeps the heap within a cache.
static size_t word_size(const struct spm *spm, struct gi_text text)
{
    size_t i = character_at(text, 0);
    while (i < text.size &&
           (!is_space_at(text, i) || spm->joins_space[(uint8_t)text.data[i - 1]])) {
        i += character_at(text, i);
    }
    return i;
}

static bool encode_words(struct pieces *pieces, struct gi_text text, struct gi_ids *ids,
                         struct glinfer_error *err)
{
    while (text.size) {
        pieces->text = (struct gi_text){text.data, word_size(pieces->tokenizer->state, text)};
        if (!encode_pieces(pieces, ids, err)) {
            return false;
        }
        text.data += pieces->text.size;
        text.size -= pieces->text.size;
    }
    return true;
}

//-- text --------------------------------------------------------------------------------------

// Copies a text with its spaces, and one more in front if is_prefixed, as U+2581.
static char *escape_spaces(struct gi_text text, bool is_prefixed, struct gi_text *escaped,
                           struct glinfer_error *err)
{
    if (text.size > SIZE_MAX / SPACE_SIZE - 1) {
        gi_error_no_memory(err, text.size, "a text");
        return NULL;
    }
    char *data = gi_array_zeroed((text.size + 1) * SPACE_SIZE, 1, "a text", err);
    if (!data) {
        return NULL;
    }
    size_t n = 0;
    if (is_prefixed) {
        memcpy(data, SPACE, SPACE_SIZE);
        n = SPACE_SIZE;
    }
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == ' ') {
            memcpy(data + n, SPACE, SPACE_SIZE);
            n += SPACE_SIZE;
        } else {
            data[n++] = text.data[i];
        }
    }
    *escaped = (struct gi_text){data, n};
    return data;
}

static bool encode_text(const struct gi_tokenizer *tokenizer, struct gi_text text,
                        struct gi_ids *ids, struct glinfer_error *err)
{
    const struct spm *spm = tokenizer->state;
    struct pieces pieces = {.tokenizer = tokenizer};
    if (!text.size) {
        return true;
    }
    struct gi_text spaced;
    char *escaped = escape_spaces(text, spm->has_space_prefix, &spaced, err);
    bool is_done = escaped && encode_words(&pieces, spaced, ids, err);
    finish_pieces(&pieces);
    free(escaped);
    return is_done;
}

const struct gi_tokenizer_model gi_spm_model = {
    .name = "llama",
    .default_bos = 1,
    .default_eos = 2,
    .default_unk = 0,
    .create = create_spm,
    .destroy = destroy_spm,
    .encode = encode_text,
    .decode = decode_token,
};
