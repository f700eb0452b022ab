/* SPDX-License-Identifier: Apache-2.0 */
/* One compile a key among processes: an open-file-description lock on one byte of one file, which is never deleted. The
 * byte's place is taken from the key; byte 0 is the trimmer's. The kernel drops a lock with the process that held it,
 * so nothing stale is ever left behind. Waiting is polling, as only that can end at a deadline.
 *
 * A process that is stopped keeps its lock and does not compile. So a key has further turns, each a byte of its own: those who
 * have waited for one in vain try the next, which one of them gets, and the others wait for that one as long again.
 *
 * A lock saves work and is never needed for the result: whoever cannot have one compiles. Where the folder is on a
 * network, locks may be granted to all or to none; the file is then one of this machine, and there is at most one
 * compile a machine. */
#include "inside.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NONE = -2, FORK_SLOTS = 64, FIRST_DELAY_US = 500, LAST_DELAY_US = 5000 };
_Static_assert(SETT__TURNS * sizeof(uint64_t) <= sizeof(sett__digest), "each turn's byte is taken from a word of the key");

/* ---- forks -------------------------------------------------------------------------------- */
/* A forked child has its parent's open files, so it would hold the parent's locks when the parent is killed. A fork is
 * an event of the process, and pthread_atfork() hands over nothing of ours: so this table, as what a profiler fills
 * (profile.c), is not some engine's. 0: free, else a descriptor and one. Past its end the deadline of those who wait serves. */
static atomic_int locked_files[FORK_SLOTS];
static pthread_once_t forks_watched = PTHREAD_ONCE_INIT;

static void close_in_child(void)
{
    for (int i = 0; i < FORK_SLOTS; i++)
        if (locked_files[i])
            close(locked_files[i] - 1); /* closes this copy only; an unlock would be the parent's too */
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, close_in_child);
}

static void fork_slot(int from, int to)
{
    for (int i = 0; i < FORK_SLOTS; i++) {
        int expected = from;
        if (atomic_compare_exchange_strong(&locked_files[i], &expected, to))
            return;
    }
}

/* ---- the file -------------------------------------------------------------------------------- */
/* Magic numbers of statfs(2) and of the file systems' own sources: those whose locks may be one machine's or nobody's.
 */
static bool on_network(const sett__disk *d)
{
    static const uint32_t magic[] = {0x6969 /* NFS */, 0x517B /* SMB */, 0xFE534D42 /* SMB2 */, 0xFF534D42 /* CIFS */,
        0x65735546 /* FUSE */, 0x0BD00BD0 /* Lustre */, 0x01021997 /* 9P */, 0x00C36400 /* Ceph */,
        0x47504653 /* GPFS */, 0x19830326 /* BeeGFS */, 0x5346414F /* AFS */, 0x7461636F /* OCFS2 */,
        0x01161970 /* GFS2 */};
    struct statfs st;
    if (d->os->fstatfs(d->root, &st))
        return false;
    for (size_t i = 0; i < SETT__COUNT(magic); i++)
        if ((uint32_t)st.f_type == magic[i])
            return true;
    return false;
}

static int open_file(const sett__disk *d, int dir, const char *name, mode_t mode)
{
    const sett__os *os = d->os;
    const int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    struct stat st;
    int fd = os->openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0)
        os->fchmod(fd, mode);
    else if (errno == EEXIST) /* for writing too, or NFS gives no lock */
        fd = os->openat(dir, name, flags, 0);
    if (fd < 0 && errno == EACCES && sett__disk_mend(d, dir, name))
        fd = os->openat(dir, name, flags, 0);
    if (fd < 0 || (!os->fstat(fd, &st) && S_ISREG(st.st_mode) && sett__disk_trusts(d, &st)))
        return fd;
    os->close(fd);
    return -1;
}

/* A folder that is ours alone, by construction or refused. */
static int open_machine_file(const sett__disk *d)
{
    char path[128];
    int dir, fd;
    const char *run = secure_getenv("XDG_RUNTIME_DIR");
    snprintf(path, sizeof path, "/dev/shm/sett-%lu", (unsigned long)geteuid());
    if ((!run || sett__path_open(d->os, run, false, true, &dir, NULL)) &&
        sett__path_open(d->os, path, true, true, &dir, NULL))
        return -1;
    fd = open_file(d, dir, "sett-locks", 0600);
    d->os->close(dir);
    return fd;
}

static bool answers(const sett__disk *d, int fd)
{
    struct flock probe = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_len = 1};
    return fd >= 0 && !d->os->setlk(fd, &probe);
}

