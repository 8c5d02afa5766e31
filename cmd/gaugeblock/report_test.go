package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/snapshot/record"
)

var twoStreams, _ = filepath.Abs("../../snapshot/tell/testdata/snapshots/two_streams.default.nolimit.pickle.gz")

// TestReport: the page is written whole or not at all.
func TestReport(t *testing.T) {
	dir := t.TempDir()
	damaged := filepath.Join(dir, "damaged.pickle")
	if err := os.WriteFile(damaged, []byte("\x80\x04}q"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		args   []string
		status int
		says   string   // on standard error
		page   []string // what is in it; nil: there is none
	}{
		{"a page", []string{twoStreams}, statusExact, "", []string{`"source":"two_streams.default.nolimit.pickle.gz"`, `"verdict":"`}},
		{"no other settings", []string{twoStreams, "--no-whatif"}, statusExact, "", []string{`"whatif":null`}},
		{"under a limit", []string{twoStreams, "--limit", "300MiB"}, statusExact, "", []string{`"limit":314572800`}},
		{"no such file", []string{"missing.pickle"}, statusBadInput, "missing.pickle", nil},
		{"not a snapshot", []string{damaged}, statusBadInput, "damaged.pickle: ", nil},
		{"no such device", []string{twoStreams, "--device", "3", "--no-whatif"}, statusBadInput, "nothing of this device", nil},
		{"a trace", []string{"../../tests/golden/testdata/basic-1000.jsonl.gz"}, statusBadInput, "a trace, not a memory snapshot", nil},
		{"a negative device", []string{twoStreams, "--device=-2"}, statusBadInput, "--device=-2 is negative", nil},
		{"on a smaller device", []string{twoStreams, "--device-memory", "100MiB"}, statusExact, "", []string{`"happened":"Predicted: out of memory`}},
		{"a limit by units of 1000", []string{twoStreams, "--limit", "1GB"}, statusExact, "was 1GiB meant?", []string{`"limit":1000000000`}},
		{"not a limit", []string{twoStreams, "--limit", "much"}, statusBadInput, `"much" is not a limit`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			out := filepath.Join(dir, "report.html")
			var stdout, stderr bytes.Buffer
			status := run(append([]string{"report", "-o", out}, test.args...), strings.NewReader(""), &stdout, &stderr)
			printed := map[bool]string{true: out + "\n"}[test.status == statusExact]
			if status != test.status || !strings.Contains(stderr.String(), test.says) || stdout.String() != printed {
				t.Errorf("status %d, says %q, prints %q", status, stderr.String(), stdout.String())
			}
			left, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			if want := min(1, len(test.page)); len(left) != want {
				t.Fatalf("%d files are left, want %d", len(left), want)
			}
			for _, part := range test.page {
				if page, err := os.ReadFile(out); err != nil || !strings.Contains(string(page), part) {
					t.Errorf("%s is not in the page (%v)", part, err)
				}
			}
		})
	}
}

// reportTo writes a page.
func reportTo(out string) (status int, says string) {
	var stdout, stderr bytes.Buffer
	status = run([]string{"report", twoStreams, "--no-whatif", "-o", out}, strings.NewReader(""), &stdout, &stderr)
	return status, stderr.String()
}

