package graphtree

import (
	"errors"

	"gaugeblock/spec"
)

// GPU is what a tree needs of a device.
type GPU interface {
	spec.Driver
	spec.Executor
}

// Allocator is what a tree needs of an allocator.
type Allocator interface {
	spec.Allocator
	spec.PrivatePools
	spec.Checkpointer
}

// Options says where a manager works.
type Options struct {
	Device spec.Device
	// Program is the stream of the program: its work comes before and after the
	// functions' in this stream's order, and graphs are launched on it.
	Program spec.Stream
	// Stream is the manager's own, for warm-ups and captures; not the default
	// stream, and for nobody else's use. It is the program's to make, and to
	// destroy after Shutdown.
	Stream spec.Stream
	// Pool is the manager's own too.
	Pool spec.PoolID
	// Generations is shared by the managers of a program; nil makes a new one.
	Generations *Generations
	// RerecordLimit is how often a function may be recorded again at one place
	// because its inputs lie elsewhere; 0 sets no limit. See limit.go.
	RerecordLimit int
}

// A Manager keeps the trees of one device. It and its tensors are not for use by
// several goroutines at once.
type Manager struct {
	gpu         GPU
	allocator   Allocator
	device      spec.Device
	program     spec.Stream
	stream      spec.Stream
	pool        spec.PoolID
	generations *Generations
	limit       int
	keeper      spec.GraphExec // an empty graph that keeps the pool; 0 after Shutdown

	roots   map[*Function][]*node
	nodes   []*node // all recordings, by number
	warm    map[*Function]bool
	owners  map[spec.Ptr]*storage
	moved   map[occasion]int
	current *node
	state   State

	generation      generation // of the last call
	pendingBackward bool

	recorded, warmUps           int
	fails, checkpoints, outside int
}

// New makes a manager. It captures an empty graph, which keeps the pool until
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
		moved:  map[occasion]int{},
	}
	var err error
	m.keeper, err = m.capture(func() error { return nil })
	return m, err
}

// Malloc gives the program memory in bytes on its own stream, from the default
// pool, as a tensor that can be an input. The errors are the allocator's.
func (m *Manager) Malloc(bytes uint64) (*Tensor, error) { return m.malloc(m.program, bytes) }

// Wrap makes a tensor of memory that is the program's to free, after the last
// Release.
func (m *Manager) Wrap(memory spec.Range) *Tensor {
	return &Tensor{storage: (&storage{manager: m, memory: memory}).hold()}
}

// Generations is what the manager goes by.
func (m *Manager) Generations() *Generations { return m.generations }

// arrive makes a node the present one.
func (m *Manager) arrive(n *node, s State) {
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

// abandon releases what a failed step has left.
func (m *Manager) abandon(tensors []*Tensor, err error) error {
	return errors.Join(err, releaseAll(tensors))
}

// Shutdown gives up all recordings, and returns to the driver what is then unused.
// Outputs that are still held keep their memory until they are released. Nothing
// can be called afterwards.
func (m *Manager) Shutdown() error {
	if m.keeper == 0 {
		return errShutDown
	}
	err := m.gpu.SynchronizeDevice(m.device)
	for _, n := range m.nodes {
		n.emptyCache()
		for i := range n.recording.results {
			if s := n.recording.results[i].fixed; s != nil {
				err = errors.Join(err, s.drop())
			}
		}
		err = errors.Join(err, m.discard(n.recording.exec))
	}
	err = errors.Join(err, m.discard(m.keeper), m.allocator.EmptyPool(m.pool))
	m.keeper, m.nodes, m.current, m.state = 0, nil, nil, Idle
	clear(m.roots)
	return err
}

var errShutDown error = &spec.InvalidStateError{Op: "graph tree", Reason: "it was shut down"}
