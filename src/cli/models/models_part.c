#include "cli/models/models_part.h"

#include "cli/models/models_pull.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <nettle/version.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define HASH_BLOCK (1u << 20)

struct path {
    char text[MODELS_MAX_PATH + 16];
};

static struct path path_with(const struct models_part *part, const char *ending)
{
    struct path path;
    snprintf(path.text, sizeof(path.text), "%s%s", part->path, ending);
    return path;
}

static bool fail_write(const struct models_part *part, int reason)
{
    char size[24];
    if (reason == ENOSPC || reason == EDQUOT || reason == EFBIG) {
        return cli_fail(
            CLI_EXIT_FAILED,
            "cannot write %s: %s; the first %s are kept; free space, and the same command "
            "continues from there",
            part->path, strerror(reason), cli_format_size(size, part->size));
    }
    return cli_fail(CLI_EXIT_FAILED, "cannot write %s: %s", part->path, strerror(reason));
}

//-- what it is a part of --------------------------------------------------------------------------

// Copies the next line of a text, which may lack its newline, and returns what follows.
static const char *read_line(const char *text, char *line, size_t room)
{
    const size_t size = strcspn(text, "\n");
    snprintf(line, room, "%.*s", (int)size, text);
    return text + size + (text[size] == '\n');
}

