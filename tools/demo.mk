# Builds datsim alone for ./demo, without configure and without optimisation: in seconds. It is no
# release: the library, other programs and options are the business of ./configure.
#
#	make -f tools/demo.mk OUT=build/demo
OUT ?= build/demo
CC ?= cc
VERSION := $(shell sed -n 's/^m4_define(\[LIBDAT_VERSION\], \[\(.*\)\])/\1/p' m4/version.m4)
EDIT := $(shell pkg-config --cflags --libs libedit 2> /dev/null)

rooms := host lib lib/* emu emu/* fault tools/datsim tools/datsim/* tools/datsim/show/*
sources := $(sort $(wildcard $(addsuffix /*.c,$(rooms)))) host/outside/outside.c
objects := $(addprefix $(OUT)/,$(sources:.c=.o))
flags := -std=gnu11 -O0 -pthread -DHAVE_CONFIG_H -D_GNU_SOURCE= -I$(OUT) -Iinclude -iquote . \
	-DMODULE_LIBDIR='"/nonesuch"' -DDATSIM_CONFORMANCE='"$(CURDIR)/tests/scripts"'

$(OUT)/tools/datsim/datsim: $(objects)
	@$(CC) -pthread $(objects) -o $@ $(EDIT) -ldl -lrt -lm

$(OUT)/%.o: %.c $(OUT)/config.h
	@mkdir -p $(@D)
	@$(CC) $(flags) -MMD -c $< -o $@

$(OUT)/config.h: m4/version.m4
	@mkdir -p $(@D)
	@echo '#define PACKAGE_VERSION "$(VERSION)"' > $@
	@$(if $(EDIT),echo '#define HAVE_LIBEDIT 1' >> $@)

-include $(objects:.o=.d)
