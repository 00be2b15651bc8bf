package live

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

const (
	// tapItems is the number of messages of a namespace that are kept for its streams. A stream
	// that is further behind reads the store itself.
	tapItems = 1024
	// startsEvery is the minimum interval between polls for new runs: the first run is reported
	// immediately, later ones within this time.
	startsEvery = 100 * time.Millisecond
	// othersShare and ownShare limit the cost of detecting workflow changes made by other processes
	// and by this one, which requires reading all workflows: the next read starts only after this
	// many times the duration of the last one.
	othersShare, ownShare = 50, 4
)

// feedReaders holds the taps of namespaces that have streams. The zero value is ready to use.
type feedReaders struct {
	mu   sync.Mutex
	all  map[*service.Service]*feedReader
	work sync.WaitGroup
}

// feedReader reads the changes in a namespace, once for all streams of the process, and keeps the
// newest messages in wire format. Each stream has a position among them.
type feedReader struct {
	service *service.Service
	cancel  context.CancelFunc
	streams int           // guarded by taps.mu
	ready   chan struct{} // closed when it has started to read or failed

	mu    sync.Mutex
	items []item
	first uint64        // number of items[0]
	at    uint64        // the last notice read; written only by the reading goroutine
	more  chan struct{} // closed when there are more messages or it has ended
	err   error         // why it ended

	// Owned by the reading goroutine.
	known   map[string]time.Time     // recently created runs
	entries map[string]catalog.Entry // workflows
	refused map[journal.ScheduleKey]time.Time
}

// item is a message for all streams of a namespace.
type item struct {
	id     uint64 // of the notice; 0 means none
	text   []byte
	drafts bool // only for callers who may see drafts
}

// join returns the tap of a namespace, the position after everything that it has read, and the last
// notice before that position. The caller must leave the tap. The error is from the store.
func (t *feedReaders) join(ctx context.Context, s *service.Service) (_ *feedReader, place, at uint64, err error) {
	t.mu.Lock()
	p := t.all[s]
	if p == nil {
		p = t.open(s)
	}
	p.streams++
	t.mu.Unlock()
	select {
	case <-p.ready:
	case <-ctx.Done():
		t.leave(p)
		return nil, 0, 0, ctx.Err()
	}
	p.mu.Lock()
	place, at, err = p.first+uint64(len(p.items)), p.at, p.err
	p.mu.Unlock()
	if err != nil {
		t.leave(p)
	}
	return p, place, at, err
}

// open starts a tap. The caller holds t.mu.
func (t *feedReaders) open(s *service.Service) *feedReader {
	ctx, cancel := context.WithCancel(context.Background())
	p := &feedReader{service: s, cancel: cancel, ready: make(chan struct{}), more: make(chan struct{}),
		known: map[string]time.Time{}, entries: map[string]catalog.Entry{}}
	if t.all == nil {
		t.all = map[*service.Service]*feedReader{}
	}
	t.all[s] = p
	t.work.Go(func() {
		err := p.read(ctx)
		t.drop(p)
		p.mu.Lock()
		p.err = err
		close(p.more)
		p.mu.Unlock()
		select {
		case <-p.ready:
		default:
			close(p.ready)
		}
	})
	return p
}

// leave stops the tap when its last stream has left.
func (t *feedReaders) leave(p *feedReader) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.streams--; p.streams == 0 {
		p.cancel()
		if t.all[p.service] == p {
			delete(t.all, p.service)
		}
	}
}

// drop removes a tap that has ended, so that new streams start another one.
func (t *feedReaders) drop(p *feedReader) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.cancel()
	if t.all[p.service] == p {
		delete(t.all, p.service)
	}
}

