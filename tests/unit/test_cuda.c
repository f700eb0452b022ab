/* SPDX-License-Identifier: Apache-2.0 */
/* The driver layer over a driver made here: which context each call runs in, what a launch hands over, what
 * is loaded when, and what a capture, a full device or a fault turns into. No GPU is needed. */
#include "tests/rig/faces.h"
#include "jit/cuda/inside.h"
#include "jit/kernel/runtime.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

static const unsigned char cubin[64] = "\177ELF";

/* ---- a driver ------------------------------------------------------------------------- */
enum { CONTEXTS = 6, DEPTH = 8 };
static struct fake {
    char context[CONTEXTS]; /* their addresses are the handles; 0 and 1: the primary ones of GPUs 0 and 1 */
    int device[CONTEXTS];
    unsigned long long id[CONTEXTS];
    void *stack[DEPTH];
    int depth; /* of stack; its top is current */
    int big_clusters, retains, libraries, modules, kernel_attrs, function_attrs, launches, loads_in_strict_mode;
    int mode; /* of capture */
    int capturing, capturing_result, load_result, launch_result, unload_result;
    int syncs, sync_result, allocs_in_strict_mode;
    void *unloaded, *unloaded_in; /* a library or module, and the context */
    int unloads;
    /* of the last launch */
    void *function, *in_context;
    sett__cu_config config;
    sett__cu_attr attr[3];
    unsigned char params[64];
    size_t params_len;
    bool had_extra;
    int most; /* of the last attribute */
    void *registered; /* the last page */
    int registers, unregisters, register_result;
} f;

static int index_of(const void *context)
{
    return (int)((const char *)context - f.context);
}
static void *current(void)
{
    return f.depth ? f.stack[f.depth - 1] : NULL;
}
static sett__cu ctx_get(void **c)
{
    *c = current();
    return 0;
}
static sett__cu ctx_device(sett__cu *d)
{
    if (!current())
        return 201;
    *d = f.device[index_of(current())];
    return 0;
}
static sett__cu ctx_push(void *c)
{
    ck_assert_int_lt(f.depth, DEPTH);
    f.stack[f.depth++] = c;
    return 0;
}
static sett__cu ctx_pop(void **c)
{
    ck_assert_int_gt(f.depth, 0);
    *c = f.stack[--f.depth];
    return 0;
}
static sett__cu ctx_id(void *c, unsigned long long *id)
{
    *id = f.id[index_of(c)];
    return 0;
}
static sett__cu retain(void **c, sett__cu device)
{
    f.retains++;
    *c = &f.context[device - 70];
    return 0;
}
static sett__cu capture_mode(sett__cu *mode)
{
    int was = f.mode;
    f.mode = *mode;
    *mode = was;
    return 0;
}
static sett__cu capturing(void *stream, sett__cu *status)
{
    (void)stream;
    *status = f.capturing;
    return f.capturing_result;
}
static void note_load(void)
{
    f.loads_in_strict_mode += f.mode != SETT__CU_CAPTURE_RELAXED;
}
/* Handles: a library 1000, its kernel 1001; the module of the n-th load 2000 + n, its function 3000 + n. */
/* A driver is given no length, and may read on: from a copy, as nothing of ours need stay, with zeros behind. */
static void check_padding(const void *code)
{
    static const char zeros[4096];
    ck_assert(code != cubin && !memcmp(code, cubin, sizeof cubin));
    ck_assert_mem_eq((const char *)code + sizeof cubin, zeros, sizeof zeros);
}

