package postgres_test

import (
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/faultmatrix"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/store/postgres"
)

// TestMachineVanishes checks that the server notices when the machine of an owner is gone, both
// when it has nothing to send to it and when it is notifying it of what others store, in which case
// packets are never acknowledged and keep-alives are not sent. Others then claim the owner's runs.
func TestMachineVanishes(t *testing.T) {
	t.Parallel()
	faultmatrix.Proves(t, "vanished")
	server := pgtest.Start(t, pgtest.Config{TCP: true})
	for name, busy := range map[string]bool{"idle": false, "told of changes": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := server.TCP(t)
			proxy := pgtest.NewProxy(t, at.String())
			gone, err := postgres.Open(t.Context(), postgres.Config{URL: proxy.URL(), Kind: journal.KindRun})
			if err != nil {
				t.Fatal(err)
			}
			defer gone.Close()
			other := open(t, at.String())
			defer gone.Subscribe(make(chan struct{}, 1), journal.OfRequests())()
			for _, a := range story("r")[:2] {
				if err := gone.Append(t.Context(), a); err != nil {
					t.Fatal(err)
				}
			}
			if err := proxy.Vanish(); err != nil {
				t.Fatal(err)
			}
			defer func() { // lets gone be closed
				proxy.Reset()
				proxy.Release()
			}()
			if busy {
				for _, a := range story("other") { // storing it sends notifications
					if err := other.Append(t.Context(), a); err != nil {
						t.Fatal(err)
					}
				}
			}
			began := time.Now()
			for alive := true; alive; time.Sleep(100 * time.Millisecond) {
				if time.Since(began) > time.Minute {
					t.Fatal("the owner lives a minute after its machine vanished")
				}
				if alive, err = other.Alive(t.Context(), gone.Owner().ID); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("seen after %s", time.Since(began).Round(100*time.Millisecond))
			if _, err := other.Claim(t.Context(), "r"); err != nil {
				t.Error(err)
			}
		})
	}
}
