// Settings from the variables GLINFER_... of the environment, for comparing and for finding faults;
// users have none: all zero. Whoever opens a device reads them once, and the gpu carries them
// (gi_gpu_settings) as borrowed; tests fill the struct themselves. Knows no GL calls.
#pragma once

#include "gpu/device/gpu.h"
#include "gpu/device/kernel_shape.h"

// How grids that change are dispatched.
enum gi_dispatch_mode {
    GI_DISPATCH_MODE_AUTO, // as the device's class says
    GI_DISPATCH_MODE_DIRECT,
    GI_DISPATCH_MODE_INDIRECT, // every grid, those that never change too
};

enum gi_choice {
    GI_CHOICE_NONE, // the device's to say
    GI_CHOICE_NO,
    GI_CHOICE_YES,
};

// Says when an executor that has to be compiled may take steps over from the multi-dispatch one.
enum gi_takeover {
    GI_TAKEOVER_NEVER,
    GI_TAKEOVER_BACKGROUND, // compile in the background, use it if it is faster
    GI_TAKEOVER_AT_ONCE,    // compile before the first answer, use it if it is right
};

struct gi_dispatch_setting {
    bool is_set; // else all is the device's to say
    enum gi_dispatch_mode mode;
    enum gi_takeover takeover;
    uint32_t n_groups, group_size; // of the form of its lists; 0: the device's to say
    bool has_spins;                // max_spins is given; 0 spins: every wait faults
    uint32_t max_spins;
};

enum gi_fault_kind {
    GI_FAULT_NONE,
    GI_FAULT_WRONG,   // the program's results are wrong
    GI_FAULT_SKIP,    // its dispatch does not run
    GI_FAULT_SLOW,    // its dispatch does its work `occurrence` times, 0: 100
    GI_FAULT_LOST,    // its dispatch loses the context
    GI_FAULT_COMPILE, // it does not compile
};

// Breaks programs, for tests: the one whose name in programs.def is `program`, or all whose names
// begin so where it ends in *.
struct gi_fault_setting {
    enum gi_fault_kind kind;
    char program[48];
    uint32_t occurrence; // the one that it happens to, counted from 1; 0: all
};

// Limits that a device is held to, though it may have more; 0: none.
struct gi_limit_setting {
    bool is_es31; // no more than OpenGL ES 3.1 promises
    uint32_t blocks, invocations, shared, alignment, uniform;
};

#define GI_SETTING_PATH_SIZE 4096

struct gi_settings {
    struct gi_dispatch_setting dispatch; // GLINFER_DISPATCH
    struct gi_limit_setting limits;      // GLINFER_LIMITS
    struct {
        bool is_set;
        struct gi_gemv_shape shape;
    } gemv;        // GLINFER_GEMV
    char gemm[32]; // GLINFER_GEMM: a tile's name, few or a shape of few; "": none
    struct {
        bool is_set;
        enum gi_batch_form form;
    } batch;                             // GLINFER_BATCH
    char quirks[512];                    // GLINFER_QUIRKS: rows for quirk.h
    enum gi_choice half;                 // GLINFER_HALF: fast halves, in place of the probe
    enum gi_choice large_pages;          // GLINFER_PAGES
    char glsl_dir[GI_SETTING_PATH_SIZE]; // GLINFER_GLSL_DIR; "": the embedded kernels
    char tuning[GI_SETTING_PATH_SIZE]; // GLINFER_TUNING: off or a file; "": the file of the device
    enum gi_choice selftest;           // GLINFER_SELFTEST
    struct gi_fault_setting fault;     // GLINFER_FAULT
    const struct gi_device_class *device_class; // GLINFER_CLASS; NULL: that of the renderer
};

// Fills *settings from the environment. Warns of each variable that says something unknown and
// leaves it out.
void gi_settings_read(struct gi_settings *settings, const struct gi_log *log);

// Sets one of them as its variable would be; NULL and "" clear it. Returns false, with the setting
// cleared, if the text is not known.
bool gi_settings_set(struct gi_settings *settings, const char *variable, const char *text);

// Returns true if the setting breaks programs of this name in this way.
bool gi_fault_is_of(const struct gi_fault_setting *fault, enum gi_fault_kind kind,
                    const char *program);
