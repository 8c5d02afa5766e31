package tlc_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/model/tlc"
)

const good = `\* what is checked
SPECIFICATION Spec
CONSTANTS
    Memory = 4   \* units
    Sizes = {3, 1}
    Reuses = TRUE
    Best <- Worst
INVARIANTS One Two
    Three
PROPERTY Four
CHECK_DEADLOCK FALSE
`

func TestReadConfig(t *testing.T) {
	c, err := tlc.ReadConfig([]byte(good), "good.cfg")
	if err != nil {
		t.Fatal(err)
	}
	memory, err1 := c.Number("Memory")
	sizes, err2 := c.Numbers("Sizes")
	reuses, err3 := c.Bool("Reuses")
	best, err4 := c.Value("Best")
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	if memory != 4 || !slices.Equal(sizes, []uint64{1, 3}) || !reuses || best != "<-Worst" || c.CheckDeadlock || c.Specification != "Spec" {
		t.Errorf("%+v, %d %d %t %s", c, memory, sizes, reuses, best)
	}
	for _, d := range []string{
		cmp.Diff([]string{"One", "Two", "Three"}, c.Invariants), cmp.Diff([]string{"Four"}, c.Properties),
		cmp.Diff([]string{"Best", "Memory", "Reuses", "Sizes"}, c.Names()),
	} {
		if d != "" {
			t.Error(d)
		}
	}
}

// TestReadConfigErrors: what is not understood is refused, with its line, lest the two
// sides be given different things.
func TestReadConfigErrors(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"SPECIFICATION Spec", "", "x.cfg:1: no SPECIFICATION"},
		{"SPECIFICATION Spec", "SPECIFICATION A B", "x.cfg:2: one specification"},
		{"PROPERTY Four", "SYMMETRY Four", "x.cfg:10: SYMMETRY is not supported"},
		{"PROPERTY Four", "CONSTRAINT Four", "x.cfg:10: CONSTRAINT is not supported"},
		{"Memory = 4", "Memory 4", "x.cfg:4: "},
		{"Memory = 4", "Memory = 4 5", "x.cfg:4: "},
		{"Memory = 4", "Sizes = 4", "x.cfg:5: Sizes stands in line 4 already"},
		{"FALSE", "false", "x.cfg:11: TRUE or FALSE"},
		{`\* what`, "what", "x.cfg:1: "},
	} {
		_, err := tlc.ReadConfig([]byte(strings.Replace(good, c.old, c.new, 1)), "x.cfg")
		var syntax *tlc.SyntaxError
		if !errors.As(err, &syntax) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.new, err, c.want)
		}
	}
}

func TestConfigKinds(t *testing.T) {
	c, err := tlc.ReadConfig([]byte(good), "good.cfg")
	if err != nil {
		t.Fatal(err)
	}
	_, missing := c.Number("Nothing")
	_, notNumber := c.Number("Sizes")
	_, notNumbers := c.Numbers("Memory")
	_, notBool := c.Bool("Memory")
	for _, e := range []struct {
		err  error
		want string
	}{
		{missing, "good.cfg:1: the constant Nothing is missing"}, {notNumber, "good.cfg:5: Sizes is not a number"},
		{notNumbers, "good.cfg:4: Memory is not a set of numbers"}, {notBool, "good.cfg:4: Memory is neither TRUE nor FALSE"},
	} {
		if e.err == nil || e.err.Error() != e.want {
			t.Errorf("%v; want %s", e.err, e.want)
		}
	}
}
