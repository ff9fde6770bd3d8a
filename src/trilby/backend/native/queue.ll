; The queue of the native device, and the threads that work on it.
;
; Launches, copies and fills are records. They are run in the order in which they were submitted,
; one at a time, each by as many threads as are of use: a record has units (work groups, or pieces
; of a copy), and threads claim some of them again and again until none is left. How many units
; a thread claims at once follows from what the units before have taken, so uneven work spreads
; and even work is claimed in few steps.
;
; One mutex guards all of the queue's state. It is held for a few dozen instructions, and never
; while a unit is run. Numbers count nanoseconds where they are times.
;
; The threads of a machine are the workers and the one that submits and waits: as long as it does
; something else, one worker rests. Waiting, it runs units itself if they are brief, so that it can
; come back soon; otherwise the last worker stands in for it.

%Record = type {
  ptr,            ; 0 the queue
  ptr,            ; 1 void entry(ptr args, ptr launch, i64 first, i64 count)
  i64,            ; 2 how many units
  i64,            ; 3 what a run takes of one thread's time, as seen last; 0 is not known yet
  i64,            ; 4 the sequence number of the last run
  i64,            ; 5 1 where a run may take far longer than those before
  [12 x i64],     ; 6 the launch: size x y z, local x y z, groups x y z, pass, report, print
  [0 x i64]       ; 7 the arguments
}

%Slot = type {
  ptr,            ; 0 the record
  i64,            ; 1 the sequence number
  i64,            ; 2 when the first unit was begun
  i64,            ; 3 when the last unit was done
  i64,            ; 4 the number of the current pass
  i64             ; 5 the number of the last pass
}

%Queue = type {
  [128 x i8],     ; 0 mutex
  [128 x i8],     ; 1 condition: there is work
  [128 x i8],     ; 2 condition: something is done
  i64,            ; 3 submitted: the last sequence number that was given
  i64,            ; 4 completed: all records up to this number are done
  i64,            ; 5 changes: goes up whenever it is worth looking again
  i64,            ; 6 of the current record: the next unit to claim
  i64,            ; 7 of the current record: claims under way
  i64,            ; 8 of the current record: units done
  i64,            ; 9 of the current record: time spent on them
  i64,            ; 10 workers
  i64,            ; 11 workers that sleep and were not called
  i64,            ; 12 workers that were called and are not awake yet
  i64,            ; 13 threads that sleep until something is done
  i64,            ; 14 threads that wait and run units meanwhile
  i64,            ; 15 1 when workers are to leave
  i64,            ; 16 threads that may work at the same time
  i64,            ; 17 how long to look for work before sleeping
  i64,            ; 18 the clock
  [4096 x %Slot]  ; 19
}

declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_timedwait(ptr, ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(ptr)
declare i32 @clock_gettime(i32, ptr)
declare ptr @malloc(i64)
declare void @free(ptr)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)
declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; ---------------------------------------------------------------------------------- small parts

define internal i64 @now(ptr %queue) {
  %time = alloca { i64, i64 }
  %place = getelementptr %Queue, ptr %queue, i64 0, i32 18
  %clock = load i32, ptr %place
  %ignored = call i32 @clock_gettime(i32 %clock, ptr %time)
  %seconds = load i64, ptr %time
  %rest_place = getelementptr { i64, i64 }, ptr %time, i64 0, i32 1
  %rest = load i64, ptr %rest_place
  %whole = mul i64 %seconds, 1000000000
  %all = add i64 %whole, %rest
  ret i64 %all
}

define internal void @lock(ptr %queue) alwaysinline {
  %ignored = call i32 @pthread_mutex_lock(ptr %queue)
  ret void
}

define internal void @unlock(ptr %queue) alwaysinline {
  %ignored = call i32 @pthread_mutex_unlock(ptr %queue)
  ret void
}

; Call one more worker, if one sleeps.
define internal void @call_worker(ptr %queue) {
  %sleeping_at = getelementptr %Queue, ptr %queue, i64 0, i32 11
  %sleeping = load i64, ptr %sleeping_at
  %nobody = icmp eq i64 %sleeping, 0
  br i1 %nobody, label %out, label %wake
wake:
  %fewer = sub i64 %sleeping, 1
  store i64 %fewer, ptr %sleeping_at
  %called_at = getelementptr %Queue, ptr %queue, i64 0, i32 12
  %called = load i64, ptr %called_at
  %more = add i64 %called, 1
  store i64 %more, ptr %called_at
  %work = getelementptr %Queue, ptr %queue, i64 0, i32 1
  %ignored = call i32 @pthread_cond_signal(ptr %work)
  br label %out
out:
  ret void
}

define internal void @note_change(ptr %queue) alwaysinline {
  %at = getelementptr %Queue, ptr %queue, i64 0, i32 5
  %old = load i64, ptr %at
  %new = add i64 %old, 1
  store atomic i64 %new, ptr %at release, align 8
  ret void
}

