/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures of packs: Ed25519 (RFC 8032). The secret key is a seed of 32 bytes in a file like that of a MAC; readers
 * hold the public key alone. The arithmetic is libsodium's, which is opened here and not linked: who signs nothing and
 * asks for no signature needs no such library, and it would be more than a third of the size of everything else in
 * cache/. */
#include "inside.h"
#include <dlfcn.h>
#include <string.h>

typedef struct sodium {
    void *lib;
    int (*init)(void);
    int (*keypair)(unsigned char *public_key, unsigned char *secret_key, const unsigned char *seed);
    int (*sign)(unsigned char *sig, unsigned long long *len, const unsigned char *m, unsigned long long n,
        const unsigned char *secret_key);
    int (*verify)(
        const unsigned char *sig, const unsigned char *m, unsigned long long n, const unsigned char *public_key);
} sodium;

static sett_status sodium_open(sodium *s, sett_error *err)
{
    static const char *const names[] = {"libsodium.so.23", "libsodium.so.26"};
    const struct {
        const char *name;
        void *to; /* of the function pointer */
    } table[] = {{"sodium_init", &s->init}, {"crypto_sign_ed25519_seed_keypair", &s->keypair},
        {"crypto_sign_ed25519_detached", &s->sign}, {"crypto_sign_ed25519_verify_detached", &s->verify}};
    s->lib = NULL;
    for (size_t i = 0; i < SETT__COUNT(names) && !s->lib; i++)
        s->lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    bool ok = s->lib != NULL;
    for (size_t i = 0; i < SETT__COUNT(table) && ok; i++) {
        void *p = dlsym(s->lib, table[i].name);
        memcpy(table[i].to, &p, sizeof p); /* ISO C has no cast from an object's to a function's pointer */
        ok = p != NULL;
    }
    if (ok && s->init() >= 0)
        return SETT_OK;
    if (s->lib)
        dlclose(s->lib);
    return sett__error(err, SETT_E_IO, "signatures need libsodium (Debian: libsodium23), which cannot be opened");
}

sett_status sett__signer_read(const sett__os *os, const char *path, sett__signer *k, sett_error *err)
{
    sett__auth a;
    sodium lib;
    sett_status s = sett__auth_read(os, path, &a, err);
    if (!s && a.n != 1)
        s = sett__error(err, SETT_E_IO, "%s: a secret key is one line of 64 hexadecimal digits", path);
    if (!s)
        s = sodium_open(&lib, err);
    if (!s) {
        lib.keypair(k->public_key, k->secret_key, a.key[0]);
        dlclose(lib.lib);
    }
    explicit_bzero(&a, sizeof a);
    return s;
}

sett_status sett__signature_make(
    const sett__signer *k, const void *data, size_t len, uint8_t signature[64], sett_error *err)
{
    sodium lib;
    sett_status s = sodium_open(&lib, err);
    if (s)
        return s;
    lib.sign(signature, NULL, data, len, k->secret_key);
    dlclose(lib.lib);
    return SETT_OK;
}

sett_status sett__signature_check(
    const uint8_t public_key[32], const void *data, size_t len, const uint8_t signature[64], sett_error *err)
{
    sodium lib;
    sett_status s = sodium_open(&lib, err);
    if (s)
        return s;
    if (lib.verify(signature, data, len, public_key))
        s = sett__error(err, SETT_E_PARSE, "its signature does not match its bytes");
    dlclose(lib.lib);
    return s;
}
