package run

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"testing"
)

// notIgnored lets this process hear signals, though it may have been started to ignore them.
func notIgnored(t *testing.T) {
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, asking...)
	t.Cleanup(func() { signal.Stop(heard) })
}

// A signal that reaches only this process is passed on, and the program's end is awaited.
func TestInterrupt(t *testing.T) {
	needsLibraries(t)
	notIgnored(t)
	for name, status := range map[string]int{"HUP": 129, "INT": 130, "TERM": 143} {
		if name == "INT" && isForeground() { // the terminal sends it to the program as well
			continue
		}
		r := runs(t, Options{Command: []string{"/bin/sh", "-c", `kill -` + name + ` "$PPID"; exec sleep 60`}}, status)
		if !r.Interrupted || r.Seconds > 30 {
			t.Errorf("%s: interrupted: %v, after %.0f s", name, r.Interrupted, r.Seconds)
		}
	}
}

// Ctrl-C can end the program before it is heard here. Without it a program that ends so was not interrupted.
func TestInterruptHeardLate(t *testing.T) {
	needsLibraries(t)
	notIgnored(t)
	late := `gaugeblock=$PPID; (sleep 0.05; kill -INT "$gaugeblock") & kill -INT $$`
	if r := runs(t, Options{Command: []string{"/bin/sh", "-c", late}}, 130); !r.Interrupted {
		t.Error("a signal that came later than the program's end was not heard")
	}
	if r := runs(t, Options{Command: []string{"/bin/sh", "-c", `kill -INT $$`}}, 130); r.Interrupted {
		t.Error("nobody interrupted")
	}
	for range 100 {
		heard := make(chan os.Signal, 1)
		heard <- os.Interrupt
		if !comesToo(heard, 1) {
			t.Fatal("a signal that had come was not heard")
		}
	}
}

// Ctrl-C gives the answer so far, and who watches hears of steps.
func TestInterruptedTraining(t *testing.T) {
	for _, python := range pythons(t) {
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(python))), func(t *testing.T) {
			notIgnored(t)
			folder := t.TempDir()
			var last Progress
			watch := func(p Progress) {
				if last = p; p.Steps == 2 {
					write(t, folder, "seen", "")
				}
			}
			r := runs(t, Options{Command: []string{python, filepath.Join("testdata", "endless.py"), filepath.Join(folder, "seen")}, Progress: watch}, 130)
			worst, device := r.Worst()
			if device == nil || device.PeakReserved == 0 || worst.Steps != 2 || !r.Interrupted {
				t.Errorf("%+v", r)
			}
			if last.Steps != 2 || last.Reserved == 0 || last.Allocated == 0 {
				t.Errorf("the last progress is %v", last)
			}
		})
	}
}

func TestProgress(t *testing.T) {
	folder := t.TempDir()
	if got, want := progressOf(folder).String(), "allocated 0 bytes, reserved 0 bytes"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
	write(t, folder, "7.progress", `{"steps": 4, "devices": [{"allocated": 1, "reserved": 2097152}, {"allocated": 3145728, "reserved": 4194304}]}`)
	write(t, folder, "8.progress", `{"steps": 5, "devices": [{"allocated": 1, "reserved": 2097152}]}`)
	write(t, folder, "9.progress", `{"steps": `)
	if got, want := progressOf(folder).String(), "allocated 3.00 MiB, reserved 4.00 MiB, 5 steps"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

// A command that cannot be started is an error, and not the program's status.
func TestNoProgram(t *testing.T) {
	needsLibraries(t)
	_, err := Run(Options{Command: []string{filepath.Join(t.TempDir(), "none")}, GPUs: 1, Say: func(string) {}}, t.TempDir())
	if _, is := err.(*exec.Error); !is && !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
}
