// Asks what convolutions need whose tiles are shared: lines of convolution_sizes.txt come in, and bytes go out.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int64_t gaugeblock_cudnn_splits(const char *key, int64_t told);
int64_t gaugeblock_cudnn_estimate(const char *key);

int main(void) {
	char line[256];
	while (fgets(line, sizeof line, stdin) != NULL) {
		line[strcspn(line, "\n")] = 0;
		int64_t bytes = gaugeblock_cudnn_splits(line, INT64_MAX);
		printf("%lld\n", (long long)(bytes < 0 ? gaugeblock_cudnn_estimate(line) : bytes));
	}
	return 0;
}
