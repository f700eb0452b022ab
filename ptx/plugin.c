/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine calls: tape bytes in, PTX out.
 *
 * The Makefile (under PTX_SO) says how libsett-ptx.so is linked: LLVM static, its symbols hidden, so that
 * another LLVM in the process is not disturbed; of lib/ what the tape's reader needs. No z3, xml2, edit or ffi: nothing that
 * is kept refers to them.
 *
 * A compile owns its LLVM context and target machine; nothing is shared between threads but what pthread_once and the first
 * compile set up. The variables below and those of heap.c are the plug-in's only mutable ones: LLVM's fatal handler gets no user
 * pointer, so the job at hand is found through the thread; and that LLVM failed is true of the process, whatever engine
 * comes later, so it is remembered where the process has it once. */
#include "ptx.h"
#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Thread_local const sett__ptx_job *current;
enum { ALIVE, FAILING, FAILED };
static atomic_int state;
static char last_words[512]; /* written once, while FAILING */

/* What LLVM sets up at its first compile others would wait for, for ever if that thread is parked: so until one compile
 * is done they are made one at a time. */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool set_up;
static _Thread_local bool alone; /* this thread has the lock */

static void begin_alone(void)
{
    if (atomic_load(&set_up))
        return;
    pthread_mutex_lock(&one_at_a_time);
    alone = true;
}

static void end_alone(bool done)
{
    if (done)
        atomic_store(&set_up, true);
    if (alone)
        pthread_mutex_unlock(&one_at_a_time);
    alone = false;
}

/* LLVM does not expect this to return, and its state is not fit for another compile: the
 * waiter is told, and the thread stays here. */
static _Noreturn void park(sett_status status, const char *reason)
{
    const sett__ptx_job *job = current;
    current = NULL;
    int alive = ALIVE;
    if (atomic_compare_exchange_strong(&state, &alive, FAILING)) {
        snprintf(last_words, sizeof last_words, "%s", reason);
        atomic_store(&state, FAILED);
    }
    end_alone(false);
    if (job && job->fatal)
        job->fatal(job->user, status, reason);
    for (;;)
        pause();
}

static void on_fatal(const char *reason)
{
    park(SETT_E_COMPILE, reason);
}

void sett__out_of_memory(void)
{
    park(SETT_E_MEMORY, "out of memory");
}

static void on_bad_alloc(void *user, const char *reason, bool crash_dump)
{
    (void)user, (void)reason, (void)crash_dump;
    sett__out_of_memory();
}

static const char *failed(void)
{
    static const char *const said[] = {[ALIVE] = NULL, [FAILING] = "it is failing now", [FAILED] = last_words};
    return said[atomic_load(&state)];
}

static void start_llvm(void)
{
    LLVMInstallFatalErrorHandler(on_fatal);
    sett__llvm_on_bad_alloc(on_bad_alloc, NULL);
    sett__on_new(sett__out_of_memory);
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    sett__heap_opened();
}

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *lower)
{
    if (LLVMGetDiagInfoSeverity(info) != LLVMDSError)
        return;
    char *text = LLVMGetDiagInfoDescription(info);
    sett__lower_fail((sett__lower *)lower, SETT_E_COMPILE, "LLVM: %s", text);
    LLVMDisposeMessage(text);
}

static char *copy(const char *s, size_t len)
{
    char *p = (char *)malloc(len + 1);
    if (p) {
        memcpy(p, s, len);
        p[len] = 0;
    }
    return p;
}

/* An identifier of PTX, and none of the functions that kernels call. */
static bool good_name(const char *s)
{
    size_t n = strlen(s);
    if (!n || n > 200 || (*s >= '0' && *s <= '9') || !strcmp(s, "vprintf") || !strncmp(s, "__", 2))
        return false;
    return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$") == n;
}

static LLVMTargetMachineRef machine(const char *target, int isa, int level, sett_error *e)
{
    LLVMTargetRef nvptx;
    char *text = NULL, features[16];
    if (LLVMGetTargetFromTriple("nvptx64-nvidia-cuda", &nvptx, &text)) {
        sett__error(e, SETT_E_COMPILE, "LLVM: %s", text);
        LLVMDisposeMessage(text);
        return NULL;
    }
    snprintf(features, sizeof(features), "+ptx%d", isa);
    LLVMTargetMachineRef m = LLVMCreateTargetMachine(nvptx, "nvptx64-nvidia-cuda", target, features,
        level ? LLVMCodeGenLevelDefault : LLVMCodeGenLevelNone, LLVMRelocPIC, LLVMCodeModelDefault);
    if (!m)
        sett__error(e, SETT_E_COMPILE, "LLVM has no target machine for %s", target);
    return m;
}

/* No target has an x86 instruction, so instruction selection cannot but fail. */
static void provoke_fatal(sett__lower *l)
{
    LLVMBasicBlockRef block = LLVMGetEntryBasicBlock(l->fn);
    l->b = LLVMCreateBuilderInContext(l->ctx);
    LLVMPositionBuilderBefore(l->b, LLVMGetBasicBlockTerminator(block));
    sett__ir_intrinsic(l, "llvm.x86.sse2.pause", NULL, NULL, 0);
    LLVMDisposeBuilder(l->b);
}

static sett_status check_module(sett__lower *l)
{
    char *text = NULL;
    if (LLVMVerifyModule(l->module, LLVMReturnStatusAction, &text))
        sett__lower_fail(l, SETT_E_INTERNAL, "the IR is not valid: %.300s", text);
    LLVMDisposeMessage(text);
    return l->status;
}

