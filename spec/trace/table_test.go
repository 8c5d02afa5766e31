package trace

import (
	"strings"
	"testing"
)

// TestTables: a table with two members of one name, or more than a set of members has bits for, is
// a mistake of ours.
func TestTables(t *testing.T) {
	table := func(names ...string) (failure any) {
		defer func() { failure = recover() }()
		var members []jsonMember[int]
		for _, name := range names {
			members = append(members, wholeMember(name, func(n *int) *int { return n }))
		}
		newJSONTable("a test", members)
		return nil
	}
	var many []string
	for i := range 65 {
		many = append(many, strings.Repeat("a", i+1))
	}
	if failure := table(many[:64]...); failure != nil {
		t.Errorf("64 members: %v", failure)
	}
	for _, names := range [][]string{many, {"one", "two", "one"}} {
		if failure := table(names...); failure == nil {
			t.Errorf("%d members: no panic", len(names))
		}
	}
}
