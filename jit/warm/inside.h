/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of warm/ share.
 *
 *     manifest.c  the text: blocks of families and tapes, and the values of their parameters
 *     model.c     names of a model, and lines in which they stand
 *     points.c    what a combination of values is: its kernel, or its kernels
 *     keys.c      every kernel of it with its key, each once; which shard makes it
 *     process.c   one process: started, heard, ended
 *     pool.c      processes that compile them
 *     serve.c     what such a process does, and what is said between them */
#ifndef SETT_JIT_WARM_H
#define SETT_JIT_WARM_H
#include "jit/compile/compile.h"
#include "jit/launch/launch.h"
#include <limits.h>
#include <sett/warm.h>

/* ---- manifest.c --------------------------------------------------------------------- */
enum { SETT__WARM_TEXT = 512, SETT__WARM_AXES = 48, SETT__WARM_VALUE = 24, SETT__WARM_POINTS = 1 << 20, SETT__WARM_TARGET = 16, SETT__WARM_KERNELS = 1024 };
typedef struct sett__warm_value {
    int64_t integer;
    double number;
    char text[SETT__WARM_VALUE]; /* as it was given */
} sett__warm_value;
typedef struct sett__warm_axis {
    const sett_family_param *param;
    sett__warm_value *value;
    size_t n;
} sett__warm_axis;
typedef struct sett__warm_block {
    const sett_family *family; /* NULL: a tape */
    char *tape;
    size_t tape_len;
    char path[PATH_MAX], symbol[64], name[129]; /* symbol: of a family, for errors */
    char *targets; /* NULL: the call's */
    char *model;   /* the file of the model that has it, and the manifest's line that names that; NULL: it stands in the manifest */
    int line, opt_level;
    bool line_info, own_name; /* own_name: .name is the family's */
    int n_axes;
    sett__warm_axis axis[SETT__WARM_AXES];
    size_t points;
} sett__warm_block;
typedef struct sett__manifest {
    int n;
    sett__warm_block *block;
} sett__manifest;
sett_status sett__manifest_read(sett__manifest *, const char *path, sett_error *);
/* The same of its text (ended by a NUL, and written to). source: fills a block's family, or where the symbol is NULL its
 * tape, from its path. */
typedef sett_status sett__warm_source(sett__warm_block *, const char *symbol_or_null, sett_error *);
sett_status sett__manifest_parse(
    sett__manifest *, const char *path, char *text, size_t len, sett__warm_source *, sett_error *);
/* One of a list, *n bytes of *text: without the blanks around it, which are dropped. False: no target that is cached. */
bool sett__warm_target(const char **text, size_t *n, char target[SETT__WARM_TARGET]);
void sett__manifest_free(sett__manifest *);

/* ---- model.c ------------------------------------------------------------------------ */
enum { SETT__MODEL_NAMES = 64, SETT__MODEL_WHY = 600 };
typedef struct sett__model_name {
    char name[32], value[200];
    int given, offered; /* by the manifest; by a file: its number, from 1 on */
} sett__model_name;
typedef struct sett__model {
    int n, files;
    sett__model_name at[SETT__MODEL_NAMES];
} sett__model;
/* Who says a name first has it: the manifest (file 0), then the model's file, then what that includes. False: why says what is wrong. */
bool sett__model_set(sett__model *, const char *name, const char *value, int file, char why[SETT__MODEL_WHY]);
bool sett__model_offers(const sett__model *, char why[SETT__MODEL_WHY]); /* is all that was given a name of the file? */
bool sett__model_fill(sett__model *, const char *line, char *out, size_t size, char why[SETT__MODEL_WHY]); /* puts values for $NAME and $(NUMBER) */
bool sett__model_when(sett__model *, const char *text, bool *yes, char why[SETT__MODEL_WHY]);
/* ---- points.c ----------------------------------------------------------------------- */
/* What a point is called. */
void sett__manifest_point(const sett__warm_block *, size_t point, char text[SETT__WARM_TEXT]);
/* Does a point of the block stand for several kernels? */
bool sett__warm_several(const sett__warm_block *);
/* A kernel that a point stands for on a target. user: its options, malloc'ed, which the caller frees. It is NULL where the target has no
 * kernel of that index, where the family leaves it out there, and of a block that names a tape. */
typedef struct sett__warm_kernel {
    const sett_family *family;
    void *user;
} sett__warm_kernel;
sett_status sett__warm_kernel_of(const sett__warm_block *, size_t point, int index, const char *target, sett__warm_kernel *, sett_error *);
void sett__warm_compile_options(const sett__warm_block *, const sett__warm_kernel *, const char *target, sett_compile_options *);
/* "NAME\nPARAMS" of one of several kernels: the text of a sett_warm_event. */
void sett__warm_kernel_text(const sett__warm_block *, const sett__warm_kernel *, char text[SETT__WARM_TEXT]);

