#include "tokenizer/vocab/merger.h"

#include "base/array.h"

#include <assert.h>
#include <stdlib.h>

//-- heap --------------------------------------------------------------------------------------

static bool is_before(const struct gi_merge *a, const struct gi_merge *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->left < b->left;
}

static void push_merge(struct gi_merge_heap *heap, struct gi_merge merge)
{
    assert(heap->count < heap->capacity);
    size_t i = heap->count++;
    while (i && is_before(&merge, &heap->data[(i - 1) / 2])) {
        heap->data[i] = heap->data[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap->data[i] = merge;
}

static struct gi_merge pop_merge(struct gi_merge_heap *heap)
{
    struct gi_merge top = heap->data[0];
    struct gi_merge last = heap->data[--heap->count];
    size_t i = 0;
    for (size_t child = 1; child < heap->count; child = 2 * i + 1) {
        if (child + 1 < heap->count && is_before(&heap->data[child + 1], &heap->data[child])) {
            child++;
        }
        if (!is_before(&heap->data[child], &last)) {
            break;
        }
        heap->data[i] = heap->data[child];
        i = child;
    }
    heap->data[i] = last;
    return top;
}

//-- pieces ------------------------------------------------------------------------------------

// Reserves for as many merges as can be offered: a pair at most once when the word begins, and two
// pairs a merge, of which there are fewer than pieces.
bool gi_merger_begin(struct gi_merger *merger, size_t size, struct glinfer_error *err)
{
    merger->pieces.count = merger->heap.count = 0;
    if (size > INT32_MAX / 4) {
        return gi_error_no_memory(err, size, "a word");
    }
    return GI_ARRAY_RESERVE(&merger->pieces, size, "the pieces of a word", err) &&
           GI_ARRAY_RESERVE(&merger->heap, 3 * size, "the merges of a word", err);
}

void gi_merger_add(struct gi_merger *merger, uint32_t size, int32_t id)
{
    struct gi_piece *piece = &merger->pieces.data[merger->pieces.count];
    const int32_t i = (int32_t)merger->pieces.count++;
    *piece = (struct gi_piece){.size = size, .id = id, .prev = i - 1, .next = -1};
    if (i > 0) {
        piece->offset = piece[-1].offset + piece[-1].size;
        piece[-1].next = i;
    }
}

// Offers the pair that starts at a piece.
static void offer_pair(struct gi_merger *merger, int32_t i)
{
    struct gi_piece *pieces = merger->pieces.data;
    if (i < 0 || pieces[i].next < 0) {
        return;
    }
    const struct gi_piece *left = &pieces[i], *right = &pieces[left->next];
    struct gi_merge merge = {.left = i, .left_size = left->size, .right_size = right->size};
    if (merger->find(merger->user, left, right, &merge.rank, &merge.id)) {
        push_merge(&merger->heap, merge);
    }
}

static void apply_merge(struct gi_merger *merger, const struct gi_merge *merge)
{
    struct gi_piece *pieces = merger->pieces.data, *left = &pieces[merge->left];
    if (left->size != merge->left_size || left->next < 0 ||
        pieces[left->next].size != merge->right_size) {
        return;
    }
    struct gi_piece *right = &pieces[left->next];
    left->id = merge->id;
    left->size += right->size;
    left->next = right->next;
    right->size = 0; // which makes its merges stale
    if (left->next >= 0) {
        pieces[left->next].prev = merge->left;
    }
    offer_pair(merger, left->prev);
    offer_pair(merger, merge->left);
}

void gi_merger_run(struct gi_merger *merger)
{
    for (size_t i = 0; i < merger->pieces.count; i++) {
        offer_pair(merger, (int32_t)i);
    }
    while (merger->heap.count) {
        const struct gi_merge merge = pop_merge(&merger->heap);
        apply_merge(merger, &merge);
    }
}

void gi_merger_finish(struct gi_merger *merger)
{
    free(merger->pieces.data);
    free(merger->heap.data);
}
