package pgtest

import (
	"testing"
)

// TestVanish checks that a server that probes a vanished client gets no answer, and ends the
// session with its locks.
func TestVanish(t *testing.T) {
	t.Parallel()
	server := Start(t, Config{TCP: true})
	at := server.TCP(t)
	p := NewProxy(t, at.String())
	c := Connect(t, p.URL())
	do(t, c, "SET tcp_keepalives_idle = 1; SET tcp_keepalives_interval = 1; SET tcp_keepalives_count = 1; SELECT "+
		"pg_advisory_lock(1)")
	other := Connect(t, at.String())
	if one[bool](t, other, "SELECT pg_try_advisory_lock(1)") {
		t.Fatal("the lock is free")
	}
	if err := p.Vanish(); err != nil {
		t.Fatal(err)
	}
	do(t, other, "SELECT pg_advisory_lock(1)") // returns when the session has ended
}
