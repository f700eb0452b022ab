/* SPDX-License-Identifier: Apache-2.0 */
/* Peak memory of processes that do one thing each: none, compile an elementwise add to PTX, to a cubin, and take that cubin
 * from the disk cache by its key. No GPU is used: what libcuda takes comes on top.
 *     footprint                           all, as a table
 *     footprint none|ptx|cubin|serve DIR  one, with its cache in DIR: peak kB */
#include "common.h"
#include <sett/kernels.h>

static long peak_kb(void)
{
    char line[256];
    long kb = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %ld kB", &kb) == 1)
            break;
    if (f)
        fclose(f);
    return kb;
}

static sett_status get_kernel(sett_engine *e, const char *what, sett_kernel **k, sett_error *err)
{
    sett_elementwise_options user = {.size = sizeof user, .dtype = SETT_F16, .op = SETT_MUL, .relu = 1, .no_pdl = 1, .tuning = {.thr_m = 4, .thr_n = 32, .val_m = 4}};
    sett_compile_options opt = {.size = sizeof opt, .target = "sm_90a", .user = &user, .ptx_only = !strcmp(what, "ptx")};
    uint8_t key[32];
    if (strcmp(what, "serve"))
        return sett_compile(e, sett_elementwise, &opt, k, err);
    sett_status s = sett_key(e, sett_elementwise, &opt, key, err);
    return s ? s : sett_kernel_get(e, key, k, err);
}

static int one(const char *what, const char *dir)
{
    sett_engine *e;
    sett_kernel *k;
    sett_error err = {0};
    sett_engine_options eo = {.size = sizeof eo, .cache_dir = dir, .no_gpu = true};
    if (strcmp(what, "none")) {
        must(sett_engine_open(&e, &eo, &err), &err);
        must(get_kernel(e, what, &k, &err), &err);
        sett_kernel_release(k);
        sett_engine_close(e);
    }
    printf("%ld\n", peak_kb());
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const rows[][2] = {{"none", "nothing, with libsett.so loaded"}, {"ptx", "compiles to PTX"},
        {"cubin", "compiles to a cubin, the assembler included"}, {"serve", "takes the cubin from the disk cache"}};
    char dir[] = "/tmp/footprint-XXXXXX", command[1024];
    if (argc == 3)
        return one(argv[1], argv[2]);
    if (!mkdtemp(dir))
        return 1;
    puts("| a process that... | peak memory, MiB |\n| --- | --- |");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        long kb = -1;
        snprintf(command, sizeof command, "%.800s %s %s", argv[0], rows[i][0], dir);
        FILE *p = popen(command, "r");
        if (!p || fscanf(p, "%ld", &kb) != 1)
            printf("| %s | no sample |\n", rows[i][1]);
        else
            printf("| %s | %.1f |\n", rows[i][1], (double)kb / 1024);
        if (p)
            pclose(p);
    }
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command) != 0;
}
