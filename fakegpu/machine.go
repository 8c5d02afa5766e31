package fakegpu

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"gaugeblock/spec"
)

// MaxDevices bounds a machine: access rights are kept as one bit per device, and
// each device has its share of the address space.
const MaxDevices = 16

// Config describes a machine. The zero value is a machine with one device of 80
// GiB.
type Config struct {
	// Devices are the machine's devices, at most MaxDevices; none means one.
	Devices []DeviceConfig
	// Addresses makes the address policy of each device of each process; nil
	// means Ascending.
	Addresses func(spec.Device) AddressPolicy
	// PageGranularity is what pages and reserved ranges must be multiples of, in
	// bytes (cuMemGetAllocationGranularity); 0 means 2 MiB, as on hardware.
	PageGranularity uint64
	// Charge is how many bytes of its device a piece of memory takes, which must always
	// be the same; nil means just these. The real driver takes more.
	Charge func(bytes uint64) uint64
	// HostMemory, if given, is where the bytes of the devices' memory are, for the host to
	// reach. The addresses of the first process must be such as the host can have.
	HostMemory HostMemory
	// NoPeerAccess: the devices cannot reach each other's memory.
	NoPeerAccess bool

	// BlockingStreams: streams wait for the default stream of their device, and it
	// waits for them, as the legacy default stream does with streams that were not
	// created as non-blocking. Without it the default stream is a stream like any
	// other to all streams but those of SetBlocking.
	BlockingStreams bool

	// Schedule chooses when work is done; without one it is done at once.
	Schedule Schedule
	// Hazards turns the detection of hazards on from the start. Otherwise the first
	// BeginLifetime does.
	Hazards bool
	// Races reports as hazards also races between two accesses in one life: work on the
	// same bytes, on two streams that nothing puts in order, one of which writes.
	Races bool

	// Waits says what becomes of a call that waits for a stream which is busy.
	Waits WaitPolicy
	// FreeWaits makes Free wait for its device, as cudaFree does, under the rule
	// of Waits. Without it Free returns at once, and a stream that is busy stays
	// busy: a program that holds a stream busy in order to examine an allocator
	// is not interested in the driver's patience. (What only the Schedule has put
	// off is done in any case.)
	FreeWaits bool
}

// DeviceConfig describes a device.
type DeviceConfig struct {
	Name        string // "Fake GPU" if empty
	TotalMemory uint64 // bytes; 80 GiB if zero
	Fabric      bool   // pages can be shared as fabric handles
	RDMA        bool   // see spec.DeviceProperties.RDMAWithVirtualMemory
}

// Devices describes n devices with the same number of bytes.
func Devices(n int, bytes uint64) []DeviceConfig {
	devices := make([]DeviceConfig, n)
	for i := range devices {
		devices[i].TotalMemory = bytes
	}
	return devices
}

// A Machine is the hardware: devices with physical memory, shared by processes.
// Its lock guards everything in it and in its processes; see Locking in the package
// comment.
type Machine struct {
	mu        sync.Mutex
	config    Config
	physical  []*physical
	processes []*GPU
	works     uint64              // given so far, over all processes: the number of the latest
	backings  uint64              // made so far
	fabric    map[uint64]*backing // pages exported as fabric handles, by id
	queued    queued              // in the queues of all processes
	clock     time.Duration       // see event_time.go
	linked    bool                // a process has opened another one's event
}

// physical is the memory of one device. Always:
//
//	used  = what the driver charges for all backings of the device
//	free  = limit - used, or 0 if that is negative
type physical struct {
	DeviceConfig
	charge func(bytes uint64) uint64
	used   uint64
	limit  uint64 // what this machine's processes may use of it
}

func (p *physical) free() uint64 { return p.limit - min(p.used, p.limit) }

// NewMachine makes a machine without processes. It panics if the description has
// too many devices.
func NewMachine(c Config) *Machine {
	if len(c.Devices) == 0 {
		c.Devices = make([]DeviceConfig, 1)
	}
	if len(c.Devices) > MaxDevices {
		panic(fmt.Sprintf("fakegpu: %d devices, at most %d are possible", len(c.Devices), MaxDevices))
	}
	if c.Addresses == nil {
		c.Addresses = Ascending
	}
	if c.Charge == nil {
		c.Charge = func(bytes uint64) uint64 { return bytes }
	}
	if c.PageGranularity == 0 {
		c.PageGranularity = rangeAlignment
	}
	m := &Machine{config: c, fabric: map[uint64]*backing{}}
	for _, d := range c.Devices {
		d.Name = cmp.Or(d.Name, "Fake GPU")
		d.TotalMemory = cmp.Or(d.TotalMemory, 80*spec.GiB)
		m.physical = append(m.physical, &physical{DeviceConfig: d, charge: c.Charge, limit: d.TotalMemory})
	}
	return m
}

// New makes a machine and its only process.
func New(c Config) *GPU { return NewMachine(c).NewProcess() }

