package trace

import "testing"

// TestScanNumber: where a number ends, by the grammar of JSON.
func TestScanNumber(t *testing.T) {
	for text, want := range map[string]int{
		"0": 1, "7,": 1, "-1": 2, "10]": 2, "-0": 2, "1.5": 3, "1.05e3": 6, "1e9": 3, "1E-9 ": 4, "1e+12": 5, "0.0": 3, "0e0": 3,
		"": -1, "-": -1, "01": -1, "-01": -1, "00": -1, "1.": -1, "1.e5": -1, ".5": -1, "-.5": -1, "1e": -1, "1e+": -1, "1e-": -1, "1.5e": -1, "a": -1, "--1": -1, "+1": -1,
	} {
		if want > 0 {
			want++ // behind what stands before it
		}
		if got := scanNumber([]byte("x"+text), 1); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
