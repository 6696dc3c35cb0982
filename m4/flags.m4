# Compiler and linker flags: probes, and the options that add some.

# DAT_TRY_FLAGS(FLAGS, WHAT, [IF-YES], [IF-NO])
# Checks that the compiler compiles and links a program with FLAGS. A warning about FLAGS counts as
# no.
AC_DEFUN([DAT_TRY_FLAGS], [
  AS_VAR_PUSHDEF([dat_var], [dat_cv_flags_$1])
  AC_CACHE_CHECK([whether $CC takes $2], [dat_var], [
    dat_save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -Werror $1"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
      [AS_VAR_SET([dat_var], [yes])], [AS_VAR_SET([dat_var], [no])])
    CFLAGS=$dat_save_CFLAGS
  ])
  AS_VAR_IF([dat_var], [yes], [$3], [$4])
  AS_VAR_POPDEF([dat_var])
])

# DAT_ADD_CFLAGS(VARIABLE, FLAG...)
# Appends each FLAG that the compiler accepts to VARIABLE. -Wno-x is probed as -Wx, because
# compilers accept any unknown -Wno-.
AC_DEFUN([DAT_ADD_CFLAGS], [
  m4_foreach_w([dat_flag], [$2], [
    DAT_TRY_FLAGS(m4_bpatsubst(m4_defn([dat_flag]), [^-Wno-], [-W]), m4_defn([dat_flag]),
      [AS_VAR_APPEND([$1], [" m4_defn([dat_flag])"])])
  ])
])

# DAT_WARNINGS: sets WARN_CFLAGS; --enable-werror.
# Without -Wsign-conversion: DAT_COUNT is signed and sizes are not, so almost every length would
# need a cast; -Wconversion still finds conversions that lose bits. Without -Wstring-conversion,
# with which clang objects to assert(!"reason").
AC_DEFUN([DAT_WARNINGS], [
  WARN_CFLAGS=
  DAT_ADD_CFLAGS([WARN_CFLAGS], [-Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
    -Wno-string-conversion -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings
    -Wundef -Wvla])
  AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [make every compiler warning an error])],
    [], [enable_werror=no])
  AS_CASE([$enable_werror], [yes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"], [no], [],
    [AC_MSG_ERROR([--enable-werror: expected yes or no, found '$enable_werror'])])
  AC_SUBST([WARN_CFLAGS])
])

# DAT_SANITIZERS: --enable-sanitizers=LIST; sets SANITIZER_CFLAGS (used to compile and to link) and
# SANITIZER_LDFLAGS. A finding ends the program, so that no report is overlooked.
#
# By default clang links its runtime into each program. It then comes before every preloaded
# library, and a program without a sanitizer has none for our libraries. So AddressSanitizer's
# shared runtime is used, as with gcc. -Wc: libtool drops options that it does not know. gcc defines
# __SANITIZE_ADDRESS__ itself; clang 14 does not.
AC_DEFUN([DAT_SANITIZERS], [
  AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers=LIST],
      [build with sanitizers: address,undefined or thread (comma separated)])],
    [], [enable_sanitizers=no])
  SANITIZER_CFLAGS=
  SANITIZER_LDFLAGS=
  AS_CASE([$enable_sanitizers],
    [no], [],
    [yes], [enable_sanitizers=address,undefined])
  AS_IF([test "x$enable_sanitizers" != xno], [
    for dat_name in `echo "$enable_sanitizers" | tr ',' ' '`; do
      AS_CASE([$dat_name], [address|undefined|thread|leak], [],
        [AC_MSG_ERROR(m4_normalize([--enable-sanitizers: expected address, undefined, thread or
          leak, found '$dat_name']))])
    done
    SANITIZER_CFLAGS="-fsanitize=$enable_sanitizers -fno-sanitize-recover=all"
    AS_VAR_APPEND([SANITIZER_CFLAGS], [" -fno-omit-frame-pointer"])
    dnl gcc warns that ThreadSanitizer does not model fences. Our fences order memory shared with
    dnl other processes, which it does not see anyway.
    AS_CASE([$enable_sanitizers], [*thread*], [AS_VAR_APPEND([SANITIZER_CFLAGS], [" -Wno-tsan"])])
    AC_MSG_CHECKING([whether $CC can build with $enable_sanitizers sanitizers])
    dat_save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS $SANITIZER_CFLAGS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [AC_MSG_RESULT([yes])], [
      AC_MSG_RESULT([no])
      AC_MSG_ERROR([$CC cannot build with -fsanitize=$enable_sanitizers (see config.log)])])
    CFLAGS=$dat_save_CFLAGS
    AS_CASE([$enable_sanitizers], [*address*], [DAT_CLANG_ADDRESS])
  ])
  AC_SUBST([SANITIZER_CFLAGS])
  AC_SUBST([SANITIZER_LDFLAGS])
])