define internal void @tell_waiting(ptr %queue) {
  %waiting_at = getelementptr %Queue, ptr %queue, i64 0, i32 13
  %waiting = load i64, ptr %waiting_at
  %nobody = icmp eq i64 %waiting, 0
  br i1 %nobody, label %out, label %tell
tell:
  %done = getelementptr %Queue, ptr %queue, i64 0, i32 2
  %ignored = call i32 @pthread_cond_broadcast(ptr %done)
  br label %out
out:
  ret void
}

define internal void @one_less(ptr %place) alwaysinline {
  %number = load i64, ptr %place
  %fewer = sub i64 %number, 1
  store i64 %fewer, ptr %place
  ret void
}

define internal ptr @slot_of(ptr %queue, i64 %number) alwaysinline {
  %place = and i64 %number, 4095
  %slot = getelementptr %Queue, ptr %queue, i64 0, i32 19, i64 %place
  ret ptr %slot
}

; Look for a change, without the mutex and for a short time. True if there was one.
define internal i1 @look_around(ptr %queue, i64 %seen) {
entry:
  %spin_at = getelementptr %Queue, ptr %queue, i64 0, i32 17
  %patience = load i64, ptr %spin_at
  %changes_at = getelementptr %Queue, ptr %queue, i64 0, i32 5
  %impatient = icmp eq i64 %patience, 0
  br i1 %impatient, label %give_up, label %begin
begin:
  %begun = call i64 @now(ptr %queue)
  br label %look
look:
  %turn = phi i64 [ 0, %begin ], [ %next, %pausing ], [ 0, %in_time ]
  %changes = load atomic i64, ptr %changes_at acquire, align 8
  %changed = icmp ne i64 %changes, %seen
  br i1 %changed, label %found, label %pausing
pausing:
  call void @pause()
  %next = add i64 %turn, 1
  %enough = icmp uge i64 %next, 32
  br i1 %enough, label %check_time, label %look
check_time:
  %time = call i64 @now(ptr %queue)
  %looked = sub i64 %time, %begun
  %late = icmp ugt i64 %looked, %patience
  br i1 %late, label %give_up, label %in_time
in_time:
  br label %look
found:
  ret i1 true
give_up:
  ret i1 false
}

; Run units of a record.
define internal void @run(ptr %record, i64 %first, i64 %count) alwaysinline {
  %entry_at = getelementptr %Record, ptr %record, i64 0, i32 1
  %entry = load ptr, ptr %entry_at
  %launch = getelementptr %Record, ptr %record, i64 0, i32 6
  %arguments = getelementptr %Record, ptr %record, i64 0, i32 7
  call void %entry(ptr %arguments, ptr %launch, i64 %first, i64 %count)
  ret void
}

; ------------------------------------------------------------------------------ claim and finish

%Claim = type {
  ptr,  ; 0 the record
  i64,  ; 1 the first unit
  i64   ; 2 the time
}

