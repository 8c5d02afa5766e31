package alloc

import (
	"fmt"
	"slices"

	"gaugeblock/spec"
)

// Several devices. Memory of Driver.Malloc becomes reachable from a peer by one
// call for all of it; mapped pages must be opened to each device one by one, those
// that are mapped already and those that will be.

// EnablePeerAccess lets dev reach the memory obtained on peer; see
// spec.PeerAllocator.
func (a *Allocator) EnablePeerAccess(dev, peer spec.Device) error {
	const op = "enable_peer_access"
	if _, err := a.device(op, dev); err != nil {
		return err
	}
	if dev == peer {
		return &spec.InvalidArgumentError{Op: op, Reason: fmt.Sprintf("device %d needs no access to itself", dev)}
	}
	driver, ok := a.driver.(spec.PeerAccess)
	if !ok {
		return &spec.NotSupportedError{Op: op, Reason: "the driver has no peer access"}
	}
	err := a.onDevice(op, peer, func(d *device) error {
		if err := driver.EnablePeerAccess(dev, peer); err != nil {
			return fmt.Errorf("letting device %d reach device %d: %w", dev, peer, err)
		}
		return d.addPeer(dev)
	})
	if err != nil {
		return err
	}
	// Without the device's lock, which OpenHandle takes after that of the handles.
	return a.opened.addPeer(dev, peer)
}

// addPeer opens the expandable segments to another device.
func (d *device) addPeer(dev spec.Device) error {
	if slices.Contains(d.peers, dev) {
		return nil
	}
	for _, x := range d.growing {
		if err := x.addPeer(dev); err != nil {
			return err
		}
	}
	d.peers = append(d.peers, dev)
	return nil
}

// CopyKind says how to copy from one device to another (upstream: memcpyAsync).
func (a *Allocator) CopyKind(dst, src spec.Device, peerEnabled bool) (spec.CopyKind, error) {
	for _, dev := range [...]spec.Device{dst, src} {
		growing := false
		err := a.onDevice("copy_kind", dev, func(d *device) error {
			growing = len(d.growing) > 0
			return nil
		})
		if err != nil {
			return 0, err
		}
		if growing && dst != src && !peerEnabled {
			return spec.CopyPeer, nil
		}
	}
	return spec.CopyDirect, nil
}

// ExpandableSegmentSizes lists how far each expandable segment has grown.
func (a *Allocator) ExpandableSegmentSizes(dev spec.Device) (sizes []spec.StreamSegmentSize, err error) {
	err = a.onDevice("expandable_segment_sizes", dev, func(d *device) error {
		for _, x := range d.growing {
			sizes = append(sizes, spec.StreamSegmentSize{Stream: x.stream, PoolKind: x.kind, Mapped: x.mapped})
		}
		return nil
	})
	return sizes, err
}
