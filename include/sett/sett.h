/* SPDX-License-Identifier: Apache-2.0 */
/* The umbrella: everything a program needs.
 *
 * The language (C only): build.h a kernel's signature; tuple.h tuples of integers; layout.h layouts and
 * their algebra; picture.h pictures of them; facts.h what they cost; tensor.h tensors; value.h values; divmod.h
 * division by multiplying; control.h loops, branches, threads; arch.h the rest of the hardware: copies in the background, votes, named barriers, clocks.
 * The host side (also C++17): engine.h devices, compiling, cached kernels; cache.h the cache on disk;
 * launch.h buffers, launches, prepared calls; mark.h (half of it C only) parameters made after a buffer;
 * bench.h how long launches take; metrics.h what an engine counts, for monitoring.
 * By name only: dlpack.h. */
#ifndef SETT_SETT_H
#define SETT_SETT_H
#include <sett/arch.h>
#include <sett/arg.h>
#include <sett/base.h>
#include <sett/bench.h>
#include <sett/build.h>
#include <sett/cache.h>
#include <sett/control.h>
#include <sett/divmod.h>
#include <sett/engine.h>
#include <sett/facts.h>
#include <sett/launch.h>
#include <sett/layout.h>
#include <sett/mark.h>
#include <sett/metrics.h>
#include <sett/picture.h>
#include <sett/struct.h>
#include <sett/tensor.h>
#include <sett/tuple.h>
#include <sett/value.h>
#include <sett/warm.h>
#endif
#include <sett/arg.h> /* again, for a SETT_SHORT that was defined after a first include */
