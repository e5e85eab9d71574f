// K_TYPE and V_TYPE say what a cache of k or v holds: attention/kv_vec8.glsl.
#if !defined(K_TYPE) || !defined(V_TYPE)
#error "K_TYPE, V_TYPE: 0 f16 pairs, 1 f32, 2 q8_0, 3 q4_0"
#endif
#define CACHE_F16 0
#define CACHE_F32 1
#define CACHE_Q8_0 2
#define CACHE_Q4_0 3
#define HAS_CACHE_BLOCKS(type) ((type) >= CACHE_Q8_0) // of 32 elements, with a scale each
