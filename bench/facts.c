/* SPDX-License-Identifier: Apache-2.0 */
/* What the CUDA driver does where its manual is silent and a runtime must know: loading inside captures, damaged code,
 * unloading, forks, exits. Each case is a process of its own, as errors stick to one; crashes and hangs are results.
 * The driver is called directly; sett only makes the cubins.
 *     facts                 all, as Markdown, in some minutes; docs/runtime.md says what follows from each
 *     facts CASE ARG...     one case: its line or lines */
#include "common.h"
#include <sett/kernels.h>
#include <libgen.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CUDA_FUNCTIONS(X) \
    X(init, cuInit, (unsigned)) \
    X(name, cuGetErrorName, (int, const char **)) \
    X(device, cuDeviceGet, (int *, int)) \
    X(devices, cuDeviceGetCount, (int *)) \
    X(retain, cuDevicePrimaryCtxRetain, (void **, int)) \
    X(set, cuCtxSetCurrent, (void *)) \
    X(get, cuCtxGetCurrent, (void **)) \
    X(sync, cuCtxSynchronize, (void)) \
    X(alloc, cuMemAlloc_v2, (uint64_t *, size_t)) \
    X(free, cuMemFree_v2, (uint64_t)) \
    X(to_device, cuMemcpyHtoD_v2, (uint64_t, const void *, size_t)) \
    X(to_host, cuMemcpyDtoH_v2, (void *, uint64_t, size_t)) \
    X(stream, cuStreamCreate, (void **, unsigned)) \
    X(begin, cuStreamBeginCapture_v2, (void *, int)) \
    X(end, cuStreamEndCapture, (void *, void **)) \
    X(exchange, cuThreadExchangeStreamCaptureMode, (int *)) \
    X(instantiate, cuGraphInstantiateWithFlags, (void **, void *, unsigned long long)) \
    X(graph, cuGraphLaunch, (void *, void *)) \
    X(load, cuLibraryLoadData, (void **, const void *, void *, void *, unsigned, void *, void *, unsigned)) \
    X(unload, cuLibraryUnload, (void *)) \
    X(kernel, cuLibraryGetKernel, (void **, void *, const char *)) \
    X(function, cuKernelGetFunction, (void **, void *)) \
    X(ready, cuFuncLoad, (void *)) \
    X(attribute, cuFuncSetAttribute, (void *, int, int)) \
    X(launch, cuLaunchKernelEx, (const raw_config *, void *, void **, void **)) \
    X(encode, cuTensorMapEncodeTiled, (void *, int, uint32_t, void *, const uint64_t *, const uint64_t *, \
        const uint32_t *, const uint32_t *, int, int, int, int))
#define GREEN_FUNCTIONS(X) /* of newer drivers */ \
    X(resource, cuDeviceGetDevResource, (int, void *, int)) \
    X(split, cuDevSmResourceSplitByCount, (void *, unsigned *, const void *, void *, unsigned, unsigned)) \
    X(describe, cuDevResourceGenerateDesc, (void **, void *, unsigned)) \
    X(green, cuGreenCtxCreate, (void **, void *, int, unsigned)) \
    X(of_green, cuCtxFromGreenCtx, (void **, void *)) \
    X(green_stream, cuGreenCtxStreamCreate, (void **, void *, unsigned, int))

static struct {
#define FIELD(field, name, args) int(*field) args;
    CUDA_FUNCTIONS(FIELD) GREEN_FUNCTIONS(FIELD)
} cu;

static bool open_cuda(void)
{
    void *so = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    bool all = so != NULL;
#define FIND(field, name, args) *(void **)&cu.field = so ? dlsym(so, #name) : NULL;
#define NEED(field, name, args) all = all && cu.field;
    CUDA_FUNCTIONS(FIND) GREEN_FUNCTIONS(FIND) CUDA_FUNCTIONS(NEED)
    return all;
}

/* ---- what the cases share ----------------------------------------------------------------- */
enum { N = 1024 };
static void *context;
static uint64_t X, Y;

static const char *said(int r)
{
    static char text[8][64];
    static int turn;
    const char *name = NULL;
    char *t = text[turn++ & 7];
    if (!r)
        return "ok";
    cu.name(r, &name);
    snprintf(t, sizeof text[0], "%s (%d)", name ? name + (strncmp(name, "CUDA_ERROR_", 11) ? 0 : 11) : "?", r);
    return t;
}

