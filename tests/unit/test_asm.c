/* SPDX-License-Identifier: Apache-2.0 */
/* Assemblers: the reading of their logs, their errors (with programs that stand in for ptxas), and, where one is
 * installed, real cubins. */
#include "tests/rig/faces.h"
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char add_one[] = ".version 8.0\n"
                              ".target sm_90a\n"
                              ".address_size 64\n"
                              ".visible .entry add_one(.param .u64 p, .param .u32 n)\n"
                              "{\n"
                              "    .reg .b64 %rd<4>;\n"
                              "    .reg .b32 %r<4>;\n"
                              "    .reg .f32 %f<2>;\n"
                              "    .reg .pred %p;\n"
                              "    .shared .align 4 .b8 window[64];\n"
                              "    ld.param.u64 %rd1, [p];\n"
                              "    ld.param.u32 %r2, [n];\n"
                              "    mov.u32 %r1, %tid.x;\n"
                              "    setp.ge.u32 %p, %r1, %r2;\n"
                              "    @%p bra DONE;\n"
                              "    mul.wide.u32 %rd2, %r1, 4;\n"
                              "    add.u64 %rd1, %rd1, %rd2;\n"
                              "    ld.global.f32 %f1, [%rd1];\n"
                              "    add.f32 %f1, %f1, 0f3f800000;\n"
                              "    st.global.f32 [%rd1], %f1;\n"
                              "DONE:\n"
                              "    ret;\n"
                              "}\n";

static sett__asm_job job_of(const char *ptx)
{
    return (sett__asm_job){.ptx = ptx, .ptx_len = strlen(ptx), .target = "sm_90a", .opt_level = 3};
}

static sett__asm *open_limited(sett_assembler choice, const char *ptxas, const char *nvjitlink, int timeout_ms)
{
    sett__asm *a = NULL;
    sett_error e = {0};
    const sett__asm_config config = {.choice = choice, .ptxas = ptxas, .nvjitlink = nvjitlink, .timeout_ms = timeout_ms};
    ck_assert_msg(!sett__asm_open(&a, &config, &e), "%s", e.text);
    return a;
}

static sett__asm *open_asm(sett_assembler choice, const char *ptxas, const char *nvjitlink)
{
    return open_limited(choice, ptxas, nvjitlink, 0);
}

/* ---- logs ------------------------------------------------------------------------- */
static const struct {
    const char *log;
    int registers, spill_stores, spill_loads, stack, smem;
    bool serialized;
} logs[] = {
    {"", -1, -1, -1, -1, -1, false},
    {"ptxas info    : 0 bytes gmem\n"
     "ptxas info    : Compiling entry function 'add' for 'sm_90a'\n"
     "ptxas info    : Function properties for add\n"
     "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
     "ptxas info    : Used 24 registers, used 0 barriers, 384 bytes cmem[0]\n",
        24, 0, 0, 0, 0, false},
    /* As nvJitLink says it, with the linker's own lines behind: they count the system's shared memory too. */
    {"ptxas info    : Function properties for k\n"
     "ptxas         .     48 bytes stack frame, 20 bytes spill stores, 28 bytes spill loads\n"
     "ptxas info    : Used 168 registers, used 1 barriers, 49152 bytes smem\n"
     "info    : used 168 registers, used 1 barriers, 48 stack, 50176 bytes smem, 540 bytes cmem[0], 0 bytes lmem",
        168, 20, 28, 48, 49152, false},
    /* A kernel and a function that it calls. */
    {"    16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
     "ptxas info    : Used 40 registers\n"
     "    64 bytes stack frame, 1 bytes spill stores, 2 bytes spill loads\n"
     "ptxas info    : Used 32 registers, 128 bytes smem\n",
        40, 5, 10, 64, 128, false},
    {"ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
     "insufficient register resources for the wgmma pipeline in the function 'gemm'\n"
     "ptxas info    : Used 255 registers\n",
        255, -1, -1, -1, 0, true},
    {"ptxas info    : (C7514) something about wgmma\n", -1, -1, -1, -1, -1, true},
    {"ptxas warning : (C7600) another matter\n", -1, -1, -1, -1, -1, false},
    {"Used 99999999999999999999 registers\n registers\nUsed registers\n(C75", -1, -1, -1, -1, 0, false},
};

