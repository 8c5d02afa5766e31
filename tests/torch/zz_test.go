package torch

import (
	"fmt"
	"gaugeblock/tests/conformance"
	"gaugeblock/tests/replay"
	"gaugeblock/torchimpl"
	"os"
	"regexp"
	"testing"
	"time"
)

var digits = regexp.MustCompile(`0x[0-9a-f]+|[0-9.]+`)

func TestZZ(t *testing.T) {
	work := "/tmp/tw"
	o, err := Beside(work)
	if err != nil {
		t.Fatal(err)
	}
	if err := torchimpl.Build(o); err != nil {
		t.Fatal(err)
	}
	w, err := startWorker(o)
	if err != nil {
		t.Fatal(err)
	}
	progs := 1000
	for _, a := range conformance.Areas() {
		if a.Name == "sharing" || os.Getenv("AREA") != "" && os.Getenv("AREA") != a.Name {
			continue
		}
		start := time.Now()
		n := 0
		first := map[string]string{}
		classes := map[string]int{}
		for seed := uint64(1); seed < uint64(progs); {
			r, crash, err := w.do(&job{Area: a.Name, Seed: seed, Programs: progs - int(seed), Length: 1000, Every: 50})
			if err != nil {
				t.Fatal(err)
			}
			n += r.Operations
			for k, v := range r.Listed {
				classes["LISTED "+k[:30]] += v
				first["LISTED "+k[:30]] = "-"
			}
			note := func(k, v string) {
				classes[k]++
				if first[k] == "" {
					first[k] = v
				}
			}
			if crash != nil {
				n += crash.Before + crash.Operation
				note("crash "+digits.ReplaceAllString(crash.Said, "N"), crash.Error())
				seed = crash.Seed + 1
			} else {
				seed += uint64(progs)
			}
			for _, o := range r.Outcomes {
				d := o.Difference
				k := d.What
				if o.Row != "" {
					k = "ROW " + o.Row[:40]
				}
				op := o.Ops[len(o.Ops)-1]
				k += " " + string(op.Kind)
				if d.What == "error" {
					k += " " + digits.ReplaceAllString(fmt.Sprintf("%.60s / %.120s", d.Reference, d.PyTorch), "N")
				}
				note(k, fmt.Sprint(o.Header.Seed, " ", o.Header.Settings, " ", d.Error()))
			}
		}
		d := time.Since(start)
		t.Log(a.Name, n, d/time.Duration(n))
		for k, v := range first {
			if len(v) > 500 {
				v = v[:500]
			}
			t.Log("    ", classes[k], k, ": ", v)
		}
	}
}

func TestMin(t *testing.T) {
	work := "/tmp/tw"
	o, err := Beside(work)
	if err != nil {
		t.Fatal(err)
	}
	w, err := startWorker(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		a string
		s uint64
	}{{"pools",75},{"pools",164},{"devices",75},{"devices",184}} {
		r, crash, err := w.do(&job{Area: c.a, Seed: c.s, Programs: 1, Length: 1000, Every: 50})
		if err != nil || crash != nil {
			t.Fatal(err, crash)
		}
		if len(r.Outcomes) == 0 {
			t.Log(c, "no difference")
			continue
		}
		out, err := minimise(w, c.a, r.Outcomes[0])
		if err != nil {
			t.Fatal(err)
		}
		t.Log(c, len(out.Ops), out.Header.Settings, out.Row, out.Difference)
		for i := range out.Ops {
			t.Log("      ", replay.InWords(&out.Ops[i]))
		}
	}
}
