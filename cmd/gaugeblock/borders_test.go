package main

import (
	"fmt"
	"io"
	"strings"
	"testing"

	memoryreport "gaugeblock/snapshot/report"
)

// TestBorders: what a flag may just be is taken, and what it may just not be is refused, with the reason.
func TestBorders(t *testing.T) {
	const fits, runs = "fit --var B=1..2 -- true", "run -- true"
	patterns := strings.Repeat("--category=a=b ", memoryreport.MaxPatterns)
	for args, want := range map[string]string{
		"check a": "", "check --jobs 0 a": "", "check --jobs 4096 a": "", "check --jobs 4097 a": "--jobs=4097 is more than 4096", "check --jobs -1 a": "--jobs=-1 is negative",
		"replay --jobs 4096 a": "", "replay --jobs 4097 a": "--jobs=4097 is more than 4096",
		"whatif --jobs 4097 a": "--jobs=4097 is more than 4096", "whatif --device -1 a": "", "whatif --device -2 a": "--device=-2 is negative",
		"whatif --settings max_split_size_mb:x a": "--settings: ", "whatif --settings expandable_segments:True a": "",
		"report --device -1 a": "", "report --device -2 a": "--device=-2 is negative", "report --jobs 4097 a": "--jobs=4097 is more than 4096",
		"report - a": "", "report - -": "standard input can be read only once", "report - a -": "standard input can be read only once",
		"report " + patterns + "a": "", "report --category=a=b " + patterns + "a": fmt.Sprintf("--category was given %d times, at most %d are", memoryreport.MaxPatterns+1, memoryreport.MaxPatterns),
		"compare --device -2 a pytorch": "--device=-2 is negative", "compare --patience 1ns a pytorch": "", "compare --patience 0s a pytorch": "--patience=0s: a call needs some time",
		"explore --checkpoint 0s": "", "explore --checkpoint -1ns": "--checkpoint=-1ns is negative", "explore --jobs 4097": "--jobs=4097 is more than 4096",
		"soak --ops 1": "", "soak --ops 0": "--ops=0: at least one operation has to be checked", "soak --jobs 4097": "--jobs=4097 is more than 4096",
		"soak --area no": "no", "soak --area core": "", "soak --settings max_split_size_mb:x": "max_split_size_mb",
		"torch --ops 1": "", "torch --ops 0": "--ops=0: at least one operation has to be compared", "torch --keep 1": "", "torch --keep 0": "--keep=0: the first difference",
		"torch --workers 0": "--jobs=0: at least one is needed", "torch --workers 1": "", "torch --config a": "--config is of --edges", "torch --edges --config a": "",
		"torch --against 2.14 2.15": "", "torch --against 2.14": "--against compares two builds", "torch --against 2.13 2.14 2.15": "--against compares two builds",
		"torch --against --torch 2.14 2.14 2.15": "--against compares two builds", "torch --against --edges 2.14 2.15": "--against compares two builds",
		"torch 2.14": "builds are for --against", "torch gett": `did you mean "get"?`, "torch --area no": "no", "torch --area core": "",
		"examine a.so": "", "examine": "what is examined is either a library", "examine --python m": "", "examine --python m a.so": "what is examined is either a library",
		"examine --level exact a.so": "", "examine --level none a.so": "--level=none: it is one of safe, caching and exact",
		"examine --ops 1 a.so": "", "examine --ops 0 a.so": "--ops=0: at least one operation has to be checked", "examine --devices 1 a.so": "", "examine --devices 0 a.so": "--devices=0: a program has at least one",
		"examine --patience 1ns a.so": "", "examine --patience 0s a.so": "--patience=0s: a call needs some time", "examine --alloc a a.so": "", "examine --free a a.so": "",
		"examine --alloc a -- true": "--alloc and --free name functions of a library", "examine --free a -- true": "--alloc and --free name functions of a library",
		runs: "", "run --gpus 1 -- true": "", "run --gpus 16 -- true": "", "run --gpus 0 -- true": "--gpus=0 is not from 1 to ", "run --gpus 1000 -- true": "--gpus=1000 is not from 1 to ",
		"run --gpu no -- true": "no", "run --world-size 1 --rank 0 -- true": "", "run --world-size 1 --rank 1 -- true": "--rank=1 and --world-size=1: a rank is from 0 to one less",
		"run --world-size 4 --rank 3 -- true": "", "run --world-size 4 --rank 4 -- true": "--rank=4 and --world-size=4", "run --rank 1 -- true": "--rank=1 and --world-size=0", "run --world-size -1 -- true": "--world-size=-1", "run --rank -1 -- true": "--rank=-1",
		"run --max-growth 5 -- true": "--max-growth needs --compare", "run --max-growth 5 --compare a -- true": "", "run --settings max_split_size_mb:x -- true": "max_split_size_mb",
		fits: "", "fit --gpu no --var 1..2 -- true": "no", "fit --gpu t4 --var 1..2 -- true": "", "fit --gpus-table --gpu t4 --var 1..2 -- true": "--gpus-table is all GPUs: --gpu says nothing more", "fit --gpus-table --var 1..2 -- true": "",
		"fit --gpus 0 --var 1..2 -- true": "--gpus=0 is not from 1 to ", "fit --gpus 1 --var 1..2 -- true": "", "fit --gpus 1000 --var 1..2 -- true": "--gpus=1000 is not from 1 to ",
		"fit --var 2..1 -- true": `--var: "2..1" is not of the form BATCH=1..512`, "fit --var 1..2 --settings max_split_size_mb:x -- true": "max_split_size_mb",
	} {
		parser := newParser(&environment{stdout: io.Discard, stderr: io.Discard}, func(int) {})
		_, err := parser.Parse(joinNegatives(strings.Fields(args)))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}
