// Begins the groups of a dispatch, along the axis that its op names divisible: one that would
// outlast a time box runs in pieces of some groups each (gpu/dispatch/time_box.h). 0 but for those.
// A stage of a larger program, whose own uniform has that location, is never divided.
#ifdef STAGE
#define first_group 0u
#else
layout(location = 0) uniform uint first_group;
#endif
