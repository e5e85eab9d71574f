#include "gpu/device/device_class.h"

#include <string.h>

//-- gemv ------------------------------------------------------------------------------------------

// Measured on an H200 with the projections of SmolLM2, Llama 1B and 8B, in whole models. The fewer
// the rows, the more slices of k it takes to have the whole machine load. A vocabulary of hundreds
// of megabytes is read faster by groups that all run at once, two or four a multiprocessor, each
// from a run of memory of its own, and leaves more of a cache to the layers.
static const struct gi_gemv_row large_gemv[] = {
    {4096, 40, {GI_GEMV_FORM_F16, 256, 4, 528}},
    {2113, 100, {GI_GEMV_FORM_F16, 256, 4, 528}},
    {1024, 100, {GI_GEMV_FORM_F16, 64, 0, 264}},
    {1024, 40, {GI_GEMV_FORM_F16, 512, 4, 0}},
    {320, 40, {GI_GEMV_FORM_F16, 512, 1, 0}},
    {192, 400, {GI_GEMV_FORM_F16, 1024, 2, 0}},
    {192, 40, {GI_GEMV_FORM_F16, 512, 1, 0}},
    {100, 256, {GI_GEMV_FORM_F16, 512, 1, 0}},
    {100, 90, {GI_GEMV_FORM_F16, 1024, 1, 0}},
    {100, 40, {GI_GEMV_FORM_F16, 512, 1, 0}},
    {4096, 0, {GI_GEMV_FORM_SPLIT, 256, 4, 528}},
    {2048, 0, {GI_GEMV_FORM_SPLIT, 128, 4, 0}},
    {1024, 100, {GI_GEMV_FORM_SPLIT, 512, 1, 0}},
    {1024, 40, {GI_GEMV_FORM_SPLIT, 1024, 8, 0}},
    {320, 0, {GI_GEMV_FORM_SPLIT, 256, 1, 0}},
    {192, 400, {GI_GEMV_FORM_SPLIT, 1024, 2, 0}},
    {192, 40, {GI_GEMV_FORM_SPLIT, 512, 1, 0}},
    {0, 90, {GI_GEMV_FORM_SPLIT, 1024, 1, 0}},
    {0, 40, {GI_GEMV_FORM_SPLIT, 512, 1, 0}},
    {0, 0, {GI_GEMV_FORM_SPLIT, 256, 1, 0}},
    {1024, 0, {GI_GEMV_FORM_SPLIT, 128, 2, 0}},
    {0, 0, {GI_GEMV_FORM_SPLIT, 128, 1, 0}},
    {0},
};

// Rows of a form: the fewer pairs there are, the more slices of k it takes for all lanes to work.
// The instructions of both and of all below were counted with Mesa 22.3 and 25.0
// (glsl/measurements.md).
// clang-format off
#define SLICED(form, pairs, one, two, four)                                                        \
    {one,  0, {form, 64, pairs, 0}},                                                               \
    {two,  0, {form, 64, pairs, 2}},                                                               \
    {four, 0, {form, 64, pairs, 4}},                                                               \
    {0,    0, {form, 64, pairs, 8}}
// clang-format on

// GPUs of up to a thousand lanes, and larger ones.
static const struct gi_gemv_row counted_gemv[] = {
    SLICED(GI_GEMV_FORM_BYTES, 1, 128, 48, 0),
    {0, 0, {GI_GEMV_FORM_ROW, 64, 1, 0}},
    {0},
};

static const struct gi_gemv_row wide_gemv[] = {
    SLICED(GI_GEMV_FORM_BYTES, 1, 1024, 256, 48),
    {0, 0, {GI_GEMV_FORM_ROW, 64, 1, 0}},
    {0},
};

static const struct gi_gemv_row row_gemv[] = {
    {0, 0, {GI_GEMV_FORM_ROW, 64, 1, 0}},
    {0},
};

// The forms of the dot product whose instructions were counted with Mesa 25.0
// (glsl/gemv/gemv_row.glsl).
static const struct gi_gemv_row v3d_gemv[] = {
    {0, 0, {GI_GEMV_FORM_HALVES, 64, 1, 0}},
    {0, 0, {GI_GEMV_FORM_PLACES, 64, 1, 0}}, // if it does not unpack denormals
    {0, 0, {GI_GEMV_FORM_ROW, 64, 1, 0}},
    {0},
};

