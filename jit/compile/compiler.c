/* SPDX-License-Identifier: Apache-2.0 */
/* Opening libsett-ptx.so, the compiler. */
#include "compile.h"

static sett_status check(const sett__ptx_plugin *api, const char *path, sett_error *err)
{
    if (!api)
        return sett__error(err, SETT_E_NO_COMPILER, "%s: it offers no compiler in this process, or there is no memory for it", path);
    if (api->abi != SETT__PLUGIN_ABI || api->size < sizeof *api)
        return sett__error(err, SETT_E_NO_COMPILER, "%s: its interface is %d, this libsett.so needs %d", path, api->abi,
            SETT__PLUGIN_ABI);
    if (strcmp(api->codegen_id, SETT__CODEGEN_ID))
        return sett__error(err, SETT_E_NO_COMPILER, "%s: it generates code as %s, this libsett.so as %s", path,
            api->codegen_id, SETT__CODEGEN_ID);
    return SETT_OK;
}

sett_status sett__plugin_open(sett__plugin *p, const char *asked, sett_error *err)
{
    static const sett__shared compiler = {
        "compiler plug-in", "libsett-ptx.so", "SETT_PTX_PLUGIN", SETT__PLUGIN_SYMBOL};
    union {
        void *address;
        sett__ptx_plugin_fn fn;
    } entry = {sett__shared_symbol(&compiler, asked, p->path, SETT_E_NO_COMPILER, err)};
    if (!entry.address)
        return SETT_E_NO_COMPILER;
    const sett__ptx_plugin *api = entry.fn();
    sett_status s = check(api, p->path, err);
    p->api = s ? NULL : api;
    return s;
}
