/* SPDX-License-Identifier: Apache-2.0 */
/* A manifest's text to blocks; <sett/warm.h> has its form. Points of a block are numbered as its axes are written,
 * the last one fastest. */

#include "inside.h"
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX = 1 << 20, BLOCKS_MAX = 4096 };

typedef struct reader {
    sett__manifest *m;
    const char *path;
    sett__warm_source *source;
    int line;
    sett_error *err;
    sett__model *model;   /* NULL: the text is a manifest's own */
    const char *targets;  /* of the model; NULL: the call's */
    int depth, file;      /* of the model's files */
    bool begun, skips;    /* of a model: a block has; the last one is left out */
} reader;

SETT_PRINTF(3, 4) static sett_status refuse(const reader *r, sett_status s, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return sett__error(r->err, s, "%s:%d: %s", r->path, r->line, text);
}

/* ---- words ---------------------------------------------------------------------------------- */
static int words_of(const sett_family *f)
{
    return f && f->size >= offsetof(sett_family, n_words) + sizeof f->n_words ? f->n_words : 0;
}

bool sett_family_word_value(const sett_family *f, const char *param, const char *word, int64_t *value)
{
    for (int i = 0; i < words_of(f); i++)
        if (!strcmp(f->words[i].param, param) && !strcmp(f->words[i].word, word)) {
            *value = f->words[i].value;
            return true;
        }
    return false;
}

int sett_family_words(const sett_family *f, const char *param, char *buf, size_t size)
{
    size_t at = 0;
    if (size)
        *buf = 0;
    for (int i = 0; i < words_of(f); i++)
        if (!strcmp(f->words[i].param, param))
            at += (size_t)snprintf(at < size ? buf + at : NULL, at < size ? size - at : 0, "%s%s", at ? ", " : "", f->words[i].word);
    return (int)at;
}

/* ---- values ------------------------------------------------------------------------------- */
static bool fits(int64_t v, const sett_family_param *p)
{
    const int64_t half = p->bytes < 8 ? (int64_t)1 << (8 * p->bytes - 1) : 0;
    return !half || (v >= -half && v < (p->is_signed ? half : 2 * half));
}

static sett_status add_value(reader *r, sett__warm_axis *a, int64_t integer, double number, const char *text)
{
    if (!a->param->floating && !fits(integer, a->param))
        return refuse(r, SETT_E_PARSE, "%s: %s does not fit into %zu bytes", a->param->name, text, a->param->bytes);
    if (a->n == SETT__WARM_POINTS)
        return refuse(r, SETT_E_LIMIT, "%s has more than %d values", a->param->name, SETT__WARM_POINTS);
    if (!(a->n & (a->n - 1))) { /* at powers of two */
        sett__warm_value *more = realloc(a->value, (a->n ? 2 * a->n : 1) * sizeof *more);
        if (!more)
            return refuse(r, SETT_E_MEMORY, "no memory for the values of %s", a->param->name);
        a->value = more;
    }
    sett__warm_value *v = &a->value[a->n++];
    *v = (sett__warm_value){.integer = integer, .number = number};
    snprintf(v->text, sizeof v->text, "%s", text);
    return SETT_OK;
}

static bool whole(const char *text, char **end, int64_t *v)
{
    errno = 0;
    *v = strtoll(text, end, 10);
    return *end != text && !errno;
}

/* FROM..TO, with +N or *N behind it. */
static sett_status add_range(reader *r, sett__warm_axis *a, const char *text, int64_t from, const char *rest)
{
    char *end, name[SETT__WARM_VALUE];
    int64_t to, step = 1;
    bool ok = whole(rest, &end, &to), times = ok && *end == '*';
    if (ok && (*end == '+' || times))
        ok = whole(end + 1, &end, &step);
    if (!ok || *end || from > to || step < (times ? 2 : 1) || (times && from < 1))
        return refuse(
            r, SETT_E_PARSE, "%s: %s is no range: FROM..TO, FROM..TO+N or FROM..TO*N, growing", a->param->name, text);
    sett_status s = SETT_OK;
    for (int64_t v = from; v <= to && !s;) {
        snprintf(name, sizeof name, "%lld", (long long)v);
        s = add_value(r, a, v, (double)v, name);
        if (times ? __builtin_mul_overflow(v, step, &v) : __builtin_add_overflow(v, step, &v))
            break;
    }
    return s;
}

