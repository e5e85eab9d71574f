// K_TYPE and V_TYPE say what a cache of k or v holds.
#if !defined(K_TYPE) || !defined(V_TYPE)
#error "K_TYPE, V_TYPE: 0 f16 pairs, 1 f32, 2 q8_0"
#endif
#define CACHE_F16 0
#define CACHE_F32 1
#define CACHE_Q8_0 2