START_TEST(log_is_read)
{
    sett__asm_out out;
    memset(&out, 0x5a, sizeof out);
    sett__asm_parse_log(logs[_i].log, &out);
    ck_assert_int_eq(out.registers, logs[_i].registers);
    ck_assert_int_eq(out.spill_stores, logs[_i].spill_stores);
    ck_assert_int_eq(out.spill_loads, logs[_i].spill_loads);
    ck_assert_int_eq(out.stack, logs[_i].stack);
    ck_assert_int_eq(out.smem, logs[_i].smem);
    ck_assert_int_eq(out.serialized, logs[_i].serialized);
}
END_TEST

/* A line longer than any buffer, and no line end. */
START_TEST(log_of_one_long_line)
{
    char *log = malloc(100001);
    ck_assert_ptr_nonnull(log);
    memset(log, 'x', 100000);
    log[100000] = 0;
    memcpy(log, "Used 7 registers ", 17);
    sett__asm_out out;
    sett__asm_parse_log(log, &out);
    ck_assert_int_eq(out.registers, 7);
    free(log);
}
END_TEST

/* ---- errors, by programs that stand in for ptxas ------------------------------------- */
static char folder[64];

static void make_folder(void)
{
    strcpy(folder, "/tmp/sett-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(setenv("TMPDIR", folder, 1), 0);
}

static int entries(void)
{
    DIR *d = opendir(folder);
    ck_assert_ptr_nonnull(d);
    int n = 0;
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void remove_folder(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/ptxas", folder);
    remove(path);
    ck_assert_int_eq(entries(), 0); /* nothing of ours stays behind */
    ck_assert_int_eq(rmdir(folder), 0);
    unsetenv("TMPDIR");
}

/* A ptxas that answers --version, then does `rest`. */
static const char *stand_in(const char *rest)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/ptxas", folder);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fprintf(f,
        "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'Cuda compilation tools, release 1.2, V1.2.3'; exit 0; "
        "fi\n%s\n",
        rest);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_int_eq(chmod(path, 0700), 0);
    return path;
}

static sett_status assemble(sett__asm *a, const sett__asm_job *job, sett__asm_out *out, sett_error *e)
{
    memset(e, 0, sizeof *e);
    errno = 4242;
    sett_status s = sett__assemble(a, job, out, e);
    ck_assert_int_eq(errno, 4242);
    return s;
}

static const struct {
    const char *does;
    sett_status status;
    const char *says;
} failures[] = {
    {"echo 'sett.ptx, line 3; error : Unknown symbol'; exit 255", SETT_E_ASSEMBLE,
        "ptxas refuses the PTX for sm_90a: sett.ptx, line 3; error"},
    {"exit 1", SETT_E_ASSEMBLE, "it says nothing"},
    {"kill -KILL $$", SETT_E_ASSEMBLE, "signal"},
    {"exit 0", SETT_E_ASSEMBLE, "no cubin came out"},
    {": > sett.cubin", SETT_E_ASSEMBLE, "empty"},
    {"rm -f sett.ptx; ln -s /etc/passwd sett.cubin", SETT_E_ASSEMBLE, "no cubin came out"},
};

START_TEST(ptxas_fails)
{
    make_folder();
    sett__asm *a = open_asm(SETT_ASM_PTXAS, stand_in(failures[_i].does), NULL);
    sett__asm_out out;
    sett_error e;
    const sett__asm_job job = job_of(add_one);
    sett_status s = assemble(a, &job, &out, &e);
    ck_assert_msg(s == failures[_i].status, "%d: %s", (int)s, e.text);
    ck_assert_int_eq(e.status, s);
    ck_assert_msg(strstr(e.text, failures[_i].says) != NULL, "%s", e.text);
    ck_assert_ptr_null(out.cubin);
    ck_assert_ptr_null(out.log);
    sett__asm_close(a);
    remove_folder();
}
END_TEST

/* ---- programs that do not end, or leave something behind ------------------------------ */
enum { FOR_EVER = 3600 }; /* seconds, as in the scripts: what waits for it to end waits for what does not come */

static const char *const endless[] = {
    "sleep 3600 & echo $! >\"$pid\"; wait",                    /* a wrapper of what hangs: both are killed */
    "sleep 3600 >/dev/null 2>&1 & echo $! >\"$pid\"; exec >&- 2>&-; wait", /* its output has ended, it has not */
    "sleep 3600 & echo $! >\"$pid\"; yes",                     /* it talks for ever */
};

static bool runs(pid_t pid)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    bool known = f && fscanf(f, "%*d (%*[^)]) %c", &state) == 1;
    if (f)
        fclose(f);
    return known && state != 'Z';
}

