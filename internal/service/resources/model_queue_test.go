package resources

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/ratelimit"
	"github.com/hocket-run/hocket/workflow"
)

// TestOperatorRates (P14) checks that the calls that use a provider's key wait as the operator
// configured, across all runs, and that the program's settings take precedence.
func TestOperatorRates(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		operator string
		program  map[string]ratelimit.Limits
		atLeast  time.Duration
	}{
		"nothing":             {"{}", nil, 0},
		"requests_per_minute": {"{requests_per_minute: 30}", nil, 4 * time.Second},
		"tokens_per_minute":   {"{tokens_per_minute: 60000}", nil, 30 * time.Second},
		"the program's": {"{requests_per_minute: 1}",
			map[string]ratelimit.Limits{"openai": {RequestsPerMinute: 60000}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			operator, problems := config.Read("hocket.yaml", []byte("providers: {openai: "+tt.operator+"}"))
			if problems.HasErrors() {
				t.Fatal(problems)
			}
			synctest.Test(t, func(t *testing.T) {
				k := newOpener(Config{Operator: operator, RateLimits: tt.program, Env: func(name string) string {
					return map[string]string{"OPENAI_API_KEY": "k-1234"}[name]
				}})
				began := time.Now()
				for range 3 {
					// Each run has its own registry and turn: the queue belongs to the process.
					turn := k.admit(k.registry(&workflow.Workflow{}, false), "")(&driver.Info{},
						&engine.CallModel{Model: "openai/m"})
					for started := false; !started; started = turn.Start() {
						if err := turn.Ready(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
					turn.Done(engine.ModelResult{Usage: &chat.Usage{InputTokens: 50_000, OutputTokens: 10_000}})
				}
				if took := time.Since(began); took < tt.atLeast || tt.atLeast == 0 && took > time.Second {
					t.Errorf("three calls took %s, want at least %s", took, tt.atLeast)
				}
			})
		})
	}
	k := newOpener(Config{Env: func(string) string { return "" }})
	if turn := k.admit(k.registry(&workflow.Workflow{}, false), "")(&driver.Info{},
		&engine.CallModel{Model: "no such/model"}); turn != nil {
		t.Error("a model that is none has a turn")
	}
}

// TestSharedRates (P14) checks that processes on one store share the rate of a key; other keys are
// separate.
func TestSharedRates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := journal.NewMemory()
		var wg sync.WaitGroup
		var calls atomic.Int64
		process := func(key string) {
			handle := store.Open(journal.KindServe)
			k := newOpener(Config{
				Lines: handle, RateLimits: map[string]ratelimit.Limits{"openai": {RequestsPerMinute: 60}},
				Env: func(name string) string { return map[string]string{"OPENAI_API_KEY": key}[name] },
			})
			admit := k.admit(k.registry(&workflow.Workflow{}, false), "")
			wg.Go(func() {
				defer handle.Close()
				for range 20 {
					turn := admit(&driver.Info{}, &engine.CallModel{Model: "openai/m"})
					for started := false; !started; started = turn.Start() {
						if err := turn.Ready(t.Context()); err != nil {
							t.Error(err)
						}
					}
					calls.Add(1)
					turn.Done(engine.ModelResult{})
				}
			})
		}
		for range 3 {
			process("k-1234")
		}
		began := time.Now()
		time.Sleep(30 * time.Second)
		if n := calls.Load(); n < 30 || n > 33 { // 30, plus one concurrent call per process
			t.Errorf("%d calls in 30 s at 60 a minute", n)
		}
		process("k-5678")
		time.Sleep(10 * time.Second)
		if n := calls.Load(); n < 50 || n > 54 {
			t.Errorf("%d calls in 40 s, of which 10 with a second key", n)
		}
		wg.Wait()
		if took := time.Since(began); took > 65*time.Second {
			t.Errorf("60 calls took %s", took)
		}
	})
}
