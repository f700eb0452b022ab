/* SPDX-License-Identifier: Apache-2.0 */
/* TLS over a socket that does not block: a server must show a certificate for the name that it was asked by, from an authority
 * of `ca` or of the system. OpenSSL writes as to a file, so its calls are made without SIGPIPE; its errors stay here. */
#include "remote.h"
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdlib.h>

enum { PIECE = 1 << 20 };

typedef struct tls {
    SSL *ssl;
    double deadline; /* of the call that is under way */
} tls;

static const char *reason(void)
{
    unsigned long first = ERR_peek_error();
    int system = ERR_SYSTEM_ERROR(first) ? ERR_GET_REASON(first) : first ? 0 : errno;
    const char *text = system ? strerror(system) : ERR_reason_error_string(first);
    return text ? text : "it closed the connection";
}

sett_status sett__tls_open(sett__remote *r, sett_error *err)
{
    SSL_CTX *c = r->tls = SSL_CTX_new(TLS_client_method());
    const char *ca = r->opt.ca;
    ERR_clear_error();
    errno = 0;
    if (!c)
        return sett__error(err, SETT_E_MEMORY, "no memory for TLS");
    SSL_CTX_set_verify(c, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
    SSL_CTX_set_mode(c, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (ca ? SSL_CTX_load_verify_locations(c, ca, NULL) : SSL_CTX_set_default_verify_paths(c))
        return SETT_OK;
    sett__error(err, SETT_E_IO, "ca=%s cannot be used: %s", ca ? ca : "", reason());
    ERR_clear_error();
    return SETT_E_IO;
}

void sett__tls_close(sett__remote *r)
{
    SSL_CTX_free(r->tls);
}

/* Which name its certificate must have; a number is not told to the server. */
static bool name_it(SSL *ssl, const char *host)
{
    return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) || (SSL_set1_host(ssl, host) && SSL_set_tlsext_host_name(ssl, host));
}

void sett__tls_end(void *over)
{
    tls *t = over;
    if (t)
        SSL_free(t->ssl);
    free(t);
}

/* OpenSSL reads on within one call while the server sends what is no data: each of its reads and writes looks at the deadline. */
static long in_time(BIO *b, int what, const char *data, size_t len, int i, long l, int rc, size_t *done)
{
    const tls *t = (const void *)BIO_get_callback_arg(b);
    (void)data, (void)len, (void)i, (void)l, (void)done;
    if ((what != BIO_CB_READ && what != BIO_CB_WRITE) || !sett__is_late(t->deadline))
        return rc;
    BIO_clear_retry_flags(b);
    errno = ETIMEDOUT;
    return -1;
}

static tls *tls_new(sett__remote *r, int fd, double deadline)
{
    tls *t = malloc(sizeof *t);
    if (!t)
        return NULL;
    *t = (tls){SSL_new(r->tls), deadline};
    if (t->ssl && name_it(t->ssl, r->opt.host) && SSL_set_fd(t->ssl, fd)) { /* one BIO for both ways */
        BIO_set_callback_arg(SSL_get_rbio(t->ssl), (char *)t);
        BIO_set_callback_ex(SSL_get_rbio(t->ssl), in_time);
        return t;
    }
    sett__tls_end(t);
    return NULL;
}

/* POLLIN or POLLOUT: what it waits for; 0: it is over, and why is in OpenSSL's errors or in errno. */
static short wanted(SSL *ssl, int rc)
{
    int e = SSL_get_error(ssl, rc);
    return e == SSL_ERROR_WANT_READ ? POLLIN : e == SSL_ERROR_WANT_WRITE ? POLLOUT : 0;
}

void *sett__tls_start(sett__remote *r, int fd, double deadline, sett_error *err)
{
    tls *t = tls_new(r, fd, deadline);
    sett__quiet was;
    short what = 0;
    if (!t) {
        ERR_clear_error();
        sett__error(err, SETT_E_MEMORY, "no memory for TLS");
        return NULL;
    }
    sett__quiet_begin(&was);
    for (;;) {
        ERR_clear_error();
        errno = 0;
        int rc = SSL_connect(t->ssl);
        what = rc == 1 ? 0 : wanted(t->ssl, rc);
        if (rc == 1 || !what || !sett__await(fd, what, deadline))
            break;
    }
    long trust = SSL_get_verify_result(t->ssl);
    if (SSL_is_init_finished(t->ssl)) {
        sett__quiet_end(&was);
        return t;
    }
    sett__error(err, SETT_E_IO, "TLS: %s%s", trust ? "its certificate is not accepted: " : "",
        trust ? X509_verify_cert_error_string(trust) : what || sett__is_late(deadline) ? "not in time" : reason());
    ERR_clear_error();
    sett__tls_end(t);
    sett__quiet_end(&was);
    return NULL;
}

/* As send() and recv() of a socket that does not block; *what: what to wait for, where errno is EAGAIN. */
ssize_t sett__tls_move(void *over, void *in, const void *out, size_t len, double deadline, short *what)
{
    tls *t = over;
    sett__quiet was;
    int n = len < PIECE ? (int)len : PIECE;
    t->deadline = deadline;
    sett__quiet_begin(&was);
    ERR_clear_error();
    errno = 0;
    int rc = in ? SSL_read(t->ssl, in, n) : SSL_write(t->ssl, out, n);
    if (rc <= 0) {
        int why = SSL_get_error(t->ssl, rc), failed = errno;
        *what = wanted(t->ssl, rc);
        errno = *what || sett__is_late(deadline) ? EAGAIN : failed ? failed : EPROTO;
        rc = why == SSL_ERROR_ZERO_RETURN ? 0 : -1;
    }
    int saved = errno;
    ERR_clear_error();
    sett__quiet_end(&was);
    errno = saved;
    return rc;
}
