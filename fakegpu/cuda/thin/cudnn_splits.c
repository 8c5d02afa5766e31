// What convolutions of 32-bit numbers need whose engines share tiles among blocks: 67 (forward), 71 (gradient of the
// input) and 68 (of the weights). Such a convolution is a product of matrices. Each block computes a tile of the result
// in steps along the depth of the product, and a cluster of blocks some tiles side by side. If the last wave of clusters
// does not fill the device, several blocks share each of its tiles, and each keeps its part in the workspace. How many
// do depends on how many clusters run at a time, which cuDNN asks a driver. NVIDIA publishes no formula: this one gives
// 96 of 100 of the 271,000 plans of cuDNN 9.19 on an H200 that it was made from to the byte, 98 of 100 of 45,000 with
// groups, and 98 of 100 of others (testdata/convolution_sizes.txt). The list of measured goes before it.

enum { DEPTH_OF_STEP = 32, ALIGNED_CHANNELS = 4, ALL_CHANNELS = 8, BYTES_OF_NUMBER = 4, LEVELS = 8 };

// What a line of measured is for (cudnn_backend.c), in numbers.
struct convolution {
	char way;
	int is_last, is_part, engine, dims; // is_part: of the tensors, one group's channels
	long long filter[MOST_DIMS], input[MOST_DIMS], pad[MOST_DIMS], stride[MOST_DIMS], dilation[MOST_DIMS], knobs[6];
};

// listed reads numbers with a character between them, and goes behind them and a space.
static int listed(const char **at, char between, long long *to, int most) {
	int n = 0;
	while (n < most) {
		char *end;
		to[n++] = strtoll(*at, &end, 10);
		*at = end;
		if (*end != between) {
			break;
		}
		(*at)++;
	}
	*at += **at == ' ';
	return n;
}

// parsed reads a key. It is how many knobs it has. 0: its numbers have 16 bits.
static int parsed(struct convolution *c, const char *key) {
	c->way = *key++;
	c->is_last = *key == 'l', c->is_part = 0;
	key += c->is_last;
	if (*key++ != ' ') {
		return 0; // 16 bits
	}
	c->dims = listed(&key, 'x', c->filter, MOST_DIMS);
	int space = c->dims - 2;
	if (listed(&key, 'x', c->input, MOST_DIMS) != c->dims || listed(&key, 'x', c->pad, MOST_DIMS) != space ||
		listed(&key, 'x', c->stride, MOST_DIMS) != space || listed(&key, 'x', c->dilation, MOST_DIMS) != space) {
		return 0;
	}
	c->engine = atoi(key);
	key += strcspn(key, ",");
	key += *key == ',';
	return listed(&key, ',', c->knobs, 6);
}

static long long up(long long a, long long b) { return (a + b - 1) / b; }
static long long rounded(long long a, long long to) { return up(a, to) * to; }

// Tiles by their number, which is a knob.
static const struct tile { int number, rows, columns; } tiles[] = {
	{0, 128, 128}, {1, 128, 64}, {2, 128, 32}, {3, 256, 128}, {4, 256, 64}, {5, 64, 64}, {6, 128, 256}, {7, 64, 128},
	{8, 64, 32}, {9, 64, 256}, {16, 256, 32}, {18, 64, 192}, {19, 128, 192},
};

static const struct tile *tile_of(long long number) {
	for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
		if (tiles[i].number == number) {
			return &tiles[i];
		}
	}
	return NULL;
}

// A product of matrices: rows and columns of the result, the second of which there are so many times, and steps.
struct product { long long rows, columns, times, steps, transforms; };

// width is how many channels each group has in the copies of the tensors: a power of two.
static long long width(long long channels) {
	long long wide = ALIGNED_CHANNELS;
	while (wide < channels) {
		wide *= 2;
	}
	return wide;
}

// at_a_time is how many images cuDNN gives to an engine at once: so many that no tensor has more than 2^31 numbers.
static long long at_a_time(long long images, long long numbers) {
	const long long most = 1LL << 31;
	return images * numbers <= most || numbers == 0 ? images : most / numbers;
}

