package tlc_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/model/tlc"
)

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ printed, want string }{
		{"12", "12"}, {"-3", "-3"}, {"TRUE", "TRUE"}, {"s1", "s1"}, {"aA_!zZ09", "aA_!zZ09"}, {"<<3>>", "<<3>>"}, {"<<<<2>>, 1>>", "<<<<2>>,1>>"}, {"(1 :> 2)", "(1:>2)"},
		{"<<" + strings.Repeat("{}, ", 200) + "1>>", "<<" + strings.Repeat("{},", 200) + "1>>"},
		{strings.Repeat("{", 100) + strings.Repeat("}", 100), strings.Repeat("{", 100) + strings.Repeat("}", 100)},
		{`"a b"`, `"a b"`}, {`"a\"b\\"`, `"a\"b\\"`},
		{"<<1, <<>>, 2>>", "<<1,<<>>,2>>"},
		{"{}", "{}"}, {"{10, 2, 1}", "{1,10,2}"},
		{"[ size |-> 1,\n    addr |-> {2, 1} ]", "[addr|->{1,2},size|->1]"},
		{`(2 :> "x" @@ 0 :> "y")`, `(0:>"y"@@2:>"x")`},
		{"{[b |-> 1, a |-> 2], [b |-> 0, a |-> 1]}", "{[a|->1,b|->0],[a|->2,b|->1]}"},
	} {
		got, err := tlc.Canonical(nil, []byte(c.printed))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v; want %s", c.printed, got, err, c.want)
		}
	}
}

func TestCanonicalErrors(t *testing.T) {
	for _, c := range []struct{ bad, want string }{
		{"", "at byte 0: a value is missing"}, {"{1", "at byte 2: , is missing"}, {"<<1, 2", "at byte 6: , is missing"},
		{"<<1 2>>", "at byte 4: , is missing"}, {"[a |-> ]", "at byte 7: a value is missing"}, {"[a -> 1]", "at byte 3: |-> is missing"},
		{`"abc`, "at byte 4: a string without an end"}, {`"abc\`, "at byte 6: a string without an end"}, {"1 2", "at byte 2: something follows the end"},
		{"(1 :> )", "at byte 6: a value is missing"}, {"(1 @@ 2)", "at byte 3: :> is missing"}, {"}", "at byte 0: a value is missing"},
		{"/", "at byte 0: a value is missing"}, {"(1 :> 2 @@ }", "at byte 11: a value is missing"}, {"- ", "at byte 2: a name is missing"},
		{strings.Repeat("{", 101) + strings.Repeat("}", 101), "at byte 100: nested too deep"},
	} {
		if got, err := tlc.Canonical(nil, []byte(c.bad)); err == nil || err.Error() != c.want {
			t.Errorf("%q is %s, %v; want %s", c.bad, got, err, c.want)
		}
	}
}

// TestWriter: what a Writer writes of each kind, and what is sorted.
func TestWriter(t *testing.T) {
	var w tlc.Writer
	w.Sequence(3, func(i int) { w.Int(7 - i) })
	w.Sequence(0, nil)
	w.Set(2, func(i int) { w.Sequence(1, func(int) { w.Int(1 - i) }) })
	if got, want := string(w.Text), "<<7,6,5>><<>>{<<0>>,<<1>>}"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
	if got := string(tlc.SortPieces([]byte("cbab"), []int{1, 3, 4}, ", ")); got != "b, ba, c" {
		t.Error(got)
	}
}

func TestCanonicalState(t *testing.T) {
	for _, c := range []struct{ printed, want string }{
		{"x = 1", "x=1"},
		{"/\\ y = {}\n/\\ x = <<1>>", "x=<<1>>\ny={}"},
		{"/\\ b = { [ u |-> 1,\n    s |-> 2 ] }\n/\\ a = 1", "a=1\nb={[s|->2,u|->1]}"},
	} {
		got, err := tlc.CanonicalState(nil, []byte(c.printed))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v; want %s", c.printed, got, err, c.want)
		}
	}
	for _, bad := range []string{"", "x", "x =", "/\\ x = 1 y", "/\\ = 1"} {
		if got, err := tlc.CanonicalState(nil, []byte(bad)); err == nil {
			t.Errorf("%q is %s", bad, got)
		}
	}
}

func TestCanonicalLabel(t *testing.T) {
	for _, c := range []struct{ printed, want string }{
		{"Pop", "Pop"}, {"Malloc(1, 3)", "Malloc(1,3)"}, {"Put({2, 1}, <<>>)", "Put({1,2},<<>>)"}, {"Put(1, 2, 3)", "Put(1,2,3)"},
	} {
		if got, err := tlc.CanonicalLabel(nil, []byte(c.printed)); err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v; want %s", c.printed, got, err, c.want)
		}
	}
	for _, bad := range []string{"", "(1)", "Pop(", "Pop()", "Pop(1", "Pop(1) 2"} {
		if got, err := tlc.CanonicalLabel(nil, []byte(bad)); err == nil {
			t.Errorf("%q is %s", bad, got)
		}
	}
}

// TestCanonicalOnce: however a value is printed, its canonical text is the same, and
// canonical already; a Writer writes the same.
func TestCanonicalOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		elements := rapid.SliceOfNDistinct(rapid.IntRange(0, 200), 0, 8, rapid.ID[int]).Draw(t, "elements")
		var w tlc.Writer
		w.Set(len(elements), func(i int) {
			w.Raw("[a|->")
			w.Int(elements[i])
			w.Raw(",z|->")
			w.Bool(elements[i]%2 == 0)
			w.Raw("]")
		})
		shuffled := rapid.Permutation(elements).Draw(t, "shuffled")
		var printed bytes.Buffer
		for i, e := range shuffled {
			fmt.Fprintf(&printed, "%s[z |-> %s,\n a |-> %d]", separator(i), strings.ToUpper(fmt.Sprint(e%2 == 0)), e)
		}
		once, err := tlc.Canonical(nil, []byte("{"+printed.String()+"}"))
		if err != nil {
			t.Fatal(err)
		}
		twice, err := tlc.Canonical(nil, once)
		if err != nil || !bytes.Equal(once, twice) || !slices.Equal(once, w.Text) {
			t.Fatalf("%s\n%s\n%s %v", w.Text, once, twice, err)
		}
	})
}

func separator(i int) string {
	if i == 0 {
		return ""
	}
	return ", "
}

func FuzzCanonicalState(f *testing.F) {
	f.Add([]byte("/\\ a = {[b |-> 1], <<>>}\n/\\ c = (0 :> \"x\")"))
	f.Fuzz(func(t *testing.T, printed []byte) {
		once, err := tlc.CanonicalState(nil, printed)
		if err != nil {
			return
		}
		if twice, err := tlc.CanonicalState(nil, once); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%q is %q, which is %q, %v", printed, once, twice, err)
		}
	})
}
