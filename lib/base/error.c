/* SPDX-License-Identifier: Apache-2.0 */
/* Status codes and messages. */
#include "base.h"
#include <string.h>

static const struct {
    sett_status status;
    const char *name, *text;
} statuses[] = {
#define ROW(name, number, text) {SETT_##name, "SETT_" #name, text},
    SETT_STATUSES(ROW)
#undef ROW
};

const char *sett_version(void)
{
    return SETT_VERSION;
}

const char *sett_status_name(sett_status s)
{
    for (size_t i = 0; i < SETT__COUNT(statuses); i++)
        if (statuses[i].status == s)
            return statuses[i].name;
    return "unknown status";
}

const char *sett_status_text(sett_status s)
{
    for (size_t i = 0; i < SETT__COUNT(statuses); i++)
        if (statuses[i].status == s)
            return statuses[i].text;
    return "unknown status";
}

static sett_status error_va(sett_error *e, sett_status status, const char *format, va_list ap)
{
    if (e) {
        e->status = status;
        int n = vsnprintf(e->text, sizeof e->text, format, ap);
        if (n >= (int)sizeof e->text)
            memcpy(e->text + sizeof e->text - 4, "...", 4);
    }
    return status;
}

sett_status sett__error(sett_error *e, sett_status status, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    error_va(e, status, format, ap);
    va_end(ap);
    return status;
}
