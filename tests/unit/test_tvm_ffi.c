/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel as a function object of apache-tvm-ffi. The three functions of its library that are used stand here, as the process's. */
#include "third_party/dlpack/dlpack.h"
#include "tests/fake/fake_cuda.h"
#include "tests/rig/rig.h"
#include "tests/rig/suite.h"
#include <dlfcn.h>
#include <sett/dlpack.h>
#include <sett/tvm_ffi.h>
#include <stdio.h>
#include <string.h>
#include "tests/rig/tvm_abi.h"


/* ---- libtvm_ffi.so ------------------------------------------------------------------ */
#define EXPORT __attribute__((visibility("default")))
static struct made {
    void *self;
    int (*call)(void *, const any *, int32_t, any *);
    void (*deleter)(void *);
} made;
static char kind[32], text[600];
static struct asked { int type, device, times; void *answer; } asked;
static int create_fails;

EXPORT int TVMFFIFunctionCreate(void *, int (*)(void *, const any *, int32_t, any *), void (*)(void *), void **);
EXPORT void *TVMFFIEnvGetStream(int32_t, int32_t);
EXPORT void TVMFFIErrorSetRaisedFromCStr(const char *, const char *);

int TVMFFIFunctionCreate(void *self, int (*call)(void *, const any *, int32_t, any *), void (*deleter)(void *), void **out)
{
    if (create_fails)
        return -1;
    made = (struct made){self, call, deleter};
    *out = &made;
    return 0;
}

void *TVMFFIEnvGetStream(int32_t type, int32_t device)
{
    asked.type = type, asked.device = device, asked.times++;
    return asked.answer;
}

void TVMFFIErrorSetRaisedFromCStr(const char *k, const char *t)
{
    snprintf(kind, sizeof kind, "%s", k);
    snprintf(text, sizeof text, "%s", t);
}

/* ---- tensors -------------------------------------------------------------------------- */
static float x[16], y[16];
static int64_t four[2] = {4, 4}, strides[2] = {4, 1};

static DLTensor tensor(float *data)
{
    return (DLTensor){.data = data, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = four, .strides = strides};
}

static any number(int type, int64_t i)
{
    return (any){.type = type, .u = {.i = i}};
}

static any pointer(DLTensor *t)
{
    return (any){.type = 7, .u = {.p = t}};
}

static int call(int n, const any *args)
{
    any result = {.type = 3};
    kind[0] = text[0] = 0;
    int r = made.call(made.self, args, n, &result);
    ck_assert(result.type == 0 && (r == 0 || r == -1) && (r == 0) == !kind[0]);
    return r;
}

/* Y = (X + n) a, over an integer and a float. */
static void shifted(sett_build *b, const void *user)
{
    (void)user;
    sett_layout *l = sett_row_major(b, 4, 4);
    sett_tensor *X = sett_param(b, "X", SETT_F32, l), *Y = sett_param(b, "Y", SETT_F32, l);
    sett_val *n = sett_scalar(b, "n", SETT_I32), *a = sett_scalar(b, "a", SETT_F32);
    sett_grid(b, 4);
    sett_block(b, 4);
    sett_val *i = sett_block_idx(b, 0), *j = sett_thread_idx(b, 0);
    sett_set(Y, sett_mul(sett_add(sett_at(X, i, j), n), a), i, j);
}

static sett_kernel *make(sett_engine *e, sett_body body, const char *target)
{
    const sett_compile_options o = {.size = sizeof o, .name = "shifted", .target = target};
    sett_kernel *k;
    sett_error err = {0};
    void *f = NULL;
    ck_assert_msg(!sett_compile(e, body, &o, &k, &err), "%s", err.text);
    ck_assert_msg(!sett_tvm_ffi_function(k, NULL, &f, &err), "%s", err.text);
    ck_assert_ptr_eq(f, &made);
    return k;
}

