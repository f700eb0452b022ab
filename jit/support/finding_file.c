/* SPDX-License-Identifier: Apache-2.0 */
/* Findings, and proofs, as files. A file is replaced whole, by a rename, so that nobody reads half of one; it is written without memory of its own,
 * as what is told of may be a lack of it. */
#include "finding_store.h"
#include "support.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

typedef struct out {
    int fd, error; /* error: errno of the first write that failed */
    size_t n;
    char buf[4096];
} out;

static void flush(out *o)
{
    for (size_t at = 0; at < o->n && !o->error;) {
        ssize_t n = write(o->fd, o->buf + at, o->n - at);
        if (n < 0 && errno != EINTR)
            o->error = errno;
        at += n > 0 ? (size_t)n : 0;
    }
    o->n = 0;
}

static void put_char(out *o, char c)
{
    if (o->n == sizeof o->buf)
        flush(o);
    o->buf[o->n++] = c;
}

static void put(out *o, const char *text)
{
    while (*text)
        put_char(o, *text++);
}

static void put_number(out *o, uint64_t n)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    put(o, digits);
}

/* Bytes from 128 on are UTF-8 where a compiler's __FILE__ is. */
static void put_string(out *o, const char *text)
{
    char code[8];
    put_char(o, '"');
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            put_char(o, '\\');
        if (c >= ' ') {
            put_char(o, (char)c);
            continue;
        }
        snprintf(code, sizeof code, "\\u%04x", c);
        put(o, c == '\n' ? "\\n" : c == '\t' ? "\\t" : code);
    }
    put_char(o, '"');
}

static void put_member(out *o, const char *name, const char *text)
{
    put_string(o, name);
    put_char(o, ':');
    put_string(o, text);
}

/* ---- JSON ---------------------------------------------------------------------------------------------------------- */
static void json_site(out *o, const sett_check_site *s)
{
    put(o, "{");
    put_member(o, "file", s->file);
    put(o, ",\"line\":");
    put_number(o, (uint64_t)s->line);
    put(o, ",");
    put_member(o, "role", sett_check_role_name(s->role));
    if (*s->function) {
        put(o, ",");
        put_member(o, "function", s->function);
    }
    put(o, "}");
}

static void json_finding(out *o, const sett_finding *f, const char *reason)
{
    put(o, "{");
    if (reason) {
        put_member(o, "reason", reason);
        put(o, ",");
    }
    put_member(o, "kind", sett_check_kind_name(f->kind));
    put(o, ",");
    put_member(o, "level", sett_check_level_name(f->level));
    put(o, ",");
    put_member(o, "kernel", f->kernel);
    put(o, ",\"count\":");
    put_number(o, f->count);
    put(o, ",");
    put_member(o, "text", f->text);
    put(o, ",\"sites\":[");
    for (int i = 0; i < f->n_site; i++) {
        put(o, i ? "," : "");
        json_site(o, &f->site[i]);
    }
    put(o, "]}");
}

/* Those that are suppressed, or the others. How many. */
static int json_list(out *o, const sett__kept *first, bool suppressed)
{
    int many = 0;
    for (const sett__kept *k = first; k; k = k->next)
        if (!k->reason == !suppressed && !k->stale) {
            put(o, many++ ? ",\n" : "\n");
            json_finding(o, &k->is, k->reason);
        }
    return many;
}

static void json(out *o, const sett__kept *first, uint64_t lost)
{
    bool any = false;
    for (const sett__kept *k = first; k; k = k->next)
        any |= k->reason != NULL;
    put(o, "{\"findings\":[");
    json_list(o, first, false);
    put(o, "]");
    if (any) {
        put(o, ",\"suppressed\":[");
        json_list(o, first, true);
        put(o, "]");
    }
    if (lost) {
        put(o, ",\"lost\":");
        put_number(o, lost);
    }
    put(o, "}\n");
}

/* ---- SARIF 2.1.0 ------------------------------------------------------------------------------------------------------ */
static void sarif_place(out *o, const sett_check_site *s, const char *role)
{
    put(o, "{\"physicalLocation\":{\"artifactLocation\":{");
    put_member(o, "uri", s->file);
    put(o, "},\"region\":{\"startLine\":");
    put_number(o, s->line > 0 ? (uint64_t)s->line : 1);
    put(o, "}}");
    if (role) {
        put(o, ",\"message\":{");
        put_member(o, "text", role);
        put(o, "}");
    }
    put(o, "}");
}

static void sarif_places(out *o, const sett_finding *f, int from, int to, bool roles)
{
    for (int i = from; i < to; i++) {
        put(o, i > from ? "," : "");
        sarif_place(o, &f->site[i], roles ? sett_check_role_name(f->site[i].role) : NULL);
    }
}

