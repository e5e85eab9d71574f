// Adds the product of two quads to a sum, element by element: multiply-adds of one register.
#define ADD_PRODUCTS(sum, p, q)                                                                    \
    sum += p.x * q.x;                                                                              \
    sum += p.y * q.y;                                                                              \
    sum += p.z * q.z;                                                                              \
    sum += p.w * q.w;
