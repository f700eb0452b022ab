/* SPDX-License-Identifier: Apache-2.0 */
/* Who may write a cache folder may put code into every process that reads it, so a folder that several users write is
 * trusted by a secret that they share and not by its modes: HMAC-SHA-256 (RFC 2104) over all of an entry that comes
 * before it, its key included, so that entries can be neither forged nor exchanged.
 *
 *     u16 algorithm (1), u16 length (64), u32 zero, id[16], mac[32], zeros[8]
 *
 * The id names the secret: the first 16 bytes of the SHA-256 of "sett-auth-id" and the secret. Little endian. */
#include "inside.h"
#include <errno.h>
#include <nettle/memops.h>
#include <string.h>
#include <unistd.h>

enum { ALGORITHM = 1, ID = 16, SECRET = 32, FILE_MAX = 4096 };

static void set_id(sett__auth *a, int i)
{
    uint8_t text[12 + SECRET];
    sett__digest d;
    memcpy(text, "sett-auth-id", 12);
    memcpy(text + 12, a->key[i], SECRET);
    sett__sha256(text, sizeof text, &d);
    memcpy(a->id[i], d.b, ID);
}

static int hex(char c)
{
    const char *all = "0123456789abcdefABCDEF", *at = c ? strchr(all, c) : NULL;
    return !at ? -1 : at - all < 16 ? (int)(at - all) : (int)(at - all) - 6;
}

bool sett__hex_read(const char *text, uint8_t out[32])
{
    for (int i = 0; i < 32; i++) {
        int high = hex(text[2 * i]), low = high < 0 ? -1 : hex(text[2 * i + 1]);
        if (low < 0)
            return false;
        out[i] = (uint8_t)(high * 16 + low);
    }
    return true;
}

void sett__hex_write(const uint8_t in[32], char text[65])
{
    for (int i = 0; i < 64; i++)
        text[i] = "0123456789abcdef"[in[i / 2] >> (i % 2 ? 0 : 4) & 15];
    text[64] = 0;
}

/* One secret a line, 64 hexadecimal digits; blank lines do not count. */
static bool parse(const char *text, sett__auth *a)
{
    for (;;) {
        text += strspn(text, " \t\r\n");
        if (!*text)
            return a->n > 0;
        if (a->n == SETT__AUTH_KEYS)
            return false;
        if (!sett__hex_read(text, a->key[a->n]))
            return false;
        text += 2 * SECRET;
        if (*text && !strchr(" \t\r\n", *text))
            return false;
        set_id(a, a->n++);
    }
}

static sett_status read_file(const sett__os *os, int fd, const char *path, sett__auth *a, sett_error *err)
{
    struct stat st;
    char text[FILE_MAX + 1] = {0};
    if (os->fstat(fd, &st))
        return sett__error(err, SETT_E_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode) || !sett__disk_owner(&st) || (st.st_mode & 077))
        return sett__error(
            err, SETT_E_IO, "%s: a secret must be a plain file that only its owner may read: chmod 600", path);
    if (st.st_size > FILE_MAX || !sett__read_all(os, fd, text, (size_t)st.st_size) || !parse(text, a))
        return sett__error(err, SETT_E_IO, "%s: not one or two lines of %d hexadecimal digits", path, 2 * SECRET);
    return SETT_OK;
}

sett_status sett__auth_read(const sett__os *os, const char *path, sett__auth *a, sett_error *err)
{
    int fd;
    *a = (sett__auth){0};
    if (!path || path[0] != '/')
        return sett__error(err, SETT_E_IO, "a secret needs the absolute path of its file");
    sett_status s = sett__path_open_file(os, path, true, &fd, err);
    if (s)
        return s;
    s = read_file(os, fd, path, a, err);
    os->close(fd);
    return s;
}

void sett__auth_sign(const sett__auth *a, const void *data, size_t len, uint8_t block[SETT__AUTH_BYTES])
{
    memset(block, 0, SETT__AUTH_BYTES);
    sett__put_le(block, ALGORITHM, 2);
    sett__put_le(block + 2, SETT__AUTH_BYTES, 2);
    memcpy(block + 8, a->id[0], ID);
    sett__hmac_sha256(a->key[0], data, len, block + 8 + ID);
}

sett_status sett__auth_verify(const sett__auth *a, const void *data, size_t len, const uint8_t *block, sett_error *err)
{
    uint8_t mac[32];
    for (int i = 0; i < a->n; i++) {
        if (memcmp(a->id[i], block + 8, ID))
            continue;
        sett__hmac_sha256(a->key[i], data, len, mac);
        return memeql_sec(mac, block + 8 + ID, sizeof mac)
                   ? SETT_OK
                   : sett__error(err, SETT_E_PARSE, "its authentication code does not match its bytes");
    }
    return sett__error(err, SETT_E_PARSE, "it is authenticated by a secret that we do not have");
}
