#!/bin/sh
# What a program finds of the devices in /dev and /sys, and in the libraries of drivers that it may
# be linked with.
datsim=$top_builddir/tools/datsim/datsim

if [ ! -e "$top_builddir/verbs/.libs/libdat-files.so" ]; then
	echo "1..0 # SKIP the verbs front is not built"
	exit 0
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
n=0

# prints TITLE TEXT COMMAND...
prints() {
	n=$((n + 1))
	title=$1
	text=$2
	shift 2
	said=$("$@" 2>&1)
	if [ "$said" = "$text" ]; then
		echo "ok $n - $title"
	else
		echo "not ok $n - $title"
		echo "$said" | sed 's/^/# /'
	fi
}
run() {
	"$datsim" run --quiet -- "$@"
}

echo 1..12
prints "/dev/infiniband has the devices" "rdma_cm uverbs0 uverbs1" \
	run sh -c 'cd / && ls /dev/infiniband | tr "\n" " " | sed "s/ $//"'
prints "a device file is a character device that may be opened" "opened" \
	run sh -c 'test -c /dev/infiniband/uverbs1 && : <> /dev/infiniband/uverbs0 && echo opened'
prints "/sys/class/infiniband has the devices" "emu0 emu1" \
	run sh -c 'ls /sys/class/infiniband | tr "\n" " " | sed "s/ $//"'
prints "a port is active" "4: ACTIVE" run cat /sys/class/infiniband/emu1/ports/1/state
prints "its class says which device it is" "emu1" run cat /sys/class/infiniband_verbs/uverbs1/ibdev
prints "other files are the machine's" "$(cat /proc/sys/kernel/ostype)" \
	run cat /proc/sys/kernel/ostype
prints "without datsim there is nothing of it" "" \
	sh -c 'cat /sys/class/infiniband/emu1/ports/1/state 2> /dev/null'
prints "eval of datsim env does the same" "4: ACTIVE" \
	sh -c "eval \"\$('$datsim' env)\" && cat /sys/class/infiniband/emu0/ports/1/state"
prints "a device is a channel adapter" "1: CA" run cat /sys/class/infiniband/emu0/node_type
prints "with the profile iwarp it is an RNIC on Ethernet" "4: RNIC
Ethernet" env DATSIM_PROFILE=iwarp "$datsim" run --quiet -- \
	cat /sys/class/infiniband/emu0/node_type /sys/class/infiniband/emu0/ports/1/link_layer
cat > "$work/drivers.c" << 'END'
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
bool mlx5dv_is_supported(void *device);
int mlx5dv_query_device(void *context, void *attr);
int efadv_query_device(void *context, void *attr, unsigned size);
void *mlx4dv_create_qp(void *context, void *attr, void *more);
int main(void)
{
	bool none = !mlx4dv_create_qp(NULL, NULL, NULL) && errno == EOPNOTSUPP;

	puts(none && !mlx5dv_is_supported(NULL) && mlx5dv_query_device(NULL, NULL) == EOPNOTSUPP &&
		     efadv_query_device(NULL, NULL, 0) == EOPNOTSUPP ? "none" : "some");
	return 0;
}
END
libs=$top_builddir/verbs/.libs
if ${NM:-nm} "$datsim" | grep -qE '__(asan|tsan)_init'; then
	for i in 11 12; do
		echo "ok $i # SKIP a program without a sanitizer cannot load a library with one"
	done
	exit 0
fi
if ${CC:-cc} "$work/drivers.c" "$libs/libmlx4.so.1" "$libs/libmlx5.so.1" "$libs/libefa.so.1" \
	-o "$work/drivers" 2> "$work/error"; then
	prints "libraries of drivers know none of the devices" "none" run "$work/drivers"
else
	echo "not ok 11 - a program links with them"
	sed 's/^/# /' "$work/error"
fi

# The constructor has the loader's lock, and waits for a thread that uses files: the first use of
# each call must not need that lock.
cat > "$work/plugin.c" << 'END'
void use_files(void);
__attribute__((constructor)) static void wait_for_files(void)
{
	use_files();
}
END
cat > "$work/loader.c" << 'END'
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
static void *use(void *arg)
{
	struct stat st;

	(void)arg;
	stat("/", &st);
	lstat("/", &st);
	access("/", R_OK);
	close(open("/", O_RDONLY));
	closedir(opendir("/"));
	fclose(fopen("/dev/null", "r"));
	return NULL;
}
void use_files(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, use, NULL);
	pthread_join(thread, NULL);
}
int main(int argc, char **argv)
{
	puts(argc == 2 && dlopen(argv[1], RTLD_NOW) ? "loaded" : dlerror());
	return 0;
}
END
if ${CC:-cc} -shared -fPIC "$work/plugin.c" -o "$work/plugin.so" 2> "$work/error" &&
	${CC:-cc} -rdynamic -pthread "$work/loader.c" -ldl -o "$work/loader" 2> "$work/error"; then
	prints "a library's constructor may wait for a thread that uses files" "loaded" \
		timeout 60 "$datsim" run --quiet -- "$work/loader" "$work/plugin.so"
else
	echo "not ok 12 - a program and its library are compiled"
	sed 's/^/# /' "$work/error"
fi
