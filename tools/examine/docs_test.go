package examine

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gaugeblock/conformance"
	"gaugeblock/fakegpu/cuda"
)

// page is tools/examine/README.md.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPageHasEveryWord: the words of contracts, the calls of the line protocol, and the areas.
func TestPageHasEveryWord(t *testing.T) {
	text := page(t)
	words := map[string]string{"align=N": "word of a contract", "keeps=SIZE": "word of a contract"}
	for _, w := range contractWords {
		words[w.word] = "word of a contract"
	}
	for call := range lineCalls {
		words[call] = "call of the line protocol"
	}
	for _, area := range []string{"late", "cards", "tight", "large", "handles", "threads", "events", "rows", "fan", "resize", "sleep"} {
		words[area] = "area"
	}
	for word, what := range words {
		if !strings.Contains(text, "`"+word+"`") {
			t.Errorf("tools/examine/README.md lacks the %s %s", what, word)
		}
	}
}

// TestPageShowsTheReport: what the page prints of naive.cc is what is printed.
func TestPageShowsTheReport(t *testing.T) {
	_, shown, _ := strings.Cut(page(t), "prints\n\n```\n")
	shown, _, _ = strings.Cut(shown, "```")
	report, err := Search{Library: compile(t, "naive.cc"), Level: conformance.Caching, Directory: t.TempDir(), Operations: 3000, Build: scratch}.Run()
	if err != nil {
		t.Fatal(err)
	}
	directories := regexp.MustCompile(`(trace|the same): \S*/`)
	text := directories.ReplaceAllString(report.String(), "$1: ")
	if !strings.HasPrefix(text, shown) || len(shown) < 500 {
		t.Errorf("tools/examine/README.md shows\n%s\nwhat is printed is\n%s", shown, text)
	}
}

// TestRustLibrary: the functions can as well be written in Rust.
func TestRustLibrary(t *testing.T) {
	build(t)
	library := filepath.Join(t.TempDir(), "libnaive.so")
	c := exec.Command(tool(t, "rustc"), "--crate-type", "cdylib", "-L", scratch, "-l", "cudart", filepath.Join("testdata", "libraries", "naive.rs"), "-o", library)
	if err := cuda.Run(c); err != nil {
		t.Fatal(err)
	}
	report, err := Search{Library: library, Level: conformance.Safe, Operations: 2000, Build: scratch}.Run()
	if err != nil {
		t.Fatal(err)
	}
	checkReport(t, report, nil, 0)
}
