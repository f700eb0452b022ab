/* SPDX-License-Identifier: Apache-2.0 */
/* The map of the sett command: one file a subcommand, and what they share. */
#ifndef TOOLS_H
#define TOOLS_H
#include "lib/base/words.h" /* "; did you mean --dtype?" */
#include <sett/cache.h>
#include <sett/launch.h>
#include <sett/picture.h>
#include <sett/warm.h>
#include <stdio.h>

enum { EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_PARTIAL, EXIT_NO_DEVICE = 5 };

/* ---- main.c ------------------------------------------------------------------ */
enum { ORDERS_ALL = -1 };
typedef struct options { /* what every subcommand understands, and what is left */
    bool json, help, version;
    const char *target, *output, *emit, *kernel_op, *dtype, *device, *cache_dir;
    int cols, threads, align;
    const char *diff, *tile, *tensor, *isolate, *by, *color; /* of layout: what is drawn */
    bool facts, panels;
    int warmup, iterations, launches, workspaces; /* of bench: as in sett_benchmark_options */
    bool hot, graph, zeros;
    bool batch_invariant; /* of product */
    double bytes, flops;
    const char *secret_key, *signed_by; /* of packs: a file; a public key or a file of one */
    const char *targets, *shard, *pack; /* of warm; targets: of cache explain and export too */
    bool tvm_ffi; /* of export */
    const char *function; /* of export: the name of a kernel that is compiled; NULL: what it is called by */
    const char *recorded_for; /* a target: what a tape is chosen for, where its own is the CPU engine's; NULL: that of the kernel */
    const char *sarif; /* of check */
    bool strict, errors, program; /* of check; program: what follows -- */
    int orders; /* ORDERS_ALL: all of each launch */
    const char *manifest; /* of cache explain */
    bool list, worker;
    bool metrics; /* of doctor */
    int jobs;
    const char *layers;  /* folders and packs instead of the environment's; NULL: those */
    sett_cache_trust trust;
    int argc;
    char **argv;
} options;
int fail(const char *format, ...) SETT_PRINTF(1, 2);  /* "sett: ..." to stderr; EXIT_FAILED */
int usage(const char *format, ...) SETT_PRINTF(1, 2); /* the same and a hint; EXIT_USAGE */
/* The whole of a decimal number from least to most; else usage() of the option. */
int count_parse(const char *option, const char *text, int least, int most, int *out);
/* The tables of commands and options, for completions. NULL, false: i is past the last. */
const char *command_known(size_t i, const char **args, const char **what_or_null);
typedef struct option_known {
    const char *name, *what, *value; /* value: what it takes, as FILE; NULL: nothing */
    int of;                          /* a bit for each command's index */
    char word[24];
} option_known;
bool option_at(size_t i, int of, option_known *); /* what: as it is of one of these commands */
/* A string as JSON, with its quotes. */
void json_string(FILE *, const char *);
/* The engine that the options ask for. NULL: the reason was printed. */
sett_engine *engine_open(const options *);
sett_engine *engine_open_or(const options *, sett_error *); /* the error is told, and left for the caller */
/* This command's file, for the processes that record and compile; NULL: it is not known. */
const char *self_path(void);
/* Warnings are told once of a kind: how many were not told. */
void warnings_left(void);

/* ---- file.c ----------------------------------------------------------------------- */
/* The whole of a file, NUL-ended, malloc'ed; NULL: the reason was printed, which may be that it has more bytes than `most`.
 * "-" is standard input. */
char *file_read(const char *path, size_t most, size_t *len);
char *regular_read(const char *path, size_t most, size_t *len); /* the same of a regular file, never standard input */
FILE *input_open(const char *path); /* "-" is standard input; NULL: the reason was printed */
void input_close(FILE *);
/* What is left of it, as file_read, which prints nothing. why, of a NULL: NULL where there are more bytes than `most`. */
char *stream_read(FILE *, size_t most, size_t *len, const char **why);
/* From here on standard output is -o's file, where one is given. An exit code. */
int output_open(const options *);
int file_write(const char *path, const void *data, size_t len); /* an exit code; "-" is standard output */
void output_begin(void);  /* first of all: no file that is opened later becomes a standard stream that was closed */
int output_end(int code); /* last of all: that exit code, or EXIT_FAILED and a message where output was lost */

/* ---- size.c ----------------------------------------------------------------------- */
/* 0, 500M, 4G: bytes, or with K, M, G, T powers of 1024. False: it is none, or past 2^64. */
bool size_parse(const char *text, uint64_t *bytes);

