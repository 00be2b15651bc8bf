package embedded

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/held"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
)

// A burst runs plain functions of a Go graph one after another on the actor's goroutine, without the
// engine: each leaves one record in a trail, and the events are made when somebody reads them
// (ADR 157). It ends before a function if the run is wanted by others, and after one whose result is
// anything but a changed state, or after which the engine must decide. The engine then gets the
// records, and after them the result, as if it had decided all along.

// Values of burst.word. A burst changes it before and after each function; yield and askBurst tell
// the burst by it that the run is wanted.
const (
	burstOff     uint32 = iota // there is no burst
	burstOn                    // between two functions
	burstIn                    // in a function
	burstAsked                 // between two functions, and to end
	burstAskedIn               // in a function, and to end after it
	burstTaken                 // in a function, and another goroutine is the actor
)

// outcome of a burst.
type burstOutcome int

const (
	burstNone     burstOutcome = iota // it did not begin
	burstLeft                         // the engine decides about a result
	burstStopped                      // the next call is to be made by others
	burstReplaced                     // another goroutine is the actor
	burstEnded                        // the run has completed
)

// maxBrief is the number of bursts of less than briefRecords records after which a run has no more:
// the engine would follow anyway.
const (
	maxBrief     = 4
	briefRecords = 4
)

// burst is a burst in progress. Its fields belong to its goroutine, except after adoptOnce.
type burst struct {
	word    atomic.Uint32
	a       *actor
	line    *held.Line
	walk    driver.Walk
	gate    driver.Gate // may be nil
	trail   *trail
	place   engine.LinePlace
	whole   bool // the run began with the burst
	visited []string

	step, used int
	seq        uint64
	rec        record
	now        int64     // time of the last record
	clock      time.Time // with a monotonic reading, at which offset microseconds have passed
	offset     int64

	// current is the context of the last function, and call what stands for its call if the engine
	// gets to know of it.
	current  *callContext
	contexts []callContext
	size     int
	call     call
	once     sync.Once
}

// takeBurst reports whether the goroutine of a burst is in a function, so that another one must be
// the actor. If it is not, the burst ends before the next function. a.mu must be held.
func (a *actor) takeBurst() bool {
	b := a.burst.Load()
	for b != nil {
		switch w := b.word.Load(); w {
		case burstOn:
			if b.word.CompareAndSwap(w, burstAsked) {
				return false
			}
		case burstIn, burstAskedIn:
			if b.word.CompareAndSwap(w, burstTaken) {
				return true
			}
		default:
			return false
		}
	}
	return false
}

// askBurst makes a burst of a run end after the function that it is in.
func (d *Driver) askBurst(run string) {
	d.mu.Lock()
	a := d.runs[run]
	d.mu.Unlock()
	if a == nil {
		return
	}
	b := a.burst.Load()
	for b != nil {
		switch w := b.word.Load(); {
		case w == burstOn && b.word.CompareAndSwap(w, burstAsked),
			w == burstIn && b.word.CompareAndSwap(w, burstAskedIn):
			return
		case w != burstOn && w != burstIn:
			return
		}
	}
}

// mayBurst reports whether nothing needs the events of each step, and the functions of the run can
// be called directly.
func (a *actor) mayBurst() (driver.Direct, bool) {
	if a.d.trails == nil || a.plan.Line == nil || a.kit == nil || a.kitErr != nil || a.kit.Trace != nil ||
		a.handsOff || a.takeover || a.fresh || a.brief >= maxBrief || a.d.draining.Load() {
		return nil, false
	}
	p, ok := a.kit.Program.(driver.Direct)
	return p, ok
}

// newBurst begins a burst at a place, or returns nil. mail is the number of messages that may be in the
// mailbox.
func (a *actor) newBurst(p driver.Direct, place *engine.LinePlace, mail int) *burst {
	if a.d.slots.isQueued() || !a.d.slots.tryAcquire() {
		return nil
	}
	b := &burst{a: a, line: a.plan.Line, place: *place, step: place.Steps, used: place.Used,
		seq: place.Seq}
	b.walk, b.gate = p.Walk(a.id, &b.place)
	b.call.slot.Store(true)
	on := false
	if b.walk != nil {
		a.mu.Lock()
		if on = a.ctx.Err() == nil && len(a.mail) == mail && !a.left; on {
			b.word.Store(burstOn)
			a.burst.Store(b)
		}
		a.mu.Unlock()
		if on && len(a.d.hubs.watchersOf(a.id)) > 0 {
			b.off()
			on = false
		}
	}
	if !on {
		b.close()
		return nil
	}
	b.clock = time.Now()
	b.offset = max(0, a.d.now().Sub(place.At).Microseconds())
	return b
}

