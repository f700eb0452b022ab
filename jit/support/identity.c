/* SPDX-License-Identifier: Apache-2.0 */
/* What identifies the code behind a function: the GNU build ids of libsett's object, of the object (a library or the program) that
 * has the function, of libsett-kernels where that object uses it, and of all objects that these need and those need, in the order in which they name them; and where in its object the
 * function lies. The linker makes a build id from all that an object holds, so that whoever changes a body, or a helper that it
 * calls in a library that its own needs, changes this. The C library's parts are left out: they are the machine's, and what a body
 * records does not depend on them. Of code that lies in no object, or in one without a build id, nothing can be told. */
#include "support.h"
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_OBJECTS = 1024, MOST_NEEDED = 64, NAME = 96, ID_LEAST = 8, ID_MOST = 64 };

typedef struct object {
    uintptr_t base, from, to; /* to: its last byte */
    const ElfW(Phdr) *head;
    int n_head;
    char file[NAME], soname[NAME]; /* "": none, or too long */
} object;

typedef struct objects {
    int n;
    bool all; /* none was left out */
    object at[MOST_OBJECTS];
} objects;

/* ---- an object's headers ---------------------------------------------------------------------------- */
static void span(object *o)
{
    o->from = UINTPTR_MAX;
    for (int i = 0; i < o->n_head; i++) {
        const ElfW(Phdr) *h = &o->head[i];
        if (h->p_type != PT_LOAD || !h->p_memsz)
            continue;
        const uintptr_t from = o->base + h->p_vaddr, to = from + h->p_memsz - 1;
        o->from = from < o->from ? from : o->from;
        o->to = to > o->to ? to : o->to;
    }
}

static bool holds(const object *o, uintptr_t address)
{
    return o->from <= address && address <= o->to;
}

static const ElfW(Dyn) *dynamic_of(const object *o)
{
    for (int i = 0; i < o->n_head; i++)
        if (o->head[i].p_type == PT_DYNAMIC)
            return (const ElfW(Dyn) *)(o->base + o->head[i].p_vaddr);
    return NULL;
}

/* Some loaders have added the base, some have not. NULL: it has none. */
static const void *table_of(const object *o, int tag)
{
    for (const ElfW(Dyn) *d = dynamic_of(o); d && d->d_tag != DT_NULL; d++)
        if (d->d_tag == tag) {
            const uintptr_t at = holds(o, d->d_un.d_ptr) ? d->d_un.d_ptr : o->base + d->d_un.d_ptr;
            return holds(o, at) ? (const void *)at : NULL;
        }
    return NULL;
}

static const char *strings_of(const object *o)
{
    return table_of(o, DT_STRTAB);
}

/* Symbols from this number on are its own: by the header of its table of GNU, or all of them, by the older table. */
static uint32_t imports_of(const object *o)
{
    const uint32_t *gnu = table_of(o, DT_GNU_HASH), *old = table_of(o, DT_HASH);
    return gnu ? gnu[1] : old ? old[1] : 0;
}

static void copy_name(char to[NAME], const char *name)
{
    const size_t n = name ? strlen(name) : NAME;
    memcpy(to, n < NAME ? name : "", n < NAME ? n + 1 : 1);
}

/* The build id among one segment's notes. */
static bool id_in(const uint8_t *note, size_t left, size_t align, sett__blob *id)
{
    ElfW(Nhdr) h;
    align = align == 8 ? 8 : 4;
    while (left >= sizeof h) {
        memcpy(&h, note, sizeof h);
        const size_t name = sizeof h + (((size_t)h.n_namesz + align - 1) & ~(align - 1)), all = name + (((size_t)h.n_descsz + align - 1) & ~(align - 1));
        if (all > left || name < sizeof h)
            return false;
        if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && !memcmp(note + sizeof h, "GNU", 4)) {
            *id = (sett__blob){note + name, h.n_descsz};
            return id->len >= ID_LEAST && id->len <= ID_MOST;
        }
        note += all, left -= all;
    }
    return false;
}

