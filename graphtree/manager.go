package graphtree

import (
	"errors"

	"gaugeblock/spec"
)

// GPU is what a manager needs of a device.
type GPU interface {
	spec.Driver
	spec.Executor
}

// Allocator is what a manager needs of an allocator.
type Allocator interface {
	spec.Allocator
	spec.PrivatePools
	spec.Checkpointer
}

// Options are the arguments of New.
type Options struct {
	Device spec.Device
	// Program is the program's stream. The functions' work is ordered after what was
	// launched on it before and before what is launched on it later. Graphs are
	// launched on it.
	Program spec.Stream
	// Stream is the manager's own stream, for warm-ups and captures. It is not the
	// default stream, and nobody else may use it. The program makes it, and destroys it
	// after Shutdown.
	Stream spec.Stream
	// Pool is the id of the manager's own pool.
	Pool spec.PoolID
	// Generations is shared by the managers of a program. nil makes a new one.
	Generations *Generations
	// RerecordLimit is how often a function may be recorded again at one node because
	// its inputs have other addresses. 0 sets no limit. See limit.go.
	RerecordLimit int
}

// A Manager has the trees of one device. It and its tensors are not for use by several
// goroutines at once.
type Manager struct {
	gpu         GPU
	allocator   Allocator
	device      spec.Device
	program     spec.Stream
	stream      spec.Stream
	pool        spec.PoolID
	generations *Generations
	limit       int
	emptyGraph  spec.GraphExec // keeps the pool live; 0 after Shutdown

	roots   map[*Function][]*node
	nodes   []*node // all recordings, by id
	warm    map[*Function]bool
	owners  map[spec.Ptr]*storage
	moved   map[callSite]int
	current *node
	state   State

	generation      generation // of the last call
	pendingBackward bool

	recorded, warmUps           int
	fails, checkpoints, outside int
}

// New makes a manager. It captures an empty graph, which keeps the pool live until
// Shutdown.
func New(gpu GPU, a Allocator, o Options) (*Manager, error) {
	if o.Stream == 0 || o.Stream == o.Program {
		return nil, &spec.InvalidArgumentError{Op: "new graph tree", Reason: "it needs a stream of its own, which can be captured"}
	}
	if o.Generations == nil {
		o.Generations = &Generations{}
	}
	m := &Manager{
		gpu: gpu, allocator: a, device: o.Device, program: o.Program, stream: o.Stream, pool: o.Pool,
		generations: o.Generations, limit: o.RerecordLimit,
		roots:  map[*Function][]*node{},
		warm:   map[*Function]bool{},
		owners: map[spec.Ptr]*storage{},
		moved:  map[callSite]int{},
	}
	var err error
	m.emptyGraph, err = m.capture(func() error { return nil })
	return m, err
}

// Malloc allocates memory in bytes on the program's stream, from the default pool, as a
// tensor that can be an input. The errors are the allocator's.
func (m *Manager) Malloc(bytes uint64) (*Tensor, error) { return m.malloc(m.program, bytes) }

// Wrap makes a tensor of memory that the program frees itself, after the last Release.
func (m *Manager) Wrap(memory spec.Range) *Tensor {
	return &Tensor{storage: (&storage{manager: m, memory: memory}).addRef()}
}

// Generations returns the generations of the manager.
func (m *Manager) Generations() *Generations { return m.generations }

// setCurrent makes a node the present one.
func (m *Manager) setCurrent(n *node, s State) {
	m.current, m.state = n, s
	m.generation = m.generations.now()
}

// children are the recordings that may follow the present node.
func (m *Manager) children() map[*Function][]*node {
	if m.current == nil {
		return m.roots
	}
	return m.current.recording.children
}

// releaseAfter releases what a failed step has left. It returns the step's error with
// those of the releases.
func (m *Manager) releaseAfter(tensors []*Tensor, err error) error {
	return errors.Join(err, releaseAll(tensors))
}

// Shutdown destroys all recordings, and returns unused memory of the pool to the
// driver. Outputs that are still referenced keep their memory until they are released.
// No call is possible afterwards.
func (m *Manager) Shutdown() error {
	if m.emptyGraph == 0 {
		return errShutDown
	}
	err := m.gpu.SynchronizeDevice(m.device)
	for _, n := range m.nodes {
		n.emptyCache()
		for i := range n.recording.outputInfos {
			if s := n.recording.outputInfos[i].input; s != nil {
				err = errors.Join(err, s.dropRef())
			}
		}
		err = errors.Join(err, m.destroyGraph(n.recording.exec))
	}
	err = errors.Join(err, m.destroyGraph(m.emptyGraph), m.allocator.EmptyPool(m.pool))
	m.emptyGraph, m.nodes, m.current, m.state = 0, nil, nil, Idle
	clear(m.roots)
	return err
}

var errShutDown error = &spec.InvalidStateError{Op: "graph tree", Reason: "it was shut down"}
