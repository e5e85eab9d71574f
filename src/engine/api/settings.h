// The environment's variables, which are for comparing and for finding faults: what is misspelt there must not pass
// for a measurement of what was meant.
#ifndef GI_ENGINE_SETTINGS_H
#define GI_ENGINE_SETTINGS_H

#include "base/log.h"

// Warns of each variable that is set to something that is not known and has no effect. GLINFER_TUNING, which fails
// where it cannot be read, is looked at by what reads it.
void gi_settings_check(const struct gi_log *log);

#endif
