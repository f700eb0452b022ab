# SPDX-License-Identifier: Apache-2.0
# What leaves this folder: the wheel, an installed sett, packages, a copy that runs elsewhere.
.PHONY: wheel wheel-file wheel-check install uninstall sbom deb portable

# ---- Python: a module for the stable ABI of Python 3.10 on, and the wheel ----------------------------------------
PYTHON ?= python3
$(B)/python/_fast.abi3.so: private LINK = $(NOW)
$(B)/python/_fast.abi3.so: private LIBS = -L$(B) -lsett-kernels -lsett -Wl,-rpath,'$$ORIGIN/lib'
$(B)/python/_fast.abi3.so: $(addprefix $(B)/obj/python/,fast.o take.o graph.o product.o lend.o signals.o) $(B)/libsett.so $(B)/libsett-kernels.so
	$(link)
$(B)/obj/python/%.o: override CFLAGS += -Wno-pedantic -Ithird_party -isystem $(shell $(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null)
HAS_HEADERS = $(PYTHON) -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null
wheel: setup ## the Python package as a wheel, in build/release/python: docs/python.md; installs what is missing
	@$(HAS_HEADERS) || tools/setup python
	@$(MAKE) --no-print-directory -j$$(nproc) wheel-file

wheel-file: $(B)/libsett.so $(B)/libsett-ptx.so $(B)/libsett-kernels.so $(or $(REMOTE),no-remote) $(B)/sett $(MODELS) $(B)/python/_fast.abi3.so
	@$(PYTHON) python/wheel.py $(B) $(VERSION)

wheel-check: ## the wheel in a virtual environment with what the registry has: NumPy, apache-tvm-ffi
	@tests/python.sh $(B) registry

# ---- installed, packages, copies ------------------------------------------------------
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
	$(call install_files,$(DESTDIR)$(DATADIR)/sett/models,644 kernels/models/*.model)
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
	$(call Q,RM,$(DESTDIR)$(INCLUDEDIR)/sett $(DESTDIR)$(LIBDIR)/cmake/sett $(DESTDIR)$(DATADIR)/sett)rm -rf "$(DESTDIR)$(INCLUDEDIR)/sett" "$(DESTDIR)$(LIBDIR)/cmake/sett" "$(DESTDIR)$(DATADIR)/sett"
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

portable: all bench-programs $(RUNNER) $(B)/golden ## a stripped copy in build/portable/, to run on a machine without a compiler: make gpu-check B=build/portable
	@tools/portable $(B) $(RUNNER)
