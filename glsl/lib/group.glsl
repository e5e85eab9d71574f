// Groups of WG_SIZE invocations in a row.
#ifndef WG_SIZE
#error "WG_SIZE: invocations of a group"
#endif

layout(local_size_x = WG_SIZE) in;