/* The option goes before the environment. False: the program had not begun when it was killed. */
static bool hangs(const char *what, int ms, bool by_option)
{
    make_folder();
    char does[256], file[128], said[100];
    int pid = 0;
    snprintf(file, sizeof file, "%s/pid", folder);
    snprintf(does, sizeof does, "pid=%s; %s", file, what);
    snprintf(said, sizeof said, "%d", ms);
    ck_assert_int_eq(setenv("SETT_JIT_TIMEOUT_MS", by_option ? "1" : said, 1), 0);
    sett__asm *a = open_limited(SETT_ASM_PTXAS, stand_in(does), NULL, by_option ? ms : 0);
    sett__asm_out out;
    sett_error e;
    const sett__asm_job job = job_of(add_one);
    bool begun = assemble(a, &job, &out, &e) == SETT_E_ASSEMBLE;
    if (begun) {
        snprintf(said, sizeof said, "ptxas had not ended after %d ms and was killed", ms);
        ck_assert_msg(strstr(e.text, said) != NULL, "%s", e.text);
    }
    FILE *f = fopen(file, "r");
    begun = f && begun && fscanf(f, "%d", &pid) == 1;
    if (f)
        fclose(f);
    while (begun && runs(pid)) /* for ever: the runner says so */
        usleep(10000);
    remove(file);
    sett__asm_close(a);
    remove_folder();
    return begun;
}

START_TEST(ptxas_hangs)
{
    int ms = 1500;
    while (!hangs(endless[_i / 2], ms, !(_i % 2)) && ms < 100000) /* a busy machine may not have begun in so long */
        ms *= 4;
    ck_assert_int_lt(ms, 100000);
}
END_TEST

static const char *const left_behind[] = {"sleep 3600 & echo $! >\"$pid\"", "yes >&2 & echo $! >\"$pid\""};

/* It ended: what it left holds its output, and is nothing to wait for. */
START_TEST(ptxas_leaves_something)
{
    make_folder();
    char does[256], file[128];
    int pid = 0;
    snprintf(file, sizeof file, "%s/pid", folder);
    snprintf(does, sizeof does, "pid=%s; %s; cp sett.ptx sett.cubin; echo done", file, left_behind[_i]);
    sett__asm *a = open_asm(SETT_ASM_PTXAS, stand_in(does), NULL);
    sett__asm_out out;
    sett_error e;
    const sett__asm_job job = job_of(add_one);
    ck_assert_msg(!assemble(a, &job, &out, &e), "%s", e.text);
    ck_assert_uint_eq(out.cubin_len, strlen(add_one));
    FILE *f = fopen(file, "r");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fscanf(f, "%d", &pid), 1);
    fclose(f);
    kill(pid, SIGKILL); /* ours to end here */
    remove(file);
    sett__asm_out_free(&out);
    sett__asm_close(a);
    remove_folder();
}
END_TEST

/* Not even --version is answered. */
START_TEST(ptxas_answers_nothing)
{
    make_folder();
    char path[128];
    snprintf(path, sizeof path, "%s/ptxas", folder);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fprintf(f, "#!/bin/sh\nexec sleep %d\n", FOR_EVER);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_int_eq(chmod(path, 0700), 0);
    sett__asm *a = open_limited(SETT_ASM_PTXAS, path, NULL, 200);
    sett__asm_out out;
    sett_error e;
    const sett__asm_job job = job_of(add_one);
    ck_assert_int_eq(assemble(a, &job, &out, &e), SETT_E_NO_ASSEMBLER);
    ck_assert_msg(strstr(e.text, "does not answer --version") != NULL, "%s", e.text);
    sett__asm_close(a);
    remove_folder();
}
END_TEST

/* What the program is given: options, a fixed environment, the PTX whole, its own folder. */
START_TEST(ptxas_is_given)
{
    make_folder();
    ck_assert_int_eq(setenv("SETT_SECRET", "x", 1), 0);
    sett__asm *a = open_asm(
        SETT_ASM_PTXAS, stand_in("cat sett.ptx > sett.cubin; echo \"args $*\"; env; ls -ld . ; exec cat"), NULL);
    sett__asm_out out;
    sett_error e;
    sett__asm_job job = job_of(add_one);
    job.opt_level = 1;
    job.line_info = true;
    ck_assert_msg(!assemble(a, &job, &out, &e), "%s", e.text);
    ck_assert_uint_eq(out.cubin_len, strlen(add_one));
    ck_assert_mem_eq(out.cubin, add_one, out.cubin_len);
    ck_assert_str_eq(out.identity, "ptxas 1.2.3");
    ck_assert_ptr_nonnull(strstr(out.log, "args -arch=sm_90a -O1 -v -o sett.cubin sett.ptx -lineinfo"));
    ck_assert_ptr_nonnull(strstr(out.log, "PATH=/usr/bin:/bin"));
    ck_assert_ptr_nonnull(strstr(out.log, "drwx------"));
    ck_assert_ptr_null(strstr(out.log, "SECRET"));
    sett__asm_out_free(&out);
    sett__asm_close(a);
    remove_folder();
}
END_TEST

