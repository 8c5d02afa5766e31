package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"gaugeblock/internal/mutated"
)

var (
	mutatedFiles = flag.Int("mutated", 400, "how many damaged files the commands read")
	mutatedSeed  = flag.Uint64("mutated-seed", 1, "of the damage")
	mutatedApart = flag.Bool("mutated-apart", false, "each is read in a process of its own, and the ten that took most time and memory are told")
)

// mutatedKind is a kind of files, with the commands that read one: FILE stands for it, TEXT for what is
// in it.
type mutatedKind struct {
	name, file string
	good       [][]byte
	pack       func([]byte) []byte // after the damage; nil: not at all
	commands   []string
	noPlace    bool // the message says what is wrong, and there is no place
}

func mutatedKinds(t *testing.T) []mutatedKind {
	t.Helper()
	read := func(paths ...string) (list [][]byte) {
		for _, path := range paths {
			text, err := os.ReadFile(filepath.FromSlash(path))
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, text)
		}
		return list
	}
	each := func(list [][]byte, do func([]byte) []byte) (done [][]byte) {
		for _, text := range list {
			done = append(done, do(text))
		}
		return done
	}
	pickles := read("../../snapshot/testdata/small.2.pickle", "../../snapshot/testdata/small.4.pickle", "../../snapshot/testdata/pinned-2.15.pickle")
	objects := read("../../snapshot/report/testdata/small.json", "../../snapshot/testdata/small.json")
	traces := append(read("../../spec/trace/testdata/every-kind.jsonl"), each(read("../../tests/golden/testdata/checkpoint-1302.jsonl.gz", "../../tests/golden/testdata/capture-1000.jsonl.gz"), gunzip)...)
	ofSnapshot := []string{"whatif --max-memory 64MiB FILE --settings ", "whatif --json --max-memory 64MiB FILE --settings ", "report --no-whatif --max-memory 64MiB FILE -o page.html", "report --max-memory 64MiB FILE FILE -o page.html"}
	ofTrace := []string{"replay --max-memory 64MiB FILE", "check --max-memory 64MiB FILE", "whatif --max-memory 64MiB FILE --settings "}
	log := [][]byte{[]byte("Thread,Time,Action,Pointer,Size,Stream\n0,1,allocate,0x1000,10,0\n0,2,allocate,0x2000,300,0\n0,3,free,0x1000,10,0\n0,4,free,0x2000,300,0\n")}
	settings := [][]byte{[]byte("expandable_segments:True,max_split_size_mb:128"), []byte("garbage_collection_threshold:0.6,roundup_power2_divisions:[256:1,512:2,1024:4,>:8]")}
	result := [][]byte{[]byte(`{"status":0,"gpu":"h200","memory":150000000000,"summary":{"peak_reserved":1000000000,"peak_allocated":900000000},"processes":[{"pid":1,"devices":[{"device":0,"peak_reserved":1000000000,"peak_allocated":900000000}]}],"sites":[{"at":"train.py:3","bytes":512}]}`)}
	small := filepath.FromSlash("../../snapshot/testdata/small.4.pickle")
	compare := "run --compare FILE -- " + reserving(t, "1000000000")
	kinds := []mutatedKind{
		{name: "pickle", file: "a.pickle", good: pickles, commands: ofSnapshot},
		{name: "JSON", file: "a.json", good: objects, commands: ofSnapshot},
		{name: "page", file: "a.html", good: each(pickles, viewerPage), commands: ofSnapshot},
		{name: "pickle in gzip", file: "a.pickle.gz", good: pickles, pack: gzipped, commands: ofSnapshot},
		{name: "gzip", file: "a.pickle.gz", good: each(pickles, gzipped), commands: ofSnapshot},
		{name: "zip", file: "a.zip", good: each(pickles, zipped), commands: ofSnapshot},
		{name: "trace", file: "a.jsonl", good: traces, commands: ofTrace},
		{name: "trace in gzip", file: "a.jsonl.gz", good: each(traces, gzipped), commands: ofTrace},
		{name: "log", file: "a.csv", good: log, commands: []string{"check --max-memory 64MiB FILE", "check --json FILE"}},
		{name: "settings", file: "settings.txt", good: settings, commands: []string{"whatif " + small + " --settings TEXT", "soak --ops 1 --area core --settings TEXT"}, noPlace: true},
		{name: "error text", file: "oom.txt", good: [][]byte{[]byte(oomMessage)}, commands: []string{"whatif FILE", "whatif --json FILE"}, noPlace: true},
		{name: "result of run", file: "a.json", good: result, commands: []string{compare}, noPlace: true},
	}
	if _, err := exec.LookPath("xz"); err == nil {
		kinds = append(kinds, mutatedKind{name: "xz", file: "a.pickle.xz", good: each(pickles, xzipped), commands: ofSnapshot})
	}
	return kinds
}