// Loads limit Mali G: x is read once for four rows.
static const struct gi_gemv_row mali_g_gemv[] = {
    {0, 0, {GI_GEMV_FORM_BYTES, 64, 2, 0}},
    {0, 0, {GI_GEMV_FORM_BYTES, 64, 1, 0}},
    {0, 0, {GI_GEMV_FORM_ROW, 64, 1, 0}},
    {0},
};

static const struct gi_gemv_row valhall_gemv[] = {
    SLICED(GI_GEMV_FORM_BYTES, 2, 256, 128, 48),
    SLICED(GI_GEMV_FORM_BYTES, 1, 128, 48, 0),
    {0, 0, {GI_GEMV_FORM_ROW, 64, 1, 0}},
    {0},
};

static const struct gi_gemv_row mali_t_gemv[] = {
    {0, 0, {GI_GEMV_FORM_PLACES, 64, 1, 0}},
    {0, 0, {GI_GEMV_FORM_ROW, 64, 1, 0}},
    {0},
};

static const struct gi_gemv_row adreno_gemv[] = {
    SLICED(GI_GEMV_FORM_TEXBITS, 1, 128, 48, 0),
    SLICED(GI_GEMV_FORM_BYTES, 1, 128, 48, 0),
    {0, 0, {GI_GEMV_FORM_ROW, 64, 1, 0}},
    {0},
};

static const struct gi_gemv_row adreno_7_gemv[] = {
    SLICED(GI_GEMV_FORM_TEXBITS, 1, 1024, 384, 128),
    SLICED(GI_GEMV_FORM_BYTES, 1, 1024, 384, 128),
    {0, 0, {GI_GEMV_FORM_ROW, 64, 1, 0}},
    {0},
};

static const struct gi_gemv_row llvmpipe_gemv[] = {
    {0, 0, {GI_GEMV_FORM_TEXEL, 8, 4, 0}},
    {0, 0, {GI_GEMV_FORM_ROW, 8, 4, 0}},
    {0},
};

// Measured on an H200 with the same projections. Tiles are as fast from about 32 tokens on of the
// largest, later of others.
static const struct gi_gemv_batch_row common_gemv_batch[] = {
    {256, {256, 2, 2, 8}},
    {0, {256, 1, 1, 4}},
    {0, {128, 1, 1, 4}},
};

static const struct gi_gemv_batch_row counted_gemv_batch[] = {
    {0, {128, 1, 1, 4}},
};

// The likely ones first: a slow device may not get to the others.
static const struct gi_gemv_candidates large_candidates[] = {
    {GI_GEMV_FORM_F16, 16, 128, 1024, 1, 16},
    {GI_GEMV_FORM_SPLIT, 16, 64, 1024, 1, 16},
    {GI_GEMV_FORM_ROW, 16, 64, 128, 1, 1},
};

static const struct gi_gemv_candidates counted_candidates[] = {
    {GI_GEMV_FORM_BYTES, 16, 64, 128, 1, 2},
    {GI_GEMV_FORM_SPLIT, 16, 64, 512, 1, 8},
};

static const struct gi_gemv_candidates small_candidates[] = {
    {GI_GEMV_FORM_HALVES, 4, 64, 64, 1, 2},  {GI_GEMV_FORM_BYTES, 4, 64, 64, 1, 2},
    {GI_GEMV_FORM_TEXBITS, 4, 64, 64, 1, 2}, {GI_GEMV_FORM_PLACES, 4, 64, 64, 1, 2},
    {GI_GEMV_FORM_ROW, 4, 64, 64, 1, 2},     {GI_GEMV_FORM_HALVES, 4, 16, 128, 1, 1},
    {GI_GEMV_FORM_BYTES, 4, 16, 128, 1, 1},  {GI_GEMV_FORM_TEXBITS, 4, 16, 128, 1, 1},
    {GI_GEMV_FORM_PLACES, 4, 16, 128, 1, 1}, {GI_GEMV_FORM_SPLIT, 4, 64, 128, 1, 4},
    {GI_GEMV_FORM_ROW, 4, 8, 128, 1, 4},
};