/* A host that ignores SIGCHLD reaps our child; one that blocks signals must not pass that on. */
START_TEST(ptxas_beside_signals)
{
    make_folder();
    signal(SIGCHLD, SIG_IGN);
    sett__asm *a = open_asm(SETT_ASM_PTXAS, stand_in("cp sett.ptx sett.cubin"), NULL);
    sett__asm_out out;
    sett_error e;
    const sett__asm_job job = job_of(add_one);
    ck_assert_msg(!assemble(a, &job, &out, &e), "%s", e.text);
    ck_assert_uint_eq(out.cubin_len, strlen(add_one));
    sett__asm_out_free(&out);
    sett__asm_close(a);
    remove_folder();
}
END_TEST

/* Under a umask that takes the owner's rights too, by a user who has no others. */
START_TEST(ptxas_under_a_umask)
{
    make_folder();
    const char *path = stand_in("cp sett.ptx sett.cubin");
    const sett__asm_job job = job_of(add_one);
    ck_assert(geteuid() || (!chown(folder, 65534, 65534) && !chown(path, 65534, 65534) && !setresuid(65534, 65534, 0)));
    sett__asm *a = open_asm(SETT_ASM_PTXAS, path, NULL);
    sett__asm_out out;
    sett_error e;
    mode_t before = umask(0777);
    sett_status s = assemble(a, &job, &out, &e);
    umask(before);
    ck_assert_msg(!s, "%s", e.text);
    ck_assert_uint_eq(out.cubin_len, strlen(add_one));
    sett__asm_out_free(&out);
    sett__asm_close(a);
    setresuid(0, 0, 0); /* who was root is again */
    remove_folder();
}
END_TEST

/* No temporary folder can be made. */
START_TEST(ptxas_without_folder)
{
    make_folder();
    const char *path = stand_in("exit 0");
    ck_assert_int_eq(setenv("TMPDIR", "/nowhere/at/all", 1), 0);
    sett__asm *a = open_asm(SETT_ASM_PTXAS, path, NULL);
    sett__asm_out out;
    sett_error e;
    const sett__asm_job job = job_of(add_one);
    ck_assert_int_eq(assemble(a, &job, &out, &e), SETT_E_IO);
    ck_assert_ptr_nonnull(strstr(e.text, "/nowhere/at/all"));
    sett__asm_close(a);
    remove_folder();
}
END_TEST

START_TEST(nothing_is_there)
{
    sett__asm_out out;
    sett_error e;
    char text[4096];
    sett__asm *a = open_asm(SETT_ASM_AUTO, "/nowhere/ptxas", "/nowhere/libnvJitLink.so");
    const sett__asm_job job = job_of(add_one);
    ck_assert_int_eq(assemble(a, &job, &out, &e), SETT_E_NO_ASSEMBLER);
    ck_assert_ptr_nonnull(strstr(e.text, "/nowhere/ptxas"));
    ck_assert_ptr_nonnull(strstr(e.text, "/nowhere/libnvJitLink.so"));
    ck_assert_ptr_nonnull(strstr(e.text, "pip install --target ~/.sett nvidia-nvjitlink && export SETT_NVJITLINK=$("));
    ck_assert_ptr_nonnull(strstr(e.text, "(Debian has pip in python3-pip), or the CUDA toolkit (package cuda-nvcc)"));
    sett__sink told = {.buf = text, .cap = sizeof text}, counted = {0};
    sett__asm_describe(a, &told);
    ck_assert_uint_eq(told.len, strlen(text));
    ck_assert_ptr_nonnull(strstr(text, "nvJitLink: none: "));
    ck_assert_ptr_nonnull(strstr(text, "\nto get an assembler: pip install --target ~/.sett nvidia-nvjitlink && export SETT_NVJITLINK=$("));
    ck_assert_ptr_nonnull(strstr(text, "\nptxas: none: "));
    sett__asm_describe(a, &counted);
    ck_assert_uint_eq(counted.len, told.len);
    sett__asm_close(a);
}
END_TEST