; Claim units of the current record, with the mutex held. The result is how many; 0 is none.
; A thread that only helps (`helps`) takes no units that may take long: it comes from Python, which
; hears nothing meanwhile.
define internal i64 @claim(ptr %queue, ptr %claim, i1 %helps) {
entry:
  %submitted_at = getelementptr %Queue, ptr %queue, i64 0, i32 3
  %submitted = load i64, ptr %submitted_at
  %completed_at = getelementptr %Queue, ptr %queue, i64 0, i32 4
  %completed = load i64, ptr %completed_at
  %empty = icmp eq i64 %submitted, %completed
  br i1 %empty, label %none, label %current
current:
  %slot = call ptr @slot_of(ptr %queue, i64 %completed)
  %record = load ptr, ptr %slot
  %units_at = getelementptr %Record, ptr %record, i64 0, i32 2
  %units = load i64, ptr %units_at
  %next_at = getelementptr %Queue, ptr %queue, i64 0, i32 6
  %next = load i64, ptr %next_at
  %under_way_at = getelementptr %Queue, ptr %queue, i64 0, i32 7
  %under_way = load i64, ptr %under_way_at
  %remaining = sub i64 %units, %next
  %all_claimed = icmp eq i64 %remaining, 0
  %threads_at = getelementptr %Queue, ptr %queue, i64 0, i32 16
  %threads = load i64, ptr %threads_at
  ; The thread that submits has a core of its own until it waits.
  %waiting_at = getelementptr %Queue, ptr %queue, i64 0, i32 13
  %waiting = load i64, ptr %waiting_at
  %helpers_at = getelementptr %Queue, ptr %queue, i64 0, i32 14
  %helpers = load i64, ptr %helpers_at
  %free = or i64 %waiting, %helpers
  %nobody_waits = icmp eq i64 %free, 0
  %one_busy = zext i1 %nobody_waits to i64
  %fewer = sub i64 %threads, %one_busy
  %most = call i64 @llvm.umax.i64(i64 %fewer, i64 1)
  %enough = icmp uge i64 %under_way, %most
  %works = xor i1 %helps, true
  %crowded = and i1 %enough, %works
  %not_now = or i1 %all_claimed, %crowded
  br i1 %not_now, label %none, label %estimate
estimate:
  %done_at = getelementptr %Queue, ptr %queue, i64 0, i32 8
  %done = load i64, ptr %done_at
  %spent_at = getelementptr %Queue, ptr %queue, i64 0, i32 9
  %spent = load i64, ptr %spent_at
  %cost_at = getelementptr %Record, ptr %record, i64 0, i32 3
  %cost = load i64, ptr %cost_at
  %is_new = icmp eq i64 %done, 0
  %time_number = select i1 %is_new, i64 %cost, i64 %spent
  %unit_number = select i1 %is_new, i64 %units, i64 %done
  %time_float = uitofp i64 %time_number to double
  %unit_float = uitofp i64 %unit_number to double
  %exactly = fdiv double %time_float, %unit_float
  %too_exact = fcmp olt double %exactly, 1.0e-3
  %per_unit = select i1 %too_exact, double 1.0e-3, double %exactly
  %never_run = icmp eq i64 %cost, 0
  %unknown = and i1 %is_new, %never_run
  %varies_at = getelementptr %Record, ptr %record, i64 0, i32 5
  %varies = load i64, ptr %varies_at
  %is_varied = icmp ne i64 %varies, 0
  %unforeseen = or i1 %unknown, %is_varied
  %blind = and i1 %unforeseen, %helps
  br i1 %blind, label %none, label %measure
measure:
  %twice = shl i64 %threads, 1
  %fair = udiv i64 %remaining, %twice
  %timely_float = fdiv double 1.0e5, %per_unit
  %timely = fptoui double %timely_float to i64
  %suitable = call i64 @llvm.umin.i64(i64 %fair, i64 %timely)
  %at_least_one = call i64 @llvm.umax.i64(i64 %suitable, i64 1)
  %remaining_float = uitofp i64 %remaining to double
  %rest = fmul double %remaining_float, %per_unit
  %is_brief = fcmp olt double %rest, 1.0e4
  %known_size = select i1 %is_brief, i64 %remaining, i64 %at_least_one
  %size = select i1 %unknown, i64 1, i64 %known_size
  %size_float = uitofp i64 %size to double
  %takes = fmul double %size_float, %per_unit
  %takes_long = fcmp ogt double %takes, 2.0e6
  %too_long = and i1 %takes_long, %helps
  br i1 %too_long, label %none, label %take
take:
  %time = call i64 @now(ptr %queue)
  store ptr %record, ptr %claim
  %first_at = getelementptr %Claim, ptr %claim, i64 0, i32 1
  store i64 %next, ptr %first_at
  %time_at = getelementptr %Claim, ptr %claim, i64 0, i32 2
  store i64 %time, ptr %time_at
  %claimed = add i64 %next, %size
  store i64 %claimed, ptr %next_at
  %more = add i64 %under_way, 1
  store i64 %more, ptr %under_way_at
  %is_first = icmp eq i64 %next, 0
  br i1 %is_first, label %begin, label %wake
begin:
  call void @begin_pass(ptr %slot, i64 %time)
  br label %wake
wake:
  %left = fsub double %rest, %takes
  %much_left = fcmp ogt double %left, 2.0e4
  %maybe_much = or i1 %much_left, %unknown
  %some_left = icmp ult i64 %claimed, %units
  %room = icmp ult i64 %more, %most
  %of_use = and i1 %maybe_much, %some_left
  %worth_it = and i1 %of_use, %room
  br i1 %worth_it, label %call, label %out
call:
  call void @call_worker(ptr %queue)
  br label %out
out:
  ret i64 %size
none:
  ret i64 0
}

; The first unit of a pass is about to run: nobody else looks at the record now.
define internal void @begin_pass(ptr %slot, i64 %time) {
  %record = load ptr, ptr %slot
  %pass_at = getelementptr %Slot, ptr %slot, i64 0, i32 4
  %pass = load i64, ptr %pass_at
  %told_at = getelementptr %Record, ptr %record, i64 0, i32 6, i64 9
  store i64 %pass, ptr %told_at
  %begun_at = getelementptr %Slot, ptr %slot, i64 0, i32 2
  %begun = load i64, ptr %begun_at
  %is_first = icmp eq i64 %begun, 0
  %since = select i1 %is_first, i64 %time, i64 %begun
  store i64 %since, ptr %begun_at
  ret void
}

