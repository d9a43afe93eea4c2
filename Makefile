# abrd - `make help` lists the targets.

MODE ?= release
CC ?= gcc
B := build/$(MODE)

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
        -Wformat=2 -Wundef -Wwrite-strings
ifeq ($(CI),true)
WARN += -Werror
endif

OPT_release := -O2 -g
OPT_asan := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
OPT_tsan := -O1 -g -fno-omit-frame-pointer -fsanitize=thread
OPT_cover := -O0 -g --coverage
# libxml2 alone lives in a folder of its own
XML2_CPPFLAGS := $(shell pkg-config --cflags libxml2 2>/dev/null)
CPPFLAGS += -Iinclude -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 $(XML2_CPPFLAGS)
# -ffp-contract=off: same bytes on machines with and without FMA, and golden trajectories.
# -fno-math-errno: lets sqrtf vectorise.
CFLAGS += -std=c11 $(OPT_$(MODE)) $(WARN) -ffp-contract=off -fno-math-errno -pthread
LDFLAGS += $(filter -fsanitize% --coverage,$(OPT_$(MODE))) -pthread
LDLIBS += -lmicrohttpd -ljansson -lopenblas -lsqlite3 -lcurl -lxml2 -lm

LAYERS := base nn moe rl abr lab serve cli
SRC := $(sort $(foreach l,$(LAYERS),$(wildcard src/$(l)/*.c)))
OBJ := $(SRC:%.c=$(B)/%.o)
LIBOBJ := $(filter-out $(B)/src/cli/main.o,$(OBJ))
TEST := $(sort $(foreach l,$(LAYERS),$(wildcard test/$(l)/test_*.c)))
SUPPORT := $(wildcard test/support/*.c)
TESTOBJ := $(TEST:%.c=$(B)/%.o) $(SUPPORT:%.c=$(B)/%.o)

ifneq ($(V),1)
Q := @
endif

.DELETE_ON_ERROR:
.PHONY: all check help clean

all: build/abrd ## build the daemon and its tools: build/abrd

build/abrd: $(B)/abrd
	$(Q)ln -sfn $(MODE)/abrd $@

# every object depends on the flags it was made with
$(B)/flags: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)echo '$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS)' | cmp -s - $@ || \
	    echo '$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS)' > $@
FORCE:

$(B)/test/%.o: CPPFLAGS += -Itest
$(B)/src/%.o: CFLAGS += -Wdouble-promotion
$(B)/src/nn/%.o: CFLAGS += -O3
$(B)/src/moe/%.o: CFLAGS += -O3

$(B)/%.o: %.c $(B)/flags
	$(Q)mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/libabrd.a: $(LIBOBJ)
	@echo "  AR    $@"
	$(Q)rm -f $@ && ar rcs $@ $(LIBOBJ)

$(B)/abrd: $(B)/src/cli/main.o $(B)/libabrd.a
	@echo "  LD    $@"
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# the runner's table of suites: test/abr/test_emu.c provides `Suite *suite_abr_emu(void)`
$(B)/suites.c: $(TEST) Makefile
	$(Q)mkdir -p $(@D)
	$(Q){ echo '#include "support/suites.h"'; \
	  for t in $(TEST:test/%.c=%); do \
	    echo "Suite *suite_$$(echo $$t | sed 's,/test_,_,')(void);"; done; \
	  echo 'const struct suite_entry suites[] = {'; \
	  for t in $(TEST:test/%.c=%); do n=$$(echo $$t | sed 's,/test_,/,; s,\.c$$,,'); \
	    echo "    {\"$$n\", suite_$$(echo $$n | tr / _)},"; done; \
	  echo '    {0, 0}};'; } > $@

$(B)/suites.o: $(B)/suites.c
	$(Q)$(CC) $(CPPFLAGS) -Itest -std=c11 -c -o $@ $<

$(B)/check: $(TESTOBJ) $(B)/suites.o $(B)/libabrd.a
	@echo "  LD    $@"
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lcheck -lsubunit -lrt $(LDLIBS)

check: $(B)/check $(B)/abrd ## unit tests
	$(Q)$(B)/check $(SUITE)

clean: ## remove what was built
	rm -rf build

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | column -t -s '|'

-include $(OBJ:.o=.d) $(TESTOBJ:.o=.d)
