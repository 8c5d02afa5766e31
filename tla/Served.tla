------------------------------- MODULE Served -------------------------------
(***************************************************************************)
(* What a program is owed.  These properties use nothing that they judge:  *)
(* they are said with what the program holds (given), the work that is     *)
(* pending, what the driver has granted (device), the layout of blocks,    *)
(* and numbers.  They ask no operator of the allocator, such as its best   *)
(* fit or what it releases.  (How far a request is rounded MemoryOf takes  *)
(* from RoundSize; BlockFor says it by numbers, and BlocksFitRequests      *)
(* compares.)                                                              *)
(*                                                                         *)
(* The modules with a malloc say them of that malloc: OutOfMemory.tla and  *)
(* PrivatePools.tla.                                                       *)
(***************************************************************************)
EXTENDS Invariants

\* What a request needs, as numbers say it: the size of its block, of its segment, and of its pages.
MultipleOf(step, n) == CHOOSE m \in n..(n + step - 1) : m % step = 0
Divided == {n \in 1..(2 * Memory) : \E k \in 0..Memory, i \in 0..Divisions : n * Divisions = 2^k * (Divisions + i)}
BlockFor(bytes) ==
    IF Divisions = 0 THEN MultipleOf(MinBlock, bytes)
    ELSE IF bytes <= MinBlock * Divisions THEN MultipleOf(MinBlock, bytes)
    ELSE Min({n \in Divided : n >= bytes})
KindFor(bytes) == IF BlockFor(bytes) <= SmallSize THEN "small" ELSE "large"
SegmentNeeded(bytes) ==
    LET size == BlockFor(bytes)
    IN IF size <= SmallSize THEN SmallBuffer
       ELSE IF size < MinLargeAlloc THEN LargeBuffer
       ELSE MultipleOf(RoundLarge, size)
PagesNeeded(bytes) == MultipleOf(IF KindFor(bytes) = "small" THEN SmallBuffer ELSE LargeBuffer, BlockFor(bytes))

\* The memory that can be granted.
Room == Min({Limit, Memory})

\* What cannot be returned of what the program holds: of a pool with no_split it is the whole block.
Occupied(x) ==
    IF x.pool \in NoSplitPools THEN CHOOSE b \in blocks : b.addr = x.addr ELSE MemoryOf(x)

\* The grants that cannot be returned, however long is waited: the program holds memory of
\* them, or uses the pool that they are of.
Kept(usedPools) ==
    {y \in device : \/ \E x \in given : Overlap(IF NoSplitPools = {} THEN MemoryOf(x) ELSE Occupied(x), y)
                    \/ \E g \in segments : Inside(y, g) /\ g.pool \in usedPools}