// product_of also says what the copies of the tensors take whose channels lie innermost, with a multiple of four. Groups
// that fit into the columns of a tile are one product. Tensors whose channels lie innermost are copied if those of a group
// become more, or a part is taken of them.
static int product_of(struct product *p, const struct convolution *c, const struct tile *t) {
	long long groups = c->input[1] / c->filter[1], out = c->filter[0] / groups, in = c->filter[1], taps = 1;
	long long pixels_in = 1, pixels_out = 1;
	for (int i = 2; i < c->dims; i++) {
		long long reach = c->dilation[i - 2] * (c->filter[i] - 1) + 1;
		if (c->stride[i - 2] <= 0) {
			return 0;
		}
		taps *= c->filter[i];
		pixels_in *= c->input[i];
		pixels_out *= (c->input[i] + 2 * c->pad[i - 2] - reach) / c->stride[i - 2] + 1;
	}
	long long largest = pixels_in * c->input[1] > pixels_out * c->filter[0] ? pixels_in * c->input[1] : pixels_out * c->filter[0];
	long long images = at_a_time(c->input[0], largest);
	pixels_in *= images, pixels_out *= images;
	long long wide_in = rounded(in, ALIGNED_CHANNELS), wide_out = rounded(out, ALIGNED_CHANNELS);
	long long together = 1, before = groups;
	if (groups > 1) {
		wide_in = wide_out = width(in > out ? in : out);
		together = t->columns > wide_in ? t->columns / wide_in : 1;
		groups = rounded(groups * wide_in, ALL_CHANNELS) / wide_in;
	}
	int wider = wide_in != in || wide_out != out, part = c->is_part || groups > before;
	if (c->is_last && wider && groups == 1) {
		return 0;
	}
	long long copies = !c->is_last || part || wide_in != in ? groups * pixels_in * wide_in : 0;
	copies += !c->is_last || part || wide_out != out ? groups * pixels_out * wide_out : 0;
	copies += wider || (!c->is_last && taps > 1) ? groups * wide_in * wide_out * taps : 0;
	p->transforms = copies > 0 ? BYTES_OF_NUMBER * copies + 16 : 0;
	if (groups > 1) {
		in = out = wide_in * together;
	}
	p->rows = c->way == 'f' ? pixels_out : c->way == 'd' ? pixels_in : groups > 1 ? wide_out : out;
	p->columns = c->way == 'f' ? out : in;
	p->times = up(groups, together) * (c->way == 'w' ? taps : 1);
	p->steps = c->way == 'w' ? up(pixels_out, DEPTH_OF_STEP) : taps * up(c->way == 'f' ? in : out, DEPTH_OF_STEP);
	return 1;
}

// clusters_at_a_time is how many clusters of so many blocks an H200 runs; 0: not measured.
static int clusters_at_a_time(long long blocks) {
	static const int known[] = {0, 132, 66, 39, 30, 22, 0, 15, 15};
	return blocks < (long long)(sizeof known / sizeof *known) ? known[blocks] : 0;
}

// What it costs, in quarters of a step, to put together the parts of two blocks, of four, and so on: if all tiles are
// shared, and if only those of the last wave are; and how much less for three than for four, and for five to seven than
// for eight.
static const struct cost { int numbers, each, last[LEVELS], fewer[LEVELS]; } costs[] = {
	{64 * 64, 98, {0, 42, 88, 126, 141, 149, 169, 189}, {0}},
	{128 * 64, 66, {0, 33, 62, 87, 99, 105, 123, 143}, {0, 0, 5, 5}},
	{128 * 128, 54, {0, 26, 51, 71, 81, 81, 99, 119}, {0, 0, 1, 4}},
	{256 * 128, 45, {0, 22, 39, 59, 65, 65, 83, 103}, {0}},
};

static int level_of(long long blocks) {
	int level = 0;
	while (level < LEVELS - 1 && 1LL << level < blocks) {
		level++;
	}
	return level;
}

// sharing is how many blocks share a tile, at most so many: as many as make it the cheapest. Of long tiles that are all
// shared each block has at least 33 steps, and of others at least four.
static long long sharing(const struct cost *c, long long steps, long long most, int is_last) {
	enum { LONG = 33, SHORT = 4, MANY = 9 };
	long long chosen = 1;
	if (!is_last && steps / LONG >= MANY) {
		chosen = steps / LONG < most ? steps / LONG : most;
	} else {
		long long limit = is_last && steps / SHORT < most ? steps / SHORT : most, least = 4 * steps;
		for (long long n = 2; limit > 1; n = 2 * n < limit ? 2 * n : limit) {
			n = n < limit ? n : limit;
			int level = level_of(n);
			long long fewer = n < 1LL << level ? c->fewer[level] : 0;
			long long cost = 4 * up(steps, n) + (is_last ? c->last[level] - fewer : c->each * level);
			if (cost <= least) {
				least = cost, chosen = n;
			}
			if (n == limit) {
				break;
			}
		}
	}
	return up(steps, up(steps, chosen));
}

// meetings is how often the parts of so many blocks are put together, two at a time.
static long long meetings(long long blocks) {
	long long n = 0;
	while (blocks > 1) {
		blocks = up(blocks, 2);
		n += blocks;
	}
	return n;
}

