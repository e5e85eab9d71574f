// PUT(x) is what a kernel writes for a stage that takes it by its tag (lib/grid_barrier.glsl): with PUTS in a
// program of stages x with a tag, else x.
//
// Groups of one stage may tell each other, too. Where PUTS_ARE_TOLD holds, all groups of the stage are at work at
// once, and what is in memory has tags: TAKE_PUT(value, load) loads a quad that was loaded once again until all of
// it is what was put in this stage.
#ifndef PUTS
#define PUTS 0
#endif
#if PUTS && defined(STAGE)
#define PUT(x) grid_put(x)
#define PUTS_ARE_TOLD (GRID_TELLS == 1 && grid_is_settled && stage_is_whole())
#define TAKE_PUT(value, load) GRID_TAKE_OF(grid_tag, value, load, uvec4(TAG_BITS))
#else
#define PUT(x) (x)
#define PUTS_ARE_TOLD false
#define TAKE_PUT(value, load)
#endif
