package main

import (
	"errors"
	"fmt"
	"io"

	"gaugeblock/fakegpu"
	"gaugeblock/fakegpu/cuda/gpus"
	"gaugeblock/snapshot/compare"
	"gaugeblock/tools/fit"
	runner "gaugeblock/tools/run"
)

// fitCommand is "gaugeblock fit".
type fitCommand struct {
	Command  []string  `arg:"" passthrough:"" name:"command" help:"The command, behind --, as it would be started on a machine with GPUs. {} in it is the value."`
	Var      string    `name:"var" required:"" placeholder:"NAME=LOW..HIGH" help:"The environment variable that has the value, and the range, such as BATCH=1..512; LOW..HIGH if the command has {}."`
	GPU      []string  `name:"gpu" placeholder:"GPU" help:"What GPUs: ${gpus} (default: h200)."`
	Table    bool      `name:"gpus-table" help:"All GPUs that are known."`
	Memory   byteLimit `name:"memory" placeholder:"BYTES" help:"Memory of each GPU, such as 24GiB (default: as the GPU has)."`
	GPUs     int       `name:"gpus" default:"1" placeholder:"N" help:"How many GPUs the program has (default: 1)."`
	Settings string    `name:"settings" placeholder:"SETTINGS" help:"The allocator's settings, as in PYTORCH_ALLOC_CONF (default: those of the environment)."`
	JSON     string    `name:"json" placeholder:"FILE" help:"Write the answers to this file, for programs."`
	Values   string    `name:"values" enum:"true,none" default:"true" help:"As for gaugeblock run."`
	CuDNN    string    `name:"cudnn" enum:"own,none" default:"own" help:"As for gaugeblock run."`
	Verbose  bool      `short:"v" name:"verbose" help:"Let through what the program prints."`
}

// Help is what "gaugeblock fit --help" prints beside the flags.
func (*fitCommand) Help() string {
	return `Runs a program as gaugeblock run does, with one value after the other, and finds the
largest with which it does not run out of memory:

    gaugeblock fit --var BATCH=1..512 --gpu 4090 -- python train.py
    gaugeblock fit --var 1..512 --gpu 4090,a100-80 -- python train.py --batch {}

The search assumes that a larger value needs more memory, and tries the values beside the
answer too. The program should end after a few steps. Ctrl-C gives the answer so far.

The exit status is 0 with an answer, 1 if not even the smallest value fits a GPU, 2 if the
program failed for another reason, and 130 after Ctrl-C.`
}

// Validate is called by kong.
func (c *fitCommand) Validate() error {
	for _, word := range c.GPU {
		if err := knownGPU(word); err != nil {
			return err
		}
	}
	if c.Table && len(c.GPU) > 0 {
		return errors.New("--gpus-table is all GPUs: --gpu says nothing more")
	}
	if c.GPUs < 1 || c.GPUs > fakegpu.MaxDevices {
		return fmt.Errorf("--gpus=%d is not from 1 to %d", c.GPUs, fakegpu.MaxDevices)
	}
	if _, err := fit.ParseVariable(c.Var); err != nil {
		return fmt.Errorf("--var: %w", err)
	}
	if c.Settings == "" {
		return nil
	}
	return compare.CheckSettings(c.Settings)
}

// Run searches, and prints a table.
func (c *fitCommand) Run(env *environment) error {
	fmt.Fprint(env.stderr, c.Memory.question("--memory"))
	command, err := commandBehind(c.Command, "fit")
	if err != nil {
		return err
	}
	variable, _ := fit.ParseVariable(c.Var) // Validate has read it
	if _, err := variable.Command(command, variable.Low); err != nil {
		return fmt.Errorf("fit: %w", err)
	}
	out, err := openOutput(c.JSON)
	if err != nil {
		return err
	}
	stopped, end := interruptible()
	defer end()
	o := fit.Options{
		Run: runner.Options{
			Command: command, Memory: c.Memory.bytes, GPUs: c.GPUs, Settings: c.Settings, NoValues: c.Values == "none", NoCuDNN: c.CuDNN == "none",
			Say: func(line string) { fmt.Fprintf(env.stderr, "gaugeblock: %s\n", line) },
		},
		Variable: variable, GPUs: c.kinds(), Stopped: stopped,
		Tried: func(g gpus.GPU, t fit.Try) {
			fmt.Fprintf(env.stderr, "gaugeblock: %s, %d: %s (%.1f s)\n", g.Word, t.Value, t.Outcome(), t.Seconds)
		},
	}
	if c.Verbose {
		o.Run.Output = unquoted(env.stderr)
	}
	answers, failed := fit.Fit(o)
	if len(answers) == 0 {
		return failed
	}
	to := &checkedWriter{to: env.stdout}
	c.tell(env, to, answers)
	return errors.Join(failed, writeForPrograms(out, answers), to.err)
}

// kinds are the GPUs that are asked for.
func (c *fitCommand) kinds() (kinds []gpus.GPU) {
	if c.Table {
		return gpus.All
	}
	for _, word := range c.GPU {
		g, _ := gpus.Find(word)
		kinds = append(kinds, g)
	}
	if kinds == nil {
		return gpus.All[:1]
	}
	return kinds
}

func (c *fitCommand) tell(env *environment, to io.Writer, answers []fit.Answer) {
	for _, a := range answers {
		switch {
		case a.Interrupted:
			env.status = statusInterrupted
		case a.Largest == nil:
			env.status = statusDiffers
		}
	}
	if len(answers) == 1 {
		answers[0].Tell(to)
	} else if len(answers) > 1 {
		fit.TellAll(to, answers)
	}
}
