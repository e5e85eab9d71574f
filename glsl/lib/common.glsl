// Precision, said once for every kernel.
precision highp float;
precision highp int;

// Waits for a group, and for what it has written to shared memory.
#define group_barrier() memoryBarrierShared(); barrier()
