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
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

// FeedPath is the path of a namespace's feed, relative to the URL of the server.
const FeedPath = "/api/v1/events"

// Types of feed messages that are not notices.
const (
	// TypeReady is the first message: lists that are read now include everything that happened
	// before it.
	TypeReady = "feed.ready"
	// TypeStarted announces a new run. Like the two types below, it has no id: after a lost
	// connection, clients read their lists again.
	TypeStarted = "run.started"
	// TypeWorkflowChanged announces that a workflow was stored or published or has another draft,
	// TypeWorkflowDeleted that it was deleted.
	TypeWorkflowChanged = "workflow.changed"
	TypeWorkflowDeleted = "workflow.deleted"
	// TypeScheduleRefused announces that runs of a schedule are refused, for a reason that is new.
	TypeScheduleRefused = "schedule.refused"
)

const (
	// MaxBehind is the maximum number of missed notices that a reconnecting client receives. A
	// client that missed more starts over, with TypeReady.
	MaxBehind = 1000
	// feedEvery is the polling interval for changes that were not signalled, and skew the allowed
	// difference between the clocks of machines that share a store.
	feedEvery, skew = journal.SafetyPoll, 30 * time.Second
	// maxStarted is the maximum number of new runs that one poll finds.
	maxStarted = 200
)

