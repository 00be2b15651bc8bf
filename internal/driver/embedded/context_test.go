package embedded

import (
	"context"
	"errors"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/hocket-run/hocket/internal/randtest"
)

// TestCallContext checks that a call's context behaves like one of package context, whichever
// method is called and when.
func TestCallContext(t *testing.T) {
	t.Parallel()
	type key struct{}
	same := func(a, b error) bool { return errors.Is(a, b) && errors.Is(b, a) }
	rapid.Check(t, func(rt *rapid.T) {
		above, stop := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
		defer stop(nil)
		plain, cancel := context.WithCancelCause(above)
		defer cancel(nil)
		lazy := &callContext{parent: above}
		defer lazy.end(nil)
		var belowPlain, belowLazy []context.Context
		check := func() {
			closed := func(c context.Context) bool {
				select {
				case <-c.Done():
					return true
				default:
					return false
				}
			}
			if !same(lazy.Err(), plain.Err()) || lazy.Value(key{}) != "value" ||
				!same(context.Cause(lazy), context.Cause(plain)) {
				rt.Fatalf("err %v, cause %v; want %v, %v", lazy.Err(), context.Cause(lazy), plain.Err(),
					context.Cause(plain))
			}
			for i := range belowLazy {
				<-belowPlain[i].Done()
				<-belowLazy[i].Done()
				if !same(context.Cause(belowLazy[i]), context.Cause(belowPlain[i])) {
					rt.Fatalf("below: %v, want %v", context.Cause(belowLazy[i]), context.Cause(belowPlain[i]))
				}
			}
			if rapid.Bool().Draw(rt, "ask for Done") && closed(lazy) != closed(plain) {
				rt.Fatal("one is done, the other not")
			}
		}
		var pending [2][]context.Context
		rt.Repeat(map[string]func(*rapid.T){
			"derive": func(*rapid.T) {
				a, cancelA := context.WithCancel(plain)
				b, cancelB := context.WithCancel(lazy)
				t.Cleanup(cancelA)
				t.Cleanup(cancelB)
				pending[0], pending[1] = append(pending[0], a), append(pending[1], b)
			},
			"end":       func(*rapid.T) { cancel(nil); lazy.end(nil) },
			"end with":  func(*rapid.T) { err := errors.New("why"); cancel(err); lazy.end(err) },
			"end above": func(*rapid.T) { stop(errors.New("above")) },
			"": func(*rapid.T) {
				if plain.Err() != nil {
					belowPlain, belowLazy = pending[0], pending[1]
				}
				check()
			},
		})
	})
}
