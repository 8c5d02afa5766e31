package mutants

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// tally counts what became of mutants.
type tally struct{ killed, argued, survived int }

// tables have the mutants of logs by room and by kind. A mutant that several logs have counts once, as the last says.
type tables struct {
	rooms, kinds map[string]*tally
}

func newTables(files []string) (*tables, error) {
	outcomes := map[string]string{}
	for _, file := range files {
		log, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(log)) {
			if name, outcome, is := readOutcome(line); is {
				outcomes[name] = outcome
			}
		}
	}
	t := &tables{map[string]*tally{}, map[string]*tally{}}
	for name, outcome := range outcomes {
		room, kind, _ := strings.Cut(name, "\t")
		kind, _, _ = strings.Cut(kind, "\t")
		t.count(t.rooms, room, outcome)
		t.count(t.kinds, kind, outcome)
	}
	return t, nil
}

// readOutcome reads a line that result.count has written. What stands before it in the line is left out.
func readOutcome(line string) (name, outcome string, is bool) {
	parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
	if len(parts) < 4 {
		return "", "", false
	}
	parts = parts[len(parts)-4:]
	file, _, atLine := strings.Cut(parts[0], ":")
	kind, text, isKind := strings.Cut(parts[2], ": ")
	if !atLine || !isKind {
		return "", "", false
	}
	room := path.Dir(file)
	if extension := path.Ext(file); extension != ".go" {
		room += extension
	}
	return strings.Join([]string{room, kind, parts[1], text}, "\t"), parts[3], true
}

func (t *tables) count(of map[string]*tally, name, outcome string) {
	if of[name] == nil {
		of[name] = &tally{}
	}
	switch {
	case strings.HasPrefix(outcome, "SURVIVES"):
		of[name].survived++
	case strings.HasPrefix(outcome, "argued: "):
		of[name].argued++
	default:
		of[name].killed++
	}
}

func (t *tables) String() string {
	return table("room", t.rooms) + "\n" + table("operator", t.kinds)
}

// table is one in Markdown, those with most survivors first, and the sum.
func table(of string, rows map[string]*tally) string {
	var out strings.Builder
	fmt.Fprintf(&out, "| %s | killed | argued | survive |\n|---|--:|--:|--:|\n", of)
	names := slices.SortedFunc(maps.Keys(rows), func(a, b string) int {
		return cmp.Or(cmp.Compare(rows[b].survived, rows[a].survived), cmp.Compare(a, b))
	})
	var all tally
	for _, name := range names {
		r := rows[name]
		fmt.Fprintf(&out, "| %s | %d | %d | %d |\n", name, r.killed, r.argued, r.survived)
		all.killed, all.argued, all.survived = all.killed+r.killed, all.argued+r.argued, all.survived+r.survived
	}
	fmt.Fprintf(&out, "| all | %d | %d | %d |\n", all.killed, all.argued, all.survived)
	return out.String()
}

// TestTables: what a log says is counted by room and by operator, what a later log says instead of it.
func TestTables(t *testing.T) {
	dir := t.TempDir()
	logs := []string{
		"== began\nalloc: 2 mutants\na/b.go:3\ta f\tdrop: x: y\tSURVIVES: no test reaches it\na/b.go:4\ta f\tdrop: z\ta fails: TestX\n",
		"a:c\ta/c.c:1\ta c.c g\tforce: x\targued: it is only said\na/b.go:7\ta f\tdrop: x: y\ta fails: TestY\na/b.go:9\ta f\thalf: q\tSURVIVES\n",
	}
	var files []string
	for i, log := range logs {
		files = append(files, path.Join(dir, fmt.Sprint(i)))
		if err := os.WriteFile(files[i], []byte(log), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := newTables(files)
	if err != nil {
		t.Fatal(err)
	}
	const want = `| room | killed | argued | survive |
|---|--:|--:|--:|
| a | 2 | 0 | 1 |
| a.c | 0 | 1 | 0 |
| all | 2 | 1 | 1 |

| operator | killed | argued | survive |
|---|--:|--:|--:|
| half | 0 | 0 | 1 |
| drop | 2 | 0 | 0 |
| force | 0 | 1 | 0 |
| all | 2 | 1 | 1 |
`
	if got.String() != want {
		t.Errorf("%v", got)
	}
}