START_TEST(it_takes_what_tvm_ffi_has)
{
    sett_engine *e = open_engine();
    sett_kernel *k = make(e, shifted, "cpu");
    object X = {.type = 70, .tensor = tensor(x)};
    DLTensor Y = tensor(y);
    for (int i = 0; i < 16; i++)
        x[i] = (float)i, y[i] = -1;
    ck_assert_int_eq(call(4, (any[]){{.type = 70, .u = {.p = &X}}, pointer(&Y), number(1, 3), {.type = 3, .u = {.f = 0.5}}}), 0);
    for (int i = 0; i < 16; i++)
        ck_assert(y[i] == (x[i] + 3) / 2);
    ck_assert_int_eq(call(4, (any[]){pointer(&X.tensor), pointer(&Y), number(2, 1), number(1, 2)}), 0);
    for (int i = 0; i < 16; i++)
        ck_assert(y[i] == (x[i] + 1) * 2);
    ck_assert_int_eq(asked.times, 0); /* the CPU has no streams */
    sett_kernel_release(k); /* the function keeps it */
    ck_assert_int_eq(call(4, (any[]){pointer(&X.tensor), pointer(&Y), number(2, 0), number(1, 1)}), 0);
    ck_assert(y[7] == x[7]);
    made.deleter(made.self);
    sett_engine_close(e);
}
END_TEST

/* The text of each refusal is that of a launch; a tensor's has the argument's name. */
START_TEST(what_does_not_fit_is_raised)
{
    sett_engine *e = open_engine();
    sett_kernel *k = make(e, shifted, "cpu");
    DLTensor X = tensor(x), Y = tensor(y), odd = tensor(x), far = tensor(x), narrow = tensor(x), wide = tensor(x);
    int64_t three[2] = {4, 3}, nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    const any one = number(1, 1);
    odd.dtype.bits = 64, far.device = (DLDevice){kDLCUDA, 1}, narrow.shape = three, wide.ndim = 9, wide.shape = nine, wide.strides = NULL;
    const struct wrong { int n; any arg[4]; const char *kind, *text; } wrong[] = {
        {2, {pointer(&X), pointer(&Y)}, "TypeError", "shifted takes 4 arguments (X, Y, n, a), 2 were given"},
        {4, {pointer(&X), one, one, one}, "TypeError", "shifted: Y is a tensor, and a number was given (argument 1)"},
        {4, {pointer(&X), {.type = 65}, one, one}, "TypeError", "shifted: Y (argument 1) is neither a tensor nor a number (tvm-ffi's type 65)"},
        {4, {pointer(&X), pointer(&odd), one, one}, "TypeError", "shifted: Y is f32, the buffer given is f64"},
        {4, {pointer(&X), pointer(&narrow), one, one}, "ValueError", "shifted: Y mode 1 is 3, the kernel was made for 4"},
        {4, {pointer(&X), pointer(&wide), one, one}, "ValueError", "shifted: Y (argument 1): the DLPack tensor has 9 modes; a buffer has 0 to 8"},
        {4, {pointer(&X), pointer(&far), one, one}, "RuntimeError",
            "shifted: Y (argument 1): the tensor is in memory of GPU 1, and the tensors before it of the host"},
        {4, {pointer(&far), pointer(&X), one, one}, "RuntimeError",
            "shifted: Y (argument 1): the tensor is in memory of the host, and the tensors before it of GPU 1"},
        {4, {pointer(&X), pointer(&Y), {.type = 3, .u = {.f = 1.5}}, one}, "TypeError", "shifted: n is i32, and the floating number 1.5 was given"},
        {300, {pointer(&X)}, "TypeError", "shifted: 300 arguments were given; no kernel has more than 256"}};
    for (size_t i = 0; i < SETT__COUNT(wrong); i++) {
        ck_assert_int_eq(call(wrong[i].n, wrong[i].arg), -1);
        ck_assert_str_eq(kind, wrong[i].kind);
        ck_assert_str_eq(text, wrong[i].text);
    }
    sett_engine_close(e);
    ck_assert_int_eq(call(4, (any[]){pointer(&X), pointer(&Y), one, one}), -1);
    ck_assert_str_eq(kind, "RuntimeError");
    sett_kernel_release(k);
    made.deleter(made.self);
}
END_TEST

/* ---- on a GPU ---------------------------------------------------------------------------- */
static struct ran { int times, device; void *context; } ran;
static void note(void *user, const fake_launch *l)
{
    (void)user;
    ran.times++, ran.device = l->device, ran.context = l->context;
}

