#include "gpu/program/program_cache.h"

#include "base/cache_file.h"
#include "gpu/device/gpu_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Bytes of all programs together: some drivers and several models. A large driver's binaries of a
// model have 2 to 20 MB.
#define MAX_CACHE_SIZE (UINT64_C(512) << 20)

// Far above any driver's binary of one of our programs.
#define MAX_BINARY_SIZE (64u << 20)

static const char magic[8] = {'g', 'i', 'p', 'r', 'o', 'g', '0', '1'};

// The head of a file, in the byte order of the machine: a cache does not travel.
struct header {
    char magic[8];
    struct gi_hash key;  // a file that was renamed is not taken for another
    struct gi_hash hash; // of the binary
    uint32_t format;     // GL's number of it
    uint32_t size;       // of the binary, to the end of the file
};

void gi_program_cache_init(struct gi_program_cache *cache, struct gi_gpu *gpu, const char *dir)
{
    *cache = (struct gi_program_cache){.gpu = gpu,
                                       .dir = gi_cache_folder(dir, "programs"),
                                       .is_unwanted = dir && !*dir,
                                       .has_binaries = gpu->limits.n_binary_formats > 0};
    if (cache->dir && gi_cache_is_foreign(cache->dir)) {
        gi_log_write(gi_gpu_log(gpu), GLINFER_LOG_WARN,
                     "other users may have written to the compiled programs in %s: make it yours "
                     "alone (chmod o-w), or set XDG_CACHE_HOME to another folder",
                     cache->dir);
    }
}

void gi_program_cache_finish(struct gi_program_cache *cache)
{
    const size_t n =
        cache->has_written ? gi_cache_sweep(cache->dir, MAX_CACHE_SIZE) : 0; // else as it was
    if (n > 0) {
        gi_log_write(gi_gpu_log(cache->gpu), GLINFER_LOG_INFO,
                     "%zu programs that were not used for long are removed from %s", n, cache->dir);
    }
    free(cache->dir);
    *cache = (struct gi_program_cache){0};
}

//-- keys ------------------------------------------------------------------------------------------

void gi_program_cache_key(const struct gi_program_cache *cache, const char *text, size_t size,
                          struct gi_hash *key)
{
    gi_hash_init(key);
    gi_gpu_identify_driver(cache->gpu, key);
    gi_hash_add(key, text, size);
}

static struct gi_hash hash_binary(const void *binary, size_t size)
{
    struct gi_hash hash;
    gi_hash_init(&hash);
    gi_hash_add(&hash, binary, size);
    return hash;
}

static bool is_same_hash(const struct gi_hash *a, const struct gi_hash *b)
{
    return a->lo == b->lo && a->hi == b->hi;
}

//-- loading ---------------------------------------------------------------------------------------

// Returns true if the file is whole and of this key. Copies its header.
static bool is_sound(const char *file, size_t size, const struct gi_hash *key,
                     struct header *header)
{
    if (size <= sizeof(*header)) {
        return false;
    }
    memcpy(header, file, sizeof(*header));
    const struct gi_hash hash = hash_binary(file + sizeof(*header), size - sizeof(*header));
    return memcmp(header->magic, magic, sizeof(magic)) == 0 && is_same_hash(&header->key, key) &&
           header->size == size - sizeof(*header) && is_same_hash(&hash, &header->hash);
}

static GLuint link_binary(struct gi_gpu *gpu, const struct header *header, const void *binary)
{
    GLint is_linked = GL_FALSE;
    gi_gpu_clear_errors(gpu);
    GLuint program = glCreateProgram();
    glProgramBinary(program, header->format, binary, (GLsizei)header->size);
    glGetProgramiv(program, GL_LINK_STATUS, &is_linked);
    gi_gpu_clear_errors(gpu);
    if (!is_linked) {
        glDeleteProgram(program);
        return 0;
    }
    return program;
}

uint32_t gi_program_cache_load(struct gi_program_cache *cache, const struct gi_hash *key)
{
    char name[33];
    struct header header;
    size_t size = 0;
    gi_hash_text(key, name);
    const size_t max_size = sizeof(header) + MAX_BINARY_SIZE;
    const bool is_there = cache->dir && cache->has_binaries;
    char *file = is_there ? gi_cache_read(cache->dir, name, max_size, &size) : NULL;
    if (!file && (!is_there || errno == ENOENT)) {
        return 0;
    }
    const bool is_good = file && is_sound(file, size, key, &header);
    const GLuint program = is_good ? link_binary(cache->gpu, &header, file + sizeof(header)) : 0;
    free(file);
    if (program == 0 && !is_same_hash(&cache->useless, key)) {
        cache->useless = *key;
        gi_log_write(gi_gpu_log(cache->gpu), GLINFER_LOG_INFO,
                     "%s/%s is %s; the program is compiled again", cache->dir, name,
                     is_good ? "refused by the driver" : "damaged");
    }
    return program;
}