; Units that were claimed are done, with the mutex held.
define internal void @finish(ptr %queue, ptr %record, i64 %count, i64 %took, i64 %time) {
entry:
  %under_way_at = getelementptr %Queue, ptr %queue, i64 0, i32 7
  %under_way = load i64, ptr %under_way_at
  %others = sub i64 %under_way, 1
  store i64 %others, ptr %under_way_at
  %done_at = getelementptr %Queue, ptr %queue, i64 0, i32 8
  %done = load i64, ptr %done_at
  %now_done = add i64 %done, %count
  store i64 %now_done, ptr %done_at
  %spent_at = getelementptr %Queue, ptr %queue, i64 0, i32 9
  %spent = load i64, ptr %spent_at
  %now_spent = add i64 %spent, %took
  store i64 %now_spent, ptr %spent_at
  %units_at = getelementptr %Record, ptr %record, i64 0, i32 2
  %units = load i64, ptr %units_at
  %complete = icmp eq i64 %now_done, %units
  br i1 %complete, label %over, label %not_over
not_over:
  ; Now it is known what a unit takes: those that wait may help.
  %is_news = icmp eq i64 %done, 0
  br i1 %is_news, label %news, label %out
news:
  call void @note_change(ptr %queue)
  call void @tell_waiting(ptr %queue)
  br label %out
over:
  ; A run that was interrupted for a moment says little: believe at most four times what was seen
  ; before, unless it took very long.
  %cost_at = getelementptr %Record, ptr %record, i64 0, i32 3
  %cost = load i64, ptr %cost_at
  %seen = call i64 @llvm.umax.i64(i64 %now_spent, i64 1)
  %four = shl i64 %cost, 2
  %is_first = icmp eq i64 %cost, 0
  %is_long = icmp ugt i64 %seen, 50000000
  %is_believed = or i1 %is_first, %is_long
  %limit = select i1 %is_believed, i64 -1, i64 %four
  %believed = call i64 @llvm.umin.i64(i64 %seen, i64 %limit)
  store i64 %believed, ptr %cost_at
  %next_at = getelementptr %Queue, ptr %queue, i64 0, i32 6
  store i64 0, ptr %next_at
  store i64 0, ptr %done_at
  store i64 0, ptr %spent_at
  %completed_at = getelementptr %Queue, ptr %queue, i64 0, i32 4
  %completed = load i64, ptr %completed_at
  %slot = call ptr @slot_of(ptr %queue, i64 %completed)
  %pass_at = getelementptr %Slot, ptr %slot, i64 0, i32 4
  %pass = load i64, ptr %pass_at
  %last_at = getelementptr %Slot, ptr %slot, i64 0, i32 5
  %last = load i64, ptr %last_at
  %was_last = icmp eq i64 %pass, %last
  br i1 %was_last, label %completed_all, label %next_pass
next_pass:
  %pass_next = add i64 %pass, 1
  store i64 %pass_next, ptr %pass_at
  ; Passes that one thread can do alone are not worth waking anybody.
  %is_small = icmp ult i64 %believed, 20000
  br i1 %is_small, label %out, label %go_on
completed_all:
  %slot_ended_at = getelementptr %Slot, ptr %slot, i64 0, i32 3
  store i64 %time, ptr %slot_ended_at
  %now_completed = add i64 %completed, 1
  store atomic i64 %now_completed, ptr %completed_at release, align 8
  br label %go_on
go_on:
  call void @note_change(ptr %queue)
  call void @tell_waiting(ptr %queue)
  call void @keep_going(ptr %queue)
  br label %out
out:
  ret void
}

; Where something is left to do, one worker at least must be awake.
define internal void @keep_going(ptr %queue) {
  %submitted_at = getelementptr %Queue, ptr %queue, i64 0, i32 3
  %submitted = load i64, ptr %submitted_at
  %completed_at = getelementptr %Queue, ptr %queue, i64 0, i32 4
  %completed = load i64, ptr %completed_at
  %workers_at = getelementptr %Queue, ptr %queue, i64 0, i32 10
  %workers = load i64, ptr %workers_at
  %sleeping_at = getelementptr %Queue, ptr %queue, i64 0, i32 11
  %sleeping = load i64, ptr %sleeping_at
  %something = icmp ne i64 %submitted, %completed
  %all_sleep = icmp eq i64 %workers, %sleeping
  %stuck = and i1 %something, %all_sleep
  br i1 %stuck, label %call, label %out
call:
  call void @call_worker(ptr %queue)
  br label %out
out:
  ret void
}

; Run what was claimed: called with the mutex held, and returns with it held.
define internal void @run_claimed(ptr %queue, ptr %claim, i64 %count) {
  %record = load ptr, ptr %claim
  %first_at = getelementptr %Claim, ptr %claim, i64 0, i32 1
  %first = load i64, ptr %first_at
  %begun_at = getelementptr %Claim, ptr %claim, i64 0, i32 2
  %begun = load i64, ptr %begun_at
  call void @unlock(ptr %queue)
  call void @run(ptr %record, i64 %first, i64 %count)
  %ended = call i64 @now(ptr %queue)
  call void @lock(ptr %queue)
  %took = sub i64 %ended, %begun
  call void @finish(ptr %queue, ptr %record, i64 %count, i64 %took, i64 %ended)
  ret void
}

; ------------------------------------------------------------------------------------- the doors