/* "768 1024": of two values, and not of a range that was written with blanks. */
static bool two_values(const char *text, size_t *left, const char **right)
{
    *left = strcspn(text, " \t");
    *right = text + *left + strspn(text + *left, " \t");
    bool ranged = *left > 1 && !strncmp(text + *left - 2, "..", 2);
    return *left && **right && !ranged && (isalnum((unsigned char)**right) || **right == '-' || **right == '.') &&
           strncmp(*right, "..", 2) != 0;
}

static sett_status add_text(reader *r, sett__warm_axis *a, const char *text)
{
    const char *right;
    size_t left;
    char *end;
    int64_t v;
    if (two_values(text, &left, &right))
        return refuse(r, SETT_E_PARSE, "%s: a comma is missing between %.*s and %.*s", a->param->name, (int)(left < 40 ? left : 40),
            text, (int)(strcspn(right, " \t") < 40 ? strcspn(right, " \t") : 40), right);
    if (strlen(text) >= 3 * SETT__WARM_VALUE)
        return refuse(r, SETT_E_PARSE, "%s: a value of %zu characters", a->param->name, strlen(text));
    bool is_whole = whole(text, &end, &v);
    if (is_whole && !strncmp(end, "..", 2))
        return add_range(r, a, text, v, end + 2);
    if (is_whole && !*end)
        return add_value(r, a, v, (double)v, text);
    if (a->param->floating) {
        double d = strtod(text, &end);
        return end != text && !*end ? add_value(r, a, 0, d, text)
                                    : refuse(r, SETT_E_PARSE, "%s: %s is no number", a->param->name, text);
    }
    bool truth = !strcmp(text, "true");
    if (truth || !strcmp(text, "false"))
        return add_value(r, a, truth, truth, text);
    const sett_family *f = r->m->block[r->m->n - 1].family;
    char words[200];
    if (sett_family_word_value(f, a->param->name, text, &v))
        return add_value(r, a, v, (double)v, text);
    if (sett_family_words(f, a->param->name, words, sizeof words))
        return refuse(r, SETT_E_PARSE, "%s: %s is no integer, and none of %s", a->param->name, text, words);
    v = sett__dtype_named(text);
    if (v && a->param->number)
        return refuse(r, SETT_E_PARSE, "%s: %s is an element type, and %s is a number", a->param->name, text, a->param->name);
    return v ? add_value(r, a, v, 0, text)
             : refuse(r, SETT_E_PARSE, "%s: %s is no integer, element type, true or false", a->param->name, text);
}

/* ---- lines ---------------------------------------------------------------------------------- */
static char *trim(char *text)
{
    text += strspn(text, " \t");
    for (size_t n = strlen(text); n && isspace((unsigned char)text[n - 1]);)
        text[--n] = 0;
    return text;
}

bool sett__warm_target(const char **text, size_t *n, char target[SETT__WARM_TARGET])
{
    int sm;
    char suffix;
    while (*n && ((*text)[0] == ' ' || (*text)[0] == '\t'))
        ++*text, --*n;
    while (*n && ((*text)[*n - 1] == ' ' || (*text)[*n - 1] == '\t'))
        --*n;
    snprintf(target, SETT__WARM_TARGET, "%.*s", (int)*n, *text);
    return *n < SETT__WARM_TARGET && sett__target_parse(target, &sm, &suffix) && sett__target_isa(target, 0);
}

static sett_status check_targets(const reader *r, const char *list)
{
    char target[SETT__WARM_TARGET], why[SETT__TARGET_FAULT];
    for (const char *at = list; at;) {
        const char *text = at;
        size_t all = strcspn(at, ","), n = all;
        if (!sett__warm_target(&text, &n, target))
            return refuse(r, SETT_E_ARGUMENT, "%s", sett__target_fault(text, n, false, why, sizeof why));
        at = at[all] ? at + all + 1 : NULL;
    }
    return SETT_OK;
}

static sett_status set_targets(const reader *r, sett__warm_block *b, const char *list)
{
    const sett_status s = check_targets(r, list);
    if (s)
        return s;
    free(b->targets);
    b->targets = strdup(list);
    return b->targets ? SETT_OK : refuse(r, SETT_E_MEMORY, "no memory for targets");
}

