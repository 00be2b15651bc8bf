package hooks_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/api/hooks"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/service"
)

// handlerTransport passes requests to a handler, without a connection.
type handlerTransport struct{ http.Handler }

func (d handlerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	d.ServeHTTP(rec, r)
	return rec.Result(), nil
}

// TestNotifier_Reminder checks that another notification is sent for a wait that has had no answer
// for the operator's interval, and none for an answered one (P23, P24).
func TestNotifier_Reminder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{t: t, received: make(chan struct{}, 1000), answer: func(int) int { return 204 }}
		e, err := hooks.OperatorEndpoint(hooks.Endpoint{Name: "ops", URL: "http://127.0.0.1/in",
			On: []hooks.Type{hooks.TypeWaitOpened, hooks.TypeWaitReminded}, ApproveLinks: true}, "${env.NOTIFY}")
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: handlerTransport{r}}
		w := newWorld(t, setup{
			config: hooks.Config{Endpoints: []hooks.Endpoint{e}, Operator: client, Guarded: client, PublicURL: public},
			cfg: service.Config{Documents: linked.Kit(), Operator: &config.Config{
				Server: config.Server{Reminders: config.Reminders{After: config.Duration(time.Hour)}},
			}},
		})
		w.env["NOTIFY"] = operatorSecret
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.service.Maintain(ctx)
		}()
		stop := w.serve(t)
		defer func() {
			stop()
			cancel()
			<-done
		}()
		run, answered := w.start(gate, "json", "", "x"), w.start(gate, "json", "", "y")
		time.Sleep(59 * time.Minute)
		if types := typesOf(r); !slices.Equal(types[run], []string{"wait.opened"}) {
			t.Errorf("before: %v", types)
		}
		path := w.link(answered)
		if rec := send(w.hooks.Approve(), "POST", path, form(path, "decision", "approve"),
			fromPage...); rec.Code != http.StatusOK {
			t.Fatal(rec.Code, rec.Body)
		}
		time.Sleep(3 * time.Hour)
		types := typesOf(r)
		if !slices.Equal(types[run], []string{"wait.opened", "wait.reminded"}) ||
			!slices.Equal(types[answered], []string{"wait.opened"}) {
			t.Errorf("after: %v", types)
		}
		last := r.got[len(r.got)-1]
		if last.Data.Run != run || last.Data.Wait.Node != "ok" || last.Data.Wait.Kind != "approval" ||
			last.Data.Status != "paused" || last.Data.Links.Approve == "" {
			t.Errorf("%s", last.Body)
		}
	})
}

// typesOf returns the notification types of each run, in order.
func typesOf(r *receiver) map[string][]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string][]string{}
	for _, m := range r.got {
		out[m.Data.Run] = append(out[m.Data.Run], m.Type)
	}
	return out
}
