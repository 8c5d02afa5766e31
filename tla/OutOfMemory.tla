---------------------------- MODULE OutOfMemory -----------------------------
(***************************************************************************)
(* When may a malloc fail?  When nothing that the allocator could have     *)
(* released would have helped.  That is true of what it requests from the  *)
(* driver.  It is not quite true of its own cache, and the properties      *)
(* below that fail say where.                                              *)
(***************************************************************************)
EXTENDS CachingAllocator, Served

Fails(stream, bytes) == MallocResult(Heap, stream, bytes).returned = {}

\* The heap after all events have been waited for.
Synchronized == SynchronizeAndFreeEvents(Heap)

\* A malloc fails only if no free block fits, and there would be no room for the segment if all that
\* can be returned were returned.
MallocsAreServed ==
    \A s \in Streams, n \in Sizes :
        Fails(s, n) => ~RoomBeside(Kept({}), n) /\ ~Cached(0, s, n)

(***************************************************************************)
(* Of steps (Served.tla).                                                  *)
(***************************************************************************)
PromptlyReclaimed ==
    [][Waiting' # {} => \A s \in Streams, n \in Sizes : Malloc(s, n) => NothingWaitsInVain(FALSE)]_vars

\* A malloc obtains memory only if no free block fits.
CacheServes == [][Obtained # {} => \A s \in Streams, n \in Sizes : Malloc(s, n) => ~Cached(0, s, n)]_vars

\* A free and a record_stream never wait.
NoNeedlessWait ==
    [][Waits => \/ \E s \in Streams : Complete(s)
                \/ EmptyCache
                \/ \E s \in Streams, n \in Sizes : Malloc(s, n) /\ MustMakeRoom(0, s, n)]_vars

\* Only EmptyCache and a malloc that can be served no other way return memory to the driver.
NoNeedlessReturn ==
    [][Returned # {} => \/ EmptyCache
                        \/ \E s \in Streams, n \in Sizes : Malloc(s, n) /\ MustMakeRoom(0, s, n)]_vars

EmptyCacheLeavesNothingWaiting == [][EmptyCache => Waiting' = {}]_vars
EmptyCacheWaitsNoLonger == [][EmptyCache => WaitsNoLonger]_vars
MallocWaitsNoLonger == [][\A s \in Streams, n \in Sizes : Malloc(s, n) => WaitsNoLongerBeside(Returnable)]_vars
EmptyRangesAreReleased == [][EmptyCache => RangesAreReleased]_vars

SegmentsFitRequests ==
    [][Obtained # {} => \A s \in Streams, n \in Sizes : Malloc(s, n) => ObtainsWhatItNeeds(n)]_vars

JustEnoughIsReturned ==
    [][Returned # {} =>
          \A s \in Streams, n \in Sizes : Malloc(s, n) => ReturnsJustEnough(s, n, Kept({})')]_vars

LargestAreReturned ==
    [][Returned # {} => \A s \in Streams, n \in Sizes : Malloc(s, n) => ReturnsLargest(s, n, Kept({})')]_vars

PagesAreUsed ==
    [][Obtained # {} => \A s \in Streams, n \in Sizes : Malloc(s, n) => UsesItsPages]_vars

PagesKeepToLimit ==
    [][Obtained # {} => \A s \in Streams, n \in Sizes : Malloc(s, n) => KeepsPagesToLimit(n)]_vars

BestFitServes ==
    [][given' \ given # {} /\ Waiting = {} /\ device' = device =>
          \A s \in Streams, n \in Sizes : Malloc(s, n) => ServedByBestFit(s, n)]_vars

ExpandableSegmentsGrow ==
    [][segments' \ segments # {} =>
          \A s \in Streams, n \in Sizes : Malloc(s, n) => GrowsInPlace(n)]_vars

OrderIsKept == [][KeepsOrder]_vars

LowestRangeGrows ==
    [][Obtained # {} => \A s \in Streams, n \in Sizes : Malloc(s, n) => GrowsAtLowest(s, n)]_vars

\* EmptyCache leaves nothing that can be released.  (A property of states: a step of an
\* EmptyCache that does nothing is not looked at by properties of steps.)
EmptyCacheReleasesAll == ENABLED (EmptyCache /\ ReleasableMemory(Heap', 0) = {})

(***************************************************************************)
(* FAILS.  The last attempt waits for all events, which frees their        *)
(* blocks, and calls the driver; it does not search the cache again.  A    *)
(* free block that would serve the request, in a segment that cannot be    *)
(* released, is not used, and the malloc is out of memory.  The next       *)
(* malloc gets it.                                                         *)
(***************************************************************************)
CacheIsSearchedAgain ==
    [][\A s \in Streams, n \in Sizes :
          Malloc(s, n) /\ Fails(s, n) => GetFreeBlock(Synchronized, AllocParams(s, n, 0)) = {}]_vars

(***************************************************************************)
(* Oversize blocks serve only requests of about their size, and if the     *)
(* best fit is refused for that reason no other block is tried.  No malloc *)
(* fails because of that: the block is a whole segment, which is released  *)
(* to the driver, and is at least as large as the segment that is needed   *)
(* instead.  (MaxSplitSize must not be below LargeBuffer; the settings     *)
(* that upstream accepts guarantee that.)                                  *)
(***************************************************************************)
AnyBlockIsGood ==
    \A s \in Streams, n \in Sizes :
        Fails(s, n) =>
            ~\E b \in blocks, g \in segments :
                /\ Inside(b, g) /\ g.stream = s /\ g.pool = 0 /\ g.kind = KindFor(n)
                /\ b.mapped /\ ~b.allocated /\ b \notin Waiting /\ b.size >= BlockFor(n)
=============================================================================
