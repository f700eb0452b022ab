# SPDX-License-Identifier: Apache-2.0
# Programs that test the libraries, and the targets that run them.
.PHONY: check check-one properties fuzz fuzz-run fuzz-tapes golden pictures fault coverage valgrind accuracy ops-table gpu-check lint bugs bugs-check mutants check-orders

# ---- what tests link and open --------------------------------------------------------
# Of an archive only what a target calls is linked: the fewer the counters, the more a second.
DIFFER = $(filter-out %/main.o,$(call obj,tests/differ)) $(B)/obj/tests/conform/conform_ref.o
$(B)/fuzzed.a: $(call obj,tests/law) $(DIFFER) $(filter-out %/fuzz.o %/fuzz_replay.o,$(call obj,tests/fuzz)) $(B)/obj/tools/size.o
# Shared objects that tests and `sett warm` open. Families take sett's functions from the program that opens them; fake-cuda.so stands in for the
# driver where there is none, by its name for LD_LIBRARY_PATH=$(B)/fake; fake-nvtx.so is a profiler's library, by the older one's name too; the
# compiler of the fault campaign on the disk cache, fake-ptx.so, knows no LLVM, and takes as long as it is told.
FAKES := $(B)/fake-cuda.so $(B)/fake-nvtx.so $(B)/fake-ptx.so
UNLOADED := $(B)/test-unloaded-2.so $(B)/test-unloaded-3.so
FAMILIES := $(B)/libfamilies.so $(B)/test-family.so $(B)/test-family-other.so $(B)/test-family-nameless.so $(B)/test-family-needing.so $(B)/test-family-calling.so
$(FAMILIES) $(UNLOADED) $(FAKES) $(B)/preload.so: private LINK = -shared $(BUILD_ID:%=-Wl,--build-id=%) $(SONAME:%=-Wl,-soname,%) -Wl,--exclude-libs,ALL
$(B)/fake-cuda.so: private SONAME = libcuda.so.1
$(B)/fake-nvtx.so: private SONAME = libnvToolsExt.so.1
$(B)/fake-ptx.so: $(B)/lib.a
$(FAKES): $(B)/fake-%.so: $(B)/obj/tests/fake/fake_%.o
$(B)/preload.so: $(B)/obj/tests/fake/preload.o
$(B)/libfamilies.so: $(B)/obj/examples/families.o $(KERNELS_OBJ)
$(B)/test-family.so $(B)/test-family-other.so $(B)/test-family-nameless.so $(B)/test-family-needing.so: $(B)/obj/tests/fixture/family.o $(KERNELS_OBJ)
$(B)/test-family-other.so: private BUILD_ID = 0x0123456789abcdef0123456789abcdef01234567
$(B)/test-family-nameless.so: private BUILD_ID = none
$(B)/test-family-needing.so: private LIBS = -Wl,--no-as-needed -L$(B) -l:test-family.so -Wl,-rpath,'$$ORIGIN'
$(B)/test-family-needing.so: | $(B)/test-family.so
$(B)/test-family-calling.so: $(B)/obj/python/tests/own_epilogue.o
$(UNLOADED): $(B)/test-unloaded-%.so: $(B)/obj/tests/fixture/unloaded-%.o
$(FAMILIES) $(UNLOADED) $(FAKES) $(B)/preload.so:
	$(link)
$(B)/obj/tests/fixture/unloaded-2.o $(B)/obj/tests/fixture/unloaded-3.o: $(B)/obj/tests/fixture/unloaded-%.o: tests/fixture/unloaded.c
	@mkdir -p $(@D)
	$(call Q,CC)$(CC) $(CPPFLAGS) $(CFLAGS) -DTIMES=$* -MMD -MP -c -o $@ $<
