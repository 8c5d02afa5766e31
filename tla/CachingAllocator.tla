-------------------------- MODULE CachingAllocator --------------------------
(***************************************************************************)
(* The caching allocator of one device: a program that mallocs and frees,  *)
(* on several streams, and a device on which work completes.               *)
(*                                                                         *)
(* An action is what happens while the allocator's lock is held.  Here     *)
(* that is a whole call; TwoStepMalloc.tla has the case in which the lock  *)
(* is released while the driver is called.                                 *)
(***************************************************************************)
EXTENDS Invariants

vars == <<heapVars, programVars>>

(***************************************************************************)
(* Malloc.                                                                 *)
(***************************************************************************)

\* The last attempt: the whole cache is released, and the driver is called once
\* more.  The cache is not searched again.
RetryOrFail(h, p) ==
    LET last == AllocBlock(ReleaseCachedBlocks(h), p) IN
    IF last.found = {}
    THEN FailOutOfMemory(last.heap)
    ELSE ReturnBlock(last.heap, p, First(last.found))

\* The first driver call has been made; a second one follows, after as many oversize
\* blocks as are needed have been released.
ObtainAfter(first, p) ==
    LET available == ReleaseAvailableCachedBlocks(first.heap, p)
        second    == IF available.enough
                     THEN AllocBlock(available.heap, p)
                     ELSE [heap |-> available.heap, found |-> {}]
    IN IF first.found # {} THEN ReturnBlock(first.heap, p, First(first.found))
       ELSE IF second.found # {} THEN ReturnBlock(second.heap, p, First(second.found))
       ELSE RetryOrFail(second.heap, p)

ObtainBlock(h, p) == ObtainAfter(AllocBlock(h, p), p)

ServeRequest(h, p) ==
    LET now   == ProcessEvents(h)
        found == GetFreeBlock(now, p)
    IN IF found # {} THEN ReturnBlock(now, p, First(found)) ELSE ObtainBlock(now, p)

MallocResult(h, stream, bytes) == ServeRequest(h, AllocParams(stream, bytes, 0))

Malloc(stream, bytes) ==
    LET result == MallocResult(Heap, stream, bytes) IN
    /\ Become(result.heap)
    /\ given' = Given(result, stream, 0, bytes)
    /\ UNCHANGED touched

(***************************************************************************)
(* Free.  The block is not allocated any more.  If no other stream used    *)
(* it, it is free at once; else it becomes free when its events have       *)
(* completed.                                                              *)
(***************************************************************************)

FreeResult(h, b) ==
    LET taken == TakeBack(h, b)
    IN IF b.uses = {} THEN FreeBlock(taken, NotAllocated(b)) ELSE InsertEvents(taken, NotAllocated(b))

FreeAt(h, addr) ==
    LET found == AllocatedAt(h, addr)
    IN IF found = {} THEN h ELSE FreeResult(h, First(found))

Free(addr) ==
    /\ Holds(addr)
    /\ Become(FreeAt(AppendUses(Heap, addr), addr))
    /\ GiveBack({addr})

\* Another stream uses what the program holds (recordStream).
RecordStream(addr, stream) ==
    LET recorded == RecordedAt(Heap, addr, stream) IN
    /\ HoldsForOther(addr, stream)
    /\ Touch(addr, stream)
    /\ blocks' = (blocks \ recorded) \cup {[b EXCEPT !.uses = @ \cup {stream}] : b \in recorded}
    /\ UNCHANGED <<device, work, illegal, segments, cached, events, stats, given, captures>>

(***************************************************************************)
(* The program launches work that uses what it holds, on the stream that   *)
(* it is allocated for.  The allocator is told nothing.  Later work of the *)
(* stream is in order behind it, so that the memory can be allocated again *)
(* on the stream; but its pages cannot be unmapped.  It is launched on a   *)
(* stream without work: behind other work it is no more than that is.      *)
(*                                                                         *)
(* Where the constant is FALSE it is in no variable: the stream of a grant *)
(* (device) may have work on all of it at any time.                        *)
(***************************************************************************)
Launch(addr) ==
    /\ \E x \in given :
        /\ x.addr = addr /\ work[x.stream] = <<>>
        /\ work' = [work EXCEPT ![x.stream] = <<MemoryOf(x)>>]
    /\ UNCHANGED <<device, illegal, segments, blocks, cached, events, stats, programVars, captures>>

EmptyCache == Become(ReleaseCachedBlocks(Heap)) /\ UNCHANGED programVars

\* The oldest work of a stream completes.
Complete(stream) ==
    /\ work[stream] # <<>>
    /\ Become(Done(Heap, stream, 1))
    /\ UNCHANGED programVars

Init == InitHeap

Next ==
    \/ \E s \in Streams, n \in Sizes : Malloc(s, n)
    \/ \E a \in Addresses : Free(a)
    \/ \E a \in Addresses, s \in Streams : RecordStream(a, s)
    \/ \E s \in Streams : Complete(s)
    \/ EmptyCache
    \/ \E a \in IF OwnWork THEN Addresses ELSE {} : Launch(a)

Spec == Init /\ [][Next]_vars

\* A block that was freed by the program and is not free has outstanding events.
HeldBlocksAreAwaited == EventsAreCounted /\ \A b \in blocks : ~b.allocated => b.uses = {}

WorkIsAwaited == WorkIsAwaitedBy(LAMBDA b, s : FALSE)
=============================================================================