static void *symbol(void *lib, const char *name)
{
    void *p = dlsym(lib, name);
    ck_assert_msg(p != NULL, "%s", name);
    return p;
}

START_TEST(the_stream_is_tvm_ffis)
{
    int (*retain)(void **, int), (*set)(void *), (*make_stream)(void **, unsigned);
    sett_engine_options o = {.size = sizeof o, .cache_dir = "", .assembler = SETT_ASM_DRIVER};
    void *context, *stream, *was = NULL;
    if (!have_compiler() || !fake_driver())
        return;
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    sett_engine *e = open_with(&o);
    ((fake_state *)symbol(lib, "fake_cuda"))->kernel = note;
    *(void **)&retain = symbol(lib, "cuDevicePrimaryCtxRetain"), *(void **)&set = symbol(lib, "cuCtxSetCurrent");
    *(void **)&make_stream = symbol(lib, "cuStreamCreate");
    ck_assert(!retain(&context, 1) && !set(context) && !make_stream(&stream, 1) && !set(was));
    sett_kernel *k = make(e, shifted, "sm_90a");
    DLTensor X = tensor(x), Y = tensor(y);
    X.device = Y.device = (DLDevice){kDLCUDA, 1};
    asked = (struct asked){.answer = stream};
    ck_assert_msg(!call(4, (any[]){pointer(&X), pointer(&Y), number(1, 1), number(1, 1)}), "%s", text);
    ck_assert(asked.times == 1 && asked.type == kDLCUDA && asked.device == 1);
    ck_assert(ran.times == 1 && ran.device == 1 && ran.context == context);
    X.device.device_type = Y.device.device_type = kDLCPU;
    ck_assert_int_eq(call(4, (any[]){pointer(&X), pointer(&Y), number(1, 1), number(1, 1)}), -1);
    ck_assert_str_eq(text, "shifted was made for sm_90a and cannot run on the CPU");
    made.deleter(made.self);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

START_TEST(misuse)
{
    sett_engine *e = open_engine();
    sett_kernel *k = compile(e, &(sett_compile_options){.size = sizeof(sett_compile_options), .target = "cpu"});
    sett_error err;
    void *f = &f, *other = dlopen("libm.so.6", RTLD_NOW);
    sett_buf buf;
    sett_launch_arg bind;
    int device = SETT_DEFAULT_DEVICE;
    DLTensor X = tensor(x);
    ck_assert_int_eq(sett_tvm_ffi_function(NULL, NULL, &f, &err), SETT_E_ARGUMENT);
    ck_assert_ptr_null(f);
    ck_assert_int_eq(sett_tvm_ffi_function(k, NULL, NULL, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_tvm_ffi_function: the place for the function is NULL");
    ck_assert_int_eq(sett_tvm_ffi_function(k, other, &f, &err), SETT_E_IO);
    ck_assert_str_eq(err.text, "libtvm_ffi.so has no TVMFFIFunctionCreate");
    create_fails = 1;
    ck_assert_int_eq(sett_tvm_ffi_function(k, NULL, &f, NULL), SETT_E_MEMORY);
    ck_assert_int_eq(sett_launch_arg_dltensor(NULL, 0, &X, &buf, &bind, &device, &err), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_launch_arg_dltensor(k, 0, &X, NULL, &bind, &device, &err), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_launch_arg_dltensor(k, 0, &X, &buf, NULL, &device, NULL), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_launch_arg_dltensor(k, 0, &X, &buf, &bind, NULL, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_launch_arg_dltensor: the place for the device is NULL");
    ck_assert_int_eq(sett_launch_arg_dltensor(k, 7, NULL, &buf, &bind, &device, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "kernel: argument 7: the DLPack tensor or the place for the buffer is NULL");
    ck_assert(device == SETT_DEFAULT_DEVICE && !sett_launch_arg_dltensor(k, 0, &X, &buf, &bind, &device, NULL));
    ck_assert(device == SETT_CPU && bind.kind == SETT_LAUNCH_ARG_BUF && bind.u.t == &buf && buf.data == x);
    dlclose(other);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

SUITE_IN_ROOT(tvm_ffi, it_takes_what_tvm_ffi_has, what_does_not_fit_is_raised, the_stream_is_tvm_ffis, misuse)
