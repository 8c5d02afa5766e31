package examine

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"gaugeblock/fakegpu"
	"gaugeblock/internal/quote"
	"gaugeblock/spec"
)

// command is a program that speaks the line protocol of tools/examine/README.md: a request is a
// line that it reads; before it answers, it makes calls of the driver, each of which is answered.
type command struct {
	arguments []string
	watchdog
	lastWords
	marks
	refusals

	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	gpu     *fakegpu.GPU
	says    answerLine // to begin
}

// requestLine is what a program is asked.
type requestLine struct {
	// begin, malloc, free, record_stream, empty_cache, end_thread, resize, sleep, wake, end
	Do      string  `json:"do"`
	Ptr     *uint64 `json:"ptr,omitempty"`  // free and record_stream, also of the null pointer
	Size    *uint64 `json:"size,omitempty"` // malloc and free, also of 0 bytes
	Align   uint64  `json:"align,omitempty"`
	To      uint64  `json:"to,omitempty"` // resize: the new size
	Device  int     `json:"device"`
	Stream  uint64  `json:"stream"`
	Thread  int32   `json:"thread,omitempty"`
	Devices int     `json:"devices,omitempty"` // begin: how many there are
}

// answerLine is what it answers, or a call of the driver (lineCall).
type answerLine struct {
	lineCall
	Error string  `json:"error"` // the request failed
	Ptr   *uint64 `json:"ptr"`   // nil: the line has no such field

	// In the answer to begin.
	Contract string `json:"contract"`
	Empties  bool   `json:"empties"` // it has an empty_cache
	Aligns   bool   `json:"aligns"`  // it takes "align"
	Resizes  bool   `json:"resizes"`
	Sleeps   bool   `json:"sleeps"`  // it has sleep and wake
	Ends     bool   `json:"ends"`    // it has an end
	Resized  bool   `json:"resized"` // to resize
}

func (c *command) contract() string { return c.says.Contract }
func (c *command) leaves() string   { return "" } // a program has no last error
func (c *command) records() bool    { return strings.Contains(c.says.Contract, "record_stream") }
func (c *command) empties() bool    { return c.says.Empties }
func (c *command) named() Functions { return Functions{} }
func (c *command) can() abilities {
	return abilities{aligns: c.says.Aligns, resizes: c.says.Resizes, sleeps: c.says.Sleeps, ends: c.says.Ends}
}

// begin makes a new allocator: the program is asked to, and started anew if it has ended.
func (c *command) begin(gpu *fakegpu.GPU) error {
	c.gpu, c.refusals = gpu, refusals{}
	request := requestLine{Do: "begin", Devices: gpu.DeviceCount()}
	if c.process != nil {
		if err := c.listen(); err != nil {
			return err
		}
		if answer, err := c.ask(&request); err == nil {
			c.says = answer
			return nil
		}
		c.close()
	}
	if err := c.start(); err != nil {
		return err
	}
	answer, err := c.ask(&request)
	if err != nil {
		err = fmt.Errorf("%s does not begin: %s", quote.Text(c.arguments[0]), c.with(c.how(err)))
		c.close()
		return err
	}
	c.says = answer
	return nil
}

func (c *command) start() error {
	if err := errors.Join(c.open(), c.listen()); err != nil {
		return err
	}
	c.process = exec.Command(c.arguments[0], c.arguments[1:]...)
	c.process.Stderr = c.said
	c.process.SysProcAttr = ownGroup()
	c.process.Env = append(os.Environ(), c.environment())
	in, out, err := blockingPipes(c.process)
	if err != nil {
		return err
	}
	if err := c.process.Start(); err != nil {
		c.process = nil
		return err
	}
	for _, end := range []any{c.process.Stdin, c.process.Stdout} {
		if err := end.(*os.File).Close(); err != nil {
			return err
		}
	}
	c.in, c.out = in, bufio.NewReader(out)
	c.pid.Store(int64(c.process.Process.Pid))
	c.often = c.forget
	c.watch()
	return nil
}

// blockingPipes are the ends of a process's standard input and output. They block a thread
// of the system, which is faster here than to be told by the runtime.
func blockingPipes(process *exec.Cmd) (in, out *os.File, err error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	in.Fd() // which makes them block
	out.Fd()
	process.Stdin, process.Stdout = theirIn, theirOut
	return in, out, nil
}

// close ends the process.
func (c *command) close() {
	if c.process == nil {
		return
	}
	c.unwatch()
	_ = c.in.Close()
	c.kill()
	c.killMarked()
	_ = c.process.Wait()
	c.process = nil
	c.pid.Store(0)
}

