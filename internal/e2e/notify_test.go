//go:build unix

package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/randtest"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	notifySecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	notifyRuns   = 24
	waitRuns     = 12
	notifyKill   = 6
)

// notificationReceiver is a receiver of notifications. It verifies each message with the library of
// the authors of the convention.
type notificationReceiver struct {
	t  *testing.T
	mu sync.Mutex
	// bodies is keyed by webhook-id, ids by run and type; took holds the runs and types for which a
	// message was answered.
	bodies   map[string]string
	ids      map[string]string
	answered map[string]bool
	repeats  int
	heard    chan struct{}
	// hold means that the next message is accepted but never answered; held signals its arrival.
	hold bool
	held chan struct{}
}

func (d *notificationReceiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender was killed
	}
	hook, err := standardwebhooks.NewWebhook(notifySecret)
	if err == nil {
		err = hook.Verify(body, r.Header)
	}
	var m struct {
		Type string
		Data struct{ Run string }
	}
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	if err != nil {
		d.t.Errorf("%v: %s", err, body)
	}
	id, key := r.Header.Get("Webhook-Id"), m.Data.Run+" "+m.Type
	if d.keep(id, key, string(body)) {
		d.held <- struct{}{}
		<-r.Context().Done()
		return
	}
	w.WriteHeader(http.StatusNoContent)
	select {
	case d.heard <- struct{}{}:
	default:
	}
}

// keep records a message, and reports whether it must be left unanswered.
func (d *notificationReceiver) keep(id, key, body string) (hold bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if had, ok := d.bodies[id]; ok {
		d.repeats++
		if had != body {
			d.t.Errorf("another body under the id %s:\n%s\n%s", id, had, body)
		}
	}
	if had, ok := d.ids[key]; ok && had != id {
		d.t.Errorf("%s was told under two ids: %s, %s", key, had, id)
	}
	d.bodies[id], d.ids[key] = body, id
	hold, d.hold = d.hold, false
	d.answered[key] = d.answered[key] || !hold
	return hold
}

// waitKeys waits until all keys have been reported.
func (d *notificationReceiver) waitKeys(ctx context.Context, keys []string) {
	d.t.Helper()
	for {
		var missing []string
		d.mu.Lock()
		for _, k := range keys {
			if !d.answered[k] {
				missing = append(missing, k)
			}
		}
		d.mu.Unlock()
		if len(missing) == 0 {
			return
		}
		select {
		case <-d.heard:
		case <-ctx.Done():
			d.t.Fatalf("%d of %d were never told: %q", len(missing), len(keys), missing)
		}
	}
}

// deliver signs a delivery as a sender that implements Standard Webhooks does, and repeats it until
// it is answered, even if the server dies meanwhile.
func deliver(ctx context.Context, l *load, path, secret, id, body string) (run string, err error) {
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return "", err
	}
	for ctx.Err() == nil {
		now := time.Now()
		signature, err := hook.Sign(id, now, []byte(body))
		if err != nil {
			return "", err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, *l.url.Load()+path, strings.NewReader(body))
		if err != nil {
			return "", err
		}
		for name, value := range map[string]string{
			"Content-Type": "text/plain", "webhook-id": id, "webhook-timestamp": strconv.FormatInt(now.Unix(), 10),
			"webhook-signature": signature,
		} {
			req.Header.Set(name, value)
		}
		resp, err := client.Do(req)
		if err != nil {
			pause(ctx)
			continue
		}
		data, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode == http.StatusServiceUnavailable {
			pause(ctx)
			continue
		}
		var got struct{ Run string }
		if err := json.Unmarshal(data, &got); err != nil || resp.StatusCode != http.StatusAccepted {
			return "", fmt.Errorf("delivery %s: %d %s", id, resp.StatusCode, data)
		}
		return got.Run, nil
	}
	return "", ctx.Err()
}

// applyTo stores a document as a workflow.
func (l *load) applyTo(t *testing.T, id, document string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"id": id, "document": document})
	if err != nil {
		t.Fatal(err)
	}
	status, answer, err := l.do(t.Context(), http.MethodPost, "/api/v1/workflows", body)
	if err != nil || status != http.StatusCreated {
		t.Fatalf("apply %s: %d %s %v", id, status, answer, err)
	}
}

const (
	echoWorkflow = "name: echo\nagents:\n  Echo: {model: openai/echo, instruction: Repeat.}\nworkflow:\n  - {type: " +
		"agent, name: Echo}\n"
	gateWorkflow = `{"id": "gate", "nodes": [{"id": "s", "type": "start"}, {"id": "ok", "type": "approval", "data": ` +
		`{"prompt": "Shall this go out?"}}],
 "connections": [{"source": "s", "target": "ok"}]}`
)

