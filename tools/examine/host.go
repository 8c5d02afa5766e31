package examine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"gaugeblock/conformance"
	"gaugeblock/fakegpu"
	"gaugeblock/fakegpu/cuda/host"
	"gaugeblock/internal/quote"
)

// message is what goes between the host program and here, see host/host.cc.
type message struct {
	Type, Number int32
	Words        [8]uint64
	Extra        uint64
}

const messageBytes = 80

const (
	saysStarted int32 = iota + 1
	saysLoaded
	saysFailed
	saysCalled
	saysAnswered
	saysEnded
)

const (
	orderStart int32 = iota + 1
	orderMalloc
	orderFree
	orderRecordStream
	orderInit
	orderReset
	orderEndThread
	orderQuit
	orderMallocAligned
	orderResize
	orderSleep
	orderWake
	orderEnd
	orderFunction // a function of the host is due; also in the place of an answer to a call
)

// library is the host program with a library, which it loads anew for each program.
type library struct {
	directory string // of Build
	path      string
	functions Functions
	python    string // the interpreter of a module in Python; "": a library is examined
	watchdog
	lastWords
	marks
	refusals

	process *exec.Cmd
	orders  *os.File
	answers *os.File
	out     *os.File

	gpu     *host.Process
	running bool
	busy    bool      // in a call
	served  int       // calls of CUDA in it
	due     []message // functions of the host that streams have called, for the process to run
	says    string    // the library's contract, as it says
	left    string    // CUDA's name of the last error that the latest call has left
}

func (l *library) contract() string { return l.says }
func (l *library) leaves() string   { return l.left }
func (l *library) records() bool    { return l.functions.RecordStream != "" }
func (l *library) empties() bool    { return l.functions.Reset != "" }
func (l *library) can() abilities   { return l.functions.can() }
func (l *library) named() Functions { return l.functions }

// begin starts a process that has the library, on a GPU. The one before ends.
func (l *library) begin(gpu *fakegpu.GPU) error {
	if l.busy { // a call was left in the middle
		l.close()
	}
	l.quit()
	fresh := l.process == nil
	if fresh {
		if err := l.start(); err != nil {
			return err
		}
	}
	l.gpu, l.due, l.refusals = host.NewProcess(gpu), nil, refusals{}
	l.gpu.CallFunction = func(function, argument uint64) {
		l.due = append(l.due, message{Type: orderFunction, Words: [8]uint64{function, argument}})
	}
	if err := l.listen(); err != nil {
		return err
	}
	if err := l.order(message{Type: orderStart}); err != nil && fresh {
		return err
	}
	for {
		m, extra, err := l.read()
		if err != nil && !fresh { // the program before has ended the process that starts them
			l.close()
			return l.begin(gpu)
		}
		if err != nil {
			return fmt.Errorf("%s cannot be loaded: %s", quote.Text(l.path), l.with("the process has ended"))
		}
		if m.Type == saysEnded && !l.running {
			continue // the process before
		}
		switch m.Type {
		case saysStarted:
			l.pid.Store(int64(m.Words[0]))
			l.running = true
		case saysCalled:
			if err := l.serve(&m, extra); err != nil {
				return err
			}
		case saysLoaded:
			l.says = string(extra)
			return l.init(gpu.DeviceCount())
		case saysFailed:
			l.running = false
			return fmt.Errorf("%s cannot be loaded: %s", quote.Text(l.path), extra)
		case saysEnded:
			return fmt.Errorf("%s cannot be loaded: the process has ended: %s", quote.Text(l.path), l.with(endOf(m.Words[0])))
		}
	}
}

// start starts the host program.
func (l *library) start() (err error) {
	var ends [6]*os.File
	for i := 0; i < len(ends); i += 2 {
		if ends[i], ends[i+1], err = os.Pipe(); err != nil {
			return err
		}
		ends[i].Fd() // which makes them block
		ends[i+1].Fd()
	}
	if err := l.open(); err != nil {
		return err
	}
	l.process = exec.Command(filepath.Join(l.directory, hostName), append([]string{l.directory, l.path}, l.functions.roles()...)...)
	if l.python != "" {
		l.process = exec.Command(l.python, filepath.Join(l.directory, pythonName), l.directory, l.path)
	}
	l.process.ExtraFiles = []*os.File{ends[0], ends[2], ends[5]}
	l.process.Stdout, l.process.Stderr = l.said, l.said
	path := l.directory
	if further := os.Getenv("LD_LIBRARY_PATH"); l.python != "" && further != "" {
		path += ":" + further // a package may need libraries above CUDA
	}
	l.process.Env = append(os.Environ(), "LD_LIBRARY_PATH="+path, l.environment())
	l.orders, l.answers, l.out = ends[1], ends[3], ends[4]
	if err := l.process.Start(); err != nil {
		return err
	}
	l.often = l.forget
	l.watch()
	return errors.Join(ends[0].Close(), ends[2].Close(), ends[5].Close())
}

