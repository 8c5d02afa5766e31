----------------------------- MODULE Invariants -----------------------------
(***************************************************************************)
(* What is true whenever the allocator's lock is not held.  (NothingIsLost *)
(* is true when no call is in progress.)  The names that docs/invariants.md*)
(* has too are explained there, with what goes wrong when one is broken.   *)
(***************************************************************************)
EXTENDS State

TypeOK ==
    /\ device \subseteq [addr : Nat, size : Nat, stream : Streams]
    /\ DOMAIN work = Streams /\ \A s \in Streams : Range(work[s]) \subseteq [addr : Nat, size : Nat]
    /\ illegal \subseteq {"record", "query", "wait", "free"}
    /\ segments \subseteq [addr : Nat, size : Nat, stream : Streams, pool : {0} \cup PoolIds, kind : Kinds]
    /\ IF Ties = "address"
       THEN blocks \subseteq [addr : Nat, size : Nat, requested : Nat, allocated : BOOLEAN,
                              mapped : BOOLEAN, eventCount : Nat, uses : SUBSET Streams]
       ELSE blocks \subseteq [addr : Nat, size : Nat, requested : Nat, allocated : BOOLEAN,
                              mapped : BOOLEAN, eventCount : Nat, uses : SUBSET Streams, made : Nat]
    /\ cached \subseteq Addresses
    /\ DOMAIN events = Streams /\ \A s \in Streams : Range(events[s]) \subseteq [block : Addresses, behind : Nat]
    /\ stats \in [allocated : Nat, active : Nat, reserved : Nat, inactiveSplit : Nat]
    /\ given \subseteq [addr : Addresses, stream : Streams, pool : {0} \cup PoolIds, bytes : Nat]
    /\ touched \subseteq [addr : Addresses, stream : Streams, captured : BOOLEAN]
    /\ Range(captures) \subseteq [pool : PoolIds, stream : Streams]

BlocksTileSegments ==
    /\ \A b \in blocks : \E g \in segments : Inside(b, g)
    /\ \A g \in segments :
        LET parts == BlocksOf(Heap, g) IN
        /\ \A b, c \in parts : b = c \/ ~Overlap(b, c)
        /\ SumOfSizes(parts) = g.size

\* No driver call was made that a capture forbids; so nothing waits forever.
DriverCallsAreLegal == illegal = {}

\* This holds beside captures of other callers too.
NoForbiddenFrees == "free" \notin illegal

LiveBlocksDisjoint ==
    /\ \A x, y \in given : x = y \/ ~Overlap(MemoryOf(x), MemoryOf(y))
    /\ \A g, k \in segments : g = k \/ ~Overlap(g, k)
    /\ \A b, c \in blocks : b.allocated /\ c.allocated => b = c \/ ~Overlap(b, c)

\* Of two neighbours in a segment that nothing uses one is mapped and one is not.
NoMergeableNeighbours ==
    \A g \in segments : \A b, c \in {x \in blocks : g.addr <= x.addr /\ x.addr < g.addr + g.size} :
        /\ c.addr = b.addr + b.size /\ b.mapped = c.mapped
        /\ ~b.allocated /\ b.eventCount = 0 /\ b.uses = {}
        => c.allocated \/ c.eventCount > 0 \/ c.uses # {}

SizesAndAlignment ==
    /\ \A b \in blocks : b.size > 0 /\ b.size % MinBlock = 0 /\ b.addr % MinBlock = 0
    /\ \A g \in segments :
        CASE ExpandableSegments -> g.size % PageSize(g.kind) = 0
          [] ~ExpandableSegments /\ g.kind = "small" -> g.size = SmallBuffer
          [] OTHER -> g.size = LargeBuffer \/ (g.size >= MinLargeAlloc /\ g.size % RoundLarge = 0)
    /\ \A b \in blocks :
        ~b.mapped => LET g == SegmentOf(Heap, b)
                     IN (b.addr - g.addr) % PageSize(g.kind) = 0 /\ b.size % PageSize(g.kind) = 0

