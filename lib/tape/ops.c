/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of what the operations and their attributes are. */
#include "ops.h"

const sett__op_info sett__ops[SETT__N_CODES] = {
#define OP(name, text, cls, attributes, types, flags, sm, ptx) {text, text ":", types, SETT__C_##cls, SETT__LIST_##attributes, flags, sm, ptx},
#include "ops.def"
};

const char *const sett__sem_word[] = {"relaxed", "acquire", "release", "acq_rel"}, *const sett__scope_word[] = {"", "cta", "gpu", "sys", "cluster"};
const char *const sett__near_word[] = {"cta", "cluster"}, *const sett__dim_word[] = {"x", "y", "z"}, *const sett__way_word[] = {"inc", "dec"};
const char *const sett__access_word[] = {"", "read", "write", "both"}, *const sett__cluster_word[] = {"release", "relaxed"};
const char *const sett__proxy_word[] = {"async", "async.shared", "async.global", "tensormap.release", "tensormap.acquire"};
const char *const sett__swizzle_word[] = {"none", "32", "64", "128"};
const char *const sett__reduce_word[] = {"add", "min", "max"}, *const sett__evict_word[] = {"evict_first", "evict_last", "evict_normal", "evict_unchanged"};
const char *const sett__field_word[] = {"address", "rank", "box", "extent", "stride", "step", "type", "swizzle", "fill"};
const char *const sett__cache_word[] = {"", "always", "global", "streaming", "last_use", "no_cache", "write_through", "evict_first", "evict_last",
    "l2_evict_first", "l2_evict_last", "l2_64b", "l2_128b", "l2_256b"};

const sett__mma sett__mmas[SETT__N_MMAS] = {
#define MMA(text, kind, m, n, k, a, b, c, scales, targets, ptx, lowered, model, completion, la, lb, lc) \
    {m, n, k, SETT__MMA_##kind, SETT_##a, SETT_##b, SETT_##c, scales, ptx, SETT__MMA_##model, SETT__MMA_DONE_##completion, targets, lowered, {la, lb, lc}},
#include "mma.def"
};
const char *const sett__mma_word[SETT__N_MMAS] = {
#define MMA(text, kind, m, n, k, a, b, c, scales, targets, ptx, lowered, model, completion, la, lb, lc) text,
#include "mma.def"
};

const sett__attr_info sett__attrs[SETT__N_ATTRS + 1] = {
#define LIST(list) {0},
#define ATTR(list, name, text, kind, least, most, usual, words) {text, SETT__A_##kind, least, most, usual, words},
#include "attrs.def"
};
