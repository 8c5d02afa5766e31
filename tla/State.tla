------------------------------- MODULE State --------------------------------
(***************************************************************************)
(* The variables: the state of a device, an allocator and a program.  The  *)
(* statistics follow from the blocks, and so does given.  They are         *)
(* variables because allocators maintain statistics and programs hold      *)
(* pointers; the invariants say that they agree with the blocks.           *)
(***************************************************************************)
EXTENDS Release

VARIABLES
    \* the device
    device,    \* memory that is allocated from the driver: set of [addr, size]
    work,      \* what is still to do: [Streams -> sequence of [addr, size]]
    \* the allocator
    segments,  \* set of [addr, size, stream, pool, kind]
    blocks,    \* set of [addr, size, requested, allocated, mapped, eventCount, uses]
    cached,    \* set of addresses: the blocks on the free lists
    events,    \* outstanding events: [Streams -> sequence of [block, behind]]
    stats,     \* statistics: [allocated, active, reserved, inactiveSplit]
    \* the program
    given      \* what malloc returned and it has not freed: set of [addr, stream, bytes]

Heap == [device |-> device, work |-> work, segments |-> segments, blocks |-> blocks,
         cached |-> cached, events |-> events, stats |-> stats]

EmptyHeap ==
    [device |-> {}, work |-> [s \in Streams |-> <<>>], segments |-> {}, blocks |-> {},
     cached |-> {}, events |-> [s \in Streams |-> <<>>],
     stats |-> [allocated |-> 0, active |-> 0, reserved |-> 0, inactiveSplit |-> 0]]

InitHeap ==
    /\ device = EmptyHeap.device
    /\ work = EmptyHeap.work
    /\ segments = EmptyHeap.segments
    /\ blocks = EmptyHeap.blocks
    /\ cached = EmptyHeap.cached
    /\ events = EmptyHeap.events
    /\ stats = EmptyHeap.stats
    /\ given = {}

Become(h) ==
    /\ device' = h.device
    /\ work' = h.work
    /\ segments' = h.segments
    /\ blocks' = h.blocks
    /\ cached' = h.cached
    /\ events' = h.events
    /\ stats' = h.stats

\* The result of a malloc: the heap afterwards, and the set of the address that
\* it returns.  The block leaves the free list, if it is on one.
ReturnBlock(h, p, b) ==
    [heap |-> AllocFoundBlock(h, p, b), returned |-> {b.addr}]

FailOutOfMemory(h) == [heap |-> h, returned |-> {}]

\* What the program holds after a malloc.
Given(result, stream, bytes) ==
    given \cup {[addr |-> a, stream |-> stream, bytes |-> bytes] : a \in result.returned}
=============================================================================
