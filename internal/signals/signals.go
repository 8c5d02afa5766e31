// Package signals hears signals as a command should that somebody may have started with nohup, or in the background
// of a script: what the process was started to ignore stays ignored, here and in the processes that it starts.
package signals

import (
	"os"
	"os/signal"
)

// Notify sends signals to a channel, but for those that the process was started to ignore. signal.Notify alone would
// let them end it, and what it starts.
func Notify(to chan<- os.Signal, list ...os.Signal) {
	for _, s := range list {
		if !signal.Ignored(s) {
			signal.Notify(to, s)
		}
	}
}
