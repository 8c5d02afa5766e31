package upstream

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the documents have of this package anew")

// generated are the parts of documents that are written from this package. Such a part stands
// between two lines with its name; the rest of the document is written by hand.
var generated = []struct {
	document, name string
	text           func() string
}{
	{"deviations.md", "deviations", deviationTables},
	{"findings.md", "findings", findingTable},
	{"versions.md", "versions", versionTables},
}

// TestDocuments: the documents have what the data says. With -update it writes it there.
func TestDocuments(t *testing.T) {
	for _, g := range generated {
		file := filepath.Join("..", "docs", g.document)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		begin, end := "<!-- from upstream: "+g.name+" -->\n", "<!-- end: "+g.name+" -->\n"
		before, rest, found := strings.Cut(string(text), begin)
		_, after, closed := strings.Cut(rest, end)
		if !found || !closed {
			t.Errorf("%s lacks the lines\n%s%s", g.document, begin, end)
			continue
		}
		want := before + begin + "\n" + g.text() + "\n" + end + after
		if want == string(text) {
			continue
		}
		if !*update {
			t.Errorf("docs/%s is stale: run go test ./upstream -run TestDocuments -update", g.document)
		} else if err := os.WriteFile(file, []byte(want), 0o666); err != nil {
			t.Error(err)
		}
	}
}

// deviationTables are a list for each area.
func deviationTables() string {
	var out strings.Builder
	for i, area := range areas {
		if i > 0 {
			out.WriteString("\n")
		}
		fmt.Fprintf(&out, "## %s\n\n", area.Title)
		if area.Intro != "" {
			fmt.Fprintf(&out, "%s\n\n", area.Intro)
		}
		for _, d := range deviations {
			if d.Area() == area.Name {
				out.WriteString(deviationItem(&d))
			}
		}
	}
	return out.String()
}

// areas are the lists of docs/deviations.md, with what stands above each.
var areas = []struct{ Name, Title, Intro string }{
	{"order", "Order", ""},
	{"misuse", "Misuse", "Upstream answers much of this with a failed internal assertion, after it has " +
		"changed something."},
	{"settings", "Settings", "A setting that is accepted here means the same to upstream. Refused here, " +
		"and accepted there:"},
	{"streams", "Streams and events", ""},
	{"captures", "Captures", ""},
	{"pools", "Private pools", ""},
	{"checkpoints", "Checkpoints", ""},
	{"oversize", "Releasing oversize blocks", ""},
	{"expandable", "Expandable segments", ""},
	{"failures", "Failures of the driver", "A page that the driver can neither map nor release counts in " +
		"no statistic.\nIts release is tried again whenever the cache is emptied. So is that of another process's " +
		"pages that can be neither\nmade accessible nor unmapped again, with their addresses."},
	{"sharing", "Sharing between processes", ""},
	{"callers", "Callers at the same time", ""},
	{"history", "History", ""},
	{"kept", "Weaknesses that are kept", "Not deviations: what upstream does although it could do better, " +
		"and what is done here as well."},
}

func deviationItem(d *Deviation) string {
	upstream := []string{d.Upstream}
	if d.Later != "" {
		upstream = append(upstream, d.Later)
	}
	switch {
	case d.From != "" && d.Until != "":
		upstream = append(upstream, fmt.Sprintf("(%s to %s)", d.From, d.Until))
	case d.From != "":
		upstream = append(upstream, fmt.Sprintf("(since %s)", d.From))
	case d.Until != "":
		upstream = append(upstream, fmt.Sprintf("(until %s)", d.Until))
	}
	for _, n := range d.Findings {
		upstream = append(upstream, fmt.Sprintf("([%d](findings.md#%s))", n, findings[n-1].anchor(n)))
	}
	if !d.Kept() {
		upstream = append(upstream, "→", d.Ours)
	}
	return wrapped("- `" + d.ID + "`: " + strings.Join(upstream, " ") + " (" + strings.Join(holders(d), ", ") + ")")
}

// wrapped is an item of a list in lines of at most 120 columns.
func wrapped(item string) string {
	var out strings.Builder
	column := 0
	for i, word := range strings.Fields(item) {
		switch {
		case i == 0:
		case column+1+len([]rune(word)) > 120:
			out.WriteString("\n ")
			column = 1
			fallthrough
		default:
			out.WriteString(" ")
			column++
		}
		out.WriteString(word)
		column += len([]rune(word))
	}
	return out.String() + "\n"
}

// holders are the tests of a deviation, transcripts as links. Without any those that show it on
// PyTorch's binary are named.
func holders(d *Deviation) (all []string) {
	names := d.Held
	if len(names) == 0 {
		names = d.Shown
	}
	for _, name := range names {
		if strings.Contains(name, ".Test") {
			all = append(all, "`"+name+"`")
		} else {
			all = append(all, fmt.Sprintf("[%s](../%s)", filepath.Base(name), name))
		}
	}
	return all
}

// findingTable is the index of docs/findings.md.
func findingTable() string {
	var out strings.Builder
	out.WriteString("| # | finding | severity | reference | repaired in |\n|---|---|---|---|---|\n")
	for i, f := range findings {
		fmt.Fprintf(&out, "| [%d](#%s) | %s | %s | %s | %s |\n", i+1, f.anchor(i+1), f.Title, f.Severity, f.Ours, f.Repaired)
	}
	return out.String()
}

// anchor is the name by which the heading of finding n in docs/findings.md is linked to.
func (f *Finding) anchor(n int) string {
	heading := strings.ToLower(fmt.Sprintf("%d. %s", n, f.Title))
	kept := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(heading, "")
	return strings.ReplaceAll(kept, " ", "-")
}

