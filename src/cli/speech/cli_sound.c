#include "cli/speech/cli_sound.h"

#include "cli/common/cli_io.h"
#include "cli/speech/cli_stream.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sndfile.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNKNOWN_FORMAT "it is not a sound file (WAV, FLAC, Ogg, MP3 and others)"
enum { BLOCK_SAMPLES = 1 << 16 };                   // samples of all channels in a block, at most
static const sf_count_t endless = INT64_C(1) << 60; // bytes of a stream without a length

// A file as libsndfile reads it: a stream of raw samples, or memory.
struct bytes {
    struct cli_stream *stream; // borrowed; NULL: memory
    size_t unit;               // bytes of a frame of the stream
    const char *data;          // borrowed from the caller, or from spool
    sf_count_t size, at;
};

struct cli_sound {
    char name[512];
    SNDFILE *file; // owned
    SF_INFO info;
    struct bytes bytes;
    struct cli_stream stream; // its fd, owned, is also that of a file; -1: memory
    struct cli_bytes spool;   // a stream that is read whole
    struct cli_resampler *resampler;
    struct cli_samples samples; // of the last block
    float *frames;              // (n_block, channels), owned
    sf_count_t n_block, n_read; // in frames
    uint64_t n_skip, n_left;    // samples that are dropped, and those that are kept after them
    double announced_s;         // length by the header; 0: unknown
    double kept_s;              // of that, without what is cut
    bool is_over;
    char note[640];
};

static bool refuse(const struct cli_sound *sound, enum glinfer_status status, const char *why,
                   struct glinfer_error *err)
{
    err->status = status;
    snprintf(err->message, sizeof(err->message), "cannot read %s: %.400s", sound->name, why);
    return false;
}

//-- files in memory and raw streams, for libsndfile -----------------------------------------------

static sf_count_t get_size(void *user)
{
    const struct bytes *bytes = user;
    return bytes->size;
}

static sf_count_t seek_bytes(sf_count_t offset, int whence, void *user)
{
    struct bytes *bytes = user;
    const sf_count_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? bytes->at : bytes->size;
    const bool is_inside = offset >= -from && offset <= bytes->size - from;
    if (!is_inside || (bytes->stream && from + offset != bytes->at)) {
        return -1;
    }
    bytes->at = from + offset;
    return bytes->at;
}

static sf_count_t read_bytes(void *to, sf_count_t size, void *user)
{
    struct bytes *bytes = user;
    const sf_count_t left = bytes->size - bytes->at;
    size = size < left ? size : left;
    if (bytes->stream) {
        size = (sf_count_t)cli_stream_read(bytes->stream, to, (size_t)size, bytes->unit);
    } else if (size > 0) {
        memcpy(to, bytes->data + bytes->at, (size_t)size);
    }
    bytes->at += size;
    return size;
}

static sf_count_t tell_bytes(void *user)
{
    const struct bytes *bytes = user;
    return bytes->at;
}

static SNDFILE *open_bytes(struct cli_sound *sound)
{
    SF_VIRTUAL_IO calls = {
        .get_filelen = get_size, .seek = seek_bytes, .read = read_bytes, .tell = tell_bytes};
    return sf_open_virtual(&calls, SFM_READ, &sound->info, &sound->bytes);
}

//-- opening ---------------------------------------------------------------------------------------

// Refuses a file that libsndfile did not open.
static bool refuse_file(struct cli_sound *sound, struct glinfer_error *err)
{
    char why[256];
    switch (sf_error(NULL)) {
    case SF_ERR_UNRECOGNISED_FORMAT:
        return refuse(sound, GLINFER_STATUS_BAD_FILE, UNKNOWN_FORMAT, err);
    case SF_ERR_UNSUPPORTED_ENCODING:
        return refuse(sound, GLINFER_STATUS_UNSUPPORTED, "its encoding is not supported", err);
    default:
        snprintf(why, sizeof(why), "it is damaged (libsndfile: %s)", sf_strerror(NULL));
        return refuse(sound, GLINFER_STATUS_BAD_FILE, why, err);
    }
}

