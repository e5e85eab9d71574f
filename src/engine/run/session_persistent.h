// The persistent form of a session's decode steps (persistent/persistent.h): the step recorded a second time for groups of
// one size and made into one program for each way in which it may end. Where the device suits it, the program is
// taken from the cache between two chains, or another process is asked to compile it, while ordinary dispatches give
// the answers; it is tried out, and taken where it is right and faster; what was found is kept
// (persistent/persistent_verdict.h). Nobody waits for any of it. Whatever stands in the way is logged and is no failure,
// but for a lost GPU.
//
// Steps that draw among few (ops/sample/sample_top.h) are whole in it, as greedy ones are. Those that draw among many are one
// dispatch each, up to the logits, and the three of ops/sample/sample_many.h behind it: NVIDIA's compiler (580) takes 5 to 8 s
// for what ends in either of the first two ways, and over 45 for a program that has the last, too.
//
// The compiler is in another process because that of a driver cannot be left alone in this one: NVIDIA's holds up the
// end of a context and of the process for as long as it takes, and all of GL for the last second. What it made is taken
// in 4 ms, or in that second where it keeps no cache of its own.
#ifndef GI_ENGINE_SESSION_PERSISTENT_H
#define GI_ENGINE_SESSION_PERSISTENT_H

#include "engine/run/session.h"

// Records a step that ends in `end`, GI_STEP_END_COUNT: with its logits, and leaves the counts of grids alone:
// session_tables.c.
bool gi_session_record_with(struct glinfer_session *session, struct gi_recorder recorder, int end,
                            struct glinfer_error *err);
// What draws from the logits of the step that was recorded last.
struct gi_dispatch_table *gi_session_record_draw(struct glinfer_session *session,
                                                 struct glinfer_error *err);

// At creation, when the session's tables are sealed. Where GLINFER_DISPATCH asks for it, compiles and tries out what is
// expected, a gi_step_end; GI_STEP_END_COUNT: nothing. Fails with GPU_LOST.
bool gi_session_open_persistent(struct glinfer_session *session, int expected,
                                struct glinfer_error *err);
// Before a generation, the same for what that ends in, if nothing of it was done yet. Fails with CANCELLED, GPU_LOST.
bool gi_session_prepare_persistent(struct glinfer_session *session, enum gi_step_end end,
                                   const struct glinfer_generate_params *params,
                                   struct glinfer_error *err);
// The same wherever the device suits it: what would be done between chains and between answers is done now, compiling
// included, for the tokens that the session holds.
bool gi_session_finish_persistent(struct glinfer_session *session, enum gi_step_end end,
                                  const struct glinfer_generate_params *params,
                                  struct glinfer_error *err);
void gi_session_close_persistent(struct glinfer_session *session);

// What chains that end so take; NULL: ordinary dispatches.
struct gi_persistent *gi_session_persistent(const struct glinfer_session *session,
                                            enum gi_step_end end);
// Submits n_steps of those.
void gi_session_replay_persistent(const struct glinfer_session *session, enum gi_step_end end,
                                  uint32_t n_steps);

// How they are submitted.
enum glinfer_dispatch gi_session_dispatch(const struct glinfer_session *session,
                                          enum gi_step_end end);

// The same as far as it is known from an earlier session; *step_ns is what a step took in one dispatch when that was
// tried out, 0 if it never was. Compiles nothing.
enum glinfer_dispatch gi_session_recall_dispatch(struct glinfer_session *session,
                                                 enum gi_step_end end, uint64_t *step_ns);

// To be called now and then while chains run: looks at what is kept, and has the program compiled, when that is worth
// while. Waits for nothing.
void gi_session_attend_persistent(struct glinfer_session *session, enum gi_step_end end);
// Whether a program was loaded and wants to be tried out in the places of the cache behind n_past.
bool gi_session_wants_trial(const struct glinfer_session *session, enum gi_step_end end,
                            uint32_t n_past);
// Tries it out, and takes it or leaves it for good. No chain is in flight; step_state and the counts of grids are to
// be written again. Fails with GPU_LOST.
bool gi_session_try_persistent(struct glinfer_session *session, enum gi_step_end end,
                               uint32_t n_past, uint32_t token, struct glinfer_error *err);

// Gives all of it up after a fault: later chains are ordinary, and the next session tries it out anew. Fails with
// GPU_LOST.
bool gi_session_drop_persistent(struct glinfer_session *session, struct glinfer_error *err);

#endif
