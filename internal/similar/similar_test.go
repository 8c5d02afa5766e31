package similar

import "testing"

// TestQuestion: one mistake is found, wherever it is; what is like no name, and an empty word, asks nothing.
func TestQuestion(t *testing.T) {
	names := []string{"core", "pools", "expandable_segments"}
	for word, want := range map[string]string{
		"poools": "pools", "pols": "pools", "cor": "core", "ore": "core", "expandable": "", "expandable_segment": "expandable_segments",
		"segments": "", "zebra": "", "": "",
	} {
		if want != "" {
			want = `, did you mean "` + want + `"?`
		}
		if got := Question(word, names); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	if got := To("pool", []string{"pools", "poolx"}); got != "pools" {
		t.Errorf("of two that are alike: %q", got)
	}
	if got := To("core", nil); got != "" {
		t.Errorf("of no names: %q", got)
	}
}