// TestReportModes: a file that is replaced keeps its mode, and a new one has that of the umask.
func TestReportModes(t *testing.T) {
	dir := t.TempDir()
	replaced, made, other := filepath.Join(dir, "replaced"), filepath.Join(dir, "made"), filepath.Join(dir, "other")
	if err := errors.Join(os.WriteFile(replaced, nil, 0o600), os.Chmod(replaced, 0o640), os.WriteFile(other, nil, 0o666)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{replaced, made} {
		if status, says := reportTo(path); status != statusExact {
			t.Fatalf("status %d, %s", status, says)
		}
	}
	mode := func(path string) os.FileMode {
		there, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return there.Mode().Perm()
	}
	if mode(replaced) != 0o640 || mode(made) != mode(other) {
		t.Errorf("the modes are %v and %v, want 0640 and, as the umask says, %v", mode(replaced), mode(made), mode(other))
	}
}

// TestReportPlaces: what is no file is not replaced, and a link leads to the page.
func TestReportPlaces(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Symlink("loop", "loop"); err != nil {
		t.Fatal(err)
	}
	t.Run("a socket", func(t *testing.T) { // no device: a mistake would replace it for all
		path := filepath.Join(t.TempDir(), "s")
		socket, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer socket.Close()
		status, says := reportTo(path)
		there, err := os.Stat(path)
		if status != statusBadInput || err != nil || there.Mode().Type() != os.ModeSocket {
			t.Errorf("status %d, %s: the socket is now %v (%v)", status, says, there, err)
		}
	})
	t.Run("a link to a file", func(t *testing.T) {
		dir := t.TempDir()
		page, link := filepath.Join(dir, "page"), filepath.Join(dir, "link")
		if err := errors.Join(os.WriteFile(page, nil, 0o600), os.Symlink("page", link)); err != nil {
			t.Fatal(err)
		}
		status, says := reportTo(link)
		text, err := os.ReadFile(page)
		if status != statusExact || err != nil || len(text) == 0 {
			t.Errorf("status %d, %s: the page has %d bytes (%v)", status, says, len(text), err)
		}
	})
	t.Run("a link to nothing yet", func(t *testing.T) {
		dir := t.TempDir()
		page, link := filepath.Join(dir, "page"), filepath.Join(dir, "link")
		if err := os.Symlink("page", link); err != nil {
			t.Fatal(err)
		}
		status, says := reportTo(link)
		there, err := os.Lstat(link)
		text, err2 := os.ReadFile(page)
		if err := errors.Join(err, err2); status != statusExact || err != nil || there.Mode().Type() != os.ModeSymlink || len(text) == 0 {
			t.Errorf("status %d, %s: the page has %d bytes (%v)", status, says, len(text), err)
		}
	})
	t.Run("an open pipe", func(t *testing.T) {
		from, to, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer from.Close()
		read := make(chan int)
		go func() {
			text, _ := io.ReadAll(from)
			read <- len(text)
		}()
		status, says := reportTo(fmt.Sprintf("/proc/self/fd/%d", to.Fd()))
		to.Close()
		if n := <-read; status != statusExact || n < 1000 {
			t.Errorf("status %d, %s: %d bytes were read", status, says, n)
		}
	})
	for _, test := range []struct{ name, out, says string }{
		{"a link to itself", "loop", "loop cannot be written: too many levels of symbolic links"},
		{"a directory", ".", ". cannot be written: is a directory"},
		{"no such directory", "nowhere/page.html", "nowhere/page.html cannot be written: no such file or directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if status, says := reportTo(test.out); status != statusBadInput || !strings.Contains(says, test.says) {
				t.Errorf("status %d, says %q, want %q", status, says, test.says)
			}
		})
	}
}

// TestReportAgain: the same snapshot gives the same page, byte for byte, also when it
// is read from standard input and written to standard output.
func TestReportAgain(t *testing.T) {
	text, err := os.ReadFile(twoStreams)
	if err != nil {
		t.Fatal(err)
	}
	var pages [2]string
	for i := range pages {
		var stdout, stderr bytes.Buffer
		if status := run([]string{"report", "-", "-o", "-"}, bytes.NewReader(text), &stdout, &stderr); status != statusExact {
			t.Fatalf("status %d: %s", status, stderr.String())
		}
		pages[i] = stdout.String()
	}
	if diff := cmp.Diff(pages[0], pages[1]); diff != "" || !strings.HasPrefix(pages[0], "<!doctype html>") {
		t.Error(diff)
	}
}

// copied copies a snapshot into a folder of its own.
func copied(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := copyFile(twoStreams, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestReportInput: the input is never overwritten, under whatever name it is written to.
func TestReportInput(t *testing.T) {
	dir := copied(t, "a.pickle.gz", "b.pickle.gz")
	t.Chdir(dir)
	if err := errors.Join(os.Symlink("a.pickle.gz", "link"), os.Link("a.pickle.gz", "hard")); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile("a.pickle.gz")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"a.pickle.gz", "-o", "a.pickle.gz"}, {"a.pickle.gz", "-o", "./a.pickle.gz"}, {"a.pickle.gz", "-o", "link"},
		{"link", "-o", "a.pickle.gz"}, {"a.pickle.gz", "-o", "hard"}, {"b.pickle.gz", "a.pickle.gz", "-o", "hard"},
		{".", "-o", "a.pickle.gz"}, {"-", "-o", "link"},
	} {
		stdin, err := os.Open("a.pickle.gz")
		if err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		status := run(append([]string{"report", "--no-whatif"}, args...), stdin, &stdout, &stderr)
		stdin.Close()
		after, err := os.ReadFile("a.pickle.gz")
		if status != statusBadInput || !strings.Contains(stderr.String(), "is the input, and is not overwritten") || err != nil || !bytes.Equal(before, after) {
			t.Errorf("%q: status %d, %s (%v); the input is unchanged: %v", args, status, &stderr, err, bytes.Equal(before, after))
		}
	}
}