// TestNotificationsSurviveKills kills the server again and again while runs end and waits open.
// Endpoints for the end of a run or a wait are notified of each, and a repeated message is
// identical and has the same id (P23, P34); webhook deliveries, which are sent until they are
// answered and then once more, start one run each (SEC18).
func TestNotificationsSurviveKills(t *testing.T) {
	random := randtest.New(t)
	d := &notificationReceiver{t: t, bodies: map[string]string{}, ids: map[string]string{}, answered: map[string]bool{},
		heard: make(chan struct{}, 1), held: make(chan struct{}, 1)}
	receiver := httptest.NewServer(d)
	defer receiver.Close()
	l := &load{home: t.TempDir(), runs: 1 << 30, calls: map[string]int{}, half: make(chan struct{})}
	l.model = modeltest.Start(t, l.answer)
	config := fmt.Sprintf("server:\n  notifications:\n    desk: {url: %s/in, secret: \"${env.DESK_SECRET}\", on: "+
		"[wait.opened, run.completed]}\n", receiver.URL)
	path := filepath.Join(l.home, "hocket.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"OPENAI_BASE_URL=" + l.model.BaseURL(), "OPENAI_API_KEY=k", "DESK_SECRET=" + notifySecret,
		"HOCKET_CONFIG=" + path}
	up := func() *process {
		p := serve(t, l.home, env)
		l.url.Store(&p.url)
		return p
	}
	p := up()
	l.applyTo(t, "echo", echoWorkflow)
	l.applyTo(t, "gate", gateWorkflow)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	status, made, err := l.do(ctx, http.MethodPost, "/api/v1/webhooks", []byte(`{"workflow": "echo"}`))
	var hook struct{ URL, Secret string }
	if err := json.Unmarshal(made, &hook); err != nil || status != http.StatusCreated {
		t.Fatal(status, string(made), err)
	}
	if err != nil {
		t.Fatal(err)
	}

	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		keys []string
		runs = map[string]bool{}
	)
	told := func(run, kind string) {
		mu.Lock()
		defer mu.Unlock()
		if runs[run] {
			t.Errorf("%s was started twice", run)
		}
		runs[run] = true
		keys = append(keys, run+" "+kind)
	}
	turns := make(chan struct{}, notifyRuns+waitRuns) // spreads starts over the kills
	hear := map[string]string{}                       // run of each delivery
	for i := range notifyRuns {
		wg.Go(func() {
			<-turns
			id, text := fmt.Sprintf("delivery_%d", i), fmt.Sprintf("run %d", i)
			run, err := deliver(ctx, l, hook.URL, hook.Secret, id, text)
			if err != nil {
				t.Error(err)
				return
			}
			told(run, "run.completed")
			mu.Lock()
			defer mu.Unlock()
			hear[id] = run
		})
	}
	for i := range waitRuns {
		wg.Go(func() {
			<-turns
			body := fmt.Appendf(nil, `{"workflow": "gate", "input": "%d"}`, i)
			status, data := l.insist(ctx, t, http.MethodPost, "/api/v1/runs", body, "Idempotency-Key",
				fmt.Sprintf("gate-%d", i))
			var run struct{ ID string }
			if err := json.Unmarshal(data, &run); err != nil || run.ID == "" {
				t.Errorf("start %d: %d %s %v", i, status, data, err)
				return
			}
			told(run.ID, "wait.opened")
		})
	}
	turn := func(n int) {
		for range n {
			turns <- struct{}{}
		}
	}
	const part = (notifyRuns + waitRuns) / (notifyKill + 1)
	for range notifyKill {
		d.mu.Lock()
		d.hold = true
		d.mu.Unlock()
		turn(part)
		select {
		case <-d.held: // a message is on its way
		case <-ctx.Done():
			t.Fatal("nothing is told")
		}
		alive := time.NewTimer(time.Duration(random.IntN(200)) * time.Millisecond)
		select {
		case <-alive.C:
		case <-ctx.Done():
			t.Fatal(ctx.Err())
		}
		p.kill()
		p = up()
	}
	turn(notifyRuns + waitRuns - notifyKill*part)
	wg.Wait()
	for id, run := range hear {
		again, err := deliver(ctx, l, hook.URL, hook.Secret, id, strings.Replace(id, "delivery_", "run ", 1))
		if err != nil || again != run {
			t.Errorf("%s started %s, and then %q: %v", id, run, again, err)
		}
	}
	d.waitKeys(ctx, keys)
	all := l.listed(ctx, t)
	if len(all) != notifyRuns+waitRuns {
		t.Errorf("%d runs, want %d", len(all), notifyRuns+waitRuns)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.ids) != len(keys) {
		t.Errorf("%d things were told, want %d", len(d.ids), len(keys))
	}
	if d.repeats < notifyKill {
		t.Errorf("%d messages came again, want the %d that were not answered", d.repeats, notifyKill)
	}
	t.Logf("%d kills, %d messages, %d of them again", notifyKill, len(d.bodies)+d.repeats, d.repeats)
}

// listed returns the ids of all runs.
func (l *load) listed(ctx context.Context, t *testing.T) []string {
	t.Helper()
	status, data := l.insist(ctx, t, http.MethodGet, "/api/v1/runs?limit=200", nil)
	var page struct {
		Items []struct{ ID string }
		Next  string
	}
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&page); err != nil || status != http.StatusOK ||
		page.Next != "" {
		t.Fatalf("%d %s %v", status, data, err)
	}
	var out []string
	for _, r := range page.Items {
		out = append(out, r.ID)
	}
	return out
}
