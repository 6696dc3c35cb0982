/*
 * Some tests are linked with --wrap, which reaches only what is linked into the program. In the
 * build of run.sh the library and the tool are shared objects, linked with --wrap themselves: they
 * call these, unless the program has functions of the same names.
 */
#define WRAPPED(name)                                 \
	__asm__(".text\n"                             \
		".weak __wrap_" #name "\n"            \
		".type __wrap_" #name ", @function\n" \
		"__wrap_" #name ":\n"                 \
		"jmp __real_" #name "@PLT\n")

#ifdef TOOL
WRAPPED(dat_ep_connect);
WRAPPED(dat_ep_free);
WRAPPED(dat_ep_get_status);
WRAPPED(dat_evd_dequeue);
WRAPPED(dat_get_handle_type);
WRAPPED(dat_ia_close);
WRAPPED(dat_pz_create);
WRAPPED(dat_pz_free);
WRAPPED(dat_srq_query);
WRAPPED(dat_srq_resize);
#else
WRAPPED(access);
WRAPPED(fallocate);
WRAPPED(fcntl);
WRAPPED(fstat);
WRAPPED(ftruncate);
WRAPPED(linkat);
WRAPPED(lstat);
WRAPPED(madvise);
WRAPPED(mkdir);
WRAPPED(mmap);
WRAPPED(munmap);
WRAPPED(nanosleep);
WRAPPED(open);
WRAPPED(pthread_create);
WRAPPED(pthread_mutex_lock);
WRAPPED(pthread_sigmask);
WRAPPED(readdir);
WRAPPED(sigaction);
WRAPPED(strdup);
#endif
WRAPPED(malloc);
WRAPPED(calloc);
WRAPPED(realloc);