// read reads until ctx is done or the store fails.
func (p *feedReader) read(ctx context.Context) error {
	notices, starts, workflows := make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}, 1)
	defer p.service.FeedSignals(notices, starts)()
	defer p.service.WatchWorkflows(workflows)()
	last, err := p.service.LastNotice(ctx)
	if err != nil {
		return err
	}
	p.at = last // no stream has a position yet
	if _, err := p.newRuns(ctx, time.Now()); err != nil && !isDamaged(err) {
		return err
	}
	took, err := p.pollWorkflows(ctx, false)
	if err != nil {
		return err
	}
	if err := p.pollSchedules(ctx, false); err != nil {
		return err
	}
	close(p.ready)
	poll := time.NewTicker(feedEvery)
	defer poll.Stop()
	begun, edited := newPacer(), newPacer()
	defer begun.rest.Stop()
	defer edited.rest.Stop()
	looked := time.Now()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-notices:
			err = p.publishNotices(ctx)
		case <-starts:
			begun.owed = true
		case <-begun.rest.C:
			begun.resting = false
		case <-workflows:
			edited.owed = true
		case <-edited.rest.C:
			edited.resting = false
		case now := <-poll.C: // changes that were not signalled
			begun.owed = true
			edited.owed = edited.owed || now.Sub(looked) >= max(feedEvery, othersShare*took)
			if err = p.publishNotices(ctx); err == nil {
				err = p.pollSchedules(ctx, true)
			}
		}
		if err == nil && begun.isDue() {
			err = p.publishStarts(ctx)
			begun.restFor(startsEvery)
		}
		if err == nil && edited.isDue() {
			took, err = p.pollWorkflows(ctx, true)
			looked = time.Now()
			edited.restFor(max(startsEvery, ownShare*took))
		}
		if err != nil {
			return err
		}
	}
}

// pacer lets a task run immediately, and again only after a pause.
type pacer struct {
	rest          *time.Timer
	resting, owed bool
}

func newPacer() *pacer { return &pacer{rest: time.NewTimer(0), resting: true} }

// isDue reports whether the task is to run now. If so, the caller must call restFor afterwards.
func (p *pacer) isDue() bool {
	if !p.owed || p.resting {
		return false
	}
	p.owed, p.resting = false, true
	return true
}

func (p *pacer) restFor(d time.Duration) { p.rest.Reset(d) }

// publishNotices publishes the notices after the last one.
func (p *feedReader) publishNotices(ctx context.Context) error {
	for {
		page, err := p.service.Notices(ctx, p.at, 0)
		if err != nil || len(page) == 0 {
			return err
		}
		items := make([]item, len(page))
		for i, n := range page {
			if items[i], err = noticeItem(ctx, p.service, n); err != nil {
				return err
			}
		}
		p.add(items...)
	}
}

// noticeItem returns the message for a notice, with the current state of its run. If the run has
// been deleted or its head is damaged, the message contains only the notice itself.
func noticeItem(ctx context.Context, s *service.Service, n journal.Notice) (item, error) {
	t := Told{Type: n.Type, Run: n.Run, Seq: n.Seq, At: n.At}
	h, err := s.Head(ctx, n.Run)
	switch {
	case errors.Is(err, journal.ErrNotFound), isDamaged(err):
	case err != nil:
		return item{}, err
	default:
		t.Workflow, t.Status = h.Workflow, h.Status
	}
	return item{id: n.ID, text: encode(n.ID, t)}, nil
}

func isDamaged(err error) bool {
	_, damaged := errors.AsType[*journal.CorruptError](err)
	return damaged
}

// publishStarts publishes the runs that were created since the last poll, oldest first. If there
// are more than one poll finds, or if one of them is damaged and they cannot be read, clients are
// told to read all lists again.
func (p *feedReader) publishStarts(ctx context.Context) error {
	runs, err := p.newRuns(ctx, time.Now())
	damaged := isDamaged(err)
	if err != nil && !damaged || err == nil && len(runs) == 0 {
		return err
	}
	if damaged || len(runs) == maxStarted {
		p.add(item{text: encode(p.at, Told{Type: TypeReady, At: time.Now().UTC()})})
		return nil
	}
	items := make([]item, 0, len(runs))
	for i := len(runs) - 1; i >= 0; i-- {
		h := &runs[i]
		items = append(items,
			item{text: encode(0, Told{Type: TypeStarted, Run: h.Run, At: h.Created, Workflow: h.Workflow,
				Status: h.Status})})
	}
	p.add(items...)
	return nil
}

