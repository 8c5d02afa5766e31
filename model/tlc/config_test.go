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
    Sizes = {4294967295, 10, 3}
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
	if memory != 4 || !slices.Equal(sizes, []uint64{3, 10, 1<<32 - 1}) || !reuses || best != "<-Worst" || c.CheckDeadlock || c.Specification != "Spec" {
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
		{"PROPERTY Four", "SPECIFICATION Other", "x.cfg:10: one specification"},
		{"PROPERTY Four", "PROPERTY INVARIANT VIEW", "x.cfg:10: VIEW is not supported"},
		{"PROPERTY Four", "SYMMETRY Four", "x.cfg:10: SYMMETRY is not supported"},
		{"PROPERTY Four", "CONSTRAINT Four", "x.cfg:10: CONSTRAINT is not supported"},
		{"Memory = 4", "Memory 4", `x.cfg:4: "Memory 4" is not NAME = value`},
		{"Memory = 4", "= 4", `x.cfg:4: "= 4" is not NAME = value`},
		{"Memory = 4", "Memory Size = 4", `x.cfg:4: "Memory Size = 4" is not NAME = value`},
		{"Memory = 4", "Memory = 4 5", "x.cfg:4: at byte 3: something follows the end"},
		{"Memory = 4", "Sizes = 4", "x.cfg:5: Sizes stands in line 4 already"},
		{"FALSE", "false", `x.cfg:11: TRUE or FALSE, not "false"`},
		{`\* what`, "what", `x.cfg:1: "what is checked" is in no section`},
	} {
		_, err := tlc.ReadConfig([]byte(strings.Replace(good, c.old, c.new, 1)), "x.cfg")
		var syntax *tlc.SyntaxError
		if !errors.As(err, &syntax) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.new, err, c.want)
		}
	}
}

func TestConfigKinds(t *testing.T) {
	const more = "    Large = 4294967296\n    Names = {s1, 2}\n    Open = <<1, 2>>\n    None = {}\n"
	c, err := tlc.ReadConfig([]byte(strings.Replace(good, "    Best", more+"    Best", 1)), "good.cfg")
	if err != nil {
		t.Fatal(err)
	}
	if none, err := c.Numbers("None"); err != nil || len(none) != 0 {
		t.Errorf("%d, %v", none, err)
	}
	failing := func(_ any, err error) error { return err }
	for want, err := range map[string]error{
		"good.cfg:1: the constant Nothing is missing":      failing(c.Number("Nothing")),
		"good.cfg:1: the constant Nobody is missing":       failing(c.Numbers("Nobody")),
		"good.cfg:1: the constant No is missing":           failing(c.Bool("No")),
		"good.cfg:5: Sizes is not a number":                failing(c.Number("Sizes")),
		"good.cfg:7: Large is not a number":                failing(c.Number("Large")),
		"good.cfg:4: Memory is not a set of numbers":       failing(c.Numbers("Memory")),
		"good.cfg:8: Names is not a set of numbers":        failing(c.Numbers("Names")),
		"good.cfg:9: Open is not a set of numbers":         failing(c.Numbers("Open")),
		"good.cfg:4: Memory is neither TRUE nor FALSE":     failing(c.Bool("Memory")),
		"good.cfg:11: Best is neither TRUE nor FALSE":      failing(c.Bool("Best")),
		":0: Memory: at byte 1: a value is missing":        c.Set("Memory", "{"),
		":0: Memory: at byte 2: something follows the end": c.Set("Memory", "4 5"),
	} {
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// TestConfigSet: a constant that is set has this value, and nothing is set that no module defines.
func TestConfigSet(t *testing.T) {
	c, err := tlc.ReadConfig([]byte("SPECIFICATION Spec\nCONSTANT Memory = 4"), "x.cfg")
	if err != nil {
		t.Fatal(err)
	}
	if !c.CheckDeadlock {
		t.Error("a deadlock is not looked for where nothing is said")
	}
	if err := c.Set("Sizes", "{ 2, 1 }"); err != nil {
		t.Error(err)
	}
	d, err := tlc.ReadDefaults([]byte("Memory == 4\nSizes == {}\n"), "D.tla")
	if err == nil {
		err = c.SetDefaults(d)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Set("Memory", "7"); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{"Memory": "7", "Sizes": "{1,2}"} {
		if got, err := c.Value(name); got != want || err != nil {
			t.Errorf("%s is %s, %v; want %s", name, got, err, want)
		}
	}
	if err := c.Set("Size", "7"); err == nil || err.Error() != "x.cfg:0: Size is not defined in D.tla" {
		t.Error(err)
	}
}
