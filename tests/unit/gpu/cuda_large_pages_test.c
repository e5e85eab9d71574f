// platform/cuda_large_pages.h against a libcuda made up here: dlopen and dlsym are wrapped.
#include "platform/cuda_large_pages.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/wrap.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { PAGE = 2 << 20, N_DEVICE = 2, OUT_OF_MEMORY = 2 };

// CUmemAllocationProp, as far as it is looked at.
struct allocation {
    int type, handle_types, location_type, location_id;
};

static struct {
    bool is_absent;      // no library
    const char *missing; // a function that it lacks
    int init_status, create_status, export_status;
    size_t created;         // bytes of the last allocation
    int location, released; // its device; handles given back
} fake;

static int cu_init(unsigned int flags)
{
    assert_int_equal(flags, 0);
    return fake.init_status;
}

static int cu_device_count(int *count)
{
    *count = N_DEVICE;
    return 0;
}

static int cu_device_get(int *device, int ordinal)
{
    *device = 10 + ordinal;
    return 0;
}

static int cu_device_uuid(uint8_t uuid[GI_UUID_SIZE], int device)
{
    memset(uuid, device, GI_UUID_SIZE);
    return 0;
}

static int cu_granularity(size_t *size, const struct allocation *allocation, int option)
{
    (void)option;
    assert_int_equal(allocation->type, 1);
    assert_int_equal(allocation->handle_types, 1);
    *size = PAGE;
    return 0;
}

static int cu_create(unsigned long long *handle, size_t size, const struct allocation *allocation,
                     unsigned long long flags)
{
    assert_int_equal(flags, 0);
    assert_int_equal(allocation->location_type, 1);
    fake.created = size;
    fake.location = allocation->location_id;
    *handle = 77;
    return fake.create_status;
}

static int cu_export(void *fd, unsigned long long handle, int type, unsigned long long flags)
{
    assert_int_equal(handle, 77);
    assert_int_equal(type, 1);
    assert_int_equal(flags, 0);
    const int opened = fake.export_status == 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
    memcpy(fd, &opened, sizeof(opened));
    return fake.export_status;
}

static int cu_release(unsigned long long handle)
{
    assert_int_equal(handle, 77);
    fake.released++;
    return 0;
}

WRAP(void *, dlopen, const char *name, int flags)
{
    assert_string_equal(name, "libcuda.so.1");
    assert_true(flags & RTLD_NODELETE);
    return fake.is_absent ? NULL : &fake;
}

WRAP(void *, dlsym, void *library, const char *name)
{
    static const struct {
        const char *name;
        void (*function)(void);
    } functions[] = {
        {"cuInit", (void (*)(void))cu_init},
        {"cuDeviceGetCount", (void (*)(void))cu_device_count},
        {"cuDeviceGet", (void (*)(void))cu_device_get},
        {"cuDeviceGetUuid", (void (*)(void))cu_device_uuid},
        {"cuMemGetAllocationGranularity", (void (*)(void))cu_granularity},
        {"cuMemCreate", (void (*)(void))cu_create},
        {"cuMemExportToShareableHandle", (void (*)(void))cu_export},
        {"cuMemRelease", (void (*)(void))cu_release},
    };
    assert_ptr_equal(library, &fake);
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (strcmp(functions[i].name, name) == 0 &&
            !(fake.missing && strcmp(fake.missing, name) == 0)) {
            void *found;
            memcpy(&found, &functions[i].function, sizeof(found));
            return found;
        }
    }
    return NULL;
}

WRAP(int, dlclose, void *library)
{
    assert_ptr_equal(library, &fake);
    return 0;
}

static struct gi_cuda_pages *open_device(int device, struct glinfer_error *err)
{
    uint8_t uuid[GI_UUID_SIZE];
    memset(uuid, device, sizeof(uuid));
    struct gi_cuda_pages *pages = gi_cuda_pages_open(err);
    if (pages && !gi_cuda_pages_choose(pages, uuid, err)) {
        gi_cuda_pages_close(pages);
        return NULL;
    }
    return pages;
}

static void check_refused(int device, const char *why)
{
    struct glinfer_error err = {0};
    assert_fails(open_device(device, &err), err, UNSUPPORTED, "");
    must(strstr(err.message, why), &err);
}

static int reset(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof(fake));
    return 0;
}

TEST(memory_comes_in_whole_pages_of_the_device)
{
    struct glinfer_error err = {0};
    uint64_t allocated;
    struct gi_cuda_pages *memory = open_device(11, &err);
    assert_non_null(memory);
    const int fd = gi_cuda_pages_export(memory, PAGE + 1, &allocated, &err);
    assert_true(fd >= 0);
    assert_int_equal(allocated, 2 * PAGE);
    assert_int_equal(fake.created, 2 * PAGE);
    assert_int_equal(fake.location, 11);
    assert_int_equal(fake.released, 1);
    assert_int_equal(close(fd), 0);
    gi_cuda_pages_close(memory);
}

TEST(a_machine_without_the_library_is_refused)
{
    fake.is_absent = true;
    check_refused(11, "no libcuda.so.1");
}

TEST(an_old_library_is_refused)
{
    fake.missing = "cuMemExportToShareableHandle";
    check_refused(11, "older than 10.2");
}

TEST(another_device_is_refused)
{
    check_refused(12, "2 devices and not the one");
}

TEST(a_library_that_does_not_start_is_refused)
{
    fake.init_status = 100;
    check_refused(11, "error 100");
}

TEST(a_failed_allocation_says_so)
{
    struct glinfer_error err = {0};
    uint64_t allocated;
    struct gi_cuda_pages *memory = open_device(10, &err);
    assert_non_null(memory);
    fake.create_status = OUT_OF_MEMORY;
    assert_int_equal(gi_cuda_pages_export(memory, PAGE, &allocated, &err), -1);
    assert_int_equal(err.status, GLINFER_STATUS_NO_MEMORY);
    fake.create_status = 0;
    fake.export_status = 801;
    assert_int_equal(gi_cuda_pages_export(memory, PAGE, &allocated, &err), -1);
    assert_int_equal(err.status, GLINFER_STATUS_DRIVER);
    assert_int_equal(fake.released, 1);
    gi_cuda_pages_close(memory);
}

RUN_TESTS_EACH(NULL, NULL, reset, NULL)
