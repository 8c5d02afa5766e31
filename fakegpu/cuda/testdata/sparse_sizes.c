// Asks cuSPARSE for sizes: by_rows (CSR), index_type, nonzero, columns, transposed, order and algorithm
// come in, as in sparse_sizes.txt, and what a product of single precision needs goes out; 0 columns: with
// a vector. With -1 columns it is what sorting needs.
#include <stdint.h>
#include <stdio.h>

int cusparseCreateCsr(void **, int64_t, int64_t, int64_t, void *, void *, void *, int, int, int, int);
int cusparseCreateCoo(void **, int64_t, int64_t, int64_t, void *, void *, void *, int, int, int);
int cusparseCreateDnMat(void **, int64_t, int64_t, int64_t, void *, int, int);
int cusparseSpMM_bufferSize(void *, int, int, void *, void *, void *, void *, void *, int, int, size_t *);
int cusparseSpMV_bufferSize(void *, int, void *, void *, void *, void *, void *, int, int, size_t *);
int cusparseXcoosort_bufferSizeExt(void *, int, int, int, void *, void *, size_t *);
int cusparseXcsrsort_bufferSizeExt(void *, int, int, int, void *, void *, size_t *);

int main(void) {
	int by_rows, index_type, nonzero, columns, transposed, order, algorithm;
	while (scanf("%d %d %d %d %d %d %d", &by_rows, &index_type, &nonzero, &columns, &transposed, &order, &algorithm) == 7) {
		void *a, *c;
		size_t bytes = 0;
		if (by_rows) cusparseCreateCsr(&a, 9, 9, nonzero, 0, 0, 0, index_type, index_type, 0, 0);
		else cusparseCreateCoo(&a, 9, 9, nonzero, 0, 0, 0, index_type, 0, 0);
		cusparseCreateDnMat(&c, 9, columns, 9, 0, 0, order);
		if (columns < 0 && by_rows) cusparseXcsrsort_bufferSizeExt(0, 9, 9, nonzero, 0, 0, &bytes);
		else if (columns < 0) cusparseXcoosort_bufferSizeExt(0, 9, 9, nonzero, 0, 0, &bytes);
		else if (columns == 0) cusparseSpMV_bufferSize(0, transposed, 0, a, 0, 0, 0, 0, algorithm, &bytes);
		else cusparseSpMM_bufferSize(0, transposed, 0, 0, a, 0, 0, c, 0, algorithm, &bytes);
		printf("%zu\n", bytes);
	}
	return 0;
}
