// Sums that a producer of x stores after it for the dot products that follow: of each half of a
// block, 16 elements, so that not every row adds them up again. They begin at the end of x, rounded up
// to 64 floats.
#ifndef WRITE_SUMS
#define WRITE_SUMS 0
#endif
#define SUM_SIZE 16u

uint sums_begin(uint n)
{
    return (n + 63u) / 64u * 64u;
}
