/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA driver without a GPU: libcuda.so.1 of tests/fake/fake_cuda.c, for what lies on our side of a launch. Its device memory is
 * the host's, a launch calls `kernel` at once if there is one, captures and graphs keep launches and replay them, and it
 * answers as the driver does to a stream of another device, a capture in the wrong mode, no context. A program finds it by
 * LD_LIBRARY_PATH, or by opening it before its first engine: its name is the driver's. */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fake_launch {
    unsigned grid[3], block[3], smem;
    int device;    /* that it would run on */
    void *context; /* of its stream */
    void *code;    /* what the kernel was loaded from, a copy */
    const unsigned char *params;
    size_t params_len;
    unsigned cluster[3]; /* zeros: none asked for */
    bool early, cooperative;
} fake_launch;
typedef struct fake_map { /* a tensor map: what it was encoded of */
    void *address;
    uint64_t dim[5], stride[5]; /* stride[0]: 0 */
    uint16_t box[5];
    uint8_t step[5], type, rank, swizzle, l2, fill;
    char pad[128 - 108];
} fake_map;
_Static_assert(sizeof(fake_map) == 128, "the driver's size");
typedef struct fake_state { /* the symbol fake_cuda is one */
    int gpus;              /* before cuInit; $FAKE_CUDA_GPUS, else 2 */
    void (*kernel)(void *user, const fake_launch *);
    void *user;
    int early; /* launches that may begin before what is before them ends */
    int launches, loads, attributes[8], resident[8], context_changes;
    int optin;     /* bytes of shared memory that a block may have, before cuInit; 0: 232448 */
    int version;   /* before cuInit; 0: 13000 */
    int maps;      /* tensor maps that were encoded */
    /* The sizes of the kernel's parameters, 0 ends them; NULL: whatever comes is right. Those of 128 bytes are aligned to 64 where code
     * of sm_90 has them, in a bank in which parameters begin at byte 0x210. A block of another size is refused. */
    const unsigned char *sizes;
    int failures;  /* calls that gave an error */
    const char *failed; /* the last of them */
    int graphs, graph_launches, node_updates; /* made and not freed; launches of them; nodes that got other parameters or were switched */
    const char *refused; /* calls of this name are refused, of those that make, change and launch graphs; NULL: none */
    size_t loaded; /* bytes handed over by cuLibraryLoadData and cuModuleLoadData that were looked at */
} fake_state;
/* Beside the driver's own functions it has
 *     void *fake_green(int device);    a further context of a device, as a green one is */
#endif