static void need(int r, const char *what)
{
    if (r) {
        printf("%s: %s\n", what, said(r));
        exit(1);
    }
}

/* The device's primary context current, two buffers in it. */
static void start(int ordinal)
{
    int id;
    need(cu.init(0), "cuInit");
    need(cu.device(&id, ordinal), "cuDeviceGet");
    need(cu.retain(&context, id), "cuDevicePrimaryCtxRetain");
    need(cu.set(context), "cuCtxSetCurrent");
    need(cu.alloc(&X, N * 4), "cuMemAlloc");
    need(cu.alloc(&Y, N * 4), "cuMemAlloc");
}

static void *file(const char *name, size_t *len)
{
    char path[512];
    static char bytes[1 << 20];
    snprintf(path, sizeof path, "%s/%s", getenv("FACTS"), name);
    FILE *f = fopen(path, "rb");
    *len = f ? fread(bytes, 1, sizeof bytes, f) : 0;
    if (f)
        fclose(f);
    if (!*len)
        exit(1);
    return bytes;
}

/* y = 2 x + y over n */
static int launch(void *kernel, void *stream, int n)
{
    float a = 2;
    void *params[] = {&X, &Y, &a, &n};
    const raw_config c = {.grid = {(unsigned)(n + 1023) / 1024, 1, 1}, .block = {256, 1, 1}, .stream = stream};
    return cu.launch(&c, kernel, params, NULL);
}

static int load(const void *code, void **library, void **kernel)
{
    int r = cu.load(library, code, NULL, NULL, 0, NULL, NULL, 0);
    return r ? r : cu.kernel(kernel, *library, "saxpy");
}

/* ---- G1 to G3: inside a capture -------------------------------------------------------------- */
static struct {
    const char *step;
    const void *code;
    void *library, *kernel, *function, *stream;
    int result;
} in;

static int encode(void)
{
    static _Alignas(64) char map[128];
    const uint64_t shape[] = {N}, stride[] = {N * 4};
    const uint32_t box[] = {32}, one[] = {1};
    return cu.encode(map, 7, 1, (void *)(uintptr_t)X, shape, stride, box, one, 0, 0, 0, 0); /* 7: FLOAT32 */
}

static int step(void)
{
    const char *s = in.step;
    if (!strcmp(s, "load"))
        return load(in.code, &in.library, &in.kernel);
    if (!strcmp(s, "function"))
        return cu.function(&in.function, in.kernel);
    if (!strcmp(s, "launch"))
        return launch(in.kernel, in.stream, N);
    if (!strcmp(s, "attribute"))
        return cu.attribute(in.function, 8, 100 << 10); /* MAX_DYNAMIC_SHARED_SIZE_BYTES */
    if (!strcmp(s, "encode"))
        return encode();
    if (!strcmp(s, "free"))
        return cu.free(X);
    return cu.alloc(&(uint64_t){0}, 1 << 20);
}

static void *step_thread(void *with_context)
{
    int relaxed = 2;
    if (with_context)
        cu.set(context);
    if (getenv("FACTS_EXCHANGE"))
        cu.exchange(&relaxed);
    in.result = step();
    if (getenv("FACTS_EXCHANGE"))
        cu.exchange(&relaxed);
    return NULL;
}

/* mode (of cuStreamBeginCapture), same or other thread, step */
static void capture(char **arg)
{
    size_t len;
    void *graph = NULL;
    pthread_t t;
    start(0);
    in.code = file("saxpy", &len);
    in.step = arg[2];
    need(cu.stream(&in.stream, 1), "cuStreamCreate");
    if (strcmp(in.step, "load"))
        need(load(in.code, &in.library, &in.kernel), "load");
    if (!strcmp(in.step, "attribute"))
        need(cu.function(&in.function, in.kernel), "cuKernelGetFunction");
    need(cu.begin(in.stream, atoi(arg[0])), "cuStreamBeginCapture");
    if (!strcmp(arg[1], "other"))
        pthread_create(&t, NULL, step_thread, context), pthread_join(t, NULL);
    else
        step_thread(NULL);
    int end = cu.end(in.stream, &graph);
    printf("%s, then the capture ends: %s\n", said(in.result), said(end));
}

