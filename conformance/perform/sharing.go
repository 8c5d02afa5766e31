package perform

import (
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Memory that another device or another process reaches. It is shared with one other
// process, on the same machine and with an allocator of the same kind, which does nothing
// but open it and close it. That process is there from the first open_shared on.
var sharingKinds = map[trace.OpKind]kind{
	trace.OpPeerAccess:  {perform: (*machine).peerAccess, needs: peerAllocator},
	trace.OpShare:       {perform: (*machine).share, needs: sharedMemory},
	trace.OpOpenShared:  {perform: (*machine).openShared, needs: sharedMemory},
	trace.OpCloseShared: {perform: (*machine).closeShared, needs: sharedMemory},
}

func (m *machine) peerAccess(op *trace.Op) error {
	return m.allocator.(spec.PeerAllocator).EnablePeerAccess(op.Device, op.Peer)
}

type otherProcess struct {
	newAllocator Factory
	gpu          *fakegpu.GPU
	allocator    spec.Allocator
}

// sharing is the other process's ability to open memory.
func (m *machine) sharing(op *trace.Op) (spec.SharedMemory, error) {
	if m.other.allocator == nil {
		gpu := m.hardware.NewProcess()
		allocator, err := m.other.newAllocator(gpu, m.header)
		if err != nil {
			return nil, err
		}
		m.other.gpu, m.other.allocator = gpu, allocator
	}
	sharing, able := m.other.allocator.(spec.SharedMemory)
	if !able {
		return nil, lacks(op.Kind, "SharedMemory")
	}
	return sharing, nil
}

func (m *machine) share(op *trace.Op) error {
	sharing := m.allocator.(spec.SharedMemory)
	a, live := m.allocations[op.ID]
	if !live {
		return ErrSkipped
	}
	handle, err := sharing.ShareHandle(a.ptr)
	if err != nil {
		return err
	}
	m.shared[op.Handle] = handle
	return nil
}

func (m *machine) openShared(op *trace.Op) error {
	handle, made := m.shared[op.Handle]
	if !made {
		return ErrSkipped
	}
	sharing, err := m.sharing(op)
	if err != nil {
		return err
	}
	memory, err := sharing.OpenHandle(op.Device, handle.Handle)
	if err != nil {
		return err
	}
	m.opened[op.ID] = memory
	m.out.Ptr = memory.Base() + spec.Ptr(handle.Offset)
	return nil
}

func (m *machine) closeShared(op *trace.Op) error {
	memory, open := m.opened[op.ID]
	if !open {
		return ErrSkipped
	}
	delete(m.opened, op.ID)
	return memory.Close()
}
