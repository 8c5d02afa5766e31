package fakegpu

import "fmt"

// Leaks lists everything that the process still holds of the driver, in a fixed
// order: memory and ranges by address, then pages, streams, events and graphs by
// handle, and captures by age. A program that has released what it took leaks nothing.
func (g *GPU) Leaks() []string {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	var leaks []string
	add := func(format string, args ...any) { leaks = append(leaks, fmt.Sprintf(format, args...)) }
	for _, a := range g.space.inOrder() {
		switch a.kind {
		case areaPiece:
			add("memory: %d bytes at %v of device %d", a.Bytes, a.Ptr, a.device)
		case areaOpened:
			add("opened memory: %d bytes at %v", a.Bytes, a.Ptr)
		case areaReserved:
			add("reserved range: %d bytes at %v, %d pages mapped", a.Bytes, a.Ptr, a.mappings.Len())
		}
	}
	for _, h := range sortedKeys(g.pages) {
		add("page %#x: %d bytes of device %d", uint64(h), g.pages[h].backing.bytes, g.pages[h].backing.device)
	}
	for _, h := range sortedKeys(g.streams) {
		add("stream %v of device %d", h, g.streams[h].device)
	}
	for _, h := range sortedKeys(g.events) {
		add("event %#x of device %d", uint64(h), g.events[h].device)
	}
	for _, h := range sortedKeys(g.graphs) {
		add("graph %#x: %d nodes", uint64(h), len(g.graphs[h].nodes))
	}
	for _, h := range sortedKeys(g.execs) {
		add("executable graph %#x", uint64(h))
	}
	for _, k := range g.captures {
		add("capture %d on %v", k.id, k.members[0])
	}
	return leaks
}
