// Lists of numbers as llama-bench writes them: "512,1024", "1-4", "1-9+2", "256-4096*2".
#ifndef CLI_LIST_H
#define CLI_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLI_MAX_LIST 64
struct cli_list {
    int64_t items[CLI_MAX_LIST];
    size_t count;
};

struct cli_pair {
    int64_t prompt, gen;
};
struct cli_pairs {
    struct cli_pair items[CLI_MAX_LIST];
    size_t count;
};

// Parse functions of struct cli_flag: append the numbers, 0 to 2^24, to the list (field).
bool cli_list_parse(const char *text, void *field, char *why, size_t size);
bool cli_pairs_parse(const char *text, void *field, char *why, size_t size);

#endif
