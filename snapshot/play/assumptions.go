package play

import "gaugeblock/fakegpu"

// Assumptions stand for what the history does not record: the addresses that the
// driver returns, when a free with stream uses completes, and, if the beginning of the
// history is missing, the layout of the memory at its start. A statistic that is equal
// under all assumptions depends on none of them.
type Assumptions struct {
	// Name is the key by which the outcome of a run under the assumptions is found.
	Name      string
	Addresses func() fakegpu.AddressPolicy
	// CompletedBefore returns the number of the request before which a free completes.
	// freed is the number of the free, recorded the result in the recorded run.
	CompletedBefore func(freed, recorded int32) int32
	// PackedStart allocates the initial blocks anew, in order of address, under the
	// settings of the run. Otherwise they have the recorded layout.
	PackedStart bool
	// WarmStart makes the recorded requests once before the run: what the program did before
	// the history begins is taken to be like what it did in it. Only with PackedStart.
	WarmStart bool
	// RecordedAddresses returns the addresses of the recorded run as long as the segments
	// have the recorded sizes, and then those of Addresses. That is only for the recorded
	// settings.
	RecordedAddresses bool
	// Release is another release that may have made the record; "": none.
	Release string
	// NoPrivatePools serves all requests from the default pool.
	NoPrivatePools bool
	// UntilWaitedFor: nothing that other streams use is reused until the allocator waits.
	UntilWaitedFor bool
}

// measuredDriver has the addresses of a real driver (fakegpu.RealLike), in a process
// that has no other memory on the device.
var MeasuredDriver = Assumptions{Name: "measured driver", Addresses: realLike, CompletedBefore: asRecorded}

// Addresses matter in one place only: best fit chooses between free blocks of equal size
// by their addresses.
var (
	// otherDrivers have addresses that a real driver may return.
	OtherDrivers = []Assumptions{
		{Name: "address space with gaps", Addresses: withAddressGaps, CompletedBefore: asRecorded},
		{Name: "22 MiB in use", Addresses: realLikeInUse, CompletedBefore: asRecorded},
		{Name: "descending addresses", Addresses: descending, CompletedBefore: asRecorded},
		{Name: "recorded addresses, then ascending", Addresses: ascending, CompletedBefore: asRecorded, RecordedAddresses: true},
		{Name: "recorded addresses, then descending", Addresses: realLike, CompletedBefore: asRecorded, RecordedAddresses: true},
	}
	PlausibleDrivers = append([]Assumptions{MeasuredDriver}, OtherDrivers...)

	// extremeDrivers widen the range where the plausible ones do not agree.
	ExtremeDrivers = []Assumptions{
		{Name: "ascending addresses", Addresses: ascending, CompletedBefore: asRecorded},
		{Name: "scattered addresses 1", Addresses: scattered(1), CompletedBefore: asRecorded},
		{Name: "scattered addresses 2", Addresses: scattered(2), CompletedBefore: asRecorded},
	}
)

// streamDelays vary when frees with stream uses complete.
var StreamDelays = []Assumptions{
	{Name: "stream uses end at once", Addresses: realLike, CompletedBefore: delayed(0, 1)},
	{Name: "stream uses last half as long", Addresses: realLike, CompletedBefore: delayed(1, 2)},
	{Name: "stream uses last twice as long", Addresses: realLike, CompletedBefore: delayed(2, 1)},
	{Name: "stream uses last four times as long", Addresses: realLike, CompletedBefore: delayed(4, 1)},
	UntilWaitedFor,
}

// UntilWaitedFor bounds what a run reserves while other streams use freed memory.
var UntilWaitedFor = Assumptions{Name: "stream uses last until they are waited for", UntilWaitedFor: true, Addresses: realLike, CompletedBefore: func(_, _ int32) int32 { return never }}

// packedStart is for workloads without the beginning of the history.
var PackedStart = Assumptions{Name: "packed start", Addresses: realLike, CompletedBefore: asRecorded, PackedStart: true}

// WarmStart is for the same workloads. A program that repeats itself, as training does, has
// left the memory so.
var WarmStart = Assumptions{Name: "warm start", Addresses: realLike, CompletedBefore: asRecorded, PackedStart: true, WarmStart: true}

// On is the same by the rules of another release, for workloads that it may have made.
func (a Assumptions) On(release string) Assumptions {
	a.Name, a.Release = a.Name+", rules of "+release, release
	return a
}

// noPrivatePools is for workloads with private pools.
var NoPrivatePools = Assumptions{Name: "no private pools", Addresses: realLike, CompletedBefore: asRecorded, PackedStart: true, NoPrivatePools: true}

func asRecorded(_, recorded int32) int32 { return recorded }

// delayed stretches the time from a free to its completion to numerator/denominator of
// the recorded one.
func delayed(numerator, denominator int64) func(freed, recorded int32) int32 {
	return func(freed, recorded int32) int32 {
		stretched := int64(freed) + int64(recorded-freed)*numerator/denominator
		return int32(min(stretched, never))
	}
}
