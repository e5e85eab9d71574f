// Calls of EGL and OpenGL ES that fail on demand, as a driver without memory fails them: with their
// error, without an effect. The linker sends the calls of the code under test here: link with the
// options of FAILING_GL in CMakeLists.txt. Counts the objects that live, too.
#pragma once

#include <stdbool.h>

// Lets n calls pass and refuses all later ones; after a refused call of GL, only calls of GL.
// -1: refuses no call.
void fail_calls_after(long n);
// Lets n calls pass, refuses one and lets all after it pass.
void fail_one_call(long n);
// Refuses no more calls. An error of GL that nothing has read yet stays.
void end_failures(void);
// Returns that error and replaces it: another context does not see it. 0: none.
unsigned exchange_error(unsigned error);
// Returns how many that can fail were made since the last call of either.
long count_calls(void);
// Returns the name of the first that was refused since then; NULL if none was.
const char *first_failed_call(void);
// Returns how many GL objects, fences apart, live in contexts that live; how many fences, contexts.
long count_objects(void);
long count_fences(void);
long count_contexts(void);