static const struct gi_gemv_candidates llvmpipe_candidates[] = {
    {GI_GEMV_FORM_TEXEL, 1, 8, 16, 2, 8},
    {GI_GEMV_FORM_ROW, 1, 8, 8, 4, 4},
};

//-- classes ---------------------------------------------------------------------------------------

#define COUNT(array)      (uint32_t)(sizeof(array) / sizeof(array[0]))
#define CANDIDATES(array) .gemv_candidates = array, .n_gemv_candidates = COUNT(array)

// Common to all classes that were not measured: the figures of an H200 with 132 multiprocessors.
// Attention over heads of 128 in groups of 512 is faster after a separate entry for RoPE:
// Llama-3.1-8B reaches 628 tokens/s there, 591 with one fused entry.
#define ANY                                                                                        \
    .attention_groups = 264, .loop_groups = {264, 528}, .persistent.n_groups = 132,                \
    .persistent.group_size = 256, .persistent.large_group_size = 512,                              \
    .persistent.max_spins = 1u << 17, .persistent.large_from = 256u << 10,                         \
    .persistent.max_step_us = 5000, .attention_turning = 512u * 64u
#define COMMON         ANY, .wave_groups = 128, .gemv_batch = common_gemv_batch
#define MANY_REGISTERS .lane_tokens = 16, .attention_keys = 128

// k split over lanes, shared memory.
#define SHARING                                                                                    \
    MANY_REGISTERS, .is_large = true, .copy_wg_size = 128, .copy_loads = 8,                        \
                    .batch_form = GI_BATCH_FORM_SPLIT
#define LARGE_SAMPLE .sample = {.argmax_size = 1024, .n_groups = 128, .size = 1024}
#define LARGE                                                                                      \
    COMMON, SHARING, LARGE_SAMPLE, .probe_groups = 1024, .rate_bytes = 128u << 20,                 \
                                   .burst_bytes = 1u << 20, .gemv = large_gemv,                    \
                                   CANDIDATES(large_candidates)

// The same with fewer lanes, and shapes whose registers were counted: GPUs of processors, and those
// of the same kinds with memory of their own.
#define COUNTED                                                                                    \
    ANY, SHARING, .probe_groups = 256, .rate_bytes = 64u << 20, .burst_bytes = 1u << 18,           \
                  .first_batch = 64, .gemv_batch = counted_gemv_batch,                             \
                  CANDIDATES(counted_candidates), .indirect = GI_INDIRECT_YES

// Groups of 1,024 need 32 lanes a thread, which spills on Skylake and Ice Lake. Prompt attention
// has 16 where the sums of a head of 64 are all that an invocation keeps.
#define INTEL                                                                                      \
    COUNTED, .sample = {.argmax_size = 512, .n_groups = 32, .size = 256},                          \
             .attention = {64, 4, 1, 24}, .is_rolled = true, .tall_head_dim = 64

// Groups of 512 that share 32 KiB: four waves a SIMD, two of them a compute unit.
#define AMD COUNTED, LARGE_SAMPLE, .is_rolled = true, .tall_head_dim = 128

// A row an invocation, no shared memory, few registers.
#define SMALLER                                                                                    \
    ANY, .wave_groups = 8, .gemv_batch = common_gemv_batch, .probe_groups = 32,                    \
         .rate_bytes = 32u << 20, .burst_bytes = 1u << 16, .copy_wg_size = 64, .copy_loads = 4,    \
         .first_batch = 64, CANDIDATES(small_candidates), .batch_form = GI_BATCH_FORM_LANE,        \
         .is_batch_open = true, .sample = {.argmax_size = 256, .n_groups = 16, .size = 64}

#define SMALL          SMALLER, MANY_REGISTERS
#define TILE(name)     .gemm_tile = GI_GEMM_TILE_##name // also for batches in the lane form
#define UNSCALED(name) .unscaled_tile = GI_GEMM_TILE_##name

// Counted with Mesa 25.0 (glsl/measurements.md).
#define MALI_G_PROMPT    TILE(ROLLED), UNSCALED(4X6), .packs_rows = true
#define MALI_G_ATTENTION .attention = {64, 3, 2, 12, true}, .attention_block = {4, 3, false}
#define ADRENO_ATTENTION .attention = {64, 4, 1, 24}