// Reads what the part is of; nothing of that is known if the note is missing or cut.
static void read_note(struct models_part *part)
{
    char text[sizeof(part->url) + sizeof(part->etag) + sizeof(part->sha256) + 8];
    struct stat state;
    const int file =
        open(path_with(part, ".part.from").text, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    const bool is_file = file >= 0 && fstat(file, &state) == 0 && S_ISREG(state.st_mode);
    const ssize_t size = is_file ? read(file, text, sizeof(text) - 1) : -1;
    part->url[0] = part->etag[0] = part->sha256[0] = '\0';
    if (size > 0) {
        text[size] = '\0';
        const char *rest = read_line(text, part->url, sizeof(part->url));
        rest = read_line(rest, part->etag, sizeof(part->etag));
        read_line(rest, part->sha256, sizeof(part->sha256));
    }
    if (file >= 0) {
        close(file);
    }
}

static bool write_note(const struct models_part *part)
{
    const struct path path = path_with(part, ".part.from");
    unlink(path.text); // which may be a link or a pipe
    // The URL may have a login or a signature, which are nobody else's.
    const int number = open(path.text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *file = number >= 0 ? fdopen(number, "w") : NULL;
    bool is_written = file != NULL;
    if (file) {
        is_written = fprintf(file, "%s\n%s\n%s\n", part->url, part->etag, part->sha256) > 0;
        is_written = fclose(file) == 0 && is_written;
    }
    return is_written || fail_write(part, errno);
}

//-- opening ---------------------------------------------------------------------------------------

static bool make_folders(const struct models_part *part)
{
    return cli_make_folders(part->path, 0755) ||
           cli_fail(CLI_EXIT_FAILED, "cannot create the folder of %s: %s", part->path,
                    strerror(errno));
}

static bool lock(const struct models_part *part)
{
    if (flock(part->file, LOCK_EX | LOCK_NB) == 0) {
        return true;
    }
    if (errno == EWOULDBLOCK) {
        cli_say("another glinfer is fetching %s; waiting for it", models_base_name(part->path));
    }
    while (flock(part->file, LOCK_EX) != 0) {
        if (!models_goes_on(NULL, 0, 0)) {
            return cli_fail(CLI_EXIT_INTERRUPTED, "interrupted");
        }
        if (errno != EINTR) {
            return cli_fail(CLI_EXIT_FAILED, "cannot lock %s.part: %s", part->path,
                            strerror(errno));
        }
    }
    return true;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

// Returns true if the open file still is the part: the process that had it may have made it the
// whole file.
static bool is_current(const struct models_part *part)
{
    struct stat open_state, state;
    return fstat(part->file, &open_state) == 0 &&
           lstat(path_with(part, ".part").text, &state) == 0 && is_same_file(&state, &open_state);
}

// Opens the part, which has to be a regular file and not a link. Returns false with the reason
// printed.
static bool open_part(struct models_part *part)
{
    struct stat state;
    const struct path path = path_with(part, ".part");
    enum { FLAGS = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK };
    for (int n_try = 0; n_try < 3; n_try++) {
        part->file = open(path.text, FLAGS, 0644);
        if (part->file >= 0 || errno != ENOENT || !make_folders(part)) {
            break; // another process may remove empty folders
        }
    }
    if (part->file < 0 && errno != ELOOP && errno != EISDIR && errno != ENXIO) {
        return fail_write(part, errno);
    }
    if (part->file >= 0 && fstat(part->file, &state) == 0 && S_ISREG(state.st_mode)) {
        return true;
    }
    if (part->file >= 0) {
        close(part->file);
        part->file = -1;
    }
    return cli_fail(CLI_EXIT_FAILED,
                    "cannot write %s: a folder, a link or a pipe is in its place; remove it",
                    path.text);
}

bool models_part_open(struct models_part *part, const char *path, bool *is_there)
{
    struct stat state, before;
    const bool is_old = stat(path, &before) == 0;
    *part = (struct models_part){.file = -1};
    *is_there = false;
    snprintf(part->path, sizeof(part->path), "%s", path);
    if (!make_folders(part)) {
        return false;
    }
    for (bool is_mine = false; !is_mine;) {
        if (!open_part(part)) {
            return false;
        }
        if (!lock(part)) {
            close(part->file); // the part is another process's
            part->file = -1;
            return false;
        }
        is_mine = is_current(part);
        if (!is_mine) { // the one that was waited for is done, or has given up
            close(part->file);
            *is_there = stat(path, &state) == 0 && !(is_old && is_same_file(&state, &before));
            if (*is_there) {
                part->file = -1;
                return true;
            }
        }
    }
    part->size = fstat(part->file, &state) == 0 ? (uint64_t)state.st_size : 0;
    read_note(part);
    return true;
}

//-- writing ---------------------------------------------------------------------------------------

bool models_part_begin(struct models_part *part, const char *url, const char *etag,
                       const char *sha256)
{
    part->size = 0;
    if (ftruncate(part->file, 0) != 0) {
        return fail_write(part, errno);
    }
    snprintf(part->url, sizeof(part->url), "%s", url);
    snprintf(part->etag, sizeof(part->etag), "%s", etag);
    snprintf(part->sha256, sizeof(part->sha256), "%s", sha256);
    return write_note(part);
}

bool models_part_append(struct models_part *part, const char *data, size_t size)
{
    while (size > 0) {
        const ssize_t n = write(part->file, data, size);
        if (n < 0 && errno != EINTR) {
            return fail_write(part, errno);
        }
        part->size += n > 0 ? (uint64_t)n : 0;
        data += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

bool models_part_has_room(const struct models_part *part, uint64_t size)
{
    char free_text[24], size_text[24];
    struct statvfs state;
    if (fstatvfs(part->file, &state) != 0) {
        return true; // writing will tell
    }
    const uint64_t room = (uint64_t)state.f_bavail * state.f_frsize;
    return room >= size ||
           cli_fail(CLI_EXIT_FAILED,
                    "cannot fetch %s: the disk has %s free, the rest takes %s; free space, or set "
                    "XDG_CACHE_HOME to a folder of a larger disk",
                    part->path, cli_format_size(free_text, room), cli_format_size(size_text, size));
}

static void sync_folder(const struct models_part *part)
{
    char path[MODELS_MAX_PATH];
    snprintf(path, sizeof(path), "%.*s", (int)(models_base_name(part->path) - part->path),
             part->path);
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        fsync(folder);
        close(folder);
    }
}

bool models_part_finish(struct models_part *part)
{
    if (fsync(part->file) != 0 || rename(path_with(part, ".part").text, part->path) != 0) {
        return fail_write(part, errno);
    }
    unlink(path_with(part, ".part.from").text);
    sync_folder(part);
    close(part->file);
    part->file = -1;
    return true;
}

void models_part_discard(struct models_part *part)
{
    unlink(path_with(part, ".part.from").text);
    unlink(path_with(part, ".part").text);
    part->size = 0;
}

void models_part_close(struct models_part *part)
{
    if (part->file >= 0 && part->size == 0 && is_current(part)) {
        models_part_discard(part);
    }
    if (part->file >= 0) {
        close(part->file);
    }
    part->file = -1;
    models_cache_prune(part->path);
}

//-- sha256 ----------------------------------------------------------------------------------------

bool models_hash_file(int file, const char *path, uint64_t size, struct cli_bar *bar,
                      char sha256[65])
{
    struct sha256_ctx context;
    uint8_t digest[SHA256_DIGEST_SIZE];
    char text[64];
    uint8_t *block = cli_alloc(HASH_BLOCK, 1);
    ssize_t n = 1;
    sha256_init(&context);
    for (uint64_t done = 0; n > 0 && models_goes_on(NULL, 0, 0); done += (uint64_t)n) {
        n = pread(file, block, HASH_BLOCK, (off_t)done);
        if (n > 0) {
            sha256_update(&context, (size_t)n, block);
            snprintf(text, sizeof(text), "checking the sha256: %u %%",
                     (unsigned)(100.0 * (double)(done + (uint64_t)n) / (double)(size ? size : 1)));
            cli_bar_text(bar, text);
        }
        n = n < 0 ? 0 - (ssize_t)errno : n;
        if (n < 0) {
            break;
        }
    }
    free(block);
    cli_bar_clear(bar);
    if (!models_goes_on(NULL, 0, 0)) {
        return cli_fail(CLI_EXIT_INTERRUPTED, "interrupted");
    }
    if (n < 0) {
        return cli_fail(CLI_EXIT_FAILED, "cannot read %s: %s", path, strerror((int)-n));
    }
#if NETTLE_VERSION_MAJOR >= 4
    sha256_digest(&context, digest);
#else
    sha256_digest(&context, sizeof(digest), digest);
#endif
    for (size_t i = 0; i < sizeof(digest); i++) {
        snprintf(sha256 + 2 * i, 3, "%02x", digest[i]);
    }
    return true;
}
