// Replays a corpus without a fuzzer: every file of the folders named on the command line, and for
// the small ones every truncation, every flipped bit and extreme numbers at every byte; then damage
// by chance, the same at every run.
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE_SIZE   (1u << 24)
#define MAX_DAMAGE_SIZE 2048u  // larger files are damaged by chance alone
#define MAX_HEAD_SIZE   16384u // bytes of a file that are damaged by chance
#define N_BY_CHANCE     150    // damaged copies of a file
#define N_ALL_BY_CHANCE 500    // with GLINFER_TEST_ALL in the environment

struct bytes {
    uint8_t *data;
    size_t size;
};

static unsigned long n_run;

// A copy of exactly that size, so that a sanitizer sees a byte read too many.
static void run_copy(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) {
        abort();
    }
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    n_run++;
}

static void run_truncations(const struct bytes *file)
{
    for (size_t size = 0; size < file->size; size++) {
        run_copy(file->data, size);
    }
}

static void run_bit_flips(const struct bytes *file)
{
    for (size_t bit = 0; bit < 8 * file->size; bit++) {
        uint8_t mask = (uint8_t)(1u << bit % 8);
        file->data[bit / 8] ^= mask;
        run_copy(file->data, file->size);
        file->data[bit / 8] ^= mask;
    }
}

static void run_extreme_numbers(const struct bytes *file)
{
    static const uint64_t extremes[] = {
        0,          INT64_MAX,         (uint64_t)1 << 63, UINT64_MAX, UINT64_MAX - 7,
        UINT32_MAX, (uint64_t)1 << 32, (uint64_t)1 << 60};
    for (size_t at = 0; at + 8 <= file->size; at++) {
        uint8_t kept[8];
        memcpy(kept, file->data + at, 8);
        for (size_t i = 0; i < sizeof(extremes) / sizeof(extremes[0]); i++) {
            memcpy(file->data + at, &extremes[i], 8);
            run_copy(file->data, file->size);
        }
        memcpy(file->data + at, kept, 8);
    }
}

//-- by chance -------------------------------------------------------------------------------------

static uint32_t chance; // xorshift32

// Returns a number from 0 to end - 1.
static size_t pick(size_t end)
{
    chance ^= chance << 13;
    chance ^= chance >> 17;
    chance ^= chance << 5;
    return chance % end;
}

// Changes, copies, inserts or removes up to 16 bytes. The room is 16 bytes larger than the file.
static void damage(uint8_t *data, size_t *size)
{
    const size_t head = *size < MAX_HEAD_SIZE ? *size : MAX_HEAD_SIZE;
    const size_t at = pick(head), from = pick(head), left = head - (at > from ? at : from);
    const size_t n = 1 + pick(left < 16 ? left : 16);
    switch (pick(5)) {
    case 0:
        data[at] = (uint8_t)pick(256);
        break;
    case 1:
        data[at] = (uint8_t)(data[at] + pick(5) - 2);
        break;
    case 2:
        memmove(data + at, data + from, n);
        break;
    case 3:
        memmove(data + at + n, data + at, *size - at);
        *size += n;
        break;
    default:
        memmove(data + at, data + at + n, *size - at - n);
        *size -= n;
        break;
    }
}

static void run_by_chance(const struct bytes *file)
{
    enum { MAX_DAMAGES = 4 };
    uint8_t *copy = malloc(file->size + MAX_DAMAGES * 16);
    if (!copy) {
        abort();
    }
    chance = 2463534242u;
    const int n_copy = getenv("GLINFER_TEST_ALL") ? N_ALL_BY_CHANCE : N_BY_CHANCE;
    for (int i = 0; i < n_copy; i++) {
        size_t size = file->size;
        memcpy(copy, file->data, size);
        for (size_t n = 1 + pick(MAX_DAMAGES); n > 0 && size > 0; n--) {
            damage(copy, &size);
        }
        run_copy(copy, size);
    }
    free(copy);
}

//-- files -----------------------------------------------------------------------------------------

static bool read_file(const char *path, struct bytes *file)
{
    FILE *stream = fopen(path, "rb");
    if (!stream) {
        return false;
    }
    file->data = malloc(MAX_FILE_SIZE);
    file->size = file->data ? fread(file->data, 1, MAX_FILE_SIZE, stream) : 0;
    bool is_read = file->data && !ferror(stream);
    fclose(stream);
    return is_read;
}

static bool replay_file(const char *path)
{
    struct bytes file = {0};
    bool is_read = read_file(path, &file);
    if (is_read) {
        run_copy(file.data, file.size);
    }
    if (is_read && file.size <= MAX_DAMAGE_SIZE) {
        run_truncations(&file);
        run_bit_flips(&file);
        run_extreme_numbers(&file);
    }
    if (is_read && file.size > 0) {
        run_by_chance(&file);
    }
    free(file.data);
    return is_read;
}

static bool replay_folder(const char *folder)
{
    struct dirent **entries;
    int n_entry = scandir(folder, &entries, NULL, alphasort);
    bool is_read = n_entry > 2;
    for (int i = 0; i < n_entry; i++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && !replay_file(path)) {
            fprintf(stderr, "%s: cannot be read\n", path);
            is_read = false;
        }
        free(entries[i]);
    }
    if (n_entry >= 0) {
        free(entries);
    }
    return is_read;
}

int main(int argc, char **argv)
{
    bool is_read = argc > 1;
    for (int i = 1; i < argc; i++) {
        is_read = replay_folder(argv[i]) && is_read;
    }
    printf("%lu inputs\n", n_run);
    return is_read ? EXIT_SUCCESS : EXIT_FAILURE;
}
