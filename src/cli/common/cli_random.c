#include "cli/common/cli_random.h"

#include <stdatomic.h>
#include <sys/random.h>
#include <sys/types.h>

bool cli_random_letters(char *text, size_t n)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
    static atomic_uint count;
    unsigned char random[31] = {0};
    const bool is_random = getrandom(random, n, GRND_NONBLOCK) == (ssize_t)n;
    const unsigned own = is_random ? 0 : atomic_fetch_add(&count, 1);
    for (size_t i = 0; i < n; i++) {
        text[i] = letters[(random[i] ^ (i < 6 ? own >> (5 * i) : 0)) % 32];
    }
    text[n] = 0;
    return is_random;
}
