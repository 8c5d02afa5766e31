package fakegpu

import "gaugeblock/spec"

// access is a set of devices.
type access uint32

func accessOf(dev spec.Device) access { return 1 << dev }

func (a access) has(dev spec.Device) bool { return a&accessOf(dev) != 0 }

func (a access) with(dev spec.Device) access { return a | accessOf(dev) }

// CanAccessPeer implements spec.PeerAccess. A device is not its own peer.
func (g *GPU) CanAccessPeer(dev, peer spec.Device) (bool, error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callCanAccessPeer); err != nil {
		return false, err
	}
	for _, d := range []spec.Device{dev, peer} {
		if _, err := g.view(callCanAccessPeer, d); err != nil {
			return false, err
		}
	}
	return dev != peer && !g.machine.config.NoPeerAccess, nil
}

// EnablePeerAccess implements spec.PeerAccess. The real driver answers the second
// time with cudaErrorPeerAccessAlreadyEnabled; the contract has it that nothing is
// wrong then.
func (g *GPU) EnablePeerAccess(dev, peer spec.Device) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callEnablePeerAccess); err != nil {
		return err
	}
	v, err := g.view(callEnablePeerAccess, dev)
	if err != nil {
		return err
	}
	if _, err := g.view(callEnablePeerAccess, peer); err != nil {
		return err
	}
	if dev == peer || g.machine.config.NoPeerAccess {
		return cudaErrorPeerAccessUnsupported.in(callEnablePeerAccess, "device %d cannot reach device %d as a peer", dev, peer)
	}
	v.peers = v.peers.with(peer)
	return nil
}
