// A stand-in for NVIDIA's cuDNN, as far as its backend is asked of plans: what the next plan is for, and which workspace
// it needs, whoever asks has said before (standin_next). The variable STANDIN_VERSION is its version; STANDIN_REFUSES, a
// type of descriptors that cannot be finished, with which error; STANDIN_SAYS, whether it prints what it is told of the device.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JSON_OF_PLAN = 405, WORKSPACE = 402, JSON_OF_DEVICE = 2702 };

static const char *next = "";
static int64_t workspace;

void standin_next(const char *json, int64_t bytes) { next = json, workspace = bytes; }

size_t cudnnGetVersion(void) {
	const char *said = getenv("STANDIN_VERSION");
	return said == NULL ? 91900 : (size_t)atol(said);
}

int cudnnBackendCreateDescriptor(int type, void **made) {
	int *d = malloc(sizeof *d);
	*d = type, *made = d;
	return type == 999 ? 77 : 0;
}

int cudnnBackendDestroyDescriptor(void *d) {
	free(d);
	return 0;
}

int cudnnBackendFinalize(void *d) {
	const char *refuses = getenv("STANDIN_REFUSES");
	int type, error;
	return refuses != NULL && sscanf(refuses, "%d:%d", &type, &error) == 2 && type == *(int *)d ? error : 0;
}

int cudnnBackendSetAttribute(void *d, int name, int type, int64_t count, const void *value) {
	if (name == JSON_OF_DEVICE && getenv("STANDIN_SAYS") != NULL) {
		printf("of the device: %.*s\n", (int)count, (const char *)value);
	} else if (getenv("STANDIN_SAYS") != NULL) {
		printf("descriptor %d: attribute %d of type %d, %lld\n", *(int *)d, name, type, (long long)count);
	}
	return 0;
}

int cudnnBackendGetAttribute(void *d, int name, int type, int64_t wanted, int64_t *count, void *value) {
	(void)d, (void)type;
	if (count != NULL) {
		*count = 1;
	}
	if (name == JSON_OF_PLAN) {
		snprintf(value, (size_t)wanted, "%s", next);
	} else if (name == WORKSPACE && value != NULL) {
		*(int64_t *)value = workspace;
	}
	return *next == '!' ? 5 : 0;
}