// indirect: what each driver's launch_grid does with a buffer of counts, as read in Mesa 25.0;
// other drivers are unknown until measured. Subgroup sizes: what GL says is the largest one;
// compilers for Intel and AMD choose smaller ones.
//
// Rates: half of what was measured or, where nothing was, a tenth of the arithmetic and half of the
// bandwidth that the slowest GPU of the class has by its data sheet. V3D: sgemm of py-videocore6 on
// a Pi 4, 3.9 Gflop/s, 7.2 GB/s. Mali T: clpeak of a T760. Mali G: a G52-2EE of 26 Gflop/s, half of
// that for a G31. Adreno: 4.3 GB/s of an A643. Intel: a UHD 600 of 144 Gflop/s. AMD: a Vega 3.
// NVIDIA: a Jetson Nano of 236 Gflop/s. Where the GPU is not known: less than any of these.
#define RATES(mmac, mb, us) .rates = {mmac, mb, us}
#define NVIDIA                                                                                     \
    LARGE, RATES(12000, 7500, 20), .indirect = GI_INDIRECT_YES, .subgroup_size = 32,               \
                                   .large_pages_from = UINT64_C(1) << 30,                          \
                                   .persistent.is_default = true
#define V3D                                                                                        \
    SMALL, RATES(1000, 3600, 100), .indirect = GI_INDIRECT_NO, .gemv = v3d_gemv,                   \
                                   .attention = {64, 3, 1, 6, true}, .packs_rows = true,           \
                                   .attention_block = {4, 2, true}, UNSCALED(2X8)
