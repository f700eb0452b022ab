/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges for profilers, by NVTX's own interface and without its headers. A profiler puts the path of its library into
 * $NVTX_INJECTION64_PATH; whoever emits ranges opens that and calls InitializeInjectionNvtx2() with a function that hands out
 * tables of pointers to function pointers, which the library fills. A process that links the older libnvToolsExt.so.1 has
 * the functions by name. In a process without either every range costs one load.
 *
 * The interface hands over nothing of ours, so what it fills is the process's, as the table of forks in cache/lock.c. */
#include "support.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

/* From NVTX's nvtxTypes.h: modules, the functions of CORE2, tables. */
enum { CORE2 = 5, MODULES = 6, RANGE_PUSH = 4, RANGE_POP = 5, DOMAIN_CREATE = 12, FUNCTIONS = 16 };
enum { CALLBACKS = 1, VERSION_INFO = 3, VERSION = 3, MESSAGE_ASCII = 1 };
typedef void function(void);
typedef struct attributes { /* nvtxEventAttributes_v2 */
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const char *message;
} attributes;
static_assert(sizeof(attributes) == 48, "NVTX's ABI");
typedef union slot { /* read at each call, as a profiler may change it at any time */
    function *any;
    void *(*create)(const char *);
    int (*push)(void *domain, const attributes *);
    int (*pop)(void *domain);
    void *address;
} slot;

static slot create, push, pop, ignored;
static void *domain; /* NULL: nobody listens */

static int module_table(int module, function ****table, unsigned *size)
{
    static function **core2[FUNCTIONS + 1], **other[FUNCTIONS + 1];
    if (module < 1 || module > MODULES)
        return 0;
    for (int i = 1; i < FUNCTIONS; i++)
        core2[i] = other[i] = &ignored.any;
    core2[RANGE_PUSH] = &push.any, core2[RANGE_POP] = &pop.any, core2[DOMAIN_CREATE] = &create.any;
    if (size)
        *size = FUNCTIONS;
    if (table)
        *table = module == CORE2 ? core2 : other;
    return 1;
}

static void profiler_version(uint32_t version)
{
    (void)version;
}

static const void *export_table(uint32_t id)
{
    static const struct {
        size_t size;
        int (*table)(int, function ****, unsigned *);
    } callbacks = {sizeof callbacks, module_table};
    static const struct {
        size_t size;
        uint32_t version, reserved;
        void (*told)(uint32_t);
    } info = {sizeof info, VERSION, 0, profiler_version};
    return id == CALLBACKS ? &callbacks : id == VERSION_INFO ? (const void *)&info : NULL;
}

/* A library that refuses is closed again, as NVTX does. */
static void inject(const char *path)
{
    union {
        void *address;
        int (*call)(const void *(*)(uint32_t));
    } start;
    void *lib = dlopen(path, RTLD_LAZY);
    start.address = lib ? dlsym(lib, "InitializeInjectionNvtx2") : NULL;
    if (start.address && start.call(export_table))
        return;
    create.address = NULL;
    if (lib)
        dlclose(lib);
}

static void open_once(void)
{
    const char *path = secure_getenv("NVTX_INJECTION64_PATH");
    void *lib = path && *path ? NULL : dlopen("libnvToolsExt.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (path && *path)
        inject(path);
    if (lib) {
        create.address = dlsym(lib, "nvtxDomainCreateA");
        push.address = dlsym(lib, "nvtxDomainRangePushEx");
        pop.address = dlsym(lib, "nvtxDomainRangePop");
    }
    if (create.address && push.address && pop.address)
        domain = create.create("sett");
}

void sett__ranges_open(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int saved = errno;
    pthread_once(&once, open_once);
    errno = saved;
}

void sett__range_begin(const char *what, const char *name)
{
    char text[160];
    const slot now = {.address = __atomic_load_n(&push.address, __ATOMIC_RELAXED)};
    if (!domain || !now.push)
        return;
    snprintf(text, sizeof text, "%s %s", what, name);
    now.push(domain, &(attributes){.version = VERSION, .size = sizeof(attributes), .message_type = MESSAGE_ASCII, .message = text});
}

void sett__range_end(void)
{
    const slot now = {.address = __atomic_load_n(&pop.address, __ATOMIC_RELAXED)};
    if (domain && now.pop)
        now.pop(domain);
}
