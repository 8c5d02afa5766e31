package main

import (
	"cmp"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gaugeblock/internal/allrows"
)

// situation is a column of the table: what happens to a command, and a cell, its exit status. "" is a
// situation that does not concern it.
type situation struct {
	name string
	try  func(t *testing.T, s subject, name string) string
	slow bool // tried with commands that compile something too
}

var situations = []situation{
	{"Ctrl-C", signalled(syscall.SIGINT, true), true},
	{"SIGTERM", signalled(syscall.SIGTERM, false), true},
	{"closed pipe", intoClosedPipe, false},
	{"full disk", ontoFullDisk, true},
	{"full disk, files", ontoFullDiskFiles, false},
	{"input not readable", notReadable, false},
	{"folder not writable", readOnly(false), false},
	{"read-only tree", readOnly(true), true},
	{"1 column", narrow(1), false},
	{"20 columns", narrow(20), false},
	{"no HOME", withoutHome, false},
	{"no network", withoutNetwork, false},
}

// situationsFile has the table.
const situationsFile = "../../docs/lab/situations.md"

var updateSituations = flag.Bool("update-situations", false, "write the tables of "+situationsFile+", "+terminalsFile+" and "+endedFile)

// TestSituations puts every command into every situation. The exit statuses are those of the table: as a
// shell has them after a signal, 2 with a message where something is missing.
func TestSituations(t *testing.T) {
	if testing.Short() {
		t.Skip("starts two hundred processes")
	}
	table := openTable(t, situationsFile)
	for i, s := range subjects(t) {
		if !*updateSituations && allrows.Without(i, 8) {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			var cells []string
			for _, x := range situations {
				cell := ""
				if x.slow || !s.slow {
					cell = x.try(t, s, x.name)
				}
				cells = append(cells, cell)
			}
			table.compare(t, s.name, cells)
		})
	}
	table.write(t)
}

// labTable is the table of a note. A test compares its rows, or writes them.
type labTable struct {
	file, text string
	rows       map[string]string // by the first cell
}

func openTable(t *testing.T, file string) *labTable {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	x := &labTable{file, string(text), map[string]string{}}
	for line := range strings.Lines(x.text) {
		if name, cells, is := strings.Cut(strings.TrimPrefix(line, "| "), " |"); is {
			x.rows[name] = "| " + name + " |" + strings.TrimRight(cells, "\n")
		}
	}
	return x
}

// compare compares a row. An empty cell is a dash.
func (x *labTable) compare(t *testing.T, name string, cells []string) {
	t.Helper()
	row := "| " + name + " |"
	for _, cell := range cells {
		row += " " + cmp.Or(cell, "–") + " |"
	}
	switch was, there := x.rows[name]; {
	case row == was:
	case !*updateSituations:
		t.Errorf("the row is now\n%s\nand was\n%s", row, was)
	case there:
		x.text = strings.Replace(x.text, was+"\n", row+"\n", 1)
	default:
		x.text += row + "\n"
	}
}