static sett_status set_option(reader *r, sett__warm_block *b, const char *name, const char *value)
{
    if (!strcmp(name, ".name"))
        snprintf(b->name, sizeof b->name, "%s", value), b->own_name = false;
    else if (!strcmp(name, ".targets"))
        return set_targets(r, b, value);
    else if (!strcmp(name, ".opt_level") && value[0] >= '0' && value[0] <= '4' && !value[1])
        b->opt_level = value[0] - '0';
    else if (!strcmp(name, ".line_info") && (!strcmp(value, "true") || !strcmp(value, "false")))
        b->line_info = *value == 't';
    else
        return refuse(r, SETT_E_PARSE,
            "%s = %s: the options are .name, .targets, .opt_level from 0 to 4, .line_info true or false", name, value);
    return SETT_OK;
}

const char *sett_family_present_name(const sett_family *f, const char *name)
{
    const bool lists = f && name && f->size >= offsetof(sett_family, n_renamed) + sizeof f->n_renamed;
    for (int i = 0; lists && i < f->n_renamed; i++)
        for (int k = 0; !strcmp(f->renamed[i].was, name) && k < f->n_params; k++)
            if (!strcmp(f->params[k].name, f->renamed[i].now))
                return f->renamed[i].now;
    return NULL;
}

static sett_status no_parameter(const reader *r, const sett__warm_block *b, const char *name)
{
    char list[240] = "";
    size_t at = 0;
    if (!b->family)
        return refuse(r, SETT_E_PARSE, "%s: a tape has no parameters, and %s is no option", b->path, name);
    const char *now = sett_family_present_name(b->family, name);
    if (now)
        return refuse(r, SETT_E_PARSE, "%s of %s: parameter %s is named %s now", b->symbol, b->path, name, now);
    for (int i = 0; i < b->family->n_params && at < sizeof list; i++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "", b->family->params[i].name);
    sett__guess near = sett__guess_of(name, strlen(name));
    for (int i = 0; i < b->family->n_params; i++)
        sett__guess_add(&near, b->family->params[i].name);
    return refuse(r, SETT_E_PARSE, "%s of %s has no parameter %s%s%s%s%s", b->symbol, b->path, name, sett__guess_text(&near), near.best ? " It has " : ": it has ",
        b->family->n_params ? "" : "none", list);
}

static sett_status set_values(reader *r, char *text)
{
    sett__warm_block *b = r->m->n ? &r->m->block[r->m->n - 1] : NULL;
    char *eq = strchr(text, '=');
    if (!eq)
        return refuse(r, SETT_E_PARSE, "%.*s is unknown: family OBJECT SYMBOL or tape FILE begins a block, NAME = VALUES follow",
            (int)strcspn(text, " \t"), text);
    if (!b)
        return refuse(r, SETT_E_PARSE, "%s: no family or tape is named before it", text);
    if (b->model && !r->model)
        return refuse(r, SETT_E_PARSE, "%.*s: a model's line says all of it, and no family or tape is named behind it", (int)strcspn(text, " \t="), text);
    *eq = 0;
    char *name = trim(text), *values = trim(eq + 1);
    if (*name == '.')
        return set_option(r, b, name, values);
    sett__warm_axis *a = &b->axis[b->n_axes];
    *a = (sett__warm_axis){0};
    for (int i = 0; b->family && i < b->family->n_params; i++)
        if (!strcmp(b->family->params[i].name, name))
            a->param = &b->family->params[i];
    if (!a->param)
        return no_parameter(r, b, name);
    for (int i = 0; i < b->n_axes; i++)
        if (b->axis[i].param == a->param)
            return refuse(r, SETT_E_PARSE, "%s is given twice; a second block takes other values", name);
    if (b->n_axes == SETT__WARM_AXES - 1)
        return refuse(r, SETT_E_LIMIT, "more than %d parameters", SETT__WARM_AXES - 1);
    b->n_axes++;
    sett_status s = *values ? SETT_OK : refuse(r, SETT_E_PARSE, "%s has no value", name);
    for (char *at; !s && (at = strsep(&values, ","));) {
        at = trim(at);
        s = *at ? add_text(r, a, at) : refuse(r, SETT_E_PARSE, "%s: a value is missing beside a comma", name);
    }
    return s;
}

