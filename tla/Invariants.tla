----------------------------- MODULE Invariants -----------------------------
(***************************************************************************)
(* What is true whenever no call is in progress.  The names are those of   *)
(* docs/invariants.md, which says what goes wrong when one is broken.      *)
(***************************************************************************)
EXTENDS State

BlocksTileSegments ==
    /\ \A b \in blocks : \E g \in segments : Inside(b, g)
    /\ \A g \in segments :
        LET parts == BlocksOf(Heap, g) IN
        /\ \A b, c \in parts : b = c \/ ~Overlap(b, c)
        /\ SumOfSizes(parts) = g.size

LiveBlocksDisjoint ==
    /\ \A g, k \in segments : g = k \/ ~Overlap(g, k)
    /\ \A b, c \in blocks : b.allocated /\ c.allocated => b = c \/ ~Overlap(b, c)

NoMergeableNeighbours == \A b \in blocks : IsFree(b) => Mergeable(Heap, b) = {}

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
        /\ IF SegmentOf(Heap, b).kind = "small"
           THEN b.size <= SmallSize /\ b.size = RoundSize(b.requested)
           ELSE b.size > SmallSize

\* They are backed by memory of the device.
ActiveBlocksAreMapped ==
    \A b \in blocks : ~IsFree(b) =>
        b.mapped /\ b.size <= SumOfSizes({x \in device : Overlap(x, b)})

Bytes(Is(_)) == SumOfSizes({b \in blocks : Is(b)})

AccountingAddsUp ==
    /\ stats.allocated = Bytes(LAMBDA b : b.allocated)
    /\ stats.active = Bytes(LAMBDA b : ~IsFree(b))
    /\ stats.reserved = Bytes(LAMBDA b : b.mapped)
    /\ stats.inactiveSplit = Bytes(LAMBDA b : ~ExpandableSegments /\ IsFree(b) /\ IsSplit(Heap, b))

FreeListsHoldFreeBlocks == cached = {b.addr : b \in {c \in blocks : IsFree(c) /\ c.mapped}}

\* How many events are outstanding for a block.
Queued(b) ==
    Cardinality({<<s, i>> \in Streams \X (1..Cardinality(blocks)) :
                    i <= Len(events[s]) /\ events[s][i].block = b.addr})

EventsAreCounted ==
    \A b \in blocks : b.eventCount = Queued(b) /\ (b.allocated => b.eventCount = 0)

AllocatedBlocksWereGivenOut ==
    given = {[addr |-> b.addr, stream |-> SegmentOf(Heap, b).stream, bytes |-> b.requested]
                : b \in {c \in blocks : c.allocated}}

\* Memory is not allocated on one stream while another stream has still work to do
\* that uses it for its previous owner.
NoReuseWhileInUse ==
    \A s \in Streams : \A i \in 1..Len(work[s]) : \A b \in blocks :
        b.allocated /\ Overlap(b, work[s][i]) => SegmentOf(Heap, b).stream = s

NothingIsLost == stats.reserved = SumOfSizes(device)
=============================================================================
