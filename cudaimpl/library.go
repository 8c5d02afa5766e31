//go:build cgo && linux

package cudaimpl

/*
#cgo LDFLAGS: -ldl
#include "driver.h"

static CUresult version(int *v) { return cu.DriverGetVersion(v); }
static CUresult init(void) { return cu.Init(0); }
static CUresult device_count(int *n) { return cu.DeviceGetCount(n); }
static const char *error_name(CUresult r) {
	const char *s = NULL;
	return cu.GetErrorName != NULL && cu.GetErrorName(r, &s) == 0 && s != NULL ? s : "CUDA_ERROR_UNKNOWN";
}
static const char *error_text(CUresult r) {
	const char *s = NULL;
	return cu.GetErrorString != NULL && cu.GetErrorString(r, &s) == 0 && s != NULL ? s : "an error without a text";
}
*/
import "C"

import (
	"fmt"
	"sync"
)

// oldestDriver is the oldest interface that is good enough: CUDA 12.0, as 1000 times
// the major version and 10 times the minor one.
const oldestDriver = 12000

// load opens the library and initialises it, once a process.
var load = sync.OnceValue(func() error {
	var symbol C.int
	if missing := C.gaugeblock_load(&symbol); missing != nil {
		if symbol == 0 {
			return &UnavailableError{"the driver's library cannot be opened: " + C.GoString(missing)}
		}
		return &UnavailableError{fmt.Sprintf("the driver has no %s; it must be one for CUDA %s or newer", C.GoString(missing), versionName(oldestDriver))}
	}
	var version C.int
	if err := check("Open", "cuDriverGetVersion", C.version(&version)); err != nil {
		return err
	}
	if version < oldestDriver {
		return &UnavailableError{fmt.Sprintf("the driver is one for CUDA %s, it must be one for %s or newer", versionName(int(version)), versionName(oldestDriver))}
	}
	if err := check("Open", "cuInit", C.init()); err != nil {
		return &UnavailableError{"the driver cannot be used: " + err.Error()}
	}
	return nil
})

func versionName(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// DriverVersion is the newest CUDA that the driver serves, as "13.0".
func (g *GPU) DriverVersion() string {
	var version C.int
	if check("DriverVersion", "cuDriverGetVersion", C.version(&version)) != nil {
		return "unknown"
	}
	return versionName(int(version))
}

// check makes an error of a result that is one.
func check(method, function string, r C.CUresult) error {
	if r == 0 {
		return nil
	}
	return newError(method, function, int(r), C.GoString(C.error_name(r)), C.GoString(C.error_text(r)))
}

// refuse is the error of a call that the driver is not asked, with the error that it
// would give, and the reason.
func refuse(method string, number int, format string, args ...any) error {
	return newError(method, "refused", number, C.GoString(C.error_name(C.CUresult(number))), fmt.Sprintf(format, args...))
}

func countDevices() (int, error) {
	var n C.int
	err := check("Open", "cuDeviceGetCount", C.device_count(&n))
	return int(n), err
}