AC_DEFUN([DAT_CLANG_ADDRESS], [
  AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#ifndef __clang__
#error another compiler
#endif]])], [
    AS_VAR_APPEND([SANITIZER_CFLAGS], [" -D__SANITIZE_ADDRESS__=1"])
    AS_IF([test "x$enable_fuzzing" = xno], [
      AC_MSG_CHECKING([for the shared runtime of AddressSanitizer])
      for dat_name in libclang_rt.asan-$host_cpu.so libclang_rt.asan.so none; do
        dat_runtime=`$CC -print-file-name=$dat_name`
        AS_IF([test -e "$dat_runtime"], [break])
      done
      AC_MSG_RESULT([$dat_runtime])
      AS_IF([test -e "$dat_runtime"],
        [SANITIZER_LDFLAGS="-Wc,-shared-libasan -Wl,-rpath,`dirname "$dat_runtime"`"],
        [AC_MSG_WARN([without it some tests of programs that have no sanitizer fail])])
    ])
  ])
])

# DAT_SMALL_LIMITS: --enable-small-limits; adds to CODE_CFLAGS. Ranges of handles are small, and
# counters that wrap begin shortly before that, so that every test sees a library of old age.
AC_DEFUN([DAT_SMALL_LIMITS], [
  AC_ARG_ENABLE([small-limits],
    [AS_HELP_STRING([--enable-small-limits],
      [for tests: internal limits are reached and counters wrap soon])],
    [], [enable_small_limits=no])
  AS_IF([test "x$enable_small_limits" != xno],
    [AS_VAR_APPEND([CODE_CFLAGS], [" -DLIBDAT_SMALL_LIMITS"])])
])

# DAT_COVERAGE: --enable-coverage; sets COVERAGE_CFLAGS.
# The counters of clang's coverage are in a mapped file, so that those of a process that is killed
# are kept; gcc writes them at exit.
AC_DEFUN([DAT_COVERAGE], [
  AC_ARG_ENABLE([coverage],
    [AS_HELP_STRING([--enable-coverage],
      [build for llvm-cov; needs CC=clang, best with CFLAGS='-O0 -g', as ./check --coverage does])],
    [], [enable_coverage=no])
  COVERAGE_CFLAGS=
  AS_IF([test "x$enable_coverage" != xno], [
    COVERAGE_CFLAGS='-fprofile-instr-generate -fcoverage-mapping'
    COVERAGE_CFLAGS="$COVERAGE_CFLAGS -mllvm -runtime-counter-relocation"
    DAT_TRY_FLAGS([$COVERAGE_CFLAGS -Wno-unused-command-line-argument], [coverage flags], [],
      [AC_MSG_ERROR([$CC cannot build for llvm-cov; please configure with CC=clang])])
    COVERAGE_CFLAGS="$COVERAGE_CFLAGS -Wno-unused-command-line-argument"
  ])
  AC_SUBST([COVERAGE_CFLAGS])
])

# DAT_VERSION_SCRIPT: libdat.so must export the names in lib/libdat.map and no others.
AC_DEFUN([DAT_VERSION_SCRIPT], [
  AC_CACHE_CHECK([whether the linker takes version scripts], [dat_cv_version_script], [
    echo 'TEST_1 { global: main; local: *; };' > conftest.map
    dat_save_LDFLAGS=$LDFLAGS
    LDFLAGS="$LDFLAGS -Wl,--version-script=conftest.map"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
      [dat_cv_version_script=yes], [dat_cv_version_script=no])
    LDFLAGS=$dat_save_LDFLAGS
    rm -f conftest.map
  ])
  AS_IF([test "$dat_cv_version_script" = no],
    [AC_MSG_ERROR([libdat needs a linker with --version-script (GNU ld, gold or lld)])])
])

# DAT_FUZZING: --enable-fuzzing builds the programs of tests/fuzz with clang's libFuzzer.
AC_DEFUN([DAT_FUZZING], [
  AC_ARG_ENABLE([fuzzing],
    [AS_HELP_STRING([--enable-fuzzing],
      [build the fuzzers of tests/fuzz (clang only), as ./check fuzz does])],
    [], [enable_fuzzing=no])
  FUZZ_CFLAGS=
  AS_IF([test "x$enable_fuzzing" != xno], [
    FUZZ_CFLAGS=-fsanitize=fuzzer-no-link
    DAT_TRY_FLAGS([-fsanitize=fuzzer-no-link], [-fsanitize=fuzzer-no-link], [],
      [AC_MSG_ERROR([--enable-fuzzing: $CC has no -fsanitize=fuzzer; configure with CC=clang])])
  ])
  AC_SUBST([FUZZ_CFLAGS])
  AM_CONDITIONAL([HAVE_FUZZING], [test "x$enable_fuzzing" != xno])
])
