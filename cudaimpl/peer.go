//go:build cgo && linux

package cudaimpl

/*
#include "driver.h"

static CUresult can_access(int *able, CUdevice d, CUdevice peer) { return cu.DeviceCanAccessPeer(able, d, peer); }
static CUresult enable_peer(CUcontext c, CUcontext peer) { return IN(c, cu.CtxEnablePeerAccess(peer, 0)); }
*/
import "C"

import "gaugeblock/spec"

// CanAccessPeer implements spec.PeerAccess (cuDeviceCanAccessPeer). A device is not its
// own peer.
func (g *GPU) CanAccessPeer(dev, peer spec.Device) (bool, error) {
	const method = "CanAccessPeer"
	d, err := g.device(method, dev)
	if err != nil {
		return false, err
	}
	p, err := g.device(method, peer)
	if err != nil || dev == peer {
		return false, err
	}
	var able C.int
	err = check(method, "cuDeviceCanAccessPeer", C.can_access(&able, d.handle, p.handle))
	return able != 0, err
}

// EnablePeerAccess implements spec.PeerAccess (cuCtxEnablePeerAccess). The driver
// answers the second time that it is enabled already; the contract has it that nothing
// is wrong then. It stays enabled as long as the contexts live.
func (g *GPU) EnablePeerAccess(dev, peer spec.Device) error {
	const method = "EnablePeerAccess"
	able, err := g.CanAccessPeer(dev, peer)
	if err != nil {
		return err
	}
	if !able {
		return refuse(method, peerUnsupported, "device %d cannot reach device %d as a peer", dev, peer)
	}
	context, err := g.context(method, dev)
	if err != nil {
		return err
	}
	other, err := g.context(method, peer)
	if err != nil {
		return err
	}
	r := C.enable_peer(context, other)
	if r == peerAlreadyEnabled {
		return nil
	}
	return check(method, "cuCtxEnablePeerAccess", r)
}