/* ---- G4, G5: damaged and cut code --------------------------------------------------------------- */
static bool sticky(int r)
{
    return r == 700 || r == 702 || (r >= 714 && r <= 721) || r == 226 || r == 911 || r == 810;
}

/* One letter for a load and a launch. */
static char outcome(const void *code)
{
    void *library, *kernel;
    static float x[N], y[N];
    for (int i = 0; i < N; i++)
        x[i] = (float)i, y[i] = 1;
    need(cu.to_device(X, x, sizeof x), "cuMemcpyHtoD");
    need(cu.to_device(Y, y, sizeof y), "cuMemcpyHtoD");
    if (load(code, &library, &kernel))
        return 'L';
    int r = launch(kernel, NULL, N);
    if (!r)
        r = cu.sync();
    if (r)
        return sticky(r) ? 'S' : 'X';
    if (cu.to_host(y, Y, sizeof y))
        return 'S';
    cu.unload(library);
    for (int i = 0; i < N; i++)
        if (y[i] != (float)(2 * i + 1))
            return 'W';
    return 'R';
}

/* From a place on, by steps: a letter each; ends after what spoils the process. */
static void flip(char **arg)
{
    size_t len, by = (size_t)atoi(arg[1]);
    unsigned char *code = file("saxpy", &len);
    start(0);
    for (size_t i = (size_t)atoi(arg[0]) * by; i < len; i += by) {
        alarm(10);
        code[i] ^= 0xff;
        char c = outcome(code);
        code[i] ^= 0xff;
        putchar(c);
        fflush(stdout);
        if (c == 'S')
            return;
    }
    putchar('.');
}

