// Attention of a decode step by glsl/attention/heads.glsl: groups of heads of a kv head, for the
// classes of devices that say how (gi_device_class.attention).
#ifndef GI_OPS_ATTENTION_HEADS_H
#define GI_OPS_ATTENTION_HEADS_H

#include "ops/attention/attention.h"

// True if gi_op_attention_heads can do what gi_op_attention does, and the device's class wants it.
bool gi_attention_heads_suits(const struct gi_recorder *recorder, const struct gi_kv_layer *layer);

// Does what gi_op_attention does; has_sums: with sums of out. It must suit. One dispatch.
void gi_op_attention_heads(struct gi_recorder *recorder, const char *label,
                           const struct gi_kv_layer *layer, const struct gi_score_rule *rule,
                           const struct gi_attention_scratch *scratch, bool has_sums);

#endif