// quit ends the process that has the library, if there is one.
func (l *library) quit() {
	if l.running {
		_ = l.order(message{Type: orderQuit})
	}
	l.running = false
	l.pid.Store(0)
}

// close ends both processes.
func (l *library) close() {
	if l.busy {
		l.kill()
	}
	l.quit()
	l.busy = false
	if l.process == nil {
		return
	}
	l.unwatch()
	_ = errors.Join(l.orders.Close(), l.answers.Close())
	_ = l.process.Process.Kill()
	_ = l.process.Wait() // then it is not among those that are marked
	l.killMarked()
	_ = l.out.Close()
	l.process = nil
}

// mostCalls is how many calls of CUDA in one call are made while nothing but time has to pass.
const mostCalls = 2000

func (l *library) settle() { l.gpu.Settle() }

// order sends an order.
func (l *library) order(m message) error {
	_, err := l.orders.Write(m.bytes(nil))
	return err
}

func (m *message) bytes(extra []byte) []byte {
	m.Extra = uint64(len(extra))
	b := make([]byte, 0, messageBytes+len(extra))
	b = binary.NativeEndian.AppendUint32(b, uint32(m.Type))
	b = binary.NativeEndian.AppendUint32(b, uint32(m.Number))
	for _, w := range m.Words {
		b = binary.NativeEndian.AppendUint64(b, w)
	}
	return append(binary.NativeEndian.AppendUint64(b, m.Extra), extra...)
}

// read is the next message.
func (l *library) read() (m message, extra []byte, err error) {
	defer l.waiting()()
	var b [messageBytes]byte
	if _, err := io.ReadFull(l.out, b[:]); err != nil {
		return m, nil, err
	}
	m.Type, m.Number = int32(binary.NativeEndian.Uint32(b[0:])), int32(binary.NativeEndian.Uint32(b[4:]))
	for i := range m.Words {
		m.Words[i] = binary.NativeEndian.Uint64(b[8+8*i:])
	}
	m.Extra = binary.NativeEndian.Uint64(b[72:])
	if m.Extra > 0 {
		extra = make([]byte, m.Extra)
		_, err = io.ReadFull(l.out, extra)
	}
	return m, extra, err
}

// call has the library do something. It panics with a *conformance.Gone if the process ends
// or does not answer.
func (l *library) call(m message) (words [8]uint64, exception string) {
	if !l.running {
		panic(&conformance.Gone{Reason: "the process of the allocator has ended before"})
	}
	defer l.calling()()
	l.gpu.GPU.BoundQueries(mostQueries)
	l.busy, l.served = true, 0
	err := l.tell(l.orders)
	if err == nil {
		err = l.order(m)
	}
	for err == nil {
		var answer message
		var extra []byte
		if answer, extra, err = l.read(); err != nil {
			break
		}
		switch answer.Type {
		case saysCalled:
			err = l.serve(&answer, extra)
		case saysAnswered:
			l.busy = false
			if answer.Number != 0 {
				return answer.Words, "it threw " + string(extra)
			}
			l.left = string(extra)
			return answer.Words, ""
		case saysEnded:
			l.ended(endOf(answer.Words[0]))
		}
	}
	l.ended(fmt.Sprintf("the process does not answer: %v", err))
	return words, ""
}

// ended tells the kit that the process has ended.
func (l *library) ended(how string) {
	gone := l.gone(l.with(how))
	l.running = false
	l.close()
	panic(gone)
}

// tell says which functions of the host are due.
func (l *library) tell(to *os.File) error {
	for i := range l.due {
		if _, err := to.Write(l.due[i].bytes(nil)); err != nil {
			return err
		}
	}
	l.due = nil
	return nil
}

// init tells the library how many devices there are, if it wants to know.
func (l *library) init(devices int) error {
	if l.functions.Init == "" {
		return nil
	}
	if _, exception := l.call(message{Type: orderInit, Words: [8]uint64{uint64(devices)}}); exception != "" {
		return fmt.Errorf("%s(%d): %s", l.functions.Init, devices, exception)
	}
	return nil
}

// serve performs a CUDA call.
func (l *library) serve(m *message, extra []byte) error {
	var memory [][]byte
	for len(extra) >= 8 {
		n := binary.NativeEndian.Uint64(extra)
		if n > uint64(len(extra)-8) {
			return errors.New("a call that makes no sense")
		}
		memory = append(memory, extra[8:8+n])
		extra = extra[8+n:]
	}
	if l.served++; l.served%mostCalls == 0 { // it waits for a function of the host, say: time passes
		l.gpu.GPU.DrainAll()
	}
	answer := message{Words: m.Words}
	var answered [][]byte
	answer.Number, answered = l.gpu.Answer(m.Number, &answer.Words, memory)
	l.hear(m.Number, m.Words, answer.Number)
	if err := l.tell(l.answers); err != nil {
		return err
	}
	var b []byte
	for _, a := range answered {
		b = append(binary.NativeEndian.AppendUint64(b, uint64(len(a))), a...)
	}
	_, err := l.answers.Write(answer.bytes(b))
	return err
}