// clang-format off
static const struct gi_device_class
    nvidia = {NVIDIA, .name = "NVIDIA", .max_batch = 1792, .row_loads = 8},
    tegra = {NVIDIA, .name = "NVIDIA Tegra"}, // shares its memory with the CPU: small batches
    intel = {INTEL, .name = "Intel gen 9", .gemv = counted_gemv, RATES(7000, 9000, 20), .wave_groups = 10, .gemm_tile = GI_GEMM_TILE_THIN},
    intel_gen12 = {INTEL, UNSCALED(4X8), .name = "Intel gen 11 and 12", .gemv = counted_gemv, RATES(10000, 9000, 20), .wave_groups = 24,
                   .gemm_tile = GI_GEMM_TILE_THIN},
    intel_xe2 = {INTEL, .name = "Intel Xe2", .gemv = wide_gemv, RATES(40000, 25000, 20), .wave_groups = 32, .gemm_tile = GI_GEMM_TILE_NARROW},
    amd_gcn = {AMD, .name = "AMD GCN", .gemv = wide_gemv, RATES(20000, 12000, 20), .wave_groups = 32, .gemm_tile = GI_GEMM_TILE_THIN},
    amd_rdna = {AMD, .name = "AMD RDNA", .gemv = wide_gemv, RATES(40000, 20000, 20), .wave_groups = 32, .gemm_tile = GI_GEMM_TILE_NARROW},
    amd_r600 = {LARGE, .name = "AMD r600", RATES(2000, 4000, 20), .indirect = GI_INDIRECT_NO},
    apple = {COUNTED, LARGE_SAMPLE, .name = "Apple", .gemv = wide_gemv, RATES(60000, 25000, 20), .wave_groups = 32, .gemm_tile = GI_GEMM_TILE_THIN,
             .is_rolled = true}, // no compiler to count with
    nouveau = {LARGE, .name = "nouveau", RATES(3000, 5000, 20), .indirect = GI_INDIRECT_YES},
    nouveau_nv50 = {LARGE, .name = "nouveau nv50", RATES(1000, 2000, 20), .indirect = GI_INDIRECT_NO},
    virgl = {LARGE, .name = "virgl", RATES(1000, 2000, 100), .indirect = GI_INDIRECT_NO},
    zink = {LARGE, .name = "zink", RATES(1000, 2000, 50), .indirect = GI_INDIRECT_YES},
    unknown = {LARGE, .name = "unknown"},
    v3d = {V3D, .name = "V3D 4", .serial = GI_SERIAL_CODES},
    v3d_7 = {V3D, .name = "V3D 7", .serial = GI_SERIAL_MOST},
    mali_t = {SMALLER, .name = "Mali T", RATES(2000, 4000, 150), .indirect = GI_INDIRECT_NO, .gemv = mali_t_gemv,
              .is_short_of_registers = true, .lane_tokens = 4, .is_rolled = true, TILE(LOW),
              .serial = GI_SERIAL_MOST,
              .attention_keys = 64, // spills 3:36 registers then, 59:124 with 128 keys
              .attention = {32, 3, 1, 12},
              .attention_block = {2, 1, false}},
    mali_g57 = {SMALL, MALI_G_PROMPT, .name = "Mali G57", RATES(2000, 4000, 150), .indirect = GI_INDIRECT_NO, .gemv = valhall_gemv,
                MALI_G_ATTENTION, .byte_sums = GI_BYTE_SUMS_BY_ONE},
    mali_valhall = {SMALL, MALI_G_PROMPT, .name = "Mali Valhall", RATES(1000, 3500, 150), .gemv = valhall_gemv, MALI_G_ATTENTION,
                    .byte_sums = GI_BYTE_SUMS_BY_ONE},
    mali_g = {SMALL, MALI_G_PROMPT, .name = "Mali G", RATES(1000, 3500, 150), .gemv = mali_g_gemv, MALI_G_ATTENTION,
              .byte_sums = GI_BYTE_SUMS_BY_TWO},
    mali_g31 = {SMALL, TILE(ROLLED), .name = "Mali G31", RATES(1000, 3500, 150), .gemv = mali_g_gemv, MALI_G_ATTENTION, // short of arithmetic
                .byte_sums = GI_BYTE_SUMS_BY_TWO},
    adreno = {SMALL, TILE(NARROW), ADRENO_ATTENTION, .name = "Adreno 6", RATES(4000, 4000, 50), .merges_flushes = true, .indirect = GI_INDIRECT_YES, .gemv = adreno_gemv},
    adreno_7 = {SMALL, TILE(NARROW), ADRENO_ATTENTION, .name = "Adreno 7", RATES(4000, 4000, 50), .merges_flushes = true, .indirect = GI_INDIRECT_YES,
                .gemv = adreno_7_gemv},
    adreno_old = {SMALL, TILE(NARROW), ADRENO_ATTENTION, .name = "Adreno 4 and 5", RATES(2000, 4000, 50), .merges_flushes = true, .gemv = adreno_gemv,
                  .indirect = GI_INDIRECT_NO}, // the driver flushes at every barrier
    adreno_qualcomm = {SMALL, TILE(NARROW), ADRENO_ATTENTION, .name = "Adreno by Qualcomm", RATES(2000, 4000, 50), .gemv = adreno_gemv},
    powervr = {SMALL, .name = "PowerVR", RATES(1000, 2000, 100), .gemv = row_gemv},
    softpipe = {SMALL, .name = "softpipe", RATES(10, 50, 100), .indirect = GI_INDIRECT_NO, .gemv = row_gemv},
    // Straight-line code on vectors of eight; ends all loops of a program after 65,535 turns
    // together.
    llvmpipe = {COMMON, MANY_REGISTERS, .name = "llvmpipe", RATES(4000, 3000, 20), .is_llvmpipe = true,
                .indirect = GI_INDIRECT_NO, .probe_groups = 32, .rate_bytes = 32u << 20,
                .burst_bytes = 1u << 16, .copy_wg_size = 8, .copy_loads = 16, .first_batch = 64,
                .gemv = llvmpipe_gemv,
                CANDIDATES(llvmpipe_candidates), .batch_form = GI_BATCH_FORM_ROW,
                .sample = {.argmax_size = 256, .n_groups = 4, .size = 256}};
// clang-format on

//-- names -----------------------------------------------------------------------------------------

