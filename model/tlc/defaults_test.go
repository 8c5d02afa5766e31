package tlc_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/model/tlc"
)

const goodDefaults = `---- MODULE D ----
(***********)
(* NotOne == 1
 *)
(***********)
EXTENDS Integers
Memory == 6  \* units
Reuses == FALSE
Streams == {2, 1}
ASSUME
    /\ Memory > 0

Limit == 100 
====
`

func TestSetDefaults(t *testing.T) {
	d, err := tlc.ReadDefaults([]byte(goodDefaults), "D.tla")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Limit", "Memory", "Reuses", "Streams"}, d.Names()); diff != "" {
		t.Error(diff)
	}
	c, err := tlc.ReadConfig([]byte("SPECIFICATION Spec\nCONSTANTS\n    Memory = 4\n    Best <- Worst\n"), "x.cfg")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetDefaults(d); err != nil {
		t.Fatal(err)
	}
	memory, err1 := c.Number("Memory")
	limit, err2 := c.Number("Limit")
	reuses, err3 := c.Bool("Reuses")
	streams, err4 := c.Numbers("Streams")
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	if memory != 4 || limit != 100 || reuses || len(streams) != 2 {
		t.Errorf("%d %d %t %d", memory, limit, reuses, streams)
	}
	if diff := cmp.Diff([]string{"Best", "Memory"}, c.Names()); diff != "" {
		t.Error(diff)
	}
	if _, err := c.Bool("Limit"); err == nil || err.Error() != "D.tla:13: Limit is neither TRUE nor FALSE" {
		t.Error(err)
	}
	if _, err := c.Value("Nothing"); err == nil || err.Error() != "x.cfg:1: the constant Nothing is missing" {
		t.Error(err)
	}
}

func TestSetDefaultsUnknown(t *testing.T) {
	d, err := tlc.ReadDefaults([]byte(goodDefaults), "D.tla")
	if err != nil {
		t.Fatal(err)
	}
	c, err := tlc.ReadConfig([]byte("SPECIFICATION Spec\nCONSTANT Memory = 4\nMemroy = 4"), "x.cfg")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetDefaults(d); err == nil || err.Error() != "x.cfg:3: Memroy is not defined in D.tla" {
		t.Error(err)
	}
}

// TestReadDefaultsErrors: what is not a definition of a value is refused.
func TestReadDefaultsErrors(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"Memory == 6", "Memory == 6 7", "D.tla:7: at byte 2: something follows the end"},
		{"Memory == 6", "Memory = 6", `D.tla:7: "Memory = 6" is not NAME == value`},
		{"Memory == 6", "Memory(x) == 6", `D.tla:7: "Memory(x) == 6" is not NAME == value`},
		{"Memory == 6", "CONSTANT Memory", `D.tla:7: "CONSTANT Memory" is not NAME == value`},
		{"EXTENDS Integers", "  Memory == 6", `D.tla:6: "  Memory == 6" is not NAME == value`},
		{"Limit == 100", "Reuses == TRUE", "D.tla:13: Reuses is defined in line 8 already"},
		{"Limit == 100", "  Limit == 100", "D.tla:13: "},
	} {
		_, err := tlc.ReadDefaults([]byte(strings.Replace(goodDefaults, c.old, c.new, 1)), "D.tla")
		var syntax *tlc.SyntaxError
		if !errors.As(err, &syntax) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.new, err, c.want)
		}
	}
}