/* Its last byte is the last before a page that cannot be read. */
static void cut(char **arg)
{
    size_t len, by = (size_t)atoi(arg[1]), room = 1 << 20;
    unsigned char *code = file("saxpy", &len);
    char *p = mmap(NULL, room + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    start(0);
    if (p == MAP_FAILED || mprotect(p + room, 4096, PROT_NONE))
        exit(1);
    for (size_t n = ((size_t)atoi(arg[0]) + 1) * by; n < len; n += by) {
        alarm(10);
        memcpy(p + room - n, code, n);
        char c = outcome(p + room - n);
        putchar(c);
        fflush(stdout);
        if (c == 'S')
            return;
    }
    putchar('.');
}

/* ---- G6: unloading ---------------------------------------------------------------------------------- */
static void unload(char **arg)
{
    size_t len;
    void *library, *kernel, *stream, *graph, *exec = NULL;
    int n = 1 << 26, r = 0;
    start(0);
    need(cu.alloc(&X, (size_t)n * 4), "cuMemAlloc");
    need(cu.alloc(&Y, (size_t)n * 4), "cuMemAlloc");
    need(load(file("saxpy", &len), &library, &kernel), "load");
    need(cu.stream(&stream, 1), "cuStreamCreate");
    if (!strcmp(arg[0], "flight")) {
        for (int i = 0; i < 200; i++)
            need(launch(kernel, stream, n), "launch");
        r = cu.unload(library);
        printf("%s, then cuCtxSynchronize: %s\n", said(r), said(cu.sync()));
        return;
    }
    need(launch(kernel, stream, N), "launch");
    need(cu.sync(), "cuCtxSynchronize");
    need(cu.begin(stream, 0), "cuStreamBeginCapture");
    need(launch(kernel, stream, N), "captured launch");
    if (!strcmp(arg[0], "capture"))
        r = cu.unload(library);
    int end = cu.end(stream, &graph);
    if (!strcmp(arg[0], "graph")) {
        need(end, "cuStreamEndCapture");
        need(cu.instantiate(&exec, graph, 0), "cuGraphInstantiate");
        r = cu.unload(library);
        int run = cu.graph(exec, stream);
        printf("%s, then cuGraphLaunch: %s, cuCtxSynchronize: %s\n", said(r), said(run), said(cu.sync()));
    } else {
        printf("%s, then the capture ends: %s\n", said(r), said(end));
    }
}

/* ---- G7: one CUkernel, many contexts ------------------------------------------------------------------ */
static void two_devices(char **arg)
{
    size_t len;
    int count = 0;
    void *library, *kernel, *first;
    (void)arg;
    start(0);
    first = context;
    need(load(file("saxpy", &len), &library, &kernel), "load");
    int r = launch(kernel, NULL, N);
    cu.devices(&count);
    printf("device 0: %s", said(r ? r : cu.sync()));
    if (count > 1) {
        start(1);
        r = launch(kernel, NULL, N);
        printf("; device 1, same CUkernel: %s", said(r ? r : cu.sync()));
        cu.set(first);
    }
    puts(count > 1 ? "" : "; there is no other");
}

/* "capture": prepared in the primary context only, first launched there in a capture. */
static void green(char **arg)
{
    size_t len;
    int id;
    unsigned groups = 1;
    static _Alignas(16) char all[1024], part[1024], rest[1024];
    void *library, *kernel, *function, *desc, *ctx, *own, *stream, *graph;
    start(0);
    if (!cu.resource || !cu.split || !cu.describe || !cu.green || !cu.of_green || !cu.green_stream) {
        puts("the driver has no green contexts");
        return;
    }
    need(load(file("saxpy", &len), &library, &kernel), "load");
    need(cu.function(&function, kernel), "cuKernelGetFunction");
    need(cu.ready(function), "cuFuncLoad");
    need(cu.device(&id, 0), "cuDeviceGet");
    need(cu.resource(id, all, 1), "cuDeviceGetDevResource");
    need(cu.split(part, &groups, all, rest, 0, 16), "cuDevSmResourceSplitByCount");
    need(cu.describe(&desc, part, 1), "cuDevResourceGenerateDesc");
    need(cu.green(&ctx, desc, id, 1), "cuGreenCtxCreate");
    need(cu.of_green(&own, ctx), "cuCtxFromGreenCtx");
    need(cu.green_stream(&stream, ctx, 1, 0), "cuGreenCtxStreamCreate");
    bool captured = !strcmp(arg[0], "capture");
    if (captured)
        need(cu.begin(stream, 0), "cuStreamBeginCapture");
    int r = launch(kernel, stream, N);
    if (captured)
        printf("%s, then the capture ends: %s\n", said(r), said(cu.end(stream, &graph)));
    else
        printf("on its stream, primary context current: %s", said(r ? r : cu.sync()));
    if (captured)
        return;
    cu.set(own);
    r = launch(kernel, NULL, N);
    printf("; on the default stream, it current: %s\n", said(r ? r : cu.sync()));
}

/* ---- G8 to G10, G12 --------------------------------------------------------------------------------------- */
static void forked(char **arg)
{
    size_t len;
    void *library, *kernel, *c = NULL;
    uint64_t p = 0;
    (void)arg;
    start(0);
    need(load(file("saxpy", &len), &library, &kernel), "load");
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        alarm(10);
        int get = cu.get(&c), init = cu.init(0), alloc = cu.alloc(&p, 64), run = launch(kernel, NULL, N);
        printf("in the child: cuCtxGetCurrent %s, cuInit %s, cuMemAlloc %s, launch %s, cuCtxSynchronize %s", said(get),
            said(init), said(alloc), said(run), said(cu.sync()));
        fflush(stdout);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
        printf("the child ends by signal %d", WTERMSIG(status));
    int run = launch(kernel, NULL, N);
    printf("; after it, in the parent: %s\n", said(run ? run : cu.sync()));
}

static void wrong_code(char **arg)
{
    size_t len;
    void *library, *kernel, *function;
    start(0);
    char *code = file(arg[0], &len);
    code[len] = 0; /* PTX is text */
    int r = cu.load(&library, code, NULL, NULL, 0, NULL, NULL, 0);
    printf("cuLibraryLoadData: %s", said(r));
    if (!r)
        printf(", cuLibraryGetKernel: %s", said(r = cu.kernel(&kernel, library, "saxpy")));
    if (!r)
        printf(", cuKernelGetFunction: %s", said(r = cu.function(&function, kernel)));
    if (!r)
        printf(", launch: %s", said(r = launch(kernel, NULL, N)));
    puts("");
}

static void load_time(char **arg)
{
    size_t len;
    void *library, *kernel, *function;
    start(0);
    const char *code = file(arg[0], &len);
    double t[5] = {now_us()};
    need(cu.load(&library, code, NULL, NULL, 0, NULL, NULL, 0), "cuLibraryLoadData"), t[1] = now_us();
    need(cu.kernel(&kernel, library, arg[0]), "cuLibraryGetKernel"), t[2] = now_us();
    need(cu.function(&function, kernel), "cuKernelGetFunction"), t[3] = now_us();
    need(cu.ready(function), "cuFuncLoad"), t[4] = now_us();
    printf("%zu bytes: cuLibraryLoadData %.0f us, cuLibraryGetKernel %.0f, cuKernelGetFunction %.0f, cuFuncLoad %.0f\n", len,
        t[1] - t[0], t[2] - t[1], t[3] - t[2], t[4] - t[3]);
}

static void leave_all(char **arg)
{
    (void)arg;
    sett_engine *e;
    sett_kernel *k;
    sett_prepared *c;
    sett_error err = {0};
    sett_axpy_options axpy = {.size = sizeof axpy, .dtype = SETT_F32, .no_pdl = 1};
    sett_compile_options opt = {.size = sizeof opt, .name = "saxpy", .user = &axpy};
    must(sett_engine_open(&e, NULL, &err), &err);
    must(sett_compile(e, sett_axpy, &opt, &k, &err), &err);
    sett_buf x = sett_buf_1d(sett_alloc(e, 0, N * 4), SETT_F32, N), y = sett_buf_1d(sett_alloc(e, 0, N * 4), SETT_F32, N);
    must(sett_prepared_make(k, 0, &c, &err, &x, &y, 2.0), &err);
    must(sett_prepared_run(c, sett_stream_of(0, NULL)), NULL);
    printf("engine, kernel and call left open, a launch under way: main returns");
}

/* ---- G11: a fleet starts warm -------------------------------------------------------------------------------- */
static void scaled(sett_build *b, const void *user)
{
    sett_tensor *T = sett_param(b, "X", SETT_F32, sett_make_layout(b, sett_tuple(b, 128)));
    sett_block(b, 128);
    sett_val *t = sett_thread_idx(b, 0);
    sett_set(T, sett_mul(sett_at(T, t), (double)*(const int *)user), t);
}

/* Gets kernels 0 to n-1, from the cache where it has them; true: all on the device too. */
static uint64_t get_all(sett_engine *e, const char *target, int n, bool prepare)
{
    sett_error err = {0};
    for (int i = 0; i < n; i++) {
        sett_kernel *k;
        sett_compile_options opt = {.size = sizeof opt, .target = target, .user = &i};
        must(sett_compile(e, scaled, &opt, &k, &err), &err);
        if (prepare)
            must(sett_prepare(k, 0, &err), &err);
        sett_kernel_release(k);
    }
    sett_stats s = {.size = sizeof s};
    sett_engine_stats(e, &s);
    return s.compiles;
}

static void warm_start(char **arg)
{
    sett_engine *e;
    sett_error err = {0};
    double t = now_us();
    must(sett_engine_open(&e, NULL, &err), &err);
    int n = atoi(arg[0]);
    uint64_t compiles = get_all(e, NULL, n, true);
    printf("%d kernels in %.0f ms, %d compiled\n", n, (now_us() - t) / 1e3, (int)compiles);
}

static void target(char **arg)
{
    char name[16];
    sett_engine *e;
    (void)arg;
    if (!sett_engine_open(&e, NULL, NULL) && sett_gpu_count(e) && sett_device_target(e, 0, name, sizeof name) > 0)
        puts(name);
}

/* ---- the table -------------------------------------------------------------------------------------------------- */
static const struct {
    const char *name;
    void (*run)(char **arg);
    int args;
    bool raw; /* calls the driver itself */
} cases[] = {{"capture", capture, 3, true}, {"flip", flip, 2, true}, {"cut", cut, 2, true}, {"unload", unload, 1, true},
    {"two_devices", two_devices, 0, true}, {"green", green, 1, true}, {"forked", forked, 0, true},
    {"wrong_code", wrong_code, 1, true}, {"load_time", load_time, 1, true}, {"leave_all", leave_all, 0, false},
    {"warm_start", warm_start, 1, false}, {"target", target, 0, false}};

static char self[512];

/* The output of a case in its own process, and how it ended: an exit status, or minus a signal. */
static int run_case(const char *env, const char *args, char *out, size_t size)
{
    char command[1200];
    snprintf(command, sizeof command, "%s exec '%s' %s 2>&1", env, self, args);
    FILE *p = popen(command, "r");
    size_t n = p ? fread(out, 1, size - 1, p) : 0;
    out[n] = 0;
    int status = p ? pclose(p) : -1;
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void row(const char *id, const char *what, const char *env, const char *args)
{
    char out[4096];
    int ended = run_case(env, args, out, sizeof out);
    out[strcspn(out, "\n")] = 0;
    printf("| %s | %s | %s", id, what, out);
    if (ended)
        printf("%s%s %d", *out ? "; " : "", ended < 0 ? "ends by signal" : "exit status", ended < 0 ? -ended : ended);
    puts(" |");
    fflush(stdout);
}

/* Goes on behind what ended a process. */
static void letters(const char *id, const char *what, const char *name, size_t by)
{
    int count[128] = {0}, at = 0, crashed = 0, hung = 0;
    for (bool more = true; more;) {
        char args[64], out[1 << 16];
        snprintf(args, sizeof args, "%s %d %zu", name, at, by);
        int ended = run_case("", args, out, sizeof out);
        size_t n = strspn(out, "LXSWR");
        for (size_t i = 0; i < n; i++)
            count[(int)out[i]]++;
        at += (int)n;
        more = out[n] != '.' && (n || ended < 0);
        if (ended < 0)
            at++, *(ended == -14 ? &hung : &crashed) += 1;
    }
    printf("| %s | %s | of %d: %d refused at load, %d at launch, %d faults that end the process, %d crashes of the host, %d hangs, "
        "**%d accepted with wrong results**, %d harmless |\n",
        id, what, at, count['L'], count['X'], count['S'], crashed, hung, count['W'], count['R']);
    fflush(stdout);
}

static void captures(const char *id, const char *env)
{
    static const char *const modes[] = {"global", "thread-local", "relaxed"}, *const threads[] = {"same", "other"};
    static const char *const steps[] = {"load", "function", "launch", "attribute", "encode", "alloc", "free"};
    for (int m = 0; m < 3; m++)
        for (int t = 0; t < 2; t++)
            for (int s = 0; s < 7; s++) {
                char args[64], what[160];
                snprintf(args, sizeof args, "capture %d %s %s", m, threads[t], steps[s]);
                snprintf(what, sizeof what, "%s in a %s capture, %s thread%s%s", steps[s], modes[m], threads[t],
                    *env ? ", " : "", env);
                row(id, what, env, args);
            }
}

static void write_file(const char *folder, const char *name, const void *bytes, size_t len)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, len, f) != len || fclose(f))
        exit(1);
}

