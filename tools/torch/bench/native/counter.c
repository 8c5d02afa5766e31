// Counts what a thread calls: functions of the fake CUDA libraries, which are built with
// -finstrument-functions for that, locks, and the C heap. It is preloaded (LD_PRELOAD).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { KINDS = 256 };

static struct {
	const void *function;
	uint64_t calls;
} functions[KINDS];
static uint64_t recursive_locks, plain_locks, mallocs, frees;
static __thread int counting __attribute__((tls_model("initial-exec")));

void gaugeblock_count_begin(void) { counting = 1; }
void gaugeblock_count_end(void) { counting = 0; }

void __cyg_profile_func_enter(void *function, void *from) {
	(void)from;
	if (!counting) {
		return;
	}
	for (int i = 0; i < KINDS; i++) {
		if (functions[i].function == NULL) {
			functions[i].function = function;
		}
		if (functions[i].function == function) {
			functions[i].calls++;
			return;
		}
	}
}

void __cyg_profile_func_exit(void *function, void *from) {
	(void)function;
	(void)from;
}

int pthread_mutex_lock(pthread_mutex_t *m) {
	static int (*lock)(pthread_mutex_t *);
	if (lock == NULL) {
		lock = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
	}
	if (counting) {
		if ((m->__data.__kind & 3) == PTHREAD_MUTEX_RECURSIVE_NP) {
			recursive_locks++;
		} else {
			plain_locks++;
		}
	}
	return lock(m);
}

extern void *__libc_malloc(size_t);
extern void __libc_free(void *);

void *malloc(size_t bytes) {
	mallocs += (uint64_t)counting;
	return __libc_malloc(bytes);
}

void free(void *p) {
	frees += (uint64_t)counting;
	__libc_free(p);
}

// gaugeblock_counts writes a line for each thing that was counted, and what came to nothing
// is left out. Functions that are not CUDA's are the libraries' own.
void gaugeblock_counts(char *text, size_t bytes) {
	size_t at = 0;
	text[0] = 0;
#define LINE(count, name) \
	if (count != 0 && at < bytes) \
		at += (size_t)snprintf(text + at, bytes - at, "%llu %s\n", (unsigned long long)count, name)
	for (int i = 0; i < KINDS && functions[i].function != NULL; i++) {
		Dl_info info;
		if (dladdr(functions[i].function, &info) != 0 && info.dli_saddr == functions[i].function &&
			strncmp(info.dli_sname, "cu", 2) == 0) {
			LINE(functions[i].calls, info.dli_sname);
		}
	}
	LINE(recursive_locks, "recursive mutex");
	LINE(plain_locks, "mutex");
	LINE(mallocs, "malloc");
	LINE(frees, "free");
}
