#include "platform/paged_memory.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

// CUDA's driver API as its reference describes it: results are 0 or an error's number.
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

struct gi_paged_memory {
    void *library;
    int device;
    size_t page_size;
    int (*init)(unsigned int flags);
    int (*device_count)(int *count);
    int (*device_get)(int *device, int ordinal);
    int (*device_uuid)(uint8_t uuid[GI_UUID_SIZE], int device);
    int (*granularity)(size_t *size, const struct cu_allocation *allocation, int option);
    int (*create)(unsigned long long *handle, size_t size, const struct cu_allocation *allocation,
                  unsigned long long flags);
    int (*export)(void *fd, unsigned long long handle, int type, unsigned long long flags);
    int (*release)(unsigned long long handle);
};

typedef void (*function_fn)(void);

// POSIX has a pointer to a function fit into a pointer to data; C has no cast for it.
static function_fn find(const struct gi_paged_memory *memory, const char *name)
{
    void *found = dlsym(memory->library, name);
    function_fn function;
    memcpy(&function, &found, sizeof(function));
    return function;
}

static bool load(struct gi_paged_memory *memory, struct glinfer_error *err)
{
    // Never unloaded: the driver keeps threads and handlers of its own.
    memory->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!memory->library) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED, "there is no libcuda.so.1");
    }
    memory->init = (int (*)(unsigned int))find(memory, "cuInit");
    memory->device_count = (int (*)(int *))find(memory, "cuDeviceGetCount");
    memory->device_get = (int (*)(int *, int))find(memory, "cuDeviceGet");
    const function_fn uuid = find(memory, "cuDeviceGetUuid_v2");
    memory->device_uuid = (int (*)(uint8_t *, int))(uuid ? uuid : find(memory, "cuDeviceGetUuid"));
    memory->granularity = (int (*)(size_t *, const struct cu_allocation *, int))find(
        memory, "cuMemGetAllocationGranularity");
    memory->create = (int (*)(unsigned long long *, size_t, const struct cu_allocation *,
                              unsigned long long))find(memory, "cuMemCreate");
    memory->export = (int (*)(void *, unsigned long long, int, unsigned long long))find(
        memory, "cuMemExportToShareableHandle");
    memory->release = (int (*)(unsigned long long))find(memory, "cuMemRelease");
    if (!memory->init || !memory->device_count || !memory->device_get || !memory->device_uuid ||
        !memory->granularity || !memory->create || !memory->export || !memory->release) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "libcuda.so.1 cannot share memory: it is older than 10.2");
    }
    return true;
}

static bool find_device(struct gi_paged_memory *memory, const uint8_t wanted[GI_UUID_SIZE],
                        struct glinfer_error *err)
{
    int count = 0;
    assert(memory->init);
    int status = memory->init(0);
    status = status == CU_SUCCESS ? memory->device_count(&count) : status;
    if (status != CU_SUCCESS) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "libcuda.so.1 does not start (error %d)", status);
    }
    for (int i = 0; i < count; i++) {
        uint8_t uuid[GI_UUID_SIZE];
        if (memory->device_get(&memory->device, i) == CU_SUCCESS &&
            memory->device_uuid(uuid, memory->device) == CU_SUCCESS &&
            memcmp(uuid, wanted, GI_UUID_SIZE) == 0) {
            return true;
        }
    }
    return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                        "libcuda.so.1 has %d devices and not the one that GL draws on", count);
}

static struct cu_allocation describe(const struct gi_paged_memory *memory)
{
    return (struct cu_allocation){.type = CU_ALLOCATION_PINNED,
                                  .handle_types = CU_HANDLE_POSIX_FD,
                                  .location_type = CU_LOCATION_DEVICE,
                                  .location_id = memory->device};
}

static bool read_page_size(struct gi_paged_memory *memory, struct glinfer_error *err)
{
    const struct cu_allocation allocation = describe(memory);
    const int status =
        memory->granularity(&memory->page_size, &allocation, CU_GRANULARITY_RECOMMENDED);
    return (status == CU_SUCCESS && memory->page_size > 0) ||
           gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                        "libcuda.so.1 cannot share memory of this device (error %d)", status);
}

struct gi_paged_memory *gi_paged_memory_open(const uint8_t uuid[GI_UUID_SIZE],
                                             struct glinfer_error *err)
{
    struct gi_paged_memory *memory = calloc(1, sizeof(*memory));
    if (!memory) {
        gi_error_no_memory(err, sizeof(*memory), "large pages");
        return NULL;
    }
    if (!load(memory, err) || !find_device(memory, uuid, err) || !read_page_size(memory, err)) {
        gi_paged_memory_close(memory);
        return NULL;
    }
    return memory;
}

void gi_paged_memory_close(struct gi_paged_memory *memory)
{
    if (memory && memory->library) {
        dlclose(memory->library);
    }
    free(memory);
}

int gi_paged_memory_export(struct gi_paged_memory *memory, uint64_t size, uint64_t *allocated,
                           struct glinfer_error *err)
{
    const struct cu_allocation allocation = describe(memory);
    unsigned long long handle = 0;
    int fd = -1;
    *allocated = (size + memory->page_size - 1) / memory->page_size * memory->page_size;
    int status = memory->create(&handle, (size_t)*allocated, &allocation, 0);
    if (status != CU_SUCCESS) {
        gi_error_set(
            err,
            status == CU_ERROR_OUT_OF_MEMORY ? GLINFER_STATUS_NO_MEMORY : GLINFER_STATUS_DRIVER,
            "libcuda.so.1 gives no %llu bytes (error %d)", (unsigned long long)*allocated, status);
        return -1;
    }
    status = memory->export(&fd, handle, CU_HANDLE_POSIX_FD, 0);
    memory->release(handle); // the descriptor holds the memory from here on
    if (status != CU_SUCCESS) {
        gi_error_set(err, GLINFER_STATUS_DRIVER, "libcuda.so.1 does not share memory (error %d)",
                     status);
        return -1;
    }
    return fd;
}
