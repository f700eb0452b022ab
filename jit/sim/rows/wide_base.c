/* SPDX-License-Identifier: Apache-2.0 */
/* The warp's arithmetic for the instruction set that the library is compiled for. */
#define SETT__WIDE sett__wide_base
#include "wide.h"