// The first match counts: drivers that lie over others (virgl, zink) name the GPU below them too.
static const struct {
    const char *renderer; // part of GL_RENDERER, letter case aside
    const char *version;  // part of GL_VERSION; NULL: any
    const struct gi_device_class *class;
} names[] = {
    {"virgl", NULL, &virgl},
    {"llvmpipe", NULL, &llvmpipe},
    {"lavapipe", NULL, &llvmpipe},
    {"softpipe", NULL, &softpipe},
    {"swiftshader", NULL, &softpipe},
    {"zink", NULL, &zink},
    {"V3D 7", NULL, &v3d_7},
    {"V3D", NULL, &v3d},
    {"Mali-T", NULL, &mali_t},
    {"Mali-G57", NULL, &mali_g57},
    {"Mali-G310", NULL, &mali_valhall},
    {"Mali-G31", NULL, &mali_g31},
    {"Mali-G510", NULL, &mali_valhall},
    {"Mali-G61", NULL, &mali_valhall},
    {"Mali-G62", NULL, &mali_valhall},
    {"Mali-G68", NULL, &mali_valhall},
    {"Mali-G710", NULL, &mali_valhall},
    {"Mali-G715", NULL, &mali_valhall},
    {"Mali-G720", NULL, &mali_valhall},
    {"Mali-G725", NULL, &mali_valhall},
    {"Mali-G77", NULL, &mali_valhall},
    {"Mali-G78", NULL, &mali_valhall},
    {"Mali-G92", NULL, &mali_valhall},
    {"Mali", NULL, &mali_g},
    {"FD4", "Mesa", &adreno_old},
    {"FD5", "Mesa", &adreno_old},
    {"FD6", "Mesa", &adreno},
    {"FD7", "Mesa", &adreno_7},
    {"Adreno", NULL, &adreno_qualcomm},
    {"PowerVR", NULL, &powervr},
    {"Apple", NULL, &apple},
    {"Tegra", "NVIDIA", &tegra},
    {"NVIDIA", "NVIDIA", &nvidia},
    {"NVIDIA", NULL, &nouveau},
    {"(ICL", "Mesa", &intel_gen12},
    {"(EHL", "Mesa", &intel_gen12},
    {"(JSL", "Mesa", &intel_gen12},
    {"(TGL", "Mesa", &intel_gen12},
    {"(RKL", "Mesa", &intel_gen12},
    {"(ADL", "Mesa", &intel_gen12},
    {"(RPL", "Mesa", &intel_gen12},
    {"(DG1", "Mesa", &intel_gen12},
    {"(DG2", "Mesa", &intel_gen12},
    {"(MTL", "Mesa", &intel_gen12},
    {"(ARL", "Mesa", &intel_gen12},
    {"(LNL", "Mesa", &intel_xe2},
    {"(BMG", "Mesa", &intel_xe2},
    {"(PTL", "Mesa", &intel_xe2},
    {"Intel", NULL, &intel},
    {"AMD CEDAR", NULL, &amd_r600},
    {"AMD REDWOOD", NULL, &amd_r600},
    {"AMD JUNIPER", NULL, &amd_r600},
    {"AMD CYPRESS", NULL, &amd_r600},
    {"AMD HEMLOCK", NULL, &amd_r600},
    {"AMD PALM", NULL, &amd_r600},
    {"AMD SUMO", NULL, &amd_r600},
    {"AMD BARTS", NULL, &amd_r600},
    {"AMD TURKS", NULL, &amd_r600},
    {"AMD CAICOS", NULL, &amd_r600},
    {"AMD CAYMAN", NULL, &amd_r600},
    {"AMD ARUBA", NULL, &amd_r600},
    {"navi", "Mesa", &amd_rdna},
    {"vangogh", "Mesa", &amd_rdna},
    {"rembrandt", "Mesa", &amd_rdna},
    {"raphael", "Mesa", &amd_rdna},
    {"phoenix", "Mesa", &amd_rdna},
    {"gfx10", "Mesa", &amd_rdna},
    {"gfx11", "Mesa", &amd_rdna},
    {"gfx12", "Mesa", &amd_rdna},
    {"AMD", NULL, &amd_gcn},
    {"NV5", "Mesa", &nouveau_nv50},
    {"NV8", "Mesa", &nouveau_nv50},
    {"NV9", "Mesa", &nouveau_nv50},
    {"NVA", "Mesa", &nouveau_nv50},
    {"NV", "Mesa", &nouveau},
};

const struct gi_device_class *gi_device_class_find(const char *renderer, const char *version)
{
    for (size_t i = 0; i < COUNT(names); i++) {
        if (strcasestr(renderer, names[i].renderer) &&
            (!version || !names[i].version || strcasestr(version, names[i].version))) {
            return names[i].class;
        }
    }
    return &unknown;
}