static const struct {
    const char *path, *says;
} not_ptxas[] = {
    {"ptxas", "ptxas is not an absolute path"},
    {"/nowhere/ptxas", "/nowhere/ptxas cannot be run: No such file or directory"},
    {"/etc/passwd", "/etc/passwd cannot be run: Permission denied"},
    {"/", "/ is a folder, no program"},
    {"/bin/false", "does not answer"},
    {"/bin/true", "tells no version"},
    {"/bin/echo", "tells no version"},
};

START_TEST(not_a_ptxas)
{
    sett__asm_out out;
    sett_error e;
    sett__asm *a = open_asm(SETT_ASM_PTXAS, not_ptxas[_i].path, NULL);
    const sett__asm_job job = job_of(add_one);
    ck_assert_int_eq(assemble(a, &job, &out, &e), SETT_E_NO_ASSEMBLER);
    ck_assert_msg(strstr(e.text, not_ptxas[_i].says) != NULL, "%s", e.text);
    sett__asm_close(a);
}
END_TEST

/* A library that is there and is no nvJitLink. */
START_TEST(not_an_nvjitlink)
{
    sett__asm_out out;
    sett_error e;
    sett__asm *a = open_asm(SETT_ASM_NVJITLINK, NULL, "libm.so.6");
    const sett__asm_job job = job_of(add_one);
    ck_assert_int_eq(assemble(a, &job, &out, &e), SETT_E_NO_ASSEMBLER);
    ck_assert_msg(strstr(e.text, "libm.so.6 has no nvJitLinkCreate") != NULL, "%s", e.text);
    sett__asm_close(a);
}
END_TEST

START_TEST(bad_jobs)
{
    sett__asm_out out;
    sett_error e;
    sett__asm *a = open_asm(SETT_ASM_AUTO, NULL, NULL);
    sett__asm_job job = job_of("");
    ck_assert_int_eq(assemble(a, &job, &out, &e), SETT_E_ARGUMENT);
    job = job_of(add_one);
    job.opt_level = 4;
    ck_assert_int_eq(assemble(a, &job, &out, &e), SETT_E_ARGUMENT);
    job = job_of(add_one);
    job.target = "sm_90a -o /tmp/x";
    ck_assert_int_eq(assemble(a, &job, &out, &e), SETT_E_TARGET);
    job.target = NULL;
    ck_assert_int_eq(assemble(a, &job, &out, &e), SETT_E_TARGET);
    sett__asm_close(a);
    const sett__asm_config config = {.choice = (sett_assembler)9};
    ck_assert_int_eq(sett__asm_open(&a, &config, &e), SETT_E_ARGUMENT);
}
END_TEST

/* ---- the real ones ---------------------------------------------------------------------- */
static const sett_assembler real[] = {SETT_ASM_NVJITLINK, SETT_ASM_PTXAS};

/* False, saying so: it is not on this machine. */
static bool there(sett_assembler choice, sett__asm **a)
{
    char text[4096];
    *a = open_asm(choice, NULL, NULL);
    sett__asm_describe(*a, &(sett__sink){.buf = text, .cap = sizeof text});
    const char *line = strstr(text, choice == SETT_ASM_PTXAS ? "ptxas: none" : "nvJitLink: none");
    if (!line)
        return true;
    printf("asm: skipped: %.*s\n", (int)strcspn(line, "\n"), line);
    sett__asm_close(*a);
    return false;
}

START_TEST(real_cubin)
{
    sett__asm *a;
    sett__asm_out one, two;
    sett_error e;
    if (!there(real[_i], &a))
        return;
    for (int level = 0; level < 4; level++) {
        sett__asm_job job = job_of(add_one);
        job.opt_level = level;
        job.line_info = level == 2;
        ck_assert_msg(!assemble(a, &job, &one, &e), "%s", e.text);
        ck_assert_msg(!assemble(a, &job, &two, &e), "%s", e.text);
        ck_assert_uint_gt(one.cubin_len, 64);
        ck_assert_mem_eq(one.cubin, "\177ELF", 4);
        ck_assert_int_eq(((unsigned char *)one.cubin)[18], 190); /* e_machine: EM_CUDA */
        ck_assert_uint_eq(one.cubin_len, two.cubin_len);
        ck_assert_mem_eq(one.cubin, two.cubin, one.cubin_len);
        ck_assert_str_eq(one.log, two.log);
        ck_assert_int_gt(one.registers, 0);
        ck_assert_int_eq(one.smem, 64);
        ck_assert_int_eq(one.spill_stores, 0);
        ck_assert(!one.serialized);
        ck_assert_str_eq(one.identity, two.identity);
        sett__asm_out_free(&one);
        sett__asm_out_free(&two);
    }
    sett__asm_close(a);
}
END_TEST