static bool id_of(const object *o, sett__blob *id)
{
    bool found = false;
    for (int i = 0; i < o->n_head && !found; i++) {
        const ElfW(Phdr) *h = &o->head[i];
        const uintptr_t at = o->base + h->p_vaddr;
        if (h->p_type == PT_NOTE && h->p_memsz && holds(o, at) && holds(o, at + h->p_memsz - 1))
            found = id_in((const uint8_t *)at, h->p_memsz, h->p_align, id);
    }
    return found;
}

/* ---- all of them ---------------------------------------------------------------------------------- */
static int add_object(struct dl_phdr_info *i, size_t size, void *user)
{
    objects *all = user;
    (void)size;
    if (all->n == MOST_OBJECTS) {
        all->all = false;
        return 1;
    }
    object *o = &all->at[all->n++];
    *o = (object){.base = i->dlpi_addr, .head = i->dlpi_phdr, .n_head = i->dlpi_phnum};
    span(o);
    const char *slash = i->dlpi_name ? strrchr(i->dlpi_name, '/') : NULL, *strings = strings_of(o);
    copy_name(o->file, slash ? slash + 1 : i->dlpi_name);
    for (const ElfW(Dyn) *d = dynamic_of(o); strings && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_SONAME)
            copy_name(o->soname, strings + d->d_un.d_val);
    return 0;
}

static int by_address(const objects *all, uintptr_t address)
{
    for (int i = 0; i < all->n; i++)
        if (holds(&all->at[i], address))
            return i;
    return -1;
}

/* The one of that name; -1: there is none, or there are several, of which nobody here knows the one that is meant. */
static int by_name(const objects *all, const char *name)
{
    int found = -1;
    for (int i = 0; *name && i < all->n; i++)
        if (!strcmp(all->at[i].file, name) || !strcmp(all->at[i].soname, name)) {
            if (found >= 0)
                return -1;
            found = i;
        }
    return found;
}

