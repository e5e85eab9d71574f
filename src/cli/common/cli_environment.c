#include "cli/common/cli_environment.h"

#include "cli/common/cli_io.h"
#include "cli/flags/cli_nearest.h"

#include <string.h>

#define PREFIX "GLINFER_"

extern char **environ;

const char cli_environment[] =
    "environment:\n"
    "    GLINFER_DISPATCH=multi|direct|indirect\n"
    "                                      a dispatch for every entry of a step, its grid from the "
    "CPU\n"
    "                                      or from a buffer\n"
    "    GLINFER_DISPATCH=persistent|background[:GROUPS[:SIZE[:SPINS]]]\n"
    "                                      one dispatch for a whole chain of steps: at once, or\n"
    "                                      compiled meanwhile; `man glinfer` says more\n"
    "    GLINFER_LIMITS=es31|NAME=NUMBER,...\n"
    "                                      limit the device to the minimum of OpenGL ES 3.1, or "
    "to these\n"
    "                                      numbers\n"
    "    GLINFER_QUIRKS=RENDERER=FLAG,...  work around driver bugs; `man glinfer` lists the flags\n"
    "    GLINFER_GEMV=split|f16|row|texel|halves|bytes|places|texbits\n"
    "                                      the form of the decode kernels, to compare them\n"
    "    GLINFER_BATCH=split|lane|row      the form of the prompt kernels, to compare them\n"
    "    GLINFER_GEMM=64x64|64x64:2|64x64:3|32x64:2|64x32:4|128x64|narrow|rolled|thin|short|low|"
    "few|2x8|4x6|4x8\n"
    "                                      the prompt kernels of larger GPUs\n"
    "    GLINFER_HALF=yes|no               use fast halves or not, without trying the device\n"
    "    GLINFER_PAGES=large|small         buffers in pages of 2 MiB or not, with NVIDIA's driver\n"
    "    GLINFER_TUNING=off|FILE           ignore the tuning, or read it from a file\n"
    "    GLINFER_SELFTEST=on|off           off: kernels are not tested on their first start\n"
    "    GLINFER_FAULT=KIND:PROGRAM[:N]    break a program, for tests: wrong, skip, slow, lost, "
    "compile\n"
    "    GLINFER_CLASS=RENDERER            kernels and schedules of another GPU, for tests\n"
    "    GLINFER_GLSL_DIR=DIR              read kernels from this folder, to develop them\n"
    "    HF_TOKEN                          the token of Hugging Face, for models that need one\n"
    "    HF_ENDPOINT                       a server instead of https://huggingface.co\n"
    "    XDG_CACHE_HOME                    its folder glinfer holds models, programs and tuning\n"
    "    XDG_STATE_HOME                    its folder glinfer holds the history of chat\n";

enum { MAX_KNOWN = 32, NAME_SIZE = 48 };

// Lists the variables of the help, which may have two entries for one, one below the other.
static size_t list_known(char names[MAX_KNOWN][NAME_SIZE], const char *known[MAX_KNOWN])
{
    size_t n = 0;
    for (const char *at = strstr(cli_environment, PREFIX); at && n < MAX_KNOWN;
         at = strstr(at + 1, PREFIX)) {
        const size_t size = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        snprintf(names[n], NAME_SIZE, "%.*s", (int)size, at);
        known[n] = names[n];
        n += n == 0 || strcmp(names[n - 1], names[n]) != 0;
    }
    return n;
}

void cli_check_environment(void)
{
    char names[MAX_KNOWN][NAME_SIZE], name[NAME_SIZE];
    const char *known[MAX_KNOWN];
    const size_t n = list_known(names, known);
    for (char **variable = environ; *variable; variable++) {
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(*variable, "="), *variable);
        // Variables of tests and tools, which run the command, are theirs.
        if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || strncmp(name, PREFIX "TEST_", 13) == 0 ||
            strcmp(name, PREFIX "SHIM_KIT") == 0) {
            continue;
        }
        const char *nearest = cli_nearest(name, known, n);
        if (!nearest) {
            cli_say("warning: %s is unknown and ignored; `glinfer --help all` lists the variables",
                    name);
        } else if (strcmp(nearest, name) != 0) {
            cli_say("warning: %s is unknown and ignored; is it %s?", name, nearest);
        }
    }
}
