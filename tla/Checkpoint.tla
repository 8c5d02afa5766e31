----------------------------- MODULE Checkpoint -----------------------------
(***************************************************************************)
(* Checkpoints of a private pool.                                          *)
(*                                                                         *)
(* A captured graph always writes to the addresses it was captured with.   *)
(* When another graph is to be captured that continues after one that has  *)
(* been launched again, the pool must be in the state in which that one's  *)
(* capture left it.  So the state of a pool is saved after a capture       *)
(* (getCheckpointState), and restored before the next                      *)
(* (setCheckpointPoolState).                                               *)
(*                                                                         *)
(* Restoring uses the operations that exist already: every allocated block *)
(* is freed, so that each segment is whole again; then each saved segment  *)
(* is split into the saved blocks, all of them allocated; then those that  *)
(* were free are freed.  Segments obtained since then stay, all free.      *)
(*                                                                         *)
(*   saved   set of [pool, blocks], at most one for a pool, where blocks   *)
(*           has the mapped blocks: set of [addr, size, allocated]         *)
(***************************************************************************)
EXTENDS Pools

VARIABLE saved

P == INSTANCE PrivatePools

MappedBlocks(h, id) == {b \in h.blocks : b.mapped /\ SegmentOf(h, b).pool = id}

Layout(bs) == {[addr |-> b.addr, size |-> b.size, allocated |-> b.allocated] : b \in bs}

\* The state of the pool is saved, when no capture is underway.  That is not
\* possible while a block of it has outstanding events.
Checkpoint(id) ==
    LET h == ResolveDeferred(PoolHeap) IN
    /\ P!UseCount(id) > 0
    /\ ~CapturesUnderway(h)
    /\ \A b \in MappedBlocks(h, id) : b.eventCount = 0
    /\ BecomeWithPools(h)
    /\ saved' = {c \in saved : c.pool # id} \cup {[pool |-> id, blocks |-> Layout(MappedBlocks(h, id))]}
    /\ UNCHANGED programVars

(***************************************************************************)
(* Restoring.                                                              *)
(***************************************************************************)

RECURSIVE FreeBlocksAllocatedToPool(_, _)
FreeBlocksAllocatedToPool(h, id) ==
    LET allocated == {b \in MappedBlocks(h, id) : b.allocated} IN
    IF allocated = {} THEN h
    ELSE LET b == First(allocated)
         IN FreeBlocksAllocatedToPool(FreeBlock(TakeBack(h, b), NotAllocated(b)), id)

Lowest(bs) == CHOOSE b \in bs : \A c \in bs : b.addr <= c.addr

\* The block, all of it free, that an address lies in.
FreeBlockAt(h, addr) == CHOOSE b \in h.blocks : b.addr <= addr /\ addr < End(b)

\* A free block is split at an address; both parts stay free.
SplitAt(h, b, addr) ==
    IF b.addr = addr THEN h
    ELSE LET low == NewBlock(b.addr, addr - b.addr)
             high == NewBlock(addr, End(b) - addr)
         IN [h EXCEPT !.blocks = (@ \ {b}) \cup IF Ties = "address" THEN {low, high}
                                               ELSE {Numbered(low, PartMade(h, b)), Numbered(high, b.made)},
                     !.cached = @ \cup {addr},
                      !.stats.inactiveSplit =
                          @ + IF ExpandableSegments \/ IsSplit(h, b) THEN 0 ELSE b.size]

\* The saved blocks are split off, lowest first, and allocated with all their bytes.
RECURSIVE AllocateSaved(_, _)
AllocateSaved(h, layout) ==
    IF layout = {} THEN h
    ELSE LET x == Lowest(layout)
             parted == SplitAt(h, FreeBlockAt(h, x.addr), x.addr)
         IN AllocateSaved(AllocBytes(parted, BlockAt(parted, x.addr), x.size, x.size), layout \ {x})

RECURSIVE FreeSaved(_, _)
FreeSaved(h, layout) ==
    IF layout = {} THEN h
    ELSE LET x == Lowest(layout)
             b == BlockAt(h, x.addr)
         IN FreeSaved(FreeBlock(TakeBack(h, b), NotAllocated(b)), layout \ {x})

SetSegmentsStateToCheckpoint(h, layout) ==
    FreeSaved(AllocateSaved(h, layout), {x \in layout : ~x.allocated})

\* All of a range is mapped, in blocks of the pool.
IsMapped(id, x) == BytesOf(x) \subseteq UNION {BytesOf(b) : b \in MappedBlocks(PoolHeap, id)}

\* More of a segment is mapped than was saved.
HasGrown(checkpoint) ==
    \E g \in segments :
        LET was == {x \in checkpoint.blocks : Inside(x, g)}
        IN was # {} /\ SumOfSizes({b \in BlocksOf(PoolHeap, g) : b.mapped}) > SumOfSizes(was)

\* No other stream uses a block of the pool, and what was saved is still mapped.
Restorable(checkpoint) ==
    /\ P!UseCount(checkpoint.pool) > 0
    /\ \A b \in MappedBlocks(PoolHeap, checkpoint.pool) : b.eventCount = 0 /\ b.uses = {}
    /\ \A x \in checkpoint.blocks : IsMapped(checkpoint.pool, x)
    /\ RestoreRefusesGrown => ~HasGrown(checkpoint)

RECURSIVE AppendUsesOfAll(_, _)
AppendUsesOfAll(h, addrs) ==
    IF addrs = {} THEN h
    ELSE LET a == Min(addrs) IN AppendUsesOfAll(AppendUses(h, a), addrs \ {a})

\* What the program holds afterwards of the pool is what the checkpoint says, which it has.
\* The memory is used on the stream that the device has it for.
SetCheckpointPoolState(id) ==
    \E checkpoint \in saved :
        /\ checkpoint.pool = id
        /\ Restorable(checkpoint)
        /\ LET held == {x.addr : x \in {y \in given : y.pool = id}}
               freed == FreeBlocksAllocatedToPool(AppendUsesOfAll(PoolHeap, held), id)
               h == SetSegmentsStateToCheckpoint(freed, checkpoint.blocks)
               restored == {x \in checkpoint.blocks : x.allocated}
               streamsOf(x) == {y.stream : y \in {z \in device : Overlap(x, z)}}
           IN /\ BecomeWithPools(h)
              /\ given' = {x \in given : x.pool # id}
                    \cup UNION {{[addr |-> x.addr, stream |-> s, pool |-> id, bytes |-> x.size] :
                                    s \in streamsOf(x)} : x \in restored}
              /\ touched' = {t \in touched : \E x \in given : x.addr = t.addr /\ x.pool # id}
        /\ UNCHANGED saved

(***************************************************************************)
(* Everything else is as in PrivatePools.                                  *)
(***************************************************************************)
Malloc(stream, bytes) == P!Malloc(stream, bytes) /\ UNCHANGED saved
Free(addr) == P!Free(addr) /\ UNCHANGED saved
RecordStream(addr, stream) == P!RecordStream(addr, stream) /\ UNCHANGED saved
Complete(stream) == P!Complete(stream) /\ UNCHANGED saved
EmptyCache == P!EmptyCache /\ UNCHANGED saved
BeginAllocateToPool(id, stream) == P!BeginAllocateToPool(id, stream) /\ UNCHANGED saved
EndAllocateToPool(id) == P!EndAllocateToPool(id) /\ UNCHANGED saved

\* A checkpoint is discarded with the graph that it was made for, unless the program
\* keeps it.  If the pool is created again its memory may be other memory.
ReleasePool(id) ==
    /\ P!ReleasePool(id)
    /\ saved' = IF P!UseCount(id) = 1 /\ ~KeepsCheckpoints THEN {c \in saved : c.pool # id} ELSE saved

Init == P!Init /\ saved = {}

Next ==
    \/ \E s \in Streams, n \in Sizes : Malloc(s, n)
    \/ \E a \in Addresses : Free(a)
    \/ \E a \in Addresses, s \in Streams : RecordStream(a, s)
    \/ \E s \in Streams : Complete(s)
    \/ EmptyCache
    \/ \E id \in PoolIds, s \in Streams : BeginAllocateToPool(id, s)
    \/ \E id \in PoolIds : EndAllocateToPool(id)
    \/ \E id \in PoolIds : ReleasePool(id)
    \/ \E id \in PoolIds : Checkpoint(id)
    \/ \E id \in PoolIds : SetCheckpointPoolState(id)

Spec == Init /\ [][Next]_<<vars, saved>>

HeldBlocksAreAwaited == P!HeldBlocksAreAwaited
PoolsOwnTheirBlocks == P!PoolsOwnTheirBlocks
RoutingsAreCaptures == P!RoutingsAreCaptures
DriverSegmentsAreCounted == P!DriverSegmentsAreCounted
WorkIsAwaited == P!WorkIsAwaited
UsesAreCounted == P!UsesAreCounted
PoolTypeOK == P!PoolTypeOK

GrantsOf(id) == {y \in device : \E g \in segments : Inside(y, g) /\ g.pool = id}
WaitingOf(id) == {b \in P!Waiting : \E g \in segments : Inside(b, g) /\ g.pool = id}

\* All uses of a block whose free is deferred are in graphs.
WaitsForGraphsOnly(b) == b.addr \in deferred /\ \A s \in b.uses : [block |-> b.addr, stream |-> s] \in captureUses

\* Where no block of a pool waits, other than for what was captured, a checkpoint of it can be taken, of
\* all its memory.
CheckpointsCanBeTaken ==
    \A id \in PoolIds :
        P!UseCount(id) > 0 /\ captures = <<>> /\ (\A b \in WaitingOf(id) : WaitsForGraphsOnly(b)) =>
            ENABLED (Checkpoint(id) /\ \A c \in saved' : c.pool = id => SumOfSizes(c.blocks) = SumOfSizes(GrantsOf(id)))

\* It can be restored if nothing of the pool waits or is used by other streams, and the saved memory
\* is the pool's.  Otherwise it cannot.
CheckpointsCanBeRestored ==
    \A c \in saved :
        P!UseCount(c.pool) > 0 =>
            LET can == /\ WaitingOf(c.pool) = {}
                       /\ \A x \in given, t \in touched : x.pool = c.pool => t.addr # x.addr
                       /\ \A b \in c.blocks : BytesOf(b) \subseteq UNION {BytesOf(y) : y \in GrantsOf(c.pool)}
                       /\ RestoreRefusesGrown => \A y \in GrantsOf(c.pool), g \in segments :
                              Inside(y, g) /\ (\E b \in c.blocks : Inside(b, g)) =>
                                  \E b \in c.blocks : Overlap(b, y)
            IN can = ENABLED SetCheckpointPoolState(c.pool)

\* A checkpoint stays as it is until another of its pool is taken, or the pool's last use ends.
CheckpointsAreKept ==
    [][\A c \in saved :
          \/ c \in saved'
          \/ Checkpoint(c.pool)
          \/ ReleasePool(c.pool) /\ P!UseCount(c.pool) = 1 /\ ~KeepsCheckpoints]_<<vars, saved>>

\* What is saved as allocated is what the program holds of the pool, with all of its memory.
SavesWhatIsHeld(id) ==
    LET held == {MemoryOf(x) : x \in {y \in given : y.pool = id}} IN
    \A c \in saved' : c.pool = id =>
        LET allocated == {y \in c.blocks : y.allocated} IN
        /\ {y.addr : y \in allocated} = {x.addr : x \in held}
        /\ \A x \in held : \E y \in allocated : x.addr = y.addr /\ x.size <= y.size

\* After a restore the saved memory is as it was saved, and nothing else of the
\* pool is allocated.  A free block may have grown.  (A property of steps.)
CheckpointRestoresWhatItSaved ==
    [][/\ \A id \in PoolIds : Checkpoint(id) => SavesWhatIsHeld(id)
       /\ \A c \in saved : SetCheckpointPoolState(c.pool) =>
             LET now == {b \in blocks' : \E g \in segments' : g.pool = c.pool /\ Inside(b, g)}
             IN /\ {x \in c.blocks : x.allocated} = Layout({b \in now : b.allocated})
                /\ \A x \in c.blocks : \E b \in now : x.addr = b.addr /\ x.size <= b.size]_<<vars, saved>>
=============================================================================