; Make a queue of memory that is all zeros but for the fields from 16 on.
define void @trilby_open_queue(ptr %queue) {
  %work = getelementptr %Queue, ptr %queue, i64 0, i32 1
  %done = getelementptr %Queue, ptr %queue, i64 0, i32 2
  %first = call i32 @pthread_mutex_init(ptr %queue, ptr null)
  %second = call i32 @pthread_cond_init(ptr %work, ptr null)
  %third = call i32 @pthread_cond_init(ptr %done, ptr null)
  ret void
}

; Start workers; the result is how many there are.
define i64 @trilby_start_workers(ptr %queue, i64 %count) {
entry:
  %thread = alloca ptr
  call void @lock(ptr %queue)
  %workers_at = getelementptr %Queue, ptr %queue, i64 0, i32 10
  br label %loop
loop:
  %workers = load i64, ptr %workers_at
  %enough = icmp uge i64 %workers, %count
  br i1 %enough, label %out, label %start
start:
  %failed = call i32 @pthread_create(ptr %thread, ptr null, ptr @work, ptr %queue)
  %is_started = icmp eq i32 %failed, 0
  br i1 %is_started, label %started, label %out
started:
  %id = load ptr, ptr %thread
  %ignored = call i32 @pthread_detach(ptr %id)
  %more = add i64 %workers, 1
  store i64 %more, ptr %workers_at
  br label %loop
out:
  call void @unlock(ptr %queue)
  ret i64 %workers
}

; What a worker does: it claims and runs units, looks around for a moment, and sleeps.
define internal ptr @work(ptr %queue) {
entry:
  %claim = alloca %Claim
  call void @lock(ptr %queue)
  %work = getelementptr %Queue, ptr %queue, i64 0, i32 1
  %changes_at = getelementptr %Queue, ptr %queue, i64 0, i32 5
  %sleeping_at = getelementptr %Queue, ptr %queue, i64 0, i32 11
  %called_at = getelementptr %Queue, ptr %queue, i64 0, i32 12
  %leave_at = getelementptr %Queue, ptr %queue, i64 0, i32 15
  br label %loop
loop:
  %size = call i64 @claim(ptr %queue, ptr %claim, i1 false)
  %nothing = icmp eq i64 %size, 0
  br i1 %nothing, label %idle, label %busy
busy:
  call void @run_claimed(ptr %queue, ptr %claim, i64 %size)
  br label %loop
idle:
  %leave = load i64, ptr %leave_at
  %is_over = icmp ne i64 %leave, 0
  br i1 %is_over, label %out, label %look
look:
  %changes = load i64, ptr %changes_at
  call void @unlock(ptr %queue)
  %ignored = call i1 @look_around(ptr %queue, i64 %changes)
  call void @lock(ptr %queue)
  %changes_now = load i64, ptr %changes_at
  %changed = icmp ne i64 %changes_now, %changes
  br i1 %changed, label %loop, label %lie_down
lie_down:
  %sleeping = load i64, ptr %sleeping_at
  %more = add i64 %sleeping, 1
  store i64 %more, ptr %sleeping_at
  br label %sleep
sleep:
  %called = load i64, ptr %called_at
  %is_called = icmp ne i64 %called, 0
  br i1 %is_called, label %get_up, label %asleep
asleep:
  %slept = call i32 @pthread_cond_wait(ptr %work, ptr %queue)
  %leave_now = load i64, ptr %leave_at
  %is_over_now = icmp ne i64 %leave_now, 0
  br i1 %is_over_now, label %out, label %sleep
get_up:
  %fewer = sub i64 %called, 1
  store i64 %fewer, ptr %called_at
  br label %loop
out:
  %workers_at = getelementptr %Queue, ptr %queue, i64 0, i32 10
  %workers = load i64, ptr %workers_at
  %others = sub i64 %workers, 1
  store atomic i64 %others, ptr %workers_at release, align 8
  call void @unlock(ptr %queue)
  ret ptr null
}

; Tell all workers to leave when nothing is left to do.
define void @trilby_stop_workers(ptr %queue) {
  call void @lock(ptr %queue)
  %leave_at = getelementptr %Queue, ptr %queue, i64 0, i32 15
  store i64 1, ptr %leave_at
  call void @note_change(ptr %queue)
  %work = getelementptr %Queue, ptr %queue, i64 0, i32 1
  %ignored = call i32 @pthread_cond_broadcast(ptr %work)
  call void @unlock(ptr %queue)
  ret void
}

; Submit a record; the result is its sequence number, or 0 where the queue is full or there are
; no workers. One that was seen to be brief is run here and now if nothing comes before it.
define i64 @trilby_submit(ptr %record) {
  %sequence = call i64 @submit(ptr %record, i64 0, i64 0, i1 true)
  ret i64 %sequence
}

