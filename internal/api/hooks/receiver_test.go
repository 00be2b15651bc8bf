package hooks_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/hocket-run/hocket/internal/api/hooks"
	"github.com/hocket-run/hocket/internal/outbound"
)

// receivedMessage is a message as seen by a receiver.
type receivedMessage struct {
	ID, Body string
	Type     string
	Data     struct {
		Namespace, Run, Workflow, Status, Reason string
		Error                                    struct{ Code, Message string }
		Wait                                     struct {
			ID, Node, Kind, Prompt, Tool string
			Options                      []string
			Arguments                    json.RawMessage
		}
		Answer struct{ Decision, Note string }
		Links  struct{ Run, Approve string }
	}
}

// receiver receives messages, and verifies each with the reference library of the convention.
type receiver struct {
	*httptest.Server
	t        *testing.T
	mu       sync.Mutex
	got      []receivedMessage
	answer   func(n int) int
	received chan struct{}
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{t: t, received: make(chan struct{}, 1000), answer: func(int) int { return 204 }}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	wh, err := standardwebhooks.NewWebhook(operatorSecret)
	if err == nil {
		err = wh.Verify(body, req.Header)
	}
	if err != nil {
		r.t.Error(err)
	}
	one := receivedMessage{ID: req.Header.Get("Webhook-Id"), Body: string(body)}
	if err := json.Unmarshal(body, &one); err != nil {
		r.t.Errorf("%v: %s", err, body)
	}
	r.got = append(r.got, one)
	w.WriteHeader(r.answer(len(r.got)))
	r.received <- struct{}{}
}

// wait returns all messages once there are n.
func (r *receiver) wait(n int) []receivedMessage {
	r.t.Helper()
	for {
		r.mu.Lock()
		got := slices.Clone(r.got)
		r.mu.Unlock()
		if len(got) >= n {
			return got
		}
		select {
		case <-r.received:
		case <-time.After(long):
			r.t.Fatalf("%d of %d messages came", len(got), n)
		}
	}
}

const operatorSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// fast is a pace for tests.
var fast = hooks.Pace{Every: 5 * time.Millisecond, Delays: []time.Duration{time.Millisecond, time.Millisecond}}

// operator returns a configuration with one endpoint of the operator.
func operator(t *testing.T, r *receiver, e hooks.Endpoint) hooks.Config {
	t.Helper()
	e.Name, e.URL = "ops", r.URL+"/in"
	e, err := hooks.OperatorEndpoint(e, "${env.NOTIFY}")
	if err != nil {
		t.Fatal(err)
	}
	client := outbound.New(outbound.Config{Allow: []string{r.URL}})
	guarded := outbound.New(outbound.Config{})
	t.Cleanup(client.CloseIdleConnections)
	t.Cleanup(guarded.CloseIdleConnections)
	return hooks.Config{Endpoints: []hooks.Endpoint{e}, Operator: client, Guarded: guarded, Pace: fast,
		PublicURL: public}
}

// serve calls Begin as a server does, and runs the notifier until stop is called.
func (w *world) serve(t *testing.T) (stop func()) {
	t.Helper()
	if err := w.hooks.Begin(t.Context(), "default", w.service); err != nil {
		t.Fatal(err)
	}
	return w.late()
}

// late runs the notifier until stop is called.
func (w *world) late() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.hooks.Maintain(ctx, "default", w.service)
	}()
	return sync.OnceFunc(func() {
		cancel()
		<-done
	})
}

// settled waits until no notification is pending.
func (w *world) settled(t *testing.T) []hooks.Notification {
	t.Helper()
	for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		list, _, err := w.hooks.Notifications(t.Context(), "default", w.service, hooks.NotificationQuery{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(list, func(n hooks.Notification) bool { return n.State == hooks.StatePending }) {
			return list
		}
	}
	t.Fatal("notifications are pending still")
	return nil
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// with returns the lines that contain a string.
func (l *lines) with(text string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, text) {
			out = append(out, line)
		}
	}
	return out
}
