# Builds libfx (the compiler and the runtime) and the command fxc, and runs every test.
#
#   make             build/fxc, build/libfx.a, build/libfx.so
#   make setup       installs what is missing, or says what to install
#   make demo        sets up, builds, shows the whole path on one spec
#   make test        sets up, builds, runs every test; `make help` lists the rest
#
# WERROR=1 makes warnings errors, V=1 shows commands, SAN=1 builds with the address and undefined-behaviour sanitizers
# into build/san.
# Nothing here needs CUDA: the runtime finds it by dlopen.

# A comma inside a function's argument.
, := ,

B       := build$(if $(SAN),/san)
# Line numbers are what the sanitizers say; all else of debug information takes a quarter of their compilation. -O1 takes half of that of -O2.
CFLAGS  ?= $(if $(SAN),-O1 -g1,-O2 -g)
PREFIX  ?= /usr/local
REF     ?= main
# Nothing that is made here touches the cache of the one who makes it. What is compiled for the emulator is the same under sanitizers.
export FX_CACHE_DIR := $(CURDIR)/build/cache
NVCC    ?= nvcc
CLANG   ?= clang

LANGUAGE := -std=c11 -D_GNU_SOURCE -fPIC -pthread $(if $(SAN),-fsanitize=address$(,)undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
# Under sanitizers warnings stay warnings: at -O1 gcc warns of texts that -O2 sees to fit.
WARN     := -Wall -Wextra -Wshadow -Wstrict-prototypes $(if $(WERROR),$(if $(SAN),,-Werror))
# What re2c and lemon write is theirs to style: unused helpers, shadowed locals. NDEBUG leaves lemon's tracing out.
WARN_GEN := $(WARN) -Wno-shadow -Wno-unused-parameter -Wno-unused-function -Wno-unused-variable -Wno-sign-compare \
            -Wno-implicit-fallthrough -DNDEBUG
LIBS     := -ldl -lpthread -lm
# For "" alone: <check.h> is the test library's, not the compiler's. The compiler does not see the runtime's headers.
INCLUDE_FRONT   := -iquote compiler -iquote $(B)/gen
INCLUDE_RUNTIME := -iquote runtime -iquote compiler -iquote $(B)/gen
INCLUDE_TEST    := $(INCLUDE_FRONT) -iquote runtime -iquote tests/unit -DFX_TEST_DIR='"$(B)/tests"'
# V=1 shows commands whole.
say = $(if $(V),,@echo '$(1) $@';)
compile = $(CC) $(LANGUAGE) $(CFLAGS) -MMD -MP -MF $@.d -MT $@

OBJCOPY ?= objcopy
PUBLIC  := compiler/fx.h compiler/plan.h compiler/dtype.h compiler/dtypes.def runtime/fx_runtime.h
TEXTS   := compiler/front/prelude.fx $(patsubst %,compiler/host_c/%.h,launcher tensor_maps ahead vendored) $(wildcard compiler/kernels/*.cuh)
TWIN    := runtime/emu/calls.h runtime/emu/ptx_emu.h
FRONT   := $(patsubst %.c,$(B)/obj/%.o,$(wildcard compiler/*.c compiler/*/*.c)) \
           $(B)/obj/gen/lex.o $(B)/obj/gen/parse.o $(B)/obj/compiler/kernels/embed.o
