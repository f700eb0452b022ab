/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels assume of a target when they choose a shape, as there may be no device to ask. These numbers stand nowhere else
 * in kernels/. */
#ifndef DEVICES_H
#define DEVICES_H

typedef struct device {
    int sm;                  /* 90: of sm_90 and sm_90a. A target that the table lacks is as the one before it */
    int multiprocessors;     /* of the device that the row names, 0: not known. Others give the same results, maybe slower */
    int shared_memory_bytes; /* that a block may ask for */
    int mhz;                 /* of a multiprocessor at work; this and what follows 0: not known */
    int memory, l2;          /* bytes a cycle, to all multiprocessors together */
} device;

/* sm 0, the CPU engine, is as sm_90. */
const device *sett__device_of(int sm);
#endif
