/* SPDX-License-Identifier: Apache-2.0 */
/* A profiler's library, as NVTX loads it: it asks for the tables as their header describes them, fills in functions of all
 * modules, and writes down what is pushed and popped. fake_nvtx_refuse: as a profiler that cannot work here. */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define EXPORT __attribute__((visibility("default")))

enum { EVENTS = 1000 };
typedef struct event {
    pthread_t thread;
    char domain[16], text[200]; /* text "": popped */
} event;
EXPORT event fake_nvtx_event[EVENTS];
EXPORT int fake_nvtx_events, fake_nvtx_starts, fake_nvtx_bad;
event fake_nvtx_event[EVENTS];
int fake_nvtx_events, fake_nvtx_starts, fake_nvtx_bad;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void keep(const char *domain, const char *text, bool bad)
{
    pthread_mutex_lock(&lock);
    fake_nvtx_bad += bad;
    event *e = &fake_nvtx_event[fake_nvtx_events++ % EVENTS];
    e->thread = pthread_self();
    snprintf(e->domain, sizeof e->domain, "%s", domain);
    snprintf(e->text, sizeof e->text, "%s", text);
    pthread_mutex_unlock(&lock);
}

static void *create(const char *name)
{
    return strdup(name);
}

static int push(void *domain, const unsigned char *a)
{
    uint16_t version, size;
    int32_t type;
    const char *text;
    memcpy(&version, a, 2), memcpy(&size, a + 2, 2), memcpy(&type, a + 32, 4), memcpy(&text, a + 40, 8);
    keep(domain, text, version != 3 || size != 48 || type != 1);
    return 0;
}

static int pop(void *domain)
{
    keep(domain, "", false);
    return 0;
}

static void unused(void)
{
    keep("", "called what nobody should", true);
}

EXPORT int InitializeInjectionNvtx2(const void *(*tables)(uint32_t));
int InitializeInjectionNvtx2(const void *(*tables)(uint32_t))
{
    const struct {
        size_t size;
        int (*of)(int module, void (****table)(void), unsigned *size);
    } *callbacks = tables(1);
    const struct {
        size_t size;
        uint32_t version, reserved;
        void (*told)(uint32_t);
    } *info = tables(3);
    fake_nvtx_starts++;
    if (getenv("FAKE_NVTX_REFUSES"))
        return 0;
    if (!callbacks || callbacks->size < sizeof *callbacks || !info || info->version != 3 || tables(2) || tables(99))
        return 0;
    info->told(3);
    for (int module = 0; module < 9; module++) {
        void (***table)(void);
        unsigned size = 0;
        int there = callbacks->of(module, &table, &size);
        fake_nvtx_bad += there != (module >= 1 && module <= 6) || callbacks->of(module, NULL, NULL) != there;
        for (unsigned i = 0; there && i < size; i++)
            if (table[i])
                *table[i] = unused;
        fake_nvtx_bad += there && size < 7;
    }
    union {
        void *(*create)(const char *);
        int (*push)(void *, const unsigned char *);
        int (*pop)(void *);
        void (*any)(void);
    } f;
    void (***core2)(void);
    unsigned size;
    callbacks->of(5, &core2, &size);
    f.push = push, *core2[4] = f.any;
    f.pop = pop, *core2[5] = f.any;
    f.create = create, *core2[12] = f.any;
    return 1;
}

/* The older library's names. */
EXPORT void *nvtxDomainCreateA(const char *);
EXPORT int nvtxDomainRangePushEx(void *, const unsigned char *);
EXPORT int nvtxDomainRangePop(void *);
void *nvtxDomainCreateA(const char *name)
{
    return create(name);
}
int nvtxDomainRangePushEx(void *domain, const unsigned char *a)
{
    return push(domain, a);
}
int nvtxDomainRangePop(void *domain)
{
    return pop(domain);
}
