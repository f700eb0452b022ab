/* SPDX-License-Identifier: Apache-2.0 */
/* Lines for whoever listens: the caller's function, else standard error where $SETT_LOG asks for it. What goes wrong a
 * thousand times a second must not cost a thousand lines: of the warnings and errors of one kind, which are those of one
 * place in the code, the first ten in a minute are told; the next one after it says how many were not. */
#include "support.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const levels[] = {"error", "warning", "info", "debug"};

static void to_stderr(void *user, sett_log_level level, const char *component, const char *message)
{
    (void)user;
    dprintf(STDERR_FILENO, "sett: %s: %s: %s\n", levels[level - 1], component, message);
}

sett_status sett__logger_open(sett__logger *l, const sett_engine_options *o, atomic_uint_fast64_t *drops, sett_error *err)
{
    int level = -1;
    pthread_mutex_init(&l->lock, NULL);
    l->drops = drops;
    atomic_init(&l->fn, o->log);
    l->user = o->user;
    l->level = o->log_level ? o->log_level : SETT_LOG_DEBUG;
    sett_status s = o->log ? SETT_OK : sett__environment_word("SETT_LOG", levels, SETT__COUNT(levels), &level, err);
    if (level >= 0) {
        atomic_store(&l->fn, to_stderr);
        l->level = (sett_log_level)(SETT_LOG_ERROR + level);
    }
    return s;
}

/* held: how many were not told since the last one of this kind. Kinds that there is no room for push out the one that was
 * quiet longest. */
static bool may_say(sett__logger *l, const char *format, unsigned *held)
{
    sett__log_kind *k = l->kind;
    pthread_mutex_lock(&l->lock);
    for (sett__log_kind *at = l->kind; at < l->kind + SETT__LOG_KINDS; at++) {
        if (at->format == format) {
            k = at;
            break;
        }
        k = at->since < k->since ? at : k;
    }
    double now = sett__now_ms();
    bool other = k->format != format, later = now - k->since >= SETT__LOG_MS;
    *held = other || !later ? 0 : k->held;
    if (other || later)
        *k = (sett__log_kind){format, now, 0, 0};
    bool may = k->said < SETT__LOG_BURST;
    ++*(may ? &k->said : &k->held);
    pthread_mutex_unlock(&l->lock);
    sett__count(l->drops, !may);
    return may;
}

void sett__say(sett__logger *l, sett_log_level level, const char *component, const char *format, ...)
{
    char text[1024];
    unsigned held = 0;
    int saved = errno;
    va_list args;
    sett_log_fn fn = l ? atomic_load(&l->fn) : NULL;
    if (!fn || level > l->level || (level <= SETT_LOG_WARNING && !may_say(l, format, &held)))
        return;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (held && n > 0)
        snprintf((size_t)n < sizeof text - 40 ? text + n : text + sizeof text - 41, 41, " (%u more like it)", held);
    fn(l->user, level, component, text);
    errno = saved;
}

void sett__say_whole(sett__logger *l, sett_log_level level, const char *component, const char *text)
{
    int saved = errno;
    sett_log_fn fn = l ? atomic_load(&l->fn) : NULL;
    if (!fn || fn == to_stderr)
        dprintf(STDERR_FILENO, "%s\n", text);
    else if (level <= l->level)
        fn(l->user, level, component, text);
    errno = saved;
}