// shared_tiles is what a convolution needs whose engine shares tiles among blocks; -1: the formula is not for it.
static long long shared_tiles(const struct convolution *c, long long told) {
	enum { TILE, SHARES = 3, CLUSTER_ROWS, CLUSTER_COLUMNS, ALIGNMENT = 127, COUNTERS = 8, BYTES_OF_COUNTER = 4 };
	struct product p;
	const struct tile *t = tile_of(c->knobs[TILE]);
	long long rows = c->knobs[CLUSTER_ROWS], columns = c->knobs[CLUSTER_COLUMNS], wave = clusters_at_a_time(rows * columns);
	if (t == NULL || wave == 0 || !product_of(&p, c, t) || told < p.transforms) {
		return -1;
	}
	const struct cost *cost = costs;
	while (cost < costs + sizeof costs / sizeof *costs && cost->numbers != t->rows * t->columns) {
		cost++;
	}
	long long clusters = up(up(p.rows, t->rows), rows) * up(up(p.columns, t->columns) * p.times, columns);
	long long last = clusters % wave, blocks = 1, counter = clusters > 2 * wave ? BYTES_OF_COUNTER : 0;
	if (c->knobs[SHARES] == 0 && last > 0) {
		if (cost == costs + sizeof costs / sizeof *costs) {
			return -1;
		}
		blocks = sharing(cost, p.steps, wave / last, clusters > wave);
	}
	if (blocks == 1) {
		return p.transforms + (counter > 0 ? ALIGNMENT + counter : 0);
	}
	long long shared = rows * columns * last;
	return p.transforms + BYTES_OF_NUMBER * t->rows * t->columns * shared * blocks +
		BYTES_OF_COUNTER * (COUNTERS + shared * meetings(blocks)) + ALIGNMENT + counter;
}

// The workspace of a plan, of which cuDNN without a driver has told another; -1: the formula is not for it. Groups of
// many channels are convolutions of their own.
GAUGEBLOCK_API int64_t gaugeblock_cudnn_splits(const char *key, int64_t told) {
	enum { MOST_TOGETHER = 256, BETWEEN_GROUPS = 16, AT_A_TIME = 8 };
	struct convolution c;
	int knobs = parsed(&c, key);
	long long groups = knobs > 0 && c.filter[1] > 0 ? c.input[1] / c.filter[1] : 0;
	if (groups == 0 || c.filter[0] % groups != 0 || c.input[1] % groups != 0) {
		return -1;
	}
	if (knobs != 6 || c.engine != (c.way == 'f' ? 67 : c.way == 'd' ? 71 : 68)) {
		return -1;
	}
	if (groups == 1 || (c.filter[1] <= MOST_TOGETHER && c.filter[0] / groups <= MOST_TOGETHER)) {
		return shared_tiles(&c, told);
	}
	c.filter[0] /= groups, c.input[1] /= groups, c.is_part = 1;
	long long room = groups < AT_A_TIME ? groups : AT_A_TIME, one = shared_tiles(&c, told / room);
	return one < 0 ? -1 : room * rounded(one, BETWEEN_GROUPS);
}

// An estimate for the engine 62, products of 1 x 1 filters with channels last for the gradient of the weights: blocks
// divide the depth, and each has a part of the result in the workspace. How large their tiles are cuDNN chooses by a rule
// that was not found. With tiles of 128 x 256, of 3,269 plans on an H200 two of three are within 2 MiB (0 is in 43 of
// 100), and the mean is 1.9 MiB off (5.9). -1: it is not for this plan.
GAUGEBLOCK_API int64_t gaugeblock_cudnn_estimate(const char *key) {
	enum { PRODUCTS = 62, WITH_PARTS = 2, ROWS = 128, COLUMNS = 256, BLOCKS = 132, STEPS_AT_LEAST = 2, COUNTERS = 256 };
	struct convolution c;
	if (parsed(&c, key) != 1 || c.way != 'w' || !c.is_last || c.engine != PRODUCTS || c.knobs[0] != WITH_PARTS) {
		return -1;
	}
	long long depth = c.input[0], rows = c.filter[0], columns = c.filter[1];
	for (int i = 2; i < c.dims; i++) {
		if (c.filter[i] != 1 || c.stride[i - 2] != 1 || c.pad[i - 2] != 0) {
			return -1;
		}
		depth *= c.input[i];
	}
	if (c.input[1] != columns) {
		return -1; // groups
	}
	long long steps = up(depth, DEPTH_OF_STEP), tiles = up(rows, ROWS) * up(columns, COLUMNS);
	long long most = tiles < BLOCKS ? BLOCKS / tiles : 1, each = up(steps, most);
	long long parts = up(steps, each < STEPS_AT_LEAST ? STEPS_AT_LEAST : each);
	return parts > 1 ? parts * rows * columns * BYTES_OF_NUMBER + COUNTERS : 0;
}
