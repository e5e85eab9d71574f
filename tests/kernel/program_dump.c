// program_dump [DIR]: assembles the source of every program of programs.def and fails if a program
// has a define that none of its files reads. Writes each source into a file of DIR, for
// glslangValidator and offline compilers. Needs no GPU.
#include "tests/kernel/fixture/program_variants.h"

#include <stdio.h>
#include <string.h>

struct dump {
    const char *dir;
    struct glinfer_error err;
};

static bool write_variant(void *user, const struct program_variant *variant)
{
    struct dump *dump = user;
    char path[1024];
    if (!dump->dir) {
        return true;
    }
    snprintf(path, sizeof(path), "%s/%s.comp", dump->dir, variant->name);
    FILE *stream = fopen(path, "w");
    bool is_written =
        stream && fwrite(variant->source->text, variant->source->size, 1, stream) == 1;
    if (stream && fclose(stream) != 0) {
        is_written = false;
    }
    if (!is_written) {
        fprintf(stderr, "program_dump: cannot write %s\n", path);
    }
    return is_written;
}

int main(int argc, char **argv)
{
    struct dump dump = {.dir = argc == 2 ? argv[1] : NULL};
    if (argc > 2) {
        fprintf(stderr, "usage: program_dump [DIR]\n");
        return 2;
    }
    if (!program_variants_visit(write_variant, &dump, &dump.err)) {
        fprintf(stderr, "program_dump: %s\n", dump.err.message);
        return 1;
    }
    return 0;
}
