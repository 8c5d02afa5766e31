//go:build !linux

package run

import (
	"errors"
	"os"
)

func foregroundGroup(*os.File) (int, error) { return 0, errors.ErrUnsupported }
