/* SPDX-License-Identifier: Apache-2.0 */
/* The ABI of the remote tier of the cache: libsett-remote.so defines it, jit/cache/remote.c opens it. */
#ifndef SETT_PLUG_REMOTE_H
#define SETT_PLUG_REMOTE_H
#include <sett/base.h>

/* ---- the remote tier of the cache: remote/ defines it, jit/cache/remote.c opens it ---------------------- */
/* libsett-remote.so moves bytes to and from a server, and trusts none of them: the cache checks entries. Any number of threads
 * may call it. */
#define SETT__REMOTE_ABI 3
#define SETT__REMOTE_SYMBOL "sett_remote_plugin"
typedef struct sett__remote sett__remote; /* one server, with its connections and its circuit breaker */
typedef struct sett__remote_host { /* what the plug-in needs from its caller */
    void (*sha256)(const void *, size_t, uint8_t sum[32]);
} sett__remote_host;
typedef struct sett__remote_facts { /* attributes of the text; strings live as long as the sett__remote */
    const char *shown;  /* its URL, without user and password */
    const char *secret; /* path; NULL: the text names none */
    bool trusted, read_only;
} sett__remote_facts;
typedef struct sett__remote_plugin {
    size_t size;
    int abi;
    /* text: as sett_engine_options.cache_remote; SETT_E_ARGUMENT: it is malformed. Does not connect yet. */
    sett_status (*open)(sett__remote **, const char *text, const sett__remote_host *, sett__remote_facts *, sett_error *);
    void (*close)(sett__remote *); /* no other call may be in flight */
    /* name: 64 hexadecimal digits. One request for a name at a time: a thread that asks for a name in flight gets a copy of
     * that answer. *data is malloc'ed. SETT_E_NOT_CACHED: the server has no such entry. SETT_E_CANCELLED: it is off, and was
     * not asked. SETT_E_LIMIT: longer than allowed. SETT_E_IO: any other failure. SETT_E_MEMORY. */
    sett_status (*get)(sett__remote *, const char *name, void **data, size_t *len, sett_error *);
    /* The entry that get gave, of len bytes, is useless: the next put replaces it. */
    void (*refuse)(sett__remote *, const char *name, size_t len);
    /* *sent: false if the server had an entry, which stays unless it was refused. Fails as get. */
    sett_status (*put)(sett__remote *, const char *name, const void *data, size_t len, bool *sent, sett_error *);
    sett_status (*probe)(sett__remote *, sett_error *); /* does the server answer? Asks even while it is off */
    bool (*off)(sett__remote *); /* is the server not asked for a while, after failures? */
} sett__remote_plugin;
typedef const sett__remote_plugin *(*sett__remote_plugin_fn)(void);

#endif
