package fakegpu

// DetectorSize counts what the detector remembers: patches of memory, accesses to
// them, and lanes.
func (g *GPU) DetectorSize() (patches, accesses, lanes int) {
	for _, p := range g.detector.uses.patches.Values() {
		patches++
		p.each(func(*footprint) { accesses++ })
	}
	return patches, accesses, g.detector.order.Lanes()
}

// CallNames lists the calls that can be made to fail.
func CallNames() []string { return callNames[:numCalls] }
