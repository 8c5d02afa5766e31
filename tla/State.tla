------------------------------- MODULE State --------------------------------
(***************************************************************************)
(* The variables: what a device, an allocator and a program know.  Of      *)
(* stats all can be told from the blocks, and of given too.  They are      *)
(* there because allocators keep such figures and programs such pointers,  *)
(* and the invariants say that they agree.                                 *)
(***************************************************************************)
EXTENDS Release

VARIABLES
    \* the device
    device,    \* memory that the driver has given and not got back: set of [addr, size]
    work,      \* what is still to do: [Streams -> sequence of [addr, size]]
    \* the allocator
    segments,  \* set of [addr, size, stream, pool, kind]
    blocks,    \* set of [addr, size, requested, allocated, mapped, eventCount, uses]
    cached,    \* set of addresses: the blocks on the free lists
    events,    \* what it waits for: [Streams -> sequence of [block, behind]]
    stats,     \* figures it keeps: [allocated, active, reserved, inactiveSplit]
    \* the program
    given      \* what it was given and has not freed: set of [addr, stream, bytes]

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
\* is given out.  The block leaves the free list, if it is on one.
GiveOut(h, p, b) ==
    [heap |-> AllocFoundBlock(h, p, b), given |-> {b.addr}]

NoMemory(h) == [heap |-> h, given |-> {}]

\* What the program has after a malloc.
Given(result, stream, bytes) ==
    given \cup {[addr |-> a, stream |-> stream, bytes |-> bytes] : a \in result.given}
=============================================================================
