/* SPDX-License-Identifier: Apache-2.0 */
/* The faces of all rooms, for white-box tests. */
#ifndef SETT_TESTS_FACES_H
#define SETT_TESTS_FACES_H
#include "jit/compile/compile.h"
#include "jit/launch/launch.h"
#include "lib/print/print.h"
#include "plug/remote.h"

#endif
