// PUBLISH(x) is what a kernel writes for the next entry of a list: with PUBLISHES, where it is a
// stage, x with a tag that the next one looks for, else x.
//
// Groups of one stage may publish for each other, too. Where STAGE_PUBLISHES holds, all groups of
// the stage run at once, and what is in memory has tags: CONSUME_QUADS(a, load_a, b, load_b) loads
// two quads that were loaded once again until both were published in this stage.
#ifndef PUBLISHES
#define PUBLISHES 0
#endif
#if PUBLISHES && defined(STAGE)
#define PUBLISH(x) grid_publish(x)
#define STAGE_PUBLISHES (GRID_TELLS == 1 && grid_is_settled && stage_is_whole())
#define CONSUME_QUADS(a, load_a, b, load_b)                                                            \
    GRID_CONSUME_WHILE((grid_wrong(grid_tag, a, uvec4(TAG_BITS)) |                                    \
                     grid_wrong(grid_tag, b, uvec4(TAG_BITS))) != 0u,                              \
                    a = load_a; b = load_b;)
#else
#define PUBLISH(x) (x)
#define STAGE_PUBLISHES false
#define CONSUME_QUADS(a, load_a, b, load_b)
#endif
