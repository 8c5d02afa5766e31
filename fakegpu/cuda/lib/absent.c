// Every function that CUDA has and the other files do not is here: it fails when it is called, and
// its name is said once. Those of the other files come first, since these are weak.
#include "core.h"

#ifdef GAUGEBLOCK_CUDART
#define F(name) \
	GAUGEBLOCK_API __attribute__((weak)) int name(void) { return gaugeblock_ended(gaugeblock_lacks(#name)); }
#include "names_runtime.h"
#else
#define F(name) \
	GAUGEBLOCK_API __attribute__((weak)) int name(void) { return gaugeblock_lacks(#name); }
#define V1(name, a) F(name)
#define V2(name, a, b) F(name) F(name##_v2)
#define V3(name, a, b, c) F(name) F(name##_v2) F(name##_v3)
#define V4(name, a, b, c, d) F(name) F(name##_v2) F(name##_v3) F(name##_v4)
#include "names_driver.h"
#endif
