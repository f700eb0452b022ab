/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of a family from the command line: NAME=VALUE to members of its user data. */
#include "tools.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool number_of(const char *text, int64_t *out)
{
    char *end;
    sett_dtype t = dtype_of_name(text);
    errno = 0;
    *out = t ? (int64_t)t : !strcmp(text, "true") ? 1 : !strcmp(text, "false") ? 0 : strtoll(text, &end, 0);
    return t || !strcmp(text, "true") || !strcmp(text, "false") || (end != text && !*end && !errno);
}

static bool put_floating(char *to, size_t bytes, const char *text)
{
    char *end;
    double d = strtod(text, &end);
    float f = (float)d;
    if (end == text || *end)
        return false;
    memcpy(to, bytes == sizeof f ? (const void *)&f : &d, bytes);
    return true;
}

/* Little-endian, as the hosts of CUDA are. */
static bool put_integer(char *to, const sett_family_param *q, int64_t i)
{
    const int64_t half = q->bytes < sizeof i ? INT64_C(1) << (8 * q->bytes - 1) : 0;
    if (half && (i < -half || i >= (q->is_signed ? half : 2 * half)))
        return false;
    memcpy(to, &i, q->bytes);
    return true;
}

const char *types_text(char text[256])
{
    int n = 0;
    for (int id = 1; sett_dtype_bits((sett_dtype)id) && n < 200; id++)
        n += snprintf(text + n, 256 - (size_t)n, "%s%s", id > 1 ? ", " : "", sett_dtype_name((sett_dtype)id));
    return text;
}

static int put_value(const char *command, const sett_family *f, const sett_family_param *q, char *user, const char *text)
{
    char types[256], words[256];
    if (q->floating)
        return put_floating(user + q->offset, q->bytes, text) ? EXIT_OK : usage("%s: %s=%s: no number", command, q->name, text);
    int64_t i;
    const bool word = sett_family_word_value(f, q->name, text, &i);
    if (!word && q->number && dtype_of_name(text))
        return usage("%s: %s=%s: %s is an element type, and %s is a number", command, q->name, text, text, q->name);
    if (!word && !number_of(text, &i) && sett_family_words(f, q->name, words, sizeof words))
        return usage("%s: %s=%s: no integer, and none of %s", command, q->name, text, words);
    if (!word && !number_of(text, &i))
        return usage("%s: %s=%s: no integer, true, false or element type: %s", command, q->name, text, types_text(types));
    return put_integer(user + q->offset, q, i) ? EXIT_OK : usage("%s: %s=%s does not fit into %zu bytes", command, q->name, text, q->bytes);
}

int family_set(const char *command, const sett_family *f, const char *of, char *user, const char **given, char *text)
{
    char *equal = strchr(text, '=');
    sett__guess g = sett__guess_of(text, equal ? (size_t)(equal - text) : strlen(text));
    if (!equal)
        return usage("%s: %s: NAME=VALUE is needed", command, text);
    *equal = 0;
    for (int i = 0; i < f->n_params; i++) {
        const sett_family_param *q = &f->params[i];
        sett__guess_add(&g, q->name);
        if (strcmp(q->name, text))
            continue;
        if (given[i])
            return usage("%s: %s=%s and %s=%s: it is given twice", command, text, given[i], text, equal + 1);
        given[i] = equal + 1;
        return put_value(command, f, q, user, equal + 1);
    }
    const char *now = sett_family_present_name(f, text);
    if (now)
        return usage("%s: parameter %s of %s is named %s now", command, text, of, now);
    const char *guess = sett__guess_text(&g);
    char all[600] = "";
    for (int i = 0, n = 0; !*guess && i < f->n_params && n < (int)sizeof all; i++)
        n += snprintf(all + n, sizeof all - (size_t)n, "%s%s", i ? ", " : ": ", f->params[i].name);
    return usage("%s: %s is no parameter of %s%s%s", command, text, of, guess, all);
}
