package tla

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// everyConfiguration calls f with each, those in upstream's mode with its reader.
func everyConfiguration(t *testing.T, f func(c Configuration, upstream bool)) {
	t.Helper()
	list, err := Configurations()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		f(c, false)
	}
	mode, err := UpstreamConfigurations()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range mode {
		f(c.Configuration, true)
	}
}

func canonical(t *testing.T, c Configuration, read func(string) ([]byte, error)) string {
	t.Helper()
	text, err := Canonical(c, read)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// newRule is a rule at its default: a constant, an operator that it decides, one more condition
// in a list, and one more choice of a disjunction.
func newRule(t *testing.T, upstream bool, value string) func(string) ([]byte, error) {
	read := changed(t, Reader(upstream), defaultsFile, "MinBlock == 1 ", "NewestFirst == "+value+"\nMinBlock == 1 ")
	read = changed(t, read, "Blocks.tla",
		`First(S) == CHOOSE`, `First(S) == IF NewestFirst THEN CHOOSE b \in S : \A c \in S : b.addr >= c.addr ELSE CHOOSE`,
		`    THEN rest >= MinBlock`, `    THEN rest >= MinBlock \/ NewestFirst`)
	return changed(t, read, "CachingAllocator.tla",
		"    \\/ \\E s \\in Streams, n \\in Sizes : Malloc(s, n)\n",
		"    \\/ \\E s \\in Streams, n \\in Sizes : Malloc(s, n)\n    \\/ /\\ NewestFirst\n       /\\ UNCHANGED vars\n")
}

// changed reads the files of the specification with replacements in one of them.
func changed(t *testing.T, read func(string) ([]byte, error), file string, replacements ...string) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		text, err := read(name)
		for i := 0; name == file && i < len(replacements); i += 2 {
			if !strings.Contains(string(text), replacements[i]) {
				t.Fatalf("%s does not have %q", file, replacements[i])
			}
			text = []byte(strings.Replace(string(text), replacements[i], replacements[i+1], 1))
		}
		return text, err
	}
}

// TestConstantAtItsDefault: a rule that changes nothing at its default invalidates no manifest,
// and at another value it invalidates those whose configurations use what it changes.
func TestConstantAtItsDefault(t *testing.T) {
	all, invalidated, used := 0, 0, 0
	everyConfiguration(t, func(c Configuration, upstream bool) {
		all++
		now := canonical(t, c, Reader(upstream))
		if canonical(t, c, newRule(t, upstream, "FALSE")) != now {
			invalidated++
			t.Errorf("%s: the default invalidates its manifest", c.Name)
		}
		if canonical(t, c, newRule(t, upstream, "TRUE")) != now {
			used++
		}
	})
	t.Logf("%d manifests, %d invalidated by the default, %d by another value", all, invalidated, used)
	if used < all-5 { // AbstractMemory and StreamOrderedPool have no blocks
		t.Errorf("only %d of %d configurations notice another value", used, all)
	}
}

// TestWhatInvalidates: what changes the graph changes the form, and what does not does not.
func TestWhatInvalidates(t *testing.T) {
	list, err := Configurations()
	if err != nil {
		t.Fatal(err)
	}
	c := list[slices.IndexFunc(list, func(c Configuration) bool { return c.Name == "core_tiny" })]
	now := canonical(t, c, Reader(false))
	for _, test := range []struct {
		what, file, old, new string
		changes              bool
	}{
		{"a comment", "Blocks.tla", "First(S) ==", "\\* the first\nFirst(S) ==", false},
		{"a line break", "Blocks.tla", "First(S) == CHOOSE", "First(S) ==\n    CHOOSE", false},
		{"a default that is not the configuration's", defaultsFile, "MinBlock == 1", "MinBlock == 2", true},
		{"a default that is not used", defaultsFile, "MaxDriverCalls == 9", "MaxDriverCalls == 8", false},
		{"an operator that is not used", "Blocks.tla", "First(S) ==", "Unused(S) == S\nFirst(S) ==", false},
		{"an operator that is used", "Blocks.tla", "First(S) == CHOOSE b", "First(S) == CHOOSE c", true},
		{"a module that is extended", "MCCore.tla", "EXTENDS OutOfMemory", "EXTENDS Settings, OutOfMemory", true}, // it has a variable
		{"an invariant", c.Cfg, "INVARIANTS", "INVARIANTS\n    HeldBlocksAreAwaited", true},
		{"a constant", c.Cfg, "INVARIANTS", "CONSTANT LargeBuffer = 6\nINVARIANTS", true},
	} {
		if same := canonical(t, c, changed(t, Reader(false), test.file, test.old, test.new)) == now; same == test.changes {
			t.Errorf("%s: the form is the same: %v", test.what, same)
		}
	}
}

