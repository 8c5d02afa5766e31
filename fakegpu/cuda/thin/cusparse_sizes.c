// How much memory cuSPARSE's products of a sparse and a dense matrix need while they work. NVIDIA
// publishes no formula: these follow 13,000 sizes that cuSPARSE 12 gave on an H200
// (../testdata/sparse_sizes.txt has some). A matrix in rows (CSR) is cut into parts, and each has an
// index of where it begins. Products of two sparse matrices hang on the values, and are taken to need
// nothing.

struct sparse { int is_rows; long long nonzero, index_bytes; };
struct dense { long long columns; int by_rows; };

// The codes of cusparseIndexType_t, cusparseOrder_t and of the algorithms of a product.
enum { INDEX_64 = 3, BY_ROWS = 2, DEFAULT = 0, ROWS_2 = 6, ROWS_3 = 12 };

static int make_sparse(struct sparse **made, int is_rows, int64_t nonzero, int index_type) {
	enum { BITS = 40 }; // no GPU has so many numbers
	int r = nonzero < 0 || nonzero >> BITS != 0 ? INVALID : make((void **)made);
	if (r == 0) {
		**made = (struct sparse){is_rows, nonzero, index_type == INDEX_64 ? 8 : 4};
	}
	return r;
}

API cusparseCreateCsr(struct sparse **made, int64_t rows, int64_t columns, int64_t nonzero, void *starts, void *indices, void *values,
	int starts_type, int index_type, int base, int type) {
	(void)rows, (void)columns, (void)starts, (void)indices, (void)values, (void)starts_type, (void)base, (void)type;
	return make_sparse(made, 1, nonzero, index_type);
}

API cusparseCreateCoo(struct sparse **made, int64_t rows, int64_t columns, int64_t nonzero, void *row_indices, void *column_indices, void *values,
	int index_type, int base, int type) {
	(void)rows, (void)columns, (void)row_indices, (void)column_indices, (void)values, (void)base, (void)type;
	return make_sparse(made, 0, nonzero, index_type);
}

API cusparseCreateDnMat(struct dense **made, int64_t rows, int64_t columns, int64_t leading, void *values, int type, int order) {
	(void)rows, (void)leading, (void)values, (void)type;
	int r = make((void **)made);
	if (r == 0) {
		**made = (struct dense){columns, order == BY_ROWS};
	}
	return r;
}

static size_t parts(const struct sparse *a, long long entries, long long more) {
	return (size_t)(((a->nonzero + entries - 1) / entries + more) * a->index_bytes + a->index_bytes - 1);
}

// with_vector is the product with one column, of_a that of the matrix or of its transpose.
static size_t with_vector(const struct sparse *a, int of_a) {
	int is_long = a->index_bytes == 8;
	if (a->is_rows) {
		return parts(a, is_long ? 3072 : 4096, 1);
	}
	size_t fours = a->nonzero > 0 ? (size_t)(a->nonzero - 1) / 512 / 4 : 0;
	return of_a != 0 ? 0 : is_long ? 556 + 24 * fours : 540 + 16 * fours;
}

static size_t with_matrix(const struct sparse *a, int of_a, const struct dense *c, int algorithm) {
	if (c->columns == 1) {
		return with_vector(a, of_a);
	}
	if (!a->is_rows) {
		return 0;
	}
	int finely = algorithm == ROWS_2 || algorithm == ROWS_3 || (algorithm == DEFAULT && c->by_rows);
	return finely ? parts(a, 24, 0) : parts(a, 256, 1);
}

API cusparseSpMM_bufferSize(void *h, int of_a, int of_b, void *alpha, struct sparse *a, void *b, void *beta, struct dense *c, int type,
	int algorithm, size_t *bytes) {
	NEEDS(a, c, bytes)
	(void)h, (void)of_b, (void)alpha, (void)b, (void)beta, (void)type;
	*bytes = with_matrix(a, of_a, c, algorithm);
	return 0;
}

API cusparseSpMV_bufferSize(void *h, int of_a, void *alpha, struct sparse *a, void *x, void *beta, void *y, int type, int algorithm, size_t *bytes) {
	NEEDS(a, bytes)
	(void)h, (void)alpha, (void)x, (void)beta, (void)y, (void)type, (void)algorithm;
	*bytes = with_vector(a, of_a);
	return 0;
}

// sorted_bytes: what is sorted twice, and counts of digits.
static size_t sorted_bytes(int nonzero, size_t arrays) {
	size_t part = 128, n = (size_t)nonzero;
	return arrays * ((4 * n + part - 1) / part * part) + 640 + (n / 128 + part - 1) / part * part;
}
API cusparseXcoosort_bufferSizeExt(void *h, int rows, int columns, int nonzero, void *r, void *c, size_t *bytes) {
	NEEDS(bytes)
	(void)h, (void)rows, (void)columns, (void)r, (void)c;
	*bytes = sorted_bytes(nonzero, 4);
	return 0;
}
API cusparseXcsrsort_bufferSizeExt(void *h, int rows, int columns, int nonzero, void *r, void *c, size_t *bytes) {
	NEEDS(bytes)
	(void)h, (void)rows, (void)columns, (void)r, (void)c;
	*bytes = sorted_bytes(nonzero, 5);
	return 0;
}
