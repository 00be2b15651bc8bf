package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/hocket-run/hocket/internal/client/api"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/jsontext"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/view"
	"github.com/hocket-run/hocket/workflow"
)

var _ view.Source = (*Remote)(nil)

// maxEvents is the maximum page size of events and of steps on a server.
const maxEvents = 1000

// Show returns the run object with all its steps. For a value above view.Limit it contains only the
// beginning, as a string.
func (r *Remote) Show(ctx context.Context, run string) (project.Run, error) {
	var all project.Run
	bytes := int64(0)
	for cursor := ""; ; {
		res, err := r.api.GetRun(ctx, run,
			&api.GetRunParams{Cursor: optional(cursor), Limit: optional(int64(maxEvents))})
		if err != nil {
			return all, r.unreachable(err)
		}
		var page view.Run
		n, err := r.readBody(res, (*shortRun)(&page))
		if bytes += n; err == nil {
			err = r.checkSize(bytes)
		}
		if err != nil {
			return all, err
		}
		page.Steps = append(all.Steps, page.Steps...)
		if all, cursor = page.Run, page.StepsNext; cursor == "" {
			return all, nil
		}
	}
}

// shortRun is a run object in which references are replaced with the beginnings of their long
// values, as strings.
type shortRun view.Run

// UnmarshalJSON implements json.Unmarshaler.
func (s *shortRun) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(replaceReferences(text, func(v view.Value) []byte { return quoted(v.Head) }), (*view.Run)(s))
}

func quoted(text string) []byte {
	b, _ := jsontext.AppendString(nil, text)
	return b
}

// View returns a reader of a run for one view.
func (r *Remote) View(ctx context.Context, run string) (*view.Reader, error) {
	return view.Open(ctx, r, run)
}

// Read returns the run as recorded in its journal. The store's own fields of the head are left out.
func (r *Remote) Read(ctx context.Context, run string) (service.Recorded, error) {
	return service.Read(ctx, r, run)
}

// EachEvent calls take with the events of a run after the event after, with all values complete.
func (r *Remote) EachEvent(ctx context.Context, run string, after uint64, take func(event.Event) error) error {
	return r.eachLine(ctx, run, after, func(line []byte) error {
		e, err := r.wholeEvent(ctx, run, line)
		if err != nil {
			return err
		}
		return take(e)
	})
}

// RunDefinition implements view.Source. The head contains only what the run object contains.
func (r *Remote) RunDefinition(ctx context.Context, run string) (journal.Head, *workflow.Workflow, error) {
	var def json.RawMessage
	res, err := r.api.GetRunDefinition(ctx, run)
	if err := r.read(res, err, &def); err != nil {
		return journal.Head{}, nil, err
	}
	w, err := workflow.Parse(def)
	if err != nil {
		return journal.Head{}, nil, fmt.Errorf("read definition of run %s: %w", run, err)
	}
	var o struct {
		Status      journal.Status
		Interrupted bool
		WaitingFor  string
		Turn        *project.Turn
		Waiting     []json.RawMessage
	}
	none := api.GetRunParamsSteps("none")
	res, err = r.api.GetRun(ctx, run, &api.GetRunParams{Steps: &none})
	if err := r.read(res, err, &o); err != nil {
		return journal.Head{}, nil, err
	}
	h := journal.Head{Run: run, Status: o.Status, Interrupted: o.Interrupted, WaitingFor: o.WaitingFor,
		Waiting: len(o.Waiting)}
	if o.Turn != nil {
		h.Turn = &journal.Turn{Before: o.Turn.Before, Behind: o.Turn.Run}
	}
	return h, w, nil
}

// EachShort implements view.Source.
func (r *Remote) EachShort(ctx context.Context, run string, after uint64, t *view.Table,
	take func(event.Event) error) error {
	return r.eachLine(ctx, run, after, func(line []byte) error {
		_, e, err := journal.UnmarshalEvent(tokens(line, t))
		if err != nil {
			return err
		}
		return take(e)
	})
}

