/* SPDX-License-Identifier: Apache-2.0 */
/* sett doctor: what sett finds on this machine, and what to do about what is missing. */
#include "tools.h"
#include <sett/layout.h>
#include <sett/metrics.h>
#include <sett/tensor.h>
#include <stdlib.h>
#include <string.h>

/* `name: value` lines as one JSON object. */
static void print_json(char *text)
{
    fputs("{\"schema_version\": 1", stdout);
    for (char *line = text, *next; line && *line; line = next) {
        if ((next = strchr(line, '\n')))
            *next++ = 0;
        char *colon = strstr(line, ": ");
        if (!colon)
            continue;
        *colon = 0;
        fputs(", ", stdout), json_string(stdout, line), fputs(": ", stdout), json_string(stdout, colon + 2);
    }
    puts("}");
}

/* Compiles the smallest kernel, to see whether the chain works as far as it goes here. */
static void tiny(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, 1));
    sett_set(X, 1.0, 0);
}

static void try_on(sett_engine *e, bool assemble, FILE *out)
{
    char target[16] = "sm_90a";
    sett_error err = {0};
    sett_kernel *k = NULL;
    if (sett_default_device(e) >= 0)
        sett_device_target(e, sett_default_device(e), target, sizeof target);
    sett_compile_options co = {.size = sizeof co, .name = "doctor", .target = target, .ptx_only = true};
    sett_status s = sett_compile(e, tiny, &co, &k, &err);
    fprintf(out, "compile to PTX for %s: %s\n", target, s ? err.text : "works");
    sett_kernel_release(k), k = NULL;
    co.ptx_only = false;
    if (!s && assemble) {
        s = sett_compile(e, tiny, &co, &k, &err);
        /* Why there is none, and how to get one, is told above. */
        fprintf(out, "assemble a cubin: %s\n", s == SETT_E_NO_ASSEMBLER ? "no assembler was found" : s ? err.text : "works");
        sett_kernel_release(k);
    }
}

/* On an engine without a cache: what was cached would prove nothing, and nothing is left behind. Metrics are of the
 * engine that has one, so there it goes as far as PTX, which is in no cache. */
static void try_chain(const options *o, sett_engine *e, FILE *out)
{
    options bare = *o;
    bare.cache_dir = bare.layers = "";
    sett_engine *own = o->metrics ? NULL : engine_open(&bare);
    if (own || o->metrics)
        try_on(own ? own : e, !o->metrics, out);
    sett_engine_close(own);
}

/* Every call asks anew, a server too: a text is of one call, however long it is. */
static bool describe(sett_engine *e, FILE *out)
{
    char *text = NULL, *more;
    size_t size = 4096;
    int n;
    do {
        size *= 2;
        if (!(more = realloc(text, size)))
            break;
        text = more;
        n = sett_engine_describe(e, text, size);
    } while (n >= 0 && (size_t)n >= size);
    if (more)
        fputs(text, out);
    free(text);
    return more;
}

static bool to_stdout(void *user, const char *text, size_t len)
{
    (void)user;
    return fwrite(text, 1, len, stdout) == len;
}

/* Of a setting that refuses an engine, the text begins with the variable's name; of a cache that must be there, with the option's. */
static bool unset_what_refuses(const char *why)
{
    char name[40];
    const char *variable = strncmp(why, "cache_required:", 15) ? why : "SETT_CACHE_REQUIRED";
    snprintf(name, sizeof name, "%.*s", (int)strcspn(variable, " "), variable);
    return !strncmp(name, "SETT_", 5) && getenv(name) && !unsetenv(name);
}

/* Why settings of the environment refuse an engine is told of each; without them there is one that says what else there is. */
static sett_engine *open_any(const options *o, bool *refused)
{
    sett_error why = {0};
    sett_engine *e;
    while (!(e = engine_open_or(o, &why)) && unset_what_refuses(why.text))
        *refused = true;
    return e;
}

int doctor_command(const options *o)
{
    if (o->argc)
        return usage("doctor takes no arguments");
    if (o->json && o->metrics)
        return usage("--metrics is Prometheus' format: there is none of it as JSON");
    bool refused = false;
    sett_engine *e = open_any(o, &refused);
    if (!e)
        return EXIT_FAILED;
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    if (!out) {
        sett_engine_close(e);
        return fail("out of memory");
    }
    bool described = describe(e, out);
    int device = sett_default_device(e);
    try_chain(o, e, out);
    described &= !fclose(out);
    if (!described)
        fail("out of memory");
    else if (o->metrics)
        sett_metrics_write(&(sett_metrics_source){e, NULL}, 1, to_stdout, NULL, NULL);
    else if (o->json)
        print_json(text);
    else
        fputs(text, stdout);
    free(text);
    sett_engine_close(e);
    return !described || refused ? EXIT_FAILED : device >= 0 ? EXIT_OK : EXIT_NO_DEVICE;
}
