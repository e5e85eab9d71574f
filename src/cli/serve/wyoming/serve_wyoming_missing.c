// Refuses --wyoming, in builds that cannot read sound.
#include "cli/common/cli_io.h"
#include "cli/serve/wyoming/serve_wyoming.h"

struct serve_wyoming *serve_wyoming_create(const struct serve_api *api)
{
    (void)api;
    cli_fail(CLI_EXIT_FAILED, "cannot serve --wyoming: this build cannot read sound; it needs "
                              "libsndfile, libsamplerate and zlib");
    return NULL;
}

bool serve_wyoming_start(struct serve_wyoming *wyoming)
{
    (void)wyoming;
    return false;
}

void serve_wyoming_drain(struct serve_wyoming *wyoming)
{
    (void)wyoming;
}

uint32_t serve_wyoming_count(struct serve_wyoming *wyoming)
{
    (void)wyoming;
    return 0;
}

void serve_wyoming_destroy(struct serve_wyoming *wyoming)
{
    (void)wyoming;
}
