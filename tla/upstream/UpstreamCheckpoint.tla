------------------------- MODULE UpstreamCheckpoint -------------------------
(***************************************************************************)
(* What PyTorch does with checkpoints where the reference deviates; see    *)
(* UpstreamPools.tla.                                                      *)
(***************************************************************************)
EXTENDS Checkpoint

(***************************************************************************)
(* A restore of upstream.  It frees what is allocated in the pool, block   *)
(* by block, before it looks whether it can restore anything.  A block     *)
(* with stream uses is not free after that, but waits for events.          *)
(***************************************************************************)
RECURSIVE FreesAll(_, _)
FreesAll(h, id) ==
    LET allocated == {b \in MappedBlocks(h, id) : b.allocated} IN
    IF allocated = {} THEN h
    ELSE FreesAll(P!FreeResult(h, First(allocated)), id)

(***************************************************************************)
(* checkpoints/tested-late: the restore is refused, and the program has    *)
(* pointers to memory that is free.  checkpoints/used-block: also then.    *)
(***************************************************************************)
RefusedRestore(id) ==
    \E checkpoint \in saved :
        /\ checkpoint.pool = id
        /\ ~Restorable(checkpoint)
        /\ P!UseCount(id) > 0
        /\ ~CapturesUnderway(PoolHeap)
        /\ BecomeWithPools(FreesAll(PoolHeap, id))
        /\ UNCHANGED <<programVars, saved>>

RestoreUnderEvents(id) ==
    /\ \E b \in MappedBlocks(PoolHeap, id) : b.eventCount > 0
    /\ RefusedRestore(id)

RestoreOfUses(id) ==
    /\ \E b \in MappedBlocks(PoolHeap, id) : b.allocated /\ b.uses # {}
    /\ RefusedRestore(id)

SpecEvents == Init /\ [][Next \/ \E id \in PoolIds : RestoreUnderEvents(id)]_<<vars, saved>>
SpecUses == Init /\ [][Next \/ \E id \in PoolIds : RestoreOfUses(id)]_<<vars, saved>>

(***************************************************************************)
(* checkpoints/waiting-block: whether a block waits is asked of the first  *)
(* of each segment only.  Blocks lie as they did, for simplicity.          *)
(***************************************************************************)
FirstOfSegment(b) == \A c \in blocks : SegmentOf(Heap, c) = SegmentOf(Heap, b) => b.addr <= c.addr

RestoreOfWaiting(id) ==
    \E checkpoint \in saved :
        /\ checkpoint.pool = id
        /\ P!UseCount(id) > 0
        /\ ~CapturesUnderway(PoolHeap)
        /\ \A b \in MappedBlocks(PoolHeap, id) : b.uses = {}
        /\ \E b \in MappedBlocks(PoolHeap, id) : b.eventCount > 0
        /\ \A b \in MappedBlocks(PoolHeap, id) : FirstOfSegment(b) => b.eventCount = 0
        /\ LET saw(b) == \E x \in checkpoint.blocks : x.addr = b.addr /\ x.size = b.size
               again(b) == \E x \in checkpoint.blocks : x.addr = b.addr /\ x.allocated
               mine == MappedBlocks(PoolHeap, id)
           IN /\ \A b \in mine : saw(b)
              /\ blocks' = (blocks \ mine) \cup
                    {[b EXCEPT !.allocated = again(b), !.requested = IF again(b) THEN b.size ELSE 0] : b \in mine}
              /\ cached' = (cached \ {b.addr : b \in mine}) \cup {b.addr : b \in {c \in mine : ~again(c)}}
              /\ given' = {x \in given : x.pool # id}
                    \cup {[addr |-> b.addr, stream |-> SegmentOf(Heap, b).stream, pool |-> id, bytes |-> b.size] :
                             b \in {c \in mine : again(c)}}
              /\ UNCHANGED <<device, work, illegal, segments, events, stats, captures, touched,
                             poolVars, saved>>

SpecWaiting ==
    Init /\ [][Next \/ \E id \in PoolIds : RestoreOfWaiting(id)]_<<vars, saved>>

=============================================================================