/* ---- one a subcommand: exit codes --------------------------------------------- */
int layout_command(const options *);
void layout_calls(FILE *); /* the calls that an expression may have, one a line */
/* layout_print.c. A message of the library, without the command's own line and calls, which the user did not write. */
int layout_refuse(const char *why);
/* What the options say of a picture, but for its operands; emit: which writer. */
int layout_options(const options *, sett_picture_args *, int *emit);
/* How the operands of the outermost call (NULL: none, the text is a layout) are drawn. */
int layout_link(const char *call, const char *text, sett_picture_args *);
int layout_print_value(const options *, sett_arg); /* no layout: a number, a tuple, a truth */
int layout_print(const options *, sett_build *, const sett_picture_args *, int emit, bool picture);
int compile_command(const options *);
int dtype_refused(const char *text); /* of --dtype: usage() */
int run_command(const options *);
int bench_command(const options *);
int cache_command(const options *);
void hex(const uint8_t key[32], char text[65]);
void entry_print(const sett_cache_entry *); /* a row of cache ls */
/* explain.c. The key that starts with these digits, in the engine's cache. An exit code. */
int key_find(sett_engine *, const char *digits, uint8_t key[32]);
int cache_explain(sett_engine *, const options *);
bool explains_two(const options *); /* is what follows its first key another one, and no source? */
bool is_key(const char *digits);
int no_key(const char *digits); /* usage() */
char *copy_of(const char *);    /* malloc'ed; without memory the process ends */
typedef struct named_key {      /* texts are malloc'ed */
    uint8_t key[32];
    char *name, *target, *params; /* params: as in sett_warm_event; NULL: it is of no manifest */
} named_key;
named_key named_key_of(const sett_warm_event *);
void named_key_free(named_key *);
/* Of what differs: lines "what: A | B", or their JSON; mute: it is only counted. */
typedef struct telling {
    bool json, mute;
    int n;
} telling;
void tell(telling *, const char *what, const char *a, const char *b); /* if it does */
void tell_lines(telling *, const char *text);                         /* of sett_cache_explain */
void tell_named(telling *, const named_key *a, const named_key *b);    /* of two of a manifest */
int explain_nearest(sett_engine *, const options *);                   /* nearest.c: of one key */
/* pack.c: sett cache pack, merge, sign, unpack, keygen */
typedef int cache_verb(const options *); /* argv: what follows the verb */
cache_verb *pack_verb(const char *name); /* NULL: none */
void pack_verbs(sett__guess *);          /* their names */
int no_file(const char *option, const char *path); /* a pack or a key that was asked for on standard output: usage() */
/* An engine whose layers are the sources in argv, instead of the machine's own; folder: it writes to --cache-dir. NULL: the
 * reason was printed. */
sett_engine *sources_open(const options *, int argc, char **argv, bool folder);
int warm_command(const options *);
int doctor_command(const options *);
int export_command(const options *);
int completion_command(const options *);
int check_command(const options *);
int product_command(const options *);
void product_members(FILE *); /* what NAME=VALUE may be */
const char *types_text(char text[256]); /* "i1, i8, ...": family.c */
int product_bench(const options *); /* of bench: what follows `product` */

/* ---- family.c ---------------------------------------------------------------------- */
/* Takes NAME=VALUE, which is written to, into user data of a family. given: for each parameter the text that it was given before,
 * NULL: none. `of`: whose parameters a refusal says they are. */
int family_set(const char *command, const sett_family *, const char *of, char *user, const char **given, char *text);

/* ---- kernels.c: kernels by name -------------------------------------------------- */
typedef struct named_kernel {
    const char *name, *help;
    const sett_family *family;
    /* Its options by the command's; false: the reason was printed. NULL: by the names of its parameters. */
    bool (*fill)(const options *, sett_dtype, void *user);
    const char *fixed; /* the option that gives an extent which the kernel is made for; NULL: none */
} named_kernel;
const named_kernel *kernel_find(const char *name); /* NULL: none */
int kernel_unknown(const char *name); /* says that it is none, and lists what there is: an exit code */
void kernel_list(FILE *);
void kernel_names(FILE *, const char *between);
/* A named kernel, or a tape file (text or bytes), compiled. An exit code. */
int kernel_compile(sett_engine *, const options *, const char *name_or_file, sett_dtype, bool ptx_only, sett_kernel **);

/* ---- npy.c: NumPy's array files ------------------------------------------------------ */
typedef struct npy {
    sett_dtype dtype;
    int rank;
    int64_t shape[8];
    bool fortran; /* column-major */
    void *data;   /* malloc'ed */
    size_t bytes;
} npy;
int npy_read(const char *path, npy *);        /* an exit code; the reason was printed */
int npy_head(const char *path, npy *);        /* the same without the data */
int npy_write(const char *path, const npy *); /* row-major */
/* "f16", "float16", "<f2" ... ; 0: none */
sett_dtype dtype_of_name(const char *);

/* ---- arguments.c: a kernel's arguments from the command line ---------------------------- */
enum { ARGUMENTS_MOST = 32 };
typedef struct argument {
    sett_param_info info;
    const char *in, *out, *number, *extents; /* files, or what was written of them; extents: "4096x4096" */
    npy array;
    sett_buf buf;
} argument;
/* Exit codes; the reasons were printed. *n arguments, with what the command line says of them; sizes: extents are taken. */
int arguments_parse(const options *, sett_kernel *, bool sizes, argument *, int *n);
int arguments_upload(sett_engine *, sett_stream, argument *, int n);
int arguments_bind(argument *, int n, sett_launch_arg *);
void arguments_free(sett_engine *, sett_stream, argument *, int n);
void random_fill(npy *, uint64_t seed);
sett_dtype arguments_dtype(const options *); /* 0: the reason was printed, but for --dtype's */
int device_find(const options *, sett_engine *, sett_stream *);
/* run.c */
/* A launch or benchmark that was refused: says so, and which option makes the kernel for other extents. An exit code. */
int launch_refused(const options *, const sett_error *);
int kernel_command(const options *, const char *command,
    int (*with)(const options *, sett_engine *, sett_stream, sett_kernel *));
#endif
