package alloc

// collectGarbage gives back large cached segments that have not been used for
// long, once the memory held passes a fraction of the limit. Unlike releasing the
// whole cache it waits for nothing.
//
// A block's age is the number of searches in its pool since it became free. In
// each round every whole segment at least as old as the average of those left
// goes, until enough has gone or a round finds none. A round is never cut short:
// collecting a little more now is better than having to come back soon.
func (d *device) collectGarbage(context any) error {
	threshold := uint64(d.cfg.GarbageCollectionThreshold * float64(d.limit))
	if d.reserved() <= threshold || d.driver.FreeForbidden() {
		return nil
	}
	target := d.reserved() - threshold
	reclaimed := uint64(0)

	p := &d.pool.large
	var candidates []*block
	totalAge := uint64(0)
	for b := range p.free.all() {
		if !b.split() {
			candidates = append(candidates, b)
			totalAge += p.age(b)
		}
	}
	for reclaimed < target && len(candidates) > 0 {
		average := float64(totalAge) / float64(len(candidates))
		var young []*block
		for _, b := range candidates {
			if float64(p.age(b)) < average || !b.plain() {
				young = append(young, b)
				continue
			}
			totalAge -= p.age(b)
			reclaimed += b.size
			if err := d.releaseSegment(b, context); err != nil {
				return err
			}
		}
		if len(young) == len(candidates) {
			break
		}
		candidates = young
	}
	return nil
}
