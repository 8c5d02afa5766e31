package check

import (
	"bufio"
	"errors"
	"strings"
	"testing"

	"gaugeblock/spec/trace"
)

// TestEmptyTable: the error is one of the first line.
func TestEmptyTable(t *testing.T) {
	_, err := newCSV(bufio.NewReader(strings.NewReader("")), "log")
	var wrong *trace.Error
	if !errors.As(err, &wrong) || wrong.Line != 1 || !strings.Contains(wrong.Reason, "the file is empty") {
		t.Errorf("%v", err)
	}
}