RequestsFit ==
    \A b \in blocks : ~IsFree(b) =>
        /\ b.requested <= b.size
        /\ IF IF NoSplitPools = {} THEN FALSE ELSE SegmentOf(Heap, b).pool \in NoSplitPools
           THEN TRUE
           ELSE IF SegmentOf(Heap, b).kind = "small"
           THEN b.size <= SmallSize /\ b.size = RoundSize(b.requested)
           ELSE b.size > SmallSize

\* They, and what the program holds, are backed by memory of the device.
ActiveBlocksAreMapped ==
    LET backed == UNION {BytesOf(y) : y \in device}
    IN /\ \A x \in given : BytesOf(MemoryOf(x)) \subseteq backed
       /\ \A b \in blocks : ~IsFree(b) => b.mapped /\ BytesOf(b) \subseteq backed

Bytes(Is(_)) == SumOfSizes({b \in blocks : Is(b)})

AccountingAddsUp ==
    /\ stats.allocated = Bytes(LAMBDA b : b.allocated)
    /\ stats.active = Bytes(LAMBDA b : ~IsFree(b))
    /\ stats.reserved = Bytes(LAMBDA b : b.mapped)
    /\ stats.inactiveSplit = Bytes(LAMBDA b : ~ExpandableSegments /\ IsFree(b) /\ IsSplit(Heap, b))

FreeListsHoldFreeBlocks == cached = {b.addr : b \in {c \in blocks : IsFree(c) /\ c.mapped}}

\* How many events are outstanding for a block.
Queued(b) ==
    Cardinality({e \in UNION {{s} \X DOMAIN events[s] : s \in Streams} : events[e[1]][e[2]].block = b.addr})

EventsAreCounted ==
    \A b \in blocks : b.eventCount = Queued(b) /\ (b.allocated => b.eventCount = 0)

AllocatedBlocksWereGivenOut ==
    {[addr |-> x.addr, stream |-> x.stream, bytes |-> x.bytes] : x \in given} =
        {[addr |-> b.addr, stream |-> SegmentOf(Heap, b).stream, bytes |-> b.requested]
            : b \in {c \in blocks : c.allocated}}

\* The program holds only memory of the pool that its request was routed to.
PoolsAreIsolated ==
    \A x \in given, g \in segments : Overlap(MemoryOf(x), g) => g.pool = x.pool

\* Memory is not allocated on one stream while another stream has still work to do
\* that uses it for its previous owner.  The stream that the memory was obtained for
\* may always have such work.
NoReuseWhileInUse ==
    \A x \in given :
        /\ \A s \in Streams \ {x.stream} : \A piece \in Range(work[s]) : ~Overlap(MemoryOf(x), piece)
        /\ \A y \in device : Overlap(MemoryOf(x), y) => x.stream = y.stream

\* The events of a stream complete in the order of its queue, and none later than all its work.
EventsInOrder ==
    \A s \in Streams : \A i \in DOMAIN events[s] :
        /\ events[s][i].behind <= Len(work[s])
        /\ i > 1 => events[s][i - 1].behind <= events[s][i].behind

\* The memory that pending work uses is still the device's.  If it is in a block that is not
\* allocated, the work is waited for before the block can be allocated again: by an event
\* behind it, or by the free of the block, if that is deferred.  Work of the block's own
\* stream need not be waited for.
WorkIsAwaitedBy(Deferred(_, _)) ==
    \A s \in Streams : \A i \in DOMAIN work[s] :
        /\ BytesOf(work[s][i]) \subseteq UNION {BytesOf(y) : y \in device}
        /\ \A b \in {c \in blocks : ~c.allocated /\ Overlap(c, work[s][i])} :
              \/ SegmentOf(Heap, b).stream = s
              \/ \E e \in Range(events[s]) : e.block = b.addr /\ e.behind >= i
              \/ Deferred(b, s)

NothingIsLost == stats.reserved = SumOfSizes(device)
=============================================================================
