package main

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"gaugeblock/internal/signals"
)

// scratch makes a directory for what a command builds, which is also that of all temporary files
// until it is removed. If a signal ends the command before, the processes that it has started end
// and the directory is removed as well.
func scratch(pattern string, ends func(os.Signal) bool) (string, func() error, error) {
	var dir string
	made, atEnd := make(chan struct{}), make(chan struct{})
	end := atSignal(func() {
		<-made
		removeAtSignal(dir, atEnd)
	}, ends) // before there is what a signal must remove
	var err error
	dir, err = os.MkdirTemp("", pattern)
	close(made)
	if err != nil {
		end()
		return "", nil, err
	}
	const variable = "TMPDIR"
	before, was := os.LookupEnv(variable)
	if err := os.Setenv(variable, dir); err != nil {
		end()
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, func() error {
		close(atEnd)
		end()
		if was {
			os.Setenv(variable, before)
		} else {
			os.Unsetenv(variable)
		}
		return os.RemoveAll(dir)
	}, nil
}

// removeAtSignal ends the processes that the command has started and removes its directory. The command
// goes on meanwhile, and may start the next process or write the next file. So it is done until the command has come
// to its end, or for a second.
func removeAtSignal(dir string, atEnd <-chan struct{}) {
	const tries, pause = 100, 10 * time.Millisecond
	over := false
	for range tries {
		killChildren(os.Getpid())
		if err := os.RemoveAll(dir); err == nil && over {
			return
		}
		select {
		case <-atEnd:
			over = true
		case <-time.After(pause):
		}
	}
}

// endings are the signals that end a process unless it catches them. SIGPIPE does only if it is about
// what the command prints, not about a process that it has started.
var endings = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE}

// always says that each signal ends the process.
func always(os.Signal) bool { return true }

// catching is how many parts of the command catch signals at the moment.
var catching atomic.Int32

// atSignal ends the process when one of the endings arrives for which ends reports true, after a
// cleanup, with the status that a shell reports for it. Signals that the process was started to
// ignore stay ignored, as SIGHUP under nohup. end stops listening; it does not return if such a
// signal has arrived.
func atSignal(cleanup func(), ends func(os.Signal) bool) (end func()) {
	caught, done, ended := make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})
	catching.Add(1)
	signals.Notify(caught, endings...)
	hear := func(s os.Signal) {
		if ends(s) && (s != syscall.SIGPIPE || readerIsGone()) {
			removeBar()
			cleanup()
			os.Exit(128 + int(s.(syscall.Signal)))
		}
	}
	go func() {
		defer close(ended)
		for {
			select {
			case s := <-caught:
				hear(s)
			case <-done:
				for len(caught) > 0 { // select takes either of two that are ready
					hear(<-caught)
				}
				return
			}
		}
	}()
	return func() {
		signal.Stop(caught)
		close(done)
		<-ended
		catching.Add(-1)
	}
}

// killChildren ends the processes that a process has started, and those that they have. Only
// Linux lists them.
func killChildren(pid int) {
	lists, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, word := range strings.Fields(string(text)) {
			child, _ := strconv.Atoi(word)
			killChildren(child)
			if process, err := os.FindProcess(child); err == nil {
				_ = process.Kill()
			}
		}
	}
}
