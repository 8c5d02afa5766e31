package main

import (
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"gaugeblock/internal/signals"
)

// interruptible listens for Ctrl-C and SIGTERM, so that a long search can end early and print its
// summary. stopped reports whether one arrived. The second ends the process, as usual. end stops
// listening.
func interruptible() (stopped func() bool, end func()) {
	pressed := make(chan os.Signal, 1)
	done := make(chan struct{})
	var interrupted atomic.Bool
	catching.Add(1)
	signals.Notify(pressed, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-pressed:
			interrupted.Store(true)
			signal.Stop(pressed)
		case <-done:
		}
	}()
	return interrupted.Load, func() {
		signal.Stop(pressed)
		close(done)
		catching.Add(-1)
	}
}
