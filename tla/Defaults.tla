------------------------------ MODULE Defaults ------------------------------
(***************************************************************************)
(* The constants of the specification, each with its default value.        *)
(*                                                                         *)
(* They are definitions and not CONSTANT declarations, because TLC         *)
(* requires a value for every declared constant in every configuration.  A *)
(* configuration overrides a definition under CONSTANTS, as in Memory = 6, *)
(* and does not name a constant that has its default value.  A new         *)
(* constant is defined here, with the value at which nothing changes, and  *)
(* no configuration changes.                                               *)
(*                                                                         *)
(* TLC ignores a value for a name that is not defined.  Package tla        *)
(* refuses it, in the tests and in "make tla".                             *)
(***************************************************************************)
EXTENDS Integers

(***************************************************************************)
(* Geometry.  All sizes are numbers of one unit of memory.                 *)
(***************************************************************************)
MinBlock == 1               \* every block is a multiple of it
SmallSize == 1              \* the largest rounded size that is served as small
SmallBuffer == 2            \* the size of a small segment
MinLargeAlloc == 3          \* from here on a segment fits its request
LargeBuffer == 4            \* the size of a segment for requests between the two
RoundLarge == 2             \* what the larger segments are a multiple of

(***************************************************************************)
(* Settings of the allocator.                                              *)
(***************************************************************************)
MaxSplitSize == 100         \* blocks of this size and more are never split (above Memory: there are none)
MaxNonSplitRounding == 6    \* how much larger than an oversize request its block may be
ExpandableSegments == FALSE \* segments grow and shrink, page by page

Divisions == 0              \* requests are rounded to a division of the interval between two powers of two (0: to MinBlock)
GarbageCollectionThreshold == 0 \* hundredths of the limit: what is reserved beyond is collected (GarbageCollection.tla)

MaxSplitSizes == {100}      \* the values of MaxSplitSize that programs set (Settings.tla)
MaxAge == 0                 \* how old a free block is at which programs call malloc no more (GarbageCollection.tla)

(***************************************************************************)
(* Rules in which releases of PyTorch differ.                              *)
(***************************************************************************)
FirstRoutingWins == FALSE   \* of several routings that accept a request the one begun first serves it
UseOnOOMLast == FALSE       \* OverflowPools serve when all else has failed, not before the cache is released
UseOnOOMExpandable == FALSE \* they serve with blocks of expandable segments too
Ties == "address"           \* the order of free blocks of one size: "address"; "block" or "segment": made first
Captures == "routing"       \* what is a capture: "routing", any; "mark", the current stream's (CurrentStream.tla)
PoolEndCompletesDeferred == FALSE \* the end of a pool's routing processes the pool's deferred frees
RestoreRefusesGrown == FALSE \* no restore of a pool of which an expandable segment has grown
LimitRounded == FALSE       \* the limit that is a fraction of the memory is rounded, not truncated (Driver.tla)

(***************************************************************************)
(* The device, and what programs do with it.                               *)
(***************************************************************************)
Memory == 4                 \* of the device
Limit == 100                \* on the memory reserved from the driver (above Memory, and above every segment: none)
Streams == {1, 2}           \* a set of numbers
Sizes == {1, 2}             \* what programs request: a set of numbers
Fraction == 100             \* of the memory that may be reserved, in hundredths, where Limit is AllowedMemory (Driver.tla)
Threads == {1, 2}           \* that call malloc at the same time (TwoStepMalloc.tla)
OwnWork == FALSE            \* programs launch work on the stream that memory was allocated for: see Launch

(***************************************************************************)
(* Private pools (PrivatePools.tla).                                       *)
(***************************************************************************)
PoolIds == {1}              \* of the private pools: a set of positive numbers
MaxUses == 1                \* the highest use count that programs make
OverflowPools == {}         \* the private pools that are marked use_on_oom
NoSplitPools == {}          \* those that are marked no_split: no malloc splits a block of them
RoutesUncaptured == FALSE   \* programs route requests to a pool without a capture (use_mem_pool)
UncapturedPools == {}       \* to which pools they do
MarksCaptures == TRUE       \* programs mark their captures, as CUDAGraph does; it matters unless Captures is "routing"
RecordsTwice == FALSE       \* programs record a use in a capture and outside of it: see RecordStream
RecordsOwn == FALSE         \* programs record the stream too that memory was allocated for
ReleasesRouted == FALSE     \* programs end the last use of a pool while requests are routed to it
RoutesTwice == FALSE        \* programs route a stream to a second pool while it is routed to one
KeepsCheckpoints == FALSE   \* programs keep the checkpoint of a pool beyond its last use
RelaxedCaptures == TRUE     \* captures do not forbid to free memory and to unmap it (Events.tla)

(***************************************************************************)
(* Failing driver calls (Faults.tla).                                      *)
(***************************************************************************)
MaxDriverCalls == 9         \* that an operation makes: one of them fails

ASSUME
    /\ {MinBlock, SmallSize, SmallBuffer, MinLargeAlloc, LargeBuffer, RoundLarge} \subseteq Nat \ {0}
    /\ {MaxSplitSize, MaxNonSplitRounding, Memory, Limit, MaxUses, MaxDriverCalls, Fraction} \subseteq Nat
    /\ {Divisions, GarbageCollectionThreshold, MaxAge} \subseteq Nat
    /\ {ExpandableSegments, FirstRoutingWins, UseOnOOMLast, UseOnOOMExpandable, PoolEndCompletesDeferred, MarksCaptures} \subseteq BOOLEAN
    /\ {RestoreRefusesGrown, LimitRounded, RecordsTwice, RecordsOwn, ReleasesRouted, RoutesTwice, KeepsCheckpoints, RelaxedCaptures} \subseteq BOOLEAN
    /\ Streams \cup Sizes \cup Threads \cup PoolIds \cup MaxSplitSizes \subseteq Nat \ {0}
    /\ Ties \in {"address", "block", "segment"}
    /\ Captures \in {"routing", "mark"}
    /\ OverflowPools \subseteq PoolIds
    /\ UncapturedPools \subseteq PoolIds
    /\ NoSplitPools \subseteq PoolIds
    /\ MinBlock <= SmallSize /\ SmallSize <= SmallBuffer /\ SmallSize < LargeBuffer
    /\ \A n \in {SmallSize, SmallBuffer, MinLargeAlloc, LargeBuffer, RoundLarge} : n % MinBlock = 0
=============================================================================
