package whatif

import "gaugeblock/fakegpu"

// A Model is a guess at what the record does not say: which addresses the driver
// would give, how long other streams would hold memory back, and, if the record
// begins in the middle, how memory lay then. What comes out alike under every model
// does not depend on them.
type Model struct {
	Name      string
	Addresses func() fakegpu.AddressPolicy
	// Until gives the number of the request before which memory is back that was
	// freed by request freed and, in the recorded run, was back before until.
	Until func(freed, until int32) int32
	// Packed: what is held at the start lies as the settings under test would pack
	// it, not as recorded.
	Packed bool
	// NoPools: the private pools that the record shows serve nothing; all requests go
	// to the default pool.
	NoPools bool
}

// measured is the model of the driver that was read off a real one
// (fakegpu.RealLike), in a process that uses nothing else of the device.
var measured = Model{Name: "measured driver", Addresses: realLike, Until: asRecorded}

// Addresses decide one thing only: of two blocks that are equally good the lower one
// is taken, and the other is left. That is seldom of consequence.
//
// credible are models of addresses that a driver may well give, the measured one
// first. absurd are extremes; they widen the range where the credible ones do not
// agree.
var (
	credible = []Model{
		measured,
		{Name: "crowded address space", Addresses: newCrowded, Until: asRecorded},
		{Name: "22 MiB in use", Addresses: realLikeInUse, Until: asRecorded},
		{Name: "descending addresses", Addresses: descending, Until: asRecorded},
	}
	absurd = []Model{
		{Name: "ascending addresses", Addresses: ascending, Until: asRecorded},
		{Name: "scattered addresses 1", Addresses: scattered(1), Until: asRecorded},
		{Name: "scattered addresses 2", Addresses: scattered(2), Until: asRecorded},
	}
)

// eventModels vary how long other streams hold memory back.
var eventModels = []Model{
	{Name: "streams that never lag", Addresses: realLike, Until: lag(0, 1)},
	{Name: "streams that lag half as long", Addresses: realLike, Until: lag(1, 2)},
	{Name: "streams that lag twice as long", Addresses: realLike, Until: lag(2, 1)},
	{Name: "streams that lag four times as long", Addresses: realLike, Until: lag(4, 1)},
}

// packedStart is for records that begin in the middle.
var packedStart = Model{Name: "packed start", Addresses: realLike, Until: asRecorded, Packed: true}

// noPools is for records with private pools.
var noPools = Model{Name: "no private pools", Addresses: realLike, Until: asRecorded, Packed: true, NoPools: true}

func asRecorded(_, until int32) int32 { return until }

// lag stretches the time that memory is held back to numerator/denominator of what
// was recorded.
func lag(numerator, denominator int64) func(freed, until int32) int32 {
	return func(freed, until int32) int32 {
		stretched := int64(freed) + int64(until-freed)*numerator/denominator
		return int32(min(stretched, never))
	}
}