; The same for passes: the record is run once for each number from `first` to `last`. If they take
; longer together than to wake a worker, they are not run here, nor is the rest of them as soon as
; that is seen.
define i64 @trilby_submit_passes(ptr %record, i64 %first, i64 %last) {
  %cost_at = getelementptr %Record, ptr %record, i64 0, i32 3
  %cost = load i64, ptr %cost_at
  %others = sub i64 %last, %first
  %count = add i64 %others, 1
  %product = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %cost, i64 %count)
  %all = extractvalue { i64, i1 } %product, 0
  %too_many = extractvalue { i64, i1 } %product, 1
  %is_little = icmp ult i64 %all, 20000
  %is_few = xor i1 %too_many, true
  %is_brief = and i1 %is_little, %is_few
  %sequence = call i64 @submit(ptr %record, i64 %first, i64 %last, i1 %is_brief)
  ret i64 %sequence
}

define internal i64 @submit(ptr %record, i64 %first, i64 %last, i1 %may_run) {
entry:
  %queue = load ptr, ptr %record
  call void @lock(ptr %queue)
  %submitted_at = getelementptr %Queue, ptr %queue, i64 0, i32 3
  %submitted = load i64, ptr %submitted_at
  %completed_at = getelementptr %Queue, ptr %queue, i64 0, i32 4
  %completed = load i64, ptr %completed_at
  %pending = sub i64 %submitted, %completed
  %full = icmp uge i64 %pending, 4096
  br i1 %full, label %refuse, label %decide
decide:
  %idle = icmp eq i64 %pending, 0
  %cost_at = getelementptr %Record, ptr %record, i64 0, i32 3
  %cost = load i64, ptr %cost_at
  %cost_but_one = sub i64 %cost, 1
  %was_brief = icmp ult i64 %cost_but_one, 4000
  %varies_at = getelementptr %Record, ptr %record, i64 0, i32 5
  %varies = load i64, ptr %varies_at
  %is_even = icmp eq i64 %varies, 0
  %is_brief = and i1 %was_brief, %is_even
  %is_free = and i1 %idle, %is_brief
  %at_once = and i1 %is_free, %may_run
  %workers_at = getelementptr %Queue, ptr %queue, i64 0, i32 10
  %workers = load i64, ptr %workers_at
  %has_workers = icmp ne i64 %workers, 0
  %possible = or i1 %at_once, %has_workers
  br i1 %possible, label %push, label %refuse
push:
  %sequence = add i64 %submitted, 1
  %slot = call ptr @slot_of(ptr %queue, i64 %submitted)
  store ptr %record, ptr %slot
  %slot_sequence_at = getelementptr %Slot, ptr %slot, i64 0, i32 1
  store i64 %sequence, ptr %slot_sequence_at
  %slot_begun_at = getelementptr %Slot, ptr %slot, i64 0, i32 2
  store i64 0, ptr %slot_begun_at
  %first_at = getelementptr %Slot, ptr %slot, i64 0, i32 4
  store i64 %first, ptr %first_at
  %last_at = getelementptr %Slot, ptr %slot, i64 0, i32 5
  store i64 %last, ptr %last_at
  %sequence_at = getelementptr %Record, ptr %record, i64 0, i32 4
  store i64 %sequence, ptr %sequence_at
  store i64 %sequence, ptr %submitted_at
  br i1 %at_once, label %run_now, label %run_later
run_now:
  %units_at = getelementptr %Record, ptr %record, i64 0, i32 2
  %units = load i64, ptr %units_at
  %next_at = getelementptr %Queue, ptr %queue, i64 0, i32 6
  store i64 %units, ptr %next_at
  %under_way_at = getelementptr %Queue, ptr %queue, i64 0, i32 7
  store i64 1, ptr %under_way_at
  %begun = call i64 @now(ptr %queue)
  call void @unlock(ptr %queue)
  br label %run_pass
run_pass:
  ; All units are claimed: nobody else looks at the record or its slot until this is over.
  %pass = phi i64 [ %first, %run_now ], [ %pass_next, %another ]
  call void @begin_pass(ptr %slot, i64 %begun)
  call void @run(ptr %record, i64 0, i64 %units)
  %was_last = icmp eq i64 %pass, %last
  br i1 %was_last, label %ran, label %go_on
go_on:
  ; Passes that take far longer than those before are for others: Python hears nothing meanwhile.
  ; It is seen after the first, and then after every fourth: the clock takes as long as a pass.
  %run_before = sub i64 %pass, %first
  %of_four = and i64 %run_before, 3
  %looks = icmp eq i64 %of_four, 0
  br i1 %looks, label %look, label %another
look:
  %time = call i64 @now(ptr %queue)
  %so_far = sub i64 %time, %begun
  %is_late = icmp ugt i64 %so_far, 200000
  %hands_over = and i1 %is_late, %has_workers
  br i1 %hands_over, label %hand_over, label %another
another:
  %pass_next = add i64 %pass, 1
  store i64 %pass_next, ptr %first_at
  br label %run_pass
hand_over:
  call void @lock(ptr %queue)
  call void @finish(ptr %queue, ptr %record, i64 %units, i64 %so_far, i64 %time)
  br label %run_later
ran:
  %ended = call i64 @now(ptr %queue)
  call void @lock(ptr %queue)
  %took = sub i64 %ended, %begun
  %passes_but_one = sub i64 %last, %first
  %passes = add i64 %passes_but_one, 1
  %took_each = udiv i64 %took, %passes
  call void @finish(ptr %queue, ptr %record, i64 %units, i64 %took_each, i64 %ended)
  br label %out
run_later:
  call void @note_change(ptr %queue)
  call void @keep_going(ptr %queue)
  br label %out
out:
  call void @unlock(ptr %queue)
  ret i64 %sequence
refuse:
  call void @unlock(ptr %queue)
  ret i64 0
}

