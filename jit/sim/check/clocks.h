/* SPDX-License-Identifier: Apache-2.0 */
/* TEMPORARY stand-in */
#ifndef SETT_JIT_SIM_CHECK_CLOCKS_H
#define SETT_JIT_SIM_CHECK_CLOCKS_H
#include "words.h"
void sett__actor_now(sett__core *, const sett__warp *, uint32_t lanes, uint32_t op, sett__actor *);
void sett__clock_join(sett__core *, const sett__warp *, const uint32_t *clock, uint32_t n);
void sett__clock_tick(sett__core *, const sett__warp *);
bool sett__is_fenced(sett__core *, const sett__actor *, const sett__stamp *old);
void sett__put_actor(sett__core *, uint32_t domain, uint32_t agent, sett__sink *);
bool sett__clocks_sync(sett__core *, const sett__sync *);
#endif
