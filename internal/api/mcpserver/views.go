package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/view"
)

// Page sizes of get_run: entries are large, and the size of a result is limited.
const defaultEntries = 20

var getProps = []prop{
	opt("view", oneOf(viewRun, viewLogs), "run (the default): the run with its steps and trail; logs: the log."),
	opt("cursor", aText, "The next page: stepsNext, trailNext or logsNext of the previous page."),
	opt("limit", fmt.Sprintf(`{"type":"integer","minimum":1,"maximum":%d}`, view.MaxPage),
		fmt.Sprintf("Maximum number of entries of a page; default %d. A page has fewer if its result would be "+
			"too long.", defaultEntries)),
}

const (
	viewRun  = "run"
	viewLogs = "logs"
)

// wholeRun is the result of get_run: the run object of the contract with a page of its steps, and a
// page of the trail.
type wholeRun struct {
	view.Run
	Trail     []project.TrailEntry `json:"trail"`
	TrailNext string               `json:"trailNext"`
}

// someLogs is the result of get_run with view logs.
type someLogs struct {
	ID       string             `json:"id"`
	Workflow map[string]string  `json:"workflow"`
	Status   string             `json:"status"`
	Logs     []project.LogEntry `json:"logs"`
	LogsNext string             `json:"logsNext"`
}

func getRun(ctx context.Context, c *call) (any, error) {
	args := struct {
		runArgs
		View   string `json:"view"`
		Cursor string `json:"cursor"`
		Limit  int    `json:"limit"`
	}{Limit: defaultEntries}
	id, err := c.decodeID(&args)
	if err != nil {
		return nil, err
	}
	p := view.Page{Cursor: args.Cursor, Limit: args.Limit}
	r, err := c.Service.View(ctx, id)
	if err != nil {
		return nil, noSuchRun(err, id)
	}
	if args.View == viewLogs {
		return c.logs(ctx, r, p)
	}
	f, err := r.FoldBoth(ctx, p, true)
	if err != nil {
		return nil, badCursor(noSuchRun(err, id))
	}
	return fit(ctx, r, p, maxResult, func(p view.Page) (any, error) {
		whole, err := wholeOf(r, f, p)
		return whole, badCursor(err)
	})
}

func wholeOf(r *view.Reader, f *project.Folder, p view.Page) (out wholeRun, err error) {
	out.Run, out.Trail, out.TrailNext, err = r.RunAndTrail(f, p)
	return out, err
}

func badCursor(err error) error {
	if errors.Is(err, view.ErrCursor) {
		return service.Refuse(errcode.InvalidCursor, nil, err)
	}
	return err
}

func (d *account) logs(ctx context.Context, r *view.Reader, p view.Page) (any, error) {
	return fit(ctx, r, p, maxResult, func(p view.Page) (any, error) {
		entries, next, err := r.Logs(ctx, p)
		h := r.Head
		return someLogs{h.Run, map[string]string{"id": h.Workflow, "name": h.WorkflowName}, string(h.Status), entries,
			next}, badCursor(err)
	})
}

// fit returns a page as JSON of at most limit bytes. If the page is too long, increasingly shorter
// values become references, then the page has fewer entries, and finally it is truncated.
func fit(ctx context.Context, r *view.Reader, p view.Page, limit int, page func(view.Page) (any, error)) (
	json.RawMessage, error) {
	for ; ; p.Limit = max(1, p.Limit/4) {
		v, err := page(p)
		if err != nil {
			return nil, err
		}
		text, err := fitting(ctx, r, v, limit)
		switch {
		case err != nil:
			return nil, err
		case len(text) <= limit:
			return text, nil
		case p.Limit <= 1:
			return bounded(text, limit, runURI(r.Head.Run))
		}
	}
}

// fitting writes a view in which values that do not fit are references. The result may still be
// longer than limit.
func fitting(ctx context.Context, r *view.Reader, v any, limit int) (json.RawMessage, error) {
	var b bytes.Buffer
	for _, long := range []int{view.Limit, view.Limit / 8, view.Limit / 32} {
		b.Reset()
		err := r.Write(ctx, &b, v, view.Style{Limit: long, Bounded: true,
			Href: func(digest string, isText bool) string { return valueURI(r.Head.Run, digest, isText) }})
		if err != nil {
			return nil, err
		}
		if b.Len() <= limit {
			break
		}
	}
	return b.Bytes(), nil
}

// render returns the state of a run as the result of a tool.
func (c *call) render(ctx context.Context, run string, o outcome) (any, error) {
	text, err := fitting(ctx, o.reader, o, maxResult)
	if err != nil || len(text) <= maxResult {
		return text, err
	}
	return bounded(text, maxResult, runURI(run))
}

func runEvents(ctx context.Context, c *call) (any, error) {
	args := struct {
		runArgs
		After  uint64   `json:"after"`
		Limit  int      `json:"limit"`
		Types  []string `json:"types"`
		Expand bool     `json:"expand"`
	}{}
	id, err := c.decodeID(&args)
	if err != nil {
		return nil, err
	}
	if args.Limit == 0 {
		args.Limit = 100
	}
	r, err := c.Service.View(ctx, id)
	if err != nil {
		return nil, noSuchRun(err, id)
	}
	out := struct {
		Events    []json.RawMessage `json:"events"`
		Next      uint64            `json:"next"`
		Last      uint64            `json:"last"`
		Ended     bool              `json:"ended"`
		Truncated string            `json:"truncated,omitempty"`
	}{Events: []json.RawMessage{}, Next: args.After, Last: r.Head.LastSeq, Ended: r.Head.Status.Ended()}
	folder, size := r.Folder(), 0
	err = r.Each(ctx, 0, func(e event.Event) error {
		if e.Seq <= args.After {
			folder.Add(e)
			return nil
		}
		text, err := r.Event(folder.Shown(e, args.Expand))
		if err != nil {
			return err
		}
		folder.Add(e)
		if len(out.Events) >= args.Limit || size > maxResult {
			return errFull
		}
		out.Next = e.Seq
		if len(args.Types) > 0 && !slices.Contains(args.Types, string(e.Data.Type())) {
			return nil
		}
		line, err := fitting(ctx, r, text, maxEvent)
		if err == nil && len(line) > maxEvent {
			line, err = bounded(line, maxEvent, eventsURI(id))
			out.Truncated = "long values of events are truncated; the resource " + eventsURI(id) + " has them"
		}
		line = bytes.Clone(line)
		size += len(line)
		out.Events = append(out.Events, line)
		return err
	})
	if err != nil && !errors.Is(err, errFull) {
		return nil, noSuchRun(err, id)
	}
	return out, nil
}