/* Relative to the manifest's folder; a bare name too, which dlopen would look for elsewhere. */
static bool place(const reader *r, const char *path, char out[PATH_MAX])
{
    const char *slash = path[0] == '/' ? NULL : strrchr(r->path, '/');
    while (!strncmp(path, "./", 2))
        path += 1 + strspn(path + 1, "/");
    int n = path[0] == '/' ? snprintf(out, PATH_MAX, "%s", path)
            : slash        ? snprintf(out, PATH_MAX, "%.*s/%s", (int)(slash - r->path), r->path, path)
                           : snprintf(out, PATH_MAX, "./%s", path);
    return n > 0 && n < PATH_MAX;
}

/* Where the file of a block may be: what it is in the manifest's folder; without a slash it may be beside libsett.so too, as libsett-kernels.so is.
 * A library is installed by its SONAME alone where nothing is linked with it, as by a wheel: so NAME.so is NAME.so.0 as well. */
enum { PLACES = 4 };
typedef struct places {
    int n;
    char at[PLACES][PATH_MAX];
} places;

static bool find_places(const reader *r, const char *name, bool library, places *to)
{
    char versioned[PATH_MAX];
    const size_t len = strlen(name);
    const bool both = library && len > 3 && !strcmp(name + len - 3, ".so") && snprintf(versioned, sizeof versioned, "%s.%d", name, SETT_VERSION_MAJOR) < PATH_MAX;
    const char *const names[] = {name, versioned};
    *to = (places){.n = 0};
    for (int i = 0; i <= both; i++)
        if (!place(r, names[i], to->at[to->n++]))
            return false;
    for (int i = 0; i <= both && !strchr(name, '/'); i++) {
        char *at = to->at[to->n];
        sett__beside(names[i], at, PATH_MAX);
        to->n += *at != 0;
    }
    return true;
}

/* The first that is there, else the first of all. */
static const char *first_there(const places *p)
{
    for (int i = 0; i < p->n; i++)
        if (!access(p->at[i], F_OK))
            return p->at[i];
    return p->at[0];
}

static sett_status not_there(const reader *r, const char *name, const places *p)
{
    char tried[300] = "";
    size_t n = 0;
    for (int i = 0; i < p->n && n < sizeof tried; i++)
        n += (size_t)snprintf(tried + n, sizeof tried - n, "%s%s", i ? ", " : "", p->at[i]);
    return refuse(r, SETT_E_IO, "%s is not there: looked for %s", name, tried);
}

static bool has_several(const sett_family *f)
{
    return f->size >= offsetof(sett_family, kernel_size) + sizeof f->kernel_size && f->kernel;
}

bool sett__warm_several(const sett__warm_block *b)
{
    return b->family && has_several(b->family);
}

static const char *family_fault(const sett_family *f)
{
    if (!f || f->size < offsetof(sett_family, choose) || !sett__known_size(f->size)) /* the first version ended there */
        return "is no sett_family of this version: its .size is not that of the struct";
    if ((!f->body && !has_several(f)) || f->n_params < 0 || (f->n_params && !f->params))
        return "has no body, or no parameters where it counts some";
    for (int i = 0; i < f->n_params; i++) {
        const sett_family_param *p = &f->params[i];
        bool sized =
            p->floating ? p->bytes == 4 || p->bytes == 8 : p->bytes && p->bytes <= 8 && !(p->bytes & (p->bytes - 1));
        if (!p->name || !sized || p->offset > f->user_size || p->bytes > f->user_size - p->offset)
            return "has a parameter without a name, of odd size, or outside its user data";
    }
    return NULL;
}

static sett_status open_block(reader *r, sett__warm_block *b, const char *symbol)
{
    sett_error why = {0};
    sett_status s = r->source(b, symbol, &why);
    if (s || !symbol)
        return s ? refuse(r, s, "%s", why.text) : SETT_OK;
    const char *fault = family_fault(b->family);
    if (fault)
        return refuse(r, SETT_E_ARGUMENT, "%s of %s %s", symbol, b->path, fault);
    snprintf(b->symbol, sizeof b->symbol, "%s", symbol);
    if (b->family->name)
        snprintf(b->name, sizeof b->name, "%s", b->family->name);
    b->own_name = true;
    return SETT_OK;
}

