// How much memory cuSOLVER's routines need while they work. NVIDIA publishes no formula: these follow
// 46,000 sizes that cuSOLVER 12 gave on an H200 (../testdata/solver_sizes.txt has some): QR, Cholesky's
// and LDL's factors are exact, the others within 1 % or 2 KiB, if a matrix has at most 3,000 rows. What
// is counted in elements is the same for all types; what is counted in bytes is said to be.

enum { SINGLE, DOUBLES, COMPLEX, DOUBLE_COMPLEX };

typedef __int128 wide; // products of sizes that no GPU has are too large for 64 bits

static wide larger(wide a, wide b) { return a > b ? a : b; }
static wide smaller(wide a, wide b) { return a < b ? a : b; }
static wide whole(wide n, wide part) { return (n + part - 1) / part * part; }
static wide part32(wide n) { return whole(n, 32); }
static wide bytes_of(int type) { return type == SINGLE ? 4 : type == DOUBLE_COMPLEX ? 16 : 8; }

// type_of is the type of a number of cudaDataType.
static int type_of(int number) { return number == 1 ? DOUBLES : number == 4 ? COMPLEX : number == 5 ? DOUBLE_COMPLEX : SINGLE; }

enum { BLOCK = 128, LEAST = 786432 };

static wide qr(wide n) { return larger(LEAST, 1024 * (n + 512)); }

// generated_q is the matrix Q made of k reflections, applied_q its product with a matrix.
static wide generated_q(wide m, wide n, wide k) {
	k = smaller(k, BLOCK);
	return part32(m * k) + larger(2 * k * n, 16384) + 16640;
}
static wide applied_q(wide m, wide n, wide k) {
	return 256 * m + 512 * n + part32(k * larger(m, n)) + part32(k * k) + 65824;
}

static wide cholesky_bytes(int type, int upper, wide n) {
	wide blocks = (n + 31) / 32;
	return upper ? (type == SINGLE ? 256 : type == DOUBLE_COMPLEX ? 640 : 384) : part32(4 * blocks * blocks + 128);
}

static wide lu_bytes(int type, wide m, wide n) {
	enum { TALL = 1536, TALLER = 2500 };
	wide blocks = (smaller(m, n) + 31) / 32, at_once = 1;
	if (m > TALL) {
		wide elements = type == SINGLE ? 1 : type == DOUBLE_COMPLEX ? 4 : 2;
		return (m > TALLER ? 4608 : 2560) + elements * 33792 + (m > TALLER ? elements * 1024 : 0) + (blocks - 1) * 256;
	}
	while (at_once < smaller(blocks, 16)) {
		at_once *= 2;
	}
	return 256 * (blocks + 1 + at_once);
}

static wide ldl(int type, wide n) {
	return larger(type == SINGLE ? 24608 : type == DOUBLE_COMPLEX ? 11016 : 13328, 64 * (n < 3500 ? n : 2 * n) + 64);
}

// Eigenvalues of symmetric matrices: divide and conquer, and Jacobi's method.
static wide eigen(wide n) { return larger(3 * n * n + 768 * n + 65585, 4 * n * n + 127 * n + 32963); }
static wide jacobi(wide n) {
	wide blocks = (n + 31) / 32;
	return n * n + n + 2053 + (blocks - 1) * (1029 + 4 * blocks);
}

static wide eigen_general_bytes(int type, wide n) {
	wide hessenberg = generated_q(n, n, n) + 3 * n, schur = 4 * n * n + 16 * n + 1;
	return whole(larger(4 * hessenberg, schur) * bytes_of(type) / 4, 512);
}

// Singular values.
static wide svd(wide m, wide n) {
	if (m <= n) {
		return 3 * n * n + 260 * n + 65888;
	}
	wide k = smaller(n, BLOCK), tall = (257 + 3 * n) * m + 3 * n * n + 3 * n + 65890;
	wide by_q = qr(n) + m * (n + 3 * k) + 2 * n * n + 16840;
	return larger(larger(tall, by_q), qr(n) + 2 * n * m + 33216);
}

