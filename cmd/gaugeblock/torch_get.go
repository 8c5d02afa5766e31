package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"gaugeblock/internal/quote"
	"gaugeblock/internal/signals"
	"gaugeblock/tools/torch/wheel"
)

// getCommand is "gaugeblock torch get".
type getCommand struct {
	Versions []string `arg:"" name:"version" help:"Releases, such as 2.13.0, or 2.13 for its newest; newest for the newest of all."`
}

// Help is what "gaugeblock torch get --help" says beside the flags.
func (*getCommand) Help() string {
	return `Of each wheel the libraries of the allocator and their headers are fetched, 5 MB, from
the package index that python3's pip is configured for, and kept in the folder
gaugeblock of the user's cache, or in GAUGEBLOCK_CACHE. They must have the hashes that
this program knows (` + strings.Join(wheel.Listed(), ", ") + `). A release that it does not
know is fetched whole, so that pip checks it; its line for the list is printed.
The exit status is 2 if a release cannot be had; the cache is then as before.`
}

// Run fetches.
func (c *getCommand) Run(env *environment) error {
	ctx, end := context.WithCancel(context.Background())
	defer end()
	caught := make(chan os.Signal, 1)
	signals.Notify(caught, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(caught)
	go func() {
		select {
		case <-caught:
			end()
		case <-ctx.Done():
		}
	}()
	for _, version := range c.Versions {
		got, err := wheel.Get(ctx, version)
		if ctx.Err() != nil {
			env.status = statusInterrupted
			return nil
		}
		if err != nil {
			return err
		}
		how := "fetched"
		if got.Was {
			how = "was there"
		}
		if _, err := fmt.Fprintf(env.stdout, "PyTorch %s: %s, in %s\n", got.Version, how, quote.Text(got.Dir)); err != nil {
			return err
		}
		if got.Line != "" {
			fmt.Fprintf(env.stderr, "gaugeblock: this release is not listed. Its line in tools/torch/wheel/listed.txt is:\n%s\n", got.Line)
		}
	}
	return nil
}