// write writes the table if that was asked for.
func (x *labTable) write(t *testing.T) {
	t.Helper()
	if !*updateSituations {
		return
	}
	if err := os.WriteFile(x.file, []byte(x.text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// signalled ends a command that is at work. Ctrl-C goes to all processes that it has started.
func signalled(sent syscall.Signal, all bool) func(*testing.T, subject, string) string {
	return func(t *testing.T, s subject, name string) string {
		args := s.busy
		if args == nil {
			args = s.args
		}
		notIgnored(t, sent)
		x := newTrial(t, args...)
		x.startBusy(t, s)
		group := -x.Process.Pid
		to := x.Process.Pid
		if all {
			to = group
		}
		started := descendants(x.Process.Pid)
		if err := syscall.Kill(to, sent); err != nil {
			t.Fatal(err)
		}
		hung := time.AfterFunc(time.Minute, func() { _ = syscall.Kill(group, syscall.SIGKILL) })
		_ = x.Wait()
		hung.Stop()
		allEnd(t, s.name+", "+name, started...)
		return x.ended(t, s, name)
	}
}

// descendants are the processes that a process has started, and those that they have.
func descendants(pid int) (list []int) {
	lists, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, file := range lists {
		text, _ := os.ReadFile(file)
		for _, word := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				list = append(append(list, child), descendants(child)...)
			}
		}
	}
	return list
}

// leavesWhole: what was written before the end is whole. It is taken away.
func (x *trial) leavesWhole(t *testing.T, s subject, name string) {
	for _, output := range x.written(t) {
		if !x.isWhole(output) {
			t.Errorf("%s, %s: %s is left", s.name, name, output)
		}
		_ = os.Remove(x.folder + "/" + output)
	}
}

func intoClosedPipe(t *testing.T, s subject, name string) string {
	if s.args == nil {
		return ""
	}
	x := newTrial(t, s.args...)
	from, to := pipe(t)
	from.Close()
	x.Stdout = to
	_ = x.Run()
	if x.status() == 141 {
		x.leavesWhole(t, s, name)
	}
	return x.ended(t, s, name)
}

// ontoFullDisk: standard output cannot be written.
func ontoFullDisk(t *testing.T, s subject, name string) string {
	if s.args == nil {
		return ""
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no full device")
	}
	defer full.Close()
	x := newTrial(t, s.args...)
	x.Stdout = full
	_ = x.Run()
	if x.status() == statusBadInput {
		x.leavesWhole(t, s, name)
	}
	return x.ended(t, s, name)
}

// ontoFullDiskFiles: no file can grow, neither an output nor a temporary one.
func ontoFullDiskFiles(t *testing.T, s subject, name string) string {
	if s.args == nil {
		return ""
	}
	x := newTrial(t, s.args...)
	x.through(t, "sh", "-c", `ulimit -f 0; exec "$@"`, "sh")
	return x.end(t, s, name)
}

// asUser lets the permissions of files count, which they do not for the administrator.
func (x *trial) asUser(t *testing.T) {
	if os.Geteuid() == 0 {
		x.through(t, "setpriv", "--bounding-set=-dac_override,-dac_read_search")
	}
}

func notReadable(t *testing.T, s subject, name string) string {
	if s.input == "" {
		return ""
	}
	x := newTrial(t, s.args...)
	text, err := os.ReadFile(s.input)
	if err != nil {
		t.Fatal(err)
	}
	closed := t.TempDir() + "/closed" + s.input[strings.IndexByte(s.input[strings.LastIndexByte(s.input, '/'):], '.')+strings.LastIndexByte(s.input, '/'):]
	if err := os.WriteFile(closed, text, 0); err != nil {
		t.Fatal(err)
	}
	for i, arg := range x.Args {
		if arg == s.input {
			x.Args[i] = closed
		}
	}
	x.asUser(t)
	cell := x.end(t, s, name)
	if !strings.Contains(x.stderr.String(), "permission denied") || !strings.Contains(x.stderr.String(), "closed") {
		t.Errorf("%s, %s: %s", s.name, name, &x.stderr)
	}
	return cell
}

// readOnly: the current folder cannot be written, or that of temporary files neither.
func readOnly(temporary bool) func(*testing.T, subject, string) string {
	return func(t *testing.T, s subject, name string) string {
		if s.args == nil {
			return ""
		}
		x := newTrial(t, s.args...)
		folders := []string{x.folder}
		if temporary {
			folders = append(folders, x.temporary)
		}
		for _, folder := range folders {
			if err := os.Chmod(folder, 0o555); err != nil {
				t.Fatal(err)
			}
			defer os.Chmod(folder, 0o755)
		}
		x.asUser(t)
		cell := x.end(t, s, name)
		if said := x.stderr.String(); cell != "0" && !strings.Contains(said, "permission denied") {
			t.Errorf("%s, %s: %s", s.name, name, said)
		}
		return cell
	}
}

// narrow: a terminal that is too small for anything.
func narrow(columns uint16) func(*testing.T, subject, string) string {
	return func(t *testing.T, s subject, name string) string {
		if s.args == nil {
			return ""
		}
		x := onTerminal(t, columns, nil, s.args...)
		x.end(t)
		y := &trial{Cmd: x.command, folder: x.command.Dir, temporary: t.TempDir()}
		y.stderr.WriteString(x.text())
		return y.ended(t, s, name)
	}
}

func withoutHome(t *testing.T, s subject, name string) string {
	if s.args == nil {
		return ""
	}
	x := newTrial(t, s.args...)
	kept := []string{}
	for _, variable := range x.Env {
		if !strings.HasPrefix(variable, "HOME=") && !strings.HasPrefix(variable, "XDG_") {
			kept = append(kept, variable)
		}
	}
	x.Env = kept
	return x.end(t, s, name)
}

// withoutNetwork: every proxy refuses.
func withoutNetwork(t *testing.T, s subject, name string) string {
	args := s.args
	if s.offline != nil {
		args = s.offline
	}
	if args == nil {
		return ""
	}
	x := newTrial(t, args...)
	for _, variable := range []string{"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "PIP_INDEX_URL"} {
		x.Env = append(x.Env, variable+"=http://127.0.0.1:1")
	}
	x.Env = append(x.Env, "PIP_RETRIES=0", "PIP_CONFIG_FILE=/dev/null", "GAUGEBLOCK_CACHE="+t.TempDir())
	return x.end(t, s, name)
}
