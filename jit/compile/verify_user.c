/* SPDX-License-Identifier: Apache-2.0 */
/* .verify_user: what each body recorded for its user bytes the first time, and the first operation of a later recording
 * that differs from it. */
#include "inside.h"
#include <stdlib.h>
#include <string.h>

typedef struct recording {
    struct recording *next;
    sett__memo_key memo; /* its user bytes are the copy below */
    sett__digest key;
    void *tape; /* its bytes with call sites */
    size_t len;
    unsigned char user[];
} recording;

/* A recording does not change once it is in its list, and stays until the end. */
enum { LISTS = 4096 };
struct sett__recordings {
    pthread_mutex_t lock; /* of the lists */
    recording *list[LISTS]; /* by the hash of the memo */
};

sett_status sett__recordings_open(sett__recordings **out, sett_error *err)
{
    sett__recordings *rs = calloc(1, sizeof *rs);
    *out = NULL;
    if (!rs || pthread_mutex_init(&rs->lock, NULL)) {
        free(rs);
        return sett__error(err, SETT_E_MEMORY, "no memory for an engine");
    }
    *out = rs;
    return SETT_OK;
}

static void recording_free(recording *r)
{
    free(r->tape);
    free(r);
}

void sett__recordings_close(sett__recordings *rs)
{
    if (!rs)
        return;
    for (int i = 0; i < LISTS; i++)
        for (recording *r = rs->list[i], *next; r; r = next) {
            next = r->next;
            recording_free(r);
        }
    pthread_mutex_destroy(&rs->lock);
    free(rs);
}

static sett_status recording_of(const sett__memo_key *memo, const sett__recorded *rec, recording **out, sett_error *err)
{
    recording *r = malloc(sizeof *r + memo->user_size);
    *out = NULL;
    if (!r)
        return sett__error(err, SETT_E_MEMORY, "no memory for a recording");
    *r = (recording){.memo = *memo, .key = rec->key};
    r->memo.user = memcpy(r->user, memo->user, memo->user_size);
    sett_status s = sett__tape_write(&rec->tape, true, NULL, &r->tape, &r->len, err);
    if (s)
        free(r);
    else
        *out = r;
    return s;
}

/* The recording of the same memo that is there; if there is none, the new one (may be NULL) goes in. */
static const recording *find_or_put(sett__recordings *rs, const sett__memo_key *memo, recording *new)
{
    pthread_mutex_lock(&rs->lock);
    recording **first = &rs->list[sett__memo_hash(memo) % LISTS];
    const recording *r = *first;
    while (r && !(sett__memo_same(&r->memo, memo) && r->memo.holds == memo->holds))
        r = r->next;
    if (!r && new) {
        new->next = *first;
        *first = new;
    }
    pthread_mutex_unlock(&rs->lock);
    return r;
}

/* ---- what differs -------------------------------------------------------------------------------- */
enum { OP_TEXT = 1024 }; /* a longer one is compared so far */

static void op_text(const sett__tape *t, uint32_t op, char text[OP_TEXT])
{
    snprintf(text, OP_TEXT, "nothing");
    if (op < t->n_op)
        sett__op_str(t, op, text, OP_TEXT);
}

/* "a.c:7: ", of the new tape's operation if it has one; "": unknown. */
static void op_place(const sett__tape *now, const sett__tape *before, uint32_t op, char *to, size_t size)
{
    char where[160];
    const sett__tape *t = op < now->n_op ? now : before;
    bool known = t->op[op].site < t->n_site;
    snprintf(to, size, "%s%s", known ? sett__op_where(t, op, where, sizeof where) : "", known ? ": " : "");
}

/* The first operation whose text differs, or, with line information, whose place does. False: none. */
static bool first_op(const sett__tape *now, const sett__tape *before, bool places, uint32_t *op)
{
    char a[OP_TEXT], b[OP_TEXT], at[160], was[160];
    const uint32_t most = now->n_op > before->n_op ? now->n_op : before->n_op;
    for (uint32_t i = 0; i < most; i++) {
        op_text(now, i, a), op_text(before, i, b);
        op_place(now, before, i, at, sizeof at), op_place(before, now, i, was, sizeof was);
        *op = i;
        if (strcmp(a, b) || (places && strcmp(at, was)))
            return true;
    }
    return false;
}

/* The first line of the two texts that differs, each cut out of its text. False: none, or no memory for them. */
static bool first_line(const sett__tape *now, const sett__tape *before, char a[OP_TEXT], char b[OP_TEXT])
{
    char *text[2] = {NULL, NULL};
    bool found = !sett__tape_print(now, false, NULL, &text[0], NULL) && !sett__tape_print(before, false, NULL, &text[1], NULL) &&
                 strcmp(text[0], text[1]);
    if (found) {
        size_t i = 0, line = 0;
        for (; text[0][i] == text[1][i]; i++)
            line = text[0][i] == '\n' ? i + 1 : line;
        snprintf(a, OP_TEXT, "%.*s", (int)strcspn(text[0] + line, "\n"), text[0] + line);
        snprintf(b, OP_TEXT, "%.*s", (int)strcspn(text[1] + line, "\n"), text[1] + line);
    }
    free(text[0]), free(text[1]);
    return found;
}

static sett_status differs(const sett__request *r, const sett__tape *now, const recording *old, sett_error *err)
{
    char place[176] = "", a[OP_TEXT], b[OP_TEXT];
    uint32_t op;
    sett__tape before = {0};
    bool told = !sett__tape_read(&before, old->tape, old->len, NULL);
    if (told && first_op(now, &before, r->opt.line_info, &op))
        op_place(now, &before, op, place, sizeof place), op_text(now, op, a), op_text(&before, op, b);
    else if (!told || !first_line(now, &before, a, b))
        snprintf(a, sizeof a, "one kernel"), snprintf(b, sizeof b, "another");
    sett__tape_free(&before);
    return sett__error(err, SETT_E_ARGUMENT, "%ssett_compile: %s for %s: the body reads something that is not in its %zu bytes of .user (put it there, or leave .user_size 0): "
                                             "it records %.80s, and for the same bytes it recorded %.80s",
        place, r->name, r->target, r->opt.user_size, a, b);
}

sett_status sett__recording_check(const sett__request *r, const sett__recorded *rec, sett_error *err)
{
    sett__counters *count = &r->e->runtime->count;
    sett__recordings *rs = r->e->recordings;
    recording *new = NULL;
    sett_status s = SETT_OK;
    const recording *old = find_or_put(rs, r->memo, NULL);
    if (!old && !(s = recording_of(r->memo, rec, &new, err)) && (old = find_or_put(rs, r->memo, new)))
        recording_free(new); /* another thread was first */
    if (s || !old)
        return s;
    bool same = !memcmp(&old->key, &rec->key, sizeof old->key);
    sett__count(&count->memo_checks, 1);
    sett__count(&count->memo_differences, !same);
    return same ? SETT_OK : differs(r, &rec->tape, old, err);
}
