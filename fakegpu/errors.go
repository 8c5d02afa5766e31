package fakegpu

import (
	"errors"
	"fmt"

	"gaugeblock/spec"
)

// ErrEndlessWait is wrapped by the error of a call that would wait for ever.
var ErrEndlessWait = errors.New("would wait for ever")

// code is an error of the CUDA runtime or driver.
type code struct {
	name   string
	number int
	kind   error // what errors.Is finds
}

// The runtime's errors (driver_types.h).
var (
	cudaErrorInvalidValue             = code{"cudaErrorInvalidValue", 1, nil}
	cudaErrorMemoryAllocation         = code{"cudaErrorMemoryAllocation", 2, spec.ErrDriverOutOfMemory}
	cudaErrorCudartUnloading          = code{"cudaErrorCudartUnloading", 4, nil}
	cudaErrorInvalidDevice            = code{"cudaErrorInvalidDevice", 101, nil}
	cudaErrorDeviceUninitialized      = code{"cudaErrorDeviceUninitialized", 201, nil}
	cudaErrorAlreadyMapped            = code{"cudaErrorAlreadyMapped", 208, nil}
	cudaErrorPeerAccessUnsupported    = code{"cudaErrorPeerAccessUnsupported", 217, spec.ErrNotSupported}
	cudaErrorInvalidResourceHandle    = code{"cudaErrorInvalidResourceHandle", 400, nil}
	cudaErrorIllegalState             = code{"cudaErrorIllegalState", 401, nil}
	cudaErrorNotReady                 = code{"cudaErrorNotReady", 600, ErrEndlessWait}
	cudaErrorIllegalAddress           = code{"cudaErrorIllegalAddress", 700, nil}
	cudaErrorLaunchFailure            = code{"cudaErrorLaunchFailure", 719, nil}
	cudaErrorNotSupported             = code{"cudaErrorNotSupported", 801, spec.ErrNotSupported}
	cudaErrorStreamCaptureUnsupported = code{"cudaErrorStreamCaptureUnsupported", 900, nil}
	cudaErrorStreamCaptureInvalidated = code{"cudaErrorStreamCaptureInvalidated", 901, nil}
	cudaErrorStreamCaptureMerge       = code{"cudaErrorStreamCaptureMerge", 902, nil}
	cudaErrorStreamCaptureUnmatched   = code{"cudaErrorStreamCaptureUnmatched", 903, nil}
	cudaErrorStreamCaptureUnjoined    = code{"cudaErrorStreamCaptureUnjoined", 904, nil}
	cudaErrorStreamCaptureIsolation   = code{"cudaErrorStreamCaptureIsolation", 905, nil}
	cudaErrorStreamCaptureImplicit    = code{"cudaErrorStreamCaptureImplicit", 906, nil}
	cudaErrorCapturedEvent            = code{"cudaErrorCapturedEvent", 907, nil}
	cudaErrorUnknown                  = code{"cudaErrorUnknown", 999, nil}
)

// The driver interface's errors (cuda.h), for virtual memory.
var (
	driverInvalidValue  = code{"CUDA_ERROR_INVALID_VALUE", 1, nil}
	driverOutOfMemory   = code{"CUDA_ERROR_OUT_OF_MEMORY", 2, spec.ErrDriverOutOfMemory}
	driverInvalidDevice = code{"CUDA_ERROR_INVALID_DEVICE", 101, nil}
	driverInvalidHandle = code{"CUDA_ERROR_INVALID_HANDLE", 400, nil}
	driverLaunchFailed  = code{"CUDA_ERROR_LAUNCH_FAILED", 719, nil}
	driverNotPermitted  = code{"CUDA_ERROR_NOT_PERMITTED", 800, spec.ErrNotSupported}
	driverNotSupported  = code{"CUDA_ERROR_NOT_SUPPORTED", 801, spec.ErrNotSupported}
	driverCaptureUnsup  = code{"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", 900, nil}
	driverUnknown       = code{"CUDA_ERROR_UNKNOWN", 999, nil}
)

// sticky reports whether the error leaves a process's context unusable: every
// later call fails with it.
func (c code) sticky() bool {
	return c.number == cudaErrorIllegalAddress.number || c.number == cudaErrorLaunchFailure.number
}

// in makes the error of a call.
func (c code) in(call call, format string, args ...any) error {
	detail := format
	if len(args) > 0 {
		detail = fmt.Sprintf(format, args...)
	}
	return &spec.DriverError{Call: call.String(), Name: c.name, Code: c.number, Detail: detail, Kind: c.kind}
}
