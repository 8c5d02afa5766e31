package happensbefore

// A stamp is how far a lane has come: how much work it had been given, and, in the low
// bits, how many versions of its clock have been frozen since. So stamps also tell apart
// what a lane's clock was before and after it has waited for something, without work
// between.
type stamp uint64

const versionBits = 20

func stampOf(p Position) stamp { return stamp(p) << versionBits }

func (s stamp) position() Position { return Position(s >> versionBits) }

// last reports whether there is no further stamp with the same position.
func (s stamp) last() bool { return (s+1)%(1<<versionBits) == 0 }

// A moment is a lane, by its number, at a stamp.
type moment struct {
	lane  int
	stamp stamp
}