static sett__cu library_load(
    void **library, const void *code, sett__cu *a, void **b, unsigned n, sett__cu *c, void **d, unsigned m)
{
    (void)a, (void)b, (void)c, (void)d;
    ck_assert(!n && !m);
    check_padding(code);
    note_load();
    f.libraries++;
    *library = (void *)1000;
    return f.load_result;
}
static sett__cu library_kernel(void **kernel, void *library, const char *name)
{
    ck_assert_ptr_eq(library, (void *)1000);
    ck_assert_str_eq(name, "kernel");
    *kernel = (void *)1001;
    return 0;
}
static sett__cu kernel_function(void **function, void *kernel)
{
    ck_assert_ptr_nonnull(current());
    ck_assert_ptr_eq(kernel, (void *)1001);
    *function = (void *)1002;
    return 0;
}
static sett__cu kernel_attr(sett__cu attr, int value, void *kernel, sett__cu device)
{
    ck_assert_ptr_eq(kernel, (void *)1001);
    if (attr == 14) { /* clusters of more than 8 */
        f.big_clusters += value;
        return 0;
    }
    ck_assert_int_eq(attr, 8);
    f.most = value;
    ck_assert(value == 100000 || value == 232448);
    ck_assert_int_ge(device, 70);
    f.kernel_attrs++;
    return 0;
}
static sett__cu module_load(void **module, const void *code)
{
    ck_assert_ptr_nonnull(current());
    check_padding(code);
    note_load();
    *module = (void *)(uintptr_t)(2000 + ++f.modules);
    return f.load_result;
}
static sett__cu library_unload(void *library)
{
    f.unloads++;
    f.unloaded = library;
    return f.unload_result;
}
static sett__cu module_unload(void *module)
{
    f.unloaded_in = current();
    return library_unload(module);
}
static sett__cu alloc(uint64_t *p, size_t bytes)
{
    f.allocs_in_strict_mode += f.mode != SETT__CU_CAPTURE_RELAXED;
    *p = bytes * 256;
    return 0;
}
static sett__cu give_back(uint64_t p)
{
    ck_assert_uint_ne(p, 0);
    f.allocs_in_strict_mode += f.mode != SETT__CU_CAPTURE_RELAXED;
    return 0;
}
static sett__cu stream_sync(void *stream)
{
    (void)stream;
    f.syncs++;
    return f.sync_result;
}
static sett__cu module_function(void **function, void *module, const char *name)
{
    ck_assert_str_eq(name, "kernel");
    *function = (void *)((uintptr_t)module + 1000);
    return 0;
}
static sett__cu function_attr(void *function, sett__cu attr, int value)
{
    f.most = value;
    ck_assert(function && attr == 8 && (value == 100000 || value == 232448));
    f.function_attrs++;
    return 0;
}
static sett__cu launch(const sett__cu_config *config, void *function, void **params, void **extra)
{
    ck_assert_ptr_null(params);
    if ((uintptr_t)config->stream <= 2 && !current())
        return 201;
    f.launches++;
    f.function = function;
    f.in_context = current();
    f.config = *config;
    ck_assert_uint_le(config->n_attrs, SETT__COUNT(f.attr));
    if (config->n_attrs)
        memcpy(f.attr, config->attrs, config->n_attrs * sizeof *f.attr);
    f.had_extra = extra != NULL;
    if (extra) {
        ck_assert(extra[0] == (void *)1 && extra[2] == (void *)2 && extra[4] == NULL);
        f.params_len = *(size_t *)extra[3];
        memcpy(f.params, extra[1], f.params_len);
    }
    return f.launch_result;
}
static sett__cu host_register(void *p, size_t bytes, unsigned flags)
{
    ck_assert(current() && bytes == 4096 && flags == 3 && (uintptr_t)p % 4096 == 0);
    f.registers += !f.register_result;
    f.registered = p;
    return f.register_result;
}
static sett__cu host_unregister(void *p)
{
    ck_assert(p && current());
    f.unregisters++;
    return 0;
}
static sett__cu host_pointer(uint64_t *to, void *p, unsigned flags)
{
    ck_assert(p == f.registered && !flags);
    *to = (uintptr_t)p + 0x1000000; /* need not be the host's */
    return 0;
}
static sett__cu error_name(sett__cu r, const char **name)
{
    *name = r == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_SOME";
    return 0;
}
static sett__cu error_string(sett__cu r, const char **text)
{
    *text = r == 700 ? "an illegal memory access was encountered" : "some error";
    return 0;
}

/* ---- the layer over it ------------------------------------------------------------------- */
static sett__cuda cuda;
static alignas(16) char room[SETT__GPU_KERNEL_BYTES];
static sett__gpu_kernel *kernel;
static sett_error err;
static const sett__launch_dims dims = {{3, 4, 5}, {128, 2, 1}, {1, 1, 1}, 96};

