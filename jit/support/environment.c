/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of the environment that are a number, a yes or no, or one of some words. A value that is none of these is told in the log
 * and counts as not set; so does "", of which nothing is said. A set-uid program has no environment. */
#include "support.h"
#include <stdlib.h>
#include <strings.h>

int sett__environment_word(sett__logger *log, const char *variable, const char *const *words, int n)
{
    char all[160];
    const char *text = secure_getenv(variable);
    int len = 0;
    if (!text || !*text)
        return -1;
    for (int i = 0; i < n; i++)
        if (!strcasecmp(words[i], text))
            return i;
    for (int i = 0; i < n && len < (int)sizeof all; i++)
        len += snprintf(all + len, sizeof all - (size_t)len, "%s%s", i ? ", " : "", words[i]);
    sett__say(log, SETT_LOG_WARNING, "log", "%s: \"%s\" is none of %s", variable, text, all);
    return -1;
}

int sett__environment_flag(sett__logger *log, const char *variable)
{
    static const char *const words[] = {"1", "0", "true", "false", "yes", "no", "on", "off"};
    int at = sett__environment_word(log, variable, words, SETT__COUNT(words));
    return at < 0 ? -1 : at % 2 == 0;
}

int sett__environment_number(sett__logger *log, const char *variable, int usual)
{
    const char *text = secure_getenv(variable);
    if (!text || !*text)
        return usual;
    int64_t n = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9' && n <= INT32_MAX; p++)
        n = 10 * n + (*p - '0');
    if (!*p && n <= INT32_MAX)
        return n ? (int)n : usual;
    sett__say(log, SETT_LOG_WARNING, "log", "%s: \"%s\" is no number from 0 to %d", variable, text, INT32_MAX);
    return usual;
}