// form1 is the form of a definition.
func form1(t *testing.T, text string, constants map[string]string) string {
	t.Helper()
	all, err := tokens(text)
	if err != nil {
		t.Fatal(err)
	}
	f := &form{constants: constants}
	var out []string
	for _, e := range (&parser{tokens: all}).units() {
		out = f.simplify(e).write(out)
	}
	return strings.Join(out, " ")
}

// TestConstantsDecide: forms that are equal when constants are known, and forms that are not.
func TestConstantsDecide(t *testing.T) {
	constants := map[string]string{"On": "TRUE", "Off": "FALSE", "Kind": `"a"`, "Two": "2", "Set": "{1}"}
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{"X == IF On THEN a ELSE b", "X == a", true},
		{"X == IF Off THEN a ELSE b + 1", "X == b + 1", true},
		{"X == IF ~On THEN a ELSE f(b)", "X == f(b)", true},
		{`X == IF Kind = "b" THEN a ELSE b`, "X == b", true},
		{`X == IF Kind # "b" /\ Two = 2 THEN a ELSE b`, "X == a", true},
		{`X == IF y /\ Off THEN a ELSE b`, "X == b", true},
		{`X == IF y /\ On THEN a ELSE b`, "X == IF y THEN a ELSE b", true},
		{`X == IF y \/ On THEN a ELSE b`, "X == a", true},
		{"X == c + IF On THEN a ELSE b", "X == c + a", true},
		{"X == c \\ IF On THEN a \\ d ELSE b", "X == c \\ a \\ d", false}, // it is c \ (a \ d)
		{"X == {IF On THEN a ELSE b, c}", "X == {a, c}", true},
		{"X == LET y == IF On THEN a ELSE b\n        z == 1\n    IN y + z", "X == LET y == a z == 1 IN y + z", true},
		{"X ==\n  /\\ a\n  /\\ On\n  /\\ b", "X ==\n  /\\ a\n  /\\ b", true},
		{"X ==\n  /\\ a\n  /\\ Off => c\n  /\\ b", "X ==\n  /\\ a\n  /\\ b", true},
		{"X ==\n  \\/ a\n  \\/ /\\ Off\n     /\\ c", "X == a", true},
		{"X ==\n  /\\ a\n  /\\ \\/ b\n     \\/ c\n  /\\ d", "X ==\n  /\\ a\n  /\\ \\/ b\n  \\/ c\n  /\\ d", false},
		{"X == CASE On -> a [] OTHER -> b", "X == CASE Off -> a [] OTHER -> b", false},
		{"X == IF Set = {1} THEN a ELSE b", "X == a", false}, // what is not a number, word or truth value is not known
		{`X == \A y \in S : On => y`, `X == \A y \in S : y`, true},
		{`X == (IF On THEN a \/ b ELSE c) /\ d`, `X == (a \/ b) /\ d`, true},
		{`X == On`, `X == Off`, false},
	} {
		if a, b := form1(t, test.a, constants), form1(t, test.b, constants); (a == b) != test.same {
			t.Errorf("%s\n%s\nhave the same form: %v\n%s\n%s", test.a, test.b, a == b, a, b)
		}
	}
}

// TestParserLosesNothing: all tokens of all modules are in what the parser reads, in order. The
// words of IF, LET and CASE and the bullets are left out: nodes stand for them.
func TestParserLosesNothing(t *testing.T) {
	structure := strings.Fields(`THEN ELSE IN : -> [] /\ \/`)
	files := 0
	defer func() {
		if files < 50 {
			t.Errorf("only %d modules", files)
		}
	}()
	for _, folder := range []string{".", "upstream"} {
		entries, err := UpstreamFiles.ReadDir(folder)
		if folder == "." {
			entries, err = Files.ReadDir(folder)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if !strings.HasSuffix(entry.Name(), ".tla") {
				continue
			}
			files++
			text, err := Reader(folder != ".")(entry.Name())
			if err != nil {
				t.Fatal(err)
			}
			all, err := tokens(string(text))
			if err != nil {
				t.Fatalf("%s: %v", entry.Name(), err)
			}
			var want, got []string
			for u := range unitsOf(all) {
				for _, token := range u {
					want = append(want, token.text)
				}
				for _, e := range (&parser{tokens: u}).units() {
					got = e.write(got)
				}
			}
			isStructure := func(s string) bool {
				return slices.Contains(structure, s) || s == "{|" || s == "|}" || s == ""
			}
			want, got = slices.DeleteFunc(want, isStructure), slices.DeleteFunc(got, isStructure)
			if !slices.Equal(want, got) {
				t.Errorf("%s: %s", entry.Name(), firstDifference(want, got))
			}
		}
	}
}

func firstDifference(a, b []string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("%v is read as %v", a[max(0, i-8):i+1], b[max(0, i-8):i+1])
		}
	}
	return fmt.Sprintf("%d tokens, %d are read", len(a), len(b))
}
