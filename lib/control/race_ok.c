/* SPDX-License-Identifier: Apache-2.0 */
/* sett_race_ok: what is recorded in it has the reason in its sites, where the checker finds it. */
#include "control.h"
#include <string.h>

bool sett_race_ok_begin(sett_site site, sett_build *b, const char *why)
{
    enum { MOST = 300 };
    static const char func[] = "sett_race_ok";
    b = sett__given(b, site, func);
    if (!sett__in_kernel(b, site, func) || b->error.status)
        return false;
    if (b->race_ok)
        sett__fail(b, site, func, SETT_E_REGION, "it is inside another one, of line %d, or that one was left by break", b->race_ok_at.line);
    else if (!why || !*why || strlen(why) > MOST || strpbrk(why, "\n\r"))
        sett__fail(b, site, func, SETT_E_ARGUMENT, "the reason is one line of 1 to %d characters", MOST);
    else {
        const size_t bytes = sizeof SETT__RACE_OK + strlen(why) + 16;
        char *text = sett__new(b, bytes);
        snprintf(text, bytes, SETT__RACE_OK "%d: %s", site.line, why);
        b->race_ok = text;
        b->race_ok_at = site;
    }
    return !b->error.status;
}

bool sett_race_ok_end(sett_build *b)
{
    b = sett__given(b, (sett_site){.file = NULL}, "sett_race_ok");
    if (b)
        b->race_ok = NULL;
    return false;
}
