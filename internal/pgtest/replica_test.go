package pgtest

import (
	"testing"
)

// TestReplica checks that a copy follows its server, that commits wait for it if requested, and
// that it is writable after it was promoted.
func TestReplica(t *testing.T) {
	t.Parallel()
	first := Start(t, Config{})
	at := first.URL(t)
	do(t, Connect(t, at), "CREATE TABLE public.numbers (n int)")
	second := first.Replica(t)
	first.Await(t, true)
	do(t, Connect(t, at), "INSERT INTO public.numbers VALUES (1)")
	hosts := first.Hosts(t, at, second)
	if !one[bool](t, Connect(t, second.url(User, Name, "")), "SELECT pg_is_in_recovery()") {
		t.Error("the copy does not follow")
	}
	if one[bool](t, Connect(t, hosts), "SELECT pg_is_in_recovery()") {
		t.Error("of both the copy was chosen")
	}
	first.Stop(t, Kill)
	second.Promote(t)
	c := Connect(t, hosts)
	do(t, c, "INSERT INTO public.numbers VALUES (2)")
	if n := one[int](t, c, "SELECT count(*)::int FROM public.numbers"); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
}

// TestHoldAnswers checks that what the client sends reaches the server, whose answers are held.
func TestHoldAnswers(t *testing.T) {
	t.Parallel()
	at := URL(t)
	p := NewProxy(t, at)
	c, direct := Connect(t, p.URL()), Connect(t, at)
	do(t, direct, "CREATE TABLE public.held (n int)")
	defer do(t, direct, "DROP TABLE public.held")
	p.HoldAnswersFrom("INSERT INTO public.held")
	done := make(chan error, 1)
	go func() {
		_, err := c.Exec(t.Context(), "INSERT INTO public.held VALUES (1)")
		done <- err
	}()
	for n := 0; n == 0; {
		n = one[int](t, direct, "SELECT count(*)::int FROM public.held")
	}
	for !p.Holds("INSERT 0 1") {
		do(t, direct, "SELECT")
	}
	select {
	case err := <-done:
		t.Errorf("an answer while answers are held: %v", err)
	default:
	}
	p.Release()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
