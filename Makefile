# SPDX-License-Identifier: Apache-2.0
# One make for everything, of four files: libraries and programs here, what runs them as tests in mk/tests.mk, what leaves this folder in
# mk/dist.mk, the source that an exported kernel carries in mk/export.mk. Objects go to build/<variant>/, so that variants never mix.
#   make SAN=address,undefined ...   sanitizers    make CC=clang ...   another compiler
#   make V=1 ...                     show commands
# `make help` lists the targets.

comma := ,
VARIANT := $(if $(COVER),coverage,$(if $(SAN),san-$(subst $(comma),-,$(SAN)),release))$(if $(filter-out gcc cc,$(notdir $(CC))),-$(notdir $(CC)))
B := build/$(VARIANT)
VERSION := $(shell sed -n 's/^\#define SETT_VERSION "\(.*\)"/\1/p' include/sett/base.h)
SOVERSION := 0

LLVM_CONFIG ?= llvm-config-22
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
DATADIR ?= $(PREFIX)/share
# Where the shells look for completions of `sett`.
COMPLETIONS := bash:bash-completion/completions/sett zsh:zsh/site-functions/_sett fish:fish/vendor_completions.d/sett.fish

CFLAGS ?= $(if $(SAN),-O1 -g1,-O2 -g)
override CFLAGS += -std=c11 -pedantic -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -fPIC \
    -fvisibility=hidden -ffunction-sections -fdata-sections -ffp-contract=off -fno-strict-aliasing -Iinclude -iquote. $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all -DSETT_HOLDS)
# A build id is what the cache knows a body's code by (jit/support/identity.c), also where the compiler does not ask the linker for one.
override LDFLAGS += -Wl,--build-id $(if $(SAN),-fsanitize=$(SAN)) $(if $(COVER),--coverage -Wl$(comma)-u$(comma)__gcov_dump)
# Linked into libsett.so itself, hidden: what a serving machine needs is one file and libc.
# nettle's choice of instructions (fat-x86_64.o) names AES, CBC, GCM and SHA-1 too, 22 KiB that nothing here calls: they get
# another function's address, and their code stays out.
NETTLE_UNUSED := $(shell nm -A $$($(CC) -print-file-name=libnettle.a 2>/dev/null) 2>/dev/null | \
    sed -n 's/.*fat-x86_64.o: *U \(_nettle_\(aes\|cbc\|ghash\|sha1\)[a-z0-9_]*\)$$/\1/p')
# What is linked statically into libsett.so and into the plug-in: tools/sbom and tools/deb say of which packages it is.
STATIC_PARTS_SETT := ffi nettle
STATIC_PARTS_PTX := LLVM stdc++ z zstd
STATIC_LIBS := -Wl,-Bstatic $(STATIC_PARTS_SETT:%=-l%) -Wl,-Bdynamic
SYS_LIBS := -lm -ldl -lpthread
# Relative relocations packed are 40 KiB less, where this C library's loader reads them (glibc 2.36); what is built so asks for one that does.
RELR := $(if $(shell grep -q GLIBC_ABI_DT_RELR $$($(CC) -print-file-name=libc.so.6 2>/dev/null) 2>/dev/null </dev/null && echo yes),-Wl$(comma)-z$(comma)pack-relative-relocs)

# One short line a command unless V is set: what it does, and to what if not to the target.
Q = $(if $(V),,@echo '  $(1) $(or $(2),$@)';)
# A program or shared object, of its objects and archives; LINK stands before them and LIBS behind them, both the target's own (private).
define link
@mkdir -p $(@D)
$(call Q,LD)$(CC) $(LDFLAGS) $(LINK) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBS) $(SYS_LIBS)
endef

