// Makes a driver look poorer than it is: the platform layer of these tests is linked with --wrap,
// so that its calls of EGL pass through here. Everything zero: EGL as it is.
#pragma once

#include <stdbool.h>

#include <EGL/egl.h>

struct fake_egl {
    const char *hidden[4];       // extensions that are not listed, of the client or of a display
    const char *shown;           // an extension that is listed beside the driver's
    bool is_client_1_4;          // libEGL does not tell a version
    bool is_display_1_4;         // eglInitialize reports 1.4
    bool is_dead;                // eglInitialize fails
    EGLint refused[3];           // context attributes that eglCreateContext refuses
    EGLint newest_minor;         // of ES 3; a newer context is refused; 0: any
    EGLint no_current;           // the error that eglMakeCurrent of a context fails with; 0: none
    unsigned reset_status;       // result of glGetGraphicsResetStatus; 0: the driver's
    int reserve_error;           // result of posix_fallocate; 0: the system's
    bool is_disk_full;           // statvfs finds no free block
    int n_terminates, n_tracked; // calls counted; displays that were asked for with references
};

extern struct fake_egl fake_egl;
