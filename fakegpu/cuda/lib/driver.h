// What the files of the driver's interface have in common.
#ifndef DRIVER_H
#define DRIVER_H

#include "core.h"

typedef int Result;
typedef uint64_t Ptr;
typedef struct { int type, id; } Location;
typedef struct { Location location; int flags; } Access;
typedef struct { char bytes[64]; } Handle;

#define API GAUGEBLOCK_API Result

// The kinds of places (CUmemLocationType).
enum { PLACE_NONE, PLACE_DEVICE, PLACE_HOST, PLACE_NODE, PLACE_NEAREST_NODE };

#ifndef GAUGEBLOCK_CUDART // the runtime has its own
#define CURRENT(device) \
	int device = gaugeblock_current(); \
	{ \
		int unusable_ = gaugeblock_context_unusable(); \
		if (unusable_ != 0) { \
			return unusable_; \
		} \
	}

#define ON(stream, number, device) \
	uint64_t number, device; \
	{ \
		int r_ = gaugeblock_context_unusable(); \
		r_ = r_ != 0 ? r_ : gaugeblock_stream(stream, gaugeblock_current(), &number, &device); \
		if (r_ != 0) { \
			return r_; \
		} \
	}
#endif

// gaugeblock_device_there is 0 if there is a device of a number.
GAUGEBLOCK_API int gaugeblock_device_there(int device);

// gaugeblock_context_unusable is why the thread's current context cannot be used; 0 if it can.
int gaugeblock_context_unusable(void);

// gaugeblock_context is the primary context of a device, or, of memory that was allocated in a context
// of the program's own, that one.
GAUGEBLOCK_API void *gaugeblock_context(int device);
void *gaugeblock_context_of(Ptr ptr, int device);
int gaugeblock_context_device(const void *context);

// gaugeblock_context_has says that memory was allocated in the current context; _lost that it is freed.
void gaugeblock_context_has(Ptr ptr);
void gaugeblock_context_lost(Ptr ptr);

#define UNVERSIONED(name) GAUGEBLOCK_API __typeof__(name##_v2) name __attribute__((alias(#name "_v2")));

#endif
