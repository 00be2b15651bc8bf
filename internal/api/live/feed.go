package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

// FeedPath is the address of the feed of a namespace below that of a server.
const FeedPath = "/api/v1/events"

// Types of messages of the feed that are no notices.
const (
	// TypeReady is the first message: what is listed now has all that happened before it.
	TypeReady = "feed.ready"
	// TypeStarted says that there is a new run. It has no id: after a connection that broke, lists are read anew.
	TypeStarted = "run.started"
)

const (
	// MaxBehind bounds what a client that comes back is told of what it missed. A client that missed more begins anew, with TypeReady.
	MaxBehind = 1000
	// feedEvery is how often new runs are looked for, and skew by how much clocks of machines on one store may differ.
	feedEvery, skew = journal.SafetyPoll, 30 * time.Second
	// maxStarted bounds the new runs that one look finds.
	maxStarted = 200
	// feedBuffer is how many notices wait for a client; the next ones wait in the store.
	feedBuffer = 64
)

// Told is a message of the feed: something happened to a run.
type Told struct {
	Type string    `json:"type"`
	Run  string    `json:"run,omitempty"`
	Seq  uint64    `doc:"Number of the event in the run" json:"seq,omitempty"`
	At   time.Time `json:"at"`
	// Workflow and Status are those of the run now.
	Workflow string        `doc:"Id of the stored workflow, or name of the document" json:"workflow,omitempty"`
	Status   engine.Status `doc:"Status of the run now"                              json:"status,omitempty"`
}

// Feed streams what happens to the runs of the caller's namespace: notices of the store, and runs that begin.
func (h *Handler) Feed(w http.ResponseWriter, r *http.Request) {
	caller, err := transport.Require(r.Context(), access.RoleRun)
	if err != nil {
		refuse(w, r, err)
		return
	}
	f := &feed{Handler: h, service: caller.Service, out: w, control: http.NewResponseController(w)}
	if err := f.begin(r); err != nil {
		refuse(w, r, err)
		return
	}
	n, err := h.enter(caller.Namespace)
	if err != nil {
		refuse(w, r, err)
		return
	}
	defer h.leave(caller.Namespace)
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // proxies pass each message on at once
	if r.Method == http.MethodHead {
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer f.reading.Wait() // it reads the store
	defer cancel()
	retry := h.cfg.Retry + h.cfg.Retry*time.Duration(n%16)/16
	fmt.Fprintf(&f.buf, "retry: %d\n\n", retry.Milliseconds())
	if err := f.follow(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, errOver) {
		h.cfg.Logger.Warn("the feed can no longer be streamed", "namespace", caller.Namespace, "err", err)
	}
	_ = f.control.SetWriteDeadline(time.Time{}) // the connection may serve other requests
}

// feed is one stream of the feed. It belongs to the goroutine of its request.
type feed struct {
	*Handler
	service *service.Service
	out     http.ResponseWriter
	control *http.ResponseController
	buf     bytes.Buffer
	// after is the last notice that the client knows. fresh: it begins anew.
	after uint64
	fresh bool
	// known are the runs that were created lately, with the times.
	known   map[string]time.Time
	reading sync.WaitGroup
}

// begin finds out where to go on.
func (f *feed) begin(r *http.Request) error {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return badQuery("malformed query: " + err.Error())
	}
	for name := range q {
		if name != "after" {
			return badQuery(fmt.Sprintf("unknown query parameter %q; known: after", name))
		}
	}
	var a ask
	if err := a.readAfter(r.Header, q); err != nil {
		return err
	}
	last, err := f.service.LastNotice(r.Context())
	if err != nil {
		return err
	}
	f.after, f.fresh = a.after, !a.given || a.after > last || last-a.after > MaxBehind // a greater one is of another store
	if f.fresh {
		f.after = last
	}
	f.known = map[string]time.Time{}
	_, err = f.started(r.Context(), time.Now())
	return err
}

