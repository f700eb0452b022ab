/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded code. One CUlibrary serves every device and context of a target and is loaded once; where the driver
 * lacks it, or on request, one CUmodule for each context. Nothing is unloaded unless the caller asks for it: launches may
 * be under way and captured graphs hold the code, which we cannot see. */
#include "inside.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TAIL = 4096 /* bytes of zeros behind what is loaded */ };
typedef struct module {
    struct module *next;
    sett__cu_handle context, module, function;
    unsigned long long id; /* of the context: addresses are used again */
} module;
typedef struct pages {
    const sett__sig *claims;
    sett__cu_pointer of[]; /* one a device, where assertions write; 0: not prepared there */
} pages;
struct sett__gpu_kernel {
    /* What a launch reads. */
    sett__cuda *cuda;
    _Atomic(sett__cu_handle) kernel; /* CUkernel, once loaded */
    atomic_uint_fast64_t ready;      /* a bit a device: kernel has its attributes there and its code is resident */
    uint32_t smem;                   /* of every launch, which may add some if `more` */
    bool modules, more, early;
    atomic_bool refused;             /* the driver would not load the code */
    pages *page;                     /* NULL: no assertions */
    /* What loading does. */
    const void *cubin;
    const char *symbol;
    union {
        sett__cu_handle library;     /* under lock_of() */
        module *module;              /* likewise, if `modules` */
    };
    uint32_t len;
    bool cooperative, big_cluster;
};
static_assert(SETT__GPUS_MAX <= 64, "ready has a bit for each");
static_assert(sizeof(sett__gpu_kernel) <= SETT__GPU_KERNEL_BYTES, "whoever calls has room for it");

/* Over loading, and the list of modules: some for all kernels, as there may be a million of them. */
static pthread_mutex_t *lock_of(const sett__gpu_kernel *k)
{
    return &k->cuda->loading[((uintptr_t)k >> 6) % SETT__COUNT(k->cuda->loading)];
}

sett_status sett__gpu_kernel_make(sett__cuda *c, const void *cubin, size_t len, const char *symbol, uint32_t smem,
    bool module_api, sett__gpu_kernel *k, sett_error *e)
{
    if (!cubin || len < 64 || memcmp(cubin, "\177ELF", 4))
        return sett__error(e, SETT_E_ARGUMENT, "%s: %zu bytes are not a cubin", symbol, len);
    *k = (sett__gpu_kernel){.cuda = c, .cubin = cubin, .len = (uint32_t)len, .symbol = symbol, .smem = smem,
        .modules = module_api || !c->library_load};
    return SETT_OK;
}

void sett__gpu_more_smem(sett__gpu_kernel *k)
{
    k->more = true;
}

void sett__gpu_launched(sett__gpu_kernel *k, bool cooperative, bool big_cluster)
{
    k->cooperative = cooperative;
    k->big_cluster = big_cluster;
}

void sett__gpu_early(sett__gpu_kernel *k)
{
    k->early = true;
}

/* What launches may be given on a device; 0: nothing, the code has its window. */
static int most_smem(const sett__gpu_kernel *k, int device)
{
    return k->more ? k->cuda->gpu[device].smem_optin : k->smem > SETT__STATIC_SMEM ? (int)k->smem : 0;
}

static sett_status fits(const sett__gpu_kernel *k, int device, const sett__launch_dims *d, sett_error *e)
{
    const sett__gpu *g = &k->cuda->gpu[device];
    if (!k->more || d->smem <= (uint32_t)g->smem_optin)
        return SETT_OK;
    return sett__error(e, SETT_E_LIMIT, "%s: %u bytes of shared memory a block, of which the launch adds %u; GPU %d (%s) has %d",
        k->symbol, d->smem, d->smem - k->smem, device, g->target, g->smem_optin);
}

void sett__gpu_kernel_end(sett__gpu_kernel *k)
{
    for (module *m = k->modules ? k->module : NULL, *next; m; m = next) {
        next = m->next;
        free(m);
    }
    free(k->page);
}

sett_status sett__gpu_claims(sett__gpu_kernel *k, const sett__sig *sig, sett_error *e)
{
    k->page = calloc(1, sizeof *k->page + (size_t)k->cuda->count * sizeof k->page->of[0]);
    if (!k->page)
        return sett__error(e, SETT_E_MEMORY, "%s: out of memory", k->symbol);
    k->page->claims = sig;
    return SETT_OK;
}

/* Has its code the wait? What the driver compiled for an older target has none. */
static bool begins_early(const char *target)
{
    int sm;
    char suffix;
    return sett__target_parse(target, &sm, &suffix) && sm >= 90;
}