static void start(int gpus, uint32_t smem, bool module_api)
{
    memset(&f, 0, sizeof f);
    for (int i = 0; i < CONTEXTS; i++) {
        f.device[i] = 70 + (i & 1); /* a CUdevice need not be the ordinal */
        f.id[i] = (unsigned long long)i + 1;
    }
    cuda = (sett__cuda){.count = gpus,
        .version = 13000,
        .pid = getpid(),
        .error_name = error_name,
        .error_string = error_string,
        .retain = retain,
        .ctx_get = ctx_get,
        .ctx_device = ctx_device,
        .ctx_push = ctx_push,
        .ctx_pop = ctx_pop,
        .ctx_id = ctx_id,
        .capturing = capturing,
        .capture_mode = capture_mode,
        .module_load = module_load,
        .module_function = module_function,
        .function_attr = function_attr,
        .library_load = library_load,
        .library_kernel = library_kernel,
        .kernel_function = kernel_function,
        .kernel_attr = kernel_attr,
        .library_unload = library_unload,
        .module_unload = module_unload,
        .alloc = alloc,
        .free = give_back,
        .stream_sync = stream_sync,
        .host_register = host_register,
        .host_unregister = host_unregister,
        .host_pointer = host_pointer,
        .launch = launch};
    ck_assert_int_eq(pthread_mutex_init(&cuda.lock, NULL), 0);
    for (int i = 0; i < gpus; i++)
        cuda.gpu[i] = (sett__gpu){.id = 70 + i, .target = "sm_90a", .smem_optin = 232448};
    ck_assert_msg(
        !sett__gpu_kernel_make(&cuda, cubin, sizeof cubin, "kernel", smem, module_api, kernel = (sett__gpu_kernel *)(void *)room, &err), "%s", err.text);
}

static void stop(void)
{
    ck_assert_int_eq(f.loads_in_strict_mode, 0);
    ck_assert_int_eq(f.mode, 0); /* given back */
    if (kernel)
        sett__gpu_kernel_end(kernel);
    sett__cuda_pages_free(&cuda);
    ck_assert_int_eq(f.unregisters, f.registers);
    pthread_mutex_destroy(&cuda.lock);
}

static sett_status launch_with(int device, void *stream, const sett__launch_dims *d, void *params, size_t len)
{
    sett__shot shot;
    sett_status s = sett__gpu_aim(&shot, kernel, NULL, (sett_stream){device, stream}, d, params, len, &err);
    return s ? s : sett__gpu_shoot(&shot, stream, params, &err);
}

