package inflight_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/inflight"
	_ "github.com/hocket-run/hocket/internal/randtest"
)

func fits(held, n, limit int64) bool { return limit == 0 || held+n <= limit }

// fitsShare reports whether a claim of size held, of a holder with by in all, may take n more. A claim
// that Reserve let exceed the share is the only one of its holder.
func fitsShare(held, by, n, share int64) bool { return share > 0 && held > share || fits(by, n, share) }

// TestPoolAgainstModel checks SEC17: the bytes in use are the sum of the claims, no holder exceeds
// the share but by the reserved work of one claim, all holders together do not exceed the total,
// and a rejected request changes nothing.
func TestPoolAgainstModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cfg := inflight.Config{Total: rapid.Int64Range(0, 100).Draw(t, "total"),
			Share: rapid.Int64Range(0, 60).Draw(t, "share")}
		p := inflight.New(cfg)
		type one struct {
			claim  *inflight.Claim
			holder string
			held   int64
			closed bool
		}
		var all []*one
		sums := func() (total int64, by map[string]int64) {
			by = map[string]int64{}
			for _, o := range all {
				total += o.held
				by[o.holder] += o.held
			}
			return total, by
		}
		holding := func(holder string) (claims int) {
			for _, o := range all {
				if o.holder == holder && o.held > 0 {
					claims++
				}
			}
			return claims
		}
		holder := rapid.SampledFrom([]string{"a", "b", "c"})
		pick := func(t *rapid.T) *one {
			if len(all) == 0 {
				t.Skip("no claim")
			}
			return rapid.SampledFrom(all).Draw(t, "claim")
		}
		t.Repeat(map[string]func(*rapid.T){
			"claim": func(t *rapid.T) {
				h := holder.Draw(t, "holder")
				all = append(all, &one{claim: p.Claim(h), holder: h})
			},
			"take": func(t *rapid.T) {
				o, n := pick(t), rapid.Int64Range(-1, 40).Draw(t, "n")
				total, by := sums()
				err := o.claim.Take(n)
				inShare := fitsShare(o.held, by[o.holder], n, cfg.Share)
				want := o.closed || n <= 0 || inShare && fits(total, n, cfg.Total)
				if (err == nil) != want {
					t.Fatalf("take %d of %s with %d and %d held: %v", n, o.holder, by[o.holder], total, err)
				}
				if full, ok := errors.AsType[*inflight.FullError](err); err != nil &&
					(!ok || full.OfHolder == inShare || full.RetryAfter <= 0) {
					t.Fatalf("refused with %#v", err)
				}
				if err == nil && !o.closed {
					o.held += max(0, n)
				}
			},
			"reserve": func(t *rapid.T) {
				o, n := pick(t), rapid.Int64Range(-1, 80).Draw(t, "n")
				total, by := sums()
				if cfg.Total > 0 {
					n = min(n, cfg.Total/2-o.held)
				}
				err := o.claim.Reserve(n)
				want := o.closed || n <= 0 || fits(total, n, cfg.Total) &&
					(by[o.holder] == o.held || fits(by[o.holder], n, cfg.Share))
				if (err == nil) != want {
					t.Fatalf("reserve %d of %s with %d and %d held: %v", n, o.holder, by[o.holder], total, err)
				}
				if err == nil && !o.closed {
					o.held += max(0, n)
				}
			},
			"give": func(t *rapid.T) {
				o, n := pick(t), rapid.Int64Range(-1, 40).Draw(t, "n")
				o.claim.Give(n)
				o.held -= min(o.held, max(0, n))
			},
			"rename": func(t *rapid.T) {
				o, h := pick(t), holder.Draw(t, "holder")
				_, by := sums()
				want := o.closed || h == o.holder || fits(by[h], o.held, cfg.Share)
				if err := o.claim.Rename(h); (err == nil) != want {
					t.Fatalf("rename: %v", err)
				}
				if want && !o.closed {
					o.holder = h
				}
			},
			"close": func(t *rapid.T) {
				o := pick(t)
				o.claim.Close()
				o.held, o.closed = 0, true
			},
			"": func(t *rapid.T) {
				total, by := sums()
				if now, peak := p.InUse(); now != total || peak < now || cfg.Total > 0 && peak > cfg.Total {
					t.Fatalf("%d held with a peak of %d, the claims hold %d", now, peak, total)
				}
				for h, n := range by {
					if claims := holding(h); cfg.Share > 0 && n > cfg.Share && claims != 1 {
						t.Fatalf("%s holds %d with %d claims", h, n, claims)
					}
				}
				for _, o := range all {
					if o.claim.Bytes() != o.held {
						t.Fatalf("a claim holds %d, want %d", o.claim.Bytes(), o.held)
					}
				}
			},
		})
	})
}

// TestTake_Overflow checks that a claim too large to count is rejected rather than treated as
// a negative number.
func TestTake_Overflow(t *testing.T) {
	t.Parallel()
	c := inflight.New(inflight.Config{Total: math.MaxInt64, Share: math.MaxInt64}).Claim("a")
	if err := c.Take(math.MaxInt64 - 1); err != nil {
		t.Fatal(err)
	}
	if err := c.Take(math.MaxInt64 - 1); err == nil {
		t.Error("it was taken")
	}
}

// TestConcurrentClaims checks that the claims of many goroutines never exceed the budget and leave
// nothing behind.
func TestConcurrentClaims(t *testing.T) {
	t.Parallel()
	p := inflight.New(inflight.Config{Total: 1000, Share: 600})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 500 {
				c := p.Claim(string(rune('a' + i%2)))
				for range 5 {
					_ = c.Take(97)
				}
				c.Close()
			}
		})
	}
	all.Wait()
	if now, peak := p.InUse(); now != 0 || peak > 1000 || peak == 0 {
		t.Errorf("%d held, peak %d", now, peak)
	}
	if !p.Freed(1000) || p.Freed(1) {
		t.Error("what was given back is not counted once")
	}
}

// TestNoClaim checks that a context without a claim has no limit.
func TestNoClaim(t *testing.T) {
	t.Parallel()
	c := inflight.From(context.Background())
	if err := c.Take(1 << 60); err != nil || c.Bytes() != 0 || c.Rename("a") != nil {
		t.Errorf("%v", err)
	}
	c.Give(1)
	c.Close()
	mine := inflight.New(inflight.Config{}).Claim("a")
	if inflight.From(inflight.With(context.Background(), mine)) != mine {
		t.Error("the claim was lost")
	}
}
