// The frame of a program that calls the libraries above CUDA; anythin_test.go writes the functions. Without arguments it
// calls each with one pointer after the other null, and says what comes back; with a seed and a number it makes so many
// calls at random.
#include <cuda_runtime.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OBJECTS = 512, OBJECT_BYTES = 4096, TEXT_BYTES = 64, DEVICE_BYTES = 1 << 20, NOBODY = -1, ANY = -2 };

static uint64_t state;
static int null_at, pointers; // which pointer of a call is null, and how many it has had so far
static void *device;          // memory that is larger than what is drawn

// Objects that the libraries have made, by the type of the parameters that take one.
static struct { const char *type; void *is; } objects[OBJECTS];
static unsigned made;

static unsigned draw(unsigned n) {
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % n;
}

static int is_null(void) {
	int at = pointers++;
	return null_at == ANY ? draw(8) == 0 : at == null_at;
}

// What descriptors and answers lie in. What was made before is not freed: a library may have kept it.
static void *object(const char *type) {
	if (is_null())
		return NULL;
	for (unsigned i = 0, from = draw(OBJECTS); null_at == ANY && i < OBJECTS && draw(4); i++) {
		unsigned at = (from + i) % OBJECTS;
		if (objects[at].is != NULL && !strcmp(objects[at].type, type))
			return objects[at].is;
	}
	return calloc(1, OBJECT_BYTES);
}

// Where an answer is written that is an object.
static void **place(const char *type) {
	void **to = object("");
	if (to != NULL)
		*to = object(type);
	return to;
}

static void keep(const char *type, void **place) {
	if (place != NULL && *place != NULL && null_at == ANY)
		objects[made++ % OBJECTS].type = type, objects[(made - 1) % OBJECTS].is = *place;
}

static void forget(void *object) {
	for (unsigned i = 0; i < OBJECTS; i++)
		if (objects[i].is == object)
			objects[i].is = NULL;
}

static void *memory(void) { return is_null() ? NULL : null_at == ANY && draw(2) ? calloc(1, OBJECT_BYTES) : device; }

static char *text(void) { return is_null() ? NULL : strcpy(calloc(1, TEXT_BYTES), "%s%n"); }

// A stream is none of the pointers that a call needs.
static void *stream(void) { return null_at == ANY && draw(4) == 0 ? (void *)(uintptr_t)(1 + draw(2)) : NULL; }

static int64_t number(void) {
	static const int64_t numbers[] = {0, 0, 1, 1, 2, 3, 4, 7, 8, 16, 100, -1, 1 << 20, 0x7fffffff, -0x7fffffff - 1, INT64_MAX, INT64_MIN};
	return null_at == ANY ? numbers[draw(17)] : 1;
}

// How many there are of what is written or read.
static int count(void) { return null_at == ANY ? (int)draw(6) - 1 : 1; }
static size_t bytes(void) { return null_at == ANY ? 16 * draw(64) : 16; }

struct id { char bytes[128]; };
static struct id id(void) {
	struct id x = {.bytes = "a"};
	return x;
}

@FUNCTIONS@
static const struct { const char *name; int (*call)(void); } functions[] = {
@TABLE@
};
enum { COUNT = sizeof functions / sizeof *functions };

static sigjmp_buf before;
static void crashed(int signal) { siglongjmp(before, signal); }

// Each with all that it takes, then with each pointer null. Of those that always answer with 0 nothing is said.
static void each(void) {
	signal(SIGSEGV, crashed), signal(SIGABRT, crashed);
	for (int i = 0; i < COUNT; i++) {
		char said[1024] = "";
		int length = 0, matters = 0;
		for (null_at = NOBODY, pointers = 0; null_at < pointers; null_at++) {
			pointers = 0;
			int crash = sigsetjmp(before, 1), answer = crash ? 0 : functions[i].call();
			matters |= crash || answer != 0;
			length += sprintf(said + length, crash ? " crash%s" : " %2$d%1$s", null_at == NOBODY ? ":" : "", answer);
		}
		if (matters)
			printf("%s%s\n", functions[i].name, said);
	}
}

int main(int arguments, char **values) {
	alarm(300);
	if (cudaMalloc(&device, DEVICE_BYTES) != 0)
		return 1;
	if (arguments < 3) {
		each();
		return 0;
	}
	state = (uint64_t)atoll(values[1]), null_at = ANY;
	for (int calls = atoi(values[2]); calls > 0; calls--) {
		unsigned which = draw(COUNT);
		if (getenv("TRACE") != NULL)
			fprintf(stderr, "%s\n", functions[which].name);
		functions[which].call();
	}
	puts("every call returned");
	return 0;
}
