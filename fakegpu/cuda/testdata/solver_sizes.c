// Asks cuSOLVER for sizes: a routine with its type (S, D, C, Z; X: the function of all types, of single
// precision) and up to four numbers come in, as in solver_sizes.txt, and what it needs goes out.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int cusolverDnXgeqrf_bufferSize(void *, void *, int64_t, int64_t, int, void *, int64_t, int, void *, int, size_t *, size_t *);
int cusolverDnXpotrf_bufferSize(void *, void *, int, int64_t, int, void *, int64_t, int, size_t *, size_t *);
int cusolverDnXsyevd_bufferSize(void *, void *, int, int, int64_t, int, void *, int64_t, int, void *, int, size_t *, size_t *);
int cusolverDnXsyevBatched_bufferSize(void *, void *, int, int, int64_t, int, void *, int64_t, int, void *, int, size_t *, size_t *, int64_t);
int cusolverDnXgeev_bufferSize(void *, void *, int, int, int64_t, int, void *, int64_t, int, void *, int, void *, int64_t, int, void *, int64_t,
	int, size_t *, size_t *);

#define DECLARE(T, or, sy) \
	int cusolverDn##T##getrf_bufferSize(void *, int, int, void *, int, int *), cusolverDn##T##geqrf_bufferSize(void *, int, int, void *, int, int *); \
	int cusolverDn##T##potrf_bufferSize(void *, int, int, void *, int, int *), cusolverDn##T##sytrf_bufferSize(void *, int, void *, int, int *); \
	int cusolverDn##T##or##gqr_bufferSize(void *, int, int, int, void *, int, void *, int *); \
	int cusolverDn##T##or##mqr_bufferSize(void *, int, int, int, int, int, void *, int, void *, void *, int, int *); \
	int cusolverDn##T##sy##evd_bufferSize(void *, int, int, int, void *, int, void *, int *); \
	int cusolverDn##T##sy##evj_bufferSize(void *, int, int, int, void *, int, void *, int *, void *); \
	int cusolverDn##T##sy##evjBatched_bufferSize(void *, int, int, int, void *, int, void *, int *, void *, int); \
	int cusolverDn##T##gesvd_bufferSize(void *, int, int, int *); \
	int cusolverDn##T##gesvdj_bufferSize(void *, int, int, int, int, void *, int, void *, void *, int, void *, int, int *, void *); \
	int cusolverDn##T##gesvdjBatched_bufferSize(void *, int, int, int, void *, int, void *, void *, int, void *, int, int *, void *, int); \
	int cusolverDn##T##gesvdaStridedBatched_bufferSize(void *, int, int, int, int, void *, int, long long, void *, long long, void *, int, \
		long long, void *, int, long long, int *, int); \
	static int ask_##T(const char *r, int a, int b, int c, int d) { \
		int n = -1; \
		if (strcmp(r, "getrf") == 0) cusolverDn##T##getrf_bufferSize(0, a, b, 0, a, &n); \
		if (strcmp(r, "geqrf") == 0) cusolverDn##T##geqrf_bufferSize(0, a, b, 0, a, &n); \
		if (strcmp(r, "potrf") == 0) cusolverDn##T##potrf_bufferSize(0, a, b, 0, b, &n); \
		if (strcmp(r, "sytrf") == 0) cusolverDn##T##sytrf_bufferSize(0, a, 0, a, &n); \
		if (strcmp(r, "orgqr") == 0) cusolverDn##T##or##gqr_bufferSize(0, a, b, c, 0, a, 0, &n); \
		if (strcmp(r, "ormqr") == 0) cusolverDn##T##or##mqr_bufferSize(0, 0, 1, a, b, c, 0, a, 0, 0, a, &n); \
		if (strcmp(r, "syevd") == 0) cusolverDn##T##sy##evd_bufferSize(0, a, b, c, 0, c, 0, &n); \
		if (strcmp(r, "syevj") == 0) cusolverDn##T##sy##evj_bufferSize(0, a, b, c, 0, c, 0, &n, 0); \
		if (strcmp(r, "syevjBatched") == 0) cusolverDn##T##sy##evjBatched_bufferSize(0, a, b, c, 0, c, 0, &n, 0, d); \
		if (strcmp(r, "gesvd") == 0) cusolverDn##T##gesvd_bufferSize(0, a, b, &n); \
		if (strcmp(r, "gesvdj") == 0) cusolverDn##T##gesvdj_bufferSize(0, a, 1, b, c, 0, b, 0, 0, b, 0, c, &n, 0); \
		if (strcmp(r, "gesvdjBatched") == 0) cusolverDn##T##gesvdjBatched_bufferSize(0, 1, a, b, 0, a, 0, 0, a, 0, b, &n, 0, c); \
		if (strcmp(r, "gesvda") == 0) cusolverDn##T##gesvdaStridedBatched_bufferSize(0, 1, 1, a, b, 0, a, 0, 0, 0, 0, a, 0, 0, b, 0, &n, c); \
		return n; \
	}
DECLARE(S, or, sy)
DECLARE(D, or, sy)
DECLARE(C, un, he)
DECLARE(Z, un, he)

static long long ask_bytes(const char *r, int a, int b, int c, int d) {
	size_t device = 0, host;
	if (strcmp(r, "geqrf") == 0) cusolverDnXgeqrf_bufferSize(0, 0, a, b, 0, 0, a, 0, 0, 0, &device, &host);
	if (strcmp(r, "potrf") == 0) cusolverDnXpotrf_bufferSize(0, 0, a, b, 0, 0, b, 0, &device, &host);
	if (strcmp(r, "syevd") == 0) cusolverDnXsyevd_bufferSize(0, 0, a, b, c, 0, 0, c, 0, 0, 0, &device, &host);
	if (strcmp(r, "syevBatched") == 0) cusolverDnXsyevBatched_bufferSize(0, 0, a, b, c, 0, 0, c, 0, 0, 0, &device, &host, d);
	if (strcmp(r, "geev") == 0) cusolverDnXgeev_bufferSize(0, 0, 0, a, b, 0, 0, b, 4, 0, 0, 0, b, 0, 0, b, 0, &device, &host);
	return (long long)device;
}

int main(void) {
	char routine[32], type;
	int a, b, c, d;
	while (scanf("%31s %c %d %d %d %d", routine, &type, &a, &b, &c, &d) == 6) {
		long long n = type == 'X' ? ask_bytes(routine, a, b, c, d) :
			type == 'S' ? ask_S(routine, a, b, c, d) : type == 'D' ? ask_D(routine, a, b, c, d) :
			type == 'C' ? ask_C(routine, a, b, c, d) : ask_Z(routine, a, b, c, d);
		printf("%lld\n", n);
	}
	return 0;
}
