/* SPDX-License-Identifier: Apache-2.0 */
/* The map of remote/: entries of the cache from a server and to it, by name. It moves bytes and believes nothing; what
 * comes back is verified by the cache, as a file of a folder is.
 *
 *     plugin.c  what the cache calls: the client for a URL's scheme, one fetch a name, the circuit breaker, idle connections
 *     options.c what is said of a remote
 *     bazel.c   where an entry lies under an http URL: plainly, or as bazel-remote keeps it
 *     http.c    GET, HEAD and PUT by libcurl
 *     redis.c   GET, EXISTS and SET over a socket of its own; hiredis writes and reads the protocol
 *     tls.c     that socket's TLS, by OpenSSL, which libcurl has too */
#ifndef SETT_REMOTE_H
#define SETT_REMOTE_H
#include "lib/base/base.h"
#include "plug/remote.h"
#include <pthread.h>
#include <signal.h>
#include <sys/types.h>

typedef enum sett__answer {
    SETT__YES,      /* here it is; it is there; it was taken */
    SETT__NO,       /* it is not there */
    SETT__TOO_LONG, /* past what was allowed, and said so before it came */
    SETT__ENDLESS,  /* past what was allowed, as it came */
    SETT__DENIED,   /* the server answers, and says something else */
    SETT__FAILED,   /* no answer that makes sense, or none in time */
    SETT__NO_MEMORY,
} sett__answer; /* all but the first two with a text */

typedef struct sett__bytes { /* growing, malloc'ed */
    uint8_t *data;
    size_t len, room;
} sett__bytes;

/* A name on the server: a path below the URL, or a Redis key. */
typedef struct sett__request {
    sett__remote *remote;
    const char *name;
    uint64_t most;   /* bytes of an answer */
    double deadline; /* by sett__clock_ms() */
} sett__request;

/* A line is one connection, made when it is first used and again when it has failed; one request at a time. */
typedef struct sett__transport {
    sett_status (*open)(sett__remote *, sett_error *); /* once, before all else */
    void *(*line)(void);                               /* NULL: no memory */
    void (*hang_up)(void *line);
    sett__answer (*get)(void *line, const sett__request *, sett__bytes *, sett_error *); /* bytes are freed on failure */
    sett__answer (*has)(void *line, const sett__request *, sett_error *);
    sett__answer (*put)(void *line, const sett__request *, const void *data, size_t len, sett_error *);
} sett__transport;
extern const sett__transport sett__http, sett__redis;

typedef struct sett__remote_options { /* strings point into text, or are malloc'ed by libcurl: host to path */
    char *text, *shown;
    const char *url, *secret, *layout, *prefix, *ca; /* secret, ca: or NULL */
    char *host, *port, *user, *password, *path;      /* of the URL; port, user and password: or NULL */
    bool trusted, read_only;
    int most;                 /* bytes of an entry */
    int connect_ms, total_ms; /* of one get, put or probe, whatever it takes */
    int failures, retry_ms;   /* so many calls that fail in a row: the server is left alone for so long */
} sett__remote_options;

typedef struct sett__fetch sett__fetch; /* a get that is under way */
enum {
    SETT__LINES = 4,       /* that are kept when they are idle */
    SETT__REFUSED = 16,    /* whose names are remembered */
    SETT__WASTE = 1 << 20, /* bytes of an entry whose refusal is a failed call */
};
struct sett__remote {
    sett__remote_options opt;
    sett__remote_host host;
    const sett__transport *transport;
    void *tls; /* tls.c's, of rediss: */
    bool bazel;
    pthread_mutex_t lock; /* over all below */
    sett__fetch *fetches;
    void *line[SETT__LINES];
    int n_line;
    int failed;            /* calls in a row */
    int failed_before;     /* the last one that was answered, which may turn out to be of no use */
    bool trial;            /* one that shall tell whether it works again is under way */
    double off_until, denied_until; /* left alone; nothing is put */
    char refused[SETT__REFUSED][65];
    unsigned n_refused; /* so far: the oldest are forgotten */
};

/* ---- plugin.c ----------------------------------------------------------------------- */
double sett__clock_ms(void);
static inline bool sett__is_late(double deadline)
{
    return sett__clock_ms() >= deadline;
}
/* The last `tail` of the room stay free, for zeros. False: no memory. */
bool sett__bytes_add(sett__bytes *, const void *, size_t n);
void sett__bytes_free(sett__bytes *);

/* OpenSSL writes to sockets as to files: a server that went away would be a SIGPIPE of the process. Not of what is between. */
typedef struct sett__quiet { sigset_t before; bool pending; } sett__quiet;
void sett__quiet_begin(sett__quiet *);
void sett__quiet_end(const sett__quiet *);

/* ---- redis.c ---------------------------------------------------------------------- */
bool sett__await(int fd, short what, double deadline); /* poll(); false: not in time, even if there is something */

/* ---- tls.c ------------------------------------------------------------------------ */
sett_status sett__tls_open(sett__remote *, sett_error *); /* once */
void sett__tls_close(sett__remote *); /* also one that was not opened */
void *sett__tls_start(sett__remote *, int fd, double deadline, sett_error *); /* NULL: why */
void sett__tls_end(void *tls); /* or NULL; the socket stays open */
/* Reads into in, or, where that is NULL, writes from out: how many bytes; 0: it was closed; -1: errno, and with EAGAIN what to
 * wait for. Ends at the deadline whatever the server sends. */
ssize_t sett__tls_move(void *tls, void *in, const void *out, size_t len, double deadline, short *what);

/* ---- options.c -------------------------------------------------------------------- */
/* SETT_E_ARGUMENT. To be freed also after a failure. */
sett_status sett__remote_parse(const char *text, sett__remote_options *, sett_error *);
void sett__remote_options_free(sett__remote_options *);

/* ---- bazel.c ---------------------------------------------------------------------- */
/* An entry, wherever the layout has it. */
sett__answer sett__fetch_entry(sett__remote *, void *line, const char *name, double deadline, sett__bytes *, sett_error *);
sett__answer sett__has_entry(sett__remote *, void *line, const char *name, double deadline, sett_error *);
sett__answer sett__send_entry(
    sett__remote *, void *line, const char *name, const void *data, size_t len, double deadline, sett_error *);
/* Pure, and fuzzed by the tests: the blob that an ActionResult names first. False: it names none as we write it. */
bool sett__action_read(const void *data, size_t len, char sum[65], uint64_t *size);
enum { SETT__ACTION_BYTES = 160 };
size_t sett__action_write(uint8_t out[SETT__ACTION_BYTES], const char sum[65], uint64_t size);
#endif
