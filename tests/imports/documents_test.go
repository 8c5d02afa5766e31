package imports

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	mostWords   = 22_000 // of the guide: what a reader can be asked to look through
	mostColumns = 120
)

// documents are the Markdown files of the project, by their paths from the top.
func documents(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "build"):
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".md":
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		from, err := filepath.Rel(root, name)
		pages[filepath.ToSlash(from)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// proseOf are the lines of a page that are neither code nor rows of tables, which Markdown
// cannot break, with empty lines in place of the others.
func proseOf(page string) (lines []string) {
	fenced := false
	for line := range strings.SplitSeq(page, "\n") {
		fence := strings.HasPrefix(line, "```")
		if fence {
			fenced = !fenced
		}
		if fence || fenced || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "|") {
			line = ""
		}
		lines = append(lines, line)
	}
	return lines
}

// word is what counts as one: the bars of tables do not.
var word = regexp.MustCompile(`\S*[\pL\pN]\S*`)

// TestGuideIsShort: docs without its lab notes has a length that somebody reads.
func TestGuideIsShort(t *testing.T) {
	words := 0
	for name, page := range documents(t) {
		if path.Dir(name) == "docs" {
			words += len(word.FindAllString(page, -1))
		}
	}
	if words > mostWords || words < mostWords/4 {
		t.Errorf("the pages of docs have %d words, want at most %d", words, mostWords)
	}
}

// TestLinesOfDocuments: prose has at most 120 columns. A quotation and a long link cannot be
// broken.
func TestLinesOfDocuments(t *testing.T) {
	for name, page := range documents(t) {
		for i, line := range proseOf(page) {
			if len([]rune(line)) > mostColumns && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, ">") && !strings.Contains(line, "](") {
				t.Errorf("%s:%d has %d columns", name, i+1, len([]rune(line)))
			}
		}
	}
}

// TestLabNotes: a note says when, at which commit and by which command something was measured.
func TestLabNotes(t *testing.T) {
	notes := 0
	for name, page := range documents(t) {
		if path.Dir(name) != "docs/lab" {
			continue
		}
		notes++
		for _, must := range []string{`(?m)^- Date: 20\d\d-\d\d-\d\d$`, `(?m)^- Commit: .*\b[0-9a-f]{7}\b`, "(?m)^- Command:"} {
			if !regexp.MustCompile(must).MatchString(page) {
				t.Errorf("%s has no line %s", name, must)
			}
		}
	}
	if notes == 0 {
		t.Error("no notes")
	}
}

var (
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading    = regexp.MustCompile(`^#+ +(.*)$`)
	linkTarget = regexp.MustCompile(`\]\([^)]*\)`)
	notAnchor  = regexp.MustCompile(`[^\pL\pN _-]`)
)

// anchorsOf are the names by which the headings of a page are linked to.
func anchorsOf(page string) (anchors []string) {
	for _, line := range proseOf(page) {
		if m := heading.FindStringSubmatch(line); m != nil {
			words := linkTarget.ReplaceAllString(m[1], "")
			kept := notAnchor.ReplaceAllString(strings.ToLower(words), "")
			anchors = append(anchors, strings.ReplaceAll(kept, " ", "-"))
		}
	}
	return anchors
}

// TestLinks: what a document links to is there, the heading too.
func TestLinks(t *testing.T) {
	pages := documents(t)
	anchors := map[string][]string{}
	for name, page := range pages {
		anchors[name] = anchorsOf(page)
	}
	checked := 0
	for name, page := range pages {
		for i, line := range strings.Split(page, "\n") {
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				if strings.Contains(m[1], "://") {
					continue
				}
				checked++
				file, anchor, _ := strings.Cut(m[1], "#")
				target := name
				if file != "" {
					target = path.Join(path.Dir(name), file)
				}
				if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(target))); err != nil {
					t.Errorf("%s:%d: %s is not there", name, i+1, m[1])
				} else if anchor != "" && pages[target] != "" && !slices.Contains(anchors[target], anchor) {
					t.Errorf("%s:%d: %s has no heading #%s", name, i+1, target, anchor)
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d links found", checked)
	}
}
