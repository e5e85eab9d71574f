// True once the answer has ended and states must no longer change: steps that were submitted after its
// end still run. A walk over stages ends with the answer.
#ifdef STAGE
#define IS_OVER false
#else
#define IS_OVER (state.done != 0u)
#endif