// A GPU is one process's view of a machine.
type GPU struct {
	machine *Machine
	alone   [1]*GPU // this one
	pid     uint64
	exited  bool

	calls   calls  // what was called so far, and what is to fail
	handles uint64 // the handle given last; one sequence for everything
	devices []*view
	space   space
	streams map[spec.Stream]*stream
	created uint64 // streams so far
	// every stream with work or a handle, by creation, and some that have neither
	inOrder   []*stream
	destroyed int // streams destroyed since the last look at all of them
	orphans   int // destroyed streams with work, as of that look
	events    map[spec.EventHandle]*event
	pages     map[spec.PageHandle]*page
	exports   map[uint64]*backing // pages exported as file descriptors
	captures  []*capture          // under way, by beginning
	captured  uint64              // captures begun so far
	callers   func() Caller       // who makes the call; see SetCallers
	graphs    map[spec.Graph]*graph
	execs     map[spec.GraphExec]*graphExec
	nodes     map[spec.GraphNode]*node

	listeners []func(MemoryCall)
	schedule  Schedule // nil: work is done at once
	noEffects bool     // see WithoutEffects
	line      int      // of a log: see At
	detector  *detector
	bounded   bool // queries are: see BoundQueries
	// queriesLeft is how many more may find work that is not complete.
	queriesLeft int
	violations  []Violation
}

// What a GPU can do.
var (
	_ spec.Driver        = (*GPU)(nil)
	_ spec.VirtualMemory = (*GPU)(nil)
	_ spec.MemorySharing = (*GPU)(nil)
	_ spec.FabricAsker   = (*GPU)(nil)
	_ spec.PeerAccess    = (*GPU)(nil)
	_ spec.Executor      = (*GPU)(nil)
)

// view is what one process has of one device.
type view struct {
	device    spec.Device
	physical  *physical
	addresses AddressPolicy
	script    *Script // addresses, if it is a script
	stream    *stream // the default stream
	mapped    backing // of all memory of AddMapped
	late      lateMemory
	peers     access // whose pieces this device reaches
}

// NewProcess starts a process. Processes are numbered from 1.
func (m *Machine) NewProcess() *GPU {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := &GPU{
		machine: m,
		pid:     uint64(len(m.processes)) + 1,
		streams: map[spec.Stream]*stream{},
		events:  map[spec.EventHandle]*event{},
		pages:   map[spec.PageHandle]*page{},
		exports: map[uint64]*backing{},
		graphs:  map[spec.Graph]*graph{},
		execs:   map[spec.GraphExec]*graphExec{},
		nodes:   map[spec.GraphNode]*node{},

		schedule: m.config.Schedule,
	}
	g.alone[0] = g
	if m.config.Hazards || m.config.Races {
		g.detect()
	}
	// Handles of different processes and kinds differ, so that one that has
	// strayed is an error and not another object.
	g.handles = g.pid << 40
	g.space.opened = newAscending(openedWindow)
	if m.config.HostMemory != nil {
		g.space.opened = newAscending(hostOpenedWindow)
	}
	for i, p := range m.physical {
		dev := spec.Device(i)
		v := &view{device: dev, physical: p, addresses: m.config.Addresses(dev), peers: accessOf(dev)}
		v.stream = &stream{device: dev, queued: &m.queued}
		g.devices = append(g.devices, v)
		g.inOrder = append(g.inOrder, v.stream)
	}
	m.processes = append(m.processes, g)
	return g
}

// newHandle gives the next handle.
func (g *GPU) newHandle() uint64 {
	g.handles++
	return g.handles
}

// view finds a device.
func (g *GPU) view(c call, dev spec.Device) (*view, error) {
	if dev >= 0 && int(dev) < len(g.devices) {
		return g.devices[dev], nil
	}
	err := cudaErrorInvalidDevice
	if c.virtual() {
		err = driverInvalidDevice
	}
	return nil, err.in(c, "there is no device %d", dev)
}

// DeviceCount implements spec.Driver.
func (g *GPU) DeviceCount() int { return len(g.devices) }

// ProcessID implements spec.MemorySharing.
func (g *GPU) ProcessID() uint64 { return g.pid }

// Properties implements spec.Driver.
func (g *GPU) Properties(dev spec.Device) (spec.DeviceProperties, error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callProperties); err != nil {
		return spec.DeviceProperties{}, err
	}
	v, err := g.view(callProperties, dev)
	if err != nil {
		return spec.DeviceProperties{}, err
	}
	return spec.DeviceProperties{
		Name:                  v.physical.Name,
		TotalMemory:           v.physical.TotalMemory,
		RDMAWithVirtualMemory: v.physical.RDMA,
	}, nil
}

// Exit ends the process: whatever it holds is given back, and every later call
// fails. Memory that another process has open or imported stays with that one.
func (g *GPU) Exit() {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if g.exited {
		return
	}
	g.exited = true
	g.abandon()
	for _, a := range g.space.inOrder() {
		a.eachMapping(func(m *mapping) bool {
			g.unmapHost(m.Ptr, m.backing)
			g.machine.drop(m.backing)
			return true
		})
		if a.backing != nil {
			g.unmapHost(a.Ptr, a.backing)
			g.machine.drop(a.backing)
		}
	}
	for _, h := range sortedKeys(g.pages) {
		g.machine.drop(g.pages[h].backing)
	}
	g.space.areas.Clear()
	clear(g.pages)
	clear(g.exports)
	clear(g.streams)
	clear(g.events)
	clear(g.graphs)
	clear(g.execs)
	clear(g.nodes)
	g.inOrder, g.captures = nil, nil
}
