# --enable-verbs: libibverbs on the emulated NIC needs the header of libibverbs, not the library.
#   auto (default)  built if the header is there, else a notice
#   yes             an error if it is missing
#   no              not looked for
AC_DEFUN([DAT_VERBS], [
  AC_ARG_ENABLE([verbs],
    [AS_HELP_STRING([--enable-verbs=auto|yes|no],
      [libibverbs on the emulated NIC (needs the header of libibverbs)])],
    [], [enable_verbs=auto])
  AS_CASE([$enable_verbs], [auto|yes|no], [],
    [AC_MSG_ERROR([--enable-verbs is auto, yes or no, not '$enable_verbs'])])

  dat_verbs=no
  AS_IF([test "$enable_verbs" = no], [verbs_summary='no (--disable-verbs)'],
    [test "$enable_shared" = no], [verbs_summary='no (it is a shared library)'], [
    AC_CHECK_DECL([ibv_query_qp_data_in_order], [dat_verbs=yes], [],
      [[#include <infiniband/verbs.h>]])
    AS_IF([test $dat_verbs = yes],
      [verbs_summary='yes (libdat/verbs/libibverbs.so.1)'],
      [verbs_summary='no (Debian package missing: libibverbs-dev >= 44)'
       AS_IF([test "$enable_verbs" = yes],
         [AC_MSG_ERROR([--enable-verbs: no header: apt-get install libibverbs-dev])],
         [AC_MSG_NOTICE(
           [the verbs front is left out: on Debian, apt-get install libibverbs-dev])])])
  ])
  dat_rdmacm=no
  AS_IF([test $dat_verbs = yes], [
    AC_CHECK_DECL([rdma_get_remote_ece], [dat_rdmacm=yes], [], [[#include <rdma/rdma_cma.h>]])
    AS_IF([test $dat_rdmacm = yes],
      [verbs_summary='yes (libdat/verbs/libibverbs.so.1 and librdmacm.so.1)'],
      [AC_MSG_NOTICE([librdmacm is left out: on Debian, apt-get install librdmacm-dev])])
  ])
  AM_CONDITIONAL([VERBS_FRONT], [test $dat_verbs = yes])
  AM_CONDITIONAL([RDMACM_FRONT], [test $dat_rdmacm = yes])
])
