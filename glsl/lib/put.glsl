// PUT(x) is what a kernel writes for a stage that takes it by its tag (lib/grid_barrier.glsl): with PUTS in a
// program of stages x with a tag, else x.
#ifndef PUTS
#define PUTS 0
#endif
#if PUTS && defined(STAGE)
#define PUT(x) grid_put(x)
#else
#define PUT(x) (x)
#endif
