/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of the environment that are a number, a yes or no, or one of some words. A value that is none of these is an error and no
 * warning: a run under a setting that does not exist must not look like one under it. "" counts as not set. A set-uid program has no
 * environment. */
#include "support.h"
#include <stdlib.h>
#include <strings.h>

const char *sett__environment_text(const char *variable)
{
    const char *text = secure_getenv(variable);
    return text && *text ? text : NULL;
}

sett_status sett__environment_bad(sett_error *err, const char *variable, const char *text, const char *legal)
{
    return sett__error(err, SETT_E_ARGUMENT, "%s is \"%.60s\" in the environment: it is %s", variable, text, legal);
}

sett_status sett__environment_word(const char *variable, const char *const *words, int n, int *at, sett_error *err)
{
    char legal[160];
    const char *text = sett__environment_text(variable);
    int len = 0;
    *at = -1;
    if (!text)
        return SETT_OK;
    for (int i = 0; i < n; i++)
        if (!strcasecmp(words[i], text)) {
            *at = i;
            return SETT_OK;
        }
    for (int i = 0; i < n && len < (int)sizeof legal; i++)
        len += snprintf(legal + len, sizeof legal - (size_t)len, "%s%s", !i ? "" : i + 1 < n ? ", " : " or ", words[i]);
    return sett__environment_bad(err, variable, text, legal);
}

sett_status sett__environment_flag(const char *variable, int *on, sett_error *err)
{
    static const char *const words[] = {"1", "0", "true", "false", "yes", "no", "on", "off"};
    sett_status s = sett__environment_word(variable, words, SETT__COUNT(words), on, err);
    *on = *on < 0 ? -1 : *on % 2 == 0;
    return s;
}

sett_status sett__environment_number(const char *variable, int *number, sett_error *err)
{
    const char *text = sett__environment_text(variable), *p = text;
    char legal[60];
    int64_t n = 0;
    for (; text && *p >= '0' && *p <= '9' && n <= INT32_MAX; p++)
        n = 10 * n + (*p - '0');
    if (!text || (!*p && n <= INT32_MAX)) {
        *number = (int)n;
        return SETT_OK;
    }
    snprintf(legal, sizeof legal, "a number from 0 to %d", INT32_MAX);
    return sett__environment_bad(err, variable, text, legal);
}