// follow writes what happens until ctx is done, the server ends or the client is gone.
func (f *feed) follow(ctx context.Context) error {
	_ = f.control.SetReadDeadline(time.Time{}) // a stream lasts longer than requests may
	if f.fresh {
		if err := f.put(f.after, Told{Type: TypeReady, At: time.Now().UTC()}); err != nil {
			return err
		}
	}
	if err := f.flush(); err != nil {
		return err
	}
	news, failed := f.notices(ctx)
	look, beat := time.NewTicker(feedEvery), time.NewTicker(f.cfg.Heartbeat)
	defer look.Stop()
	defer beat.Stop()
	for {
		var err error
		select {
		case n := <-news:
			err = f.notice(ctx, n)
			for more := true; more && err == nil && f.buf.Len() < writeBytes; { // what waits is written with it
				select {
				case n := <-news:
					err = f.notice(ctx, n)
				default:
					more = false
				}
			}
		case at := <-look.C:
			var runs []journal.Head
			runs, err = f.started(ctx, at)
			for i := len(runs) - 1; i >= 0 && err == nil; i-- { // the oldest first
				h := &runs[i]
				err = f.put(0, Told{Type: TypeStarted, Run: h.Run, At: h.Created, Workflow: h.Workflow, Status: h.Status})
			}
		case <-beat.C:
			f.buf.WriteString(": heartbeat\n\n")
		case err = <-failed:
		case <-f.closing:
			err = errOver
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err == nil {
			err = f.flush()
		}
		if err != nil {
			return err
		}
	}
}

// notices reads the notices behind those that the client knows, as far ahead as there is room.
func (f *feed) notices(ctx context.Context) (<-chan journal.Notice, <-chan error) {
	news, failed := make(chan journal.Notice, feedBuffer), make(chan error, 1)
	f.reading.Go(func() {
		for n, err := range f.service.Feed(ctx, f.after) {
			if err != nil {
				failed <- err
				return
			}
			select {
			case news <- n:
			case <-ctx.Done():
				return
			}
		}
	})
	return news, failed
}

// notice writes what a notice tells, with the run as it is now. Of a run that was deleted meanwhile there is no more to say.
func (f *feed) notice(ctx context.Context, n journal.Notice) error {
	t := Told{Type: n.Type, Run: n.Run, Seq: n.Seq, At: n.At}
	h, err := f.service.Head(ctx, n.Run)
	switch {
	case errors.Is(err, journal.ErrNotFound):
	case err != nil:
		return err
	default:
		t.Workflow, t.Status = h.Workflow, h.Status
	}
	return f.put(n.ID, t)
}

// started gives the runs that were created since the last look, the newest first.
func (f *feed) started(ctx context.Context, now time.Time) ([]journal.Head, error) {
	page, _, err := f.service.List(ctx, journal.Query{CreatedFrom: now.Add(-skew), Limit: maxStarted})
	if err != nil {
		return nil, err
	}
	var fresh []journal.Head
	for _, h := range page {
		if _, old := f.known[h.Run]; !old {
			fresh = append(fresh, h)
			f.known[h.Run] = h.Created
		}
	}
	for run, at := range f.known {
		if at.Before(now.Add(-2 * skew)) {
			delete(f.known, run)
		}
	}
	return fresh, nil
}

// put adds a message to what is written next; 0 gives one without id.
func (f *feed) put(id uint64, t Told) error {
	data, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if id > 0 || t.Type == TypeReady {
		f.buf.WriteString("id: " + strconv.FormatUint(id, 10) + "\n")
	}
	f.buf.WriteString("event: " + t.Type + "\ndata: ")
	f.buf.Write(data)
	f.buf.WriteString("\n\n")
	return nil
}

// flush writes what was gathered.
func (f *feed) flush() error {
	if f.buf.Len() == 0 {
		return nil
	}
	if err := f.control.SetWriteDeadline(time.Now().Add(f.cfg.WriteTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := f.out.Write(f.buf.Bytes()); err != nil {
		return err
	}
	f.buf.Reset()
	return f.control.Flush()
}
