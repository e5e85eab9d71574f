// True once the answer is at its end, when what a token leaves behind in a state is not to be changed
// any more: steps that were submitted behind it run all the same. A walk over stages ends with the
// answer.
#ifdef STAGE
#define IS_OVER false
#else
#define IS_OVER (state.done != 0u)
#endif
