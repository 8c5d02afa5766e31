// Asks cuDNN for the sizes of recurrent networks: lines of rnn_sizes.txt come in, and the workspaces
// of inference and training and the reserve go out.
#include <stdio.h>
#include <stdlib.h>

int cudnnCreateRNNDescriptor(void **), cudnnCreateRNNDataDescriptor(void **), cudnnCreateDropoutDescriptor(void **);
int cudnnSetDropoutDescriptor(void *, void *, float, void *, size_t, unsigned long long);
int cudnnSetRNNDescriptor_v8(void *, int, int, int, int, int, int, int, int, int, int, int, int, void *, unsigned);
int cudnnSetRNNDataDescriptor(void *, int, int, int, int, int, const int *, void *);
int cudnnGetRNNTempSpaceSizes(void *, void *, int, void *, size_t *, size_t *);

int main(void) {
	void *rnn, *data, *dropout;
	int algorithm, cell, bias, two, type, input, hidden, projected, layers, packed, longest, batch, steps;
	float rate;
	cudnnCreateRNNDescriptor(&rnn), cudnnCreateRNNDataDescriptor(&data), cudnnCreateDropoutDescriptor(&dropout);
	while (scanf("%d %d %d %d %d %d %d %d %d %f %d %d %d %d", &algorithm, &cell, &bias, &two, &type, &input, &hidden, &projected, &layers, &rate,
		&packed, &longest, &batch, &steps) == 14) {
		int *lengths = malloc(sizeof *lengths * (size_t)batch), left = steps - batch;
		for (int i = 0; i < batch; i++) { // any lengths that give as many steps
			int more = left < longest - 1 ? left : longest - 1;
			lengths[i] = 1 + more;
			left -= more;
		}
		size_t inference, train, reserve;
		cudnnSetDropoutDescriptor(dropout, NULL, rate, NULL, 0, 0);
		cudnnSetRNNDescriptor_v8(rnn, algorithm, cell, bias ? 2 : 0, two, 0, type, 0, 0, input, hidden, projected, layers, dropout, 0);
		cudnnSetRNNDataDescriptor(data, type, packed, longest, batch, input, lengths, NULL);
		cudnnGetRNNTempSpaceSizes(NULL, rnn, 0, data, &inference, NULL);
		cudnnGetRNNTempSpaceSizes(NULL, rnn, 1, data, &train, &reserve);
		printf("%zu %zu %zu\n", inference, train, reserve);
		free(lengths);
	}
	return 0;
}
