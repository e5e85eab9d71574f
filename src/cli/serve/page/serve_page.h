// The page at /, a part of the command. tools/cmake/embed_page.cmake makes it of page.html,
// page.css and the scripts, with the policy that lets it run these, call this server, and nothing
// else.
#pragma once

#include <stddef.h>

struct serve_page {
    const char *type; // of HTTP
    const char *data;
    size_t size;        // bytes
    const char *policy; // the header Content-Security-Policy
};

// Written when the command is built.
extern const struct serve_page serve_page;
