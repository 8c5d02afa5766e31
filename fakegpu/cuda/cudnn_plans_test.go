package cuda

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gaugeblock/internal/kept"
)

// TestPlans: workspaces that a cuDNN tells of plans of convolutions are corrected where they were measured, or follow a
// formula, or are an estimate: what testdata/cudnn_plans_answers.txt has, with a stand-in for NVIDIA's library. Of most
// answers it has a digest. -rewrite-answers writes it.
func TestPlans(t *testing.T) {
	program := thinProgram(t, "cudnn_plans", "libcudnn.so.9")
	compiler, err := Compiler("CC", "cc", "gcc", "clang")
	if err != nil {
		t.Skip(err)
	}
	standin := filepath.Join(t.TempDir(), "libcudnn_standin.so")
	if err := Run(exec.Command(compiler, "-shared", "-fPIC", "-o", standin, filepath.Join("testdata", "cudnn_standin.c"))); err != nil {
		t.Fatal(err)
	}
	questions := planQuestions(t)
	var told strings.Builder
	for _, variables := range [][]string{
		{"GAUGEBLOCK_CUDA_GPU=h200", "STANDIN_SAYS=1"}, {"GAUGEBLOCK_CUDA_GPU=h200", "STANDIN_VERSION=91002"}, {"GAUGEBLOCK_CUDA_GPU=a100-80", "STANDIN_SAYS=1"},
		{"GAUGEBLOCK_CUDA_GPU=h200", "STANDIN_REFUSES=5:4001"}, {"GAUGEBLOCK_CUDA_GPU=h200", "STANDIN_REFUSES=5:3000"}, {"GAUGEBLOCK_CUDA_GPU=h200", "STANDIN_REFUSES=38:1"},
		{"GAUGEBLOCK_CUDA_GPU=h200", "GAUGEBLOCK_CUDNN=/nowhere"}, {"GAUGEBLOCK_CUDA_GPU=h200", "GAUGEBLOCK_CUDNN="}, {"GAUGEBLOCK_CUDA_GPU=h200", "GAUGEBLOCK_CUDNN=" + filepath.Join(scratch, "libcudart.so.13")},
	} {
		c := exec.Command(program, standin)
		c.Env = append(append(os.Environ(), "GAUGEBLOCK_CUDNN="+standin, "GAUGEBLOCK_CUDA_REPORT="+os.DevNull), variables...)
		c.Stdin = strings.NewReader(strings.Join(questions, "\n") + "\n")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		fmt.Fprintf(&told, "== %s\n", strings.ReplaceAll(strings.Join(variables, " "), scratch, "FOLDER"))
		var answers []string
		for line := range strings.Lines(strings.ReplaceAll(string(out), scratch, "FOLDER")) {
			if _, after, _ := strings.Cut(line, " "); len(after) > 0 && line[0] >= '0' && line[0] <= '9' && !strings.Contains(line, "asked") || strings.HasPrefix(line, "descriptor 5: attribute 40") {
				answers = append(answers, line)
				continue
			}
			told.WriteString(line)
		}
		some := append(answers[:6:6], answers[len(answers)/2:len(answers)/2+6]...)
		fmt.Fprintf(&told, "%d answers, %x, some of them:\n%s", len(answers), sha256.Sum256([]byte(strings.Join(answers, ""))), strings.Join(some, ""))
	}
	kept.Compare(t, "testdata/cudnn_plans_answers.txt", told.String())
}

// planQuestions are plans of convolutions as cuDNN describes them: those that were measured, in the types and layouts that
// there are, and some that are no plan of one convolution.
func planQuestions(t *testing.T) (questions []string) {
	t.Helper()
	for _, file := range []string{filepath.Join("testdata", "convolution_sizes.txt"), filepath.Join("thin", "measured", "cudnn.txt")} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			if words := strings.Fields(line); len(words) == 8 && !strings.HasPrefix(line, "#") && n < 400 {
				n++
				questions = append(questions, planOf(words, "FLOAT", false), planOf(words, []string{"HALF", "BFLOAT16", "DOUBLE"}[n%3], n%2 == 0))
			}
		}
	}
	plain := planOf(strings.Fields("f 64x3x7x7 8x3x224x224 3x3 2x2 1x1 28,0,1 0"), "FLOAT", false)
	for _, change := range [][2]string{
		{`"nodes"`, `"nothing"`}, {"OPERATION_CONVOLUTION", "OPERATION_MATMUL"}, {`"pad":[`, `"padding":[`}, {`"dilation":[`, `"other":[`}, {`"engineId":`, `"engine":`}, {`"knobChoices":{`, `"knobs":{`},
		{"nodes", `nodes":"CUDNN_BACKEND_OPERATION","nodes`}, {`"dim":[64,3,7,7]`, `"dim":[64,3,7]`}, {`"stride":[147`, `"stride":[148`}, {`"stride":[150528`, `"stride":[1`}, {"7,7", "7,7,7"}, {"{", "!{"},
	} {
		questions = append(questions, strings.Replace(plain, change[0], change[1], 1))
	}
	return append(questions, plain, strings.Replace(plain, "1000000000", "0", 1), "5 ", "7 {}")
}

// planOf is a plan of the words of a line that was measured: its way, the filter, the input, padding, stride, dilation, and
// the engine with its knobs.
func planOf(words []string, kind string, channelsLast bool) string {
	ways := map[byte]string{'f': "FORWARD", 'd': "BACKWARD_DATA", 'w': "BACKWARD_FILTER"}
	switch {
	case strings.Contains(words[0][1:], "h"):
		kind = "HALF"
	case strings.Contains(words[0][1:], "b"):
		kind = "BFLOAT16"
	}
	channelsLast = channelsLast || strings.Contains(words[0][1:], "l")
	tensor := func(dims string) string {
		list := strings.Split(dims, "x")
		strides, size := make([]string, len(list)), 1
		for i := range list {
			at := len(list) - 1 - i
			if channelsLast {
				at = []int{1, len(list) - 1, len(list) - 2, len(list) - 3, len(list) - 4}[i]
				if i == len(list)-1 {
					at = 0
				}
			}
			n, _ := strconv.Atoi(list[at])
			strides[at] = strconv.Itoa(size)
			size *= n
		}
		return fmt.Sprintf(`{"dataType":"CUDNN_DATA_%s","dim":[%s],"stride":[%s]}`, kind, strings.Join(list, ","), strings.Join(strides, ","))
	}
	list := func(word string) string { return strings.ReplaceAll(word, "x", ",") }
	engine, knobs, _ := strings.Cut(words[6], ",")
	var choices []string
	for i, k := range strings.Split(knobs, ",") {
		choices = append(choices, fmt.Sprintf(`"K%d":%s`, i, k))
	}
	return fmt.Sprintf(`1000000000 {"tensors":[%s,%s,%s],"nodes":[{"type":"CUDNN_OPERATION_CONVOLUTION_%s_X","pad":[%s],"stride":[%s],"dilation":[%s]}],"engineId":%s,"knobChoices":{%s}}`,
		tensor(words[1]), tensor(words[2]), tensor(words[2]), ways[words[0][0]], list(words[3]), list(words[4]), list(words[5]), engine, strings.Join(choices, ","))
}
