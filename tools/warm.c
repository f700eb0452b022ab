/* SPDX-License-Identifier: Apache-2.0 */
/* sett warm: every kernel of a manifest into the cache, by processes of their own. A bar on a terminal, a line of JSON
 * a kernel elsewhere. */
#include "tools.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BAR = 30, SHARDS_MOST = 1 << 20 };

/* ---- which part ---------------------------------------------------------------------------------- */
static bool number_of(const char *name, int *out)
{
    const char *text = getenv(name);
    char *end;
    errno = 0;
    long n = text ? strtol(text, &end, 10) : -1;
    if (!text || end == text || *end || errno || n < 0 || n > INT_MAX)
        return false;
    *out = (int)n;
    return true;
}

/* Slurm's array may start anywhere and leave numbers out evenly; Kubernetes counts from 0. */
static int index_of_environment(int *index)
{
    int least = 0, step = 1;
    if (number_of("SLURM_ARRAY_TASK_ID", index)) {
        number_of("SLURM_ARRAY_TASK_MIN", &least);
        number_of("SLURM_ARRAY_TASK_STEP", &step);
        *index = (*index - least) / (step > 0 ? step : 1);
        return EXIT_OK;
    }
    return number_of("JOB_COMPLETION_INDEX", index)
               ? EXIT_OK
               : usage("--shard N needs a number in $SLURM_ARRAY_TASK_ID or $JOB_COMPLETION_INDEX; else --shard K/N");
}

static int shard_parse(const char *text, sett_warm_options *w)
{
    char copy[40];
    if (!text)
        return EXIT_OK;
    snprintf(copy, sizeof copy, "%s", text);
    char *slash = strchr(copy, '/');
    if (slash)
        *slash = 0;
    int code = count_parse("--shard", slash ? slash + 1 : copy, 1, SHARDS_MOST, &w->shards);
    if (!code)
        code = slash ? count_parse("--shard", copy, 0, w->shards - 1, &w->shard) : index_of_environment(&w->shard);
    if (!code && (w->shard < 0 || w->shard >= w->shards))
        return usage("--shard: part %d of %d: they are numbered from 0", w->shard, w->shards);
    return code;
}

/* ---- showing --------------------------------------------------------------------------------------- */
static const char *state_of(const sett_warm_event *e)
{
    return e->status ? "failed" : e->cached ? "cached" : e->fetched ? "fetched" : "compiled";
}

typedef struct shown {
    bool list; /* of which nothing is made */
    uint64_t failed;
} shown;

/* Else it has no key. */
static bool recorded(const sett_warm_event *e)
{
    static const uint8_t none[sizeof e->key];
    return !e->status || memcmp(e->key, none, sizeof none);
}

static bool show_json(void *user, const sett_warm_event *e)
{
    shown *all = user;
    const char *const text[][2] = {{"kernel", e->name}, {"target", e->target}, {"params", e->params}};
    char key[65];
    hex(e->key, key);
    printf("{\"schema_version\": 1, \"done\": %llu, \"total\": %llu", (unsigned long long)e->done,
        (unsigned long long)e->total);
    all->failed += e->status != SETT_OK;
    if (!all->list)
        printf(", \"state\": \"%s\", \"ms\": %.3f", state_of(e), e->ms);
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        printf(", \"%s\": ", text[i][0]), json_string(stdout, text[i][1]);
    printf(recorded(e) ? ", \"key\": \"%s\"" : ", \"key\": null", key);
    if (e->status)
        fputs(", \"error\": ", stdout), json_string(stdout, e->error);
    puts("}");
    fflush(stdout);
    return true;
}

