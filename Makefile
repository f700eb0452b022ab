# SPDX-License-Identifier: Apache-2.0
# One Makefile for everything; objects go to build/<variant>/, so that variants never mix.
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
override LDFLAGS += $(if $(SAN),-fsanitize=$(SAN)) $(if $(COVER),--coverage -Wl$(comma)-u$(comma)__gcov_dump)
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
EXAMPLES := $(patsubst examples/%.c,$(B)/examples/%,$(filter-out examples/families.c,$(wildcard examples/*.c)))
BENCHES := $(patsubst bench/%.c,$(B)/bench/%,$(wildcard bench/*.c))

.PHONY: all wheel wheel-file wheel-check no-remote facts check check-one properties fuzz fuzz-run fuzz-tapes golden pictures fault coverage valgrind portable accuracy ops-table bench-programs gpu-check demo bench install uninstall sbom deb setup lint clean help
.DELETE_ON_ERROR:
.SECONDARY:

all: $(B)/libsett.so $(B)/libsett-ptx.so $(B)/libsett-kernels.so $(or $(REMOTE),no-remote) $(B)/sett $(B)/demo $(EXAMPLES) $(B)/libfamilies.so $(B)/obj/tests/fixture/host_kernel.o ## build the libraries, the sett command and the examples

# ---- objects and libraries ------------------------------------------------------
$(B)/obj/jit/%.o $(B)/obj/tools/%.o $(B)/obj/tests/%.o $(B)/obj/examples/%.o $(B)/obj/bench/%.o: override CFLAGS += -D_GNU_SOURCE
$(B)/obj/lib/%.o $(B)/obj/kernels/%.o: override CFLAGS += -D_POSIX_C_SOURCE=200809L
$(B)/obj/ptx/%.o: override CFLAGS += -D_GNU_SOURCE -isystem $(LLVM_INCLUDE)
$(B)/obj/remote/%.o: override CFLAGS += -D_GNU_SOURCE -Os
# What compiles once and is not waited for when it runs.
$(B)/obj/tests/unit/%.o: override CFLAGS += -O1
$(patsubst %.c,$(B)/obj/%.o,$(wildcard tests/unit/*.c tests/conform/*.c tests/rig/*.c)): override CFLAGS += -include tests/rig/assert.h
# Flags by room: the CPU engine's loops want -O3; what no launch and no recording passes through is made for size.
$(B)/obj/jit/sim/%.o $(B)/obj/bench/cpu.o: override CFLAGS += -O3
# Thousands of small functions that call nothing: -O3 makes them larger and no faster, and tables to unwind them would be a
# tenth of the library. -g has such tables all the same.
$(B)/obj/jit/sim/rows/wide_base.o $(B)/obj/jit/sim/rows/wide_avx2.o: override CFLAGS += -O2 -fno-asynchronous-unwind-tables
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

# What an exported kernel carries: the launch, cut out of its sources (jit/export/slice.awk), as numbers for export.c.
SLICED := jit/export/leaves.inc $(patsubst %,lib/base/%.c,error dtype text arena) $(patsubst %,lib/tape/%.c,target target_text expr map verify_sig printed) \
    $(patsubst %,jit/cuda/%.c,error context driver asserts maps kernel) $(patsubst %,jit/kernel/%.c,runtime plan maps bind refused) \
    $(patsubst %,jit/launch/%.c,launch dlpack tvm) $(patsubst %,jit/export/%.c,run run_tvm)
SLICE_PLAIN := sett__exported_launch sett__exported_prepare sett__exported_failed sett_buf_1d sett_buf_2d sett_buf_nd
$(B)/export_runtime.inc: private SLICE = -v roots='$(SLICE_PLAIN)'
$(B)/export_runtime_tvm.inc: private SLICE = -v before='$(SLICE_PLAIN)' -v roots=sett__exported_call
$(B)/export_runtime.inc $(B)/export_runtime_tvm.inc: jit/export/slice.awk $(SLICED) $(wildcard include/sett/*.h lib/tape/*.def $(foreach r,lib/base lib/tape lib/build jit/*,$(r)/*.h))
	@mkdir -p $(@D)
	$(call Q,GEN)awk $(SLICE) -v open='sett_buf_1d sett_buf_2d sett_buf_nd' -v given='sett_buf sett_stream sett_status sett_dtype' -f $< $(SLICED) >$@.c && \
	    od -An -v -tu1 $@.c | sed 's/  */,/g; s/^,//; s/$$/,/' >$@
$(B)/obj/jit/export/export.o: $(B)/export_runtime.inc $(B)/export_runtime_tvm.inc
$(B)/obj/jit/export/export.o: override CPPFLAGS += -I$(B)

$(B)/lib.a: $(LIB_OBJ)
$(B)/libsett.a: $(LIB_OBJ) $(JIT_OBJ)
# Of an archive only what a target calls is linked: the fewer the counters, the more a second.
DIFFER = $(filter-out %/main.o,$(call obj,tests/differ)) $(B)/obj/tests/conform/conform_ref.o
$(B)/fuzzed.a: $(call obj,tests/law) $(DIFFER) $(filter-out %/fuzz.o %/fuzz_replay.o,$(call obj,tests/fuzz)) $(B)/obj/tools/size.o
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
$(EXAMPLES): $(B)/examples/%: $(B)/obj/examples/%.o $(B)/libsett-kernels.so
	$(link)
# Shared objects that tests and `sett warm` open. Families take sett's functions from the program that opens them; fake-cuda.so stands in for the
# driver where there is none, by its name for LD_LIBRARY_PATH=$(B)/fake; fake-nvtx.so is a profiler's library, by the older one's name too; the
# compiler of the fault campaign on the disk cache, fake-ptx.so, knows no LLVM, and takes as long as it is told.
FAKES := $(B)/fake-cuda.so $(B)/fake-nvtx.so $(B)/fake-ptx.so
$(B)/libfamilies.so $(B)/test-family.so $(FAKES) $(B)/preload.so: private LINK = -shared $(SONAME:%=-Wl,-soname,%) -Wl,--exclude-libs,ALL
$(B)/fake-cuda.so: private SONAME = libcuda.so.1
$(B)/fake-nvtx.so: private SONAME = libnvToolsExt.so.1
$(B)/fake-ptx.so: $(B)/lib.a
$(FAKES): $(B)/fake-%.so: $(B)/obj/tests/fake/fake_%.o
$(B)/preload.so: $(B)/obj/tests/fake/preload.o
$(B)/libfamilies.so: $(B)/obj/examples/families.o $(KERNELS_OBJ)
$(B)/test-family.so: $(B)/obj/tests/fixture/family.o $(KERNELS_OBJ)
$(B)/libfamilies.so $(B)/test-family.so $(FAKES) $(B)/preload.so:
	$(link)
$(B)/obj/examples/families.o $(B)/obj/tests/fixture/family.o: override CFLAGS += -fvisibility=default
$(B)/fake/libcuda.so.1: $(B)/fake-cuda.so
	@mkdir -p $(@D)
	$(call Q,LN)ln -sf ../$(<F) $@
# What test_stale.c calls is what the headers declare.
$(B)/stale_calls.h: tests/stale_calls.sh $(wildcard include/sett/*.h)
	@mkdir -p $(@D)
	$(call Q,GEN)printf '#include <%s>\n' sett/sett.h sett/picture.h sett/cost.h | $(CC) -std=c11 -E -P -Iinclude - | sh $< >$@.new && mv $@.new $@
$(B)/obj/tests/unit/test_stale.o: $(B)/stale_calls.h
$(B)/obj/tests/unit/test_stale.o: override CPPFLAGS += -I$(B)
# The runner links the objects, so that unit tests may look inside; Check is static, so that it can be carried.
TEST_LIBS := -Wl,-Bstatic -lcheck -lsubunit -Wl,-Bdynamic -lrt
RUNNER := $(B)/runner$(if $(SUITE),-$(SUITE))
TEST_SHARED := $(call obj,$(addprefix tests/,rig conform law))
$(RUNNER): tests/unit/runner.c $(patsubst %,$(B)/obj/tests/unit/test_%.o,$(SUITES)) $(TEST_SHARED) $(KERNELS_OBJ) $(B)/libsett.a | $(B)/sett $(B)/libsett-ptx.so $(B)/test-family.so $(B)/fake-cuda.so $(B)/fake-nvtx.so $(REMOTE)
	$(call Q,LD)$(CC) $(CFLAGS) $(LDFLAGS) -rdynamic '-DSUITES=$(foreach s,$(SUITES),X($(s)))' -o $@ $< $(filter %.o,$^) $(B)/libsett.a $(TEST_LIBS) $(STATIC_LIBS) $(SYS_LIBS)
# The runner with tests that do not end: tests/limits.sh
$(B)/limits: tests/unit/runner.c $(addprefix $(B)/obj/tests/,fixture/limits.o rig/limits.o rig/cases.o)
	$(call Q,LD)$(CC) $(CFLAGS) $(LDFLAGS) '-DSUITES=X(limits)' -o $@ $^ $(TEST_LIBS) $(SYS_LIBS)
# Out of memory on purpose: what allocates is renamed in sett's own objects, so that LLVM's and libc's calls stay theirs.
OOM_SYMBOLS := $(foreach f,malloc calloc realloc free aligned_alloc strdup strndup asprintf __asprintf_chk fdopendir ffi_closure_alloc \
    pthread_create,--redefine-sym $(f)=oom_$(f))
$(B)/oom/%.a: $(B)/%.a
	@mkdir -p $(@D)
	$(call Q,OBJCOPY)objcopy $(OOM_SYMBOLS) $< $@
$(B)/oom/ptx.o: $(PTX_OBJ)
$(B)/oom/remote.o: $(REMOTE_OBJ)
$(B)/oom/ptx.o $(B)/oom/remote.o:
	@mkdir -p $(@D)
	$(call Q,LD)ld -r -o $@ $^
	@objcopy $(OOM_SYMBOLS) $(foreach f,malloc calloc realloc aligned_alloc,--redefine-sym __real_$(f)=oom_llvm_$(f)) $@
# Programs that have the library in them. -rdynamic: what they open takes its functions from them.
STATIC := $(B)/oom/oom $(B)/fault $(B)/golden $(B)/fuzz-replay $(B)/fuzz-tapes
$(STATIC): private LINK = -rdynamic
$(STATIC): private LIBS = $(STATIC_LIBS)
$(B)/oom/oom: $(call obj,tests/oom) $(addprefix $(B)/obj/tests/rig/,folder.o limits.o) $(KERNELS_OBJ) $(B)/oom/libsett.a | $(B)/oom/libsett-ptx.so $(REMOTE:$(B)/%=$(B)/oom/%)
$(B)/fault: $(call obj,tests/fault) $(addprefix $(B)/obj/tests/,rig/rig.o rig/limits.o rig/folder.o rig/sample.o fuzz/fuzz_cache.o) $(B)/libsett.a | $(B)/fake-ptx.so $(B)/preload.so $(B)/sett
$(B)/golden: $(call obj,tests/golden) $(addprefix $(B)/obj/tests/,rig/plain.o conform/conform_ref.o rig/mma_truth.o) $(B)/libsett.a
$(B)/fuzz-replay: $(B)/obj/tests/fuzz/fuzz_replay.o $(B)/fuzzed.a $(B)/libsett.a
$(B)/fuzz-tapes: $(B)/obj/tests/differ/main.o $(DIFFER) $(B)/libsett.a
$(STATIC):
	$(link)
$(B)/fuzz-%: tests/fuzz/fuzz.c $(B)/fuzzed.a $(B)/libsett.a
	$(call Q,LD)$(CC) $(CFLAGS) -DFUZZ=fuzz_$* $(if $(filter tape_bytes,$*),-DFUZZ_TAPE) $(LDFLAGS) -fsanitize=fuzzer -Wl,--gc-sections,-z,start-stop-gc -o $@ $^ $(STATIC_LIBS) $(SYS_LIBS)
# make COVER=1: the readers of untrusted files, and nothing else, are compiled for branch coverage.
COVERED := $(patsubst %,jit/cache/%.c,entry read pack elf)
ifdef COVER
$(COVERED:%.c=$(B)/obj/%.o): override CFLAGS += -O0 --coverage
endif

# ---- Python: a module for the stable ABI of Python 3.10 on, and the wheel ----------------------------------------
PYTHON ?= python3
$(B)/python/_fast.abi3.so: private LINK = $(NOW)
$(B)/python/_fast.abi3.so: private LIBS = -L$(B) -lsett -Wl,-rpath,'$$ORIGIN/lib'
$(B)/python/_fast.abi3.so: $(addprefix $(B)/obj/python/,fast.o take.o graph.o lend.o signals.o) $(B)/libsett.so
	$(link)
$(B)/obj/python/%.o: override CFLAGS += -Wno-pedantic -Ithird_party -isystem $(shell $(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null)
HAS_HEADERS = $(PYTHON) -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null
wheel: setup ## the Python package as a wheel, in build/release/python: docs/python.md; installs what is missing
	@$(HAS_HEADERS) || tools/setup python
	@$(MAKE) --no-print-directory -j$$(nproc) wheel-file

wheel-file: $(B)/libsett.so $(B)/libsett-ptx.so $(B)/libsett-kernels.so $(or $(REMOTE),no-remote) $(B)/sett $(B)/python/_fast.abi3.so
	@$(PYTHON) python/wheel.py $(B) $(VERSION)

wheel-check: ## the wheel in a virtual environment with what the registry has: NumPy, apache-tvm-ffi
	@tests/python.sh $(B) registry

# ---- targets -------------------------------------------------------------------------
setup: ## install the Debian packages that are missing
	@tools/setup

check: setup ## everything that is tested without a GPU; CHECK_ONLY="unit lint": some of its parts, by the names it prints
	@tests/check.sh

check-one: $(RUNNER) ## one suite: make check-one SUITE=tape
	$(RUNNER)

# A failing case says what to set to have it again.
properties: $(RUNNER) ## laws of the layout algebra on random cases: make properties [CASES=10000 of each] [SEED=n] [LAW=name]
	SETT_TEST_CASES=$(or $(CASES),10000) SETT_TEST_SEED=$(or $(SEED),$(shell date +%s)) SETT_TEST_LAW=$(LAW) $(RUNNER) properties

# What is new stays in build/fuzz/NAME; what fails too, as a file to be run by fuzz-replay NAME=FILE.
fuzz: ## libFuzzer, by clang: make fuzz FUZZ=layout_text|laws|tape_bytes|tape_text|cache_entry|meta|cubin|pack|manifest|environment|tape_runs [SECONDS=60]
	@$(MAKE) --no-print-directory CC=$(or $(FUZZ_CC),clang) SAN=fuzzer-no-link,address,undefined fuzz-run

fuzz-run: $(B)/fuzz-$(FUZZ)
	@mkdir -p build/fuzz/$(FUZZ)
	$< -max_total_time=$(or $(SECONDS),60) -timeout=20 -rss_limit_mb=2048 -artifact_prefix=build/fuzz/$(FUZZ)- build/fuzz/$(FUZZ) tests/fuzz/$(FUZZ)

# What differs is printed as the smallest tape like it, with its seed.
fuzz-tapes: $(B)/fuzz-tapes ## random tapes on the CPU engine in each of its ways, against a model: make fuzz-tapes [CASES=1000000] [SEED=n]
	$< -n $(or $(CASES),1000000) -s $(or $(SEED),$(shell date +%s)) -j $$(nproc)

# build/release/golden -a X/divergent.tsv >X/divergent.answers writes down what we give where other systems disagree.
golden: $(B)/golden ## results of other systems: make golden [GOLDEN=folder]
	$(B)/golden $(or $(GOLDEN),tests/golden)

# F15 takes the kernels of all that is built; T is of the thread sanitizer: make SAN=thread fault FAULT=T.
fault: $(B)/fault $(if $(SAN),,all bench-programs $(B)/golden $(RUNNER)) ## the fault campaign on the disk cache, at its full numbers: an hour or so; make fault FAULT="F3 F4"
	$(B)/fault --full $(FAULT)

coverage: ## lines and branches of what reads cache entries, packs and cubins, by gcov
	@$(MAKE) --no-print-directory COVER=1 $(addprefix build/coverage/,runner fuzz-replay fault oom/oom libsett-ptx.so)
	@tests/coverage.sh build/coverage $(COVERED)

pictures: all ## draw docs/pictures/ anew; then look at them
	@tests/console.sh $(B) update

gpu-check: ## the suites and examples on a GPU, the examples also under compute-sanitizer; says why when there is none
	@tests/gpu_check.sh

valgrind: $(RUNNER) ## every suite under valgrind, or make valgrind SUITE=x
	@tests/valgrind.sh $(RUNNER) $(SUITES)

demo: setup ## the main job on real input, on a GPU or the CPU
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@tools/demo/demo.sh $(B)

bench: all bench-programs ## benchmarks; the peers need a GPU and Python with torch
	bench/run $(B)

portable: all bench-programs $(RUNNER) $(B)/golden ## a stripped copy in build/portable/, to run on a machine without a compiler: make gpu-check B=build/portable
	@tools/portable $(B) $(RUNNER)

accuracy: $(B)/libsett-ptx.so $(B)/bench/accuracy ## worst error of every function, all 2^32 Float32 inputs; on a GPU write docs/ops-gpu.txt with it
	$(B)/bench/accuracy -g -s 1 -n 20000000 || { [ $$? = 2 ] && $(B)/bench/accuracy -s 1 -n 20000000; }
	$(B)/bench/accuracy -t f64 -n 20000000

ops-table: $(B)/libsett.so $(B)/bench/accuracy ## write docs/ops.md: every operation, type and error
	tests/ops_table.sh $(B) write

facts: all $(B)/bench/facts ## what the CUDA driver does where its manual is silent, on a GPU, as Markdown: docs/runtime.md
	$(B)/bench/facts

bench-programs: $(BENCHES) $(B)/fake/libcuda.so.1 $(B)/fake-ptx.so

lint: ## include rules, headers alone, exported symbols, formatting of shell
	@$(MAKE) --no-print-directory $(B)/libsett.so $(B)/libsett-ptx.so $(B)/libsett-kernels.so $(REMOTE)
	@tests/lint.sh $(B)

# $(1): the folder; $(2): mode and files.
define install_files
$(call Q,INSTALL,$(1)$(if $(word 3,$(2)),,/$(notdir $(lastword $(2)))))install -d "$(1)" && install -m $(2) "$(1)/"
endef
install: all $(B)/libsett.a ## libraries, headers, the command, man pages: sudo make install [PREFIX=/usr/local] [DESTDIR=]
	$(call install_files,$(DESTDIR)$(INCLUDEDIR)/sett,644 include/sett/*.h)
	$(call install_files,$(DESTDIR)$(INCLUDEDIR)/sett/kernels,644 include/sett/kernels/*.h)
	$(call install_files,$(DESTDIR)$(LIBDIR),755 $(B)/libsett.so.$(SOVERSION) $(B)/libsett-kernels.so.$(SOVERSION) $(B)/libsett-ptx.so $(REMOTE))
	$(call install_files,$(DESTDIR)$(LIBDIR),644 $(B)/libsett.a)
	$(call Q,LN,$(DESTDIR)$(LIBDIR)/libsett.so libsett-kernels.so)for l in libsett libsett-kernels; do ln -sf $$l.so.$(SOVERSION) "$(DESTDIR)$(LIBDIR)/$$l.so"; done
	$(call install_files,$(DESTDIR)$(BINDIR),755 $(B)/sett)
	$(call install_files,$(DESTDIR)$(MANDIR)/man1,644 docs/sett.1)
	$(call install_files,$(DESTDIR)$(MANDIR)/man5,644 docs/sett-cache.5 docs/sett-manifest.5)
	$(call Q,GEN,$(DESTDIR)$(LIBDIR)/pkgconfig)install -d "$(DESTDIR)$(LIBDIR)/pkgconfig" && \
	    sed -e 's|@prefix@|$(PREFIX)|;s|@libdir@|$(LIBDIR)|;s|@includedir@|$(INCLUDEDIR)|;s|@version@|$(VERSION)|' lib/sett.pc.in \
	    > "$(DESTDIR)$(LIBDIR)/pkgconfig/sett.pc" && \
	    sed -e 's|@libdir@|$(LIBDIR)|;s|@version@|$(VERSION)|' kernels/sett-kernels.pc.in > "$(DESTDIR)$(LIBDIR)/pkgconfig/sett-kernels.pc"
	$(call Q,GEN,$(DESTDIR)$(LIBDIR)/cmake/sett)install -d "$(DESTDIR)$(LIBDIR)/cmake/sett" && \
	    for f in sett-config sett-config-version; do sed -e 's|@version@|$(VERSION)|;s|@soversion@|$(SOVERSION)|g' \
	    -e "s|@include_from_lib@|$$(realpath -m --relative-to='$(LIBDIR)' '$(INCLUDEDIR)')|" \
	    -e "s|@private_libs@|$$(sed -n 's/^Libs.private: //p' lib/sett.pc.in | sed 's/-l//g; s/ /;/g')|" \
	    lib/$$f.cmake.in > "$(DESTDIR)$(LIBDIR)/cmake/sett/$$f.cmake" || exit; done
	$(call Q,GEN,$(DESTDIR)$(DATADIR): completions for bash zsh fish)for c in $(COMPLETIONS); do \
	    install -d "$$(dirname "$(DESTDIR)$(DATADIR)/$${c#*:}")" && \
	    LD_LIBRARY_PATH=$(B) $(B)/sett completion $${c%:*} > "$(DESTDIR)$(DATADIR)/$${c#*:}" || exit; done
	@[ -n "$(DESTDIR)" ] || { PATH="$$PATH:/usr/sbin:/sbin"; [ "$$(id -u)" != 0 ] || ldconfig; \
	    echo 'sett $(VERSION) is installed: $(BINDIR)/sett doctor says what it finds here, and a program is built with pkg-config --cflags --libs sett'; \
	    ldconfig -p 2>/dev/null | grep -qF '$(LIBDIR)/libsett.so' || \
	    echo "The loader does not search $(LIBDIR): run ldconfig as root, or set LD_LIBRARY_PATH=$(LIBDIR)"; \
    ! command -v pkg-config >/dev/null || [ "$$(pkg-config --variable=libdir sett 2>/dev/null)" = '$(LIBDIR)' ] || \
    echo "pkg-config does not search $(LIBDIR)/pkgconfig: set PKG_CONFIG_PATH=$(LIBDIR)/pkgconfig"; }

uninstall: ## what install put there
	$(call Q,RM,$(DESTDIR)$(INCLUDEDIR)/sett $(DESTDIR)$(LIBDIR)/cmake/sett)rm -rf "$(DESTDIR)$(INCLUDEDIR)/sett" "$(DESTDIR)$(LIBDIR)/cmake/sett"
	$(call Q,RM,the files of sett in $(DESTDIR)$(LIBDIR) $(DESTDIR)$(BINDIR) $(DESTDIR)$(MANDIR) $(DESTDIR)$(DATADIR))rm -f "$(DESTDIR)$(LIBDIR)/libsett.a" "$(DESTDIR)$(LIBDIR)/libsett.so" "$(DESTDIR)$(LIBDIR)/libsett.so.$(SOVERSION)" "$(DESTDIR)$(LIBDIR)/libsett-ptx.so" \
	    "$(DESTDIR)$(LIBDIR)/libsett-kernels.so" "$(DESTDIR)$(LIBDIR)/libsett-kernels.so.$(SOVERSION)" \
	    "$(DESTDIR)$(LIBDIR)/libsett-remote.so" "$(DESTDIR)$(LIBDIR)/pkgconfig/sett.pc" "$(DESTDIR)$(LIBDIR)/pkgconfig/sett-kernels.pc" "$(DESTDIR)$(BINDIR)/sett" "$(DESTDIR)$(MANDIR)/man1/sett.1" \
	    "$(DESTDIR)$(MANDIR)/man5/sett-cache.5" "$(DESTDIR)$(MANDIR)/man5/sett-manifest.5" $(foreach c,$(COMPLETIONS),"$(DESTDIR)$(DATADIR)/$(lastword $(subst :, ,$(c)))")

# Of what lies in it: which static parts, of which version.
comma_list = $(subst $() ,$(comma),$(strip $(1)))
$(B)/sett.spdx.json: tools/sbom $(B)/libsett.so $(B)/libsett-ptx.so
	$(call Q,GEN)SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || date +%s)} CC='$(CC)' LLVM_CONFIG='$(LLVM_CONFIG)' tools/sbom $(B) $(VERSION) \
	    libsett.so.$(SOVERSION)=$(call comma_list,$(STATIC_PARTS_SETT)) libsett-ptx.so=$(call comma_list,$(STATIC_PARTS_PTX)) >$@

sbom: $(B)/sett.spdx.json ## what is linked statically, as SPDX: build/release/sett.spdx.json

deb: all $(B)/libsett.a $(B)/plain/sett $(B)/plain/libsett-kernels.so.$(SOVERSION) $(B)/sett.spdx.json ## Debian packages, in build/deb
	@MAKE='$(MAKE)' tools/deb $(B) $(VERSION) $(or $(TO),build/deb)

clean: ## remove build/
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | awk -F'\t' '{printf "  %-12s %s\n", $$1, $$2}'

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