sett_status sett__gpu_kernel_of(sett__cuda *c, const void *cubin, size_t len, const sett__made *m, const sett__sig *sig,
    bool module_api, sett__gpu_kernel *k, sett_error *e)
{
    sett_status s = sett__gpu_kernel_make(c, cubin, len, m->name, sig->smem, module_api, k, e);
    if (s)
        return s;
    if (sig->smem_more.count)
        sett__gpu_more_smem(k);
    sett__gpu_launched(k, sig->cooperative, sig->big_cluster);
    if (sig->early && begins_early(m->target))
        sett__gpu_early(k);
    return sig->n_claim ? sett__gpu_claims(k, sig, e) : SETT_OK;
}

/* What the driver says, at loading alone, of code that is damaged or not for it. After a fault that stays nothing that it
 * says tells of the code. */
static sett_status load_error(sett__gpu_kernel *k, sett__cu r, const char *what, sett_error *e)
{
    static const short of_the_code[] = {1, 200, 209, 218, 222, 300, 302, 500};
    for (size_t i = 0; i < SETT__COUNT(of_the_code); i++)
        if (r == of_the_code[i] && !k->cuda->fault)
            atomic_store(&k->refused, true);
    return sett__cuda_error(k->cuda, r, what, e);
}

bool sett__gpu_refused(sett__gpu_kernel *k)
{
    return atomic_exchange(&k->refused, false);
}

/* What the driver is handed: it is given no length, so behind the code lie zeros. It keeps a copy of its own, and this one
 * goes; a kernel that is only cached takes no more than its code. */
static void *padded(const sett__gpu_kernel *k, sett_error *e)
{
    char *code = malloc(k->len + TAIL);
    if (!code) {
        sett__error(e, SETT_E_MEMORY, "%s: no memory to load %zu bytes", k->symbol, (size_t)k->len);
        return NULL;
    }
    memcpy(code, k->cubin, k->len);
    memset(code + k->len, 0, TAIL);
    return code;
}

/* ---- one library --------------------------------------------------------------- */
static sett_status load_library(sett__gpu_kernel *k, sett_error *e)
{
    sett__cuda *c = k->cuda;
    sett__cu_handle kernel;
    if (atomic_load(&k->kernel))
        return SETT_OK;
    sett__cu r = 0;
    if (!k->library) {
        void *code = padded(k, e);
        if (!code)
            return SETT_E_MEMORY;
        r = c->library_load(&k->library, code, NULL, NULL, 0, NULL, NULL, 0);
        free(code);
    }
    if (r) {
        k->library = NULL;
        return load_error(k, r, "cuLibraryLoadData", e);
    }
    r = c->library_kernel(&kernel, k->library, k->symbol);
    if (r)
        return load_error(k, r, "cuLibraryGetKernel", e);
    atomic_store(&k->kernel, kernel);
    return SETT_OK;
}

/* For the device of the current context. cuKernelGetFunction makes the code resident, which lazy loading would put off
 * until the first launch. */
static sett_status ready_library(sett__gpu_kernel *k, int device, bool *fresh, sett_error *e)
{
    sett__cuda *c = k->cuda;
    sett__cu_handle function;
    sett_status s = load_library(k, e);
    if (s)
        return s;
    sett__cu_handle kernel = atomic_load(&k->kernel);
    sett__cu r = 0;
    if (most_smem(k, device))
        r = c->kernel_attr(SETT__CU_MAX_DYNAMIC_SMEM, most_smem(k, device), kernel, c->gpu[device].id);
    if (!r && k->big_cluster)
        r = c->kernel_attr(SETT__CU_BIG_CLUSTER, 1, kernel, c->gpu[device].id);
    if (r)
        return sett__cuda_error(c, r, "cuKernelSetAttribute", e);
    r = c->kernel_function(&function, kernel);
    if (!r && c->function_load)
        r = c->function_load(function);
    if (r)
        return load_error(k, r, "cuKernelGetFunction", e);
    *fresh = !(atomic_fetch_or(&k->ready, (uint_fast64_t)1 << device) >> device & 1);
    return SETT_OK;
}

/* ---- a module for each context ------------------------------------------------------ */
static unsigned long long context_id(const sett__cuda *c, sett__cu_handle context)
{
    unsigned long long id = 0;
    return c->ctx_id && !c->ctx_id(context, &id) ? id : 0;
}

