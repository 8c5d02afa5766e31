------------------------------- MODULE State --------------------------------
(***************************************************************************)
(* The variables: the state of a device, an allocator and a program.       *)
(*                                                                         *)
(* What happened is kept apart from what the allocator remembers of it, so *)
(* that an allocator which forgets something does not hide its mistake:    *)
(* the program knows its pointers, which streams used their memory, and    *)
(* its captures; the device knows the work and the memory.  The program's  *)
(* actions are guarded by what the program knows, not by what the          *)
(* allocator remembers; except that use counts of pools are the            *)
(* allocator's (UsesAreCounted in PrivatePools.tla).                       *)
(*                                                                         *)
(* In the core these variables follow from the others, and add no states.  *)
(* With private pools they do not: blocks whose free is deferred do not    *)
(* remember the order of their frees, and work does.                       *)
(***************************************************************************)
EXTENDS Release

VARIABLES
    \* the device
    device,    \* memory that is allocated from the driver: set of [addr, size, stream]
    work,      \* the pending uses of freed memory by recorded streams: [Streams -> sequence of
               \* [addr, size]], oldest first.  Pending work on memory that is not freed, and of
               \* the stream that memory was obtained for, is not in it
    illegal,   \* kinds of driver calls that were made although a capture forbids them
    \* the allocator
    segments,  \* set of [addr, size, stream, pool, kind]
    blocks,    \* set of [addr, size, requested, allocated, mapped, eventCount, uses], and made (Blocks.tla)
    cached,    \* set of addresses: the blocks on the free lists
    events,    \* outstanding events: [Streams -> sequence of [block, behind]]
    stats,     \* statistics: [allocated, active, reserved, inactiveSplit]
    \* the program
    given,     \* what malloc returned and it has not freed: set of [addr, stream, pool, bytes]
    touched,   \* which other streams use it: set of [addr, stream, captured]
    captures   \* those begun and not ended: sequence of [pool, stream] (PrivatePools.tla)

Heap == [device |-> device, work |-> work, illegal |-> illegal, captures |-> captures,
         segments |-> segments, blocks |-> blocks, cached |-> cached, events |-> events,
         stats |-> stats]

InitHeap ==
    /\ device = {}
    /\ work = [s \in Streams |-> <<>>]
    /\ illegal = {}
    /\ segments = {}
    /\ blocks = {}
    /\ cached = {}
    /\ events = [s \in Streams |-> <<>>]
    /\ stats = [allocated |-> 0, active |-> 0, reserved |-> 0, inactiveSplit |-> 0]
    /\ given = {}
    /\ touched = {}
    /\ captures = <<>>

heapVars == <<device, work, illegal, segments, blocks, cached, events, stats, captures>>
programVars == <<given, touched>>

\* The captures are the program's: no operator on heaps changes them.
Become(h) ==
    /\ device' = h.device
    /\ work' = h.work
    /\ illegal' = h.illegal
    /\ segments' = h.segments
    /\ IF Ties = "address" THEN blocks' = h.blocks ELSE blocks' = Renumbered(h.blocks)
    /\ cached' = h.cached
    /\ events' = h.events
    /\ stats' = h.stats
    /\ UNCHANGED captures

\* The result of a malloc: the heap afterwards, and the set of the address that
\* it returns.  The block leaves the free list, if it is on one.
ReturnBlock(h, p, b) ==
    [heap |-> AllocFoundBlock(h, p, b), returned |-> {b.addr}]

FailOutOfMemory(h) == [heap |-> h, returned |-> {}]

(***************************************************************************)
(* What the program does.                                                  *)
(***************************************************************************)

\* What it holds after a malloc that was routed to a pool.  A pool that is marked
\* use_on_oom may serve requests of the default pool too.
Given(result, stream, pool, bytes) ==
    LET source(a) == SegmentOf(result.heap, BlockAt(result.heap, a)).pool
        agreed(a) == IF pool = 0 /\ source(a) \in OverflowPools THEN source(a) ELSE pool
    IN given \cup {[addr |-> a, stream |-> stream, pool |-> agreed(a), bytes |-> bytes] :
                      a \in result.returned}

\* The memory that it may use of what it holds.
MemoryOf(x) == [addr |-> x.addr, size |-> RoundSize(x.bytes)]

\* The streams that have work on the device with the memory at an address.  Work
\* that was captured is in a graph.
TouchedBy(addr) == {t.stream : t \in {u \in touched : u.addr = addr /\ ~u.captured}}

\* The heap at the free of what the program holds at an address: the last use by each
\* recorded stream is pending.
AppendUses(h, addr) ==
    AppendAll(h, TouchedBy(addr), MemoryOf(CHOOSE x \in given : x.addr = addr))

\* The program may free what it holds, and may record other streams as using it.
Holds(addr) == \E x \in given : x.addr = addr
\* A use by the stream that memory was allocated for changes nothing; most programs record none.
HoldsForOther(addr, stream) ==
    IF RecordsOwn THEN Holds(addr) ELSE \E x \in given : x.addr = addr /\ x.stream # stream

\* The block that the allocator finds when it is called with an address: the set of the block,
\* empty if none is allocated there.  Such a call is refused, and changes nothing of the heap.
AllocatedAt(h, addr) == {b \in h.blocks : b.addr = addr /\ b.allocated}

\* The block to which recordStream adds a use.  For the block's own stream it does nothing.
RecordedAt(h, addr, stream) == {b \in AllocatedAt(h, addr) : SegmentOf(h, b).stream # stream}

\* A stream uses memory, and the program says so (recordStream).
Touch(addr, stream) ==
    IF RecordsOwn THEN touched' = touched \cup
        {[addr |-> addr, stream |-> stream, captured |-> captures # <<>>] : x \in {y \in given : y.addr = addr /\ y.stream # stream}}
    ELSE touched' = touched \cup {[addr |-> addr, stream |-> stream, captured |-> IF RoutesUncaptured THEN AnyCaptured(captures) ELSE captures # <<>>]}

\* It does not hold these addresses any more.
GiveBack(addrs) ==
    /\ given' = {x \in given : x.addr \notin addrs}
    /\ touched' = {t \in touched : t.addr \notin addrs}
=============================================================================