//-- storing ---------------------------------------------------------------------------------------

static void *get_binary(struct gi_gpu *gpu, uint32_t program, struct header *header)
{
    GLint size = 0;
    GLsizei written = 0;
    GLenum format = 0;
    glGetProgramiv(program, GL_PROGRAM_BINARY_LENGTH, &size);
    void *binary = size > 0 && (uint32_t)size <= MAX_BINARY_SIZE ? malloc((size_t)size) : NULL;
    if (!binary) {
        return NULL;
    }
    gi_gpu_clear_errors(gpu);
    glGetProgramBinary(program, size, &written, &format, binary);
    gi_gpu_clear_errors(gpu);
    if (written <= 0) {
        free(binary);
        return NULL;
    }
    header->format = format;
    header->size = (uint32_t)written;
    header->hash = hash_binary(binary, (size_t)written);
    return binary;
}

// Says that there is no folder, unless the caller wants none.
static void warn_of_folder(struct gi_program_cache *cache)
{
    cache->has_failed_write = true;
    if (!cache->is_unwanted) {
        gi_log_write(gi_gpu_log(cache->gpu), GLINFER_LOG_WARN,
                     "compiled programs cannot be kept, so every start compiles again: there is no "
                     "HOME; set XDG_CACHE_HOME to a writable folder");
    }
}

void gi_program_cache_store(struct gi_program_cache *cache, const struct gi_hash *key,
                            uint32_t program)
{
    struct header header = {.key = *key};
    char name[33];
    if (!cache->has_binaries || cache->has_failed_write) {
        return;
    }
    if (!cache->dir) {
        warn_of_folder(cache);
        return;
    }
    memcpy(header.magic, magic, sizeof(magic));
    void *binary = get_binary(cache->gpu, program, &header);
    const struct gi_cache_piece pieces[] = {
        {&header, sizeof(header)},
        {binary, header.size},
    };
    gi_hash_text(key, name);
    cache->has_written = true;
    if (binary && !gi_cache_write(cache->dir, name, pieces, 2)) {
        cache->has_failed_write = true;
        gi_log_write(gi_gpu_log(cache->gpu), GLINFER_LOG_WARN,
                     "compiled programs cannot be kept in %s (%s), so every start compiles again; "
                     "set XDG_CACHE_HOME to a writable folder",
                     cache->dir, strerror(errno));
    }
    free(binary);
}

//-- findings --------------------------------------------------------------------------------------

// Begin a file; GI_CHECKS_HASH is that of the sources of the self-test, whose changes void
// findings.
#define RIGHT_HEAD "selftest " GI_CHECKS_HASH " right "
#define WRONG_HEAD "selftest " GI_CHECKS_HASH " wrong "

static void name_finding(const struct gi_hash *key, char name[40])
{
    char text[33];
    gi_hash_text(key, text);
    snprintf(name, 40, "%s.test", text);
}

enum gi_finding gi_program_cache_recall(const struct gi_program_cache *cache,
                                        const struct gi_hash *key, char text[200])
{
    char name[40];
    size_t size;
    name_finding(key, name);
    char *file = cache->dir ? gi_cache_read(cache->dir, name, 400, &size) : NULL;
    const bool is_right = file && strncmp(file, RIGHT_HEAD, strlen(RIGHT_HEAD)) == 0;
    const bool is_wrong = file && strncmp(file, WRONG_HEAD, strlen(WRONG_HEAD)) == 0;
    if (is_right || is_wrong) {
        snprintf(text, 200, "%s", file + strlen(RIGHT_HEAD));
        text[strcspn(text, "\n")] = 0;
    }
    free(file);
    return is_right ? GI_FINDING_RIGHT : is_wrong ? GI_FINDING_WRONG : GI_FINDING_NONE;
}

void gi_program_cache_judge(struct gi_program_cache *cache, const struct gi_hash *key,
                            enum gi_finding finding, const char *text)
{
    char name[40];
    const char *head = finding == GI_FINDING_RIGHT ? RIGHT_HEAD : WRONG_HEAD;
    const struct gi_cache_piece pieces[] = {
        {head, strlen(head)},
        {text, strlen(text)},
        {"\n", 1},
    };
    name_finding(key, name);
    if (cache->dir && !cache->has_failed_write && finding != GI_FINDING_NONE) {
        gi_cache_write(cache->dir, name, pieces, 3);
    }
}