static void sarif_finding(out *o, const sett_finding *f, const char *reason)
{
    static const char *const level[] = {[SETT_CHECK_ERROR] = "error", [SETT_CHECK_WARNING] = "warning", [SETT_CHECK_COST] = "note"};
    put(o, "{");
    put_member(o, "ruleId", sett_check_kind_name(f->kind));
    put(o, ",");
    put_member(o, "level", level[f->level]);
    put(o, ",\"message\":{");
    put_member(o, "text", f->text);
    put(o, "},\"locations\":[");
    sarif_places(o, f, 0, f->n_site > 0, false);
    put(o, "],\"relatedLocations\":[");
    sarif_places(o, f, 1, f->n_site, true);
    put(o, "],\"occurrenceCount\":");
    put_number(o, f->count);
    if (reason) {
        put(o, ",\"suppressions\":[{\"kind\":\"inSource\",");
        put_member(o, "justification", reason);
        put(o, "}]");
    }
    put(o, "}");
}

static void sarif(out *o, const sett__kept *first, uint64_t lost)
{
    put(o, "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[{\"tool\":{\"driver\":{\"name\":\"sett check\",");
    put_member(o, "version", SETT_VERSION);
    put(o, ",\"rules\":[");
    for (int k = 0; sett_check_kind_name((sett_check_kind)k); k++) {
        put(o, k ? ",{" : "{");
        put_member(o, "id", sett_check_kind_name((sett_check_kind)k));
        put(o, "}");
    }
    put(o, "]}},\"results\":[");
    const char *between = "\n";
    for (const sett__kept *k = first; k; k = k->next)
        if (!k->stale) {
            put(o, between);
            sarif_finding(o, &k->is, k->reason);
            between = ",\n";
        }
    put(o, "]");
    if (lost) {
        put(o, ",\"properties\":{\"lost\":");
        put_number(o, lost);
        put(o, "}");
    }
    put(o, "}]}\n");
}

/* ---- proofs, as lines of text ------------------------------------------------------------------------------------------ */
static void put_line(void *to, const char *line)
{
    put(to, line);
    put(to, "\n");
}

static void proofs(out *o, const sett__kept *first, uint64_t lost)
{
    (void)first, (void)lost;
    sett__proofs_each(put_line, o);
}

/* ---- files ------------------------------------------------------------------------------------------------------------ */
typedef struct file {
    const char *variable;
    void (*write)(out *, const sett__kept *, uint64_t lost);
} file;
static const file files[] = {{"SETT_CHECK_JSON", json}, {"SETT_CHECK_SARIF", sarif}, {"SETT_CHECK_PROOFS", proofs}};

static sett_status not_written(const file *f, const char *path, int error, sett_error *err)
{
    return sett__error(err, SETT_E_IO, "%s: %.300s cannot be written: %s", f->variable, path, strerror(error));
}

/* %p is the process. False: too long. */
static bool expand(const char *from, char *to, size_t size)
{
    sett__sink s = {.buf = to, .cap = size};
    for (; *from; from++)
        if (from[0] == '%' && from[1] == 'p')
            sett__putf(&s, "%ld", (long)getpid()), from++;
        else
            sett__put_n(&s, from, 1);
    return s.len && s.len < size;
}

/* The other threads wait: who comes later must not be replaced by who found less. */
static sett_status write_file(const file *f, const char *asked, const sett__kept *first, uint64_t lost, sett_error *err)
{
    char beside[4096], path[4000];
    out o = {.n = 0};
    if (!expand(asked, path, sizeof path))
        return not_written(f, asked, ENAMETOOLONG, err);
    snprintf(beside, sizeof beside, "%s.%ld", path, (long)getpid());
    o.fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    if (o.fd < 0)
        return not_written(f, path, errno, err);
    f->write(&o, first, lost);
    flush(&o);
    if (close(o.fd) && !o.error)
        o.error = errno;
    if (!o.error && rename(beside, path))
        o.error = errno;
    if (o.error)
        unlink(beside);
    return o.error ? not_written(f, path, o.error, err) : SETT_OK;
}

sett_status sett__findings_write(bool again, sett_error *err)
{
    static uint64_t written = UINT64_MAX; /* changes that the files have; under the store's lock */
    int saved = errno;
    uint64_t lost, changes;
    sett_status s = SETT_OK;
    const sett__kept *first = sett__findings_lock(&lost, &changes);
    changes += sett__proofs_many();
    for (size_t i = 0; i < SETT__COUNT(files) && (again || written != changes); i++) {
        const char *path = sett__environment_text(files[i].variable);
        sett_status one = path ? write_file(&files[i], path, first, lost, err) : SETT_OK;
        s = s ? s : one;
    }
    if (!s)
        written = changes;
    sett__findings_unlock();
    errno = saved;
    return s;
}

sett_status sett__findings_open(sett_error *err)
{
    sett_status s = sett__suppress_open(err);
    return s ? s : sett__findings_write(true, err);
}

static void write_or_say(const sett__listener *to, bool again)
{
    sett_error why;
    if (sett__findings_write(again, &why))
        sett__say_whole(to->log, SETT_LOG_ERROR, "check", why.text);
}

void sett__findings_told(const sett__listener *to)
{
    sett__findings_say_rest(to);
    write_or_say(to, false);
}

void sett__findings_close(const sett__listener *to)
{
    if (to->checks > SETT_CHECKS_OFF)
        sett__suppress_unneeded(to);
    sett__findings_say_rest(to);
    write_or_say(to, true);
    if (!sett__environment_text("SETT_CHECK_JSON")) /* who asks for the file counts by it */
        sett__findings_sum(to);
}