// Returns the frames that the header of a WAV file announces, if the file has fewer; 0
// otherwise. libsndfile reports the difference only in its log.
static double find_announced(SNDFILE *file, const SF_INFO *info)
{
    static const char mark[] = "data : ", there[] = " (should be ";
    char log[4096] = "", *end = log;
    sf_command(file, SFC_GET_LOG_INFO, log, sizeof(log) - 1);
    const char *line = strstr(log, mark);
    const double announced = line ? strtod(line + strlen(mark), &end) : 0;
    if (announced <= 0 || announced >= CLI_WAV_UNKNOWN || strncmp(end, there, strlen(there)) != 0) {
        return 0;
    }
    const double real = strtod(end + strlen(there), NULL);
    return real > 0 && announced > real ? announced / real * (double)info->frames : 0;
}

// Prepares the reading of a file that is open.
static bool begin(struct cli_sound *sound, struct glinfer_error *err)
{
    const SF_INFO *info = &sound->info;
    struct glinfer_error why;
    if (!sound->file) {
        return refuse_file(sound, err);
    }
    sound->resampler =
        cli_resampler_create((uint32_t)info->samplerate, (uint32_t)info->channels, &why);
    if (!sound->resampler) {
        return refuse(sound, why.status, why.message, err);
    }
    sound->n_block = BLOCK_SAMPLES / info->channels;
    if (sound->n_block > info->samplerate / 10) {
        sound->n_block = info->samplerate / 10;
    }
    sound->frames = cli_alloc((size_t)(sound->n_block * info->channels), sizeof(float));
    if (info->frames < endless / CLI_MAX_CHANNELS / 8) {
        const double announced = find_announced(sound->file, info);
        const double n_frame = announced > 0 ? announced : (double)info->frames;
        sound->announced_s = sound->kept_s = n_frame / info->samplerate;
    }
    return true;
}

// Opens raw samples. size: in bytes, as far as it is known.
static bool begin_raw(struct cli_sound *sound, const struct cli_pcm *pcm, sf_count_t size,
                      struct glinfer_error *err)
{
    struct cli_pcm own = *pcm;
    struct glinfer_error why;
    if (own.encoding == 0) {
        cli_pcm_set_encoding(&own, "s16le");
    }
    own.rate = own.rate ? own.rate : GLINFER_SPEECH_RATE;
    own.n_channels = own.n_channels ? own.n_channels : 1;
    // libsndfile would only say that the format is wrong.
    struct cli_resampler *tried = cli_resampler_create(own.rate, own.n_channels, &why);
    if (!tried) {
        return refuse(sound, why.status, why.message, err);
    }
    cli_resampler_destroy(tried);
    sound->info = (SF_INFO){.samplerate = (int)own.rate,
                            .channels = (int)own.n_channels,
                            .format = SF_FORMAT_RAW | own.encoding};
    sound->bytes = (struct bytes){.stream = &sound->stream,
                                  .unit = (size_t)own.n_channels * cli_pcm_width(&own),
                                  .size = size};
    sound->file = open_bytes(sound);
    return begin(sound, err);
}

// Opens a WAV file that comes as a stream, from its first chunk.
static bool begin_wav(struct cli_sound *sound, struct glinfer_error *err)
{
    enum { MAX_SKIPPED = 1 << 24 }; // bytes of chunks before the sound
    struct cli_pcm pcm = {0};
    unsigned char chunk[CLI_WAV_CHUNK_SIZE], format[CLI_WAV_FORMAT_SIZE];
    char why[128];
    cli_stream_skip(&sound->stream, CLI_WAV_HEAD_SIZE);
    while (cli_stream_read(&sound->stream, chunk, sizeof(chunk), sizeof(chunk)) > 0) {
        uint64_t size = cli_wav_chunk_size(chunk);
        if (memcmp(chunk, "data", 4) == 0 && pcm.encoding != 0) {
            const bool is_known = size > 0 && size < CLI_WAV_UNKNOWN;
            return begin_raw(sound, &pcm, is_known ? (sf_count_t)size : endless, err);
        }
        size += size % 2;
        if (size > MAX_SKIPPED) {
            break;
        }
        if (memcmp(chunk, "fmt ", 4) == 0) {
            const size_t n = size < sizeof(format) ? (size_t)size : sizeof(format);
            size -= cli_stream_read(&sound->stream, format, n, n > 0 ? n : 1);
            if (!cli_wav_read_format(format, n, &pcm, why, sizeof(why))) {
                return refuse(sound, GLINFER_STATUS_UNSUPPORTED, why, err);
            }
        }
        if (!cli_stream_skip(&sound->stream, size)) {
            break;
        }
    }
    return refuse(sound, GLINFER_STATUS_BAD_FILE, "its WAV header is damaged", err);
}