func gzipped(text []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(text)
	w.Close()
	return out.Bytes()
}

func gunzip(packed []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		panic(err)
	}
	return text
}

func zipped(text []byte) []byte {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	w, err := archive.Create("a.pickle")
	if err != nil {
		panic(err)
	}
	w.Write(text)
	archive.Close()
	return out.Bytes()
}

func xzipped(text []byte) []byte {
	c := exec.Command("xz", "-c")
	c.Stdin = bytes.NewReader(text)
	packed, err := c.Output()
	if err != nil {
		panic(err)
	}
	return packed
}

// viewerPage is a page of PyTorch's memory_viz with a snapshot.
func viewerPage(text []byte) []byte {
	return fmt.Appendf(nil, "<!DOCTYPE html>\n<html>\n<head>\n</head>\n<body>\n<script type=\"module\">\nimport {add_local_files} from \"https://cdn.jsdelivr.net/gh/pytorch/pytorch@main/torch/utils/viz/MemoryViz.js\"\nconst local_files = [{\"name\": \"snapshot.pickle\", \"base64\": \"%s\"}]\nadd_local_files(local_files, \"Active Memory Timeline\")\n</script>\n</body>\n", base64.StdEncoding.EncodeToString(text))
}

// place is where in a file something is wrong. A damaged archive and what is no input at all have none.
var place = regexp.MustCompile(`at byte \d|:\d+[: ]|line \d|entry \d|operation \d|is empty|before offset \d|the zip archive|gzip: invalid|xz: data is|was cut off|has no history|this is a (page|text) without|zip: not a|this is no memory snapshot|pickle protocol \d|is \w+, not a (list|dict)`)

// TestMutatedFiles: whatever is in a file, a command ends soon, in little memory, and with an answer, or
// with exit status 2, the file's name and the place of what is wrong; then nothing is written.
func TestMutatedFiles(t *testing.T) {
	kinds := mutatedKinds(t)
	before := runtime.NumGoroutine()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(256 << 20))
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			statuses := map[int]int{}
			for i := range max(1, *mutatedFiles/len(kinds)) {
				r := rand.New(rand.NewPCG(*mutatedSeed, uint64(i)))
				text := mutated.Bytes(r, kind.good[r.IntN(len(kind.good))], kind.good[r.IntN(len(kind.good))])
				if kind.pack != nil {
					text = kind.pack(text)
				}
				statuses[kind.try(t, i, text, kind.commands[r.IntN(len(kind.commands))])]++
			}
			t.Logf("%d with exit status 0, %d with 1, %d with 2", statuses[0], statuses[1], statuses[2])
			if files := *mutatedFiles / len(kinds); files > 20 && statuses[statusBadInput] == 0 {
				t.Errorf("none of %d files is refused", files)
			}
		})
	}
	if *mutatedApart {
		for i := range apart.memory {
			t.Logf("memory: %s\ntime: %s", apart.memory[i].command, apart.processor[i].command)
		}
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	t.Logf("%d MiB were taken of the system at most", memory.Sys>>20)
	if memory.Sys > 1<<30 {
		t.Errorf("%d MiB were taken of the system", memory.Sys>>20)
	}
	if after := runtime.NumGoroutine(); after > before+4 {
		t.Errorf("%d goroutines are left", after-before)
	}
}

// longestTime is when a command hangs.
const longestTime = 2 * time.Minute