// svd_jacobi makes a matrix that is not square so by its QR factors, and a wide one tall before.
static wide svd_jacobi(wide m, wide n) {
	wide narrow = smaller(m, n), tall = larger(m, n), blocks = (narrow + 31) / 32;
	wide square = 3104 + 2 * part32(narrow * narrow) + (blocks - 1) * (2080 + 4 * blocks);
	if (m == n) {
		return n < 6 ? square - 32 : square;
	}
	wide by_q = narrow > 33 ? applied_q(tall, narrow, narrow) + 2 * narrow + 32 : 0;
	wide all = larger(qr(narrow) + part32(narrow) + 32, larger(by_q, square + 32));
	return m < n ? all + part32(m * n) : larger(all, square + n * n);
}

static wide svd_approximate(int type, wide m, wide n, wide count) {
	wide of_one = 2 * n * m + (n <= 32 ? 4 * n * n + 10 * n + 2065 : 2 * eigen(n) + 2 * n * n + 6 * n), elements;
	elements = count * of_one + (n <= 32 ? 2056 : 0);
	if (type == SINGLE || type == COMPLEX) {
		return larger(elements, count * (4 * n * m + 2 * n * n + 6 * n));
	}
	return elements / 2;
}

// told gives a size, if it is one that an int can say.
static int told(int *size, wide wanted) {
	NEEDS(size)
	*size = (int)wanted;
	return wanted == *size && wanted >= 0 ? 0 : INVALID;
}
static int told_bytes(size_t *device, size_t *host, wide wanted) {
	NEEDS(device, host)
	*device = (size_t)wanted, *host = 0;
	return wanted == (wide)*device ? 0 : INVALID;
}

#define UNUSED(...) (void)(void *[]){__VA_ARGS__}

// The functions of one type: or and sy are parts of their names.
#define SIZES(T, type, or, sy) \
	API cusolverDn##T##geqrf_bufferSize(void *h, int m, int n, void *a, int lda, int *size) { \
		(void)m, (void)lda, UNUSED(h, a); \
		return told(size, qr(n)); \
	} \
	API cusolverDn##T##getrf_bufferSize(void *h, int m, int n, void *a, int lda, int *size) { \
		(void)lda, UNUSED(h, a); \
		return told(size, lu_bytes(type, m, n) / bytes_of(type)); \
	} \
	API cusolverDn##T##potrf_bufferSize(void *h, int upper, int n, void *a, int lda, int *size) { \
		(void)lda, UNUSED(h, a); \
		return told(size, cholesky_bytes(type, upper, n) / bytes_of(type)); \
	} \
	API cusolverDn##T##sytrf_bufferSize(void *h, int n, void *a, int lda, int *size) { \
		(void)lda, UNUSED(h, a); \
		return told(size, ldl(type, n)); \
	} \
	API cusolverDn##T##or##gqr_bufferSize(void *h, int m, int n, int k, void *a, int lda, void *tau, int *size) { \
		(void)lda, UNUSED(h, a, tau); \
		return told(size, generated_q(m, n, k)); \
	} \
	API cusolverDn##T##or##mqr_bufferSize(void *h, int side, int trans, int m, int n, int k, void *a, int lda, void *tau, void *c, int ldc, \
		int *size) { \
		(void)side, (void)trans, (void)lda, (void)ldc, UNUSED(h, a, tau, c); \
		return told(size, applied_q(m, n, k)); \
	} \
	API cusolverDn##T##sy##evd_bufferSize(void *h, int job, int upper, int n, void *a, int lda, void *values, int *size) { \
		(void)job, (void)upper, (void)lda, UNUSED(h, a, values); \
		return told(size, eigen(n)); \
	} \
	API cusolverDn##T##sy##evj_bufferSize(void *h, int job, int upper, int n, void *a, int lda, void *values, int *size) { \
		(void)job, (void)upper, (void)lda, UNUSED(h, a, values); \
		return told(size, jacobi(n)); \
	} \
	API cusolverDn##T##sy##evjBatched_bufferSize(void *h, int job, int upper, int n, void *a, int lda, void *values, int *size, void *how, \
		int count) { \
		(void)job, (void)upper, (void)lda, UNUSED(h, a, values, how); \
		return told(size, count * (1024 + ((wide)n + 1) * ((wide)n + 1)) + 1028); \
	} \
	API cusolverDn##T##gesvd_bufferSize(void *h, int m, int n, int *size) { \
		UNUSED(h); \
		return told(size, svd(m, n)); \
	} \
	API cusolverDn##T##gesvdj_bufferSize(void *h, int job, int thin, int m, int n, void *a, int lda, void *s, void *u, int ldu, void *v, \
		int ldv, int *size) { \
		(void)job, (void)thin, (void)lda, (void)ldu, (void)ldv, UNUSED(h, a, s, u, v); \
		return told(size, svd_jacobi(m, n)); \
	} \
	API cusolverDn##T##gesvdjBatched_bufferSize(void *h, int job, int m, int n, void *a, int lda, void *s, void *u, int ldu, void *v, int ldv, \
		int *size) { \
		(void)job, (void)m, (void)n, (void)lda, (void)ldu, (void)ldv, UNUSED(h, a, s, u, v); \
		return told(size, 992); \
	} \
	API cusolverDn##T##gesvdaStridedBatched_bufferSize(void *h, int job, int rank, int m, int n, void *a, int lda, long long sa, void *s, \
		long long ss, void *u, int ldu, long long su, void *v, int ldv, long long sv, int *size, int count) { \
		(void)job, (void)rank, (void)lda, (void)sa, (void)ss, (void)ldu, (void)su, (void)ldv, (void)sv, UNUSED(h, a, s, u, v); \
		return told(size, svd_approximate(type, m, n, count)); \
	}

