package live_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/api/live"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/pghome"
	"github.com/hocket-run/hocket/workflow"
)

// openPostgres opens a service with its own connections, as a separate process would.
func openPostgres(t testing.TB, url string, m fakeModel) *service.Service {
	t.Helper()
	s, err := service.Open(t.Context(), service.Config{
		Documents: linked.Kit(),
		DB:        url, Kind: journal.KindServe, Models: map[string]model.Client{"fake": m},
		Stores: store.Servers{Postgres: pghome.New(nil)},
		Env:    func(name string) string { return map[string]string{"HOCKET_MODEL": "fake/one"}[name] },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestStream_ReconnectOtherServer (P22) runs two servers on one database, one of which drives a
// run. It checks that a stream that is cut after every event and resumed on the other server, while
// the run continues, delivers each event once.
func TestStream_ReconnectOtherServer(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{}, 1)
	url := pgtest.URL(t)
	drives, looks := openPostgres(t, url, gated(gate)), openPostgres(t, url, plain)
	here, _ := serve(t, drives, live.Config{})
	there, _ := serve(t, looks, live.Config{})
	run := start(t, drives, chain(5))
	var union []message
	for last := ""; ; {
		at := here.URL
		if len(union)%2 == 0 {
			at = there.URL
		}
		st := connect(t, at+live.Path(run), last)
		m, ok := message{kind: live.TypeDelta}, true
		for ok && (m.kind == live.TypeDelta || m.kind == live.TypeReset) {
			select {
			case gate <- struct{}{}:
			default:
			}
			m, ok = st.next()
		}
		st.cut()
		if !ok || m.kind == live.TypeEnd {
			break
		}
		union, last = append(union, m), m.id
	}
	if diff := cmp.Diff(union, stored(t, looks, run), sameMessages); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

// TestDeltas_OtherServer (P22) checks that model output reaches a client that watches the run on
// another server: complete from the first piece received, contiguous, and before the reply.
func TestDeltas_OtherServer(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	pieces := make(chan string)
	drives := openPostgres(t, url, func(ctx context.Context, _ model.Request, say func(model.Delta)) (string, error) {
		var all strings.Builder
		for {
			select {
			case p, ok := <-pieces:
				if !ok {
					return all.String(), nil
				}
				for _, r := range p { // one piece per character
					say(model.Delta{Text: string(r)})
				}
				all.WriteString(p)
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
	})
	there, _ := serve(t, openPostgres(t, url, plain), live.Config{})
	run := start(t, drives, enginetest.Graph([]workflow.Node{enginetest.Agent("a")}, ""))
	messages := make(chan message)
	go func() {
		defer close(messages)
		st := connect(t, there.URL+live.Path(run), "")
		for {
			m, ok := st.next()
			if !ok {
				return
			}
			messages <- m
		}
	}()
	var text, heard strings.Builder
	var from, deltas int
	isReplied := false
	take := func(m message) {
		var d driver.Delta
		switch m.kind {
		case string((&event.ModelReplied{}).Type()):
			isReplied = true
			return
		case live.TypeDelta:
		default:
			return
		}
		if err := json.Unmarshal([]byte(m.data), &d); err != nil || isReplied {
			t.Errorf("%s after the reply: %v, %v", m.data, isReplied, err)
		}
		if heard.Len() == 0 {
			from = d.Offset
		}
		if d.Offset != from+heard.Len() || d.Node != "a" {
			t.Errorf("a piece of node %q at %d, want %d", d.Node, d.Offset, from+heard.Len())
		}
		heard.WriteString(d.Text)
		deltas++
	}
	say := func(p string) {
		for {
			select {
			case pieces <- p:
				text.WriteString(p)
				return
			case m := <-messages:
				take(m)
			}
		}
	}
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for heard.Len() == 0 { // until the driving server knows about the watching one
		say("early ")
		select {
		case m := <-messages:
			take(m)
		case <-again.C:
		}
	}
	say(strings.Repeat("ü\x01\u2028<", 3000))
	say("last")
	// pieces after the reply are dropped: the model replies only once all have been received
	for from+heard.Len() < text.Len() {
		m, ok := <-messages
		if !ok {
			t.Fatalf("the stream ended after %d bytes of %d", from+heard.Len(), text.Len())
		}
		take(m)
	}
	close(pieces)
	for m := range messages {
		take(m)
	}
	if got, want := heard.String(), text.String()[from:]; got != want || !isReplied {
		t.Errorf("heard %d bytes from %d on, want %d; replied: %v", len(got), from, len(want), isReplied)
	}
	if most := 200; deltas > most {
		t.Errorf("%d pieces were passed for some 12,000 characters, want at most %d", deltas, most)
	}
}