static sett_status go(int device, void *stream)
{
    unsigned char params[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    return launch_with(device, stream, &dims, params, sizeof params);
}

static sett_status shoot(void *stream, const sett__launch_dims *d)
{
    sett__shot shot;
    sett_status s = sett__gpu_aim(&shot, kernel, (void *)1001, (sett_stream){0, NULL}, d, NULL, 0, &err);
    return s ? s : sett__gpu_shoot(&shot, stream, NULL, &err);
}

#define STREAM ((void *)0x5000)

START_TEST(launch_hands_over)
{
    start(1, 0, false);
    ck_assert_msg(!go(0, STREAM), "%s", err.text);
    const uint32_t want[] = {3, 4, 5, 128, 2, 1, 96};
    ck_assert_mem_eq(&f.config, want, sizeof want);
    ck_assert_ptr_eq(f.config.stream, STREAM);
    ck_assert_uint_eq(f.config.n_attrs, 0);
    ck_assert_ptr_eq(f.function, (void *)1001); /* the kernel itself: no context's function */
    ck_assert_uint_eq(f.params_len, 8);
    ck_assert_mem_eq(f.params, "\1\2\3\4\5\6\7\10", 8);
    sett__launch_dims clustered = dims;
    clustered.cluster[1] = 2;
    clustered.smem = 49153;
    ck_assert_int_eq(shoot(STREAM, &clustered), SETT_OK);
    ck_assert(f.config.n_attrs == 1 && f.attr[0].id == 4 && f.attr[0].value.cluster.x == 1 && f.attr[0].value.cluster.y == 2);
    ck_assert_uint_eq(f.config.smem, 49153);
    ck_assert(!f.had_extra); /* a kernel without parameters */
    sett__gpu_early(kernel);
    ck_assert(!shoot(STREAM, &clustered) && f.config.n_attrs == 2);
    ck_assert(f.attr[0].id == 4 && f.attr[1].id == 6 && f.attr[1].value.early == 1);
    ck_assert(!go(0, STREAM) && f.config.n_attrs == 1 && f.attr[0].id == 6 && f.attr[0].value.early == 1);
    sett__gpu_launched(kernel, true, false);
    ck_assert(!shoot(STREAM, &clustered) && f.config.n_attrs == 3 && f.attr[2].id == 2 && f.attr[2].value.cooperative == 1);
    stop();
}
END_TEST

/* A kernel whose launches add shared memory may take all that the device has, and no more. */
START_TEST(launches_add_shared_memory)
{
    start(1, 64, _i);
    sett__gpu_more_smem(kernel);
    sett__launch_dims d = dims;
    d.smem = 232448;
    unsigned char params[8] = {0};
    ck_assert_msg(!launch_with(0, STREAM, &d, params, sizeof params), "%s", err.text);
    ck_assert_uint_eq(f.config.smem, 232448);
    ck_assert_int_eq(f.most, 232448);
    d.smem++;
    ck_assert_int_eq(launch_with(0, STREAM, &d, params, sizeof params), SETT_E_LIMIT);
    ck_assert_str_eq(err.text, "kernel: 232449 bytes of shared memory a block, of which the launch adds 232385; GPU 0 (sm_90a) has 232448");
    stop();
}
END_TEST

START_TEST(takes_big_clusters)
{
    for (int big = 0; big < 2; big++) {
        start(1, 0, false);
        sett__gpu_launched(kernel, false, big);
        ck_assert_msg(!sett__gpu_prepare(kernel, 0, &err), "%s", err.text);
        ck_assert_int_eq(f.big_clusters, big);
        stop();
    }
}
END_TEST

START_TEST(loads_once)
{
    start(2, 100000, false);
    ck_assert(!sett__gpu_prepared(kernel, 0) && !sett__gpu_function(kernel, 0));
    ck_assert_int_eq(f.libraries, 0); /* asking loads nothing */
    ck_assert_msg(!sett__gpu_prepare(kernel, 0, &err), "%s", err.text);
    ck_assert(sett__gpu_prepared(kernel, 0) && !sett__gpu_prepared(kernel, 1));
    ck_assert_msg(!go(0, STREAM), "%s", err.text);
    ck_assert_int_eq(f.kernel_attrs, 1);
    ck_assert_msg(!go(1, STREAM), "%s", err.text);
    ck_assert_int_eq(f.kernel_attrs, 2); /* a device has its own */
    ck_assert_int_eq(f.libraries, 1);
    ck_assert_int_eq(f.depth, 0);
    ck_assert(!sett__gpu_prepared(kernel, 2) && !sett__gpu_prepared(kernel, -1));
    stop();
}
END_TEST

/* No current context: the primary one for the call; one of the device: that; one of another: the primary one. */
START_TEST(context_of_a_default_stream)
{
    for (int gpus = 1; gpus <= 2; gpus++) {
        start(gpus, 0, false);
        ck_assert_msg(!go(0, NULL), "%s", err.text);
        ck_assert_ptr_eq(f.in_context, &f.context[0]);
        ck_assert_msg(!go(0, NULL), "%s", err.text); /* prepared by now */
        ck_assert_ptr_eq(f.in_context, &f.context[0]);
        for (int i = 0; i < 2; i++) {
            ck_assert_int_eq(shoot(NULL, &dims), SETT_OK);
            ck_assert_ptr_eq(f.in_context, &f.context[0]);
        }
        ck_assert_int_eq(f.depth, 0);
        ctx_push(&f.context[2]); /* of device 0, not its primary one */
        ck_assert_msg(!go(0, NULL), "%s", err.text);
        ck_assert_ptr_eq(f.in_context, &f.context[2]);
        ck_assert_int_eq(shoot((void *)2, &dims), SETT_OK);
        ck_assert_ptr_eq(f.in_context, &f.context[2]);
        if (gpus == 2) {
            ctx_push(&f.context[3]); /* of device 1 */
            ck_assert_msg(!go(0, NULL), "%s", err.text);
            ck_assert_ptr_eq(f.in_context, &f.context[0]);
            ck_assert_int_eq(shoot((void *)1, &dims), SETT_OK);
            ck_assert_ptr_eq(f.in_context, &f.context[0]);
            ck_assert_msg(!go(1, NULL), "%s", err.text);
            ck_assert_ptr_eq(f.in_context, &f.context[3]);
            ck_assert_ptr_eq(current(), &f.context[3]); /* as found */
        }
        ck_assert_int_eq(f.retains, 1); /* once an engine */
        stop();
    }
}
END_TEST

START_TEST(modules_by_context)
{
    start(2, 100000, true);
    ck_assert_msg(!go(0, STREAM), "%s", err.text);
    ck_assert_ptr_eq(f.function, (void *)3001);
    ck_assert_msg(!go(0, STREAM), "%s", err.text);
    ck_assert_int_eq(f.modules, 1);
    ctx_push(&f.context[2]);
    ck_assert(!sett__gpu_prepared(kernel, 0)); /* in this context */
    ck_assert_msg(!go(0, STREAM), "%s", err.text);
    ck_assert_ptr_eq(f.function, (void *)3002);
    ck_assert_ptr_eq(sett__gpu_function(kernel, 0), (void *)3002);
    f.id[2] = 99; /* destroyed, and another one made at its address */
    ck_assert_msg(!go(0, STREAM), "%s", err.text);
    ck_assert_ptr_eq(f.function, (void *)3003);
    ck_assert_msg(!go(1, STREAM), "%s", err.text);
    ck_assert_ptr_eq(f.function, (void *)3004);
    ck_assert_int_eq(f.function_attrs, 4);
    ck_assert_int_eq(f.libraries, 0);
    ck_assert_ptr_eq(current(), &f.context[2]);
    stop();
}
END_TEST

/* An old driver has no libraries: the same without being asked. */
START_TEST(modules_where_no_libraries)
{
    start(1, 0, false);
    sett__gpu_kernel_end(kernel);
    cuda.library_load = NULL;
    cuda.ctx_id = NULL;
    cuda.capture_mode = NULL;
    f.mode = SETT__CU_CAPTURE_RELAXED; /* nothing to set it by */
    ck_assert_int_eq(sett__gpu_kernel_make(&cuda, cubin, sizeof cubin, "kernel", 0, false, kernel, &err), SETT_OK);
    ck_assert_msg(!go(0, STREAM), "%s", err.text);
    ck_assert_msg(!go(0, STREAM), "%s", err.text);
    ck_assert_int_eq(f.modules, 1);
    f.mode = 0;
    stop();
}
END_TEST

/* _i: by modules. Result 906: the default stream while another one is captured. */
START_TEST(captures)
{
    start(1, 0, _i);
    f.capturing = 1;
    ck_assert_int_eq(go(0, STREAM), SETT_E_CAPTURING);
    ck_assert_msg(strstr(err.text, "kernel is not prepared for GPU 0") != NULL, "%s", err.text);
    f.capturing = 0;
    f.capturing_result = 906;
    ck_assert_int_eq(go(0, NULL), SETT_E_CAPTURING);
    ck_assert(f.libraries == 0 && f.modules == 0 && f.launches == 0);
    f.capturing_result = 0;
    ck_assert_msg(!sett__gpu_prepare(kernel, 0, &err), "%s", err.text);
    f.capturing = 1;
    ck_assert_msg(!go(0, STREAM), "%s", err.text);
    ck_assert_int_eq(f.launches, 1);
    f.capturing = 0;
    stop();
}
END_TEST

/* Waiting for a captured stream would end the capture; allocating is no business of another stream's. */
START_TEST(sync_and_memory_beside_a_capture)
{
    start(1, 0, false);
    f.capturing = 1;
    ck_assert_int_eq(sett__cuda_sync(&cuda, (sett_stream){0, STREAM}, &err), SETT_E_CAPTURING);
    ck_assert_str_eq(err.text, "the stream is being captured: waiting for it would end the capture");
    f.capturing = 0;
    f.capturing_result = 906; /* the default stream would wait for the captured one */
    ck_assert_int_eq(sett__cuda_sync(&cuda, (sett_stream){0, NULL}, &err), SETT_E_CAPTURING);
    ck_assert_int_eq(f.syncs, 0);
    void *p = sett__cuda_alloc(&cuda, 0, 3);
    ck_assert_ptr_eq(p, (void *)768);
    sett__cuda_free(&cuda, 0, p);
    ck_assert_int_eq(f.allocs_in_strict_mode, 0);
    f.capturing_result = 0;
    ck_assert_int_eq(sett__cuda_sync(&cuda, (sett_stream){0, NULL}, &err), SETT_OK);
    ck_assert_int_eq(f.syncs, 1);
    stop();
}
END_TEST

START_TEST(unload_library)
{
    start(2, 100000, false);
    ck_assert_int_eq(sett__gpu_unload(kernel, &err), SETT_OK); /* never loaded */
    ck_assert_int_eq(f.unloads, 0);
    ck_assert_msg(!go(0, STREAM) && !go(1, STREAM), "%s", err.text);
    ck_assert_int_eq(sett__gpu_unload(kernel, &err), SETT_OK);
    ck_assert_ptr_eq(f.unloaded, (void *)1000);
    ck_assert(!sett__gpu_prepared(kernel, 0) && !sett__gpu_prepared(kernel, 1) && !sett__gpu_function(kernel, 0));
    ck_assert_int_eq(sett__gpu_unload(kernel, &err), SETT_OK);
    ck_assert_int_eq(f.unloads, 1);
    ck_assert_msg(!go(0, STREAM), "%s", err.text); /* again, attributes and all */
    ck_assert_int_eq(f.libraries, 2);
    ck_assert_int_eq(f.kernel_attrs, 3);
    f.unload_result = 4; /* the driver is going, and the code with it */
    ck_assert_int_eq(sett__gpu_unload(kernel, &err), SETT_OK);
    stop();
}
END_TEST

START_TEST(unload_modules)
{
    start(2, 0, true);
    ck_assert_msg(!go(0, STREAM), "%s", err.text);
    ctx_push(&f.context[2]);
    ck_assert_msg(!go(0, STREAM), "%s", err.text);
    f.id[2] = 99; /* destroyed, and its module with it */
    ck_assert_int_eq(sett__gpu_unload(kernel, &err), SETT_OK);
    ck_assert_int_eq(f.unloads, 1);
    ck_assert_ptr_eq(f.unloaded, (void *)2001);
    ck_assert_ptr_eq(f.unloaded_in, &f.context[0]);
    ck_assert_ptr_eq(current(), &f.context[2]); /* as found */
    ck_assert_msg(!go(0, STREAM), "%s", err.text);
    ck_assert_int_eq(f.modules, 3);
    f.unload_result = 1;
    ck_assert_int_eq(sett__gpu_unload(kernel, &err), SETT_E_DRIVER);
    ck_assert_msg(!go(0, STREAM), "%s", err.text); /* it is still there */
    ck_assert_int_eq(f.modules, 3);
    stop();
}
END_TEST

/* The results of which cuda.h says that the process must be ended, and some that are none. */
static const short faults[] = {226, 700, 702, 714, 715, 716, 717, 718, 719, 721, 810, 911, 1, 2, 209, 701, 710, 900, 999};
enum { LASTING = 12 };
START_TEST(faults_that_stay)
{
    bool lasting = _i < LASTING;
    char text[512], want[32];
    start(1, 0, false);
    sett__cuda_describe(&cuda, &(sett__sink){.buf = text, .cap = sizeof text});
    ck_assert_ptr_nonnull(strstr(text, "driver: "));
    ck_assert_ptr_null(strstr(text, "fault"));
    ck_assert_msg(!go(0, STREAM), "%s", err.text); /* loads the kernel */
    f.sync_result = faults[_i];
    ck_assert_int_ne(sett__cuda_sync(&cuda, (sett_stream){0, STREAM}, &err), SETT_OK);
    f.sync_result = 0;
    if (!lasting) {
        ck_assert_msg(!go(0, STREAM), "%s", err.text);
        ck_assert_int_eq(sett__cuda_sync(&cuda, (sett_stream){0, STREAM}, &err), SETT_OK);
        stop();
        return;
    }
    int syncs = f.syncs, libraries = f.libraries;
    ck_assert_int_eq(sett__cuda_error(&cuda, 721, "cuX", NULL), SETT_E_FAULT); /* no news: the first is told */
    snprintf(want, sizeof want, "(%d): ", faults[_i]);
    ck_assert_int_eq(sett__cuda_sync(&cuda, (sett_stream){0, STREAM}, &err), SETT_E_FAULT);
    ck_assert_msg(!strncmp(err.text, "an earlier fault: CUDA_ERROR_", 29) && strstr(err.text, want), "%s", err.text);
    ck_assert_int_eq(sett__gpu_prepare(kernel, 0, &err), SETT_E_FAULT);
    ck_assert_ptr_null(sett__cuda_alloc(&cuda, 0, 64));
    sett__cuda_describe(&cuda, &(sett__sink){.buf = text, .cap = sizeof text});
    ck_assert_msg(strstr(text, "\nfault: an earlier fault: CUDA_ERROR_") != NULL, "%s", text);
    ck_assert(f.syncs == syncs && f.libraries == libraries); /* the driver was not asked */
    ck_assert_int_eq(go(0, NULL), SETT_E_FAULT); /* a ruined context is no current one to the driver */
    stop();
}
END_TEST

START_TEST(limits_and_numbers)
{
    start(1, 232449, false);
    ck_assert_int_eq(go(0, STREAM), SETT_E_LIMIT);
    ck_assert_msg(strstr(err.text, "kernel: 232449 bytes of shared memory a block; GPU 0 (sm_90a) has 232448") != NULL,
        "%s", err.text);
    ck_assert_int_eq(go(1, STREAM), SETT_E_NO_DEVICE);
    ck_assert_int_eq(go(-1, STREAM), SETT_E_NO_DEVICE);
    ck_assert_int_eq(sett__gpu_prepare(kernel, 7, &err), SETT_E_NO_DEVICE);
    ck_assert_int_eq(f.depth, 0);
    stop();
}
END_TEST

START_TEST(not_a_cubin)
{
    start(1, 0, false);
    ck_assert_int_eq(sett__gpu_kernel_make(&cuda, "hello", 5, "kernel", 0, false, kernel, &err), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett__gpu_kernel_make(&cuda, NULL, 64, "kernel", 0, false, kernel, &err), SETT_E_ARGUMENT);
    stop();
}
END_TEST

START_TEST(after_a_fork)
{
    start(1, 0, false);
    cuda.pid++;
    ck_assert_int_eq(go(0, STREAM), SETT_E_FORKED);
    ck_assert_int_eq(sett__gpu_prepare(kernel, 0, &err), SETT_E_FORKED);
    ck_assert_int_eq(f.launches, 0);
    stop();
}
END_TEST

static const struct {
    int result;
    sett_status status;
} results[] = {{1, SETT_E_DRIVER}, {2, SETT_E_MEMORY}, {100, SETT_E_NO_DEVICE}, {201, SETT_E_DRIVER},
    {209, SETT_E_TARGET}, {222, SETT_E_TARGET}, {700, SETT_E_FAULT}, {701, SETT_E_LIMIT}, {710, SETT_E_FAULT},
    {716, SETT_E_FAULT}, {719, SETT_E_FAULT}, {720, SETT_E_DRIVER}, {900, SETT_E_CAPTURING}, {906, SETT_E_CAPTURING},
    {999, SETT_E_DRIVER}};

START_TEST(results_are_ours)
{
    start(1, 0, _i & 1);
    f.launch_result = results[_i].result;
    ck_assert_int_eq(go(0, STREAM), results[_i].status);
    ck_assert_int_eq(err.status, results[_i].status);
    ck_assert_msg(!strncmp(err.text, "cuLaunchKernelEx: CUDA_ERROR_", 29), "%s", err.text);
    f.launch_result = 0;
    /* The driver is asked again, unless a context must be entered in a process that has had its fault. */
    ck_assert_int_eq(go(0, STREAM), cuda.fault && _i & 1 ? SETT_E_FAULT : SETT_OK);
    ck_assert_int_eq(f.depth, 0);
    stop();
}
END_TEST

/* Code that does not load: told each time, and nothing is left behind. */
START_TEST(load_fails)
{
    start(1, 0, _i);
    f.load_result = 209;
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(go(0, NULL), SETT_E_TARGET);
        ck_assert(!sett__gpu_prepared(kernel, 0));
        ck_assert_int_eq(f.depth, 0);
    }
    f.load_result = 0;
    ck_assert_msg(!go(0, NULL), "%s", err.text);
    stop();
}
END_TEST