; Wait until a record is done, for about `slice` at most: 1 if it is, 0 if not yet.
define i32 @trilby_wait(ptr %queue, i64 %sequence, i64 %slice) {
entry:
  %claim = alloca %Claim
  %until = alloca { i64, i64 }
  %completed_at = getelementptr %Queue, ptr %queue, i64 0, i32 4
  %changes_at = getelementptr %Queue, ptr %queue, i64 0, i32 5
  %waiting_at = getelementptr %Queue, ptr %queue, i64 0, i32 13
  %helping_at = getelementptr %Queue, ptr %queue, i64 0, i32 14
  %begun = call i64 @now(ptr %queue)
  call void @lock(ptr %queue)
  br label %loop
loop:
  %completed = load i64, ptr %completed_at
  %is_done = icmp uge i64 %completed, %sequence
  br i1 %is_done, label %done, label %check_time
check_time:
  %time = call i64 @now(ptr %queue)
  %waited = sub i64 %time, %begun
  %late = icmp uge i64 %waited, %slice
  br i1 %late, label %not_done, label %try
try:
  %helping = load i64, ptr %helping_at
  %one_more = add i64 %helping, 1
  store i64 %one_more, ptr %helping_at
  %size = call i64 @claim(ptr %queue, ptr %claim, i1 true)
  %nothing = icmp eq i64 %size, 0
  br i1 %nothing, label %not_of_use, label %help
help:
  call void @run_claimed(ptr %queue, ptr %claim, i64 %size)
  call void @one_less(ptr %helping_at)
  br label %loop
not_of_use:
  call void @one_less(ptr %helping_at)
  br label %look
look:
  %changes = load i64, ptr %changes_at
  call void @unlock(ptr %queue)
  %ignored = call i1 @look_around(ptr %queue, i64 %changes)
  call void @lock(ptr %queue)
  %changes_now = load i64, ptr %changes_at
  %changed = icmp ne i64 %changes_now, %changes
  br i1 %changed, label %loop, label %sleep
sleep:
  %waiting = load i64, ptr %waiting_at
  %more = add i64 %waiting, 1
  store i64 %more, ptr %waiting_at
  call void @stand_in(ptr %queue)
  %left = sub i64 %slice, %waited
  call void @set_deadline(ptr %until, i64 %left)
  %condition = getelementptr %Queue, ptr %queue, i64 0, i32 2
  %slept = call i32 @pthread_cond_timedwait(ptr %condition, ptr %queue, ptr %until)
  call void @one_less(ptr %waiting_at)
  br label %loop
done:
  call void @keep_going(ptr %queue)
  call void @unlock(ptr %queue)
  ret i32 1
not_done:
  call void @keep_going(ptr %queue)
  call void @unlock(ptr %queue)
  ret i32 0
}

; A thread that waits goes to sleep: if there are units to claim, a worker takes its place.
define internal void @stand_in(ptr %queue) {
  %completed_at = getelementptr %Queue, ptr %queue, i64 0, i32 4
  %completed = load i64, ptr %completed_at
  %slot = call ptr @slot_of(ptr %queue, i64 %completed)
  %record = load ptr, ptr %slot
  %units_at = getelementptr %Record, ptr %record, i64 0, i32 2
  %units = load i64, ptr %units_at
  %next_at = getelementptr %Queue, ptr %queue, i64 0, i32 6
  %next = load i64, ptr %next_at
  %something = icmp ult i64 %next, %units
  br i1 %something, label %call, label %out
call:
  call void @note_change(ptr %queue)
  call void @call_worker(ptr %queue)
  br label %out
out:
  ret void
}

define internal void @set_deadline(ptr %until, i64 %left) {
  %ignored = call i32 @clock_gettime(i32 0, ptr %until)
  %rest_at = getelementptr { i64, i64 }, ptr %until, i64 0, i32 1
  %rest = load i64, ptr %rest_at
  %sum = add i64 %rest, %left
  %more_seconds = udiv i64 %sum, 1000000000
  %nanoseconds = urem i64 %sum, 1000000000
  store i64 %nanoseconds, ptr %rest_at
  %seconds = load i64, ptr %until
  %later = add i64 %seconds, %more_seconds
  store i64 %later, ptr %until
  ret void
}

; ------------------------------------------------------------------------------ copies and fills

