// Bytes of a Wyoming client: events are the same however the bytes are cut, their sound is finite,
// and nothing follows an invalid event.
#include "cli/speech/cli_wyoming_sound.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Reads the bytes in two pieces. Returns the number of events; *is_broken: an invalid one followed.
static size_t read_events(const uint8_t *data, size_t size, size_t cut, bool *is_broken)
{
    struct cli_wyoming_reader reader = {0};
    struct cli_wyoming_sound sound = {.n_sample_most = UINT64_MAX};
    struct cli_samples samples = {0};
    struct cli_wyoming_event event;
    struct glinfer_error err;
    enum cli_wyoming_found found = CLI_WYOMING_MORE;
    size_t n_event = 0;
    for (int i = 0; i < 2; i++) {
        cli_wyoming_reader_feed(&reader, data + (i ? cut : 0), i ? size - cut : cut);
        while ((found = cli_wyoming_reader_next(&reader, &event, &err)) == CLI_WYOMING_EVENT) {
            n_event++;
            FUZZ_CHECK(event.type && cJSON_IsObject(event.data));
            err.message[0] = 0;
            if (cli_wyoming_take(&sound, &event, &samples, &err) == CLI_WYOMING_REFUSE) {
                FUZZ_CHECK(strncmp(err.message, "invalid Wyoming event", 21) == 0);
            }
        }
    }
    for (size_t i = 0; i < samples.count; i++) {
        FUZZ_CHECK(isfinite(samples.items[i]));
    }
    *is_broken = found == CLI_WYOMING_BROKEN;
    cli_wyoming_reader_finish(&reader);
    cli_wyoming_sound_finish(&sound);
    cli_samples_finish(&samples);
    return n_event;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool is_broken, is_broken_whole;
    const size_t n_whole = read_events(data, size, size, &is_broken_whole);
    FUZZ_CHECK(read_events(data, size, size / 3, &is_broken) == n_whole);
    FUZZ_CHECK(is_broken == is_broken_whole);
    return 0;
}