// close releases what the burst holds. It may be called more than once.
func (b *burst) close() {
	if b.gate != nil {
		b.gate.Leave()
	}
	b.release()
}

func (b *burst) release() {
	if b.call.slot.CompareAndSwap(true, false) {
		b.a.d.slots.release()
	}
}

// startBurst starts the run with a burst.
func (a *actor) startBurst() (*message, burstOutcome) {
	p, ok := a.mayBurst()
	if !ok || a.d.cfg.ApproveAll || a.observe != nil && a.ended == nil {
		return nil, burstNone
	}
	a.mu.Lock()
	if len(a.mail) != 1 {
		a.mu.Unlock()
		return nil, burstNone
	}
	m := a.mail[0]
	a.mu.Unlock()
	start, ok := m.data.(engine.Start)
	if !ok {
		return nil, burstNone
	}
	place, ok := a.plan.Plan.StartLine(&start, m.at)
	if !ok {
		return nil, burstNone
	}
	b := a.newBurst(p, &place, 1)
	if b == nil {
		return nil, burstNone
	}
	b.whole = true
	b.visited = make([]string, 0, len(b.line.Nodes))
	// a trail outlives its actor
	plan, id, first := a.plan, a.id, b.walk.State()
	b.trail = newTrail(0, place.At, len(b.line.Nodes), func() *engine.Expander {
		return engine.NewExpander(held.NewRun(plan, id), nil, first, place.At, p.Result)
	})
	b.trail.start = &start
	b.seq = 3 // run.created, run.started, edge.taken
	node := b.follow(b.line.Entry, true)
	if node < 0 || !b.store(&journal.Append{Create: a.create, Blobs: a.blobs, Status: event.StatusRunning}) {
		b.off()
		b.close()
		return nil, burstNone
	}
	a.notStarted = false
	a.mu.Lock()
	a.mail = a.mail[1:]
	a.mu.Unlock()
	m.answer(nil)
	return b.run(node)
}

// enterBurst continues the run with a burst if c, which no goroutine makes yet, is a plain function.
func (a *actor) enterBurst(c *call) (*message, burstOutcome) {
	cmd, ok := c.cmd.(*engine.CallFunc)
	if !ok {
		return nil, burstNone
	}
	p, ok := a.mayBurst()
	if !ok || !a.owned || len(a.waitingForBudget) > 0 {
		return nil, burstNone
	}
	place, ok := a.run.LinePlace(cmd)
	if !ok || !a.goesOn(place.Node) {
		return nil, burstNone
	}
	b := a.newBurst(p, &place, 0)
	if b == nil {
		return nil, burstNone
	}
	run, copied, first := a.run, *cmd, b.walk.State()
	b.trail = newTrail(place.Seq, place.At, len(b.line.Nodes), func() *engine.Expander {
		return engine.NewExpander(run, &copied, first, place.At, p.Result)
	})
	if err := a.d.trails.KeepTrail(a.d.root, a.id, a.epoch, b.trail); err != nil {
		b.off()
		b.close()
		return nil, burstNone
	}
	run.StopWhen(nil) // a trail outlives its actor
	a.calls.drop(c.id())
	a.work.Done()
	a.run = nil
	return b.run(place.Node)
}

// goesOn reports whether another function of the line may follow a node.
func (a *actor) goesOn(node int) bool {
	n := &a.plan.Line.Nodes[node]
	return n.Kind == engine.LineFunc && n.Else != engine.LineLeave && (n.Else == engine.LineEnd ||
		a.plan.Line.Nodes[n.Else].Kind != engine.LineNone)
}

// off ends the burst for those who look at its word.
func (b *burst) off() {
	b.word.Store(burstOff)
	b.a.burst.Store(nil)
}

// store stores the last record, with the rest of ap. It returns false if that was not possible.
func (b *burst) store(ap *journal.Append) bool {
	a := b.a
	b.rec.last = b.seq
	b.record()
	first, _ := b.trail.Last()
	ap.Run, ap.Epoch, ap.Trail = a.id, a.epoch, b.trail
	ap.Record = journal.Record{First: first + 1, Last: b.seq}
	ap.At = b.trail.time(&b.rec)
	if err := a.d.trails.Append(a.d.root, *ap); err != nil {
		return false
	}
	a.stored(*ap)
	return true
}

