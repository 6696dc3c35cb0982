#!/bin/sh
# tests/check/quick-libtool.sh, which stands in for libtool in the builds of ./check, runs the
# commands that libtool runs, and leaves to libtool what it does not know.
top=$(cd "$top_srcdir" && pwd) && quick=$top/tests/check/quick-libtool.sh
built=$(cd "$top_builddir" && pwd) && libtool=$built/libtool
work=$(mktemp -d) && cd "$work" || exit 99
trap 'rm -rf "$work"' EXIT
n=0

# holds TITLE COMMAND...
holds() {
	title=$1
	shift
	n=$((n + 1))
	if "$@"; then echo "ok $n - $title"; else echo "not ok $n - $title"; fi
}

# words: a command's words in order of the alphabet, without the path of an installed library
words() {
	tr ' ' '\n' | sed -e '/^$/d' -e '/^libtool:$/d' -e '/^\(compile\|link\):$/d' \
		-e '/^-pthread$/d' -e 's,/\./,/,' -e 's,^\./,,' |
		grep -vE -e '-rpath$' -e '-Wl,/nowhere' | sort
}

# same ARGS...: libtool says that it would run what the stand-in runs. The compiler is "say".
same() {
	./libtool --dry-run "$@" 2> /dev/null | grep '^libtool: .* say ' | words > expected
	sh "$quick" "$@" | words > found
	[ -s expected ] || { echo "# libtool says nothing" && return 1; }
	diff expected found > difference || { sed 's/^/# /' difference && return 1; }
}

# left ARGS...: the stand-in calls ./libtool with all its arguments.
left() {
	[ "$(cd asked && sh "$quick" "$@")" = "asked: $*" ] || { echo "# taken: $*" && return 1; }
}

mkdir asked folder bin
cp "$libtool" libtool
printf '#!/bin/sh\necho "asked: $*"\n' > asked/libtool
printf '#!/bin/sh\necho "say $*"\n' > bin/say
chmod +x libtool asked/libtool bin/say
PATH=$work/bin:$PATH
CONFIG_SHELL=/bin/sh
export PATH CONFIG_SHELL
cc=${CC:-gcc}
echo 'int six(void); int six(void) { return 6; }' > folder/six.c
echo 'int seven(void); int seven(void) { return 7; }' > seven.c
echo 'int six(void), seven(void); int main(void) { return six() * seven(); }' > main.c

echo 1..16
pic="--tag=CC --tag=disable-static"
# shellcheck disable=SC2086
{
	holds "an object is compiled by the same command" same $pic --mode=compile \
		say -O1 -MT folder/six.lo -c -o folder/six.lo folder/six.c
	rm -f folder/six.lo
	sh "$quick" $pic --mode=compile $cc -c -o folder/six.lo folder/six.c
	sh "$quick" $pic --mode=compile $cc -c -o seven.lo seven.c
	./libtool --silent $pic --mode=link $cc -o libsix.la folder/six.lo -rpath /nowhere
	./libtool --silent $pic --mode=link $cc -o folder/libseven.la seven.lo -lm
	$cc -c main.c
	sh "$quick" --tag=CC --mode=link $cc -no-install -o main main.o libsix.la folder/libseven.la
	holds "libtool links the objects, and programs find the libraries" \
		sh -c './main; [ $? = 42 ]'
	holds "a program with an archive is linked by the same command" same --tag=CC \
		--mode=link say -O1 -o main main.o folder/libseven.la -Wl,--wrap=open
	holds "a program with a shared library as well" same --tag=CC \
		--mode=link say -no-install -o main main.o libsix.la folder/libseven.la -lrt
	holds "an option for the compiler as well" same --tag=CC \
		--mode=link say -Wc,-shared-libasan -o main main.o
	holds "several options for the compiler in one are left to libtool" left --tag=CC \
		--mode=link say -Wc,-six,-seven -o main main.o
	PROGRAM_LDFLAGS='-no-pie -s' sh "$quick" --tag=CC --mode=link say -o main main.o > found
	holds "options for programs alone are passed on" \
		grep -qx 'say main.o -no-pie -s -o main' found

	sh "$quick" $pic --mode=compile sh -c 'exit 3' -c -o failed.lo failed.c
	holds "a compiler's exit status is kept" [ $? = 3 ]
	holds "what failed leaves no object" [ ! -e failed.lo ]

	cp libsix.la asked && cp folder/libseven.la asked
	holds "an object for two kinds of library is left to libtool" \
		left --tag=CC --mode=compile say -c -o six.lo six.c
	holds "an option that it does not know" \
		left $pic --mode=compile say -prefer-pic -c -o six.lo six.c
	holds "a library" left $pic --mode=link say -o libsix.la six.lo -rpath /nowhere
	holds "a program that may be installed" \
		left --tag=CC --mode=link say -o main main.o libsix.la
	holds "a program of objects for libraries" left --tag=CC --mode=link say -o main main.lo
	holds "a library that is not there" left --tag=CC --mode=link say -o main main.o none.la
	holds "another mode" left --mode=install say main /nowhere
}
