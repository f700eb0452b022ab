/* SPDX-License-Identifier: Apache-2.0 */
/* The umbrella: every header of sett in the order in which to read them, but dlpack.h, tvm_ffi.h and
 * kernels.h (ready kernels, a library of its own). The simple tier is enough for most kernels and programs.
 * Each header of the expert tier stands alone: read it when you need what it names.
 *
 * "The language" is what a kernel's body calls: C11 only. "The host" is what a program calls: C11 and C++17.
 * */
#ifndef SETT_SETT_H
#define SETT_SETT_H

/* ---- simple tier: the language ---- */
#include <sett/base.h>    /* status codes, errors, element types */
#include <sett/arg.h>     /* what a call takes as a shape, a coordinate or a number */
#include <sett/layout.h>  /* layouts and their algebra */
#include <sett/tensor.h>  /* tensors: views of memory, loads, stores, copies */
#include <sett/value.h>   /* values: arithmetic, mathematics, conversions, reductions, bits */
#include <sett/control.h> /* loops, branches, indices of threads, sett_sync_threads */
#include <sett/print.h>   /* printing and assertions */
#include <sett/build.h>   /* a kernel's body and its signature */

/* ---- simple tier: the host ---- */
#include <sett/engine.h>  /* devices, options, counters */
#include <sett/memory.h>  /* memory of a device, copies, waiting */
#include <sett/compile.h> /* from a body to a kernel */
#include <sett/launch.h>  /* buffers, launches, prepared calls */

/* ---- expert tier: the language ---- */
#include <sett/tuple.h>      /* arithmetic and transformations of tuples */
#include <sett/struct.h>     /* C structs in memory and as parameters */
#include <sett/divmod.h>     /* division by multiplying */
#include <sett/warp.h>       /* shuffles, votes, named barriers, fences, ids, clocks */
#include <sett/async.h>      /* copies in the background, prefetches, kernels that overlap */
#include <sett/cluster.h>    /* clusters of blocks, shared memory of peers, registers */
#include <sett/pipeline.h>   /* mbarriers, pipelines */
#include <sett/scheduler.h>  /* persistent clusters, tile after tile */
#include <sett/tma.h>        /* tensor maps, copies of boxes and in bulk */
#include <sett/mma.h>        /* tensor cores: atoms, tiled products and copies */
#include <sett/inline_ptx.h> /* pieces of PTX */
#include <sett/cost.h>      /* what a layout costs: widths, bank conflicts */
#include <sett/picture.h>    /* pictures of layouts */

/* ---- expert tier: the host ---- */
#include <sett/check.h>   /* the checker's findings */
#include <sett/mark.h>    /* parameters made after a buffer; half of it C only */
#include <sett/graph.h>    /* many launches, recorded once and replayed with other arguments */
#include <sett/cache.h>   /* the cache on disk: layers, entries, packs */
#include <sett/warm.h>    /* filling a cache ahead of time */
#include <sett/bench.h>   /* how long a launch takes */
#include <sett/metrics.h> /* counters as text for monitoring */
#include <sett/export.h>  /* kernels as C files, for programs without sett */
#endif
#include <sett/arg.h> /* again, for a SETT_SHORT that was defined after a first include */
