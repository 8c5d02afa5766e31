package trace

import (
	"fmt"

	"gaugeblock/spec"
)

// SizeInWords gives a number of bytes exactly and, beyond a KiB, rounded as well:
// "1536 bytes (1.50 KiB)".
func SizeInWords(bytes uint64) string {
	if bytes <= spec.KiB {
		return spec.FormatSize(bytes)
	}
	return fmt.Sprintf("%d bytes (%s)", bytes, spec.FormatSize(bytes))
}