// Reads a stream to its end and opens it as a file in memory.
static bool begin_whole(struct cli_sound *sound, struct glinfer_error *err)
{
    char block[65536];
    size_t n;
    while (sound->spool.size < CLI_MAX_BYTES &&
           (n = cli_stream_read(&sound->stream, block, sizeof(block), 1)) > 0) {
        cli_bytes_append(&sound->spool, block, n);
    }
    if (sound->spool.size >= CLI_MAX_BYTES) {
        snprintf(block, sizeof(block), "it is longer than %d MiB; give the file's path",
                 CLI_MAX_BYTES >> 20);
        return refuse(sound, GLINFER_STATUS_UNSUPPORTED, block, err);
    }
    sound->bytes = (struct bytes){.data = sound->spool.data, .size = (sf_count_t)sound->spool.size};
    sound->file = open_bytes(sound);
    return begin(sound, err);
}

// Returns true for bytes that are a text: no sound has this many letters in a row.
static bool is_text(const unsigned char *bytes, size_t size)
{
    enum { ENOUGH = 64 };
    for (size_t i = 0; i < size; i++) {
        if (!isprint(bytes[i]) && !isspace(bytes[i])) {
            return false;
        }
    }
    return size >= ENOUGH;
}

static bool begin_stream(struct cli_sound *sound, int fd, const struct cli_pcm *pcm,
                         struct glinfer_error *err)
{
    static const struct cli_pcm standard;
    static const char *const marks[] = {"fLaC", "OggS", "ID3", "FORM", "caff", "RF64", ".snd"};
    cli_stream_init(&sound->stream, fd);
    const unsigned char *head = sound->stream.head;
    const size_t size = sound->stream.head_size;
    if (cli_wav_is_head(head, size)) {
        return begin_wav(sound, err);
    }
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        const size_t n = strlen(marks[i]);
        if (size >= n && memcmp(head, marks[i], n) == 0) {
            return begin_whole(sound, err);
        }
    }
    if (is_text(head, size)) {
        return refuse(sound, GLINFER_STATUS_BAD_FILE, "it is text, not sound", err);
    }
    return begin_raw(sound, pcm ? pcm : &standard, endless, err);
}

static struct cli_sound *create(const char *name)
{
    struct cli_sound *sound = cli_alloc(1, sizeof(*sound));
    snprintf(sound->name, sizeof(sound->name), "%s", name);
    sound->stream.fd = -1;
    sound->n_left = UINT64_MAX;
    return sound;
}

// Returns the sound if it is open; closes it otherwise.
static struct cli_sound *keep(struct cli_sound *sound, bool is_open)
{
    if (!is_open) {
        cli_sound_close(sound);
    }
    return is_open ? sound : NULL;
}

struct cli_sound *cli_sound_open(const char *path, const struct cli_pcm *pcm,
                                 struct glinfer_error *err)
{
    const bool is_input = strcmp(path, "-") == 0;
    struct cli_sound *sound = create(is_input ? "standard input" : path);
    const int fd =
        is_input ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC);
    struct stat status = {0};
    if (fd < 0 || fstat(fd, &status) != 0 || S_ISDIR(status.st_mode)) {
        const int reason = S_ISDIR(status.st_mode) ? EISDIR : errno;
        refuse(sound, reason == ENOENT ? GLINFER_STATUS_NOT_FOUND : GLINFER_STATUS_IO,
               strerror(reason), err);
        if (fd >= 0) {
            close(fd);
        }
        return keep(sound, false);
    }
    if (is_input || pcm || !S_ISREG(status.st_mode)) {
        return keep(sound, begin_stream(sound, fd, pcm, err));
    }
    if (status.st_size == 0) {
        close(fd);
        return keep(sound, refuse(sound, GLINFER_STATUS_BAD_FILE, "it is empty", err));
    }
    sound->file = sf_open_fd(fd, SFM_READ, &sound->info, SF_FALSE);
    const bool has_no_length = sound->file && sound->info.frames == 0;
    if (has_no_length && (sound->info.format & SF_FORMAT_TYPEMASK) == SF_FORMAT_WAV) {
        // The program that wrote it was killed, and had written 0.
        sf_close(sound->file);
        sound->file = NULL;
        lseek(fd, 0, SEEK_SET);
        return keep(sound, begin_stream(sound, fd, pcm, err));
    }
    sound->stream.fd = fd;
    return keep(sound, begin(sound, err));
}