// TestReportDefaultName: without -o the page has the name of the snapshot, replaces an
// earlier page, and nothing else.
func TestReportDefaultName(t *testing.T) {
	dir := copied(t, "a.pickle.gz")
	t.Chdir(t.TempDir())
	report := func(path string) (int, string) {
		var stdout, stderr bytes.Buffer
		status := run([]string{"report", "--no-whatif", path}, strings.NewReader(""), &stdout, &stderr)
		return status, stdout.String() + stderr.String()
	}
	for range 2 {
		if status, says := report(filepath.Join(dir, "a.pickle.gz")); status != statusExact || says != "a.html\n" {
			t.Fatalf("status %d, %q", status, says)
		}
	}
	if err := os.WriteFile("a.html", []byte("<p>mine</p>"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, says := report(filepath.Join(dir, "a.pickle.gz")); status != statusBadInput || !strings.Contains(says, "name another file with -o") {
		t.Errorf("status %d, %q", status, says)
	}
	if text, err := os.ReadFile("a.html"); err != nil || string(text) != "<p>mine</p>" {
		t.Errorf("%q, %v", text, err)
	}
	if err := errors.Join(os.Remove("a.html"), os.Mkdir("a.html", 0o755)); err != nil {
		t.Fatal(err)
	}
	if status, says := report(filepath.Join(dir, "a.pickle.gz")); status != statusBadInput || !strings.Contains(says, "a.html") {
		t.Errorf("status %d, %q", status, says)
	}
	t.Chdir(dir)
	if status, says := report("."); status != statusExact || says != filepath.Base(dir)+".html\n" {
		t.Errorf("status %d, %q", status, says)
	}
}

// TestReportTwo: two snapshots are compared.
func TestReportTwo(t *testing.T) {
	other := "../../snapshot/tell/testdata/snapshots/compiled.default.nolimit.pickle.gz"
	var stdout, stderr bytes.Buffer
	status := run([]string{"report", twoStreams, other, "-o", "-"}, strings.NewReader(""), &stdout, &stderr)
	for _, part := range []string{`"compared":{"a":"two_streams`, `"verdict":"At its peak compiled.`} {
		if status != statusExact || !strings.Contains(stdout.String(), part) {
			t.Errorf("status %d, %s: no %s", status, &stderr, part)
		}
	}
	// Two of one name are told apart by their folders.
	first, second := copied(t, "a.pickle.gz"), copied(t, "a.pickle.gz")
	stdout.Reset()
	status = run([]string{"report", "--no-whatif", filepath.Join(first, "a.pickle.gz"), filepath.Join(second, "a.pickle.gz"), "-o", "-", "--format", "json"}, strings.NewReader(""), &stdout, &stderr)
	for _, folder := range []string{first, second} {
		if title := fmt.Sprintf(`"title":%q`, filepath.Join(folder, "a.pickle.gz")); status != statusExact || !strings.Contains(strings.ReplaceAll(stdout.String(), `": "`, `":"`), title) {
			t.Errorf("status %d, no %s: %.300s", status, title, &stdout)
		}
	}
}

// TestReportRanks: a folder is the ranks of a run. A FIFO in it is not waited for, and a rank
// that cannot be read is said.
func TestReportRanks(t *testing.T) {
	dir := copied(t, "rank_0.pickle.gz", "rank_10.pickle.gz", "rank_9.pickle.gz", "notes.txt")
	if err := syscall.Mkfifo(filepath.Join(dir, "rank_3.pickle"), 0o600); err != nil {
		t.Fatal(err)
	}
	report := func() (int, string, string) {
		var stdout, stderr bytes.Buffer
		status := run([]string{"report", dir, "--no-whatif", "-o", "-"}, strings.NewReader(""), &stdout, &stderr)
		return status, stdout.String(), stderr.String()
	}
	status, page, says := report()
	for _, part := range []string{`"verdict":"Of 3 ranks rank 0 is the worst`, `"number":0,`, `"number":10,`} {
		if status != statusExact || !strings.Contains(page, part) {
			t.Errorf("status %d, %s: no %s", status, says, part)
		}
	}
	if first, last := strings.Index(page, `"number":9,`), strings.Index(page, `"number":10,`); first > last {
		t.Error("the ranks are not in order")
	}
	if err := os.WriteFile(filepath.Join(dir, "rank_4.pickle"), []byte("no pickle"), 0o600); err != nil {
		t.Fatal(err)
	}
	status, page, says = report()
	if status != statusBadInput || !strings.Contains(says, "rank_4.pickle: this is no memory snapshot: neither a pickle") || !strings.Contains(page, "Of 3 ranks") || !strings.Contains(page, "rank_4.pickle is left out") {
		t.Errorf("status %d, %s", status, says)
	}
	empty := t.TempDir()
	var stdout, stderr bytes.Buffer
	if status := run([]string{"report", empty}, strings.NewReader(""), &stdout, &stderr); status != statusBadInput || !strings.Contains(stderr.String(), "no snapshot (.pickle, .pkl, .json) in or below this folder") {
		t.Errorf("status %d, %s", status, &stderr)
	}
}

// TestReportFolder: with a folder behind -o any rank of a run can be opened: there is a page of each, and
// one of all that leads to them. What is no page is not replaced.
func TestReportFolder(t *testing.T) {
	dir := copied(t, "rank_0.pickle.gz", "rank_10.pickle.gz", "odd.pickle.gz")
	out := filepath.Join(t.TempDir(), "pages") + "/"
	report := func() (int, string) {
		var stdout, stderr bytes.Buffer
		status := run([]string{"report", dir, "--no-whatif", "-o", out}, strings.NewReader(""), &stdout, &stderr)
		return status, stdout.String() + stderr.String()
	}
	for range 2 {
		if status, says := report(); status != statusExact || !strings.HasPrefix(says, filepath.Join(out, "index.html")+"\nNo rank of 3 ran out of memory: the worst reserves most, 592.00 MiB") {
			t.Fatalf("status %d, %s", status, says)
		}
	}
	index, err := os.ReadFile(filepath.Join(out, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(out)
	if err != nil || len(left) != 4 {
		t.Fatalf("%v, %v", left, err)
	}
	for _, page := range []struct{ name, source string }{{"rank0.html", "rank 0, rank_0.pickle.gz"}, {"rank10.html", "rank 10, rank_10.pickle.gz"}, {"file1.html", "odd.pickle.gz, odd.pickle.gz"}} {
		text, err := os.ReadFile(filepath.Join(out, page.name))
		if err != nil || !strings.Contains(string(text), `"source":"`+page.source+`"`) || !strings.Contains(string(index), `"page":"`+page.name+`"`) {
			t.Errorf("%s: %v, %d bytes", page.name, err, len(text))
		}
	}
	if err := errors.Join(os.WriteFile(filepath.Join(out, "rank10.html"), []byte("<p>mine</p>"), 0o600), os.Remove(filepath.Join(out, "rank0.html"))); err != nil {
		t.Fatal(err)
	}
	if status, says := report(); status != statusBadInput || !strings.Contains(says, "is not a page of gaugeblock: name another folder") {
		t.Errorf("status %d, %s", status, says)
	}
	if left, err := os.ReadDir(out); err != nil || len(left) != 3 {
		t.Errorf("pages were written all the same: %v, %v", left, err)
	}
	mine := filepath.Join(out, "rank10.html")
	if err := errors.Join(os.Remove(mine), os.Mkdir(mine, 0o700)); err != nil {
		t.Fatal(err)
	}
	if status, says := report(); status != statusBadInput || !strings.Contains(says, mine+" cannot be written: is a directory") {
		t.Errorf("a folder where a page is to be: status %d, %s", status, says)
	}
}

// TestReportFolderReadsOnce: each snapshot is read once, so it may come from a pipe.
func TestReportFolderReadsOnce(t *testing.T) {
	dir := copied(t, "rank_0.pickle.gz")
	data, err := os.ReadFile(filepath.Join(dir, "rank_0.pickle.gz"))
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "pages") + "/"
	args := []string{"report", "--no-whatif", "-o", out}
	for i := range 3 {
		pipe := filepath.Join(dir, fmt.Sprintf("rank%d.pickle.gz", i))
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, pipe)
		go func() {
			_ = errors.Join(os.WriteFile(pipe, data, 0o600), os.Remove(pipe)) // it waits until it is opened to be read
		}()
	}
	var stdout, stderr bytes.Buffer
	if status := run(args, strings.NewReader(""), &stdout, &stderr); status != statusExact {
		t.Errorf("status %d, %s", status, &stderr)
	}
	if left, err := os.ReadDir(out); err != nil || len(left) != 4 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestReportFolderOfIterations: the pages are those of the last iteration that ran out of memory, also of the ranks that
// were read before the one that did.
func TestReportFolderOfIterations(t *testing.T) {
	const runs = "../../snapshot/tell/testdata/snapshots/"
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "pages")
	for name, from := range map[string]string{
		"step1/rank0": "compiled.default.nolimit", "step1/rank1": "compiled.default.nolimit",
		"step2/rank0": "two_streams.default.nolimit", "step2/rank1": "gpt_oom7.default.limit", "step2/rank2": "two_streams.default.nolimit",
		"step3/rank0": "compiled.default.nolimit", "step3/rank1": "compiled.default.nolimit",
	} {
		data, err := os.ReadFile(runs + from + ".pickle.gz")
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700), os.WriteFile(filepath.Join(dir, name)+".pickle.gz", data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	var stdout, stderr bytes.Buffer
	if status := run([]string{"report", dir, "-o", out + "/"}, strings.NewReader(""), &stdout, &stderr); status != statusExact {
		t.Fatalf("status %d, %s", status, &stderr)
	}
	left, err := os.ReadDir(out)
	if err != nil || len(left) != 4 {
		t.Fatalf("%v, %v", left, err)
	}
	for name, part := range map[string]string{
		"rank0.html": `"happened":"No request fails: 592.00 MiB reserved`, "rank1.html": `"happened":"Out of memory at request 7187`, "rank2.html": `"happened":"No request fails: 592.00 MiB reserved`,
		"index.html": `"page":"rank2.html"`,
	} {
		if text, err := os.ReadFile(filepath.Join(out, name)); err != nil || !strings.Contains(string(text), part) {
			t.Errorf("%s: %v, %d bytes", name, err, len(text))
		}
	}
}

// TestReportCategories: the user's own patterns divide the memory, in the page, in JSON and in CSV.
func TestReportCategories(t *testing.T) {
	const small = "../../snapshot/report/testdata/small.json"
	report := func(args ...string) (int, string) {
		var stdout, stderr bytes.Buffer
		status := run(append([]string{"report", small, "--no-whatif", "-o", "-"}, args...), strings.NewReader(""), &stdout, &stderr)
		return status, stdout.String() + stderr.String()
	}
	own := []string{"--category", "model=functional\\.py:10 linear$", "--category", "steps=^train\\.py:4. step", "--category", "model=forward", "--category", "steps=forward"}
	status, text := report(append(own, "--format", "json")...)
	var page struct {
		Reports []struct {
			OwnCategories bool
			Categories    []struct {
				Name, Reason string
				Max          uint64
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &page); err != nil || status != statusExact || !page.Reports[0].OwnCategories {
		t.Fatalf("status %d, %v", status, err)
	}
	sizes := map[string]uint64{}
	for _, c := range page.Reports[0].Categories {
		sizes[c.Name] = c.Max
	}
	// 5 MiB and 1 KiB of linear; of step three blocks, of which the first stays.
	if want := map[string]uint64{"model": 5<<20 + 1<<10, "steps": 34603520, "none of the patterns": 0}; !maps.Equal(sizes, want) {
		t.Errorf("%v, want %v", sizes, want)
	}
	status, text = report(append(own, "--format", "csv")...)
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || status != statusExact || len(rows) < 3 || rows[0][4] != "category" {
		t.Fatalf("status %d, %v: %s", status, err, text)
	}
	for _, row := range rows[1:] {
		if want := map[string]string{"forward": "model", "step": "steps"}[row[1]]; row[4] != want {
			t.Errorf("%q, want %s", row, want)
		}
	}
	for _, wrong := range []string{"x", "=x", "x=", "x=("} {
		if status, text := report("--category", wrong); status != statusBadInput || !strings.Contains(text, "--category") {
			t.Errorf("%q: status %d, %s", wrong, status, text)
		}
	}
	out := filepath.Join(t.TempDir(), "sites.csv")
	if status := run([]string{"report", small, "--no-whatif", "-o", out}, nil, io.Discard, io.Discard); status != statusExact {
		t.Error(status)
	}
	if text, err := os.ReadFile(out); err != nil || !strings.HasPrefix(string(text), "report,function,file,line,category,") {
		t.Errorf("%v: %.40s", err, text)
	}
}

// TestRecord: what is printed is the recorder.
func TestRecord(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if status := run([]string{"record"}, strings.NewReader(""), &stdout, &stderr); status != statusExact || stdout.String() != record.Recorder {
		t.Errorf("status %d, %d bytes: %s", status, stdout.Len(), stderr.String())
	}
}

// TestTitanFolder: four ranks at three iterations are no twelve ranks.
func TestTitanFolder(t *testing.T) {
	const folder = "../../../shared/reports-more/titan_folder"
	if _, err := os.Stat(folder); err != nil {
		t.Skip("the folder of a framework is not here: it is in the folder shared beside the project")
	}
	var out, problem bytes.Buffer
	if status := run([]string{"report", folder, "-o", "-", "--no-whatif"}, nil, &out, &problem); status != 0 {
		t.Fatal(status, problem.String())
	}
	for _, part := range []string{"3 iterations of one run. Out of memory at iteration 23, exit.", "Of 4 ranks rank 2 is the worst"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is not said", part)
		}
	}
}

// TestTracesOfReports: rebuilt from public reports. A limit that is one byte short is told in
// bytes; memory goes back to the driver while another device's work is queued on it.
func TestTracesOfReports(t *testing.T) {
	for _, test := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"replay", "--pytorch", "2.11", "-vv", "r157256.jsonl"}, 0, "the limit is 1 byte short: 687865855 bytes are allowed, and 687865856 would be reserved"},
		{[]string{"check", "r196257_ordered.jsonl"}, 1, "memory goes back to the driver, and line 6 may still use it"},
	} {
		last := len(test.args) - 1
		test.args[last] = filepath.Join("../../../shared/reports", test.args[last])
		if _, err := os.Stat(test.args[last]); err != nil {
			t.Skip("the trace of a report is not here: it is in the folder shared beside the project")
		}
		var out, problem bytes.Buffer
		if status := run(test.args, nil, &out, &problem); status != test.status || !strings.Contains(out.String(), test.says) {
			t.Errorf("%q: status %d: %s%s", test.args, status, out.String(), problem.String())
		}
	}
}

// TestLeak: of a real program that keeps its losses, tools/run/testdata/leaks.py, the terminal says by how much which
// line grows, and the page and JSON have the same.
func TestLeak(t *testing.T) {
	const leak = "../../snapshot/report/testdata/leak"
	var stdout, stderr bytes.Buffer
	if status := run([]string{"report", leak, "--format", "json", "-o", "-", "--no-whatif"}, nil, &stdout, &stderr); status != statusExact {
		t.Fatalf("status %d, %s", status, &stderr)
	}
	want := []string{
		"Memory of rank 0 grows from iteration to iteration; no request failed in 4 iterations",
		"leaks.py:18: 2.50 MiB more each iteration, from 58.00 MiB to 133.02 MiB",
		"find what keeps the memory of leaks.py:18 from one iteration to the next",
	}
	if says := want[0] + "\nDiff:  " + want[1] + "\nTry:   " + want[2] + "\n"; stderr.String() != says {
		t.Errorf("%s", &stderr)
	}
	var page struct {
		Iterations struct{ Brief map[string]string }
	}
	if err := json.Unmarshal(stdout.Bytes(), &page); err != nil {
		t.Fatal(err)
	}
	if b := page.Iterations.Brief; b["happened"] != want[0] || b["diff"] != want[1] || b["try"] != want[2] {
		t.Errorf("%q", b)
	}
}