// settle: a program has no pools of the driver's.
func (c *command) settle() {}

// namesOfOrders are those of the line protocol for orders without operands.
var namesOfOrders = map[int32]string{orderReset: "empty_cache", orderSleep: "sleep", orderWake: "wake", orderEnd: "end"}

// call makes an order a request.
func (c *command) call(m message) (words [8]uint64, exception string) {
	w := &m.Words
	request := requestLine{Thread: m.Number}
	switch m.Type {
	case orderMalloc, orderMallocAligned:
		request = requestLine{Do: "malloc", Size: &w[0], Align: w[3], Device: int(w[1]), Stream: handle(w[2], w[5]), Thread: m.Number}
	case orderFree:
		request = requestLine{Do: "free", Ptr: &w[0], Size: &w[1], Device: int(w[2]), Stream: handle(w[3], w[5]), Thread: m.Number}
	case orderRecordStream:
		request = requestLine{Do: "record_stream", Ptr: &w[0], Stream: w[1], Device: int(w[3])}
	case orderResize:
		request = requestLine{Do: "resize", Ptr: &w[0], Size: &w[1], To: w[5], Device: int(w[2]), Stream: w[3]}
	case orderReset, orderSleep, orderWake, orderEnd:
		request.Do = namesOfOrders[m.Type]
	case orderEndThread:
		request.Do = "end_thread"
	}
	answer, err := c.ask(&request)
	if err != nil {
		c.ended(err)
	}
	switch {
	case m.Type == orderResize && answer.Resized:
		words[0] = 1
	case answer.Ptr != nil:
		words[0] = *answer.Ptr
	}
	return words, answer.Error
}

// handle is the handle of a stream whose name may be cudaStreamPerThread. Calls of the
// protocol do not say which thread they are of, so the name alone would mean nothing.
func handle(name, own uint64) uint64 {
	if own != 0 {
		return own
	}
	return name
}

// ended tells the kit that the process has ended, or has said what makes no sense.
func (c *command) ended(err error) {
	gone := c.gone(c.with(c.how(err)))
	c.close()
	panic(gone)
}

// how says what became of a request.
func (c *command) how(err error) string {
	if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.EPIPE) {
		return err.Error()
	}
	c.endSoon()
	return "it ended: " + c.process.ProcessState.String()
}

// endSoon waits for the end of a process that has closed its output, and ends it if that takes long.
func (c *command) endSoon() {
	const grace = time.Second
	over := time.AfterFunc(grace, c.kill)
	_ = c.process.Wait()
	over.Stop()
}

// ask sends a request, and serves the calls of the driver until there is an answer.
func (c *command) ask(request *requestLine) (answer answerLine, err error) {
	defer c.calling()()
	c.gpu.BoundQueries(mostQueries)
	err = c.write(request)
	for err == nil {
		var line []byte
		over := c.waiting()
		line, err = c.out.ReadBytes('\n')
		over()
		if err != nil {
			break
		}
		answer = answerLine{}
		if wrong := json.Unmarshal(line, &answer); wrong != nil {
			return answer, fmt.Errorf("it answered %q to %q, which is no line of the protocol: %v", strings.TrimSpace(string(line)), request.Do, wrong)
		}
		if answer.Call == "" {
			return answer, answer.complete(request.Do)
		}
		if answer.Ptr != nil {
			answer.lineCall.Ptr = *answer.Ptr
		}
		result, unknown := answer.perform(c.gpu)
		if unknown != nil {
			return answer, unknown
		}
		c.hearLine(&answer.lineCall, &result)
		err = c.write(&result)
	}
	return answer, err
}

// complete says which field an answer lacks.
func (a *answerLine) complete(do string) error {
	if do == "malloc" && a.Ptr == nil && a.Error == "" {
		return fmt.Errorf("its answer to %q has neither ptr nor error", do)
	}
	return nil
}

func (c *command) write(value any) error {
	text, err := json.Marshal(value)
	if err == nil {
		_, err = c.in.Write(append(text, '\n'))
	}
	return err
}

// lineCall is a call of the driver.
type lineCall struct {
	Call   string `json:"call"`
	Ptr    uint64 `json:"ptr"`
	Size   uint64 `json:"size"`
	Device int    `json:"device"`
	Stream uint64 `json:"stream"`
	Event  uint64 `json:"event"`
	Page   uint64 `json:"page"`
}

// lineResult is what a call answers.
type lineResult struct {
	// in CUDA's words; "cudaErrorMemoryAllocation" is out of memory
	Error    string `json:"error,omitempty"`
	Ptr      uint64 `json:"ptr,omitempty"`
	Event    uint64 `json:"event,omitempty"`
	Page     uint64 `json:"page,omitempty"`
	Complete *bool  `json:"complete,omitempty"` // event_query
	Free     uint64 `json:"free,omitempty"`     // mem_info, in bytes
	Total    uint64 `json:"total,omitempty"`
}

