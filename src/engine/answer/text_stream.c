#include "engine/answer/text_stream.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

bool gi_text_stream_init(struct gi_text_stream *stream, const char *const *stop, size_t n_stop,
                         size_t max_token, struct glinfer_error *err)
{
    size_t longest = 0;
    memset(stream, 0, sizeof(*stream));
    stream->stop = gi_array_zeroed(n_stop + 1, sizeof(*stream->stop), "stop strings", err);
    for (; stream->stop && stream->n_stop < n_stop; stream->n_stop++) {
        const size_t size = strlen(stop[stream->n_stop]);
        stream->stop[stream->n_stop] = strdup(stop[stream->n_stop]);
        if (!stream->stop[stream->n_stop]) {
            return gi_error_no_memory(err, size, "stop strings");
        }
        longest = size > longest ? size : longest;
    }
    stream->capacity = longest + 3 * (max_token + 8);
    stream->text = malloc(stream->capacity);
    return stream->stop &&
           (stream->text || gi_error_no_memory(err, stream->capacity, "streamed text"));
}

void gi_text_stream_finish(struct gi_text_stream *stream)
{
    for (size_t i = 0; i < stream->n_stop; i++) {
        free(stream->stop[i]);
    }
    free(stream->stop);
    free(stream->text);
    memset(stream, 0, sizeof(*stream));
}

// Returns the offset of the first stop string in text and sets stop_index, or returns size.
static size_t find_stop(struct gi_text_stream *stream, size_t size)
{
    size_t first = size;
    for (size_t i = 0; i < stream->n_stop; i++) {
        const size_t length = strlen(stream->stop[i]);
        const char *hit = length ? memmem(stream->text, size, stream->stop[i], length) : NULL;
        if (hit && (size_t)(hit - stream->text) < first) {
            first = (size_t)(hit - stream->text);
            stream->stop_index = i;
        }
    }
    return first;
}

// Returns the length of the longest end of text that a stop string begins with.
static size_t count_suspects(const struct gi_text_stream *stream, size_t size)
{
    size_t most = 0;
    for (size_t i = 0; i < stream->n_stop; i++) {
        const size_t length = strlen(stream->stop[i]);
        for (size_t n = length < size ? length : size; n > most; n--) {
            if (memcmp(stream->text + size - n, stream->stop[i], n) == 0) {
                most = n;
            }
        }
    }
    return most;
}

static void forget_released(struct gi_text_stream *stream)
{
    if (stream->n_released > 0) {
        memmove(stream->text, stream->text + stream->n_released, stream->n_held);
        stream->n_released = 0;
    }
}

static struct gi_text release(struct gi_text_stream *stream, size_t size)
{
    const size_t stop = find_stop(stream, size);
    stream->is_stopped = stop < size;
    stream->n_released = stream->is_stopped ? stop : size - count_suspects(stream, size);
    stream->n_held = stream->is_stopped ? 0 : size - stream->n_released;
    return (struct gi_text){stream->text, stream->n_released};
}

struct gi_text gi_text_stream_push(struct gi_text_stream *stream, struct gi_text bytes)
{
    if (stream->is_stopped) {
        return (struct gi_text){stream->text, 0};
    }
    forget_released(stream);
    const size_t n =
        gi_utf8_stream_push(&stream->utf8, bytes.data, bytes.size, stream->text + stream->n_held);
    return release(stream, stream->n_held + n);
}

struct gi_text gi_text_stream_flush(struct gi_text_stream *stream)
{
    if (stream->is_stopped) {
        return (struct gi_text){stream->text, 0};
    }
    forget_released(stream);
    const size_t n = gi_utf8_stream_flush(&stream->utf8, stream->text + stream->n_held);
    const struct gi_text rest = {stream->text, stream->n_held + n};
    stream->n_released = rest.size;
    stream->n_held = 0;
    return rest;
}
