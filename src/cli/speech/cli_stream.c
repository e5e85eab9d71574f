#include "cli/speech/cli_stream.h"

#include "cli/common/cli_io.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

// Reads once, from the head or the descriptor. Returns 0 at the end.
static size_t read_some(struct cli_stream *stream, unsigned char *bytes, size_t size)
{
    const size_t n_head = stream->head_size - stream->head_at;
    if (n_head > 0) {
        const size_t n = n_head < size ? n_head : size;
        memcpy(bytes, stream->head + stream->head_at, n);
        stream->head_at += n;
        return n;
    }
    while (!stream->is_at_end) {
        const ssize_t n = read(stream->fd, bytes, size);
        if (n > 0) {
            return (size_t)n;
        }
        if (n == 0 || errno != EINTR || cli_is_interrupted()) {
            stream->is_at_end = true;
            stream->reason = n < 0 && errno != EINTR ? errno : 0;
        }
    }
    return 0;
}

void cli_stream_init(struct cli_stream *stream, int fd)
{
    *stream = (struct cli_stream){.fd = fd, .left = UINT64_MAX};
    unsigned char head[sizeof(stream->head)];
    size_t size = 0, n;
    while (size < sizeof(head) && (n = read_some(stream, head + size, sizeof(head) - size)) > 0) {
        size += n;
    }
    memcpy(stream->head, head, size);
    stream->head_size = size;
}

void cli_stream_finish(struct cli_stream *stream)
{
    close(stream->fd);
}

size_t cli_stream_read(struct cli_stream *stream, void *bytes, size_t size, size_t unit)
{
    size_t count = 0, n = 1;
    size = size < stream->left ? size : (size_t)stream->left;
    size -= size % unit;
    while (n > 0 && size > 0 && (count == 0 || count % unit != 0)) {
        // After a part of a unit, reads the rest of it alone.
        const size_t most = count == 0 ? size : (count / unit + 1) * unit - count;
        n = read_some(stream, (unsigned char *)bytes + count, most);
        count += n;
    }
    count -= count % unit;
    stream->left -= count;
    return count;
}

bool cli_stream_skip(struct cli_stream *stream, uint64_t size)
{
    unsigned char bytes[4096];
    while (size > 0) {
        const size_t most = size < sizeof(bytes) ? (size_t)size : sizeof(bytes);
        const size_t n = cli_stream_read(stream, bytes, most, 1);
        if (n == 0) {
            return false;
        }
        size -= n;
    }
    return true;
}

bool cli_stream_is_ready(const struct cli_stream *stream)
{
    struct pollfd item = {.fd = stream->fd, .events = POLLIN};
    return stream->head_at < stream->head_size || stream->is_at_end || poll(&item, 1, 0) != 0;
}
