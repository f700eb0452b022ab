/* SPDX-License-Identifier: Apache-2.0 */
/* What a point of a block is: the user data of its kernel, or of each where it stands for several, and what they are called. */
#include "inside.h"
#include <stdlib.h>
#include <string.h>

static void store(unsigned char *user, const sett_family_param *p, const sett__warm_value *v)
{
    float single = (float)v->number;
    if (!p->floating)
        memcpy(user + p->offset, &v->integer, p->bytes); /* little endian, as all that sett runs on */
    else
        memcpy(user + p->offset, p->bytes == 4 ? (const void *)&single : &v->number, p->bytes);
}

/* The value of axis i; *radix: b->points before the first. */
static const sett__warm_value *value_of(const sett__warm_block *b, size_t point, int i, size_t *radix)
{
    *radix /= b->axis[i].n;
    return &b->axis[i].value[point / *radix % b->axis[i].n];
}

/* One of several. */
static sett_status one_of(const sett_family *f, void *user, const char *target, int index, sett__warm_kernel *k, sett_error *why)
{
    const sett_family *of = NULL;
    k->user = calloc(1, f->kernel_size + 1);
    if (!k->user)
        return sett__error(why, SETT_E_MEMORY, "no memory for user data");
    sett_status s = f->kernel(user, target, index, &of, k->user, why);
    if (!s && of && (of->size < offsetof(sett_family, choose) || !of->body || of->user_size > f->kernel_size))
        s = sett__error(why, SETT_E_ARGUMENT, "the family's kernel %d is of a sett_family without a body, or with more than .kernel_size bytes", index);
    if (!s && of && index >= SETT__WARM_KERNELS - 1)
        s = sett__error(why, SETT_E_LIMIT, "the family gives more than %d kernels for one combination", SETT__WARM_KERNELS - 1);
    if (s || !of)
        free(k->user), k->user = NULL;
    else
        k->family = of;
    return s;
}

/* What a point's values are for the target, in place. */
static sett_status choose(const sett_family *f, void *user, const char *target, sett_error *why)
{
    const bool chooses = f->size >= offsetof(sett_family, choose) + sizeof f->choose && f->choose;
    return chooses ? f->choose(f->body, user, target, why) : SETT_OK;
}

sett_status sett__warm_kernel_of(const sett__warm_block *b, size_t point, int index, const char *target, sett__warm_kernel *k, sett_error *err)
{
    const sett_family *f = b->family;
    size_t radix = b->points;
    void *user = f ? calloc(1, f->user_size + 1) : NULL;
    *k = (sett__warm_kernel){.family = f};
    if (!user)
        return f ? sett__error(err, SETT_E_MEMORY, "no memory for user data") : SETT_OK;
    if (f->defaults)
        memcpy(user, f->defaults, f->user_size);
    for (int i = 0; i < b->n_axes; i++)
        store(user, b->axis[i].param, value_of(b, point, i, &radix));
    const bool wanted = !f->wanted || f->wanted(user), several = sett__warm_several(b);
    sett_error why = {0};
    sett_status s = !wanted ? SETT_OK : several ? one_of(f, user, target, index, k, &why) : choose(f, user, target, &why);
    if (!s && wanted && !several)
        k->user = user;
    else
        free(user);
    const char *silent = several ? "the family's kernel refuses it without a text" : "the family's choose refuses it without a text";
    return s ? sett__error(err, s, "%s", *why.text ? why.text : silent) : SETT_OK;
}

void sett__manifest_point(const sett__warm_block *b, size_t point, char text[SETT__WARM_TEXT])
{
    size_t at = 0, radix = b->points;
    text[0] = 0;
    if (!b->family)
        snprintf(text, SETT__WARM_TEXT, "%.*s", SETT__WARM_TEXT - 1, b->path);
    for (int i = 0; i < b->n_axes; i++) {
        const sett__warm_axis *a = &b->axis[i];
        const sett__warm_value *v = value_of(b, point, i, &radix);
        int n = snprintf(text + at, SETT__WARM_TEXT - at, "%s%s=%s", i ? " " : "", a->param->name, v->text);
        at += n > 0 && (size_t)n < SETT__WARM_TEXT - at ? (size_t)n : 0;
    }
}

static const char *kernel_name(const sett__warm_block *b, const sett__warm_kernel *k)
{
    return sett__warm_several(b) && b->own_name ? (k->family ? k->family->name : NULL) : b->name[0] ? b->name : NULL;
}

/* The name that the family has for a value of a parameter; NULL: none. */
static const char *word_of(const sett_family *f, const char *param, int64_t value)
{
    const bool has = f->size >= offsetof(sett_family, n_words) + sizeof f->n_words;
    for (int i = 0; has && i < f->n_words; i++)
        if (!strcmp(f->words[i].param, param) && f->words[i].value == value)
            return f->words[i].word;
    return NULL;
}

/* "NAME=VALUE": a member of user data; how long that is. 0: it is 0. */
static int value_text(const sett_family *f, const sett_family_param *p, const unsigned char *user, char *to, size_t room)
{
    uint64_t bits = 0;
    float single;
    double number;
    memcpy(&bits, user + p->offset, p->bytes);
    memcpy(&single, &bits, sizeof single), memcpy(&number, &bits, sizeof number);
    const int shift = 64 - 8 * (int)p->bytes;
    const int64_t integer = (int64_t)(bits << shift) >> shift;
    if (!bits)
        return 0;
    const char *word = word_of(f, p->name, integer);
    if (word)
        return snprintf(to, room, "%s=%s", p->name, word);
    if (p->floating)
        return snprintf(to, room, "%s=%.9g", p->name, p->bytes == 4 ? (double)single : number);
    if (!p->number && integer > 0 && integer < 256 && sett_dtype_bits((sett_dtype)integer))
        return snprintf(to, room, "%s=%s", p->name, sett_dtype_name((sett_dtype)integer));
    return snprintf(to, room, "%s=%lld", p->name, (long long)integer);
}

void sett__warm_kernel_text(const sett__warm_block *b, const sett__warm_kernel *k, char text[SETT__WARM_TEXT])
{
    enum { MOST = 480 /* so that a reply has room for it */ };
    const char *name = kernel_name(b, k);
    size_t at = (size_t)snprintf(text, MOST, "%.128s\n", name ? name : "kernel"), begin = at;
    for (int i = 0; i < k->family->n_params; i++) {
        char one[80];
        const int n = value_text(k->family, &k->family->params[i], k->user, one, sizeof one);
        if (n > 0 && (size_t)n < sizeof one && at + (size_t)n + 1 < MOST)
            at += (size_t)snprintf(text + at, MOST - at, "%s%s", at > begin ? " " : "", one);
    }
}

void sett__warm_compile_options(
    const sett__warm_block *b, const sett__warm_kernel *k, const char *target, sett_compile_options *o)
{
    *o = (sett_compile_options){.size = sizeof *o,
        .name = kernel_name(b, k),
        .target = target,
        .user = k->user,
        .opt_level = b->opt_level,
        .line_info = b->line_info,
        .ready_made = k->family && k->family->size > offsetof(sett_family, ready_made) && k->family->ready_made};
}