static sett_status optimise(sett__lower *l, LLVMTargetMachineRef m)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(
        l->module, l->level ? "function(sroa,early-cse<memssa>,simplifycfg)" : "function(sroa,early-cse<memssa>)", m, options);
    LLVMDisposePassBuilderOptions(options);
    if (error) {
        char *text = LLVMGetErrorMessage(error);
        sett__lower_fail(l, SETT_E_COMPILE, "LLVM: %s", text);
        LLVMDisposeErrorMessage(text);
    }
    return l->status;
}

static sett_status emit(sett__lower *l, LLVMTargetMachineRef m, sett__ptx_out *out)
{
    char *text = NULL;
    LLVMMemoryBufferRef buffer = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(m, l->module, LLVMAssemblyFile, &text, &buffer)) {
        sett__lower_fail(l, SETT_E_COMPILE, "LLVM: %s", text);
        LLVMDisposeMessage(text);
        return l->status;
    }
    if (!buffer) /* what it was written to is there, and no memory for a copy */
        return sett__lower_fail(l, SETT_E_MEMORY, "out of memory"), l->status;
    out->ptx_len = LLVMGetBufferSize(buffer);
    out->ptx = copy(LLVMGetBufferStart(buffer), out->ptx_len);
    LLVMDisposeMemoryBuffer(buffer);
    if (!out->ptx)
        sett__lower_fail(l, SETT_E_MEMORY, "out of memory");
    return l->status;
}

static sett_status keep_ir(sett__lower *l, sett__ptx_out *out)
{
    char *text = LLVMPrintModuleToString(l->module);
    out->ir = copy(text, strlen(text));
    LLVMDisposeMessage(text);
    if (!out->ir)
        sett__lower_fail(l, SETT_E_MEMORY, "out of memory");
    return l->status;
}

static sett_status generate(sett__lower *l, const sett__ptx_job *job, LLVMTargetMachineRef m, sett__ptx_out *out)
{
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(m);
    LLVMSetModuleDataLayout(l->module, layout);
    LLVMDisposeTargetData(layout);
    LLVMSetTarget(l->module, "nvptx64-nvidia-cuda");
    if (sett__lower_tape(l))
        return l->status;
    if (job->provoke && !strcmp(job->provoke, "fatal"))
        provoke_fatal(l);
    if (check_module(l) || (job->keep_ir && keep_ir(l, out)))
        return l->status;
    if (!optimise(l, m))
        emit(l, m, out);
    return l->status;
}

static sett_status lower(const sett__ptx_job *job, const sett__tape *tape, sett__ptx_out *out, sett_error *e)
{
    int sm, isa = sett__tape_isa(tape, job->target);
    char suffix;
    if (!isa || !sett__target_parse(job->target, &sm, &suffix))
        return sett__error(e, SETT_E_TARGET, "%s is not a target of this compiler", job->target);
    out->codegen_level = sett__codegen_level(tape);
    if (out->codegen_level < 0)
        return sett__error(e, SETT_E_MEMORY, "out of memory");
    LLVMTargetMachineRef m = machine(job->target, isa, out->codegen_level, e);
    if (!m)
        return SETT_E_COMPILE;
    sett__lower l = {
        .tape = tape, .name = job->name, .sm = sm, .level = out->codegen_level, .lines = job->line_info, .site = SETT__NONE, .error = e};
    l.ctx = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(l.ctx, on_diagnostic, &l);
    l.module = LLVMModuleCreateWithNameInContext(job->name, l.ctx);
    sett_status status = generate(&l, job, m, out);
    LLVMDisposeModule(l.module);
    LLVMContextDispose(l.ctx);
    LLVMDisposeTargetMachine(m);
    return status;
}

static void release(sett__ptx_out *out)
{
    if (!out)
        return;
    free(out->ptx);
    free(out->ir);
    memset(out, 0, sizeof(*out));
}

static sett_status compile(const sett__ptx_job *job, sett__ptx_out *out, sett_error *e)
{
    sett__tape tape;
    memset(&tape, 0, sizeof(tape));
    if (!job || !out || !job->tape || !job->target || !job->name)
        return sett__error(e, SETT_E_ARGUMENT, "a compile needs a tape, a target and a name");
    memset(out, 0, sizeof(*out));
    if (!good_name(job->name))
        return sett__error(
            e, SETT_E_ARGUMENT, "\"%.100s\" cannot name a kernel: letters, digits, _ and $, at most 200", job->name);
    sett_status status = sett__tape_read(&tape, job->tape, job->tape_len, e);
    if (status)
        return status;
    status = sett__tape_verify(&tape, job->target, e);
    if (!status && !sett__thread_locals())
        status = sett__error(e, SETT_E_MEMORY, "out of memory");
    if (!status) {
        begin_alone();
        current = job;
        status = failed() ? sett__error(e, SETT_E_NO_COMPILER, SETT__PLUGIN_DEAD, failed()) : lower(job, &tape, out, e);
        current = NULL;
        end_alone(!status);
    }
    sett__tape_free(&tape);
    if (status)
        release(out);
    return status;
}

__attribute__((visibility("default"))) const sett__ptx_plugin *sett_ptx_plugin(void)
{
    static const sett__ptx_plugin plugin = {
        .size = sizeof(sett__ptx_plugin),
        .abi = SETT__PLUGIN_ABI,
        .codegen_id = SETT__CODEGEN_ID,
        .llvm_version = LLVM_VERSION_STRING,
        .compile = compile,
        .release = release,
        .failed = failed,
    };
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!sett__thread_locals())
        return NULL;
    pthread_once(&once, start_llvm);
    return &plugin;
}
