package resources

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/price"
	"github.com/hocket-run/hocket/internal/ratelimit"
	"github.com/hocket-run/hocket/internal/secret"
	"github.com/hocket-run/hocket/workflow"
)

// slow replies after a while, and sends heartbeats in the meantime.
type slow time.Duration

func (s slow) Call(ctx context.Context, _ model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	end := time.NewTimer(time.Duration(s))
	defer end.Stop()
	alive := time.NewTicker(time.Minute)
	defer alive.Stop()
	for {
		select {
		case <-end.C:
			return model.Reply{Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText("done")}}, nil
		case <-alive.C:
			onDelta(model.Delta{})
		case <-ctx.Done():
			return model.Reply{}, ctx.Err()
		}
	}
}

// P11: the limit of a node applies, whether longer or shorter than the default; without one the
// default applies.
func TestModelCallLimit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		limit, takes, ends time.Duration
		code               string
	}{
		"longer than the default":  {time.Hour, 40 * time.Minute, 40 * time.Minute, ""},
		"shorter than the default": {time.Minute, 2 * time.Minute, time.Minute, event.CodeTimeout},
		"default":                  {0, time.Hour, model.DefaultTotalTimeout, event.CodeTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := newOpener(Config{
					Env: func(name string) string { return map[string]string{"OPENAI_API_KEY": "k-1234"}[name] },
					Adapters: map[model.Protocol]model.Factory{
						model.ProtocolOpenAI: func(model.Endpoint) (model.Client, error) { return slow(tt.takes), nil },
					},
				})
				kit := &driver.RunResources{Models: k.registry(&workflow.Workflow{}, false)}
				began := time.Now()
				res := kit.CallModel(t.Context(), &driver.Info{},
					&engine.CallModel{ID: "1", Model: "openai/m", Timeout: tt.limit}, nil)
				if got := time.Since(began); got != tt.ends {
					t.Errorf("the call ended after %s; want %s", got, tt.ends)
				}
				code := ""
				if res.Failure != nil {
					code = res.Failure.Code
				}
				if code != tt.code {
					t.Errorf("got code %q (%+v); want %q", code, res.Failure, tt.code)
				}
			})
		})
	}
}

// TestAdapters_SharedByRuns checks that runs share the adapters of an endpoint, and with them its
// connections; a different key makes a different endpoint.
func TestAdapters_SharedByRuns(t *testing.T) {
	t.Parallel()
	key, made, failing := "k-1", 0, true
	k := newOpener(Config{
		Env: func(name string) string { return map[string]string{"OPENAI_API_KEY": key}[name] },
		Adapters: map[model.Protocol]model.Factory{
			model.ProtocolOpenAI: func(model.Endpoint) (model.Client, error) {
				if failing {
					return nil, errors.New("not today")
				}
				made++
				return slow(0), nil
			},
		},
	})
	check := func() error { return k.registry(&workflow.Workflow{}, false).Check("openai/m") }
	if check() == nil {
		t.Error("an adapter that cannot be made was given")
	}
	failing = false
	for range 3 {
		if err := check(); err != nil {
			t.Fatal(err)
		}
	}
	if made != 1 {
		t.Errorf("%d adapters were made for one endpoint", made)
	}
	for i := range 2 * maxAdapters {
		key = fmt.Sprint("k-", i)
		if err := check(); err != nil {
			t.Fatal(err)
		}
	}
	if made != 2*maxAdapters {
		t.Errorf("%d adapters were made for %d endpoints", made, 2*maxAdapters)
	}
}

// newOpener returns an Opener with a test's configuration, and without an operator if it names
// none.
func newOpener(cfg Config) *Opener {
	if cfg.Operator == nil {
		cfg.Operator = &config.Config{}
	}
	cfg.Keeper, cfg.Logger, cfg.Prices, cfg.Limiters = &secret.Keeper{}, slog.New(slog.DiscardHandler), price.Default(),
		&ratelimit.Set{}
	cfg.Adapters = SharedAdapters(cfg.Adapters, cfg.Operator, cfg.Keeper)
	return New(cfg)
}