/* Under the lock. */
static module *find_module(const sett__gpu_kernel *k, sett__cu_handle context)
{
    unsigned long long id = context_id(k->cuda, context);
    module *m = k->module;
    while (m && (m->context != context || m->id != id))
        m = m->next;
    return m;
}

static sett_status load_module(sett__gpu_kernel *k, int device, module *m, sett_error *e)
{
    sett__cuda *c = k->cuda;
    void *code = padded(k, e);
    if (!code)
        return SETT_E_MEMORY;
    sett__cu r = c->module_load(&m->module, code);
    free(code);
    if (r)
        return load_error(k, r, "cuModuleLoadData", e);
    r = c->module_function(&m->function, m->module, k->symbol);
    if (r)
        return load_error(k, r, "cuModuleGetFunction", e);
    if (most_smem(k, device))
        r = c->function_attr(m->function, SETT__CU_MAX_DYNAMIC_SMEM, most_smem(k, device));
    if (!r && k->big_cluster)
        r = c->function_attr(m->function, SETT__CU_BIG_CLUSTER, 1);
    if (!r && c->function_load)
        r = c->function_load(m->function);
    return sett__cuda_error(c, r, "cuFuncSetAttribute", e);
}

static sett_status ready_module(sett__gpu_kernel *k, int device, sett__cu_handle context, bool *fresh, sett_error *e)
{
    if (find_module(k, context))
        return SETT_OK;
    module *m = calloc(1, sizeof *m);
    if (!m)
        return sett__error(e, SETT_E_MEMORY, "out of memory");
    sett_status s = load_module(k, device, m, e);
    if (s) {
        free(m);
        return s;
    }
    m->context = context;
    m->id = context_id(k->cuda, context);
    m->next = k->module;
    k->module = m;
    *fresh = true;
    return SETT_OK;
}

/* ---- either ---------------------------------------------------------------------------- */
/* In the device's context. */
static sett_status load(sett__gpu_kernel *k, int device, sett__cu_handle context, sett_error *e)
{
    sett__cuda *c = k->cuda;
    if (k->smem > (uint32_t)c->gpu[device].smem_optin)
        return sett__error(e, SETT_E_LIMIT, "%s: %u bytes of shared memory a block; GPU %d (%s) has %d", k->symbol,
            k->smem, device, c->gpu[device].target, c->gpu[device].smem_optin);
    double start = sett__now_ms();
    bool fresh = false;
    sett__range_begin("load", k->symbol);
    sett__relaxed mode = sett__cuda_relax(c);
    pthread_mutex_lock(lock_of(k));
    sett_status s = SETT_OK;
    if (k->page && !k->page->of[device])
        s = sett__cuda_page(c, device, k->symbol, k->page->claims, &k->page->of[device], e);
    if (!s)
        s = k->modules ? ready_module(k, device, context, &fresh, e) : ready_library(k, device, &fresh, e);
    pthread_mutex_unlock(lock_of(k));
    sett__cuda_restore(c, &mode);
    sett__range_end();
    if (fresh) {
        sett__count_ms(&c->gpu[device].loads, &c->gpu[device].load_ns, sett__now_ms() - start);
        sett__count(&c->gpu[device].loaded_bytes, k->len);
    }
    return s;
}

/* What to launch in this context; NULL: not loaded there. */
static sett__cu_handle function_in(sett__gpu_kernel *k, int device, sett__cu_handle context)
{
    if (!k->modules)
        return atomic_load_explicit(&k->ready, memory_order_acquire) >> device & 1 ? atomic_load(&k->kernel) : NULL;
    pthread_mutex_lock(lock_of(k));
    module *m = find_module(k, context);
    pthread_mutex_unlock(lock_of(k));
    return m ? m->function : NULL;
}

sett_status sett__gpu_prepare(sett__gpu_kernel *k, int device, sett_error *e)
{
    sett__entered in;
    sett_status s = sett__cuda_enter(k->cuda, device, &in, e);
    if (!s)
        s = load(k, device, in.context, e);
    sett__cuda_leave(k->cuda, &in);
    return s;
}

void *sett__gpu_function(sett__gpu_kernel *k, int device)
{
    sett__entered in;
    void *function = NULL;
    if (!sett__cuda_enter(k->cuda, device, &in, NULL))
        function = function_in(k, device, in.context);
    sett__cuda_leave(k->cuda, &in);
    return function;
}

bool sett__gpu_prepared(const sett__gpu_kernel *k, int device)
{
    if (device < 0 || device >= k->cuda->count)
        return false;
    if (!k->modules)
        return atomic_load_explicit(&k->ready, memory_order_acquire) >> device & 1;
    return sett__gpu_function((sett__gpu_kernel *)(uintptr_t)k, device) != NULL;
}

