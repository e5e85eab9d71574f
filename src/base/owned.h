// Objects that another one owns and destroys without knowing what they are. An owned object is the
// first member of a struct.
#pragma once

#include <stddef.h>

struct gi_owned {
    struct gi_owned *next;
    void (*destroy)(struct gi_owned *owned); // frees the object and clears pointers to it
};

static inline void gi_owned_add(struct gi_owned **list, struct gi_owned *owned,
                                void (*destroy)(struct gi_owned *owned))
{
    *owned = (struct gi_owned){*list, destroy};
    *list = owned;
}

// Destroys an object of the list. Accepts NULL.
static inline void gi_owned_destroy(struct gi_owned **list, struct gi_owned *owned)
{
    if (owned) {
        while (*list != owned) {
            list = &(*list)->next;
        }
        *list = owned->next;
        owned->destroy(owned);
    }
}

// Destroys all objects, the latest first.
static inline void gi_owned_destroy_all(struct gi_owned **list)
{
    while (*list) {
        gi_owned_destroy(list, *list);
    }
}