var errFull = errors.New("the result is full")

// readRun returns a run as a resource: all steps and the whole trail, as far as they fit.
func (d *account) readRun(ctx context.Context, id string) ([]byte, error) {
	r, err := transport.From(ctx).Service.View(ctx, id)
	if err != nil {
		return nil, noSuchRun(err, id)
	}
	p := view.Page{Limit: view.MaxPage}
	f, err := r.FoldBoth(ctx, p, false)
	if err != nil {
		return nil, noSuchRun(err, id)
	}
	return fit(ctx, r, p, maxResource, func(p view.Page) (any, error) {
		return wholeOf(r, f, p)
	})
}

// readEvents returns the events of a run as lines. If they exceed the limit of a resource, the last
// line says where to continue with run_events.
func (d *account) readEvents(ctx context.Context, id string) ([]byte, error) {
	r, err := transport.From(ctx).Service.View(ctx, id)
	if err != nil {
		return nil, noSuchRun(err, id)
	}
	var b bytes.Buffer
	folder := r.Folder()
	err = r.Each(ctx, 0, func(e event.Event) error {
		text, err := r.Event(folder.Expand(e))
		if err != nil {
			return err
		}
		folder.Add(e)
		line, err := fitting(ctx, r, text, maxResult)
		if err != nil {
			return err
		}
		if b.Len()+len(line) > maxResource {
			fmt.Fprintf(&b, "{\"truncated\":\"run_events with after %d continues here\"}\n", e.Seq-1)
			return errFull
		}
		b.Write(line)
		b.WriteByte('\n')
		return nil
	})
	if err != nil && !errors.Is(err, errFull) {
		return nil, noSuchRun(err, id)
	}
	return b.Bytes(), nil
}

// maxPiece is the maximum size of a chunk of a long value in bytes.
const maxPiece = 1 << 20

// valueURI returns the URI of a long value of a run.
func valueURI(run, digest string, isText bool) string {
	return runURI(run) + "/values/" + kindOf(isText) + "/" + digest
}

func kindOf(isText bool) string {
	if isText {
		return "text"
	}
	return "json"
}

// readValue returns a chunk of a long value, and where the next one starts.
func (d *account) readValue(ctx context.Context, uri string, res resource) (*sdk.ReadResourceResult, error) {
	r, err := transport.From(ctx).Service.View(ctx, res.id)
	if err != nil {
		return nil, noSuchRun(err, res.id)
	}
	found, err := r.Find(ctx, res.value, res.isText)
	if err != nil {
		return nil, err
	}
	w := window{skip: res.offset}
	if err := found.WriteTo(ctx, &w); err != nil && !errors.Is(err, errFull) {
		return nil, err
	}
	text, mime := w.b.Bytes(), mimeJSON
	if res.isText {
		mime = "text/plain"
	}
	for cut := len(text); res.offset+int64(cut) < found.Bytes && cut > len(text)-utf8.UTFMax && cut > 0; cut-- {
		if utf8.Valid(text[:cut]) {
			text = text[:cut]
			break
		}
	}
	out := &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: mime, Text: string(text)}}}
	if at := res.offset + int64(len(text)); at < found.Bytes && len(text) > 0 {
		next := valueURI(res.id, res.value, res.isText) + "/" + strconv.FormatInt(at, 10)
		out.Contents = append(out.Contents, &sdk.ResourceContents{URI: next, MIMEType: mime,
			Text: fmt.Sprintf("Truncated: %s of %s follow. Read the resource %s.", bytesText(int(found.Bytes-at)),
				bytesText(int(found.Bytes)), next)})
	}
	return out, nil
}

// window is a writer that skips a number of bytes and keeps the next maxPiece bytes.
type window struct {
	skip int64
	b    bytes.Buffer
}

// Write implements io.Writer.
func (w *window) Write(p []byte) (int, error) {
	n := len(p)
	pass := min(w.skip, int64(n))
	w.skip -= pass
	p = p[pass:]
	room := maxPiece - w.b.Len()
	w.b.Write(p[:min(len(p), room)])
	if len(p) > room {
		return n, errFull
	}
	return n, nil
}

var _ io.Writer = (*window)(nil)

// parseValue parses the part of the URI after hocket://runs/ID/values/.
func (r *resource) parseValue(parts []string) bool {
	if len(parts) < 2 || len(parts) > 3 || parts[0] != "text" && parts[0] != "json" || parts[1] == "" {
		return false
	}
	r.isText, r.value = parts[0] == "text", parts[1]
	if len(parts) == 3 {
		n, err := strconv.ParseInt(parts[2], 10, 64)
		if err != nil || n < 0 || strings.HasPrefix(parts[2], "+") {
			return false
		}
		r.offset = n
	}
	return true
}
