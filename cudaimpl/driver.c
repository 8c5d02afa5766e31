//go:build cgo && linux

#include "driver.h"

#include <dlfcn.h>

gaugeblock_driver cu;

const char *gaugeblock_load(int *symbol) {
	*symbol = 0;
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (library == NULL) {
		return dlerror();
	}
	*symbol = 1;
#define GAUGEBLOCK_MAY(name, symbol, takes) *(void **)&cu.name = dlsym(library, symbol);
#define GAUGEBLOCK_MUST(name, symbol, takes) \
	GAUGEBLOCK_MAY(name, symbol, takes) \
	if (cu.name == NULL) { \
		return symbol; \
	}
	GAUGEBLOCK_FUNCTIONS(GAUGEBLOCK_MUST, GAUGEBLOCK_MAY)
	if (cu.StreamGetCaptureInfo2 == NULL && cu.StreamGetCaptureInfo3 == NULL) {
		return "cuStreamGetCaptureInfo_v2 or _v3";
	}
	if (cu.NodeGetDependencies1 == NULL && cu.NodeGetDependencies2 == NULL) {
		return "cuGraphNodeGetDependencies or _v2";
	}
	return NULL;
}
