/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels with assertions report: a page of host memory for each kernel and device, which the device writes and which
 * can be read whatever became of the context. */
#include "inside.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct sett__page {
    struct sett__page *next;
    int device;
    sett__failure *failure;
    const char *kernel;
    uint32_t n_claim;
    sett__claim claim[]; /* then all texts */
} page;
enum { PAGE = 4096 };
static_assert(sizeof(sett__failure) <= PAGE, "it has a page");

static void drop(page *p)
{
    if (p->failure)
        munmap(p->failure, PAGE);
    free(p);
}

static size_t text_bytes(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static const char *copy_text(char **at, const char *text)
{
    const size_t n = text_bytes(text);
    char *to = *at;
    *at += n;
    return n ? memcpy(to, text, n) : NULL;
}

/* The kernel's own texts go with its handle: the page has copies. NULL: no memory. */
static page *new_page(int device, const char *symbol, const sett__sig *sig)
{
    size_t texts = text_bytes(symbol);
    for (const sett__claim *k = sig->claim, *end = k + sig->n_claim; k < end; k++)
        texts += text_bytes(k->text) + text_bytes(k->file) + text_bytes(k->types);
    page *p = calloc(1, sizeof *p + sig->n_claim * sizeof p->claim[0] + texts);
    if (!p)
        return NULL;
    char *at = (char *)(p->claim + sig->n_claim);
    p->device = device;
    p->kernel = copy_text(&at, symbol);
    for (p->n_claim = 0; p->n_claim < sig->n_claim; p->n_claim++) {
        sett__claim *k = &p->claim[p->n_claim];
        *k = sig->claim[p->n_claim];
        k->text = copy_text(&at, k->text);
        k->types = copy_text(&at, k->types);
        k->file = copy_text(&at, k->file);
    }
    return p;
}

/* A forked child has no such page: a write there would move ours from under the device. */
static bool map(page *p)
{
    void *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return false;
    p->failure = at;
    return !madvise(at, PAGE, MADV_DONTFORK);
}

sett_status sett__cuda_page(
    sett__cuda *c, int device, const char *symbol, const sett__sig *sig, sett__cu_pointer *to, sett_error *e)
{
    page *p = new_page(device, symbol, sig);
    if (!p || !map(p)) {
        if (p)
            drop(p);
        return sett__error(e, SETT_E_MEMORY, "%s: no memory for its assertions", symbol);
    }
    sett__cu r = c->host_register(p->failure, PAGE, SETT__CU_HOST_PORTABLE_MAPPED);
    sett_status s = sett__cuda_error(c, r, "cuMemHostRegister", e);
    if (!s)
        s = sett__cuda_error(c, c->host_pointer(to, p->failure, 0), "cuMemHostGetDevicePointer", e);
    if (s) {
        *to = 0;
        if (!r)
            c->host_unregister(p->failure);
        drop(p);
        return s;
    }
    pthread_mutex_lock(&c->lock);
    p->next = c->failures;
    c->failures = p;
    pthread_mutex_unlock(&c->lock);
    return SETT_OK;
}

/* Under the lock: whoever comes first has it. */
static sett_status tell(const page *p, sett_error *e)
{
    sett__failure *f = p->failure;
    if (__atomic_load_n(&f->state, __ATOMIC_ACQUIRE) != SETT__FAILURE_TOLD)
        return SETT_OK;
    const sett__failure copy = *f;
    __atomic_store_n(&f->state, SETT__FAILURE_FREE, __ATOMIC_RELEASE);
    if (copy.claim >= p->n_claim)
        return sett__error(e, SETT_E_FAULT, "%s: an assertion failed, which its report does not name", p->kernel);
    return sett__claim_error(e, &p->claim[copy.claim], copy.operand, copy.block, copy.thread, p->kernel);
}

sett_status sett__cuda_failed(sett__cuda *c, int device, sett_error *e)
{
    sett_status s = SETT_OK;
    pthread_mutex_lock(&c->lock);
    for (const page *p = c->failures; p && !s; p = p->next)
        if (p->device == device)
            s = tell(p, e);
    pthread_mutex_unlock(&c->lock);
    return s;
}

void sett__cuda_pages_free(sett__cuda *c)
{
    for (page *p = c->failures, *next; p; p = next) {
        sett__entered in;
        next = p->next;
        if (!sett__cuda_enter(c, p->device, &in, NULL))
            c->host_unregister(p->failure);
        sett__cuda_leave(c, &in);
        drop(p);
    }
    c->failures = NULL;
}
