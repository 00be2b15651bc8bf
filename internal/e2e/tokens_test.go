//go:build unix

package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"testing"
)

// TestWrongTokens checks that wrong tokens from an address that everyone shares, as behind a proxy,
// lock out no valid token, not even one that the server has never seen (SEC17). Behind a trusted
// proxy, wrong tokens are counted per client.
func TestWrongTokens(t *testing.T) {
	attacks := size(t, "HOCKET_LOAD_TOKENS", 200)
	w := newWorld(t, "server: {limits: {failures: 20}, trustedProxies: [127.0.0.1, '::1']}\n")
	before := w.p.rss()
	var (
		mu       sync.Mutex
		statuses = map[int]int{}
		all      sync.WaitGroup
	)
	attack := func(n int, header ...string) map[int]int {
		for i := range 8 {
			all.Go(func() {
				for range n / 8 {
					a := w.do("GET", "/api/v1/runs", "",
						append(header, "Authorization", fmt.Sprintf("Bearer hk_%043d", i))...)
					mu.Lock()
					statuses[a.status]++
					mu.Unlock()
				}
			})
		}
		right := 0
		for i := range 10 { // during the attack
			var made struct{ Token string }
			text := w.do("POST", "/api/v1/tokens", fmt.Sprintf(`{"name": "t%d", "role": "run"}`, i), header...).is(
				http.StatusCreated).body
			if err := json.Unmarshal([]byte(text), &made); err != nil || made.Token == "" {
				t.Fatalf("no token: %v %s", err, text)
			}
			w.do("GET", "/api/v1/runs", "", append(header, "Authorization", "Bearer "+made.Token)...).is(http.StatusOK)
			right++
		}
		all.Wait()
		mu.Lock()
		defer mu.Unlock()
		got := maps.Clone(statuses)
		clear(statuses)
		t.Logf("%d wrong tokens %v: answers %v; %d right tokens that were new were let in; memory %d MiB before, %d "+
			"MiB after", n/8*8, header, got, right, before, w.p.rss())
		return got
	}
	// A minute after the first wrong token the next twenty are checked; on a slow machine that
	// happens within the test.
	if got := attack(attacks); got[401] < 20 || got[429] == 0 || got[401]+got[429] != attacks/8*8 {
		t.Errorf("without a proxy: %v", got)
	}
	if got := attack(attacks, "X-Forwarded-For", "192.0.2.1, 198.51.100.1"); got[401] < 20 || got[429] == 0 {
		t.Errorf("behind a proxy: %v", got)
	}
	if a := w.do("GET", "/api/v1/runs", "", "X-Forwarded-For", "198.51.100.2", "Authorization",
		"Bearer wrong"); a.status != http.StatusUnauthorized {
		t.Errorf("another client: %d", a.status)
	}
}
