package run

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// secondsToAnswer is how long the processes of a program may take for their answers before a signal ends them.
const secondsToAnswer = 10

// ask lets all processes that use CUDA write their answers so far: python/site/gaugeblock_run.py has threads that wait
// for it. A signal such as SIGTERM ends Python without anything of its own.
func ask(folder string) {
	questions, _ := filepath.Glob(filepath.Join(folder, "*.question"))
	end := time.Now().Add(secondsToAnswer * time.Second)
	var asked []string
	for _, question := range questions {
		f, err := os.OpenFile(question, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue // nobody reads it: the process has ended
		}
		_ = f.Close()
		_ = os.Remove(question)
		asked = append(asked, strings.TrimSuffix(question, ".question")+".answered")
	}
	for _, answered := range asked {
		for time.Now().Before(end) {
			if _, err := os.Stat(answered); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}