static sett_status read_file(const char *path, char **text, size_t *len, sett_error *err)
{
    int fd = sett__file_open(path, err);
    if (fd < 0)
        return SETT_E_IO;
    char *p = malloc(TEXT_MAX + 1);
    size_t n = 0;
    ssize_t got = -1;
    while (p && n <= TEXT_MAX && ((got = read(fd, p + n, TEXT_MAX + 1 - n)) > 0 || (got < 0 && errno == EINTR)))
        n += got > 0 ? (size_t)got : 0;
    int why = errno;
    close(fd);
    if (got == 0) {
        p[n] = 0;
        *text = p, *len = n;
        return SETT_OK;
    }
    free(p);
    return !p        ? sett__error(err, SETT_E_MEMORY, "no memory to read %s", path)
           : got < 0 ? sett__error(err, SETT_E_IO, "%s: %s", path, strerror(why))
                     : sett__error(err, SETT_E_LIMIT, "%s is larger than %d bytes", path, TEXT_MAX);
}

/* A body that calls a ready kernel needs libsett-kernels.so, with which its object need not be linked: that is opened then, for all to see. */
static void *open_family(const char *path, char *why, size_t size)
{
    void *lib = sett__library_open(path, RTLD_NOW | RTLD_LOCAL, why, size);
    if (lib || !strstr(why, " symbol"))
        return lib;
    char name[64], at[PATH_MAX];
    snprintf(name, sizeof name, "libsett-kernels.so.%d", SETT_VERSION_MAJOR);
    return dlopen(sett__beside(name, at, sizeof at) ? at : name, RTLD_NOW | RTLD_GLOBAL) ? sett__library_open(path, RTLD_NOW | RTLD_LOCAL, why, size) : NULL;
}

static sett_status open_source(sett__warm_block *b, const char *symbol, sett_error *err)
{
    if (!symbol)
        return read_file(b->path, &b->tape, &b->tape_len, err);
    char why[400];
    void *lib = open_family(b->path, why, sizeof why);
    if (!lib)
        return sett__error(err, SETT_E_IO, "%s", why);
    b->family = dlsym(lib, symbol);
    return b->family ? SETT_OK : sett__error(err, SETT_E_IO, "%s has no symbol %s", b->path, symbol);
}

static void free_block(sett__warm_block *b)
{
    for (int k = 0; k < b->n_axes; k++)
        free(b->axis[k].value);
    free(b->tape);
    free(b->targets);
    free(b->model);
}

static sett_status begin_block(reader *r, char *text, bool family)
{
    sett__warm_block *more = realloc(r->m->block, (size_t)(r->m->n + 1) * sizeof *more);
    char *save = NULL, *object = strtok_r(text, " \t", &save), *symbol = strtok_r(NULL, " \t", &save);
    if (!more)
        return refuse(r, SETT_E_MEMORY, "no memory for a block");
    r->m->block = more;
    sett__warm_block *b = &more[r->m->n];
    sett_status s;
    *b = (sett__warm_block){.line = r->line};
    r->begun = true, r->skips = false;
    if (r->m->n == BLOCKS_MAX)
        return refuse(r, SETT_E_LIMIT, "more than %d blocks", BLOCKS_MAX);
    r->m->n++;
    if (!object || !symbol == family || strtok_r(NULL, " \t", &save))
        return refuse(r, SETT_E_PARSE, "a block begins with %s", family ? "family OBJECT SYMBOL" : "tape FILE");
    places *at = malloc(sizeof *at);
    if (!at)
        return refuse(r, SETT_E_MEMORY, "no memory for a block");
    s = find_places(r, object, family, at) ? SETT_OK : refuse(r, SETT_E_PARSE, "%.60s...: the path is too long", object);
    if (!s) {
        snprintf(b->path, sizeof b->path, "%s", first_there(at));
        s = family && r->source == open_source && access(b->path, F_OK) ? not_there(r, object, at) : SETT_OK;
    }
    free(at);
    s = s ? s : open_block(r, b, symbol);
    if (!s && r->model && (!(b->model = strdup(r->path)) || (r->targets && !(b->targets = strdup(r->targets)))))
        s = refuse(r, SETT_E_MEMORY, "no memory for a block");
    return s;
}

/* ---- models ----------------------------------------------------------------------------------- */
static sett_status read_text(reader *, char *);

