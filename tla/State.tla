------------------------------- MODULE State --------------------------------
(***************************************************************************)
(* The variables: the state of a device, an allocator and a program.       *)
(*                                                                         *)
(* What happened is kept apart from what the allocator remembers of it, so *)
(* that an allocator which forgets something does not hide its mistake:    *)
(* the program knows its pointers, which streams used their memory, and    *)
(* its captures; the device knows the work and the memory.  In a correct   *)
(* allocator these variables follow from the others, and add no states.    *)
(* The invariants say so.                                                  *)
(***************************************************************************)
EXTENDS Release

VARIABLES
    \* the device
    device,    \* memory that is allocated from the driver: set of [addr, size, stream]
    work,      \* what is still to do: [Streams -> sequence of [addr, size]]
    illegal,   \* kinds of driver calls that were made although a capture forbids them
    \* the allocator
    segments,  \* set of [addr, size, stream, pool, kind]
    blocks,    \* set of [addr, size, requested, allocated, mapped, eventCount, uses]
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

EmptyHeap ==
    [device |-> {}, work |-> [s \in Streams |-> <<>>], illegal |-> {}, captures |-> <<>>,
     segments |-> {}, blocks |-> {}, cached |-> {}, events |-> [s \in Streams |-> <<>>],
     stats |-> [allocated |-> 0, active |-> 0, reserved |-> 0, inactiveSplit |-> 0]]

InitHeap ==
    /\ device = EmptyHeap.device
    /\ work = EmptyHeap.work
    /\ illegal = EmptyHeap.illegal
    /\ segments = EmptyHeap.segments
    /\ blocks = EmptyHeap.blocks
    /\ cached = EmptyHeap.cached
    /\ events = EmptyHeap.events
    /\ stats = EmptyHeap.stats
    /\ given = {}
    /\ touched = {}
    /\ captures = EmptyHeap.captures

heapVars == <<device, work, illegal, segments, blocks, cached, events, stats, captures>>
programVars == <<given, touched>>

\* The captures are the program's: no operator on heaps changes them.
Become(h) ==
    /\ device' = h.device
    /\ work' = h.work
    /\ illegal' = h.illegal
    /\ segments' = h.segments
    /\ blocks' = h.blocks
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

\* The heap after the last uses of what the program holds at an address.
LaunchUses(h, addr) ==
    LaunchAll(h, TouchedBy(addr), MemoryOf(CHOOSE x \in given : x.addr = addr))

\* A stream uses memory, and the program says so (recordStream).
Touch(addr, stream) ==
    touched' = touched \cup {[addr |-> addr, stream |-> stream, captured |-> captures # <<>>]}

\* It does not hold these addresses any more.
GiveBack(addrs) ==
    /\ given' = {x \in given : x.addr \notin addrs}
    /\ touched' = {t \in touched : t.addr \notin addrs}
=============================================================================
