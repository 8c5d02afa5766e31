// Recurrent networks of cuDNN: where the weights are in their space.
struct rnn {
	int algorithm, cell, bias, direction, input_mode, type, precision, math, input, hidden, projected, layers;
	void *dropout;
	unsigned flags;
};

API cudnnSetRNNDescriptor_v8(struct rnn *r, int algorithm, int cell, int bias, int direction, int input_mode, int type, int precision,
	int math, int input, int hidden, int projected, int layers, void *dropout, unsigned flags) {
	NEEDS(r)
	*r = (struct rnn){algorithm, cell, bias, direction, input_mode, type, precision, math, input, hidden, projected, layers, dropout, flags};
	return 0;
}

enum { LSTM = 2, GRU = 3, DOUBLE = 1, HALF = 2, BFLOAT16 = 9 };
static int gates(const struct rnn *r) { return r->cell == LSTM ? 4 : r->cell == GRU ? 3 : 1; }
static int directions(const struct rnn *r) { return r->direction == 1 ? 2 : 1; }
static size_t bytes_of(const struct rnn *r) { return r->type == DOUBLE ? 8 : r->type == HALF || r->type == BFLOAT16 ? 2 : 4; }

// columns of a matrix of a pseudo layer: what it is multiplied with is the input of the layer, or
// the layer's own output.
static size_t columns(const struct rnn *r, int layer, int matrix) {
	if (matrix >= gates(r)) {
		return (size_t)r->projected;
	}
	return layer < directions(r) ? (size_t)r->input : (size_t)r->projected * (size_t)directions(r);
}

// place is where a matrix or a bias begins, in elements: all matrices come first, then all biases.
// For a layer that is not there it is the size of all.
static size_t place(const struct rnn *r, int layer, int matrix, int bias) {
	size_t at = 0;
	int all = r->layers * directions(r), matrices = 2 * gates(r), projects = r->projected != r->hidden;
	for (int l = 0; l < all; l++) {
		for (int i = 0; i < matrices + projects; i++) {
			if (!bias && l == layer && i == matrix) {
				return at;
			}
			at += i < matrices ? (size_t)r->hidden * columns(r, l, i) : (size_t)r->projected * (size_t)r->hidden;
		}
	}
	for (int l = 0; l < all && r->bias; l++) {
		for (int i = 0; i < matrices; i++) {
			if (bias && l == layer && i == matrix) {
				return at;
			}
			at += (size_t)r->hidden;
		}
	}
	return at;
}

API cudnnGetRNNWeightSpaceSize(void *h, struct rnn *r, size_t *bytes) {
	NEEDS(r, bytes)
	(void)h;
	*bytes = place(r, -1, -1, 1) * bytes_of(r);
	return 0;
}

static void shape_of(struct shape *s, const struct rnn *r, int rows, int columns) {
	if (s != NULL) {
		*s = (struct shape){r->type, 3, {1, rows, columns}, {rows * columns, columns, 1}};
	}
}

API cudnnGetRNNWeightParams(void *h, struct rnn *r, int layer, size_t bytes, char *space, int id, struct shape *matrix, void **at_matrix,
	struct shape *bias, void **at_bias) {
	NEEDS(r)
	(void)h, (void)bytes;
	void *none;
	at_matrix = at_matrix == NULL ? &none : at_matrix;
	at_bias = at_bias == NULL ? &none : at_bias;
	*at_matrix = *at_bias = NULL;
	if (matrix != NULL) {
		*matrix = (struct shape){.type = r->type};
	}
	if (bias != NULL) {
		*bias = (struct shape){.type = r->type};
	}
	int projection = id >= 2 * gates(r);
	if (projection && r->projected == r->hidden) {
		return 0;
	}
	*at_matrix = space + place(r, layer, id, 0) * bytes_of(r);
	if (projection) {
		shape_of(matrix, r, r->projected, r->hidden);
		return 0;
	}
	shape_of(matrix, r, r->hidden, (int)columns(r, layer, id));
	if (r->bias) {
		*at_bias = space + place(r, layer, id, 1) * bytes_of(r);
		shape_of(bias, r, r->hidden, 1);
	}
	return 0;
}