/* ---- assertions ------------------------------------------------------------------------------ */
static sett__claim said[] = {{"i = %d of %lld, 100%%", "k.c", "\4\5", 31, 7}, {"x is %f", NULL, "\16", 0, 9}};
static const sett__sig two_claims = {.n_claim = 2, .claim = said};

/* As the kernel's thread does. */
static void write_down(const sett__failure *what)
{
    sett__failure *to = f.registered;
    memcpy(&to->claim, &what->claim, sizeof *to - sizeof to->state);
    __atomic_store_n(&to->state, SETT__FAILURE_TOLD, __ATOMIC_RELEASE);
}

static const sett__failure first = {0, 0, {1, 2, 3}, {4, 5, 6}, {(uint32_t)-2, (uint64_t)1 << 40}},
                           second = {0, 1, {0}, {9, 0, 0}, {0x4004000000000000}};
#define FIRST "k.c:31: assertion failed: i = -2 of 1099511627776, 100%, block (1,2,3) thread (4,5,6)"
#define SECOND "op 9 of the tape: assertion failed: x is 2.500000, block (0,0,0) thread (9,0,0)"

START_TEST(assertions_are_told)
{
    start(2, 0, _i);
    ck_assert(!sett__gpu_claims(kernel, &two_claims, &err));
    ck_assert_msg(!go(0, NULL), "%s", err.text);
    uint64_t to;
    memcpy(&to, f.params, 8); /* the end of the block, which is all of it here */
    ck_assert_uint_eq(to, (uintptr_t)f.registered + 0x1000000);
    ck_assert_msg(!go(0, STREAM), "%s", err.text);
    ck_assert_int_eq(f.registers, 1);
    const sett_stream s = {0, NULL}, other = {1, NULL};
    ck_assert_msg(!sett__cuda_sync(&cuda, s, &err), "%s", err.text);
    write_down(&first);
    ck_assert_int_eq(sett__cuda_sync(&cuda, other, &err), SETT_OK); /* of another device */
    ck_assert_int_eq(sett__cuda_sync(&cuda, s, &err), SETT_E_FAULT);
    ck_assert_str_eq(err.text, FIRST);
    ck_assert_int_eq(sett__cuda_sync(&cuda, s, &err), SETT_OK); /* once */
    ck_assert_int_eq(atomic_load(&cuda.fault), 0);              /* none that stays */
    ck_assert_msg(!go(0, NULL), "%s", err.text);
    write_down(&second);
    ck_assert_int_eq(sett__cuda_failed(&cuda, 0, &err), SETT_E_FAULT);
    ck_assert_str_eq(err.text, SECOND);
    ((sett__failure *)f.registered)->state = SETT__FAILURE_TAKEN; /* still being written */
    ck_assert_int_eq(sett__cuda_failed(&cuda, 0, &err), SETT_OK);
    stop();
}
END_TEST