static bool show_bar(void *user, const sett_warm_event *e)
{
    int full = (int)(e->done * BAR / (e->total ? e->total : 1));
    (void)user;
    if (e->status)
        fprintf(stderr, "\r\033[Ksett: %s for %s (%s): %s\n", e->name, e->target, e->params, e->error);
    fprintf(stderr, "\r\033[K[%.*s%*s] %llu/%llu", full, "##############################", BAR - full, "",
        (unsigned long long)e->done, (unsigned long long)e->total);
    if (e->failed)
        fprintf(stderr, ", %llu failed", (unsigned long long)e->failed);
    fprintf(stderr, "  %s %.40s", e->target, e->name);
    if (e->done == e->total)
        fputc('\n', stderr);
    return true;
}

static bool show_line(void *user, const sett_warm_event *e)
{
    char key[65];
    shown *all = user;
    hex(e->key, key);
    all->failed += e->status != SETT_OK;
    if (e->status)
        printf("%-64s  %s %s  %s: %s\n", "-", e->target, e->name, e->params, e->error);
    else
        printf("%s  %s %s  %s\n", key, e->target, e->name, e->params);
    return true;
}

static void summary(const options *o, const sett_warm_result *r, bool json)
{
    unsigned long long total = r->total, cached = r->cached, fetched = r->fetched, compiled = r->compiled, failed = r->failed;
    if (!json) {
        printf("%llu kernels: %llu were there, ", total, cached);
        if (fetched)
            printf("%llu came from the server, ", fetched);
        printf("%llu compiled, %llu failed\n", compiled, failed);
        return;
    }
    printf("{\"schema_version\": 1, \"total\": %llu, \"cached\": %llu, \"fetched\": %llu, \"compiled\": %llu, \"failed\": %llu",
        total, cached, fetched, compiled, failed);
    if (o->pack)
        fputs(", \"pack\": ", stdout), json_string(stdout, o->pack);
    puts("}");
}

/* ---- doing ------------------------------------------------------------------------------------------- */
static int list(sett_engine *e, const options *o, const sett_warm_options *w)
{
    sett_error err = {0};
    shown all = {.list = true};
    if (sett_family_keys(e, o->argv[0], w, o->json ? show_json : show_line, &all, &err))
        return fail("%s", err.text);
    return all.failed ? EXIT_PARTIAL : EXIT_OK;
}

static int make(sett_engine *e, const options *o, sett_warm_options *w)
{
    sett_warm_result r = {.size = sizeof r};
    sett_error err = {0};
    shown all = {0};
    bool json = o->json || !isatty(STDOUT_FILENO) || !isatty(STDERR_FILENO);
    w->progress = json ? show_json : show_bar;
    w->user = &all;
    sett_status s = sett_warm(e, o->argv[0], w, &r, &err);
    if (!s || s == SETT_E_COMPILE)
        summary(o, &r, json);
    if (!s)
        return EXIT_OK;
    fail("%s", err.text);
    return s == SETT_E_COMPILE ? EXIT_PARTIAL : EXIT_FAILED;
}

int warm_command(const options *o)
{
    char secret[PATH_MAX];
    sett_warm_options w = {.size = sizeof w, .command = self_path(), .targets = o->targets, .workers = o->jobs, .pack = o->pack};
    if (o->worker) {
        int ended = sett_warm_worker();
        return ended == EXIT_USAGE ? usage("--worker is of the processes that sett warm starts") : ended;
    }
    if (o->argc != 1)
        return usage("warm takes one manifest");
    if (o->secret_key && !o->pack)
        return usage("--secret-key signs what --pack writes, which is not given");
    int code = shard_parse(o->shard, &w);
    if (!code && o->pack)
        code = no_file("--pack", o->pack);
    if (code)
        return code;
    if (o->secret_key && !realpath(o->secret_key, secret))
        return fail("%s: %s", o->secret_key, strerror(errno));
    w.secret_key = o->secret_key ? secret : NULL;
    options here = *o;
    here.device = "cpu"; /* nothing is launched */
    sett_engine *e = engine_open(&here);
    if (!e)
        return EXIT_FAILED;
    code = o->list ? list(e, o, &w) : make(e, o, &w);
    sett_engine_close(e);
    warnings_left();
    return code;
}