// eachLine calls take with the events as the server shows them.
func (r *Remote) eachLine(ctx context.Context, run string, after uint64, take func(line []byte) error) error {
	for cursor := int64(after); ; {
		var page struct {
			Items []json.RawMessage
			Next  string
		}
		res, err := r.api.ListEvents(ctx, run,
			&api.ListEventsParams{Cursor: &cursor, Limit: optional(int64(maxEvents))})
		if err := r.read(res, err, &page); err != nil {
			return err
		}
		for _, line := range page.Items {
			if err := take(line); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		last := cursor
		if cursor, err = strconv.ParseInt(page.Next, 10, 64); err == nil && cursor <= last {
			err = fmt.Errorf("the page after event %d is that after event %d", last, cursor)
		}
		if err != nil {
			return fmt.Errorf("read run %s: %w", run, err)
		}
	}
}

// wholeEvent decodes an event, and fetches its long values.
func (r *Remote) wholeEvent(ctx context.Context, run string, line []byte) (event.Event, error) {
	var failed error
	line = replaceReferences(line, func(v view.Value) []byte {
		l := longOf(v)
		body, err := r.Open(ctx, run, &view.Ref{Long: l, Bytes: v.Bytes})
		if err != nil {
			failed = err
			return []byte("null")
		}
		content, err := r.readAll(body)
		if _ = body.Close(); err != nil {
			failed = err
		}
		if l.IsText {
			return quoted(string(content))
		}
		return content
	})
	if failed != nil {
		return event.Event{}, failed
	}
	_, e, err := journal.UnmarshalEvent(line)
	return e, err
}

// tokens replaces references with tokens.
func tokens(line []byte, t *view.Table) []byte {
	return replaceReferences(line, func(v view.Value) []byte {
		return []byte(`"` + t.Remote(longOf(v), v.Bytes, v.Head, v.Href) + `"`)
	})
}

// longOf returns the value that a reference refers to. The URL distinguishes text from other JSON.
func longOf(v view.Value) journal.Long {
	u, err := url.Parse(v.Href)
	return journal.Long{Hash: v.SHA256, IsText: err != nil || u.Query().Get("type") != "json"}
}

// replaceReferences replaces each reference in JSON without white space, as servers write it. An
// object with further keys is not a reference, whatever its first key is: it is a user's value.
func replaceReferences(text []byte, instead func(view.Value) []byte) []byte {
	begin := []byte(`{"$value":`)
	if !bytes.Contains(text, begin) {
		return text
	}
	var out []byte
	for {
		i := bytes.Index(text, begin) // inside a JSON string the quotes would be escaped
		if i < 0 {
			return append(out, text...)
		}
		var (
			one map[string]json.RawMessage
			v   view.Value
		)
		dec := json.NewDecoder(bytes.NewReader(text[i:]))
		if dec.Decode(&one) != nil || len(one) != 1 || json.Unmarshal(one["$value"], &v) != nil {
			i += len(begin)
			out, text = append(out, text[:i]...), text[i:]
			continue
		}
		out = append(append(out, text[:i]...), instead(v)...)
		text = text[i+int(dec.InputOffset()):]
	}
}

// Beginning implements view.Source. It always fails, since references contain the beginning.
func (r *Remote) Beginning(_ context.Context, run string, v *view.Ref, _ int) ([]byte, int64, error) {
	return nil, 0, fmt.Errorf("value %s of run %s: %w", v.Hash, run, journal.ErrNotFound)
}

// Open implements view.Source.
func (r *Remote) Open(ctx context.Context, run string, v *view.Ref) (io.ReadCloser, error) {
	kind := api.Text
	if !v.IsText {
		kind = api.Json
	}
	res, err := r.api.GetValue(ctx, run, v.Hash, &api.GetValueParams{Type: &kind})
	if err != nil {
		return nil, r.unreachable(err)
	}
	if res.StatusCode != http.StatusOK {
		return nil, r.read(res, nil, nil)
	}
	return &hashReader{ReadCloser: res.Body, hash: v.Hash, sum: sha256.New()}, nil
}

// hashReader verifies the hash of a stream.
type hashReader struct {
	io.ReadCloser
	hash string
	sum  hash.Hash
}

// Read implements io.Reader.
func (c *hashReader) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.sum.Write(p[:n])
	if err == io.EOF && hex.EncodeToString(c.sum.Sum(nil)) != c.hash {
		return n, fmt.Errorf("the value %s was damaged in transfer", c.hash)
	}
	return n, err
}
