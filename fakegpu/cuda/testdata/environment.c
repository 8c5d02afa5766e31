// A process that changes its environment and writes a title over the one that it was started with, before it calls CUDA.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv, char **first) {
	(void)argc;
	char *end = argv[0];
	for (int i = 0; first[i] != NULL; i++) {
		end = first[i] + strlen(first[i]);
	}
	char **copy = calloc(4096, sizeof *copy);
	for (int i = 0; first[i] != NULL && i < 4095; i++) {
		copy[i] = strdup(first[i]);
	}
	extern char **environ;
	environ = copy;
	memset(argv[0], 0, (size_t)(end - argv[0]));
	strcpy(argv[0], "t");
	setenv("GAUGEBLOCK_CUDA_MEMORY", "3GiB", 1);
	size_t unused, total = 0;
	int devices = 0;
	cudaGetDeviceCount(&devices);
	cudaMemGetInfo(&unused, &total);
	printf("%d devices of %zu\n", devices, total);
	return 0;
}
