#include "tokenizer/vocab/merge_heap.h"

#include "tokenizer/array.h"

#include <assert.h>
#include <stdlib.h>

bool gi_merge_heap_reserve(struct gi_merge_heap *heap, size_t count, struct glinfer_error *err)
{
    struct gi_merge *data = gi_array_grow(heap->data, &heap->capacity, count, sizeof(*data),
                                          "the merges of a text", err);
    if (data) {
        heap->data = data;
    }
    return data;
}

void gi_merge_heap_finish(struct gi_merge_heap *heap)
{
    free(heap->data);
    memset(heap, 0, sizeof(*heap));
}

static bool is_before(const struct gi_merge *a, const struct gi_merge *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->node < b->node;
}

void gi_merge_heap_push(struct gi_merge_heap *heap, struct gi_merge merge)
{
    assert(heap->count < heap->capacity);
    size_t i = heap->count++;
    while (i && is_before(&merge, &heap->data[(i - 1) / 2])) {
        heap->data[i] = heap->data[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap->data[i] = merge;
}

struct gi_merge gi_merge_heap_pop(struct gi_merge_heap *heap)
{
    assert(heap->count);
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
