// Finds the models that a router serves: those that were pulled, those of --models-dir, and the
// sections of --models-preset.
#pragma once

#include "cli/serve/router/serve_router.h"

// Finds them when the server starts. Returns false with the reason printed.
bool serve_catalog_find(struct serve_router *router);
// Finds them again: adds new ones, and unloads those that have changed or are gone. Changes nothing
// and returns false with an error if the presets or names are wrong.
bool serve_catalog_reload(struct serve_router *router, struct glinfer_error *err);
