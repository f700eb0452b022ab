/* SPDX-License-Identifier: Apache-2.0 */
/* Which values of a tape may come out otherwise in another order, or with other contents of memory. */
#ifndef SETT_JIT_SIM_CHECK_DEPENDS_H
#define SETT_JIT_SIM_CHECK_DEPENDS_H
#include "lib/tape/tape.h"

typedef struct sett__depends {
    uint32_t order, order_at; /* at: the first operation whose address, branch or stored value may depend on the order; from which one. SETT__NONE: there is none */
    uint32_t data, data_at;   /* at: the first whose address or branch depends on what memory held; likewise */
} sett__depends;
bool sett__depends_of(const sett__tape *, sett__depends *); /* false: out of memory */

#endif
