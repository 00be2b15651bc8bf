package program_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/hocket-run/hocket/internal/driver"
	driverprogram "github.com/hocket-run/hocket/internal/driver/program"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/program"
)

// book records notes, or returns its error.
type book struct {
	driver.NoCaller
	mu    sync.Mutex
	notes []engine.FuncNote
	err   error
}

func (b *book) Record(n engine.FuncNote) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.notes = append(b.notes, n)
	}
	return b.err
}

// substepCaller calls fn as a node function with the notes of earlier attempts.
func substepCaller(ctx context.Context, b *book, former []loop.Note,
	fn func(context.Context, program.Notes)) engine.FuncResult {
	p := driverprogram.New(&program.Table{Calls: map[string]func(context.Context, program.Call) program.Result{
		"f": func(ctx context.Context, c program.Call) program.Result {
			fn(ctx, c.Caller.Notes())
			return program.Result{Output: program.Value("1")}
		},
	}})
	c := &engine.CallFunc{ID: "1.0.1#2", Func: "f", Notes: former}
	if b == nil {
		return p.Call(ctx, "r", c, nil)
	}
	return p.Call(ctx, "r", c, b)
}

// step is the function of a sub-step.
type step = func(context.Context, program.Caller) (program.Value, error)

func gives(v string) step {
	return func(context.Context, program.Caller) (program.Value, error) { return program.Value(v), nil }
}

func wantNote(t *testing.T, n program.Notes, ctx context.Context, key string, fn step, want string) {
	t.Helper()
	if v, err := n.Once(ctx, key, fn); err != nil || string(v) != want {
		t.Errorf("%s gave %s, %v; want %s", key, v, err, want)
	}
}

func wantRefused(t *testing.T, n program.Notes, ctx context.Context, key string, fn step, want error, text string) {
	t.Helper()
	if v, err := n.Once(ctx, key, fn); v != nil || !errors.Is(err, want) || !strings.Contains(fmt.Sprint(err), text) {
		t.Errorf("%s gave %s, %v; want %v with %q", key, v, err, want, text)
	}
}

// TestNotes checks that notes of earlier attempts are available, that new ones are recorded under
// the id of this attempt, and that both are available from then on (ADR 12).
func TestNotes(t *testing.T) {
	t.Parallel()
	b := &book{}
	never := func(context.Context, program.Caller) (program.Value, error) {
		t.Error("called though its note is there")
		return nil, nil
	}
	substepCaller(t.Context(), b, []loop.Note{{Key: "old", Value: event.Value("7")}, {Key: "null"}},
		func(ctx context.Context, n program.Notes) {
			wantNote(t, n, ctx, "old", never, "7")
			wantNote(t, n, ctx, "null", never, "")
			wantNote(t, n, ctx, "outer", func(ctx context.Context, c program.Caller) (program.Value, error) {
				n := c.Notes()
				wantNote(t, n, ctx, "inner", gives("1"), "1")
				wantNote(t, n, ctx, "old", never, "7")
				wantRefused(t, n, ctx, "outer", never, loop.ErrNote,
					`sub-step "outer": note refused: it is nested in another one with this key`)
				return program.Value("2"), nil
			}, "2")
			wantNote(t, n, ctx, "inner", never, "1")
			wantNote(t, n, ctx, "outer", never, "2")
			wantRefused(t, n, ctx, "", never, loop.ErrNote, "the key is empty")
		})
	if got, want := fmt.Sprintf("%s", b.notes), "[{1.0.1#2 inner 1} {1.0.1#2 outer 2}]"; got != want {
		t.Errorf("recorded %s, want %s", got, want)
	}
}

