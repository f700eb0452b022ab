/* SPDX-License-Identifier: Apache-2.0 */
/* What clean launches of this process have proved, for $SETT_CHECK_PROOFS: a line for each kernel, proof and place where it ends. */
#include "finding_store.h"
#include "support.h"
#include <stdlib.h>

typedef struct proved {
    struct proved *next;
    sett_check_proof proof;
    int line;
    const char *file; /* line below 0: what is to be said */
    char kernel[]; /* and the file, behind it */
} proved;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static proved *first, **last = &first;
static uint64_t many;

static proved *find(const char *kernel, sett_check_proof proof, const sett_check_site *at)
{
    proved *p = first;
    while (p && (p->proof != proof || p->line != at->line || strcmp(p->kernel, kernel) || strcmp(p->file, at->file)))
        p = p->next;
    return p;
}

/* Without memory for it the line is missing: a reader takes no proof for granted that is not told. */
static void add(const char *kernel, sett_check_proof proof, const sett_check_site *at)
{
    const size_t bytes = strlen(kernel) + 1, more = strlen(at->file) + 1;
    proved *p = malloc(sizeof *p + bytes + more);
    if (!p)
        return;
    *p = (proved){.proof = proof, .line = at->line};
    memcpy(p->kernel, kernel, bytes);
    p->file = memcpy(p->kernel + bytes, at->file, more);
    *last = p;
    last = &p->next;
    many++;
}

void sett__proof_tell(const char *kernel, sett_check_proof proof, const sett_check_site *because)
{
    static const sett_check_site nowhere = {.file = "", .function = ""};
    const sett_check_site *at = because ? because : &nowhere;
    pthread_mutex_lock(&lock);
    const proved *p = find(kernel, proof, at);
    if (!p)
        add(kernel, proof, at);
    pthread_mutex_unlock(&lock);
}

void sett__orders_tell(const char *kernel, uint64_t orders, bool all, uint64_t others)
{
    char text[160], left[80] = "";
    if (others)
        snprintf(left, sizeof left, ", %llu of them with other results than the first", (unsigned long long)others);
    snprintf(text, sizeof text, all && orders == 1 ? "there is %llu order, and it ran%s" : all ? "all %llu orders ran%s" : "the first %llu orders ran, and there are more%s", (unsigned long long)orders, left);
    sett__proof_tell(kernel, SETT_PROVED_NOTHING, &(sett_check_site){.file = text, .function = "", .line = -1});
}

uint64_t sett__proofs_many(void)
{
    pthread_mutex_lock(&lock);
    const uint64_t n = many;
    pthread_mutex_unlock(&lock);
    return n;
}

void sett__proofs_each(void (*fn)(void *user, const char *line), void *user)
{
    static const char *const what[] = {[SETT_PROVED_NOTHING] = "this order alone", [SETT_PROVED_ORDERS] = "proved for all orders",
        [SETT_PROVED_DATA] = "proved for all orders and for all data of these extents"};
    static const char *const why[] = {[SETT_PROVED_NOTHING] = ": another may do otherwise from %s:%d on",
        [SETT_PROVED_ORDERS] = "; other data may take another way from %s:%d on", [SETT_PROVED_DATA] = ""};
    char line[1000], reason[600] = "";
    pthread_mutex_lock(&lock);
    for (const proved *p = first; p; p = p->next) {
        if (p->line > 0)
            snprintf(reason, sizeof reason, why[p->proof], p->file, p->line);
        snprintf(line, sizeof line, "%.200s: %s%s", p->kernel, p->line < 0 ? p->file : what[p->proof], p->line > 0 ? reason : "");
        fn(user, line);
    }
    pthread_mutex_unlock(&lock);
}

void sett__proofs_forget(void)
{
    pthread_mutex_lock(&lock);
    for (proved *p = first, *next; p; p = next) {
        next = p->next;
        free(p);
    }
    first = NULL, last = &first;
    pthread_mutex_unlock(&lock);
}