static sett_status read_model_file(reader *r, const char *path)
{
    enum { DEEPEST = 8 };
    char *text = NULL;
    size_t len;
    reader in = *r;
    in.path = path, in.line = 0, in.depth++, in.file = ++r->model->files;
    if (r->depth == DEEPEST)
        return refuse(r, SETT_E_LIMIT, "%s: files that include each other are at most %d", path, DEEPEST);
    sett_status s = read_file(path, &text, &len, r->err);
    if (!s)
        s = strlen(text) < len ? refuse(&in, SETT_E_PARSE, "this is no text") : read_text(&in, text);
    free(text);
    r->begun = in.begun;
    return s;
}

static sett_status include(reader *r, char *name)
{
    char path[PATH_MAX];
    return !*name || !place(r, name, path) ? refuse(r, SETT_E_PARSE, "include is followed by a file") : read_model_file(r, path);
}

/* A file's own name has a slash, or ends so; else it is a model of this library, or one in the manifest's folder. */
static bool find_model(const reader *r, const char *name, places *to)
{
    static const char *const installed[] = {"models/", "../share/sett/models/", "../../share/sett/models/"};
    char file[PATH_MAX];
    const size_t len = strlen(name);
    const bool whole = len > 6 && !strcmp(name + len - 6, ".model");
    if (snprintf(file, sizeof file, "%s%s", name, whole ? "" : ".model") >= (int)sizeof file || !place(r, file, to->at[0]))
        return false;
    to->n = 1;
    for (int i = 0; i < PLACES - 1 && !whole && !strchr(name, '/'); i++) {
        snprintf(file, sizeof file, "%s%s.model", installed[i], name);
        to->n += sett__beside(file, to->at[to->n], PATH_MAX);
    }
    return true;
}

/* NAME=VALUE,... without blanks, of the model or `targets`. */
static sett_status take_given(const reader *r, reader *in, char *word)
{
    char why[SETT__MODEL_WHY], *eq = strchr(word, '=');
    if (!eq)
        return refuse(r, SETT_E_PARSE, "%s: behind a model's name come NAME=VALUE,... without blanks", word);
    *eq = 0;
    if (!strcmp(word, "targets")) {
        in->targets = eq + 1;
        return check_targets(r, in->targets);
    }
    return sett__model_set(in->model, word, eq + 1, 0, why) ? SETT_OK : refuse(r, SETT_E_PARSE, "%s", why);
}

static sett_status read_model(reader *r, char *text)
{
    char why[SETT__MODEL_WHY], *save = NULL, *name = strtok_r(text, " \t", &save);
    sett__model m = {0};
    places at = {0};
    reader in = *r;
    in.model = &m, in.begun = false;
    sett_status s = name && !strchr(name, '=') ? SETT_OK : refuse(r, SETT_E_PARSE, "model NAME NAME=VALUE,...: the model's name is missing");
    for (char *word; !s && (word = strtok_r(NULL, " \t", &save));)
        s = take_given(r, &in, word);
    if (!s && !find_model(r, name, &at))
        s = refuse(r, SETT_E_PARSE, "%.60s...: the path is too long", name);
    if (!s && access(first_there(&at), F_OK))
        s = not_there(r, name, &at);
    if (s)
        return s;
    s = read_model_file(&in, first_there(&at));
    if (!s)
        return sett__model_offers(&m, why) ? SETT_OK : refuse(r, SETT_E_PARSE, "model %s: %s", name, why);
    const size_t n = r->err ? strlen(r->err->text) : 0;
    if (n)
        snprintf(r->err->text + n, sizeof r->err->text - n, " (model %s, %s:%d)", name, r->path, r->line);
    return s;
}

/* Leaves the block out that was begun last, unless it holds. */
static sett_status when(reader *r, const char *text)
{
    char why[SETT__MODEL_WHY];
    bool yes;
    if (!r->begun || (!r->skips && r->m->block[r->m->n - 1].n_axes))
        return refuse(r, SETT_E_PARSE, "when follows the line that begins a block");
    if (!sett__model_when(r->model, text, &yes, why))
        return refuse(r, SETT_E_PARSE, "%s", why);
    if (!yes && !r->skips)
        free_block(&r->m->block[--r->m->n]);
    r->skips |= !yes;
    return SETT_OK;
}

static bool is_word(const char *text, size_t n, const char *word)
{
    return strlen(word) == n && !memcmp(text, word, n) && text[n + strspn(text + n, " \t")] != '=';
}