// TestNotes_Refused checks that rejections by the engine are returned, and that the error is
// a cancelled context's when the call no longer belongs to this process (ADR 12).
func TestNotes_Refused(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	substepCaller(t.Context(), &book{err: fmt.Errorf("%w: so many", loop.ErrNote)}, nil,
		func(ctx context.Context, n program.Notes) {
			wantRefused(t, n, ctx, "a", gives("1"), loop.ErrNote, "so many")
			wantRefused(t, n, ctx, "a", gives("1"), loop.ErrNote, "so many") // it was not recorded here either
			wantRefused(t, n, ctx, "a", func(context.Context, program.Caller) (program.Value, error) {
				return nil, broken
			},
				broken, "broken")
		})
	substepCaller(t.Context(), &book{err: engine.ErrNoteLate}, nil, func(ctx context.Context, n program.Notes) {
		wantRefused(t, n, ctx, "a", gives("1"), context.Canceled, "no longer accepts notes")
	})
	substepCaller(t.Context(), nil, nil, func(ctx context.Context, n program.Notes) {
		wantRefused(t, n, ctx, "a", gives("1"), loop.ErrNote, "notes cannot be recorded here")
	})
	ctx, cancel := context.WithCancel(t.Context())
	b := &book{}
	substepCaller(ctx, b, []loop.Note{{Key: "old"}}, func(ctx context.Context, n program.Notes) {
		wantNote(t, n, ctx, "a", func(context.Context, program.Caller) (program.Value, error) {
			cancel()
			return program.Value("1"), nil // work already done is recorded
		}, "1")
		b.err = broken
		wantRefused(t, n, ctx, "old", gives("1"), context.Canceled, "context canceled")
		wantRefused(t, n, context.WithoutCancel(ctx), "b", gives("1"), context.Canceled, "context canceled")
	})
	if len(b.notes) != 1 {
		t.Errorf("recorded %v", b.notes)
	}
}

// TestNotes_Concurrent checks concurrent calls with one key: one does the work, and the others
// receive its result, which is a value, an error, or the report of a panic (ADR 12).
func TestNotes_Concurrent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fn      func()
		err     error
		want    string
		failure string
	}{
		"value": {func() {}, nil, "1 <nil>", ""},
		"error": {func() {}, errors.New("broken"), " broken", ""},
		"panic": {func() { panic("oops") }, nil, ` sub-step "k" panicked: oops`, `sub-step "k" panicked: oops`},
		"exit":  {runtime.Goexit, nil, ` sub-step "k" did not return`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := &book{}
				calls := 0
				r := substepCaller(t.Context(), b, nil, func(ctx context.Context, n program.Notes) {
					release := make(chan struct{})
					once := func(ctx context.Context) string {
						v, err := n.Once(ctx, "k", func(context.Context, program.Caller) (program.Value, error) {
							calls++
							<-release
							tc.fn()
							return program.Value("1"), tc.err
						})
						return fmt.Sprintf("%s %v", v, err)
					}
					got := make(chan string, 5)
					for range 5 {
						go func() { got <- once(ctx) }()
					}
					synctest.Wait()
					impatient, cancel := context.WithCancel(ctx)
					left := make(chan string, 1)
					go func() { left <- once(impatient) }()
					synctest.Wait()
					cancel()
					if why := <-left; why != " context canceled" {
						t.Errorf("who did not wait got %q", why)
					}
					close(release)
					answers := 5
					if name == "exit" {
						answers = 4
					}
					for range answers {
						if v := <-got; v != tc.want {
							t.Errorf("got %q, want %q", v, tc.want)
						}
					}
				})
				if want := map[bool]int{true: 1}[name == "value"]; calls != 1 || len(b.notes) != want {
					t.Errorf("%d calls, %d notes", calls, len(b.notes))
				}
				if (r.Failure != nil) != (tc.failure != "") || r.Failure != nil && r.Failure.Message != tc.failure {
					t.Errorf("the attempt gave %+v", r)
				}
			})
		})
	}
}

// TestNotes_AfterReturn checks that a sub-step that continues after its function has returned gets
// the context's error, whatever context it received.
func TestNotes_AfterReturn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var late program.Notes
		substepCaller(ctx, &book{}, nil, func(_ context.Context, n program.Notes) { late = n })
		cancel() // as the driver does when the function returns
		wantRefused(t, late, t.Context(), "k", gives("1"), context.Canceled, "")
	})
}