// lineCalls are the calls that there are.
var lineCalls = map[string]func(g *fakegpu.GPU, c *lineCall, r *lineResult) error{
	"malloc": func(g *fakegpu.GPU, c *lineCall, r *lineResult) error {
		p, err := g.Malloc(spec.Device(c.Device), c.Size)
		r.Ptr = uint64(p)
		return err
	},
	"free": func(g *fakegpu.GPU, c *lineCall, _ *lineResult) error {
		return g.Free(spec.Device(c.Device), spec.Ptr(c.Ptr))
	},
	"mem_info": func(g *fakegpu.GPU, c *lineCall, r *lineResult) (err error) {
		r.Free, r.Total, err = g.MemInfo(spec.Device(c.Device))
		return err
	},
	"event_create": func(g *fakegpu.GPU, c *lineCall, r *lineResult) error {
		e, err := g.CreateEvent(spec.Device(c.Device))
		r.Event = uint64(e)
		return err
	},
	"event_record": func(g *fakegpu.GPU, c *lineCall, _ *lineResult) error {
		return g.RecordEvent(spec.EventHandle(c.Event), spec.Device(c.Device), spec.Stream(c.Stream))
	},
	"event_query": func(g *fakegpu.GPU, c *lineCall, r *lineResult) error {
		complete, err := g.QueryEvent(spec.EventHandle(c.Event))
		r.Complete = &complete
		return err
	},
	"event_synchronize": func(g *fakegpu.GPU, c *lineCall, _ *lineResult) error {
		return g.SynchronizeEvent(spec.EventHandle(c.Event))
	},
	"event_destroy": func(g *fakegpu.GPU, c *lineCall, _ *lineResult) error {
		return g.DestroyEvent(spec.EventHandle(c.Event))
	},
	"stream_wait": func(g *fakegpu.GPU, c *lineCall, _ *lineResult) error {
		return g.WaitEvent(spec.Device(c.Device), spec.Stream(c.Stream), spec.EventHandle(c.Event))
	},
	"stream_synchronize": func(g *fakegpu.GPU, c *lineCall, _ *lineResult) error {
		return g.SynchronizeStream(spec.Device(c.Device), spec.Stream(c.Stream))
	},
	"device_synchronize": func(g *fakegpu.GPU, c *lineCall, _ *lineResult) error {
		return g.SynchronizeDevice(spec.Device(c.Device))
	},
	"reserve_address": func(g *fakegpu.GPU, c *lineCall, r *lineResult) error {
		p, err := g.ReserveAddress(spec.Device(c.Device), c.Size)
		r.Ptr = uint64(p)
		return err
	},
	"free_address": func(g *fakegpu.GPU, c *lineCall, _ *lineResult) error {
		return g.FreeAddress(spec.Ptr(c.Ptr), c.Size)
	},
	"create_page": func(g *fakegpu.GPU, c *lineCall, r *lineResult) error {
		page, err := g.CreatePage(spec.Device(c.Device), c.Size, spec.SharePOSIX)
		r.Page = uint64(page)
		return err
	},
	"release_page": func(g *fakegpu.GPU, c *lineCall, _ *lineResult) error {
		return g.ReleasePage(spec.PageHandle(c.Page))
	},
	"map_page": func(g *fakegpu.GPU, c *lineCall, _ *lineResult) error {
		return g.MapPage(spec.Ptr(c.Ptr), c.Size, spec.PageHandle(c.Page))
	},
	"set_access": func(g *fakegpu.GPU, c *lineCall, _ *lineResult) error {
		return g.SetAccess(spec.Ptr(c.Ptr), c.Size, spec.Device(c.Device))
	},
	"unmap_page": func(g *fakegpu.GPU, c *lineCall, _ *lineResult) error {
		return g.UnmapPage(spec.Ptr(c.Ptr), c.Size)
	},
}

// perform makes the call. The error is of a call that there is not.
func (c *lineCall) perform(g *fakegpu.GPU) (r lineResult, unknown error) {
	call, known := lineCalls[c.Call]
	if !known {
		return r, fmt.Errorf("it made the call %q, which does not exist", c.Call)
	}
	if err := call(g, c, &r); err != nil {
		r = lineResult{Error: err.Error()}
		var driver *spec.DriverError
		if errors.As(err, &driver) {
			r.Error = driver.Name
		}
	}
	return r, nil
}
