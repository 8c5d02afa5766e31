// Entry points of the driver, by their names in headers and the version of CUDA: what a name means
// has changed with versions, and each meaning has a function of its own.
#define _GNU_SOURCE
#include "core.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FORMS = 4, NEWEST = 13000, NO_SUCH_NAME = 1, TOO_OLD = 2 };

// A name, and the versions in which it was given a form: name, name_v2, name_v3 ...
typedef struct { const char *name; int since[MOST_FORMS]; } Entry;

static const Entry entries[] = {
#define V1(name, ...) {#name, {__VA_ARGS__}},
#define V2 V1
#define V3 V1
#define V4 V1
#include "names_driver.h"
};

static int compare(const void *name, const void *entry) { return strcmp(name, ((const Entry *)entry)->name); }

static void *symbol(const char *name) {
	static void *_Atomic self;
	Dl_info info;
	if (self == NULL && dladdr((void *)gaugeblock_do, &info) != 0) {
		self = dlopen(info.dli_fname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	}
	return self == NULL ? NULL : dlsym(self, name);
}

void *gaugeblock_entry_of(const char *name, int version, int *status) {
	*status = NO_SUCH_NAME;
	const Entry *e = bsearch(name, entries, sizeof entries / sizeof *entries, sizeof *entries, compare);
	if (e == NULL) {
		return NULL;
	}
	int form = 0;
	while (form < MOST_FORMS && e->since[form] != 0 && e->since[form] <= version) {
		form++;
	}
	if (form == 0) {
		*status = TOO_OLD;
		return NULL;
	}
	*status = 0;
	char versioned[128];
	snprintf(versioned, sizeof versioned, form == 1 ? "%s" : "%s_v%d", name, form);
	return symbol(versioned);
}

void *gaugeblock_entry(const char *name) {
	int status;
	void *function = gaugeblock_entry_of(name, NEWEST, &status);
	return function != NULL ? function : symbol(name);
}

GAUGEBLOCK_API int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status) {
	int answer;
	(void)flags;
	if (name == NULL || function == NULL || version > NEWEST) {
		return INVALID_VALUE;
	}
	*function = gaugeblock_entry_of(name, version, &answer);
	if (status != NULL) {
		*status = answer;
		return 0;
	}
	return *function == NULL ? SYMBOL_NOT_FOUND : 0;
}

GAUGEBLOCK_API int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) {
	return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