// TestDeviations: each has an ID of its own, in an area that there is, in the order of the areas,
// a sentence, something that holds it, releases that are known, and findings that there are.
func TestDeviations(t *testing.T) {
	place := map[string]int{}
	for i, a := range areas {
		place[a.Name] = i
	}
	last, seen := 0, map[string]bool{}
	for _, d := range deviations {
		at, known := place[d.Area()]
		if !regexp.MustCompile(`^[a-z]+(/[a-z0-9]+(-[a-z0-9]+)*)$`).MatchString(d.ID) || seen[d.ID] || !known || at < last {
			t.Errorf("%q is no ID, is there twice, or stands in the wrong place", d.ID)
		}
		last, seen[d.ID] = at, true
		if d.Kept() != (d.Area() == "kept") || !strings.HasSuffix(strings.TrimSuffix(d.Upstream, ")"), ".") {
			t.Errorf("%s: a deviation says what upstream does and what the reference does; a kept weakness the first only", d.ID)
		}
		if len(d.Held)+len(d.Shown) == 0 {
			t.Errorf("%s: nothing holds it", d.ID)
		}
		for _, name := range []string{d.From, d.Until} {
			if _, found := Find(name); name != "" && !found {
				t.Errorf("%s: there is no release %s", d.ID, name)
			}
		}
		for _, n := range d.Findings {
			if n < 1 || n > len(findings) {
				t.Errorf("%s: there is no finding %d", d.ID, n)
			} else if r := findings[n-1].Repaired; d.Until != "" && r != NotRun && r != following(d.Until) {
				t.Errorf("%s ends with %s, but finding %d is repaired in %q", d.ID, d.Until, n, r)
			}
		}
	}
}

// TestFindings: docs/findings.md describes each under its number and title, with the script,
// and there are no other scripts.
func TestFindings(t *testing.T) {
	page, err := os.ReadFile("../docs/findings.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := regexp.MustCompile(`(?m)^### (\d+)\. (.*)\n\n\[([^]]*)\]\(\.\./tests/gpu/findings/([^)]*)\)`).FindAllStringSubmatch(string(page), -1)
	if len(sections) != len(findings) {
		t.Fatalf("%d sections, %d findings", len(sections), len(findings))
	}
	var scripts []string
	for i, f := range findings {
		s, n := sections[i], strconv.Itoa(i+1)
		if s[1] != n || s[2] != f.Title || s[3] != f.Script || s[4] != f.Script {
			t.Errorf("finding %s, %q with %s, has the section %q", n, f.Title, f.Script, s[1:])
		}
		if _, found := Find(f.Repaired); !found && f.Repaired != "" && f.Repaired != NotRun {
			t.Errorf("finding %s: there is no release %s", n, f.Repaired)
		}
		scripts = append(scripts, f.Script)
	}
	files, err := filepath.Glob("../tests/gpu/findings/*.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := filepath.Base(file); name != "run_all.py" && !slices.Contains(scripts, name) {
			t.Errorf("%s shows no finding", file)
		}
	}
	for _, name := range scripts {
		if _, err := os.Stat(filepath.Join("..", "tests", "gpu", "findings", name)); err != nil {
			t.Error(err)
		}
	}
}

// following is the release behind one; "" behind the newest.
func following(name string) string {
	all := Releases()
	i := slices.IndexFunc(all, func(r Release) bool { return r.Name == name })
	if i < 0 || i+1 == len(all) {
		return ""
	}
	return all[i+1].Name
}

// TestDeviationsAreHeld: the tests and transcripts that are named exist.
func TestDeviationsAreHeld(t *testing.T) {
	tests := map[string]string{} // the test files of the packages named so far
	for _, d := range deviations {
		for _, name := range slices.Concat(d.Held, d.Shown) {
			folder, test, isTest := strings.Cut(name, ".")
			if !isTest {
				if _, err := os.Stat(filepath.Join("..", name)); err != nil {
					t.Errorf("%s: %v", d.ID, err)
				}
				continue
			}
			if tests[folder] == "" {
				tests[folder] = testFiles(t, filepath.Join("..", folder))
			}
			if !strings.Contains(tests[folder], "\nfunc "+test+"(t *testing.T)") {
				t.Errorf("%s: package %s has no %s", d.ID, folder, test)
			}
		}
	}
}

// testFiles are those of a folder, as one text.
func testFiles(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// TestNamedDeviations: what code, tests and documents name as a deviation is one.
func TestNamedDeviations(t *testing.T) {
	var names []string
	for _, a := range areas {
		names = append(names, a.Name)
	}
	named := regexp.MustCompile(`(?i:deviations?:? |finding's row |\*\*Row\*\*: )` + "[\"`]?((?:" + strings.Join(names, "|") + `)/[a-z-]+[a-z])`)
	found := 0
	for _, folder := range []string{"alloc", "cmd", "conformance", "docs", "fakegpu", "model", "spec", "tests", "tla", "tools"} {
		err := filepath.WalkDir(filepath.Join("..", folder), func(file string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !slices.Contains([]string{".go", ".md", ".tla"}, filepath.Ext(file)) {
				return err
			}
			text, err := os.ReadFile(file)
			for _, m := range named.FindAllStringSubmatch(string(text), -1) {
				found++
				if FindDeviation(m[1]) == nil {
					t.Errorf("%s names the deviation %s, which there is not", file, m[1])
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 30 {
		t.Errorf("only %d deviations are named", found)
	}
}
