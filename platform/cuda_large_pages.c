#include "platform/cuda_large_pages.h"

#include "base/array.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

// Constants of CUDA's driver API. Its functions return 0 or an error's number.
enum {
    CU_SUCCESS = 0,
    CU_ERROR_OUT_OF_MEMORY = 2,
    CU_ALLOCATION_PINNED = 1,
    CU_LOCATION_DEVICE = 1,
    CU_HANDLE_POSIX_FD = 1,
    CU_GRANULARITY_RECOMMENDED = 1,
};

// CUmemAllocationProp.
struct cu_allocation {
    int type, handle_types;
    int location_type, location_id;
    void *win32_handle;
    uint8_t is_compressible, is_rdma_capable;
    uint16_t usage;
    uint8_t reserved[4];
};

struct gi_cuda_pages {
    void *library;
    struct cu_allocation allocation; // in a device's memory, to be shared
    size_t page_size;
    struct {
        int (*init)(unsigned int flags);
        int (*device_count)(int *count);
        int (*device_get)(int *device, int ordinal);
        int (*device_uuid)(uint8_t uuid[GI_UUID_SIZE], int device);
        int (*granularity)(size_t *size, const struct cu_allocation *allocation, int option);
        int (*create)(unsigned long long *handle, size_t size,
                      const struct cu_allocation *allocation, unsigned long long flags);
        int (*export)(void *fd, unsigned long long handle, int type, unsigned long long flags);
        int (*release)(unsigned long long handle);
    } cu;
};

// In the order of struct cu; an older libcuda may have the second name alone.
static const char *const function_names[][2] = {
    {"cuInit"},
    {"cuDeviceGetCount"},
    {"cuDeviceGet"},
    {"cuDeviceGetUuid_v2", "cuDeviceGetUuid"},
    {"cuMemGetAllocationGranularity"},
    {"cuMemCreate"},
    {"cuMemExportToShareableHandle"},
    {"cuMemRelease"},
};

static bool load(struct gi_cuda_pages *pages, struct glinfer_error *err)
{
    enum { N = sizeof(function_names) / sizeof(function_names[0]) };
    void *found[N];
    _Static_assert(sizeof(found) == sizeof(pages->cu), "a name a function");
    // Never unloaded: the driver keeps threads and handlers of its own.
    pages->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!pages->library) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED, "there is no libcuda.so.1");
    }
    for (size_t i = 0; i < N; i++) {
        const char *older = function_names[i][1];
        found[i] = dlsym(pages->library, function_names[i][0]);
        found[i] = found[i] || !older ? found[i] : dlsym(pages->library, older);
        if (!found[i]) {
            return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                                "libcuda.so.1 cannot share memory: it is older than 10.2");
        }
    }
    // POSIX has a pointer to a function fit into a pointer to data; C has no cast for it.
    memcpy(&pages->cu, found, sizeof(found));
    return true;
}

static bool find_device(struct gi_cuda_pages *pages, const uint8_t wanted[GI_UUID_SIZE],
                        struct glinfer_error *err)
{
    int count = 0, device;
    int status = pages->cu.init(0);
    status = status == CU_SUCCESS ? pages->cu.device_count(&count) : status;
    if (status != CU_SUCCESS) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "libcuda.so.1 does not start (error %d)", status);
    }
    for (int i = 0; i < count; i++) {
        uint8_t uuid[GI_UUID_SIZE];
        if (pages->cu.device_get(&device, i) == CU_SUCCESS &&
            pages->cu.device_uuid(uuid, device) == CU_SUCCESS &&
            memcmp(uuid, wanted, GI_UUID_SIZE) == 0) {
            pages->allocation = (struct cu_allocation){.type = CU_ALLOCATION_PINNED,
                                                       .handle_types = CU_HANDLE_POSIX_FD,
                                                       .location_type = CU_LOCATION_DEVICE,
                                                       .location_id = device};
            return true;
        }
    }
    return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                        "libcuda.so.1 has %d devices and not the one that GL draws on", count);
}

static bool read_page_size(struct gi_cuda_pages *pages, struct glinfer_error *err)
{
    const int status =
        pages->cu.granularity(&pages->page_size, &pages->allocation, CU_GRANULARITY_RECOMMENDED);
    return (status == CU_SUCCESS && pages->page_size > 0) ||
           gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                        "libcuda.so.1 cannot share memory of this device (error %d)", status);
}

struct gi_cuda_pages *gi_cuda_pages_open(struct glinfer_error *err)
{
    struct gi_cuda_pages *pages = gi_array_zeroed(1, sizeof(*pages), "large pages", err);
    if (!pages) {
        return NULL;
    }
    if (!load(pages, err)) {
        gi_cuda_pages_close(pages);
        return NULL;
    }
    return pages;
}

bool gi_cuda_pages_choose(struct gi_cuda_pages *pages, const uint8_t uuid[GI_UUID_SIZE],
                          struct glinfer_error *err)
{
    return find_device(pages, uuid, err) && read_page_size(pages, err);
}

void gi_cuda_pages_close(struct gi_cuda_pages *pages)
{
    if (pages && pages->library) {
        dlclose(pages->library);
    }
    free(pages);
}

int gi_cuda_pages_export(struct gi_cuda_pages *pages, uint64_t size, uint64_t *allocated,
                         struct glinfer_error *err)
{
    unsigned long long handle = 0;
    int fd = -1;
    *allocated = (size + pages->page_size - 1) / pages->page_size * pages->page_size;
    int status = pages->cu.create(&handle, (size_t)*allocated, &pages->allocation, 0);
    if (status != CU_SUCCESS) {
        gi_error_set(
            err,
            status == CU_ERROR_OUT_OF_MEMORY ? GLINFER_STATUS_NO_MEMORY : GLINFER_STATUS_DRIVER,
            "libcuda.so.1 gives no %llu bytes (error %d)", (unsigned long long)*allocated, status);
        return -1;
    }
    status = pages->cu.export(&fd, handle, CU_HANDLE_POSIX_FD, 0);
    pages->cu.release(handle); // the descriptor holds the memory from here on
    if (status != CU_SUCCESS) {
        gi_error_set(err, GLINFER_STATUS_DRIVER, "libcuda.so.1 does not share memory (error %d)",
                     status);
        return -1;
    }
    return fd;
}
