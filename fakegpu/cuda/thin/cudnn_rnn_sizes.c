// How much a recurrent network needs while it works (workspace), and keeps for the way back
// (reserve). NVIDIA publishes no formula: these follow 20,688 sizes that cuDNN 9.19 gave on an H200
// (testdata/rnn_sizes.txt has some): the reserve is exact in all of them, and workspaces are within 512 bytes.

// The sequences of a batch: their lengths together, or as if all were as long as the longest.
struct sequences { int type, layout, longest, batch, vector; size_t steps; };
enum { PACKED = 1 };

API cudnnSetRNNDataDescriptor(struct sequences *x, int type, int layout, int longest, int batch, int vector, const int *lengths, void *fill) {
	NEEDS(x, lengths)
	(void)fill;
	*x = (struct sequences){type, layout, longest, batch, vector, 0};
	for (int i = 0; i < batch; i++) {
		x->steps += layout == PACKED ? (size_t)lengths[i] : (size_t)longest;
	}
	return 0;
}

struct dropout { float rate; };

API cudnnSetDropoutDescriptor(struct dropout *d, void *h, float rate, void *states, size_t bytes, unsigned long long seed) {
	NEEDS(d)
	(void)h, (void)states, (void)bytes, (void)seed;
	d->rate = rate;
	return 0;
}

API cudnnRestoreDropoutDescriptor(struct dropout *d, void *h, float rate, void *states, size_t bytes, unsigned long long seed) {
	NEEDS(d)
	return cudnnSetDropoutDescriptor(d, h, rate, states, bytes, seed);
}

static int drops(const struct rnn *r) { return r->dropout != NULL && ((struct dropout *)r->dropout)->rate > 0; }
static int projects(const struct rnn *r) { return r->projected != r->hidden; }
static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

enum { PART = 32 }; // bytes of which each part is a multiple
static size_t whole_parts(size_t bytes) { return (bytes + PART - 1) / PART * PART; }

// reserve_of: of each layer, for each step, its gates and what they gave; between layers what went
// from one to the next, and one bit for each number that may be dropped.
static size_t reserve_of(const struct rnn *r, const struct sequences *x) {
	size_t element = bytes_of(r), dirs = (size_t)directions(r), layers = (size_t)r->layers, hidden = (size_t)r->hidden;
	size_t gates_kept = r->cell == LSTM ? 4 : r->cell == GRU ? 6 : 1, states_kept = r->cell == LSTM;
	size_t rows = x->steps * element, all = layers * dirs, between = (layers - 1) * dirs;
	size_t bytes = 256 + whole_parts(rows * all * gates_kept * hidden) + whole_parts(rows * all * states_kept * hidden) +
		whole_parts(rows * between * hidden);
	if (projects(r)) {
		bytes += whole_parts(rows * all * hidden) + whole_parts(rows * all * (size_t)r->projected);
	}
	if (drops(r)) {
		size_t numbers = (size_t)x->longest * (size_t)x->batch * dirs * (size_t)r->projected;
		bytes += between * whole_parts((numbers + 7) / 8);
	}
	return bytes;
}

// The algorithms that keep the weights of a layer in registers: that for half precision, and that for
// small hidden sizes.
enum { PERSISTENT = 1, PERSISTENT_SMALL = 3 };
static int persists(const struct rnn *r) {
	return r->algorithm == PERSISTENT || (r->algorithm == PERSISTENT_SMALL && r->type != BFLOAT16);
}

// forward_of and backward_of are in numbers, of what a pass holds beside the weights.
static size_t forward_of(const struct rnn *r, const struct sequences *x) {
	enum { STEPS_AT_ONCE = 256 };
	size_t steps = x->steps, hidden = (size_t)r->hidden, dirs = (size_t)directions(r), n = (size_t)gates(r);
	size_t rows = dirs == 2 || persists(r) || steps < STEPS_AT_ONCE * (size_t)x->batch ? steps : STEPS_AT_ONCE * (size_t)x->batch;
	size_t numbers = rows * n * dirs * hidden;
	if (dirs == 2) {
		numbers += 2 * steps * dirs * hidden;
	} else if (drops(r)) {
		numbers += steps * hidden;
	}
	if (projects(r)) {
		numbers += steps * dirs * hidden;
	}
	if (persists(r)) {
		numbers += 4 * n * steps * hidden;
	}
	return x->layout == PACKED ? numbers : numbers + steps * ((size_t)r->input + dirs * (size_t)r->projected);
}