struct cli_sound *cli_sound_open_memory(const char *name, const void *data, size_t size,
                                        struct glinfer_error *err)
{
    struct cli_sound *sound = create(name);
    if (size == 0) {
        return keep(sound, refuse(sound, GLINFER_STATUS_BAD_FILE, "it is empty", err));
    }
    sound->bytes = (struct bytes){.data = data, .size = (sf_count_t)size};
    sound->file = open_bytes(sound);
    return keep(sound, begin(sound, err));
}

void cli_sound_cut(struct cli_sound *sound, uint32_t from_ms, uint32_t ms)
{
    sound->n_skip = (uint64_t)from_ms * GLINFER_SPEECH_RATE / 1000;
    sound->n_left = ms > 0 ? (uint64_t)ms * GLINFER_SPEECH_RATE / 1000 : UINT64_MAX;
    const double rest_s = sound->announced_s - 1e-3 * from_ms;
    sound->kept_s = rest_s < 0 ? 0 : ms > 0 && 1e-3 * ms < rest_s ? 1e-3 * ms : rest_s;
}

void cli_sound_close(struct cli_sound *sound)
{
    if (!sound) {
        return;
    }
    sf_close(sound->file);
    if (sound->stream.fd >= 0) {
        cli_stream_finish(&sound->stream);
    }
    cli_resampler_destroy(sound->resampler);
    cli_bytes_finish(&sound->spool);
    cli_samples_finish(&sound->samples);
    free(sound->frames);
    free(sound);
}

//-- reading ---------------------------------------------------------------------------------------

// Notes what is wrong with a sound that has been read to its end.
static void note_damage(struct cli_sound *sound)
{
    const double read_s = (double)sound->n_read / sound->info.samplerate;
    // The length of an MP3 file without a header is an estimate.
    if (read_s < 0.98 * sound->announced_s - 0.1 && !cli_is_interrupted()) {
        snprintf(sound->note, sizeof(sound->note), "%s ends early: %.1f of %.1f s were read",
                 sound->name, read_s, sound->announced_s);
    } else if (sf_error(sound->file) != SF_ERR_NO_ERROR) {
        snprintf(sound->note, sizeof(sound->note), "%s is damaged after %.1f s: %s", sound->name,
                 read_s, sf_strerror(sound->file));
    }
}

// Sets *samples to the samples of the last block that are kept.
static void keep_samples(struct cli_sound *sound, const float **samples, size_t *n)
{
    const uint64_t count = sound->samples.count;
    const uint64_t n_skip = count < sound->n_skip ? count : sound->n_skip;
    const uint64_t n_kept = count - n_skip < sound->n_left ? count - n_skip : sound->n_left;
    *samples = sound->samples.items + n_skip;
    *n = (size_t)n_kept;
    sound->n_skip -= n_skip;
    sound->n_left -= n_kept;
}

bool cli_sound_next(struct cli_sound *sound, const float **samples, size_t *n,
                    struct glinfer_error *err)
{
    *n = 0;
    while (*n == 0 && !sound->is_over && sound->n_left > 0) {
        sound->samples.count = 0;
        const sf_count_t count = sf_readf_float(sound->file, sound->frames, sound->n_block);
        const size_t n_frame = count > 0 ? (size_t)count : 0;
        sound->n_read += (sf_count_t)n_frame;
        sound->is_over = n_frame == 0;
        if (sound->stream.reason != 0) {
            return refuse(sound, GLINFER_STATUS_IO, strerror(sound->stream.reason), err);
        }
        if (sound->n_read == 0 && !cli_is_interrupted()) {
            return refuse(sound, GLINFER_STATUS_BAD_FILE, "it has no sound", err);
        }
        cli_resampler_push(sound->resampler, sound->frames, n_frame, sound->is_over,
                           &sound->samples);
        keep_samples(sound, samples, n);
    }
    if (sound->is_over) {
        note_damage(sound);
    }
    return true;
}

bool cli_sound_is_ready(const struct cli_sound *sound)
{
    return !sound->bytes.stream || sound->is_over || cli_stream_is_ready(&sound->stream);
}

double cli_sound_seconds(const struct cli_sound *sound)
{
    return sound->kept_s;
}

const char *cli_sound_note(const struct cli_sound *sound)
{
    return sound->note;
}
