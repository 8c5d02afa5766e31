package torch

import (
	"errors"
	"os"
	"syscall"
)

// mapped: PyTorch's allocator is loaded on Linux only, so there are no workers.
func mapped(*os.File, int) ([]byte, error) { return nil, errors.ErrUnsupported }

// ownGroup: Windows has no groups of processes of this kind.
func ownGroup() *syscall.SysProcAttr { return nil }
