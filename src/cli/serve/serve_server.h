// The server: a scheduler, the API and HTTP, from the first socket to the last answer.
#pragma once

#include "cli/serve/serve_settings.h"

// Serves until a signal ends the server. Prints an error and returns false if that fails.
bool serve_server_run(struct serve_settings *settings);
