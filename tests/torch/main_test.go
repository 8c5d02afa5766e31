package torch

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if serving, err := Work(); serving {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
