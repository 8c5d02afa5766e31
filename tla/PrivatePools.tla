---------------------------- MODULE PrivatePools ----------------------------
(***************************************************************************)
(* The allocator with private pools and captures.                          *)
(*                                                                         *)
(* Allocations are routed to a pool here by the capture of a stream.  A    *)
(* stream that is recorded as using memory while a capture is underway     *)
(* takes part in the capture: its work goes into the graph, and not to the *)
(* device.                                                                 *)
(***************************************************************************)
EXTENDS Pools, Served

(***************************************************************************)
(* Malloc.                                                                 *)
(***************************************************************************)

\* Upstream visits its pools in the order of the hashes of their ids: multiples of the golden
\* ratio, of which the fraction counts.
VisitedAt(id) == (id * 618034) % 1000000
FirstVisited(ids) == CHOOSE id \in ids : \A other \in ids : VisitedAt(id) <= VisitedAt(other)

\* Of several pools the first serves that is visited and has a block.
TakeFromFirstVisited(h, p) ==
    LET live == {q.id : q \in {r \in h.pools : r.useCount > 0}} \cap OverflowPools
        found(id) == GetFreeBlock(h, [p EXCEPT !.pool = id])
        serving == {id \in live : found(id) # {}}
    IN IF p.pool # 0 \/ (ExpandableSegments /\ ~UseOnOOMExpandable) \/ serving = {} THEN {} ELSE found(FirstVisited(serving))

\* The pools that serve a malloc when the driver has no memory (use_on_oom).  They
\* are searched as if expandable segments were off, so that blocks of expandable
\* segments are not found (UseOnOOMExpandable: they are).
TakeFromOverflowPool(h, p) ==
    IF Cardinality(OverflowPools) > 1
    THEN TakeFromFirstVisited(h, p)
    ELSE LET live  == {q.id : q \in {r \in h.pools : r.useCount > 0}} \cap OverflowPools
             found == UNION {GetFreeBlock(h, [p EXCEPT !.pool = id]) : id \in live}
         IN IF p.pool = 0 /\ (UseOnOOMExpandable \/ ~ExpandableSegments) THEN found ELSE {}

\* With UseOnOOMLast the overflow pools are searched when all else has failed.
OverflowOrFail(h, p) ==
    LET overflow == TakeFromOverflowPool(h, p)
    IN IF overflow # {} THEN ReturnBlock(h, p, First(overflow)) ELSE FailOutOfMemory(h)

\* The last attempt.  While a capture is underway the cache is not released, so it is made
\* for requests of the default pool only, or, unless Captures is "routing", of one without a capture.
RetryOrFail(h, p) ==
    LET last == AllocBlock(ReleaseCachedBlocksAndPools(h), p)
    IN IF CapturesUnderway(h)
       THEN IF UseOnOOMLast THEN OverflowOrFail(h, p) ELSE FailOutOfMemory(h)
       ELSE IF last.found # {}
       THEN ReturnBlock(IF Captures = "routing" THEN last.heap ELSE CountDriverSegments(last.heap, p.pool, 1),
                        p, First(last.found))
       ELSE IF UseOnOOMLast THEN OverflowOrFail(last.heap, p) ELSE FailOutOfMemory(last.heap)

\* Oversize blocks are released of the default pool and of pools without a capture: a graph may have
\* been captured with those of the others.
ReleaseAvailableOfDefault(h, p) ==
    IF RoutesUncaptured /\ p.pool \in UncapturedPools
    THEN LET result == ReleaseAvailableCachedBlocks(h, p)
             fewer  == Cardinality(h.segments) - Cardinality(result.heap.segments)
         IN [result EXCEPT !.heap = CountDriverSegments(@, p.pool, -fewer)]
    ELSE IF p.pool = 0 THEN ReleaseAvailableCachedBlocks(h, p) ELSE [heap |-> h, enough |-> FALSE]

\* The first driver call has been made.
ObtainAfter(first, p) ==
    LET overflow  == IF UseOnOOMLast THEN {} ELSE TakeFromOverflowPool(first.heap, p)
        available == ReleaseAvailableOfDefault(first.heap, p)
        second    == IF available.enough
                     THEN AllocBlock(available.heap, p)
                     ELSE [heap |-> available.heap, found |-> {}]
    IN IF first.found # {}
       THEN ReturnBlock(CountDriverSegments(first.heap, p.pool, 1), p, First(first.found))
       ELSE IF overflow # {} THEN ReturnBlock(first.heap, p, First(overflow))
       ELSE IF second.found # {}
       THEN ReturnBlock(IF RoutesUncaptured THEN CountDriverSegments(second.heap, p.pool, 1) ELSE second.heap,
                        p, First(second.found))
       ELSE RetryOrFail(second.heap, p)

ObtainBlock(h, p) == ObtainAfter(AllocBlock(h, p), p)

MallocResult(h, stream, bytes) ==
    LET p     == AllocParams(stream, bytes, ChoosePool(h, stream))
        now   == Reclaim(IF Captures = "routing" THEN h ELSE [h EXCEPT !.current = stream])
        found == GetFreeBlock(now, p)
    IN IF found # {} THEN ReturnBlock(now, p, First(found)) ELSE ObtainBlock(now, p)

\* The pool that the program routes requests of the stream to: that of the capture
\* that it began last.
RoutedTo(stream) == LastPool(captures, stream)

Malloc(stream, bytes) ==
    LET result == MallocResult(PoolHeap, stream, bytes) IN
    /\ BecomeWithPools(result.heap)
    /\ given' = Given(result, stream, RoutedTo(stream), bytes)
    /\ UNCHANGED touched

(***************************************************************************)
(* Free.                                                                   *)
(***************************************************************************)

FreeResult(h, b) ==
    LET back  == NotAllocated(b)
        taken == TakeBack(h, b)
    IN IF b.uses = {} THEN FreeBlock(taken, back)
       ELSE IF CapturesUnderway(h) THEN [taken EXCEPT !.deferred = @ \cup {b.addr}]
       ELSE [InsertEvents(taken, back) EXCEPT !.captureUses = {u \in @ : u.block # b.addr}]

FreeAt(h, addr) ==
    LET found == AllocatedAt(h, addr)
    IN IF found = {} THEN h ELSE FreeResult(h, First(found))

Free(addr) ==
    /\ Holds(addr)
    /\ BecomeWithPools(FreeAt(AppendUses(PoolHeap, addr), addr))
    /\ GiveBack({addr})

(***************************************************************************)
(* Another stream uses what the program holds (recordStream).  In a        *)
(* capture this is a use in the capture, and the work goes into the graph. *)
(* If the stream is recorded outside of the capture too, that work is on   *)
(* the device; the allocator takes both uses for one that ends with the    *)
(* capture.                                                                *)
(***************************************************************************)
RecordStream(addr, stream) ==
    LET recorded == RecordedAt(PoolHeap, addr, stream)
        uses == {[block |-> addr, stream |-> stream] : b \in recorded}
        isOtherKind(t) == t.addr = addr /\ t.stream = stream /\ t.captured # (IF RoutesUncaptured THEN AnyCaptured(captures) ELSE captures # <<>>)
    IN  /\ HoldsForOther(addr, stream)
        /\ (\E t \in touched : isOtherKind(t)) => RecordsTwice
        /\ Touch(addr, stream)
        /\ blocks' = (blocks \ recorded) \cup {[b EXCEPT !.uses = @ \cup {stream}] : b \in recorded}
        /\ captureUses' = captureUses \cup IF CapturesUnderway(PoolHeap) THEN uses ELSE {}
        /\ UNCHANGED <<device, work, illegal, segments, cached, events, stats, given, captures,
                       pools, routings, deferred>>

EmptyCache ==
    /\ BecomeWithPools(ReleaseCachedBlocksAndPools(PoolHeap))
    /\ UNCHANGED programVars

Complete(stream) ==
    /\ work[stream] # <<>>
    /\ BecomeWithPools(Done(PoolHeap, stream, 1))
    /\ UNCHANGED programVars

(***************************************************************************)
(* The life of a pool.                                                     *)
(***************************************************************************)

UseCount(id) == IF \E q \in pools : q.id = id THEN PoolOf(PoolHeap, id).useCount ELSE -1

SetUseCount(id, n) ==
    pools' = {q \in pools : q.id # id} \cup
                 {IF UseCount(id) = -1
                  THEN [id |-> id, useCount |-> n, driverSegments |-> 0]
                  ELSE [PoolOf(PoolHeap, id) EXCEPT !.useCount = n]}

BeginRouting(list, id, stream) == Append(list, [pool |-> id, stream |-> stream])
EndRouting(list, id) == SelectSeq(list, LAMBDA r : r.pool # id)

\* The pool is created, or its use count incremented.  A freeable pool cannot be
\* used again.
BeginAllocateToPool(id, stream) ==
    /\ UseCount(id) # 0 /\ UseCount(id) < MaxUses
    /\ \A c \in Range(captures) : c.pool # id /\ (c.stream = stream => RoutesTwice)
    /\ SetUseCount(id, Max(UseCount(id), 0) + 1)
    /\ captures' = Append(captures, [pool |-> id, stream |-> stream])
    /\ routings' = BeginRouting(routings, id, stream)
    /\ UNCHANGED <<device, work, illegal, segments, blocks, cached, events, stats, programVars,
                   deferred, captureUses>>

\* With PoolEndCompletesDeferred, when the capture has ended: the deferred frees of the pool are
\* processed, and then its routing ends.
EndCompleting(id) ==
    LET ended == [PoolHeap EXCEPT !.captures = SelectSeq(@, LAMBDA c : c.pool # id)]
        h == ResolveDeferredOf(ended, id)
    IN /\ \E c \in Range(captures) : c.pool = id
       /\ captures' = h.captures
       /\ routings' = EndRouting(h.routings, id)
       /\ device' = h.device
       /\ work' = h.work
       /\ illegal' = h.illegal
       /\ segments' = h.segments
       /\ blocks' = IF Ties = "address" THEN h.blocks ELSE Renumbered(h.blocks)
       /\ cached' = h.cached
       /\ events' = h.events
       /\ stats' = h.stats
       /\ deferred' = h.deferred
       /\ captureUses' = h.captureUses
       /\ UNCHANGED <<programVars, pools>>

EndAllocateToPool(id) ==
    IF PoolEndCompletesDeferred THEN EndCompleting(id)
    ELSE /\ \E c \in Range(captures) : c.pool = id
         /\ captures' = SelectSeq(captures, LAMBDA c : c.pool # id)
         /\ routings' = EndRouting(routings, id)
         /\ UNCHANGED <<device, work, illegal, segments, blocks, cached, events, stats, programVars,
                        pools, deferred, captureUses>>

\* The graph is destroyed.
ReleasePool(id) ==
    /\ UseCount(id) > 0
    /\ IF ReleasesRouted THEN TRUE ELSE \A c \in Range(captures) : c.pool # id
    /\ SetUseCount(id, UseCount(id) - 1)
    /\ UNCHANGED <<heapVars, programVars, routings, deferred, captureUses>>

Init ==
    /\ InitHeap
    /\ pools = {}
    /\ routings = <<>>
    /\ deferred = {}
    /\ captureUses = {}

Next ==
    \/ \E s \in Streams, n \in Sizes : Malloc(s, n)
    \/ \E a \in Addresses : Free(a)
    \/ \E a \in Addresses, s \in Streams : RecordStream(a, s)
    \/ \E s \in Streams : Complete(s)
    \/ EmptyCache
    \/ \E id \in PoolIds, s \in Streams : BeginAllocateToPool(id, s)
    \/ \E id \in PoolIds : EndAllocateToPool(id)
    \/ \E id \in PoolIds : ReleasePool(id)

Spec == Init /\ [][Next]_vars

(***************************************************************************)
(* What is true.                                                           *)
(***************************************************************************)

HeldBlocksAreAwaited ==
    /\ EventsAreCounted
    /\ deferred = {b.addr : b \in {c \in blocks : ~c.allocated /\ c.uses # {}}}
    /\ \A u \in captureUses : \E b \in blocks : b.addr = u.block /\ u.stream \in b.uses

\* What the allocator takes for captures are the program's.
RoutingsAreCaptures == routings = captures

WorkIsAwaited ==
    WorkIsAwaitedBy(LAMBDA b, s : /\ b.addr \in deferred /\ s \in b.uses
                                  /\ [block |-> b.addr, stream |-> s] \notin captureUses)

PoolTypeOK ==
    /\ TypeOK
    /\ pools \subseteq [id : PoolIds, useCount : Nat, driverSegments : Int]
    /\ Range(routings) \subseteq [pool : PoolIds, stream : Streams]
    /\ deferred \subseteq Addresses
    /\ captureUses \subseteq [block : Addresses, stream : Streams]

PoolsOwnTheirBlocks ==
    /\ \A g \in segments : g.pool # 0 => \E q \in pools : q.id = g.pool
    /\ \A q, r \in pools : q.id = r.id => q = r
    /\ \A r \in Range(routings) : IF ReleasesRouted THEN UseCount(r.pool) >= 0 ELSE UseCount(r.pool) > 0

\* With plain segments a pool's count of driver segments is their number.
DriverSegmentsAreCounted ==
    ~ExpandableSegments =>
        \A q \in pools : q.driverSegments = Cardinality({g \in segments : g.pool = q.id})

\* A pool's memory stays its own while it is used, and stays on the device: graphs use it.  Of a
\* pool without a capture this is not so of oversize segments.  (A property of steps.)
CapturedMemoryIsKept ==
    [][\A g \in segments : IF RoutesUncaptured /\ g.pool \in UncapturedPools /\ ~ExpandableSegments /\ g.size >= MaxSplitSize THEN TRUE ELSE
          UseCount(g.pool) > 0 /\ UseCount(g.pool)' > 0 =>
          g \in segments' /\ {x \in device : Inside(x, g)} \subseteq device']_vars

\* The use count of a pool, on which CapturedMemoryIsKept relies, is the allocator's.  It is as
\* many uses as the program has begun and not ended: no other step changes it, except that a
\* pool without uses may be erased.  (A property of steps.)
UsesAreCounted ==
    [][\A id \in PoolIds :
          LET begins   == \E s \in Streams : BeginAllocateToPool(id, s)
              expected == CASE begins -> Max(UseCount(id), 0) + 1
                            [] ReleasePool(id) -> UseCount(id) - 1
                            [] OTHER -> UseCount(id)
          IN UseCount(id)' = expected \/ (UseCount(id) = 0 /\ UseCount(id)' = -1)]_vars

\* Outside of captures EmptyCache leaves nothing of the default pool, and of the pools that are
\* not in use any more, that can be released.
EmptyCacheReleasesAll ==
    captures = <<>> =>
        ENABLED (EmptyCache /\ \A id \in {0} \cup Freeable(PoolHeap) : ReleasableMemory(PoolHeap', id) = {})

UsedPools == {q.id : q \in {r \in pools : r.useCount > 0}}

\* A pool serves requests of the default pool only where the driver does not (use_on_oom).  With
\* UseOnOOMLast it serves them where the driver does not although all is returned that can be.
\* (A property of steps.)
OverflowsOnOutOfMemory ==
    [][\A s \in Streams, n \in Sizes :
          IF UseOnOOMLast /\ captures = <<>>
          THEN Malloc(s, n) /\ RoutedTo(s) = 0 /\ (\E x \in given' \ given : x.pool # 0) =>
                   SumOfSizes(Kept(UsedPools)) + SegmentNeeded(n) > Room
          ELSE Malloc(s, n) /\ RoutedTo(s) = 0 /\ (\E x \in given' \ given : x.pool # 0) =>
                   SumOfSizes(device) + SegmentNeeded(n) > Room]_vars

(***************************************************************************)
(* What a program is owed (Served.tla).                                    *)
(***************************************************************************)

Fails(stream, bytes) == MallocResult(PoolHeap, stream, bytes).returned = {}

\* The pools with use_on_oom that have a free block that fits, and the order in which they are
\* searched: that of the fractions of the multiples of the golden ratio, .618, .236, .854, .472.
Overflowing(stream, bytes) ==
    IF ExpandableSegments /\ ~UseOnOOMExpandable THEN {} ELSE {id \in OverflowPools \cap UsedPools : Cached(id, stream, bytes)}
OverflowOrder == <<2, 4, 1, 3>>

\* A malloc can be served only if memory is returned first.
MustReturn(stream, bytes) ==
    /\ MustMakeRoom(RoutedTo(stream), stream, bytes)
    /\ IF UseOnOOMLast THEN TRUE ELSE RoutedTo(stream) = 0 => Overflowing(stream, bytes) = {}

\* A malloc fails only if no free block fits, and there would be no room for the segment if all
\* that can be returned were returned.  In captures less is: see CacheIsReleasedInCapture.
MallocsAreServed ==
    \A s \in Streams, n \in Sizes :
        Fails(s, n) => /\ ~RoomBeside(IF captures = <<>> THEN Kept(UsedPools) ELSE device, n)
                       /\ ~Cached(RoutedTo(s), s, n)

\* A malloc of the default pool fails only if no pool with use_on_oom has a free block that fits.
OverflowPoolsServe ==
    \A s \in Streams, n \in Sizes : RoutedTo(s) = 0 /\ Fails(s, n) => Overflowing(s, n) = {}

\* The free oversize segments of a pool without a capture make room for its requests.
OversizeMakesRoom ==
    \A s \in Streams, n \in Sizes :
        LET need  == Max(BlockFor(n), MaxSplitSize)
            whole == {g \in segments : /\ ~ExpandableSegments /\ g.pool = RoutedTo(s) /\ g.stream = s
                                       /\ g.kind = KindFor(n) /\ g.size >= MaxSplitSize
                                       /\ \E b \in blocks : b.addr = g.addr /\ b.size = g.size /\ ~b.allocated /\ b \notin Waiting}
            suffices == (\E g \in whole : g.size >= need) \/ SumOfSizes({g \in whole : g.size < need}) >= need
        IN Fails(s, n) /\ RoutedTo(s) \in UncapturedPools /\ suffices =>
               \/ SumOfSizes(device) + SegmentNeeded(n) > Room + need
               \/ AnyCaptured(captures) /\ ~RelaxedCaptures

\* Of several that can serve it the first does.
OverflowPoolsInOrder ==
    [][\A s \in Streams, n \in Sizes :
          Waiting = {} /\ RoutedTo(s) = 0 /\ Malloc(s, n) =>
              \A x \in given' \ given :
                  LET able == SelectSeq(OverflowOrder, LAMBDA id : id \in Overflowing(s, n))
                  IN x.pool # 0 /\ able # <<>> => x.pool = Head(able)]_vars

\* Only a pool in use serves it.
LivePoolsServe ==
    [][\A x \in given' \ given : x.pool # 0 => UseCount(x.pool) > 0 \/ \E c \in Range(captures) : c.pool = x.pool]_vars

PromptlyReclaimed ==
    [][Waiting' # {} /\ (IF Captures = "mark" THEN ~AnyCaptured(captures) ELSE captures = <<>>) =>
          \A s \in Streams, n \in Sizes : Malloc(s, n) => NothingWaitsInVain(TRUE)]_vars

NoNeedlessWait ==
    [][Waits => \/ \E s \in Streams : Complete(s)
                \/ EmptyCache
                \/ \E s \in Streams, n \in Sizes : Malloc(s, n) /\ MustReturn(s, n)]_vars

\* Only EmptyCache and a malloc that can be served no other way return memory to the driver.  While a
\* capture is underway EmptyCache returns that of unused pools, and a malloc that of its own stream
\* and pool.
NoNeedlessReturn ==
    [][\A y \in Returned, g \in segments : Inside(y, g) =>
          \/ EmptyCache /\ (captures # <<>> => g.pool # 0 /\ UseCount(g.pool) = 0)
          \/ \E s \in Streams, n \in Sizes :
                /\ Malloc(s, n) /\ MustReturn(s, n)
                /\ captures # <<>> => y.stream = s /\ g.pool = RoutedTo(s)]_vars

EmptyCacheLeavesNothingWaiting == [][EmptyCache /\ captures = <<>> => Waiting' = {}]_vars

\* A malloc obtains memory only if no free block fits of the pool that its request is routed to.
CacheServes == [][Obtained # {} => \A s \in Streams, n \in Sizes : Malloc(s, n) => ~Cached(RoutedTo(s), s, n)]_vars

SegmentsFitRequests ==
    [][Obtained # {} => \A s \in Streams, n \in Sizes : Malloc(s, n) => ObtainsWhatItNeeds(n)]_vars

JustEnoughIsReturned ==
    [][Returned # {} => \A s \in Streams, n \in Sizes :
          Malloc(s, n) => /\ ReturnsJustEnough(s, n, Kept(UsedPools)')
                          /\ SumOfSizes(Kept(UsedPools)') < SumOfSizes(device') \/ OversizeSuffices(s, n) =>
                                 \A y \in Returned, g \in segments : Inside(y, g) => g.pool = RoutedTo(s)]_vars

PagesKeepToLimit ==
    [][Obtained # {} => \A s \in Streams, n \in Sizes : Malloc(s, n) => KeepsPagesToLimit(n)]_vars

\* With expandable segments a pool's count is one more after a malloc that is served with new pages of it, and
\* EmptyCache takes one off for each free block that loses pages.  While it is positive the pool stays.
PagesAreCounted ==
    [][ExpandableSegments /\ Waiting = {} => \A q \in pools :
          LET isOf(x, all) == \E g \in all : Inside(x, g) /\ g.pool = q.id
              losing == {b \in blocks : /\ b.mapped /\ ~b.allocated /\ isOf(b, segments)
                                        /\ \E y \in Returned : Overlap(y, b)}
              more == IF given' # given /\ \E y \in Obtained : isOf(y, segments') THEN 1 ELSE 0
              is(n) == IF \E r \in pools' : r.id = q.id
                       THEN [q EXCEPT !.driverSegments = n] \in pools'
                       ELSE n <= 0
          IN /\ EmptyCache => is(q.driverSegments - Cardinality(losing))
             /\ segments \subseteq segments' /\ Returned = {} /\ (\E s \in Streams, n \in Sizes : Malloc(s, n)) =>
                    is(q.driverSegments + more)]_vars

\* The allocator knows the streams that use what the program holds, and which of the uses are in graphs.
UsesAreTouches ==
    \A x \in given, b \in blocks : b.addr = x.addr =>
        LET all == {t \in touched : t.addr = x.addr}
            bothWays(t) == \E u \in all : u.stream = t.stream /\ u.captured # t.captured
        IN /\ b.uses = {t.stream : t \in all}
           /\ \A t \in all : bothWays(t) \/ t.captured = ([block |-> b.addr, stream |-> t.stream] \in captureUses)

\* With PoolEndCompletesDeferred the end of a pool's routing processes the pool's deferred frees, and no
\* others; else none.
EndCompletesDeferred ==
    [][\A id \in PoolIds :
          EndAllocateToPool(id) =>
              deferred' = IF ~PoolEndCompletesDeferred THEN deferred ELSE {a \in deferred : \A g \in segments, b \in blocks : b.addr = a /\ Inside(b, g) => g.pool # id}]_vars

\* Of a deferred free no event is recorded for a use that is in a graph.
GraphUsesAreNotAwaited ==
    [][\A u \in captureUses : u.block \in deferred =>
          \A i \in DOMAIN events'[u.stream] : events'[u.stream][i].block # u.block]_vars

\* EmptyCache returns what is free of the pools that are not in use, also while a capture is underway
\* that allows it.  (The pages of a captured stream cannot be unmapped.)
UnusedPoolsAreReleased ==
    captures = <<>> \/ (RelaxedCaptures /\ ~ExpandableSegments) =>
        ENABLED (EmptyCache /\ \A g \in segments', q \in pools' :
            q.id = g.pool /\ q.useCount = 0 =>
                ~\E b \in blocks' : b.addr = g.addr /\ b.size = g.size /\ ~b.allocated /\ b.eventCount = 0 /\ b.uses = {})

\* What a malloc returned is of the pool that its request was routed to, by the capture that began
\* last, or of one with use_on_oom.
RequestsAreRouted ==
    [][\A x \in given' \ given, g \in segments' : Inside(MemoryOf(x), g) =>
          LET ofStream == {i \in DOMAIN captures : captures[i].stream = x.stream}
              wins(i) == \A j \in ofStream : IF FirstRoutingWins THEN i <= j ELSE j <= i
          IN (\E s \in Streams, n \in Sizes : Malloc(s, n)) =>
                 IF ofStream = {} THEN g.pool \in {0} \cup OverflowPools
                 ELSE \A i \in ofStream : wins(i) => g.pool = captures[i].pool]_vars

BestFitServes ==
    [][given' \ given # {} /\ Waiting = {} /\ device' = device =>
          \A s \in Streams, n \in Sizes : Malloc(s, n) => ServedByBestFit(s, n)]_vars

ExpandableSegmentsGrow ==
    [][segments' \ segments # {} =>
          \A s \in Streams, n \in Sizes : Malloc(s, n) => GrowsInPlace(n)]_vars

\* EmptyCache outside of captures leaves no pool without uses and memory.  (A pool of expandable
\* segments stays while its count of driver segments is positive.)
UnusedPoolsAreErased ==
    captures = <<>> =>
        ENABLED (EmptyCache /\ \A q \in pools' :
            \/ q.useCount > 0
            \/ \E y \in device' : \E g \in segments' : Inside(y, g) /\ g.pool = q.id
            \/ ExpandableSegments /\ q.driverSegments > 0)

\* FAILS.  While a capture is underway no events are queried and nothing is released,
\* of whatever pool: a malloc may fail although it need not.
CacheIsReleasedInCapture ==
    \A s \in Streams, n \in Sizes :
        LET p == AllocParams(s, n, ChoosePool(PoolHeap, s))
            all == ReleaseCachedBlocks(PoolHeap)
        IN MallocResult(PoolHeap, s, n).returned = {} => ~WithinLimit(all, p) \/ ~HasMemory(all, p)

(***************************************************************************)
(* What is freed becomes reusable, if work on the device continues to      *)
(* complete, the program continues to call malloc, and captures end.       *)
(***************************************************************************)
Fairness ==
    /\ \A s \in Streams : WF_vars(Complete(s))
    /\ SF_vars(\E s \in Streams, n \in Sizes : Malloc(s, n) /\ ~CapturesUnderway(PoolHeap))
    /\ \A id \in PoolIds : WF_vars(EndAllocateToPool(id))

FairSpec == Spec /\ Fairness

Held(addr) == \E b \in blocks : b.addr = addr /\ ~b.allocated /\ addr \notin cached

FreedBecomesReusable == \A a \in Addresses : Held(a) ~> ~Held(a)
=============================================================================