// record adds the last record to the trail.
func (b *burst) record() {
	b.rec.At = b.now
	b.trail.add(&b.rec)
}

// run makes calls from that of node on.
func (b *burst) run(node int) (*message, burstOutcome) {
	for {
		if !b.mayCall() || !b.word.CompareAndSwap(burstOn, burstIn) {
			return nil, b.stop()
		}
		c := b.context()
		plain := b.invoke(c, b.line.Nodes[node].Fn)
		if !b.word.CompareAndSwap(burstIn, burstOn) {
			if !b.word.CompareAndSwap(burstAskedIn, burstOn) {
				b.hand()
				return nil, burstReplaced
			}
			return b.leave()
		}
		if !plain {
			return b.leave()
		}
		c.end(nil)
		b.rec = record{LineRecord: engine.LineRecord{State: b.walk.State()}}
		b.tick()
		switch node = b.follow(node, false); node {
		case engine.LineLeave:
			return b.leave()
		case engine.LineEnd:
			if !b.finish() {
				return b.leave()
			}
			return nil, burstEnded
		}
		b.rec.last = b.seq
		b.record()
		if !b.trail.publish() {
			return b.leave()
		}
	}
}

// mayCall reports whether the burst may call its next function: the run is not interrupted, it has a
// slot, for which no others wait, and the followers of the run have not abandoned it.
func (b *burst) mayCall() bool {
	if b.a.ctx.Err() != nil {
		return false
	}
	if b.a.d.slots.isQueued() {
		b.release()
	}
	if !b.call.slot.Load() {
		if !b.a.d.slots.tryAcquire() {
			return false
		}
		b.call.slot.Store(true)
	}
	return b.gate == nil || !b.gate.IsClosed()
}

// maxContexts is the maximum number of contexts that share a block of memory, since a function may
// keep its own.
const maxContexts = 16

// context returns the context of the next function.
func (b *burst) context() *callContext {
	if len(b.contexts) == 0 {
		b.size = min(max(2, 2*b.size), maxContexts)
		b.contexts = make([]callContext, b.size)
	}
	c := &b.contexts[0]
	b.contexts = b.contexts[1:]
	c.parent, c.actor, c.call, c.step = b.a.ctx, b.a, &b.call, b.step
	b.current, b.call.callContext = c, c
	return c
}

// invoke calls a function. If the function ends the goroutine, another one becomes the actor.
func (b *burst) invoke(c *callContext, fn int) (plain bool) {
	returned := false
	defer func() {
		if !returned {
			b.adoptOnce()
			b.over(driver.Gone(b.call.cmd))
		}
	}()
	plain = b.walk.Call(c, c, b.step, fn)
	returned = true
	return plain
}

// tick sets the time of the record.
func (b *burst) tick() {
	var at int64
	if b.a.d.ownClock {
		at = b.offset + time.Since(b.clock).Microseconds()
	} else {
		at = b.a.d.now().Sub(b.place.At).Microseconds()
	}
	b.now = max(b.now, at)
}

// follow continues after a function, or from the entry if first is set, to the next function, as the
// engine would in one activation. It returns the node of that function, engine.LineEnd or
// engine.LineLeave.
func (b *burst) follow(node int, first bool) int {
	for {
		n := &b.line.Nodes[node]
		if !first {
			next, evaluated, ok := b.next(n)
			if !ok {
				return engine.LineLeave
			}
			b.seq += uint64(n.Size(true, evaluated, next == engine.LineEnd))
			if b.whole && !n.Hidden {
				b.visited = append(b.visited, n.ID)
			}
			if next == engine.LineEnd {
				b.seq++ // run.completed
			}
			if next < 0 {
				return next
			}
			node, n = next, &b.line.Nodes[next]
		}
		first = false
		if n.Kind == engine.LineNone || !n.Hidden && b.used >= b.place.MaxSteps {
			return engine.LineLeave
		}
		if !n.Hidden {
			b.used++
		}
		b.step++
		b.seq += uint64(n.Size(false, 0, false))
		switch n.Kind {
		case engine.LineFunc:
			return node
		case engine.LineCount:
			if !b.walk.Count(n.Counter) {
				return engine.LineLeave
			}
		}
	}
}