SIZES(S, SINGLE, or, sy)
SIZES(D, DOUBLES, or, sy)
SIZES(C, COMPLEX, un, he)
SIZES(Z, DOUBLE_COMPLEX, un, he)

// The functions of all types say bytes, and take sizes of 64 bits.
static int sizes(int64_t m, int64_t n) {
	enum { BITS = 40 };
	return m >= 0 && m >> BITS == 0 && n >= 0 && n >> BITS == 0;
}

API cusolverDnXgeqrf_bufferSize(void *h, void *how, int64_t m, int64_t n, int type, void *a, int64_t lda, int type_tau, void *tau, int computes,
	size_t *device, size_t *host) {
	(void)m, (void)lda, (void)type_tau, (void)computes, UNUSED(h, how, a, tau);
	if (!sizes(m, n)) {
		return INVALID;
	}
	return told_bytes(device, host, qr(n) * bytes_of(type_of(type)) + 128);
}

API cusolverDnXpotrf_bufferSize(void *h, void *how, int upper, int64_t n, int type, void *a, int64_t lda, int computes, size_t *device,
	size_t *host) {
	(void)lda, (void)computes, UNUSED(h, how, a);
	if (!sizes(n, n)) {
		return INVALID;
	}
	return told_bytes(device, host, cholesky_bytes(type_of(type), upper, n));
}

API cusolverDnXsyevd_bufferSize(void *h, void *how, int job, int upper, int64_t n, int type, void *a, int64_t lda, int type_values, void *values,
	int computes, size_t *device, size_t *host) {
	(void)job, (void)upper, (void)lda, (void)type_values, (void)computes, UNUSED(h, how, a, values);
	if (!sizes(n, n)) {
		return INVALID;
	}
	return told_bytes(device, host, eigen(n) * bytes_of(type_of(type)) + 128);
}

API cusolverDnXsyevBatched_bufferSize(void *h, void *how, int job, int upper, int64_t n, int type, void *a, int64_t lda, int type_values,
	void *values, int computes, size_t *device, size_t *host, int64_t count) {
	(void)job, (void)upper, (void)lda, (void)type_values, (void)computes, UNUSED(h, how, a, values);
	if (!sizes(count, n)) {
		return INVALID;
	}
	return told_bytes(device, host, (wide)count * (eigen(n) - 48) * bytes_of(type_of(type)) + 256);
}

API cusolverDnXgeev_bufferSize(void *h, void *how, int left, int right, int64_t n, int type, void *a, int64_t lda, int type_values, void *values,
	int type_left, void *vl, int64_t ldl_, int type_right, void *vr, int64_t ldr, int computes, size_t *device, size_t *host) {
	(void)left, (void)right, (void)lda, (void)type_values, (void)type_left, (void)ldl_, (void)type_right, (void)ldr, (void)computes;
	UNUSED(h, how, a, values, vl, vr);
	if (!sizes(n, n)) {
		return INVALID;
	}
	return told_bytes(device, host, eigen_general_bytes(type_of(type), n));
}