\* A block waits for events, or its free is deferred.  What a malloc frees first may be merged
\* with a block that fits, and then be too large.
Waiting == {b \in blocks : ~b.allocated /\ (b.eventCount > 0 \/ b.uses # {})}

\* The free blocks of a pool in which a request fits.  Oversize blocks serve requests of about
\* their size only.
Fitting(pool, stream, bytes) ==
    LET size == BlockFor(bytes)
        below == IF size < MaxSplitSize THEN MaxSplitSize ELSE size + MaxNonSplitRounding
    IN {b \in blocks : /\ b.mapped /\ ~b.allocated /\ b \notin Waiting
                       /\ b.size >= size /\ b.size < below
                       /\ \E g \in segments : /\ Inside(b, g) /\ g.pool = pool
                                              /\ g.stream = stream /\ g.kind = KindFor(bytes)}

InOneSegment(b, c) == \E g \in segments : Inside(b, g) /\ Inside(c, g)

\* A free block fits, and no neighbour of it waits: what a malloc frees first is not merged with it.
Cached(pool, stream, bytes) ==
    \E b \in Fitting(pool, stream, bytes) :
        \A c \in Waiting : InOneSegment(b, c) => End(b) # c.addr /\ End(c) # b.addr

\* There is room beside some memory for what a request needs, if nothing is cached.  (The limit is
\* tested by the segment, also where pages are mapped.)
RoomBeside(memory, bytes) ==
    SumOfSizes(memory) + Max(IF ExpandableSegments THEN PagesNeeded(bytes) ELSE 0, SegmentNeeded(bytes)) <= Room

\* The driver can grant what a request needs, if nothing is returned.
HasRoom(bytes) == RoomBeside(device, bytes)

\* The driver has granted no more than the limit.  (Pages can pass it: see
\* MCExpandable_weak_limit.cfg.)
LimitHolds == SumOfSizes(device) <= Limit

\* Nor more than the device has.
MemoryHolds == SumOfSizes(device) <= Memory

\* A range of addresses has room for all memory of the device and an eighth more.
RangesHaveRoom ==
    ExpandableSegments =>
        \A g \in segments : g.size = MultipleOf(IF g.kind = "small" THEN SmallBuffer ELSE LargeBuffer, Memory + Memory \div 8)

\* What is left over in an allocated block of a plain segment is too small to be split off.  An
\* oversize block, which is never split, is a whole segment.
BlocksFitRequests ==
    \A x \in given : \E b \in blocks : \E g \in segments :
        LET size == BlockFor(x.bytes)
            most == IF IF NoSplitPools = {} THEN FALSE ELSE g.pool \in NoSplitPools THEN g.size ELSE
                    CASE ExpandableSegments \/ g.kind = "small" -> MinBlock - 1
                      [] ~ExpandableSegments /\ g.kind # "small" /\ size >= MaxSplitSize -> MaxNonSplitRounding - 1
                      [] OTHER -> SmallSize
        IN /\ b.addr = x.addr /\ Inside(b, g)
           /\ b.size \in size..(size + most)
           /\ size >= MaxSplitSize => b.size = g.size

\* A block of a pool with no_split is a whole segment, or whole pages.
NoSplitBlocksAreWhole ==
    \A b \in blocks, g \in segments : Inside(b, g) /\ g.pool \in NoSplitPools =>
        LET page == IF g.kind = "small" THEN SmallBuffer ELSE LargeBuffer
        IN IF ExpandableSegments THEN b.size % page = 0 /\ (b.addr - g.addr) % page = 0 ELSE b.size = g.size

\* A segment of max_split_size or more is one block.  (A segment of the usual size is of that size
\* only if max_split_size is as small.)
OversizeSegmentsAreWhole ==
    \A g \in segments :
        ~ExpandableSegments /\ g.size >= MaxSplitSize /\ g.size > LargeBuffer =>
            \E b \in blocks : b.addr = g.addr /\ b.size = g.size

\* What is split off a block of a plain segment can serve another request.
RemaindersCanServe ==
    ~ExpandableSegments =>
        \A b \in blocks, g \in segments : Inside(b, g) /\ g.kind = "large" => b.size > SmallSize

(***************************************************************************)
(* Of steps.                                                               *)
(***************************************************************************)

\* No block waits though no work is pending on it.  The event of a free that was deferred is
\* behind later work too; so with captures it is enough that work is pending.
NothingWaitsInVain(withCaptures) ==
    \A b \in Waiting' : \E s \in Streams :
        /\ \A g \in segments' : Inside(b, g) => g.stream # s
        /\ \E piece \in Range(work'[s]) : withCaptures \/ Overlap(piece, b)

\* Work of a stream has completed: of what was pending, and of what uses memory when it is freed.
Waits ==
    \E s \in Streams :
        LET ends == {x \in given \ given' : \E t \in touched : t.addr = x.addr /\ t.stream = s /\ ~t.captured}
        IN Len(work'[s]) < Len(work[s]) + Cardinality(ends)

\* A malloc can be served only if memory is returned first.
MustMakeRoom(pool, stream, bytes) == ~Cached(pool, stream, bytes) /\ ~HasRoom(bytes)

Returned == device \ device'
Obtained == device' \ device

\* A malloc obtains of the driver what it needs, and no more: one segment, or the pages that a free
\* block lacks.
ObtainsWhatItNeeds(bytes) ==
    Obtained # {} =>
        IF ExpandableSegments THEN SumOfSizes(Obtained) <= PagesNeeded(bytes)
        ELSE \E y \in device' : Obtained = {y} /\ y.size = SegmentNeeded(bytes)

\* A malloc of the default pool has room when one free oversize segment of its stream is returned, or
\* when all are that are smaller than the request needs.
OversizeSuffices(stream, bytes) ==
    LET need  == Max(BlockFor(bytes), MaxSplitSize)
        whole == {g \in segments : /\ ~ExpandableSegments /\ g.pool = 0 /\ g.stream = stream
                                   /\ g.kind = KindFor(bytes) /\ g.size >= MaxSplitSize
                                   /\ \E b \in blocks : b.addr = g.addr /\ b.size = g.size /\ ~b.allocated}
    IN /\ captures = <<>> /\ Waiting = {}
       /\ (\E g \in whole : g.size >= need) \/ SumOfSizes({g \in whole : g.size < need}) >= need
       /\ SumOfSizes(device) + SegmentNeeded(bytes) <= Room + need

\* A malloc that returns memory, and not all that can be returned, or that need not return all,
\* returns oversize blocks of its own stream: enough, not one more than is needed, and of those that are
\* enough alone the smallest.
ReturnsJustEnough(stream, bytes, keptThen) ==
    Returned # {} /\ (SumOfSizes(keptThen) < SumOfSizes(device') \/ OversizeSuffices(stream, bytes)) =>
        /\ \A y \in Returned : y.stream = stream /\ y.size >= MaxSplitSize
        /\ \A y \in Returned : SumOfSizes(Returned \ {y}) < Max(BlockFor(bytes), MaxSplitSize)
        /\ Obtained # {} => SumOfSizes(Returned) >= Max(BlockFor(bytes), MaxSplitSize)
        /\ \A y \in Returned, f, g \in segments :
               /\ f.addr = y.addr /\ g.pool = f.pool /\ g.kind = f.kind /\ g.stream = stream
               /\ \E b \in blocks : b.addr = g.addr /\ b.size = g.size /\ ~b.allocated /\ b \notin Waiting
               /\ g.size >= Max(BlockFor(bytes), MaxSplitSize)
               => y.size <= g.size

\* Of the pages that a malloc obtains each is in part its memory's.
UsesItsPages ==
    ExpandableSegments => \A x \in given' \ given, y \in Obtained : Overlap(MemoryOf(x), y)

\* Of the free oversize segments of the default pool that are smaller than a request, a malloc that
\* need not return all returns the largest.
ReturnsLargest(stream, bytes, keptThen) ==
    Returned # {} /\ (SumOfSizes(keptThen) < SumOfSizes(device') \/ OversizeSuffices(stream, bytes)) =>
        \A g \in segments :
            /\ g.pool = 0 /\ g.stream = stream /\ g.size >= MaxSplitSize /\ g.size < Max(BlockFor(bytes), MaxSplitSize)
            /\ \E b \in blocks : b.addr = g.addr /\ b.size = g.size /\ ~b.allocated /\ b \notin Waiting
            /\ \A y \in Returned : y.addr # g.addr
            => \A y \in Returned : g.size <= y.size

\* The last work of a stream that is waited for is work that a block waits for, or comes before it;
\* unless pages of the stream are unmapped, or the driver waits for all work when memory is freed.
WaitsNoLongerBeside(gone) ==
    \A s \in Streams :
        LET n == Len(work[s]) - Len(work'[s])
        IN n > 0 =>
            \/ \E i \in n..Len(work[s]), b \in Waiting :
                  Overlap(work[s][i], b) /\ \A g \in segments : Inside(b, g) => g.stream # s
            \/ \E y \in gone : IF ExpandableSegments THEN y.stream = s ELSE OwnWork

WaitsNoLonger == WaitsNoLongerBeside(Returned)

\* A malloc may return what the program does not hold, and obtain it again as it was.
Returnable == {y \in device : \A x \in given : ~Overlap(MemoryOf(x), y)}

\* No range of addresses that has lost its last page stays.
RangesAreReleased ==
    \A g \in segments \cap segments' :
        (\E y \in device : Inside(y, g)) => \E y \in device' : Inside(y, g)

\* A malloc maps pages only if a plain segment for it would stay within the limit.
KeepsPagesToLimit(bytes) ==
    ExpandableSegments /\ Obtained # {} =>
        SumOfSizes(device') + SegmentNeeded(bytes) <= Limit + PagesNeeded(bytes)

\* The size of a free block with the unmapped memory behind it.
Grown(b) == b.size + SumOfSizes({c \in blocks : ~c.mapped /\ c.addr = End(b) /\ InOneSegment(b, c)})

Precedes(a, b) ==
    IF Ties = "address" THEN a.size < b.size \/ (a.size = b.size /\ a.addr < b.addr)
    ELSE \/ a.size < b.size
         \/ a.size = b.size /\ (a.made < b.made \/ (a.made = b.made /\ a.addr < b.addr))

\* A block should serve a request: the smallest that fits, of several the lowest, or the one that was
\* made first.  But one that can grow is passed over while the next in this order can grow to less.
IsBest(b, all) ==
    LET behind == {c \in all : Precedes(b, c)}
        next   == {c \in behind : \A d \in behind : c = d \/ Precedes(c, d)}
    IN /\ \A a \in all : Precedes(a, b) => Grown(a) > a.size /\ Grown(a) > Grown(b)
       /\ Grown(b) > b.size => \A c \in next : Grown(b) <= Grown(c)

\* What a malloc returned is the begin of the best of the free blocks that fit, if it is in one.  A
\* segment may have been returned and granted again, of another pool.
ServedByBestFit(stream, bytes) ==
    \A x \in given' \ given : \A g \in segments \cap segments' : Inside(MemoryOf(x), g) =>
        LET all == Fitting(g.pool, stream, bytes)
            at  == {b \in all : Overlap(MemoryOf(x), b)}
        IN \A b \in at : b.addr = x.addr /\ IsBest(b, all)

\* How large a free block of a segment can become: memory without a block in use, of which at
\* least a part is not mapped.
GrowsTo(g, size) ==
    \E from, to \in {b \in blocks : Inside(b, g)} :
        /\ from.addr <= to.addr /\ End(to) - from.addr >= size
        /\ LET between == {b \in blocks : from.addr <= b.addr /\ b.addr <= to.addr}
           IN /\ \A b \in between : ~b.allocated /\ b \notin Waiting
              /\ \E b \in between : ~b.mapped

\* Where nothing is returned to the driver, there is another range of addresses only if the
\* request does not fit into the free and unmapped memory, one after the other, of the ranges
\* that the stream has.
GrowsInPlace(bytes) ==
    ExpandableSegments /\ device \subseteq device' =>
        \A g \in segments' : (\A f \in segments : f.addr # g.addr) =>
            \A f \in segments : f.stream = g.stream /\ f.pool = g.pool /\ f.kind = g.kind =>
                ~GrowsTo(f, BlockFor(bytes))

\* Of several places in the ranges that a stream has, where a request fits if pages are mapped, a
\* malloc takes the lowest.
PlacesFor(g, bytes) ==
    {from \in {b \in blocks : Inside(b, g)} : \E to \in {b \in blocks : Inside(b, g)} :
        LET between == {b \in blocks : from.addr <= b.addr /\ b.addr <= to.addr}
        IN /\ from.addr <= to.addr /\ End(to) - from.addr >= BlockFor(bytes)
           /\ \A b \in between : ~b.allocated
           /\ \E b \in between : ~b.mapped}
GrowsAtLowest(stream, bytes) ==
    ExpandableSegments /\ device \subseteq device' /\ Obtained # {} /\ Waiting = {} =>
        \A x \in given' \ given, g \in segments : Inside(MemoryOf(x), g) =>
            \A f \in segments : f.stream = stream /\ f.pool = g.pool /\ f.kind = g.kind =>
                \A b \in PlacesFor(f, bytes) : x.addr <= b.addr

\* Where ties go by what was made first: blocks keep their order, what is obtained comes last, and so
\* does the block that is split off a free one, if it is blocks that are made.
IsKeptAs(b, d) == IF b.allocated THEN Inside(b, d) ELSE End(b) = End(d) /\ b.addr <= d.addr
KeepsOrder ==
    LET isNew(d) == \E y \in Obtained : Inside(d, y)
        isSplitOff(d) == /\ Ties = "block" /\ \E x \in given' \ given : x.addr = d.addr
                         /\ \E c \in blocks \cup Obtained : c.addr = d.addr /\ c.size > d.size
    IN Returned = {} /\ Waiting = {} =>
        /\ \A b, c \in blocks, d, e \in blocks' :
               d # e /\ b.made < c.made /\ IsKeptAs(b, d) /\ IsKeptAs(c, e) => d.made < e.made
        /\ \A d, e \in blocks' : isNew(d) /\ ~isNew(e) => e.made < d.made
        /\ \A d \in blocks' : isSplitOff(d) => \A e \in blocks' \ {d} : e.made < d.made
=============================================================================