static sett_status define(reader *r, char *text)
{
    char why[SETT__MODEL_WHY], *eq = strchr(text, '=');
    if (!eq)
        return refuse(r, SETT_E_PARSE, "%.*s is unknown: a model begins with NAME = VALUE, or include FILE", (int)strcspn(text, " \t"), text);
    *eq = 0;
    return sett__model_set(r->model, trim(text), trim(eq + 1), r->file, why) ? SETT_OK : refuse(r, SETT_E_PARSE, "%s", why);
}

static sett_status read_model_line(reader *r, const char *line)
{
    char text[1024], why[SETT__MODEL_WHY];
    if (!sett__model_fill(r->model, line, text, sizeof text, why))
        return refuse(r, SETT_E_PARSE, "%s", why);
    const size_t word = strcspn(text, " \t");
    char *rest = text + word + strspn(text + word, " \t");
    const bool family = is_word(text, word, "family");
    if (family || is_word(text, word, "tape"))
        return begin_block(r, rest, family);
    if (is_word(text, word, "include"))
        return include(r, rest);
    if (is_word(text, word, "when"))
        return when(r, rest);
    return !r->begun ? define(r, text) : r->skips ? SETT_OK : set_values(r, text);
}

/* ---- lines ------------------------------------------------------------------------------------ */
static sett_status read_line(reader *r, char *text)
{
    text[strcspn(text, "#")] = 0;
    text = trim(text);
    const size_t word = strcspn(text, " \t");
    const bool family = is_word(text, word, "family");
    if (!*text)
        return SETT_OK;
    if (r->model)
        return read_model_line(r, text);
    if (is_word(text, word, "model"))
        return read_model(r, text + word);
    return family || is_word(text, word, "tape") ? begin_block(r, text + word, family) : set_values(r, text);
}

static sett_status read_text(reader *r, char *text)
{
    sett_status s = SETT_OK;
    for (char *at = text; *at && !s;) {
        char *end = at + strcspn(at, "\n");
        const bool more = *end;
        *end = 0;
        r->line++;
        s = read_line(r, at);
        at = end + more;
    }
    return s;
}

/* Every parameter has a value or a default, and the points can be counted. */
static sett_status check_block(reader *r, const char *path, sett__warm_block *b)
{
    r->path = b->model ? b->model : path;
    r->line = b->line;
    b->points = 1;
    for (int i = 0; i < b->n_axes; i++)
        if (__builtin_mul_overflow(b->points, b->axis[i].n, &b->points) || b->points > SETT__WARM_POINTS)
            return refuse(r, SETT_E_LIMIT, "the block has more than %d combinations", SETT__WARM_POINTS);
    for (int i = 0; b->family && !b->family->defaults && i < b->family->n_params; i++) {
        bool given = false;
        for (int k = 0; k < b->n_axes; k++)
            given |= b->axis[k].param == &b->family->params[i];
        if (!given)
            return refuse(r, SETT_E_PARSE, "parameter %s has no value", b->family->params[i].name);
    }
    return SETT_OK;
}

sett_status sett__manifest_parse(
    sett__manifest *m, const char *path, char *text, size_t len, sett__warm_source *source, sett_error *err)
{
    reader r = {.m = m, .path = path, .source = source, .err = err};
    sett_status s = strlen(text) < len ? sett__error(err, SETT_E_PARSE, "%s is no text", path) : SETT_OK;
    *m = (sett__manifest){0};
    s = s ? s : read_text(&r, text);
    for (int i = 0; i < m->n && !s; i++)
        s = check_block(&r, path, &m->block[i]);
    if (!s && !m->n)
        s = sett__error(err, SETT_E_PARSE, "%s names no family and no tape", path);
    if (s)
        sett__manifest_free(m);
    return s;
}

sett_status sett__manifest_read(sett__manifest *m, const char *path, sett_error *err)
{
    char *text = NULL;
    size_t len;
    *m = (sett__manifest){0};
    sett_status s = read_file(path, &text, &len, err);
    if (!s)
        s = sett__manifest_parse(m, path, text, len, open_source, err);
    free(text);
    return s;
}

void sett__manifest_free(sett__manifest *m)
{
    for (int i = 0; i < m->n; i++)
        free_block(&m->block[i]);
    free(m->block);
    *m = (sett__manifest){0};
}