START_TEST(real_refusal)
{
    static const char *const bad[] = {"not ptx at all",
        ".version 8.0\n.target sm_90a\n.address_size 64\n.entry k() { frob.u32 %r1; }\n",
        ".version 99.9\n.target sm_90a\n.address_size 64\n.entry k() { ret; }\n"};
    sett__asm *a;
    sett__asm_out out;
    sett_error e;
    if (!there(real[_i], &a))
        return;
    for (size_t i = 0; i < SETT__COUNT(bad); i++) {
        sett__asm_job job = job_of(bad[i]);
        ck_assert_int_eq(assemble(a, &job, &out, &e), SETT_E_ASSEMBLE);
        ck_assert_msg(strstr(e.text, "refuses the PTX for sm_90a: ") != NULL, "%s", e.text);
        ck_assert_ptr_null(out.cubin);
    }
    sett__asm_close(a);
}
END_TEST

/* ptxas alone keeps setmaxnreg, and is asked first; nvJitLink gets the text without it, and has nothing to say of it (C7504). */
START_TEST(real_sets_registers)
{
    static const char ptx[] = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n.reqntid 256, 1, 1\n.minnctapersm 1\n{\n// setmaxnreg. in a comment\n"
                              "\tsetmaxnreg.dec.sync.aligned.u32 \t24;\n{ setmaxnreg.inc.sync.aligned.u32 232; }\n\tret;\n}\n";
    sett__asm *a;
    sett__asm_out out;
    sett_error e;
    sett__asm_job job = job_of(ptx);
    job.sets_registers = true;
    for (size_t i = 0; i < SETT__COUNT(real); i++) {
        if (!there(real[i], &a))
            continue;
        ck_assert_msg(!assemble(a, &job, &out, &e), "%s", e.text);
        ck_assert_msg(!out.serialized && !strstr(out.log, "setmaxnreg"), "%s", out.log);
        sett__asm_out_free(&out);
        sett__asm_close(a);
    }
    if (!there(SETT_ASM_PTXAS, &a))
        return;
    sett__asm_close(a);
    a = open_asm(SETT_ASM_AUTO, NULL, NULL);
    ck_assert_msg(!assemble(a, &job, &out, &e), "%s", e.text);
    ck_assert_int_eq(strncmp(out.identity, "ptxas ", 6), 0);
    sett__asm_out_free(&out);
    sett__asm_close(a);
}
END_TEST

Suite *asm_suite(void)
{
    Suite *s = suite_create("asm");
    TCase *t = tcase_create("logs");
    tcase_add_loop_test(t, log_is_read, 0, (int)SETT__COUNT(logs));
    tcase_add_test(t, log_of_one_long_line);
    suite_add_tcase(s, t);
    t = tcase_create("errors");
    tcase_add_loop_test(t, ptxas_fails, 0, (int)SETT__COUNT(failures));
    tcase_add_loop_test(t, ptxas_hangs, 0, 2 * (int)SETT__COUNT(endless));
    tcase_add_loop_test(t, ptxas_leaves_something, 0, (int)SETT__COUNT(left_behind));
    tcase_add_test(t, ptxas_answers_nothing);
    tcase_add_test(t, ptxas_is_given);
    tcase_add_test(t, ptxas_beside_signals);
    tcase_add_test(t, ptxas_under_a_umask);
    tcase_add_test(t, ptxas_without_folder);
    tcase_add_test(t, nothing_is_there);
    tcase_add_loop_test(t, not_a_ptxas, 0, (int)SETT__COUNT(not_ptxas));
    tcase_add_test(t, not_an_nvjitlink);
    tcase_add_test(t, bad_jobs);
    suite_add_tcase(s, t);
    t = tcase_create("real");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, real_cubin, 0, (int)SETT__COUNT(real));
    tcase_add_loop_test(t, real_refusal, 0, (int)SETT__COUNT(real));
    tcase_add_test(t, real_sets_registers);
    suite_add_tcase(s, t);
    return s;
}