/* Called with the lock. */
static void open_locks(sett__disk *d)
{
    int fd = on_network(d) ? -1 : open_file(d, d->root, "locks", d->mode & 0666);
    if (!answers(d, fd)) {
        if (fd >= 0)
            d->os->close(fd);
        fd = open_machine_file(d);
    }
    if (!answers(d, fd)) {
        if (fd >= 0)
            d->os->close(fd);
        fd = NONE;
    }
    d->locks = fd;
    if (fd < 0)
        return;
    pthread_once(&forks_watched, watch_forks);
    fork_slot(0, fd + 1);
}

static int lock_file(sett__disk *d)
{
    pthread_mutex_lock(&d->lock);
    if (d->locks == -1)
        open_locks(d);
    int fd = d->locks;
    pthread_mutex_unlock(&d->lock);
    return fd;
}

void sett__lock_close(sett__disk *d)
{
    pthread_mutex_lock(&d->lock);
    if (d->locks >= 0) {
        fork_slot(d->locks + 1, 0);
        d->os->close(d->locks);
    }
    d->locks = -1;
    pthread_mutex_unlock(&d->lock);
}

bool sett__lock_try(sett__disk *d, off_t at, bool *none)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
    int fd = lock_file(d);
    bool got = fd >= 0 && !d->os->setlk(fd, &lock);
    *none = !got && (fd < 0 || (errno != EAGAIN && errno != EACCES && errno != EINTR));
    return got;
}

void sett__lock_drop(sett__disk *d, off_t at)
{
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
    int fd = lock_file(d);
    if (fd >= 0)
        d->os->setlk(fd, &lock);
}

/* ---- for a key ----------------------------------------------------------------------------------- */
static off_t byte_of(const sett__digest *key, int turn)
{
    uint64_t v;
    memcpy(&v, key->b + (size_t)turn * sizeof v, sizeof v);
    return (off_t)(v >> 1 ? v >> 1 : 1);
}

/* A hint: something has the entry's name. */
static bool is_there(const sett__disk *d, const sett__digest *key)
{
    struct stat st;
    sett__entry_name n;
    char path[sizeof n.dir + sizeof n.file];
    sett__entry_name_of(key, &n);
    snprintf(path, sizeof path, "%s/%s", n.dir, n.file);
    return d->v1 >= 0 && !d->os->fstatat(d->v1, path, &st, AT_SYMLINK_NOFOLLOW);
}

/* Has the whole wait for its turn passed? Then the next one is waited for, while there is one. */
static bool in_vain(sett__ticket *t, double wait_ms)
{
    return t->waited_ms >= wait_ms * (t->late + 1) && ++t->late;
}

sett__turn sett__disk_lock(sett__disk *d, const sett__digest *key, double wait_ms, bool look, sett__ticket *ticket)
{
    int saved = errno;
    double start = sett__now_ms() - ticket->waited_ms;
    sett__turn turn = SETT__TURN_NONE;
    ticket->disk = NULL;
    for (long delay = FIRST_DELAY_US; !d->read_only && !d->sealed; delay = 2 * delay < LAST_DELAY_US ? 2 * delay : LAST_DELAY_US) {
        bool none;
        ticket->at = byte_of(key, ticket->late);
        if (sett__lock_try(d, ticket->at, &none)) {
            ticket->disk = d;
            turn = ticket->late ? SETT__TURN_LATE : turn == SETT__TURN_NONE ? SETT__TURN_AT_ONCE : SETT__TURN_WAITED;
            break;
        }
        if (none) {
            turn = SETT__TURN_NONE;
            break;
        }
        if (look && is_there(d, key)) { /* else many who wait would have the turn one after another */
            turn = SETT__TURN_THERE;
            break;
        }
        turn = SETT__TURN_TIMEOUT;
        if (wait_ms <= 0)
            break;
        ticket->waited_ms = sett__now_ms() - start;
        if (!in_vain(ticket, wait_ms))
            nanosleep(&(struct timespec){.tv_nsec = delay * 1000}, NULL);
        else if (ticket->late == SETT__TURNS)
            break;
    }
    if (wait_ms > 0)
        ticket->waited_ms = sett__now_ms() - start;
    errno = saved;
    return turn;
}

void sett__disk_unlock(sett__ticket *ticket)
{
    int saved = errno;
    if (ticket->disk)
        sett__lock_drop(ticket->disk, ticket->at);
    ticket->disk = NULL;
    errno = saved;
}
