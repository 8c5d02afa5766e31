// Asks the fake cuDNN for workspaces of plans: lines come in, the workspace that NVIDIA's library tells and what the plan
// is for, and the bytes go out; at the end how many plans were asked for theirs. Argument: the stand-in of that library.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEURISTIC = 4, PLAN = 5, ENGINE = 2, INT64 = 3, DESCRIPTOR = 15, WORKSPACE = 402 };

int cudnnBackendCreateDescriptor(int, void **), cudnnBackendDestroyDescriptor(void *), cudnnBackendFinalize(void *);
int cudnnBackendSetAttribute(void *, int, int, int64_t, const void *), cudnnBackendGetAttribute(void *, int, int, int64_t, int64_t *, void *);
size_t cudnnGetVersion(void);
void gaugeblock_cudnn_plans(uint64_t *);

int main(int arguments, char **argument) {
	static char line[1 << 16];
	void *standin = dlopen(argument[1], RTLD_NOW), *plan = NULL, *other = NULL;
	void (*next)(const char *, int64_t) = arguments > 1 && standin != NULL ? (void (*)(const char *, int64_t))dlsym(standin, "standin_next") : NULL;
	int64_t count = 0, bytes;
	uint64_t plans[5];
	if (next == NULL) {
		printf("there is no stand-in\n");
		return 1;
	}
	printf("version %zu\n", cudnnGetVersion());
	static const int types[] = {HEURISTIC, ENGINE, PLAN, 7};
	for (int i = 0; i < 4; i++) {
		printf("made %d", cudnnBackendCreateDescriptor(types[i], &other));
		void *list[2] = {other, NULL};
		printf(", set %d", cudnnBackendSetAttribute(other, 1, DESCRIPTOR, 2, list));
		printf(" %d %d", cudnnBackendSetAttribute(other, 1, DESCRIPTOR, 1025, list), cudnnBackendSetAttribute(other, 1, DESCRIPTOR, -1, list));
		printf(" %d", cudnnBackendSetAttribute(other, 1, 0, 2, list));
		printf(", got %d %d", cudnnBackendGetAttribute(other, 1, DESCRIPTOR, 2, &count, list), cudnnBackendGetAttribute(other, 1, DESCRIPTOR, 1025, &count, list));
		printf(", finished %d", cudnnBackendFinalize(other));
		printf(", destroyed %d\n", cudnnBackendDestroyDescriptor(other));
	}
	printf("made %d\n", cudnnBackendCreateDescriptor(999, &other));
	cudnnBackendCreateDescriptor(PLAN, &plan);
	printf("finished %d\n", cudnnBackendFinalize(plan));
	while (fgets(line, sizeof line, stdin) != NULL) {
		char *json = strchr(line, ' ');
		line[strcspn(line, "\n")] = 0;
		*json = 0;
		next(json + 1, atoll(line));
		bytes = -1;
		int r = cudnnBackendGetAttribute(plan, WORKSPACE, INT64, 1, &count, &bytes);
		printf("%d %lld\n", r, (long long)bytes);
	}
	printf("nothing asked: %d %d\n", cudnnBackendGetAttribute(plan, WORKSPACE, INT64, 0, &count, &bytes), cudnnBackendGetAttribute(plan, WORKSPACE, INT64, 1, &count, NULL));
	gaugeblock_cudnn_plans(plans);
	printf("%llu asked, %llu without the library, %llu not compiled, %llu estimated, %llu bytes at most\n", (unsigned long long)plans[0], (unsigned long long)plans[1],
		(unsigned long long)plans[2], (unsigned long long)plans[3], (unsigned long long)plans[4]);
	return 0;
}
