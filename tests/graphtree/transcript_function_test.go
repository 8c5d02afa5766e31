package graphtree

import (
	"fmt"
	"slices"
	"strings"

	"gaugeblock/graphtree"
	"gaugeblock/spec/trace"
)

func (s *story) function() string {
	name, takes, mode := s.names()[0], s.list("takes"), "inference"
	s.d.MaybeScanArgs(s.t, "mode", &mode)
	f := &graphtree.Function{Name: name, Mode: graphtree.Mode(slices.Index(trace.TreeModes, mode))}
	for _, static := range s.list("static") {
		f.Static = append(f.Static, slices.Index(takes, static))
	}
	lines := strings.Split(s.d.Input, "\n")
	f.Body = func(w *graphtree.Work, inputs []*graphtree.Tensor) (outputs []*graphtree.Tensor, err error) {
		b := body{story: s, work: w, tensors: map[string]*graphtree.Tensor{}}
		for i, name := range takes {
			b.tensors[name] = inputs[i]
		}
		for _, line := range lines {
			if err := b.do(strings.Fields(line)); err != nil {
				return nil, err
			}
		}
		return b.outputs, nil
	}
	s.functions[name] = f
	return ""
}

// body is a function under way.
type body struct {
	story   *story
	work    *graphtree.Work
	tensors map[string]*graphtree.Tensor
	outputs []*graphtree.Tensor
}

func (b *body) do(words []string) (err error) {
	var args []*graphtree.Tensor
	for _, word := range words[1:] {
		args = append(args, b.tensors[word])
	}
	switch words[0] {
	case "alloc":
		b.tensors[words[1]], err = b.work.Malloc(b.story.size(words[2]))
	case "free":
		err = args[0].Release()
	case "copy":
		err = b.work.Copy(args[0], args[1])
	case "launch":
		err = b.work.Launch("work", args[1:], args[:1])
	case "share":
		b.tensors[words[1]+"'"], err = args[0].Share()
	case "return":
		b.outputs = args
	case "fail":
		err = fmt.Errorf("the function fails")
	default:
		b.story.d.Fatalf(b.story.t, "a function cannot %q", words[0])
	}
	return err
}
