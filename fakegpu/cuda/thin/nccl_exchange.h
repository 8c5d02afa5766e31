// What the ranks of a communicator tell each other. Each collective is a record in the channel of each rank, with
// the bytes that the rank brings if they are few and known. What comes of it is told when somebody asks.
#ifndef GAUGEBLOCK_NCCL_EXCHANGE_H
#define GAUGEBLOCK_NCCL_EXCHANGE_H

enum { REDUCE, GATHER, ROOT };
enum { MOST_BYTES = 64 << 10 }; // that a rank brings, and that come of it

// An Exchange is a collective as this rank sees it. Each rank brings bytes; of those of each, part
// bytes from an offset on are for this rank.
typedef struct {
	int kind, type, operation, root;
	const void *from;
	void *to;
	size_t bytes, offset, part;
} Exchange;

typedef struct {
	Exchange what;
	struct communicator c; // with a list of channels of its own
	uint64_t number;
} Expected;

#define REDUCED(T) \
	for (size_t i = 0; i < bytes / sizeof(T); i++) { \
		T x = ((const T *)other)[i], *y = (T *)into + i; \
		*y = operation == 0 || operation == 4 ? *y + x : operation == 1 ? *y * x : operation == 2 ? (x > *y ? x : *y) : (x < *y ? x : *y); \
	}
#define AVERAGED(T) \
	for (size_t i = 0; i < bytes / sizeof(T); i++) { \
		((T *)into)[i] /= (T)ranks; \
	}

// reduce reduces by sum, product, maximum, minimum or average (0 to 4) and reports whether it can.
static int reduce(int type, int operation, void *into, const void *other, size_t bytes) {
	if (operation > 4) {
		return 0;
	}
	switch (type) {
	case 0: REDUCED(int8_t) return 1;
	case 1: REDUCED(uint8_t) return 1;
	case 2: REDUCED(int32_t) return 1;
	case 3: REDUCED(uint32_t) return 1;
	case 4: REDUCED(int64_t) return 1;
	case 5: REDUCED(uint64_t) return 1;
	case 7: REDUCED(float) return 1;
	case 8: REDUCED(double) return 1;
	}
	return 0;
}

static void average(int type, void *into, size_t bytes, int ranks) {
	switch (type) {
	case 0: AVERAGED(int8_t) break;
	case 1: AVERAGED(uint8_t) break;
	case 2: AVERAGED(int32_t) break;
	case 3: AVERAGED(uint32_t) break;
	case 4: AVERAGED(int64_t) break;
	case 5: AVERAGED(uint64_t) break;
	case 7: AVERAGED(float) break;
	case 8: AVERAGED(double) break;
	}
}

// settle waits for what the ranks bring, and writes what this one gets.
static int settle(void *data, void *room) {
	Expected *e = data;
	const Exchange *x = &e->what;
	char *into = room;
	int state = 2, first = 1;
	for (int rank = 0; rank < e->c.ranks && room != NULL && state != 0; rank++) {
		if (x->kind == ROOT && rank != x->root) {
			continue;
		}
		const Record *r = heard(e->c.of[rank], e->number);
		const char *part = (const char *)(r + 1) + x->offset;
		if (r == NULL || r->state == 0 || r->bytes < x->offset + x->part) {
			state = 0;
			break;
		}
		state = r->state < state ? r->state : state;
		if (x->kind == GATHER) {
			memcpy(into + x->part * (size_t)rank, part, x->part);
		} else if (first) {
			memcpy(into, part, x->part);
		} else if (!reduce(x->type, x->operation, into, part, x->part)) {
			state = 0;
		}
		first = 0;
	}
	if (room != NULL && x->kind == REDUCE && x->operation == 4) {
		average(x->type, into, x->part, e->c.ranks);
	}
	free(e->c.of);
	free(e);
	return state;
}

static void expect(const struct communicator *c, struct channel **of, const Exchange *x, uint64_t number) {
	Expected *e = malloc(sizeof *e);
	if (e == NULL) {
		abort();
	}
	*e = (Expected){*x, *c, number};
	e->c.of = of;
	gaugeblock_expected(x->to, x->kind == GATHER ? x->part * (size_t)c->ranks : x->part, settle, e);
}

static void bring(struct channel *to, const void *from, size_t bytes) {
	char room[MOST_BYTES];
	int state = bytes <= MOST_BYTES ? gaugeblock_known(from, bytes, room) : 0;
	say(to, state, room, bytes);
}

static void copied(void *to, const void *from, size_t bytes, int sure) {
	if (bytes > 0 && to != from) {
		gaugeblock_transferred(to, from, bytes, sure);
	}
}

// taken: the others are taken to have what this one has.
static void taken(const struct communicator *c, const Exchange *x) {
	for (int rank = 0; rank < (x->kind == GATHER ? c->ranks : 1); rank++) {
		int sure = c->ranks == 1 || (x->kind == GATHER && rank == c->rank) || (x->kind == ROOT && x->root == c->rank);
		copied((char *)x->to + x->part * (size_t)rank, (const char *)x->from + x->offset, x->part, sure);
	}
}

static void exchange(struct communicator *c, void *stream, const Exchange *x) {
	if (c->of == NULL) {
		if (x->to != NULL) {
			taken(c, x);
		}
		return;
	}
	c->collectives++;
	int brings = x->kind != ROOT || x->root == c->rank;
	bring(c->of[c->rank], x->from, brings ? x->bytes : MOST_BYTES + 1);
	for (int rank = 0; rank < c->ranks; rank++) {
		if (rank != c->rank) {
			gaugeblock_waits_for(stream, c->of[rank]->number, c->collectives);
		}
	}
	if (x->to == NULL) {
		return;
	}
	if (x->bytes > MOST_BYTES || x->part * (size_t)c->ranks > 16 * MOST_BYTES) {
		taken(c, x);
		return;
	}
	struct channel **of = malloc((size_t)c->ranks * sizeof *of);
	if (of == NULL) {
		abort();
	}
	memcpy(of, c->of, (size_t)c->ranks * sizeof *of);
	expect(c, of, x, c->collectives);
}

// What one rank sends to another has a channel of its own.
static void sent(struct communicator *c, int peer, const void *from, size_t bytes) {
	struct channel *to = c->of == NULL ? NULL : channel_of(c, c->rank, peer);
	if (to != NULL) {
		bring(to, from, bytes);
	}
}

static void received(struct communicator *c, int peer, void *to, size_t bytes, void *stream) {
	struct channel *from = c->of == NULL ? NULL : channel_of(c, peer, c->rank);
	if (from == NULL) {
		return;
	}
	gaugeblock_waits_for(stream, from->number, ++from->received);
	if (bytes > MOST_BYTES) {
		return;
	}
	struct channel **of = malloc(sizeof *of);
	if (of == NULL) {
		abort();
	}
	of[0] = from;
	struct communicator two = {.ranks = 1};
	expect(&two, of, &(Exchange){ROOT, 0, 0, 0, NULL, to, bytes, 0, bytes}, from->received);
}

#endif
