/* SPDX-License-Identifier: Apache-2.0 */
/* A part of words.c: what somebody knows of clusters, as values that many share. */
#ifndef SETT_JIT_SIM_CHECK_NEWS_H
#define SETT_JIT_SIM_CHECK_NEWS_H
#include "words.h"

/* What an agent of a cluster knew of it when it released, and did: as in its clocks (agents.h). */
typedef struct sett__past {
    uint32_t refs, stride;
    size_t part; /* as near's */
    uint32_t at[];
} sett__past;
typedef struct sett__item {
    uint32_t domain;
    sett__past *past;
    sett__weak weak;
} sett__item;
typedef struct sett__news { /* sorted by domains */
    uint32_t refs, n, cap;
    sett__item *item;
} sett__news;
sett__past *sett__past_of(const near *, const clocks *); /* NULL: out of memory */
void sett__past_drop(sett__past *);
sett__news *sett__news_make(void); /* NULL: out of memory */
sett__news *sett__news_hold(sett__news *);
void sett__news_drop(sett__news *);
const sett__item *sett__news_find(const sett__news *, uint32_t domain);
bool sett__news_put(sett__news *, const sett__item *);
/* *to gets what is in `from` too; it is copied where others have it. False: out of memory. */
bool sett__news_join(sett__news **to, sett__news *from);
/* Of more clusters than `most` the older ones are forgotten, so that half as many are left. False: out of memory. */
bool sett__news_cut(sett__news **to, uint32_t most);

#endif
