package property

import (
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/conformance"
)

// rapidChoices takes the choices from rapid, so that rapid can shrink a program and Go's
// fuzzer can search for one.
type rapidChoices struct{ t *rapid.T }

func (c rapidChoices) Intn(n int) int { return rapid.IntRange(0, n-1).Draw(c.t, "choice") }

// shortProgram runs a short program of any area.
func shortProgram(t *rapid.T) {
	area := rapid.SampledFrom(conformance.Areas()).Draw(t, "area")
	result := area.RunWith(rapidChoices{t}, 0, rapid.IntRange(1, 60).Draw(t, "length"), options())
	checked.Add(int64(result.Checked))
	if result.Failure != nil {
		t.Fatalf("%v\n%+v", result.Failure, result.Failure.Ops)
	}
}

func TestShortPrograms(t *testing.T) { rapid.Check(t, shortProgram) }

func FuzzPrograms(f *testing.F) { f.Fuzz(rapid.MakeFuzz(shortProgram)) }