static size_t make_cubin(sett_engine *e, const char *folder, const char *name, const char *file, const char *to)
{
    sett_softmax_options big = {.size = sizeof big, .dtype = SETT_BF16, .cols = 8192, .no_pdl = 1, .tuning = {.threads = 256}};
    sett_axpy_options small = {.size = sizeof small, .dtype = SETT_F32, .no_pdl = 1};
    sett_kernel *k;
    sett_error err = {0};
    bool soft = !strcmp(name, "softmax");
    sett_compile_options opt = {.size = sizeof opt, .name = name, .target = to, .user = soft ? (void *)&big : &small};
    must(sett_compile(e, soft ? sett_softmax : sett_axpy, &opt, &k, &err), &err);
    sett_kernel_info info = {.size = sizeof info};
    must(sett_kernel_query(k, &info), NULL);
    write_file(folder, file, info.cubin, info.cubin_size);
    sett_kernel_release(k);
    return info.cubin_size;
}

static void fleet(int processes, int kernels)
{
    FILE *p[64];
    char command[600], line[256];
    double t = now_us();
    int bad = 0;
    snprintf(command, sizeof command, "exec '%s' warm_start %d", self, kernels);
    for (int i = 0; i < processes; i++)
        p[i] = popen(command, "r");
    for (int i = 0; i < processes; i++) {
        int compiled = 1;
        if (p[i] && fgets(line, sizeof line, p[i]) && sscanf(line, "%*d kernels in %*f ms, %d", &compiled) != 1)
            compiled = 1;
        bad += compiled != 0;
        bad += p[i] && pclose(p[i]) != 0;
    }
    printf("| G11 | %d processes, %d kernels of a warm cache each, all prepared | %.1f s in all, %d that compiled or failed |\n",
        processes, kernels, (now_us() - t) / 1e6, bad);
}

