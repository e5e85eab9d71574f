// The references of all kernels, by the names of their files; reference.c lists them with their
// programs.
#ifndef GI_REFERENCE_KERNELS_H
#define GI_REFERENCE_KERNELS_H

#include "reference/reference.h"

void gi_ref_delta_step(struct gi_ref *ref);
void gi_ref_delta_conv(struct gi_ref *ref);
void gi_ref_delta_scan(struct gi_ref *ref);
void gi_ref_delta_norm(struct gi_ref *ref);
void gi_ref_ssm_step(struct gi_ref *ref);
void gi_ref_ssm_conv(struct gi_ref *ref);
void gi_ref_ssm_scan(struct gi_ref *ref);
void gi_ref_ssm_norm(struct gi_ref *ref);

#endif
