/* SPDX-License-Identifier: Apache-2.0 */
/* sett compile: a named kernel or a tape file to PTX, a cubin, its tape, or the report. */
#include "tools.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What only a cubin has is left out of a CPU kernel's. */
static void print_report(const options *o, const sett_kernel_info *i)
{
    char key[65];
    for (int j = 0; j < 32; j++)
        snprintf(key + 2 * j, 3, "%02x", i->key[j]);
    if (o->json) {
        printf("{\"schema_version\": 1, \"kernel\": \"%s\", \"target\": \"%s\", \"key\": \"%s\", \"smem\": %d, \"record_ms\": %.3f", i->name,
            i->target, key, i->smem, i->record_ms);
        if (i->cubin) {
            printf(", \"registers\": %d, \"spill_stores\": %d, \"spill_loads\": %d, \"cubin_bytes\": %zu, \"codegen_ms\": %.3f, "
                   "\"assemble_ms\": %.3f, \"assembler\": ",
                i->registers, i->spill_stores, i->spill_loads, i->cubin_size, i->codegen_ms, i->assemble_ms);
            json_string(stdout, i->assembler ? i->assembler : "");
        }
        fputs(", \"report\": ", stdout);
        json_string(stdout, i->report ? i->report : "");
        puts("}");
        return;
    }
    printf("kernel     %s\ntarget     %s\nkey        %s\nshared     %d bytes\n", i->name, i->target, key, i->smem);
    if (i->cubin)
        printf("registers  %d, spills %d/%d bytes\ncubin      %zu bytes by %s\ntimes      record %.3f, codegen %.3f, assemble %.3f ms\n",
            i->registers, i->spill_stores, i->spill_loads, i->cubin_size, i->assembler ? i->assembler : "nobody", i->record_ms,
            i->codegen_ms, i->assemble_ms);
    else
        printf("times      record %.3f ms\n", i->record_ms);
    fputs(i->report ? i->report : "", stdout);
    const char *report = i->report ? i->report : "";
    if (!kernel_find(o->argv[0]) && (!*report || !strncmp(report, "assembler: ", 11) || !strncmp(report, "very long ", 10)))
        puts("accesses   are what the tape says (load f16x8: 16 bytes at once); what made one narrower is known where the body is recorded");
}

/* The tape of a named kernel, or of a file in the other form. */
static int emit_tape(const options *o, sett_engine *e, sett_dtype t, bool text)
{
    sett_kernel *k = NULL;
    options cpu = *o;
    cpu.target = "cpu"; /* needs no compiler and keeps the tape */
    cpu.recorded_for = o->target ? o->target : "sm_90a";
    int code = kernel_compile(e, &cpu, o->argv[0], t, false, &k);
    if (code)
        return code;
    void *tape;
    size_t len;
    sett_error err = {0};
    if (sett_kernel_tape(k, text, &tape, &len, &err))
        code = fail("%s", err.text);
    else
        code = file_write(o->output ? o->output : "-", tape, len), sett_text_free(tape);
    sett_kernel_release(k);
    return code;
}

int dtype_refused(const char *text)
{
    sett__guess g = sett__guess_of(text, strlen(text));
    for (int id = 1; sett_dtype_bits((sett_dtype)id); id++)
        sett__guess_add(&g, sett_dtype_name((sett_dtype)id));
    char all[256];
    const char *guess = sett__guess_text(&g);
    return usage("--dtype %s: no such element type%s%s", text, *guess ? guess : ": ", *guess ? "" : types_text(all));
}

static int emit_code(const options *o, sett_engine *e, sett_dtype t, const char *emit)
{
    sett_kernel *k = NULL;
    bool ptx = !strcmp(emit, "ptx"), report = !strcmp(emit, "report");
    bool cpu = o->target ? !strcmp(o->target, "cpu") : o->device && !strcmp(o->device, "cpu");
    if (cpu && !report)
        return usage("compile: --emit %s is of a GPU's target, such as --target sm_90a: code for the CPU is the tape itself", emit);
    if (!report && !o->target && sett_default_device(e) == SETT_CPU)
        return usage("compile: give --target (for example sm_90a): there is no GPU here to take it from");
    int code = kernel_compile(e, o, o->argv[0], t, ptx, &k);
    if (code)
        return code;
    sett_kernel_info info = {.size = sizeof info};
    sett_kernel_query(k, &info);
    const char *out = o->output ? o->output : "-";
    if (report) {
        code = output_open(o);
        if (!code)
            print_report(o, &info);
    } else {
        code = ptx ? file_write(out, info.ptx, strlen(info.ptx)) : file_write(out, info.cubin, info.cubin_size);
    }
    sett_kernel_release(k);
    return code;
}

int compile_command(const options *o)
{
    static const char *const kinds[] = {"ptx", "cubin", "tape", "tape-bytes", "report"};
    const char *emit = o->emit ? o->emit : "ptx";
    bool known = false;
    sett__guess g = sett__guess_of(emit, strlen(emit));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        known |= !strcmp(emit, kinds[i]);
        sett__guess_add(&g, kinds[i]);
    }
    if (o->argc != 1)
        return usage("compile takes one kernel");
    if (!known)
        return usage("--emit %s: one of ptx, cubin, tape, tape-bytes, report%s", emit, sett__guess_text(&g));
    if (!o->output && isatty(STDOUT_FILENO) && (!strcmp(emit, "cubin") || !strcmp(emit, "tape-bytes")))
        return usage("--emit %s gives bytes, which would disturb the terminal: give -o FILE, or -o - to see them", emit);
    sett_dtype t = o->dtype ? dtype_of_name(o->dtype) : SETT_F16;
    if (!t)
        return dtype_refused(o->dtype);
    sett_engine *e = engine_open(o);
    if (!e)
        return EXIT_FAILED;
    int code = !strncmp(emit, "tape", 4) ? emit_tape(o, e, t, !strcmp(emit, "tape")) : emit_code(o, e, t, emit);
    sett_engine_close(e);
    return code;
}