static bool is_c_library(const char *name)
{
    static const char *const parts[] = {"libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "libgcc_s.so", "libstdc++.so", "libc.musl-", "ld-linux", "ld-musl-"};
    for (size_t i = 0; i < SETT__COUNT(parts); i++)
        if (!strncmp(name, parts[i], strlen(parts[i])))
            return true;
    return false;
}

/* Those that are reached, in order, each once. */
typedef struct reached {
    int n, at[MOST_NEEDED];
} reached;

static bool reach(reached *r, int which)
{
    for (int i = 0; i < r->n; i++)
        if (r->at[i] == which)
            return true;
    if (which < 0 || r->n == MOST_NEEDED)
        return false;
    r->at[r->n++] = which;
    return true;
}

static bool reach_needed(const objects *all, reached *r, const object *o)
{
    const char *strings = strings_of(o);
    bool ok = true;
    for (const ElfW(Dyn) *d = dynamic_of(o); ok && d && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_NEEDED)
            ok = strings && (is_c_library(strings + d->d_un.d_val) || reach(r, by_name(all, strings + d->d_un.d_val)));
    return ok;
}

/* Does the first object use a symbol that the second one has? handle: the second one's. */
static bool uses(const object *o, const object *of, void *handle)
{
    const char *strings = strings_of(o);
    const ElfW(Sym) *symbol = table_of(o, DT_SYMTAB);
    const uint32_t n = strings && symbol ? imports_of(o) : 0;
    bool found = false;
    for (uint32_t i = 1; i < n && !found; i++)
        found = symbol[i].st_shndx == SHN_UNDEF && symbol[i].st_name && holds(of, (uintptr_t)dlsym(handle, strings + symbol[i].st_name));
    return found;
}

/* An object may call ready kernels without naming libsett-kernels: where that was opened for all to see, its functions are found, and it is needed as one that
 * is named. */
static bool reach_kernels(const objects *all, reached *r, int its)
{
    char name[NAME];
    snprintf(name, sizeof name, "libsett-kernels.so.%d", SETT_VERSION_MAJOR);
    void *handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    bool ok = true;
    for (int i = 0; i < all->n && handle; i++)
        if (!strcmp(all->at[i].soname, name) && uses(&all->at[its], &all->at[i], handle))
            ok &= by_name(all, name) == i && reach(r, i);
    if (handle)
        dlclose(handle);
    return ok;
}

static bool build_of(const objects *all, int first, int second, sett__digest *build)
{
    uint8_t ids[MOST_NEEDED * (ID_MOST + 1)];
    size_t len = 0;
    reached r = {0};
    bool ok = all->all && reach(&r, first) && reach(&r, second) && reach_kernels(all, &r, second);
    for (int i = 0; i < r.n && ok; i++) {
        sett__blob id;
        ok = id_of(&all->at[r.at[i]], &id);
        if (!ok)
            break;
        ids[len++] = (uint8_t)id.len;
        memcpy(ids + len, id.data, id.len);
        len += id.len;
        if (r.at[i] != first || first == second) /* what libsett needs has no part in a recording */
            ok = reach_needed(all, &r, &all->at[r.at[i]]);
    }
    if (ok)
        sett__sha256(ids, len, build);
    return ok;
}

/* ---- what cannot be unloaded ------------------------------------------------------------------------ */
static bool asks_to_stay(const object *o)
{
    for (const ElfW(Dyn) *d = dynamic_of(o); d && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_FLAGS_1)
            return d->d_un.d_val & DF_1_NODELETE;
    return false;
}

/* libsett's own object, those that ask for it, the program, which the loader names first, and all that the program needs. Of those that
 * cannot be told, as of what a preloaded object needs, the answer is no. */
static bool stays(const objects *all, int own, int its)
{
    reached r = {0};
    bool known = all->all && reach(&r, 0);
    for (int i = 0; i < r.n && known; i++)
        known = reach_needed(all, &r, &all->at[r.at[i]]);
    bool found = its == own || asks_to_stay(&all->at[its]);
    for (int i = 0; i < r.n && !found; i++)
        found = r.at[i] == its;
    return found;
}

/* ---- once for all functions of an object ------------------------------------------------------------ */
static int count_unloads(struct dl_phdr_info *i, size_t size, void *user)
{
    (void)size;
    *(uint64_t *)user = i->dlpi_subs;
    return 1;
}

uint64_t sett__unloads(void)
{
    uint64_t n = 0;
    dl_iterate_phdr(count_unloads, &n);
    return n;
}

/* Tells of the object that has this address, if the last one was another, or may lie there no more. */
static void look_at(sett__identity *last, uintptr_t address)
{
    const uint64_t unloads = sett__unloads();
    if (last->unloads == unloads && last->from <= address && address <= last->to)
        return;
    union {
        uint64_t (*function)(void);
        uintptr_t address;
    } ours = {sett__unloads};
    objects *all = malloc(sizeof *all);
    *last = (sett__identity){.from = 1, .unloads = unloads};
    if (!all)
        return;
    all->n = 0, all->all = true;
    dl_iterate_phdr(add_object, all);
    const int own = by_address(all, ours.address), its = by_address(all, address);
    if (its >= 0)
        *last = (sett__identity){.from = all->at[its].from, .to = all->at[its].to, .base = all->at[its].base, .unloads = unloads, .stays = stays(all, own, its)};
    last->known = own >= 0 && its >= 0 && build_of(all, own, its, &last->build);
    free(all);
}

bool sett__identity_of(sett__identity *last, const void *function, sett__digest *build, uint64_t *offset)
{
    const uintptr_t address = (uintptr_t)function;
    look_at(last, address);
    *build = last->build;
    *offset = address - last->base;
    return last->known;
}

uint64_t sett__code_holds(sett__identity *last, const void *function)
{
    look_at(last, (uintptr_t)function);
    return last->stays ? SETT__ALWAYS : last->unloads;
}
