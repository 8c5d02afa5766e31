package conformance_test

import (
	"testing"

	"gaugeblock/tests/conformance"
	"gaugeblock/tests/reference"
)

func TestReference(t *testing.T) {
	conformance.Run(t, reference.New, conformance.Exact, conformance.Against(reference.New))
}