/* ---- keys.c ---------------------------------------------------------------------------- */
typedef struct sett__warm_item {
    uint32_t block, point, index; /* index: of the point's kernels */
    uint64_t order;
    char target[SETT__WARM_TARGET];
    sett__digest key, alias; /* alias: zeros: it has none */
    sett_status status; /* not recorded, or not made */
    char *error;        /* NULL: none */
    char *kernel;       /* as sett__warm_kernel_text; NULL: the block and the point say it */
} sett__warm_item;
typedef struct sett__warm_list {
    sett__warm_item *at;
    size_t n, cap;
    sett__alias *alias; /* of all that were listed, also where two are one kernel or another shard makes it */
    size_t n_alias, alias_cap;
} sett__warm_list;
/* A call's options, checked, its manifest, and the kernels that they ask for; the last two are to be freed in any case.
 * apart: bodies are recorded by a process of .command, as they are where that is set. */
sett_status sett__warm_open(sett_engine *, const char *manifest, const sett_warm_options *given, bool apart, sett_warm_options *,
    sett__manifest *, sett__warm_list *, sett_error *);
void sett__warm_list_free(sett__warm_list *);
/* Fills what an item says of itself; text lives as long as the event is used. */
void sett__warm_describe(
    const sett__manifest *, const sett__warm_item *, char text[SETT__WARM_TEXT], sett_warm_event *);

/* Keys, a body recorded once for all targets in a row that have the same user data; .block NULL: none is. */
typedef struct sett__warm_recorder {
    const sett__warm_block *block;
    sett__warm_kernel kernel; /* what was recorded */
    void *tape;
    size_t len;
    sett_status status;
    sett_error why;
} sett__warm_recorder;
/* Of this process. The item says which, and gets .status, .key and .kernel. *what: SETT__WARM_DONE; SETT__WARM_UNWANTED: there is no such
 * kernel, and no key; SETT__WARM_LAST: the point is refused, and has no others. */
void sett__warm_key(sett__warm_recorder *, sett_engine *, const sett__warm_block *, sett__warm_item *, int32_t *what, sett_error *);
void sett__warm_recorder_free(sett__warm_recorder *);

/* ---- serve.c ------------------------------------------------------------------------------ */
enum { SETT__WARM_MESSAGE = 1 << 16 };
typedef struct sett__warm_job {
    uint32_t block, point, index, keyed; /* keyed: only its key is asked for */
    char target[SETT__WARM_TARGET];
} sett__warm_job;
enum { SETT__WARM_DONE, SETT__WARM_UNWANTED, SETT__WARM_LAST, SETT__WARM_FETCHED, SETT__WARM_FOUND, SETT__WARM_LOG };
typedef struct sett__warm_reply { /* text follows, not ended by a NUL: an error, of a job that is keyed .kernel of the item, or of a log component and,
                                   * behind a NUL, message */
    int32_t status, what; /* of SETT__WARM_LOG: the level */
    double ms;
    sett__digest key, alias; /* of a job that is keyed */
} sett__warm_reply;
/* What a process must know before its first job, from an engine: how many bytes, 0: too many. folder NULL: it is asked for
 * keys alone, and has no cache. */
size_t sett__warm_hello(const sett_engine *, const char *folder, const char *manifest, char out[SETT__WARM_MESSAGE]);

/* ---- process.c ------------------------------------------------------------------------------ */
enum { SETT__WARM_REPLY_TEXT = sizeof((sett_error *)0)->text + 1024 };
typedef struct sett__warm_command { /* what is run, and told first */
    char path[PATH_MAX], hello[SETT__WARM_MESSAGE];
    size_t len;
} sett__warm_command;
typedef struct sett__warm_process {
    pid_t pid; /* 0: none */
    int fd;
} sett__warm_process;
/* malloc'ed; of the options' .command, else the one beside libsett.so; folder as of the hello. */
sett_status sett__warm_command_make(const sett_engine *, const sett_warm_options *, const char *folder, const char *manifest,
    sett__warm_command **, sett_error *);
/* Its first reply says whether it is ready. */
sett_status sett__warm_start(const sett__warm_command *, sett__warm_process *, sett_error *);
/* Waits for one message: 1: a reply; 0: none yet, a line of its log, which the engine's function was told; -1: it is gone. */
int sett__warm_hear(const sett_engine *, const sett__warm_process *, sett__warm_reply *, char text[SETT__WARM_REPLY_TEXT]);
bool sett__warm_send(const sett__warm_process *, const sett__warm_item *, bool keyed);
void sett__warm_end(sett__warm_process *, char why[64]);
#endif