// next returns what follows a node, and how many conditions were evaluated for it. ok is false if
// the engine must decide.
func (b *burst) next(n *held.LineNode) (next, evaluated int, ok bool) {
	for i, number := range n.Checks {
		if b.rec.Count == engine.MaxLineChecks {
			return 0, 0, false
		}
		holds, ok := b.walk.Check(number)
		if !ok {
			return 0, 0, false
		}
		evaluated++
		if holds {
			b.rec.Checks |= 1 << b.rec.Count
		}
		b.rec.Count++
		if holds {
			return n.LineNode.Checks[i].Next, evaluated, true
		}
	}
	return n.Else, evaluated, true
}

// finish stores that the run has completed. It returns false if the engine must complete it.
func (b *burst) finish() bool {
	a := b.a
	if a.hasMail() || !b.word.CompareAndSwap(burstOn, burstOff) {
		return false
	}
	ap := &journal.Append{
		Status: event.StatusCompleted, Release: true,
		Notices: []journal.Notice{{Seq: b.seq, Type: string((*event.RunCompleted)(nil).Type())}},
		Index: &journal.Index{Outcome: driver.OutcomeOf(b.place.Spent), Texts: &journal.Texts{
			Input: b.place.Input}},
	}
	if !b.store(ap) {
		b.word.Store(burstOn)
		return false
	}
	a.burst.Store(nil)
	b.close()
	switch {
	case a.observe == nil:
	case b.whole:
		a.ended(&driver.LineEnd{Seq: b.seq, Started: b.place.At, Completed: ap.At, State: b.walk.End(),
			Visited: b.visited})
	default:
		run, _, err := b.trail.leave()
		if err != nil {
			a.log().Error("a run has no events", "err", err)
			break
		}
		for _, events := range b.trail.events() {
			a.observe(run, events)
		}
	}
	return true
}

// adoptOnce passes the records of the burst to the engine, and makes the call of the last function
// one of the actor's. The goroutine of the burst and the next actor both call it.
func (b *burst) adoptOnce() { b.once.Do(b.adopt) }

func (b *burst) adopt() {
	a := b.a
	cmd := b.toEngine()
	if cmd == nil {
		cmd = &engine.CallFunc{}
	}
	b.call.cmd, b.call.slots = cmd, true
	a.calls.put(&b.call)
	a.work.Add(1)
}

// toEngine passes the records of the burst to the engine, and returns the command that is open.
func (b *burst) toEngine() *engine.CallFunc {
	a := b.a
	if b.trail.published.Load()/2 < briefRecords {
		a.brief++
	}
	run, cmd, err := b.trail.leave()
	if err == nil && cmd == nil {
		err = errors.New("no function is called after a record")
	}
	if err != nil {
		a.broken = err
		if run == nil {
			run = held.NewRun(a.plan, a.id)
		}
	}
	a.setRun(run)
	made := b.trail.events()
	if a.observe != nil {
		for _, events := range made {
			a.observe(run, events)
		}
	}
	if len(made) > 0 { // a watcher may have read the trail just before its last record
		a.d.hubs.publish(a.id, made[len(made)-1])
	}
	return cmd
}

// leave ends the burst after a function and returns its result. If the run is interrupted, the
// result becomes mail instead: the interruption may have made the function fail, and its result must
// not fail the run.
func (b *burst) leave() (*message, burstOutcome) {
	b.off()
	b.adoptOnce()
	data := b.result()
	if b.a.ctx.Err() != nil {
		b.over(data)
		return nil, burstStopped
	}
	b.current.end(nil)
	b.close()
	b.a.work.Done()
	b.call.reported.Store(true)
	b.call.result = message{at: b.a.d.now(), data: data}
	return &b.call.result, burstLeft
}

// hand reports the result of a function that returned after another goroutine had become the actor.
func (b *burst) hand() {
	b.adoptOnce()
	b.over(b.result())
}

// over reports the result of the last function as that of a call of the actor.
func (b *burst) over(data engine.InputData) {
	b.current.end(nil)
	b.close()
	b.a.work.Done()
	b.call.report(data)
}

// result returns the result of the last function as the engine needs it.
func (b *burst) result() engine.InputData {
	c := b.current
	cmd, _ := b.call.cmd.(*engine.CallFunc)
	res := b.walk.Result(c, cmd)
	if res.Failure != nil {
		if cause := context.Cause(c); cause != nil {
			res.Failure, res.Cause = driver.FailureOf(c, cause), nil
		}
	}
	b.call.returned = res
	return c.mark(&b.call.returned)
}

// stop ends the burst before a function and lets the actor call it.
func (b *burst) stop() burstOutcome {
	a := b.a
	b.off()
	b.close()
	if cmd := b.toEngine(); cmd != nil {
		a.executeCommands([]engine.Command{cmd})
	}
	return burstStopped
}
