# --enable-passthrough: the backend on verbs hardware needs libibverbs and librdmacm (which have
# .pc files) and libev (which has none).
#   auto (default)  built if its libraries are there, else a notice
#   yes             an error if one is missing
#   no              not looked for
AC_DEFUN([DAT_PASSTHROUGH], [
  AC_ARG_ENABLE([passthrough],
    [AS_HELP_STRING([--enable-passthrough=auto|yes|no],
      [the backend on verbs hardware (needs libibverbs, librdmacm, libev)])],
    [], [enable_passthrough=auto])
  AS_CASE([$enable_passthrough], [auto|yes|no], [],
    [AC_MSG_ERROR([--enable-passthrough is auto, yes or no, not '$enable_passthrough'])])

  passthrough_missing=
  dat_passthrough=no
  AS_IF([test "$enable_passthrough" = no], [passthrough_summary='no (--disable-passthrough)'], [
    PKG_CHECK_MODULES([VERBS], [libibverbs >= 1.8 librdmacm >= 1.2], [],
      [AS_VAR_APPEND([passthrough_missing], [" libibverbs-dev librdmacm-dev"])])
    dat_saved_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $VERBS_CFLAGS"
    AC_CHECK_DECL([rdma_set_local_ece], [AS_VAR_APPEND([VERBS_CFLAGS], [" -DHAVE_ECE=1"])], [],
      [[@%:@include <rdma/rdma_cma.h>]])
    CPPFLAGS=$dat_saved_CPPFLAGS
    AC_CHECK_HEADER([ev.h], [dat_have_ev=yes], [dat_have_ev=no])
    AS_IF([test $dat_have_ev = yes],
      [AC_CHECK_LIB([ev], [ev_run], [AC_SUBST([EV_LIBS], [-lev])], [dat_have_ev=no])])
    AS_IF([test $dat_have_ev = no], [AS_VAR_APPEND([passthrough_missing], [" libev-dev"])])

    AS_IF([test -z "$passthrough_missing"],
      [passthrough_summary='yes (a module: libdat/passthrough.so)'
       dat_passthrough=yes],
      [passthrough_summary="no (Debian packages missing:$passthrough_missing)"
       AS_IF([test "$enable_passthrough" = yes],
         [AC_MSG_ERROR(
           [--enable-passthrough: libraries missing: apt-get install$passthrough_missing])],
         [AC_MSG_NOTICE(
           [passthrough is left out: on Debian, apt-get install$passthrough_missing])])])
  ])
  AM_CONDITIONAL([PASSTHROUGH], [test $dat_passthrough = yes])
])
