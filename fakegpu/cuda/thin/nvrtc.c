// The run-time compiler: it accepts everything and makes nothing, since no kernel is run.
// A user's own libnvrtc is taken instead where there is one.
#include "thin.h"

static const char program[] = "// a program of the fake GPU's compiler\n";
static const char log_[] = "";

static int get(char *to, const char *text, size_t bytes) {
	NEEDS(to)
	memcpy(to, text, bytes);
	return 0;
}
static int size(size_t *to, size_t bytes) {
	NEEDS(to)
	*to = bytes;
	return 0;
}

API nvrtcVersion(int *major, int *minor) {
	NEEDS(major, minor)
	*major = GAUGEBLOCK_CUDART;
	*minor = 0;
	return 0;
}

API nvrtcCreateProgram(void **made, const char *source, const char *name, int count, const char *const *headers, const char *const *names) {
	(void)source, (void)name, (void)count, (void)headers, (void)names;
	return make(made);
}

API nvrtcDestroyProgram(void **made) {
	NEEDS(made)
	free(*made);
	*made = NULL;
	return 0;
}

API nvrtcCompileProgram(void *made, int count, const char *const *options) {
	(void)made, (void)count, (void)options;
	return 0;
}

API nvrtcAddNameExpression(void *made, const char *name) {
	(void)made, (void)name;
	return 0;
}

API nvrtcGetLoweredName(void *made, const char *name, const char **lowered) {
	NEEDS(lowered)
	(void)made;
	*lowered = name;
	return 0;
}

API nvrtcGetPTXSize(void *made, size_t *bytes) { return (void)made, size(bytes, sizeof program); }
API nvrtcGetPTX(void *made, char *to) { return (void)made, get(to, program, sizeof program); }
API nvrtcGetCUBINSize(void *made, size_t *bytes) { return (void)made, size(bytes, sizeof program); }
API nvrtcGetCUBIN(void *made, char *to) { return (void)made, get(to, program, sizeof program); }
API nvrtcGetProgramLogSize(void *made, size_t *bytes) { return (void)made, size(bytes, sizeof log_); }
API nvrtcGetProgramLog(void *made, char *to) { return (void)made, get(to, log_, sizeof log_); }
GAUGEBLOCK_API const char *nvrtcGetErrorString(int status) { return status == 0 ? "NVRTC_SUCCESS" : "an error of the fake GPU's compiler"; }

// cuDNN compiles by this name, which has no declaration in public; it does not use it without finding it.
API __nvrtcCPEx(void) { return 0; }