# The command is not part of the library: it prints.
COMMAND := $(wildcard runtime/command/*.c runtime/command/*/*.c)
RUNTIME := $(patsubst %.c,$(B)/obj/%.o,$(wildcard runtime/lib/*.c runtime/emu/*.c)) $(B)/obj/runtime/emu/switch.o $(B)/obj/runtime/emu/embed.o
MAIN    := $(COMMAND:%.c=$(B)/obj/%.o)
HOST    := $(B)/fxc $(B)/libfx.a $(B)/libfx.so $(B)/libfxc_front.a

UNIT     := $(patsubst tests/unit/%.c,$(B)/tests/%,$(wildcard tests/unit/test_*.c))
HELPERS  := $(patsubst tests/unit/%.c,$(B)/obj/tests/unit/%.o,$(filter-out tests/unit/test_%.c,$(wildcard tests/unit/*.c)))
FAKE     := $(patsubst tests/fake/%.c,$(B)/tests/%.so,$(wildcard tests/fake/*.c))
GPU      := $(patsubst tests/gpu/%.c,$(B)/tests/gpu/%,$(wildcard tests/gpu/*.c))
BENCH    := $(patsubst tests/bench/%.c,$(B)/tests/bench/%,$(wildcard tests/bench/*.c)) \
            $(patsubst tests/bench/%.cu,$(B)/tests/bench/%,$(wildcard tests/bench/*.cu))
EXAMPLES := $(patsubst examples/%.c,$(B)/examples/%,$(wildcard examples/*.c))

.PHONY: all setup demo test fuzz test-install test-unit test-san test-nvrtc test-golden test-docs test-arch test-python test-emu mutants mutants-c mutants-c-programs test-syntax test-gpu fuzz-gpu sanitize-gpu bench-gpu golden-update pages site emit-diff install wheel deb test-lsp clean help
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDEXPANSION:

all: $(HOST)

# ---- generated sources, objects ----

# Before demo and test, what the first rules need is installed first; a plain `make` installs nothing.
ready := $(if $(filter demo test,$(MAKECMDGOALS)),setup)

$(B)/gen/lex.c: compiler/front/lex.re | $(ready) $$(@D)/
	$(call say,re2c )re2c -i --no-generation-date -o $@ $<

$(B)/gen/parse.c: compiler/front/parse.y | $(ready) $$(@D)/
	$(call say,lemon)lemon -q -d$(B)/gen $(if $(LEMON_TEMPLATE),-T$(LEMON_TEMPLATE)) $<

# lemon writes it where it changed: else what reads it is not made again.
$(B)/gen/parse.h: $(B)/gen/parse.c ;

LEMON_TEMPLATE ?= $(firstword $(wildcard /usr/share/lemon/lempar.c /usr/local/share/lemon/lempar.c))

$(B)/obj/gen/%.o: $(B)/gen/%.c $(B)/gen/parse.h | $(ready) $$(@D)/
	$(call say,cc   )$(compile) $(WARN_GEN) $(INCLUDE_FRONT) -c -o $@ $<

$(B)/obj/compiler/kernels/embed.o: compiler/kernels/embed.S compiler/kernels/pieces.def $(TEXTS) | $(ready) $$(@D)/
	$(call say,as   )$(CC) -Wa,-Icompiler -Icompiler -c -o $@ $<

$(B)/obj/compiler/%.o: compiler/%.c $(B)/gen/parse.h | $(ready) $$(@D)/
	$(call say,cc   )$(compile) $(WARN) $(INCLUDE_FRONT) -c -o $@ $<

# What the disk cache knows this fx by: the version, and the texts that device code is put together from.
$(B)/gen/fx_build.h: compiler/plan.h $(TEXTS) $(TWIN) | $(ready) $$(@D)/
	@printf '#define FX_BUILD "%s %s"\n' '$(version)' "$$(cat $(sort $(TEXTS) $(TWIN)) | sha256sum | cut -c 1-64)" >$@

$(B)/obj/runtime/lib/nvrtc.o $(B)/obj/runtime/emu/compile.o: $(B)/gen/fx_build.h

$(B)/obj/runtime/emu/embed.o: runtime/emu/embed.S $(TWIN) | $(ready) $$(@D)/
	$(call say,as   )$(CC) -c -o $@ $<

$(B)/obj/runtime/emu/switch.o: runtime/emu/switch.S | $(ready) $$(@D)/
	$(call say,as   )$(CC) -c -o $@ $<

$(B)/obj/runtime/%.o: runtime/%.c | $(ready) $$(@D)/
	$(call say,cc   )$(compile) $(WARN) $(INCLUDE_RUNTIME) -c -o $@ $<

%/: ; @mkdir -p $@
.PRECIOUS: %/

# ---- libraries, the command ----

# libfx_internal.a has every object with all its names, those of the command too, for the command and the tests.
PARTS := $(filter-out %/main.o,$(MAIN))
$(B)/libfxc_front.a: $(FRONT)
$(B)/libfx_internal.a: $(FRONT) $(RUNTIME) $(PARTS)
$(B)/%.a:
	$(call say,ar   )rm -f $@ && $(AR) rcs $@ $^

# Outside the library only what the public headers declare is a name.
$(B)/gen/libfx.names: $(PUBLIC) | $(ready) $$(@D)/
	@printf '#include "fx.h"\n#include "fx_runtime.h"\n' | $(CC) $(LANGUAGE) -E -P -iquote compiler -iquote runtime - | \
	    grep -oE '\bfx_[a-z0-9_]+ *\(' | tr -d ' (' | sort -u >$@

$(B)/gen/libfx.map: $(B)/gen/libfx.names
	@{ echo '{ global:'; sed 's/$$/;/' $<; echo 'local: *; };'; } >$@

# One object, in which the library's own names are local.
$(B)/libfx.a: $(FRONT) $(RUNTIME) $(B)/gen/libfx.names
	$(call say,ar   )rm -f $@ && $(LD) -r -o $(B)/obj/libfx.o $(FRONT) $(RUNTIME) && \
	    $(OBJCOPY) --keep-global-symbols=$(B)/gen/libfx.names $(B)/obj/libfx.o && $(AR) rcs $@ $(B)/obj/libfx.o

$(B)/libfx.so: $(FRONT) $(RUNTIME) $(B)/gen/libfx.map
	$(call say,ld   )$(CC) $(LANGUAGE) $(LDFLAGS) -shared -Wl,-soname,libfx.so.0 -Wl,--version-script=$(B)/gen/libfx.map \
	    $(if $(SAN),,-Wl$(,)-z$(,)defs) -o $@ $(FRONT) $(RUNTIME) $(LIBS)
	@ln -sf libfx.so $@.0

$(B)/fxc: $(B)/obj/runtime/command/main.o $(B)/libfx_internal.a
	$(call say,ld   )$(CC) $(LANGUAGE) $(LDFLAGS) -o $@ $^ $(LIBS)

# ---- programs of the tests, embedding examples ----

# What several tests share; of the archive a program links what it needs.
$(B)/obj/tests/unit/%.o: tests/unit/%.c $(B)/gen/parse.h | $(ready) $$(@D)/
	$(call say,cc   )$(compile) $(WARN) $(INCLUDE_TEST) -c -o $@ $<

$(B)/libfx_test.a: $(HELPERS)

$(UNIT): $(B)/tests/%: tests/unit/%.c $(B)/libfx_test.a $(B)/libfx_internal.a | $(ready) $$(@D)/
	$(call say,cc   )$(compile) $(WARN) $(INCLUDE_TEST) $$(pkg-config --cflags check) -o $@ $< $(B)/libfx_test.a $(B)/libfx_internal.a $(LDFLAGS) \
	    $$(pkg-config --libs check) $(LIBS)

# Stand-ins for libraries the runtime opens by name: they answer calls as a test tells them to.
$(FAKE): $(B)/tests/%.so: tests/fake/%.c | $(ready) $$(@D)/
	$(call say,cc   )$(compile) $(WARN) $(INCLUDE_TEST) -shared -Wl,--build-id -o $@ $< $(LIBS)

$(B)/tests/gpu/%: tests/gpu/%.c $(B)/libfx_test.a $(B)/libfx_internal.a | $$(@D)/
	$(call say,cc   )$(compile) $(WARN) $(INCLUDE_TEST) -o $@ $< $(B)/libfx_test.a $(B)/libfx_internal.a $(LDFLAGS) $(LIBS)

$(B)/tests/emu/%: tests/emu/%.c $(B)/libfx_internal.a | $$(@D)/
	$(call say,cc   )$(compile) $(WARN) $(INCLUDE_TEST) -o $@ $< $(B)/libfx_internal.a $(LDFLAGS) $(LIBS)

$(B)/tests/bench/%: tests/bench/%.c $(B)/libfx_internal.a | $$(@D)/
	$(call say,cc   )$(compile) $(WARN) $(INCLUDE_TEST) -o $@ $< $(B)/libfx_internal.a $(LDFLAGS) $(LIBS)

$(B)/tests/bench/%: tests/bench/%.cu tests/bench/problems.cuh $(TEXTS) | $$(@D)/
	$(call say,nvcc )$(NVCC) -std=c++17 -O3 -gencode=arch=compute_90a,code=sm_90a -Icompiler/kernels -o $@ $< -lcublas -lcuda

# Examples see what an installed fx would give them: the public headers and the library.
$(B)/examples/%: examples/%.c $(B)/libfx.a | $(ready) $$(@D)/
	$(call say,cc   )$(compile) $(WARN) -Icompiler -Iruntime -o $@ $< $(B)/libfx.a $(LDFLAGS) $(LIBS)

# Any bytes through the parser and through the whole compiler, under clang's libFuzzer and sanitizers: objects of their own.
FUZZ_SECONDS ?= 60
FUZZ       := $(patsubst tests/fuzz/fuzz_%.c,$(B)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_FRONT := $(FRONT:$(B)/obj/%=$(B)/fuzz/obj/%)
FUZZ_FLAGS := -std=c11 -D_GNU_SOURCE -g1 -O1 -w -fsanitize=address$(,)undefined -fno-sanitize-recover=undefined $(INCLUDE_FRONT)
fuzz_compile = $(CLANG) $(FUZZ_FLAGS) -MMD -MP -MF $@.d -MT $@

$(B)/fuzz/obj/gen/%.o: $(B)/gen/%.c $(B)/gen/parse.h | $(ready) $$(@D)/
	$(call say,clang)$(fuzz_compile) -DNDEBUG -fsanitize=fuzzer-no-link -c -o $@ $<

$(B)/fuzz/obj/compiler/kernels/embed.o: compiler/kernels/embed.S compiler/kernels/pieces.def $(TEXTS) | $(ready) $$(@D)/
	$(call say,as   )$(CLANG) -Wa,-Icompiler -Icompiler -c -o $@ $<

$(B)/fuzz/obj/compiler/%.o: compiler/%.c $(B)/gen/parse.h | $(ready) $$(@D)/
	$(call say,clang)$(fuzz_compile) -fsanitize=fuzzer-no-link -c -o $@ $<

$(B)/fuzz/libfx.a: $(FUZZ_FRONT)

$(FUZZ): $(B)/fuzz/%: tests/fuzz/fuzz_%.c $(B)/fuzz/libfx.a | $(ready) $$(@D)/
	$(call say,clang)$(fuzz_compile) -fsanitize=fuzzer -o $@ $< $(B)/fuzz/libfx.a -lm

fuzz: $(FUZZ)
	@FUZZ_SECONDS='$(FUZZ_SECONDS)' sh tests/fuzz/run.sh $(B)/fuzz

# ---- what a person runs ----

setup:
	@CLANG='$(CLANG)' sh tests/setup.sh $(or $(if $(filter setup test fuzz,$(MAKECMDGOALS)),test),$(filter demo,$(MAKECMDGOALS)))

demo: setup $(B)/fxc
	@sh examples/demo.sh $(B)/fxc

# Each suite ends with its own `suite: N passed, M failed, K skipped`; run.sh adds them up into one closing line.
test: setup $(HOST) $(UNIT) $(FAKE) $(EXAMPLES) $(FUZZ) $(GPU)
	@CC='$(CC) $(LANGUAGE)' FUZZ_SECONDS='$(FUZZ_SECONDS)' FX_UNIT='$(FX_UNIT)' sh tests/run.sh $(B) unit golden cli docs arch python lsp emu fuzz

test-unit: $(UNIT) $(FAKE)
	@FX_UNIT='$(FX_UNIT)' sh tests/run.sh $(B) unit

# Under the address and undefined-behaviour sanitizers.
test-san:
	@$(MAKE) SAN=1 test-unit

# The programs that compile with NVRTC, with the oldest and the newest of 13.
NVRTC_VERSIONS ?= 13.0.48 13.5.37
NVRTC_UNIT     := test_nvrtc test_cubin test_runtime test_cache
test-nvrtc: $(NVRTC_UNIT:%=$(B)/tests/%) $(FAKE)
	@set -e; for version in $(NVRTC_VERSIONS); do \
	    echo "NVRTC $$version"; \
	    library=$$(FX_NVRTC_VERSION=$$version sh tests/setup.sh nvrtc); \
	    FX_LIBNVRTC="$$library" FX_UNIT='$(NVRTC_UNIT)' sh tests/run.sh $(B) unit; \
	done

test-golden: $(B)/fxc
	@sh tests/run.sh $(B) golden

test-docs: $(B)/fxc
	@sh tests/run.sh $(B) docs

# The Python package, on the emulator.
test-python: $(B)/libfx.so $(FAKE)
	@sh tests/run.sh $(B) python

# The language server and the layout, as an editor drives them.
test-lsp: $(B)/fxc
	@sh tests/run.sh $(B) lsp

# As users have it: a prefix, programs by pkg-config and CMake, files compiled ahead of time, the wheel.
test-install: all
	@sh tests/install.sh $(B)

test-emu: $(B)/fxc $(B)/tests/gpu/test_values $(B)/tests/gpu/test_ptx
	@sh tests/run.sh $(B) emu

# Mutants of the compiler's own C: what a run needs, in one folder, which may be carried to a machine with no more than a C compiler.
MC         := $(B)/mutants_c
MC_OBJECTS := $(patsubst $(B)/obj/%,$(MC)/obj/%,$(FRONT) $(RUNTIME) $(MAIN))
MC_UNIT    := $(patsubst $(B)/tests/%,$(MC)/%,$(UNIT))
MC_COMPILE := $(CC) $(LANGUAGE) -O1 -w -iquote $$root/runtime -iquote $$root/compiler -iquote $$root/$(B)/gen
MC_NOTES   := -O1 -g1 -finstrument-functions
MC_LINK    := $(CC) -shared -Wl,-soname,libfx_mutant.so -Wl,-Bsymbolic -Wl,--no-as-needed $(LIBS)

# What is no subject: what re2c and lemon write, and assembly.
define MC_OTHERS
$(1)/gen/%.o: $(B)/gen/%.c $(B)/gen/parse.h | $$$$(@D)/
	$$(call say,cc   )root=. && $$(MC_COMPILE) -O2 -DNDEBUG -c -o $$@ $$<

$(1)/%/embed.o: $(B)/obj/%/embed.o | $$$$(@D)/
	@cp $$< $$@

$(1)/%/switch.o: $(B)/obj/%/switch.o | $$$$(@D)/
	@cp $$< $$@
endef
$(foreach folder,$(MC)/obj $(MC)/cover/obj,$(eval $(call MC_OTHERS,$(folder))))

$(MC)/obj/%.o: %.c $(B)/gen/parse.h $(B)/gen/fx_build.h | $$(@D)/
	$(call say,cc   )root=. && $(MC_COMPILE) -O2 -MMD -MP -MF $@.d -MT $@ -c -o $@ $<

$(MC)/cover/obj/%.o: %.c $(B)/gen/parse.h $(B)/gen/fx_build.h | $$(@D)/
	$(call say,cc   )root=. && $(MC_COMPILE) $(MC_NOTES) -MMD -MP -MF $@.d -MT $@ -c -o $@ $<

# The list is what a mutant is linked with: the folder may hold objects of files that are no more.
$(MC)/lib/libfx_mutant.so: $(MC_OBJECTS) | $$(@D)/
	@printf '%s\n' $(^:$(MC)/%=%) >$(MC)/objects
	$(call say,ld   )$(MC_LINK) -o $@ $^

$(MC)/cover/entered.o: tests/mutants_c/entered.c | $$(@D)/
	$(call say,cc   )$(CC) $(LANGUAGE) -O2 $(WARN) -c -o $@ $<

$(MC)/cover/libfx_mutant.so: $(MC_OBJECTS:$(MC)/%=$(MC)/cover/%) $(MC)/cover/entered.o | $$(@D)/
	$(call say,ld   )$(MC_LINK) -o $@ $^

$(MC)/fxc: $(MC)/lib/libfx_mutant.so
	$(call say,ld   )$(CC) -o $@ -Wl,--no-as-needed $<

# The test library is linked in, and what the shared library hides.
MC_HIDDEN := $(B)/obj/compiler/kernels/embed.o $(B)/obj/runtime/emu/embed.o
$(MC)/test_%: tests/unit/test_%.c $(B)/libfx_test.a $(MC_HIDDEN) $(MC)/lib/libfx_mutant.so
	$(call say,cc   )$(CC) $(LANGUAGE) -O2 -w -s $(INCLUDE_TEST) -DFX_SHARED -o $@ $< $(B)/libfx_test.a $(MC_HIDDEN) $(MC)/lib/libfx_mutant.so \
	    -Wl,-Bstatic $$(pkg-config --libs --static check | tr ' ' '\n' | grep 'check\|subunit') -Wl,-Bdynamic $(LIBS) -lrt

$(MC)/tests/%.so: tests/fake/%.c | $$(@D)/
	$(call say,cc   )$(CC) $(LANGUAGE) -O1 -w $(INCLUDE_TEST) -shared -Wl,--build-id -o $@ $< $(LIBS)

$(MC)/run: tests/mutants_c/mutants.c | $$(@D)/
	$(call say,cc   )$(CC) $(LANGUAGE) -O1 $(WARN) -DMUTANTS_COMPILE='"$(MC_COMPILE)"' -DMUTANTS_LINK='"$(MC_LINK)"' -o $@ $<

mutants-c-programs: $(MC)/run $(MC)/fxc $(MC_UNIT) $(MC)/cover/libfx_mutant.so $(FAKE:$(B)/%=$(MC)/%)

# Not part of test either. COUNT=0 takes all; OF=check_bounds.c, or any part of a mutant's name, takes those.
mutants-c: mutants-c-programs
	@$(MC)/run --survivors tests/mutants_c/survivors.txt --jobs $$(nproc) --seed $(or $(SEED),1) --count $(or $(COUNT),400) $(if $(OF),--of '$(OF)')

# Not part of test: it takes more than half an hour. OF=driver_row, or any part of a mutant's name, KERNEL=phases, SO_FAR=FILE take pieces.
mutants: $(B)/tests/emu/mutants
	@FX_CXX=$$PWD/tests/emu/cxx.sh $(if $(FILL),EMU_FILL=1) $(B)/tests/emu/mutants --survivors tests/emu/survivors.txt --jobs $$(nproc) $(if $(OF),--of '$(OF)') $(if $(KERNEL),--kernel '$(KERNEL)') $(if $(SO_FAR),--so-far '$(SO_FAR)') tests/gpu/smallest.fx $(wildcard tests/emu/*.fx)

test-arch: $(HOST)
	@CC='$(CC) $(LANGUAGE)' sh tests/run.sh $(B) arch

golden-update: $(B)/fxc
	@sh tests/golden/run.sh $(B)/fxc --update

pages: $(B)/fxc
	@sh tests/pages.sh $(B)/fxc --update

test-gpu: $(B)/fxc $(GPU)
	@sh tests/gpu/run.sh $(B)

# Generated specs for a while, on from a seed that is printed: SEED=4711 SECONDS=600.
fuzz-gpu: $(B)/tests/gpu/test_values
	@seed='$(or $(SEED),$(shell date +%s))'; echo "seeds from $$seed on"; $< seed --seed $$seed --generated 100000 --contractions 100000 --seconds '$(or $(SECONDS),600)' --found $(B)/found

sanitize-gpu: $(B)/fxc
	@sh tests/gpu/sanitize.sh $(B)

# What no suite runs is read by the compiler at least, so that it follows the headers that it includes.
test-syntax: $(B)/gen/parse.h $(B)/gen/fx_build.h
	$(CC) $(LANGUAGE) $(WARN) $(INCLUDE_TEST) -fsyntax-only $(wildcard tests/bench/*.c tests/emu/*.c)
	$(CC) $(LANGUAGE) $(WARN) -DMUTANTS_COMPILE='""' -DMUTANTS_LINK='""' -fsyntax-only $(wildcard tests/mutants_c/*.c)
	@echo 'skipped: $(wildcard tests/bench/*.cu): nvcc takes minutes'

bench-gpu: $(B)/fxc $(BENCH)
	@set -e; for program in $(BENCH); do $$program; done

emit-diff: $(B)/fxc
	@sh tests/emit_diff.sh $(B)/fxc '$(REF)'

version = $(shell sed -n 's/.*FX_VERSION "\(.*\)".*/\1/p' compiler/plan.h)

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include/fx
	install -m 755 $(B)/fxc $(DESTDIR)$(PREFIX)/bin/fxc
	install -m 644 $(B)/libfx.a $(DESTDIR)$(PREFIX)/lib/libfx.a
	install -m 755 $(B)/libfx.so $(DESTDIR)$(PREFIX)/lib/libfx.so.0
	ln -sf libfx.so.0 $(DESTDIR)$(PREFIX)/lib/libfx.so
	install -m 644 $(PUBLIC) $(DESTDIR)$(PREFIX)/include/fx
	install -d $(DESTDIR)$(PREFIX)/lib/cmake/fx
	install -m 644 runtime/cmake/fxConfig.cmake $(DESTDIR)$(PREFIX)/lib/cmake/fx
	printf '%s\n' 'set(PACKAGE_VERSION $(version))' 'if(PACKAGE_FIND_VERSION_MAJOR EQUAL $(firstword $(subst ., ,$(version))) AND NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)' \
	    '    set(PACKAGE_VERSION_COMPATIBLE TRUE)' '    if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)' '        set(PACKAGE_VERSION_EXACT TRUE)' '    endif()' 'endif()' \
	    >$(DESTDIR)$(PREFIX)/lib/cmake/fx/fxConfigVersion.cmake
	install -d $(addprefix $(DESTDIR)$(PREFIX)/share/,man/man1 man/man3 man/man5 bash-completion/completions zsh/site-functions fish/vendor_completions.d)
	$(B)/fxc --page=fxc.1 >$(DESTDIR)$(PREFIX)/share/man/man1/fxc.1
	sh runtime/man.sh libfx.3 $(version) $(filter %.h,$(PUBLIC)) >$(DESTDIR)$(PREFIX)/share/man/man3/libfx.3
	sh runtime/man.sh fx.5 $(version) docs/language.md >$(DESTDIR)$(PREFIX)/share/man/man5/fx.5
	install -d $(addprefix $(DESTDIR)$(PREFIX)/share/vim/vimfiles/,syntax ftdetect ftplugin) $(DESTDIR)$(PREFIX)/share/fx/vscode/syntaxes
	for f in syntax ftdetect ftplugin; do install -m 644 runtime/editors/vim/$$f/fx.vim $(DESTDIR)$(PREFIX)/share/vim/vimfiles/$$f; done
	install -m 644 runtime/editors/vscode/*.json $(DESTDIR)$(PREFIX)/share/fx/vscode
	install -m 644 runtime/editors/vscode/syntaxes/*.json $(DESTDIR)$(PREFIX)/share/fx/vscode/syntaxes
	$(B)/fxc --page=bash >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/fxc
	$(B)/fxc --page=zsh >$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_fxc
	$(B)/fxc --page=fish >$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/fxc.fish
	printf '%s\n' 'prefix=$(PREFIX)' 'Name: fx' 'Description: a small tensor compiler' 'Version: $(version)' \
	    'Cflags: -I$${prefix}/include/fx' 'Libs: -L$${prefix}/lib -lfx' 'Libs.private: $(LIBS)' \
	    >$(DESTDIR)$(PREFIX)/lib/pkgconfig/fx.pc

# The pages of docs/ as a static site: build/site/index.html.
site:
	@python3 docs/site.py $(B)/site

# The Python package with the library in it: build/wheel/*.whl.
wheel: $(B)/libfx.so
	@rm -rf $(B)/wheel; python3 runtime/python/wheel.py $(B)/libfx.so $(B)/wheel

# A Debian package of what install puts below /usr: build/deb/*.deb.
deb: all
	@rm -rf $(B)/deb && $(MAKE) --no-print-directory install PREFIX=/usr DESTDIR=$(abspath $(B))/deb/fx >/dev/null && \
	    sh runtime/deb.sh $(B)/deb/fx $(version) $(B)/deb

clean:
	rm -rf build

help:
	@echo 'all setup demo test test-unit test-san test-nvrtc test-golden test-docs test-arch test-python test-lsp test-emu test-install test-syntax mutants [OF= KERNEL= SO_FAR=] mutants-c [OF= COUNT=400 SEED=1] golden-update pages site emit-diff [REF=main] fuzz [FUZZ_SECONDS=60]'
	@echo 'test-gpu fuzz-gpu sanitize-gpu bench-gpu install [PREFIX= DESTDIR=] wheel deb clean;  WERROR=1  SAN=1  V=1'

-include $(patsubst %,%.d,$(FRONT) $(RUNTIME) $(MAIN) $(HELPERS) $(UNIT) $(FAKE) $(GPU) $(BENCH) $(EXAMPLES) $(FUZZ_FRONT) $(FUZZ) $(B)/tests/emu/mutants) $(addsuffix .d,$(MC_OBJECTS) $(MC_OBJECTS:$(MC)/%=$(MC)/cover/%))