// newRuns returns the runs that were created since the last poll, newest first.
func (p *feedReader) newRuns(ctx context.Context, now time.Time) ([]journal.Head, error) {
	page, _, err := p.service.List(ctx, journal.Query{CreatedFrom: now.Add(-skew), Limit: maxStarted})
	if err != nil {
		return nil, err
	}
	var fresh []journal.Head
	for _, h := range page {
		if _, old := p.known[h.Run]; !old {
			fresh = append(fresh, h)
			p.known[h.Run] = h.Created
		}
	}
	for run, at := range p.known {
		if at.Before(now.Add(-2 * skew)) {
			delete(p.known, run)
		}
	}
	return fresh, nil
}

// pollWorkflows determines which workflows have changed, publishes the changes if tell is set, and
// returns how long it took.
func (p *feedReader) pollWorkflows(ctx context.Context, tell bool) (time.Duration, error) {
	began := time.Now()
	list, err := p.service.Entries(ctx)
	if err != nil {
		return 0, err
	}
	var items []item
	changed := func(kind, id string, before, now catalog.Entry) {
		items = append(items, item{text: encode(0, Told{Type: kind, Workflow: id, At: began.UTC()}),
			drafts: visibleEntry(before).Equal(visibleEntry(now))})
	}
	next := make(map[string]catalog.Entry, len(list))
	for _, e := range list {
		if before, ok := p.entries[e.ID]; !ok || !before.Equal(e) {
			changed(TypeWorkflowChanged, e.ID, before, e)
		}
		next[e.ID] = e
		delete(p.entries, e.ID)
	}
	for id, before := range p.entries {
		changed(TypeWorkflowDeleted, id, before, catalog.Entry{})
	}
	p.entries = next
	if tell && len(items) > 0 {
		p.add(items...)
	}
	return time.Since(began), nil
}

// pollSchedules determines which schedules are refused for a new reason, and publishes them if tell
// is set.
func (p *feedReader) pollSchedules(ctx context.Context, tell bool) error {
	list, err := p.service.Refused(ctx)
	if err != nil {
		return err
	}
	var items []item
	refused := make(map[journal.ScheduleKey]time.Time, len(list))
	for _, r := range list {
		if refused[r.ScheduleKey] = r.Refused; !p.refused[r.ScheduleKey].Equal(r.Refused) {
			items = append(items, item{text: encode(0, Told{Type: TypeScheduleRefused, At: r.Refused,
				Workflow: r.Workflow, Program: r.Program, Branch: r.Branch, Schedule: r.Schedule, Reason: r.Refusal})})
		}
	}
	p.refused = refused
	if tell && len(items) > 0 {
		p.add(items...)
	}
	return nil
}

// visibleEntry returns the entry of a workflow as visible to callers who may not see drafts; the
// zero Entry means that nothing is visible.
func visibleEntry(e catalog.Entry) catalog.Entry {
	if e.Published == 0 && !e.HasRows {
		return catalog.Entry{}
	}
	e.Draft, e.Updated = 0, time.Time{}
	return e
}

// add appends messages for the streams.
func (p *feedReader) add(items ...item) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.items = append(p.items, items...)
	if last := items[len(items)-1].id; last > 0 {
		p.at = last
	}
	if over := len(p.items) - tapItems; over > tapItems/2 { // not for every message
		p.items = append([]item(nil), p.items[over:]...)
		p.first += uint64(over)
	}
	close(p.more)
	p.more = make(chan struct{})
}

// batch holds the messages after a position.
type batch struct {
	items []item // shared and read-only
	next  uint64 // the position after them
	at    uint64 // the last notice up to next
	lost  bool   // messages after the position are no longer kept
	more  <-chan struct{}
	err   error
}

// since returns the messages after a position.
func (p *feedReader) since(place uint64) batch {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := batch{next: p.first + uint64(len(p.items)), at: p.at, lost: place < p.first, more: p.more, err: p.err}
	if !b.lost {
		b.items = p.items[place-p.first:]
	}
	return b
}
