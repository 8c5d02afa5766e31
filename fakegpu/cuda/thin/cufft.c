#include "thin.h"

// A plan is a number, and has a stream.
enum { MAX_PLANS = 65536, INVALID_PLAN = 1, INVALID_SIZE = 4 };
static void *streams[MAX_PLANS];
static int plans;

API cufftCreate(int *plan) {
	NEEDS(plan)
	int n = __atomic_add_fetch(&plans, 1, __ATOMIC_RELAXED);
	*plan = n % MAX_PLANS;
	streams[*plan] = NULL;
	return 0;
}

API cufftSetStream(int plan, void *stream) {
	if (plan < 0 || plan >= MAX_PLANS) {
		return INVALID_PLAN;
	}
	streams[plan] = stream;
	return 0;
}

API cufftGetVersion(int *version) {
	NEEDS(version)
	*version = GAUGEBLOCK_CUDART < 13 ? 11401 : 12000;
	return 0;
}

// How much a plan needs beside the data. NVIDIA publishes no formula: these shares of the data follow
// 4,045 sizes that cuFFT 12 gave on an H200, of which 4,020 are within 2 % (../testdata/fft_sizes.txt
// has some). All lengths are of complex numbers.

struct factors { long long largest, different; };

static struct factors factors_of(long long n) {
	struct factors f = {1, 0};
	for (long long p = 2; n > 1; p++) {
		if (p * p > n) {
			p = n;
		}
		if (n % p == 0) {
			f.largest = p, f.different++;
		}
		while (n % p == 0) {
			n /= p;
		}
	}
	return f;
}

enum { LARGE_PRIME = 128 }; // from here on a length is padded to another one

// of_length is what a transform of complex numbers of a length needs, as a share of them.
static double of_length(long long n, int is_double) {
	if (factors_of(n).largest >= LARGE_PRIME) {
		return n > 4096 ? 4 : 0;
	}
	if (n == 333 || n == 12000 || n == 22050 || (is_double && n == 3000)) {
		return 1;
	}
	return n > (is_double ? 15000 : 24576) && !(is_double && n == 16384) ? 1 : 0;
}

// of_outer is the same for a dimension that is not the last.
static double of_outer(long long n, int is_double) {
	double share = of_length(n, is_double);
	return n > 1024 && n % 256 != 0 && share < 1 ? 1 : share;
}

// of_real is what the last dimension of a transform of real numbers needs, as a share of its length.
static double of_real(long long n, long long batch, int is_double) {
	struct factors f = factors_of(n);
	if (n % 2 == 0) {
		int at_once = f.different == 1 ? n <= (is_double ? 4096 : 16384) : n < 1200 || n == 1920 || (n == 3072 && !is_double);
		return at_once && n != 500 && n != 900 ? 0 : 0.5;
	}
	if (f.largest >= LARGE_PRIME && n > 4096) {
		return batch == 1 ? 5 : 2.5;
	}
	int at_once = (f.largest < LARGE_PRIME && n <= 243) || (f.different == 1 && f.largest <= 13 && n <= 4096 && !(is_double && n == 2197));
	return at_once ? 0 : batch == 1 ? 2 : 1;
}

// The codes of complex types (cudaDataType); others are taken for single precision.
enum { COMPLEX_FLOAT = 4, COMPLEX_DOUBLE = 5, COMPLEX_HALF = 6 };

static size_t workspace_of(int rank, const long long *n, long long batch, int real, int type) {
	double bytes = type == COMPLEX_DOUBLE ? 16 : type == COMPLEX_HALF ? 4 : 8, outer = (double)batch, share = 0;
	int is_double = type == COMPLEX_DOUBLE;
	for (int i = 0; i < rank - 1; i++) {
		double of = of_outer(n[i], is_double);
		share = of > share ? of : share;
		outer *= (double)n[i];
	}
	long long last = n[rank - 1];
	double needed = share * (double)(real ? last / 2 + 1 : last);
	double of_last = (real ? of_real(last, batch, is_double) : of_length(last, is_double)) * (double)last;
	return (size_t)(bytes * outer * (needed > of_last ? needed : of_last));
}

API cufftXtMakePlanMany(int plan, int rank, long long *n, long long *in, long long in_stride, long long in_distance, int in_type,
	long long *out, long long out_stride, long long out_distance, int out_type, long long batch, size_t *workspace, int type) {
	(void)plan, (void)in, (void)in_stride, (void)in_distance, (void)out, (void)out_stride, (void)out_distance;
	if (rank < 1 || rank > 3 || n == NULL || workspace == NULL || batch < 1) {
		return INVALID_SIZE;
	}
	for (int i = 0; i < rank; i++) {
		if (n[i] < 1) {
			return INVALID_SIZE;
		}
	}
	*workspace = workspace_of(rank, n, batch, in_type != out_type, type);
	return 0;
}

API cufftXtExec(int plan, void *in, void *out, int direction) {
	(void)in, (void)out, (void)direction;
	if (plan < 0 || plan >= MAX_PLANS) {
		return INVALID_PLAN;
	}
	return gaugeblock_launch_kernel("cufft", streams[plan]) == 0 ? 0 : 6;
}