// try lets a command read a file, and returns the exit status.
func (k *mutatedKind) try(t *testing.T, i int, text []byte, command string) int {
	folder := t.TempDir()
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, k.file)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(folder, "page.html")
	var args []string
	for word := range strings.SplitSeq(command, " ") {
		word = strings.ReplaceAll(word, "FILE", file)
		word = strings.ReplaceAll(word, "page.html", page)
		args = append(args, strings.ReplaceAll(word, "TEXT", string(text)))
	}
	if args[0] == "soak" {
		args = append(args, "--out", folder)
	}
	hangs := time.AfterFunc(longestTime, func() {
		panic(fmt.Sprintf("%s %d, -mutated-seed %d: %.200q does not end", k.name, i, *mutatedSeed, args))
	})
	defer hangs.Stop()
	var stdout, stderr bytes.Buffer
	var status int
	var failure any
	if *mutatedApart && !strings.Contains(strings.Join(args, ""), "\x00") { // which no process can be told
		status = runsApart(t, fmt.Sprintf("%s %d", k.name, i), args, &stdout, &stderr)
	} else {
		status, failure = runsOrPanics(args, &stdout, &stderr)
	}
	wrong := func(what string) {
		t.Errorf("%s %d, -mutated-seed %d, %.300q: %s: status %d, %.300q, %.600q", k.name, i, *mutatedSeed, args, what, status, stdout.String(), stderr.String())
	}
	said := stderr.String()
	there, err := os.ReadFile(page)
	switch {
	case failure != nil:
		wrong(fmt.Sprint("panic: ", failure))
	case strings.Contains(said, "failed here"):
		wrong("a mistake of the command")
	case status < 0 || status > statusBadInput:
		wrong("another status")
	case status == statusBadInput && !strings.HasPrefix(said, "gaugeblock: ") && !strings.Contains(said, k.file):
		wrong("no message")
	case status == statusBadInput && !k.noPlace && !(strings.Contains(said, k.file) && place.MatchString(said)):
		wrong("no place")
	case status == statusBadInput && err == nil, status == statusBadInput && stdout.Len() > 0 && args[0] != "check" && args[0] != "replay" && !strings.Contains(said, "has no history"):
		wrong("something is written")
	case status != statusBadInput && args[0] == "report" && !bytes.HasSuffix(bytes.TrimSpace(there), []byte("</html>")):
		wrong("the page is not whole")
	}
	return status
}

func runsOrPanics(args []string, stdout, stderr io.Writer) (status int, failure any) {
	defer func() { failure = recover() }()
	return run(args, strings.NewReader(""), stdout, stderr), nil
}

// A process may have so much memory: that of its files (64MiB), the program's own, and what is not collected yet. Of
// processor time it may have far more than a command takes for so small a file.
const (
	mostMemory    = 512 << 20
	mostProcessor = 20 * time.Second
)

// apart is what the processes took.
var apart struct {
	memory, processor [10]taken // the largest, in order
}

type taken struct {
	much    int64
	command string
}

// add is one more in the order.
func add(most []taken, one taken) {
	for i := range most {
		if one.much > most[i].much {
			most[i], one = one, most[i]
		}
	}
}

// runsApart runs the command in a process of its own, and keeps what it took.
func runsApart(t *testing.T, name string, args []string, stdout *bytes.Buffer, stderr io.Writer) (status int) {
	c := measuredProcess(args...)
	c.Stdout, c.Stderr = stdout, stderr
	var exit *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	text := strings.TrimSuffix(stdout.String(), "\n")
	at := strings.LastIndex(text, "\n") + 1
	memory, err := strconv.ParseInt(text[at:], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	stdout.Truncate(at)
	processor := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	said := fmt.Sprintf("%s, %.150q: %d MiB, %v", name, args, memory>>20, processor)
	add(apart.memory[:], taken{memory, said})
	add(apart.processor[:], taken{int64(processor), said})
	if memory > mostMemory || processor > mostProcessor {
		t.Error(said)
	}
	return c.ProcessState.ExitCode()
}

// TestCutOff: wherever a packed file ends too early, a command says what is wrong with which file, and where.
func TestCutOff(t *testing.T) {
	traces, err := os.ReadFile(filepath.FromSlash("../../spec/trace/testdata/every-kind.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string][]byte{"a.jsonl.gz": traces, "oom.txt.gz": []byte(strings.Repeat(oomMessage, 20)), "oom.json.gz": []byte(`{"log": "` + oomMessage)} {
		packed := gzipped(text)
		for n := 2; n < len(packed); n += 1 + len(packed)/60 {
			path := filepath.Join(t.TempDir(), file)
			if err := os.WriteFile(path, packed[:n], 0o600); err != nil {
				t.Fatal(err)
			}
			var stdout, stderr bytes.Buffer
			status, failure := runsOrPanics([]string{"whatif", path}, &stdout, &stderr)
			if said := stderr.String(); status != statusBadInput || failure != nil || !strings.Contains(said, path) || !place.MatchString(said) {
				t.Errorf("%d bytes of %s: status %d, %v: %s", n, file, status, failure, said)
			}
		}
	}
}
