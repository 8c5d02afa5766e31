package alloc

import (
	"fmt"
	"slices"

	"gaugeblock/spec"
)

// Access of one device to the memory of another. One driver call gives access to all memory
// of Driver.Malloc. Access to mapped pages must be set for each device: to those that are
// mapped already, and to those that will be.

// EnablePeerAccess gives dev access to the memory of peer; see spec.PeerAllocator.
func (a *Allocator) EnablePeerAccess(dev, peer spec.Device) error {
	const op = "enable_peer_access"
	if _, err := a.device(op, dev); err != nil {
		return err
	}
	if dev == peer {
		reason := fmt.Sprintf("device %d needs no access to itself", dev)
		return &spec.InvalidArgumentError{Op: op, Reason: reason}
	}
	driver, ok := a.driver.(spec.PeerAccess)
	if !ok {
		return &spec.NotSupportedError{Op: op, Reason: "the driver has no peer access"}
	}
	err := a.onDevice(op, peer, func(d *device) error {
		if err := driver.EnablePeerAccess(dev, peer); err != nil {
			return fmt.Errorf("letting device %d reach device %d: %w", dev, peer, err)
		}
		return d.addPeerLocked(dev)
	})
	if err != nil {
		return err
	}
	// The device's mutex is not held here: that of the opened handles comes before it.
	return a.opened.addPeer(dev, peer)
}

// addPeerLocked gives another device access to the expandable segments.
func (d *device) addPeerLocked(dev spec.Device) error {
	if slices.Contains(d.devicesWithPeerAccess, dev) {
		return nil
	}
	for _, s := range d.expandableSegments {
		if err := s.expandable.addPeer(dev); err != nil {
			return err
		}
	}
	d.devicesWithPeerAccess = append(d.devicesWithPeerAccess, dev)
	return nil
}

// CopyKind says how to copy from one device to another (upstream: memcpyAsync).
func (a *Allocator) CopyKind(dst, src spec.Device, peerEnabled bool) (spec.CopyKind, error) {
	kind := spec.CopyDirect
	for _, dev := range [...]spec.Device{dst, src} {
		err := a.onDevice("copy_kind", dev, func(d *device) error {
			if len(d.expandableSegments) > 0 && dst != src && !peerEnabled {
				kind = spec.CopyPeer
			}
			return nil
		})
		if err != nil || kind == spec.CopyPeer {
			return kind, err
		}
	}
	return kind, nil
}