static void with_torch(void)
{
    char command[1500], dir[512], out[600] = "";
    snprintf(dir, sizeof dir, "%s", self);
    snprintf(command, sizeof command,
        "python3 -c 'import ctypes, torch; torch.zeros(1, device=\"cuda\"); l = ctypes.CDLL(\"%.400s/../libsett.so.0\"); "
        "e = ctypes.c_void_p(); print(\"engine left open beside torch:\", l.sett_engine_open(ctypes.byref(e), None, None))' 2>&1",
        dirname(dir));
    FILE *p = popen(command, "r");
    while (p && fgets(out, sizeof out, p)) /* the last line */
        out[strcspn(out, "\n")] = 0;
    int status = p ? pclose(p) : -1;
    printf("| G12 | exit beside torch | %s, exit status %d |\n", out, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static void all(const char *folder, const char *to)
{
    static const char ptx[] = ".version 9.9\n.target sm_90\n.address_size 64\n.visible .entry saxpy() { ret; }\n";
    sett_engine *e;
    sett_error err = {0};
    sett_engine_options eo = {.size = sizeof eo, .no_gpu = true};
    must(sett_engine_open(&e, &eo, &err), &err);
    size_t len = make_cubin(e, folder, "saxpy", "saxpy", to);
    make_cubin(e, folder, "saxpy", "older", strncmp(to, "sm_8", 4) ? "sm_80" : "sm_75");
    make_cubin(e, folder, "saxpy", "newer", "sm_100a");
    make_cubin(e, folder, "softmax", "softmax", to);
    write_file(folder, "ptx", ptx, sizeof ptx);
    write_file(folder, "text", "no code at all, but a line of text that is long enough to be looked at by whoever loads it\n", 92);
    get_all(e, to, 500, false);
    sett_engine_close(e); /* all of it is on disk */
    printf("| | case, %s | seen |\n| --- | --- | --- |\n", to);
    captures("G1", "");
    captures("G1", "FACTS_EXCHANGE=1");
    captures("G2", "CUDA_MODULE_LOADING=EAGER");
    letters("G4", "saxpy's cubin, a byte in 16 flipped in turn", "flip", 16);
    letters("G5", "the same cut at each 64 bytes, before a page that cannot be read", "cut", 64);
    row("G6", "cuLibraryUnload with 200 launches queued", "", "unload flight");
    row("G6", "cuLibraryUnload with an instantiated graph", "", "unload graph");
    row("G6", "cuLibraryUnload in a capture", "", "unload capture");
    row("G7", "one CUkernel", "", "two_devices");
    row("G7", "the same in a green context", "", "green launch");
    row("G7", "the same, first there in a capture, prepared in the primary context", "", "green capture");
    row("G8", "fork after cuInit", "", "forked");
    row("G9", "a cubin for an older architecture", "", "wrong_code older");
    row("G9", "a cubin for a newer one", "", "wrong_code newer");
    row("G9", "PTX 9.9", "", "wrong_code ptx");
    row("G9", "text", "", "wrong_code text");
    for (int i = 0; i < 4; i++)
        row("G10", i & 2 ? "loading, eager" : "loading, lazy", i & 2 ? "CUDA_MODULE_LOADING=EAGER" : "",
            i & 1 ? "load_time softmax" : "load_time saxpy");
    fleet(64, 500);
    row("G12", "exit with everything open", "", "leave_all");
    with_torch();
    printf("\nsaxpy's cubin has %zu bytes.\n", len);
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/sett-facts-XXXXXX", out[256], command[64];
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
        if (!strcmp(argv[1], cases[i].name) && argc == cases[i].args + 2) {
            if (cases[i].raw && !open_cuda())
                return puts("this driver lacks a function that is needed"), 1;
            alarm(120); /* a deadlock is a result, too */
            cases[i].run(argv + 2);
            return 0;
        }
    if (argc > 1 || !realpath(argv[0], self) || !mkdtemp(folder))
        return 2;
    setenv("FACTS", folder, 1);
    setenv("SETT_CACHE_DIR", folder, 1);
    run_case("", "target", out, sizeof out);
    out[strcspn(out, "\n")] = 0;
    if (!strncmp(out, "sm_", 3))
        all(folder, out);
    else
        puts("skipped: no GPU");
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0;
}