/* A number that is no device's is told beside what there is: none, one, several. */
START_TEST(devices_that_are_not_there)
{
    static const struct { int gpus; const char *text; } t[] = {
        {0, "device 99: there is no driver"}, {1, "device 99: there is one GPU, 0"}, {8, "device 99: there are 8 GPUs, 0 to 7"}};
    static sett__runtime r = {.no_cuda = "there is no driver"};
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        sett__cuda counted = {.count = t[i].gpus};
        int device = 99;
        r.cuda = t[i].gpus ? &counted : NULL;
        ck_assert(!sett__device(&r, &device, &err));
        ck_assert_str_eq(err.text, t[i].text);
    }
}
END_TEST

/* A launch may be under way when the handle goes; memory that a broken kernel wrote is not believed. */
START_TEST(assertions_outlive_the_handle)
{
    start(1, 0, false);
    ck_assert(!sett__gpu_claims(kernel, &two_claims, &err) && !go(0, NULL));
    sett__gpu_kernel_end(kernel);
    kernel = NULL;
    write_down(&first);
    ck_assert_int_eq(sett__cuda_failed(&cuda, 0, &err), SETT_E_FAULT);
    ck_assert_str_eq(err.text, FIRST);
    const sett__failure none = {.claim = 2};
    write_down(&none);
    ck_assert_int_eq(sett__cuda_failed(&cuda, 0, &err), SETT_E_FAULT);
    ck_assert_str_eq(err.text, "kernel: an assertion failed, which its report does not name");
    stop();
}
END_TEST

