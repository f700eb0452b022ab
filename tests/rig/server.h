/* SPDX-License-Identifier: Apache-2.0 */
/* A small server on loopback that keeps what it is given, over HTTP or Redis's protocol, whichever it is spoken to in, or
 * misbehaves as it is told. Over HTTP it checks blobs under cas/ and ActionResults under ac/ as bazel-remote does. */
#ifndef SERVER_H
#define SERVER_H
#include <stdbool.h>
#include <stddef.h>

typedef enum manner {
    SERVES,
    SILENT, /* takes requests and answers none */
    DRIPS,  /* a byte at a time, without end */
    SAYS,   /* the same bytes to everything */
    POURS,  /* the same, then others over and over, without end */
} manner;
typedef struct server server;
server *server_start(void);
void server_stop(server *); /* and forgets all */
int server_port(const server *);
void server_behave(server *, manner, const void *says, size_t len); /* says: copied */
void server_pour(server *, const void *says, size_t len, const void *more, size_t more_len, int pace_us); /* a pause after each */
void server_delay(server *, int ms); /* before each answer */
typedef struct server_counts {
    int connections, gets, looks, puts;
} server_counts;
unsigned long server_poured(server *); /* how often it said more */
server_counts server_count(server *); /* of requests that came, answered or not */
int unused_port(void); /* where nobody answers */
#endif
