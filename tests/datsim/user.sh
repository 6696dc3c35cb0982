# Sourced: sets up the environment of a user in the folder $work: the tool, the library, a
# pkg-config for it, and examples/ in $work/user. $library is empty if programs cannot be linked
# with this build.
top=${top_builddir:?}
src=${top_srcdir:?}
if [ ! -x "$top/tools/datsim/datsim" ]; then
	echo "Bail out! tools/datsim/datsim is not built"
	exit 1
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
mkdir "$work/steps" "$work/bin" "$work/user"

ln -s "$top/tools/datsim/datsim" "$work/bin/datsim"
printf '#!/bin/sh\necho "-I%s/include -L%s/.libs -ldat"\n' "$src" "$top" > "$work/bin/pkg-config"
chmod +x "$work/bin/pkg-config"
cp -r "$src/examples" "$work/user/examples"
chmod -R u+w "$work/user"
PATH=$work/bin:$PATH
LD_LIBRARY_PATH=$top/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
LC_ALL=C.UTF-8
export PATH LD_LIBRARY_PATH LC_ALL

# A program built without a sanitizer cannot run with a library built with one.
library=yes
if [ ! -e "$top/.libs/libdat.so" ] ||
	${NM:-nm} -D "$top/.libs/libdat.so" | grep -qE '__(asan|tsan|ubsan|gcov)_'; then
	library=
fi