obj = $(patsubst %.c,$(B)/obj/%.o,$(wildcard $(addsuffix /*.c,$(1))))
# A room is a folder: what lies in one is built.
LIB_OBJ := $(call obj,lib/*)
JIT_OBJ := $(call obj,jit/* jit/sim/*)
PTX_OBJ := $(call obj,ptx)
REMOTE_OBJ := $(call obj,remote)
KERNELS_OBJ := $(call obj,kernels)
# What speaks to a remote cache is made where its libraries are, and nothing else needs it.
REMOTE := $(if $(shell pkg-config --exists libcurl hiredis openssl 2>/dev/null && echo yes),$(B)/libsett-remote.so)
SUITES := $(or $(SUITE),$(sort $(patsubst tests/unit/test_%.c,%,$(wildcard tests/unit/test_*.c))))
MODELS := $(patsubst kernels/%,$(B)/%,$(wildcard kernels/models/*.model))
EXAMPLES := $(patsubst examples/%.c,$(B)/examples/%,$(filter-out examples/families.c,$(wildcard examples/*.c)))
BENCHES := $(patsubst bench/%.c,$(B)/bench/%,$(wildcard bench/*.c))

.PHONY: all no-remote facts demo bench bench-programs setup clean help
.DELETE_ON_ERROR:
.SECONDARY:

all: $(B)/libsett.so $(B)/libsett-ptx.so $(B)/libsett-kernels.so $(or $(REMOTE),no-remote) $(B)/sett $(B)/demo $(MODELS) $(EXAMPLES) $(B)/libfamilies.so $(B)/obj/tests/fixture/host_kernel.o ## build the libraries, the sett command and the examples

# ---- objects and libraries ------------------------------------------------------
$(B)/obj/jit/%.o $(B)/obj/tools/%.o $(B)/obj/tests/%.o $(B)/obj/examples/%.o $(B)/obj/bench/%.o: override CFLAGS += -D_GNU_SOURCE
$(B)/obj/lib/%.o $(B)/obj/kernels/%.o: override CFLAGS += -D_POSIX_C_SOURCE=200809L
$(B)/obj/ptx/%.o: override CFLAGS += -D_GNU_SOURCE -isystem $(LLVM_INCLUDE)
$(B)/obj/remote/%.o: override CFLAGS += -D_GNU_SOURCE -Os
# What compiles once and is not waited for when it runs.
$(B)/obj/tests/unit/%.o: override CFLAGS += -O1
# Tests are there to see what the library does: only its own code and the kernels' are watched for undefined behaviour.
ifneq ($(findstring undefined,$(SAN)),)
$(B)/obj/tests/unit/%.o $(B)/obj/tests/conform/%.o: override CFLAGS += -fno-sanitize=undefined
endif
$(patsubst %.c,$(B)/obj/%.o,$(wildcard tests/unit/*.c tests/conform/*.c tests/rig/*.c)): override CFLAGS += -include tests/rig/assert.h
# Flags by room: the CPU engine's loops want -O3; what no launch and no recording passes through is made for size.
$(B)/obj/jit/sim/%.o $(B)/obj/bench/cpu.o: override CFLAGS += -O3
# Thousands of small functions that call nothing: -O3 makes them larger and no faster, and tables to unwind them would be a
# tenth of the library. -g has such tables all the same.
$(B)/obj/jit/sim/rows/wide_base.o $(B)/obj/jit/sim/rows/wide_avx2.o: override CFLAGS += -O2 -fno-asynchronous-unwind-tables
# Where UBSan looks for overflow, vectors of integers are added element by element: of the rows' one source that is done in the base's code,
# with which golden and tensor_core compare the best.
ifneq ($(findstring undefined,$(SAN)),)
$(B)/obj/jit/sim/rows/wide_avx2.o: override CFLAGS += -fno-sanitize=signed-integer-overflow
endif
$(B)/obj/lib/cost/%.o $(B)/obj/lib/picture/%.o $(B)/obj/lib/print/%.o $(B)/obj/jit/warm/%.o: override CFLAGS += -Os
# What reads bytes or text that others wrote is guarded: copies past an object and smashed stacks end the process.
GUARDED := $(wildcard lib/base/lex.c lib/tape/*.c lib/layout/notation.c jit/asm/*.c jit/cache/*.c jit/kernel/meta.c jit/warm/*.c remote/*.c)
ifeq ($(SAN)$(COVER)$(filter -O0,$(CFLAGS)),)
$(patsubst %.c,$(B)/obj/%.o,$(GUARDED)): override CFLAGS += -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fstack-protector-strong
endif
$(B)/obj/ptx/%.o: LLVM_INCLUDE = $(shell $(LLVM_CONFIG) --includedir)
$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call Q,CC)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/lib.a: $(LIB_OBJ)
$(B)/libsett.a: $(LIB_OBJ) $(JIT_OBJ)
$(B)/lib.a $(B)/libsett.a $(B)/fuzzed.a:
	@rm -f $@; mkdir -p $(@D)
	$(call Q,AR)ar rcs $@ $^
NOW := -shared -Wl,-z,relro,-z,now -Wl,--gc-sections
$(B)/libsett.so.$(SOVERSION): private LINK = $(NOW) $(RELR) -Wl,-soname,$(@F) -Wl,--version-script=lib/sett.map -Wl,--exclude-libs,ALL \
    $(NETTLE_UNUSED:%=-Wl$(comma)--defsym=%=sett_version) -Wl,-O1 $(if $(SAN),,-Wl$(comma)-z$(comma)defs)
$(B)/libsett.so.$(SOVERSION): private LIBS = $(STATIC_LIBS)
$(B)/libsett.so.$(SOVERSION): $(LIB_OBJ) $(JIT_OBJ) lib/sett.map
	$(link)
# Ready kernels, on the public headers alone: it takes sett's functions from the libsett.so of the program.
$(B)/libsett-kernels.so.$(SOVERSION): private LINK = $(NOW) $(RELR) -Wl,-soname,$(@F) $(if $(SAN),,-Wl$(comma)-z$(comma)defs)
$(B)/libsett-kernels.so.$(SOVERSION): private LIBS = -L$(B) -lsett -Wl,-rpath,'$$ORIGIN'
$(B)/libsett-kernels.so.$(SOVERSION): $(KERNELS_OBJ) $(B)/libsett.so
	$(link)
$(B)/libsett.so $(B)/libsett-kernels.so: %: %.$(SOVERSION)
	$(call Q,LN)ln -sf $(<F) $@
# LLVM static and hidden; one exported symbol, the other 20 MB of names stripped. The first use is the first miss. ptx/heap.c stands between
# LLVM and libc's heap. What speaks to servers links their libraries as they are installed: a machine that has none of them does without.
PTX_SO := $(B)/libsett-ptx.so $(B)/oom/libsett-ptx.so
REMOTE_SO := $(B)/libsett-remote.so $(B)/oom/libsett-remote.so
$(PTX_SO): private LINK = -shared -Wl,-soname,$(@F) -Wl,-s $(RELR) -Wl,--version-script=ptx/ptx.map -Wl,-T,ptx/options.ld -Wl,--gc-sections,--as-needed,-Bsymbolic -Wl,--exclude-libs,ALL
$(PTX_SO): private LIBS = $(foreach f,malloc calloc realloc aligned_alloc strdup free,-Wl$(comma)--wrap=$(f)) -L$$($(LLVM_CONFIG) --libdir) \
    $$($(LLVM_CONFIG) --link-static --libs nvptx passes) -static-libgcc -Wl,-Bstatic $(filter-out -lLLVM,$(STATIC_PARTS_PTX:%=-l%)) -Wl,-Bdynamic
$(REMOTE_SO): private LINK = $(NOW) -Wl,-soname,$(@F) -Wl,--version-script=remote/remote.map -Wl,--exclude-libs,ALL
$(REMOTE_SO): private LIBS = -lcurl -lhiredis -lssl -lcrypto
$(B)/libsett-ptx.so: $(PTX_OBJ) $(B)/lib.a
$(B)/libsett-remote.so: $(REMOTE_OBJ) $(B)/lib.a
$(B)/oom/libsett-ptx.so $(B)/oom/libsett-remote.so: $(B)/oom/libsett-%.so: $(B)/oom/%.o $(B)/oom/lib.a
$(PTX_SO): ptx/ptx.map ptx/options.ld
$(REMOTE_SO): remote/remote.map
$(PTX_SO) $(REMOTE_SO):
	$(link)
no-remote:
	@echo "  libsett-remote.so is not built: libcurl4-openssl-dev, libhiredis-dev or libssl-dev is not installed"

# ---- programs ---------------------------------------------------------------------
# In the build folder libsett.so lies beside it, installed in ../lib; a package with another LIBDIR sets its own.
WITH_SETT = -L$(B) -lsett -Wl,-rpath,'$$ORIGIN
$(B)/sett: private LIBS = $(WITH_SETT):$$ORIGIN/../lib'
$(B)/sett: $(call obj,tools) $(B)/obj/lib/base/words.o
$(B)/demo: $(addprefix $(B)/obj/,tools/demo/demo.o tools/file.o tools/npy.o lib/base/words.o)
$(B)/demo: private LIBS = $(WITH_SETT)'
$(filter $(B)/bench/%,$(BENCHES)): private LIBS = $(WITH_SETT)/..'
$(filter $(B)/bench/%,$(BENCHES)): $(B)/bench/%: $(B)/obj/bench/%.o
$(B)/sett $(B)/demo $(BENCHES): $(KERNELS_OBJ) $(B)/libsett.so
	$(link)
# For packages, in which no file has a search path.
$(B)/plain/sett: $(call obj,tools) $(B)/obj/lib/base/words.o
$(B)/plain/libsett-kernels.so.$(SOVERSION): private LINK = $(NOW) $(RELR) -Wl,-soname,$(@F)
$(B)/plain/sett $(B)/plain/libsett-kernels.so.$(SOVERSION): private LIBS = -L$(B) -lsett
$(B)/plain/sett $(B)/plain/libsett-kernels.so.$(SOVERSION): $(KERNELS_OBJ) $(B)/libsett.so
	$(link)
$(EXAMPLES): private LIBS = -Wl,--as-needed -L$(B) -lsett-kernels $(WITH_SETT)/..'
$(MODELS): $(B)/%: kernels/%
	$(call Q,GEN)mkdir -p $(@D) && cp $< $@
$(EXAMPLES): $(B)/examples/%: $(B)/obj/examples/%.o $(B)/libsett-kernels.so
	$(link)

# ---- targets -------------------------------------------------------------------------
setup: ## install the Debian packages that are missing
	@tools/setup

demo: setup ## the main job on real input, on a GPU or the CPU
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@tools/demo/demo.sh $(B)

bench: all bench-programs ## benchmarks; the peers need a GPU and Python with torch
	bench/run $(B)

facts: all $(B)/bench/facts ## what the CUDA driver does where its manual is silent, on a GPU, as Markdown: docs/runtime.md
	$(B)/bench/facts

bench-programs: $(BENCHES) $(B)/fake/libcuda.so.1 $(B)/fake-ptx.so

clean: ## remove build/
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile mk/*.mk | awk -F'\t' '{printf "  %-12s %s\n", $$1, $$2}'

include mk/export.mk mk/tests.mk mk/dist.mk
-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