/* ---- unloading ----------------------------------------------------------------------------- */
/* A driver that is shutting down has unloaded it. */
static sett_status unloaded(sett__cuda *c, sett__cu r, const char *what, sett_error *e)
{
    return r == SETT__CU_DEINITIALIZED ? SETT_OK : sett__cuda_error(c, r, what, e);
}

/* In the context that it was loaded in. Where that was destroyed, the code went with it. */
static sett_status unload_module(sett__cuda *c, const module *m, sett_error *e)
{
    sett__cu_handle popped;
    if (context_id(c, m->context) != m->id || c->ctx_push(m->context))
        return SETT_OK;
    sett_status s = unloaded(c, c->module_unload(m->module), "cuModuleUnload", e);
    c->ctx_pop(&popped);
    return s;
}

static sett_status unload_modules(sett__gpu_kernel *k, sett_error *e)
{
    sett_status s = SETT_OK;
    for (module *m; (m = k->module) && !(s = unload_module(k->cuda, m, e));) {
        k->module = m->next;
        free(m);
    }
    return s;
}

static sett_status unload_library(sett__gpu_kernel *k, sett_error *e)
{
    atomic_store(&k->ready, 0);
    atomic_store(&k->kernel, NULL);
    sett_status s = k->library ? unloaded(k->cuda, k->cuda->library_unload(k->library), "cuLibraryUnload", e) : SETT_OK;
    if (!s)
        k->library = NULL;
    return s;
}

sett_status sett__gpu_unload(sett__gpu_kernel *k, sett_error *e)
{
    pthread_mutex_lock(lock_of(k));
    sett_status s = k->modules ? unload_modules(k, e) : unload_library(k, e);
    pthread_mutex_unlock(lock_of(k));
    return s;
}

/* ---- launching ----------------------------------------------------------------------------- */
/* What the driver is handed. Its parts point at each other: it stays where it was made. */
typedef struct order {
    sett__cu_config config;
    sett__handed args;
    sett__cu_attr attr[3];
} order;

static void ask(order *o, const sett__cu_attr *what)
{
    o->config.attrs = o->attr;
    o->attr[o->config.n_attrs++] = *what;
}

/* EARLY: to begin while what is before it on the stream still runs: the kernel waits for it by itself. */
static __attribute__((noinline)) void ask_for(order *o, const sett__shot *s)
{
    if (s->state & SETT__SHOT_CLUSTERED)
        ask(o, &(sett__cu_attr){.id = SETT__CU_ATTR_CLUSTER, .value.cluster = {s->cluster[0], s->cluster[1], s->cluster[2]}});
    if (s->state & SETT__SHOT_EARLY)
        ask(o, &(sett__cu_attr){.id = SETT__CU_ATTR_EARLY, .value.early = 1});
    if (s->state & SETT__SHOT_COOPERATIVE)
        ask(o, &(sett__cu_attr){.id = SETT__CU_ATTR_COOPERATIVE, .value.cooperative = 1});
}

static inline sett__cu issue(const sett__shot *s, order *o)
{
    return s->launch(&o->config, s->function, o->args.each, o->args.extra);
}

/* In the device's context. After a fault it answers what the fault was, as entering then refuses. */
static __attribute__((noinline)) sett__cu issue_entered(const sett__shot *s, order *o)
{
    sett__entered in;
    int fault = atomic_load_explicit(&s->cuda->fault, memory_order_relaxed);
    sett__cu r = fault ? fault : SETT__CU_INVALID_CONTEXT;
    if (!sett__cuda_enter(s->cuda, s->device, &in, NULL))
        r = issue(s, o);
    sett__cuda_leave(s->cuda, &in);
    return r;
}

/* A stream that is real knows its context. The default streams (NULL, and the marks 1 and 2) mean the current context's, which
 * only the driver knows: the caller may change it between two launches, and a launch without one would be a failing call. */
static inline bool here(const sett__shot *s, const void *stream)
{
    sett__cu_handle current;
    return !(s->state & SETT__SHOT_ENTERED) &&
           ((uintptr_t)stream > 2 || (!s->cuda->ctx_get(&current) && sett__cuda_owns(s->cuda, s->device, current)));
}

static inline sett__cu send(const sett__shot *s, order *o)
{
    return here(s, o->config.stream) ? issue(s, o) : issue_entered(s, o);
}