// Told is a feed message: something happened to a run, a workflow or a schedule.
type Told struct {
	Type string    `json:"type"`
	Run  string    `json:"run,omitempty"`
	Seq  uint64    `doc:"Number of the event in the run" json:"seq,omitempty"`
	At   time.Time `json:"at"`
	// Workflow and Status are the run's current workflow and status.
	Workflow string       `doc:"Id of the stored workflow, or name of the document" json:"workflow,omitempty"`
	Status   event.Status `doc:"Status of the run now"                              json:"status,omitempty"`
	// Program, Branch and Schedule identify a schedule of the workflow, and Reason is why its runs
	// are refused.
	Program  string `json:"program,omitempty"`
	Branch   string `json:"branch,omitempty"`
	Schedule string `json:"schedule,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// Feed streams the events of the runs and workflows of the caller's namespace. One reader of the
// store serves all streams of a namespace.
func (h *Handler) Feed(w http.ResponseWriter, r *http.Request) {
	caller, err := transport.Require(r.Context(), access.RoleRun)
	if err != nil {
		refuse(w, r, err)
		return
	}
	f := &feed{Handler: h, service: caller.Service, drafts: caller.SeesDrafts(), out: w,
		control: http.NewResponseController(w)}
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
	if r.Method != http.MethodHead {
		if f.tap, f.place, f.joined, err = h.taps.join(r.Context(), f.service); err != nil {
			refuse(w, r, err)
			return
		}
		defer h.taps.leave(f.tap)
	}
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // proxies forward each message immediately
	if r.Method == http.MethodHead {
		return
	}
	retry := h.cfg.Retry + h.cfg.Retry*time.Duration(n%16)/16
	fmt.Fprintf(&f.buf, "retry: %d\n\n", retry.Milliseconds())
	if err := f.follow(r.Context()); err != nil && r.Context().Err() == nil && !errors.Is(err, errStreamEnded) {
		h.cfg.Logger.Warn("the feed can no longer be streamed", "namespace", caller.Namespace, "err", err)
	}
	_ = f.control.SetWriteDeadline(time.Time{}) // the connection may serve other requests
}

// feed is one stream of the feed. It belongs to the goroutine of its request.
type feed struct {
	*Handler
	service *service.Service
	drafts  bool // the caller may see drafts
	out     http.ResponseWriter
	control *http.ResponseController
	buf     bytes.Buffer
	// after is the last notice that the client knows. If fresh is set, the client starts over.
	after uint64
	fresh bool
	// tap is the namespace's tap, and place the position among its messages; joined is the last
	// notice before the stream joined.
	tap           *feedReader
	place, joined uint64
}

// begin determines where the stream continues.
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
	var a streamRequest
	if err := a.readAfter(r.Header, q); err != nil {
		return err
	}
	last, err := f.service.LastNotice(r.Context())
	if err != nil {
		return err
	}
	// a greater number is from another store
	f.after, f.fresh = a.after, !a.hasAfter || a.after > last || last-a.after > MaxBehind
	if f.fresh {
		f.after = last
	}
	return nil
}

// follow writes messages until ctx is done, the server shuts down or the client is gone.
func (f *feed) follow(ctx context.Context) error {
	_ = f.control.SetReadDeadline(time.Time{}) // a stream outlasts the deadline for requests
	if f.fresh {
		f.ready(f.after)
	}
	if err := f.catchUp(ctx, f.joined); err != nil {
		return err
	}
	beat := time.NewTicker(f.cfg.Heartbeat)
	defer beat.Stop()
	for {
		b := f.tap.since(f.place)
		err := f.write(ctx, b)
		if err == nil {
			err = f.flush()
		}
		if err == nil {
			err = b.err
		}
		if err != nil {
			return err
		}
		select {
		case <-b.more:
		case <-beat.C:
			f.buf.WriteString(": heartbeat\n\n")
		case <-f.closing:
			return errStreamEnded
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// write writes the messages after the stream's position. A stream that was too slow gets the
// notices that it missed from the store, and is told to read its lists again, since messages
// without an id are gone.
func (f *feed) write(ctx context.Context, b batch) error {
	f.place = b.next
	if b.lost {
		if b.at > f.after && b.at-f.after > MaxBehind {
			f.after = b.at
		}
		if err := f.catchUp(ctx, b.at); err != nil {
			return err
		}
		f.ready(f.after)
		return nil
	}
	for _, it := range b.items {
		if it.id > 0 && it.id <= f.after || it.drafts && !f.drafts {
			continue
		}
		f.after = max(f.after, it.id)
		f.buf.Write(it.text)
		if f.buf.Len() >= writeBytes {
			if err := f.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// catchUp writes the notices after the last one that the client knows, up to and including to.
func (f *feed) catchUp(ctx context.Context, to uint64) error {
	for f.after < to {
		page, err := f.service.Notices(ctx, f.after, 0)
		if err != nil {
			return err
		}
		for _, n := range page {
			if n.ID > to {
				f.after = to
				break
			}
			it, err := noticeItem(ctx, f.service, n)
			if err != nil {
				return err
			}
			f.buf.Write(it.text)
			f.after = n.ID
		}
		if len(page) == 0 { // the notices were deleted with their runs
			f.after = to
		}
		if err := f.flush(); err != nil {
			return err
		}
	}
	return nil
}

// ready writes the message that tells the client to start over after the notice numbered after.
func (f *feed) ready(after uint64) {
	f.buf.Write(encode(after, Told{Type: TypeReady, At: time.Now().UTC()}))
}

// encode returns a message in wire format; with id 0, only the first message has an id.
func encode(id uint64, t Told) []byte {
	data, _ := json.Marshal(t) //nolint:errchkjson // texts, numbers and times, all of which have a form
	var b bytes.Buffer
	if id > 0 || t.Type == TypeReady {
		b.WriteString("id: " + strconv.FormatUint(id, 10) + "\n")
	}
	b.WriteString("event: " + t.Type + "\ndata: ")
	b.Write(data)
	b.WriteString("\n\n")
	return b.Bytes()
}

// flush writes the buffered messages.
func (f *feed) flush() error {
	if f.buf.Len() == 0 {
		return nil
	}
	if err := f.control.SetWriteDeadline(time.Now().Add(f.cfg.WriteTimeout)); err != nil &&
		!errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := f.out.Write(f.buf.Bytes()); err != nil {
		return err
	}
	f.buf.Reset()
	return f.control.Flush()
}
