/* SPDX-License-Identifier: Apache-2.0 */
/* The ABI of the remote tier of the cache: libsett-remote.so defines it, jit/cache/remote.c opens it. */
#ifndef SETT_PLUG_REMOTE_H
#define SETT_PLUG_REMOTE_H
#include <sett/sett.h>

/* ---- the remote tier of the cache: remote/ defines it, jit/cache/remote.c opens it ---------------------- */
/* Everything that speaks to a server is in libsett-remote.so. It moves bytes and believes nothing: what an entry must be
 * is the cache's to check. All calls may come from many threads at once. */
#define SETT__REMOTE_ABI 3
#define SETT__REMOTE_SYMBOL "sett_remote_plugin"
typedef struct sett__remote sett__remote; /* one server, with its connections and its circuit breaker */
typedef struct sett__remote_host { /* what it takes from whoever opens it */
    void (*sha256)(const void *, size_t, uint8_t sum[32]);
} sett__remote_host;
typedef struct sett__remote_facts { /* what was said of it; strings live as long as it does */
    const char *shown;  /* its URL, without user and password */
    const char *secret; /* path; NULL: none was named */
    bool trusted, read_only;
} sett__remote_facts;
typedef struct sett__remote_plugin {
    size_t size;
    int abi;
    /* text: as sett_engine_options.cache_remote; malformed: SETT_E_ARGUMENT. Connects to nothing yet. */
    sett_status (*open)(sett__remote **, const char *text, const sett__remote_host *, sett__remote_facts *, sett_error *);
    void (*close)(sett__remote *); /* no other call is under way */
    /* name: 64 hexadecimal digits. One request a name at a time: who asks for one that is being fetched is given a copy.
     * *data is malloc'ed. SETT_E_NOT_CACHED: the server has none; SETT_E_CANCELLED: it is left alone and was not asked;
     * SETT_E_LIMIT: longer than is allowed; SETT_E_IO: anything else; SETT_E_MEMORY. */
    sett_status (*get)(sett__remote *, const char *name, void **data, size_t *len, sett_error *);
    /* What get gave, so many bytes of it, is of no use: the next put replaces it. */
    void (*refuse)(sett__remote *, const char *name, size_t len);
    /* sent: false if the server had one already, which stays unless it was refused. Failures as above. */
    sett_status (*put)(sett__remote *, const char *name, const void *data, size_t len, bool *sent, sett_error *);
    sett_status (*probe)(sett__remote *, sett_error *); /* does it answer? Asked also when it is left alone */
    bool (*off)(sett__remote *); /* is it left alone? */
} sett__remote_plugin;
typedef const sett__remote_plugin *(*sett__remote_plugin_fn)(void);

#endif
