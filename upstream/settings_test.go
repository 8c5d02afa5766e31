package upstream

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"gaugeblock/spec"
)

// TestSettings: each release's grammar makes of settings strings what its libraries did.
func TestSettings(t *testing.T) {
	file, err := os.Open("testdata/settings.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	g := spec.DefaultGeometry()
	config, seen := spec.Config{}, map[string]bool{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		row := strings.Split(lines.Text(), "\t")
		release, found := Find(row[0])
		if !found {
			t.Fatalf("no release %s", row[0])
		}
		if !seen[row[0]] {
			seen[row[0]], config = true, spec.DefaultConfig(g)
		}
		next, err := release.Rules.Settings.Apply(config, row[1], g)
		if accepted := row[2] == "accepted"; (err == nil) != accepted {
			t.Errorf("%s: %s: error %v; the library %s it", row[0], row[1], err, row[2])
		}
		if config = next; err != nil {
			continue
		}
		if got, want := inForce(config, len(row) > 6), strings.Join(row[3:], " "); got != want {
			t.Errorf("%s: %s: has %s; the library %s", row[0], row[1], got, want)
		}
		written := release.Rules.Settings.Format(config, g)
		again, err := release.Rules.Settings.Parse(written, g)
		if again.Last = config.Last; err != nil || again != config {
			t.Errorf("%s: %s: written as %q, read again as %+v, %v; want %+v", row[0], row[1], written, again, err, config)
		}
	}
	for _, r := range Releases() {
		if r.Tried != "" && !seen[r.Name] {
			t.Errorf("%s has no rows", r.Name)
		}
	}
}

// inForce writes a Config as a row does.
func inForce(c spec.Config, reserves bool) string {
	words := []string{fmt.Sprint(c.MaxSplitSize), fmt.Sprint(c.MaxNonSplitRounding)}
	for i := range 5 {
		words = append(words, fmt.Sprint(c.DivisionsFor(spec.MiB<<i, spec.DefaultGeometry())))
	}
	if reserves {
		words = append(words, reserveOf(c, "b"), reserveOf(c, ""))
	}
	return strings.Join(words, " ")
}

// reserveOf is the reserve of 1000 bytes, -1 if none is set.
func reserveOf(c spec.Config, class string) string {
	r := c.ReserveFor(class)
	switch {
	case r == spec.Reserve{}:
		return "-1"
	case r.Fraction > 0:
		return strconv.Itoa(int(r.Fraction * 1000))
	}
	return strconv.FormatUint(r.Bytes, 10)
}