// in_waves is for how many steps the layers of one direction, which follow each other, hold what went between them.
static size_t in_waves(const struct rnn *r, const struct sequences *x) {
	enum { LONG = 128, WIDEST = 8 };
	size_t batch = (size_t)x->batch, each = batch == 1 ? 32 : batch <= 8 ? 16 : batch <= 16 ? 8 : batch <= 64 ? 4 : 2;
	if (x->longest >= LONG) {
		each = larger(each, WIDEST);
	}
	size_t all = (each * (size_t)r->layers + larger(each, WIDEST)) * batch;
	return all < x->steps ? all : x->steps;
}

static size_t backward_of(const struct rnn *r, const struct sequences *x) {
	size_t input = (size_t)r->input, output = (size_t)directions(r) * (size_t)r->hidden, row, waves = 0;
	if (directions(r) == 1 && persists(r)) {
		enum { FEWEST = 305 }; // steps for which that for half precision has some of what it holds
		row = larger(input, output) + (r->layers > 1 ? 2 : 1) * output;
		waves = r->algorithm == PERSISTENT && x->steps < FEWEST ? (FEWEST - x->steps) * 8 * output : 0;
	} else if (directions(r) == 1) {
		row = larger(input, output) + (r->layers > 1 ? 0 : output);
		waves = r->layers > 1 ? in_waves(r, x) * output : 0;
	} else {
		row = r->layers > 1 ? larger(4 * output, 4 * input + 2 * output) : larger(3 * output, 4 * input + output);
	}
	if (projects(r)) {
		row += output;
	}
	if (persists(r)) {
		row += (size_t)r->hidden * (r->cell == LSTM ? 12 : r->cell == GRU ? 14 : 9);
	}
	row += x->layout == PACKED ? 0 : 2 * (input + (size_t)directions(r) * (size_t)r->projected);
	return x->steps * row + waves;
}

// states_of is how many numbers a layer holds for each sequence: vectors of the hidden size, and of the
// size to which they are projected.
static size_t states_of(const struct rnn *r, const struct sequences *x, int back) {
	int lstm = r->cell == LSTM, two = directions(r) == 2, packed = x->layout == PACKED;
	size_t hidden = (size_t)r->hidden, projected = (size_t)r->projected;
	if (persists(r)) {
		return (size_t)((lstm ? 8 : 4) + (back ? (lstm ? 4 : 2) : 0) + (two ? 1 : 0)) * hidden;
	}
	if (back && lstm) {
		return (two ? 5 : 3) * hidden + (packed ? 0 : 4 * (hidden + projected));
	}
	if (back && !two) {
		return (packed ? 1 : 5) * hidden;
	}
	size_t n = lstm ? 6 : (back ? !packed : r->cell == GRU) ? 3 : 1;
	return (n + (two ? 2 : 0)) * hidden + (packed ? 0 : lstm ? 2 * (hidden + projected) : 2 * hidden);
}

static size_t workspace_of(const struct rnn *r, const struct sequences *x, int train) {
	enum { BYTES_OF_STREAM = 8 << 20 };
	size_t all = (size_t)r->layers * (size_t)directions(r), sequences = (size_t)x->batch * all;
	size_t numbers = forward_of(r, x) + states_of(r, x, 0) * sequences;
	if (train) {
		numbers = larger(numbers, backward_of(r, x) + states_of(r, x, 1) * sequences);
	}
	struct rnn plain = *r;
	plain.bias = 0;
	size_t weights = place(&plain, -1, -1, 0);
	return whole_parts(numbers * bytes_of(r)) + all * BYTES_OF_STREAM + weights * bytes_of(r) +
		(x->layout == PACKED ? 256 : 256 + whole_parts((size_t)x->batch * 8));
}

API cudnnGetRNNTempSpaceSizes(void *h, struct rnn *r, int train, struct sequences *x, size_t *workspace, size_t *reserve) {
	NEEDS(r, x)
	(void)h;
	if (workspace != NULL) {
		*workspace = workspace_of(r, x, train);
	}
	if (reserve != NULL) {
		*reserve = train ? reserve_of(r, x) : 0;
	}
	return 0;
}
