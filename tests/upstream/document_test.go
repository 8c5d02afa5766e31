package upstream

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// tests/upstream/README.md names every test of this package, and no test that is not
// there.

// listed is a row of the document.
type listed struct {
	line     int
	class    string   // the section's, for tests in Python
	upstream []string // names of upstream's tests
	ours     []string // names of ours
	twice    bool     // marked as run with expandable segments, too
}

func TestDocument(t *testing.T) {
	rows, tests := readDocument(t), readTests(t)
	var named []string
	seen := map[string]bool{}
	for _, row := range rows {
		for _, name := range row.upstream {
			if key := row.class + "." + name; seen[key] {
				t.Errorf("line %d: %s is listed twice", row.line, key)
			} else {
				seen[key] = true
			}
		}
		for _, name := range row.ours {
			twice, exists := tests[name]
			switch {
			case !exists:
				t.Errorf("line %d: there is no test %s", row.line, name)
			case row.twice != twice && ourName(row.class, row.upstream[0]) == name:
				t.Errorf("line %d: %s is run with plain and with expandable segments: %t, the document says %t", row.line, name, twice, row.twice)
			}
			if slices.ContainsFunc(row.upstream, func(u string) bool { return ourName(row.class, u) == name }) {
				named = append(named, name)
			}
		}
	}
	for name := range tests {
		if !slices.Contains(named, name) {
			t.Errorf("%s is in no row of the upstream test that it is named after", name)
		}
	}
}

// ourName is what an upstream test is called here: test_record_stream of class
// TestCuda is TestCuda_RecordStream, Suite.some_name in C++ TestSuite_SomeName.
func ourName(class, upstream string) string {
	if suite, name, found := strings.Cut(upstream, "."); found {
		class, upstream = suite, name
	} else {
		upstream = strings.TrimPrefix(upstream, "test_")
	}
	if !strings.HasPrefix(class, "Test") {
		class = "Test" + class
	}
	var name strings.Builder
	for word := range strings.SplitSeq(upstream, "_") {
		letters := []rune(word)
		letters[0] = unicode.ToUpper(letters[0])
		name.WriteString(string(letters))
	}
	return class + "_" + name.String()
}

var (
	quoted   = regexp.MustCompile("`([^`]+)`")
	ourStyle = regexp.MustCompile(`^Test\w+_\w+$`)
)

// readDocument reads the rows of all tables. Each must say something in its last
// column.
func readDocument(t *testing.T) (rows []listed) {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	class := ""
	for i, line := range strings.Split(string(text), "\n") {
		if heading := strings.TrimLeft(line, "#"); heading != line {
			class = strings.TrimSpace(heading)
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) != 3 || !strings.HasPrefix(cells[0], " `") {
			continue
		}
		row := listed{line: i + 1, class: class, twice: strings.Contains(cells[2], "`, both")}
		for _, name := range quoted.FindAllStringSubmatch(cells[0], -1) {
			row.upstream = append(row.upstream, name[1])
		}
		for _, name := range quoted.FindAllStringSubmatch(cells[2], -1) {
			if ourStyle.MatchString(name[1]) {
				row.ours = append(row.ours, name[1])
			}
		}
		if strings.TrimSpace(cells[2]) == "" {
			t.Errorf("line %d: neither a test nor a reason", row.line)
		}
		rows = append(rows, row)
	}
	return rows
}

// readTests lists the tests of this package, each with whether it is run with plain
// and with expandable segments.
func readTests(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	tests := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range parsed.Decls {
			f, ok := declared.(*ast.FuncDecl)
			if ok && strings.HasPrefix(f.Name.Name, "Test") && f.Name.Name != "TestDocument" {
				tests[f.Name.Name] = runsTwice(f)
			}
		}
	}
	return tests
}

// runsTwice reports whether a test goes through plainAndExpandable.
func runsTwice(f *ast.FuncDecl) (twice bool) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok && (name.Name == "plainAndExpandable" || name.Name == "storytellers") {
			twice = true
		}
		return !twice
	})
	return twice
}