$(B)/obj/examples/families.o $(B)/obj/tests/fixture/family.o $(B)/obj/python/tests/own_epilogue.o: override CFLAGS += -fvisibility=default
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
$(RUNNER): tests/unit/runner.c $(patsubst %,$(B)/obj/tests/unit/test_%.o,$(SUITES)) $(TEST_SHARED) $(KERNELS_OBJ) $(B)/libsett.a | $(B)/sett $(B)/libsett-ptx.so $(filter %/test-family.so %/test-family-other.so %/test-family-nameless.so %/test-family-needing.so %/test-family-calling.so,$(FAMILIES)) $(UNLOADED) $(MODELS) $(B)/libsett-kernels.so $(B)/fake-cuda.so $(B)/fake-nvtx.so $(REMOTE)
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

# The corpus of seeded bugs (tests/bugs/README.md): each program is compiled once, and they are linked once, into build/<variant>/bugs/all,
# which runs the bug that it is called by, by its argument or by a link's name. bugs_table.h changes only when a program comes or goes.
BUGS := $(sort $(wildcard tests/bugs/*/*.c))
BUG_NAMES := $(basename $(notdir $(BUGS)))
BUG_OBJ := $(BUGS:%.c=$(B)/obj/%.o)
$(BUG_OBJ): override CFLAGS += -O0 -g0 -iquote tests/bugs -Dmain=bug_main_$(*F)
$(B)/obj/tests/bugs/all.o: override CFLAGS += -iquote $(B)/bugs
$(B)/obj/tests/bugs/all.o: $(B)/bugs/bugs_table.h
$(B)/bugs/bugs_table.h: $(BUGS)
	@mkdir -p $(@D)
	@printf 'BUG(%s)\n' $(BUG_NAMES) >$@.new; cmp -s $@.new $@ && rm $@.new || mv $@.new $@
$(B)/bugs/all: private LIBS = -Wl,--as-needed -L$(B) -lsett-kernels $(WITH_SETT)/..'
$(B)/bugs/all: $(BUG_OBJ) $(B)/obj/tests/bugs/all.o $(B)/libsett-kernels.so
	$(link)
	@cd $(@D) && for n in $(BUG_NAMES); do ln -sf all $$n; done

# ---- targets -------------------------------------------------------------------------
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

accuracy: $(B)/libsett-ptx.so $(B)/bench/accuracy ## worst error of every function, all 2^32 Float32 inputs; on a GPU write docs/ops-gpu.txt with it
	$(B)/bench/accuracy -g -s 1 -n 20000000 || { [ $$? = 2 ] && $(B)/bench/accuracy -s 1 -n 20000000; }
	$(B)/bench/accuracy -t f64 -n 20000000

ops-table: $(B)/libsett.so $(B)/bench/accuracy ## write docs/ops.md: every operation, type and error
	tests/ops_table.sh $(B) write

bugs: $(B)/bugs/all ## the seeded bugs of tests/bugs, in build/release/bugs; build/release/bugs/NAME [--twin] runs one

bugs-check: $(B)/bugs/all ## each of them with the checker, and what it misses: make bugs-check [ORDERS="lazy eager random:1"] [BUGS_ONLY="race order"]
	@BUGS="$(BUGS_ONLY)" tests/bugs.sh $(B) $(ORDERS)

# Python's sett with its own libraries: make wheel-file. Kernels take an hour or two, examples minutes.
mutants: all wheel-file ## barriers, fences, waits and arrivals of examples and kernels, each removed or moved: does the checker find it? make mutants [MUTANTS="examples/sum.c kernels/stream_k.c"] [ORDERS=lazy,random:1]
	tests/mutate/mutate.py $(B) $(MUTANTS) $(if $(ORDERS),--orders $(ORDERS)) --jobs $(or $(JOBS),$(shell nproc))

check-orders: all $(B)/bugs/all $(B)/runner ## the checker over all suites; over bugs, their twins and the examples, eager, lazy and by seeds: make check-orders [SEEDS=10]
	@tests/orders.sh $(B) $(or $(SEEDS),10)

lint: ## include rules, headers alone, exported symbols, formatting of shell
	@$(MAKE) --no-print-directory $(B)/libsett.so $(B)/libsett-ptx.so $(B)/libsett-kernels.so $(REMOTE)
	@tests/lint.sh $(B)
