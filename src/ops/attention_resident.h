// Attention of a decode step where groups stay: glsl/attention_resident.comp, a stage of a persistent program.
#ifndef GI_OPS_ATTENTION_RESIDENT_H
#define GI_OPS_ATTENTION_RESIDENT_H

#include "ops/attention.h"

// Whether it can take the place of what gi_op_attention takes elsewhere: groups stay, and the device has
// subgroups of a known size.
bool gi_attention_resident_suits(const struct gi_recorder *recorder,
                                 const struct gi_kv_layer *layer);

// What gi_op_attention does. It must suit. One dispatch.
bool gi_op_attention_resident(struct gi_recorder *recorder, const char *label,
                              const struct gi_kv_layer *layer, const struct gi_score_rule *rule,
                              const struct gi_attention_scratch *scratch,
                              struct glinfer_error *err);

#endif