; Units are pieces of `piece` bytes, the last one shorter: target, source, bytes, piece.
define void @trilby_copy(ptr %args, ptr %launch, i64 %first, i64 %count) {
  %target = load ptr, ptr %args
  %source_at = getelementptr i64, ptr %args, i64 1
  %source = load ptr, ptr %source_at
  %bytes_at = getelementptr i64, ptr %args, i64 2
  %bytes = load i64, ptr %bytes_at
  %piece_at = getelementptr i64, ptr %args, i64 3
  %piece = load i64, ptr %piece_at
  %start = mul i64 %first, %piece
  %wanted = mul i64 %count, %piece
  %left = sub i64 %bytes, %start
  %size = call i64 @llvm.umin.i64(i64 %wanted, i64 %left)
  %to = getelementptr i8, ptr %target, i64 %start
  %from = getelementptr i8, ptr %source, i64 %start
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %size, i1 false)
  ret void
}

; Units are pieces that begin `pitch` bytes apart: target, source, size, pitch.
define void @trilby_copy_rows(ptr %args, ptr %launch, i64 %first, i64 %count) {
entry:
  %target = load ptr, ptr %args
  %source_at = getelementptr i64, ptr %args, i64 1
  %source = load ptr, ptr %source_at
  %size_at = getelementptr i64, ptr %args, i64 2
  %size = load i64, ptr %size_at
  %pitch_at = getelementptr i64, ptr %args, i64 3
  %pitch = load i64, ptr %pitch_at
  %stop = add i64 %first, %count
  br label %loop
loop:
  %row = phi i64 [ %first, %entry ], [ %next, %loop ]
  %start = mul i64 %row, %pitch
  %to = getelementptr i8, ptr %target, i64 %start
  %from = getelementptr i8, ptr %source, i64 %start
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %size, i1 false)
  %next = add i64 %row, 1
  %more = icmp ult i64 %next, %stop
  br i1 %more, label %loop, label %out
out:
  ret void
}

; Units are pieces of `piece` bytes, the last one shorter: target, byte, bytes, piece.
define void @trilby_fill(ptr %args, ptr %launch, i64 %first, i64 %count) {
  %target = load ptr, ptr %args
  %byte_at = getelementptr i64, ptr %args, i64 1
  %byte = load i8, ptr %byte_at
  %bytes_at = getelementptr i64, ptr %args, i64 2
  %bytes = load i64, ptr %bytes_at
  %piece_at = getelementptr i64, ptr %args, i64 3
  %piece = load i64, ptr %piece_at
  %start = mul i64 %first, %piece
  %wanted = mul i64 %count, %piece
  %left = sub i64 %bytes, %start
  %size = call i64 @llvm.umin.i64(i64 %wanted, i64 %left)
  %to = getelementptr i8, ptr %target, i64 %start
  call void @llvm.memset.p0.i64(ptr %to, i8 %byte, i64 %size, i1 false)
  ret void
}

; ------------------------------------------------------------------------------------- prints

%Printed = type {
  ptr,  ; 0 void print(ptr printed, i64 number, i64 count, ptr slots)
  i64   ; 1 the last line, or 0
}

%Line = type {
  i64,         ; 0 the line before, or 0
  i64,         ; 1 the number of the print
  i64,         ; 2 how many slots
  [0 x i64]    ; 3 the slots
}

; Keep the slots of a line, from any thread; without memory there is no line.
define void @trilby_print(ptr %printed, i64 %number, i64 %count, ptr %slots) {
entry:
  %bytes = shl i64 %count, 3
  %size = add i64 %bytes, 24
  %line = call ptr @malloc(i64 %size)
  %is_none = icmp eq ptr %line, null
  br i1 %is_none, label %out, label %fill
fill:
  %number_at = getelementptr %Line, ptr %line, i64 0, i32 1
  store i64 %number, ptr %number_at
  %count_at = getelementptr %Line, ptr %line, i64 0, i32 2
  store i64 %count, ptr %count_at
  %slots_at = getelementptr %Line, ptr %line, i64 0, i32 3
  call void @llvm.memcpy.p0.p0.i64(ptr %slots_at, ptr %slots, i64 %bytes, i1 false)
  %last_at = getelementptr %Printed, ptr %printed, i64 0, i32 1
  %seen = load atomic i64, ptr %last_at monotonic, align 8
  %this = ptrtoint ptr %line to i64
  br label %push
push:
  %before = phi i64 [ %seen, %fill ], [ %other, %push ]
  store i64 %before, ptr %line
  %swap = cmpxchg ptr %last_at, i64 %before, i64 %this release monotonic, align 8
  %other = extractvalue { i64, i1 } %swap, 0
  %is_pushed = extractvalue { i64, i1 } %swap, 1
  br i1 %is_pushed, label %out, label %push
out:
  ret void
}

; Take all lines; the result is the last one, or 0.
define i64 @trilby_take_printed(ptr %printed) {
  %last_at = getelementptr %Printed, ptr %printed, i64 0, i32 1
  %last = atomicrmw xchg ptr %last_at, i64 0 acquire, align 8
  ret i64 %last
}

define void @trilby_free(ptr %line) {
  call void @free(ptr %line)
  ret void
}