START_TEST(assertions_without_a_page)
{
    start(1, 0, false);
    f.register_result = 801;
    ck_assert(!sett__gpu_claims(kernel, &two_claims, &err));
    ck_assert_int_eq(go(0, NULL), SETT_E_DRIVER);
    ck_assert_ptr_nonnull(strstr(err.text, "cuMemHostRegister"));
    ck_assert(!sett__gpu_prepared(kernel, 0));
    f.register_result = 0;
    ck_assert_msg(!go(0, NULL), "%s", err.text);
    stop();
}
END_TEST

Suite *cuda_suite(void)
{
    Suite *s = suite_create("cuda");
    TCase *t = tcase_create("driver");
    tcase_add_test(t, launch_hands_over);
    tcase_add_loop_test(t, launches_add_shared_memory, 0, 2);
    tcase_add_test(t, takes_big_clusters);
    tcase_add_test(t, loads_once);
    tcase_add_test(t, context_of_a_default_stream);
    tcase_add_test(t, modules_by_context);
    tcase_add_test(t, modules_where_no_libraries);
    tcase_add_loop_test(t, captures, 0, 2);
    tcase_add_test(t, sync_and_memory_beside_a_capture);
    tcase_add_test(t, unload_library);
    tcase_add_test(t, unload_modules);
    tcase_add_loop_test(t, faults_that_stay, 0, (int)SETT__COUNT(faults));
    tcase_add_test(t, limits_and_numbers);
    tcase_add_test(t, not_a_cubin);
    tcase_add_test(t, after_a_fork);
    tcase_add_loop_test(t, results_are_ours, 0, (int)SETT__COUNT(results));
    tcase_add_loop_test(t, load_fails, 0, 2);
    tcase_add_loop_test(t, assertions_are_told, 0, 2);
    tcase_add_test(t, assertions_outlive_the_handle);
    tcase_add_test(t, devices_that_are_not_there);
    tcase_add_test(t, assertions_without_a_page);
    suite_add_tcase(s, t);
    return s;
}
