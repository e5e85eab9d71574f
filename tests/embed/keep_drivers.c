// Keeps drivers loaded until the process ends, for programs with LeakSanitizer: of a driver that is
// gone it finds neither the variables that hold memory nor the names in lsan.supp.
#include <dlfcn.h>

__attribute__((visibility("default"))) int dlclose(void *handle)
{
    (void)handle;
    return 0;
}
