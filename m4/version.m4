# The two version numbers of libdat.

# The release, as in `pkg-config --modversion libdat` and in the name of the tarball.
m4_define([LIBDAT_VERSION], [0.1.0])

# The ABI: libtool's current:revision:age. At each release, change the numbers of the last one:
#   only code changed                  revision + 1
#   symbols were added                 current + 1, revision = 0, age + 1
#                                      (and a new node in lib/libdat.map holds them)
#   a symbol was removed or changed    never: uDAPL 1.2 programs are linked against libdat.so.1
# current - age is the number in the SONAME and stays 1.
m4_define([LIBDAT_LT_CURRENT], [1])
m4_define([LIBDAT_LT_REVISION], [0])
m4_define([LIBDAT_LT_AGE], [0])
