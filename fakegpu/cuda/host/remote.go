//go:build cgo && linux

package host

import (
	"encoding/gob"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"gaugeblock/fakegpu"
)

// Several processes on one machine. The first that names a place (a socket) has the machine,
// and answers the calls of the others, each of which is a process of the machine. In those
// a copy to the host waits until it is done, and no call can name memory of the host that the
// device is to look at later: host functions and waits for a word are not supported.

// request is a call of another process: an operation, its words, what is in the memory that
// they name, and who makes it.
type request struct {
	Operation int32
	Words     [8]uint64
	Memory    [][]byte
	Caller    fakegpu.Caller
}

// answer is what came of it.
type answer struct {
	Result int32
	Words  [8]uint64
	Memory [][]byte
}

// remote is the way to the machine.
type remote struct {
	mu  sync.Mutex
	out *gob.Encoder
	in  *gob.Decoder
}

// ask makes a call. A machine that has gone is cudaErrorCudartUnloading.
func (r *remote) ask(q *request) answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	var a answer
	if r.out.Encode(q) != nil || r.in.Decode(&a) != nil {
		return answer{Result: unloading}
	}
	return a
}

// join makes the process one of the machine at a place: the machine's own if there is none
// yet.
func (p *Process) join(machine *fakegpu.Machine, place string) error {
	connection, err := net.Dial("unix", place)
	if err == nil {
		p.remote = &remote{out: gob.NewEncoder(connection), in: gob.NewDecoder(connection)}
		p.Report = nil
		return nil
	}
	if err := os.Remove(place); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s=%s: %w", machineVariable, place, err)
	}
	listener, err := net.Listen("unix", place)
	if err != nil {
		return fmt.Errorf("%s=%s: %w", machineVariable, place, err)
	}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			other := NewProcess(machine.NewProcess())
			other.Waits, other.Log, other.Illegal = p.Waits, p.Log, p.Illegal
			go other.serve(connection)
		}
	}()
	return nil
}

// serve answers the calls of another process until it ends.
func (p *Process) serve(connection net.Conn) {
	defer p.GPU.Exit()
	defer connection.Close()
	out, in := gob.NewEncoder(connection), gob.NewDecoder(connection)
	for {
		var q request
		if in.Decode(&q) != nil {
			return
		}
		p.served = &q.Caller
		a := p.answer(&q)
		if out.Encode(&a) != nil {
			return
		}
	}
}
