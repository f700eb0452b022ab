/* SPDX-License-Identifier: Apache-2.0 */
/* A caller's struct of options, which may be of an older or a newer header. */
#include "support.h"

/* ---- small things that the room shares --------------------------------------------- */
sett_status sett__options(void *dst, size_t size, const void *src, const char *what, sett_error *err)
{
    size_t given = 0;
    memset(dst, 0, size);
    if (!src)
        return SETT_OK;
    memcpy(&given, src, sizeof given);
    if (!sett__known_size(given))
        return sett__error(err, SETT_E_ARGUMENT, "%s.size is %zu; set it to sizeof(%s)", what, given, what);
    for (size_t i = size; i < given; i++)
        if (((const unsigned char *)src)[i])
            return sett__error(err, SETT_E_ARGUMENT, "%s has a field set that this version of sett (%s) does not know",
                what, SETT_VERSION);
    memcpy(dst, src, given < size ? given : size);
    return SETT_OK;
}
