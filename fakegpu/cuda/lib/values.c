// Values that are known beside the device (python/values): who sees what is copied to a device and
// from it, copied within one and filled, what NCCL copies (not sure: if other ranks have the same), which memory a
// kernel is given that is not PyTorch's, and that a graph is launched; who is asked what is known and
// told what other processes will say; and what the next copies of as many bytes to the host are
// answered with, on the same thread.
#include "core.h"

#include <string.h>

enum { MAX_ANSWERS = 4, ANSWER_BYTES = 16 };
static __thread struct { unsigned char bytes[ANSWER_BYTES]; size_t size; } answers[MAX_ANSWERS];
static __thread int there;
static void (*upload)(void *, const void *, size_t);
static void (*transfer)(void *, const void *, size_t, int);
static void (*download)(void *, const void *, size_t);
static void (*copy)(void *, const void *, size_t);
static void (*fill)(void *, int, size_t);
static void (*touch)(uint64_t);
static void (*replay)(void);
static int (*question)(const void *, size_t, void *);
static void (*expectation)(void *, size_t, gaugeblock_settle, void *);

// How many captures there are.
GAUGEBLOCK_API int gaugeblock_captures;
GAUGEBLOCK_API void gaugeblock_capturing(int more) { __atomic_add_fetch(&gaugeblock_captures, more, __ATOMIC_RELAXED); }

GAUGEBLOCK_API void gaugeblock_on_upload(void (*function)(void *, const void *, size_t)) { upload = function; }
GAUGEBLOCK_API void gaugeblock_on_transfer(void (*function)(void *, const void *, size_t, int)) { transfer = function; }
GAUGEBLOCK_API void gaugeblock_on_download(void (*function)(void *, const void *, size_t)) { download = function; }
GAUGEBLOCK_API void gaugeblock_on_copy(void (*function)(void *, const void *, size_t)) { copy = function; }
GAUGEBLOCK_API void gaugeblock_on_fill(void (*function)(void *, int, size_t)) { fill = function; }
GAUGEBLOCK_API void gaugeblock_on_touch(void (*function)(uint64_t)) { touch = function; }
GAUGEBLOCK_API void gaugeblock_on_replay(void (*function)(void)) { replay = function; }
GAUGEBLOCK_API void gaugeblock_on_question(int (*function)(const void *, size_t, void *)) { question = function; }
GAUGEBLOCK_API void gaugeblock_on_expectation(void (*function)(void *, size_t, gaugeblock_settle, void *)) { expectation = function; }
GAUGEBLOCK_API void gaugeblock_drop_answers(void) { there = 0; }

GAUGEBLOCK_API void gaugeblock_answer(const void *bytes, size_t size) {
	if (there < MAX_ANSWERS && size <= ANSWER_BYTES) {
		memcpy(answers[there].bytes, bytes, size);
		answers[there++].size = size;
	}
}

void gaugeblock_uploaded(void *to, const void *from, size_t bytes) {
	if (upload != NULL) {
		upload(to, from, bytes);
	}
}

void gaugeblock_transferred(void *to, const void *from, size_t bytes, int sure) {
	if (transfer != NULL) {
		transfer(to, from, bytes, sure);
	}
}

void gaugeblock_copied(void *to, const void *from, size_t bytes) {
	if (copy != NULL) {
		copy(to, from, bytes);
	}
}

void gaugeblock_filled(void *to, int value, size_t bytes) {
	if (fill != NULL) {
		fill(to, value, bytes);
	}
}

int gaugeblock_known(const void *from, size_t bytes, void *into) { return question == NULL ? 0 : question(from, bytes, into); }

void gaugeblock_expected(void *to, size_t bytes, gaugeblock_settle settle, void *data) {
	if (expectation == NULL) {
		settle(data, NULL);
		return;
	}
	expectation(to, bytes, settle, data);
}

void gaugeblock_touched(uint64_t address) {
	if (touch != NULL) {
		touch(address);
	}
}

void gaugeblock_replayed(void) {
	if (replay != NULL) {
		replay();
	}
}

void gaugeblock_downloaded(void *to, const void *from, size_t bytes) {
	for (int i = 0; i < there; i++) {
		if (answers[i].size == bytes) {
			memcpy(to, answers[i].bytes, bytes);
			answers[i] = answers[--there];
			return;
		}
	}
	if (download != NULL) {
		download(to, from, bytes);
	}
}
