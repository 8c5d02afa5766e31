package check

import (
	"github.com/tidwall/btree"

	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
)

// What host threads know of each other. A thread knows that work is over if it has
// waited for it itself. A log does not show how threads pass memory on, but it shows that
// they do:
//
//   - memory that one thread frees and another one is given was passed on by the
//     allocator, and with it what the first one knew when it freed it;
//   - an allocation that one thread was given and another one uses was passed on by the
//     program, and with it what the first one knew then.
//
// Everything else they tell each other is in the log as wait_thread, or unknown.

// passedOn is what was known of freed memory by whoever freed it.
type passedOn struct {
	byPtr btree.Map[spec.Ptr, passed]
}

type passed struct {
	end   spec.Ptr
	known happensbefore.Clock
}

// put remembers what is known of a range.
func (p *passedOn) put(r spec.Range, known happensbefore.Clock) {
	if known != (happensbefore.Clock{}) {
		p.take(r, func(earlier happensbefore.Clock) { known.Join(earlier) })
		p.byPtr.Set(r.Ptr, passed{r.End(), known})
	}
}

// take visits what is known of the parts of a range, and forgets it there.
func (p *passedOn) take(r spec.Range, visit func(happensbefore.Clock)) {
	if p.byPtr.Len() == 0 {
		return
	}
	from := r.Ptr
	p.byPtr.Descend(r.Ptr, func(at spec.Ptr, _ passed) bool {
		from = at
		return false
	})
	var found []spec.Ptr
	p.byPtr.Ascend(from, func(at spec.Ptr, part passed) bool {
		if at < r.End() && part.end > r.Ptr {
			found = append(found, at)
		}
		return at < r.End()
	})
	for _, at := range found {
		part, _ := p.byPtr.Delete(at)
		visit(part.known)
		if at < r.Ptr {
			p.byPtr.Set(at, passed{r.Ptr, part.known})
		}
		if part.end > r.End() {
			p.byPtr.Set(r.End(), part)
		}
	}
}

// givenTo: the present thread uses an allocation, so that it has been told of it.
func (c *checker) givenTo(a *allocation) {
	if a.thread != c.op.Thread && a.known != nil {
		c.gpu.See(*a.known)
	}
}
