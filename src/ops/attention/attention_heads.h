// Attention of a decode step by glsl/attention/heads.glsl: a work group computes several heads of a
// kv head. For device classes that describe the shape (gi_device_class.attention).
#pragma once

#include "ops/attention/attention.h"

// Returns true if gi_op_attention_heads can replace gi_op_attention and the device's class asks
// for it.
bool gi_attention_heads_suits(const struct gi_recorder *recorder, const struct gi_kv_layer *layer);

// Like gi_op_attention; has_sums: also writes the sums of the output. gi_attention_heads_suits must
// hold. One dispatch.
void gi_op_attention_heads(struct gi_recorder *recorder, const char *label,
                           const struct gi_kv_layer *layer, const struct gi_score_rule *rule,
                           const struct gi_attention_scratch *scratch, bool has_sums);