void sett__hand_each(sett__handed *h, const sett__shot *s, char *params, void **each)
{
    for (unsigned i = 0; i < s->n_place; i++)
        each[i] = params + s->place[i];
    h->each = each;
    h->extra = NULL;
}

static __attribute__((noinline)) sett__cu send_apart(const sett__shot *s, order *o, char *params)
{
    void *each[SETT__EACH];
    sett__hand_each(&o->args, s, params, each);
    return send(s, o);
}

void sett__gpu_apart(sett__shot *s, const uint16_t *place, uint16_t n)
{
    s->state |= SETT__SHOT_APART;
    s->place = place;
    s->n_place = n;
}

sett_status sett__gpu_shoot(const sett__shot *s, void *stream, void *params, sett_error *e)
{
    order o;
    memcpy(&o.config, s->dims, sizeof s->dims);
    o.config.stream = stream;
    o.config.attrs = NULL;
    o.config.n_attrs = 0;
    sett__hand(&o.args, s, params);
    int saved = errno;
    if (s->state & (SETT__SHOT_CLUSTERED | SETT__SHOT_EARLY | SETT__SHOT_COOPERATIVE))
        ask_for(&o, s);
    sett__cu r = s->state & SETT__SHOT_APART ? send_apart(s, &o, params) : send(s, &o);
    sett_status status = r ? sett__cuda_error(s->cuda, r, "cuLaunchKernelEx", e) : SETT_OK;
    errno = saved;
    return status;
}

/* Loads for a launch, unless the stream is captured. */
static sett_status load_for(sett__gpu_kernel *k, sett_stream stream, sett__cu_handle context, sett_error *e)
{
    char why[256];
    snprintf(why, sizeof why,
        "%.128s is not prepared for GPU %d, and its stream is being captured: call sett_prepare before the capture",
        k->symbol, stream.device);
    sett_status s = sett__cuda_uncaptured(k->cuda, stream.handle, why, e);
    return s ? s : load(k, stream.device, context, e);
}

/* Of what is not loaded yet, or is in each context by itself. */
static __attribute__((noinline)) sett_status find_function(sett__gpu_kernel *k, sett_stream stream, void **function, sett_error *e)
{
    sett__entered in;
    sett_status s = sett__cuda_enter(k->cuda, stream.device, &in, e);
    if (!s && !(*function = function_in(k, stream.device, in.context))) {
        s = load_for(k, stream, in.context, e);
        *function = s ? NULL : function_in(k, stream.device, in.context);
    }
    sett__cuda_leave(k->cuda, &in);
    return s;
}

static inline void *ready_function(const sett__gpu_kernel *k, int device)
{
    bool ready = !k->modules && device >= 0 && device < k->cuda->count && atomic_load_explicit(&k->ready, memory_order_acquire) >> device & 1;
    return ready ? atomic_load_explicit(&k->kernel, memory_order_relaxed) : NULL;
}

sett_status sett__gpu_aim(sett__shot *to, sett__gpu_kernel *k, void *function, sett_stream stream, const sett__launch_dims *d,
    void *params, size_t params_len, sett_error *e)
{
    const int device = stream.device;
    sett_status s = d->smem ? fits(k, device, d, e) : SETT_OK;
    if (!s && !function && !(function = ready_function(k, device)))
        s = find_function(k, stream, &function, e);
    if (s)
        return s;
    if (k->page)
        memcpy((char *)params + params_len - sizeof k->page->of[device], &k->page->of[device], sizeof k->page->of[device]);
    to->cuda = k->cuda, to->launch = k->cuda->launch, to->function = function;
    memcpy(to->dims, d->grid, sizeof d->grid);
    memcpy(to->dims + 3, d->block, sizeof d->block);
    to->dims[6] = d->smem;
    to->params_len = (uint16_t)params_len;
    to->device = (int8_t)device;
    bool clustered = (d->cluster[0] | d->cluster[1] | d->cluster[2]) > 1;
    for (int i = 0; i < 3 && clustered; i++)
        to->cluster[i] = (uint8_t)d->cluster[i];
    to->state = (uint8_t)(SETT__SHOT_LOADED | clustered * SETT__SHOT_CLUSTERED | k->early * SETT__SHOT_EARLY | k->modules * SETT__SHOT_ENTERED |
                          k->cooperative * SETT__SHOT_COOPERATIVE);
    return SETT_OK;
}
static_assert(SETT__PARAM_BYTES <= UINT16_MAX && SETT__GPUS_MAX <= INT8_MAX && offsetof(sett__cu_config, smem) == 24, "what lies in a shot");
