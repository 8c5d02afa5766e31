// Asks cuFFT for workspaces: lines of fft_sizes.txt come in, and the bytes go out.
#include <stddef.h>
#include <stdio.h>

int cufftCreate(int *);
int cufftXtMakePlanMany(int, int, long long *, long long *, long long, long long, int, long long *, long long, long long, int, long long, size_t *, int);

int main(void) {
	int in, out, type, plan;
	long long batch, n[3];
	cufftCreate(&plan);
	while (scanf("%d %d %d %lld %lld %lld %lld", &in, &out, &type, &batch, &n[0], &n[1], &n[2]) == 7) {
		int rank = n[1] == 0 ? 1 : n[2] == 0 ? 2 : 3;
		size_t workspace = 0;
		int status = cufftXtMakePlanMany(plan, rank, n, NULL, 1, 0, in, NULL, 1, 0, out, batch, &workspace, type);
		printf("%zu\n", status == 0 ? workspace : (size_t)-1);
	}
	return 0;
}
