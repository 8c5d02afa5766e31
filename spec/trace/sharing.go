package trace

import "fmt"

// Memory that another device or another process reaches.
const (
	OpPeerAccess  OpKind = "peer_access"
	OpShare       OpKind = "share"
	OpOpenShared  OpKind = "open_shared"
	OpCloseShared OpKind = "close_shared"
)

var sharingKinds = map[OpKind]kind{
	OpPeerAccess: {
		target: TargetAllocator, memory: MemoryNone, pluggable: true,
		v2:    fields{"peer", ""},
		words: func(op *Op) string { return fmt.Sprintf("peer_access to device %d", op.Peer) },
	},
	OpShare: {
		target: TargetAllocator, memory: MemoryShares, handle: numberNew,
		v2:    fields{"id handle", ""},
		words: func(op *Op) string { return fmt.Sprintf("share id %d as handle %d", op.ID, op.Handle) },
	},
	OpOpenShared: {
		target: TargetAllocator, memory: MemoryOpens, handle: numberUsed,
		v2:    fields{"id handle", "addr"},
		words: func(op *Op) string { return fmt.Sprintf("open_shared handle %d as id %d", op.Handle, op.ID) },
	},
	OpCloseShared: {
		target: TargetAllocator, memory: MemoryCloses,
		v2:    fields{"id", ""},
		words: func(op *Op) string { return fmt.Sprintf("close_shared id %d", op.ID) },
	},
}
