package inflight

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Config holds the size limits of a Pool in bytes. Values of 0 or less mean no limit.
type Config struct {
	// Total is the limit for all holders together, Share the limit for each holder.
	Total, Share int64
}

// Pool is the budget of a process. It is safe for concurrent use.
type Pool struct {
	cfg Config

	mu                 sync.Mutex
	bytes              int64
	peak               int64
	releasedSinceCheck int64 // released since Freed last returned true
	holders            map[string]int64
}

// New returns a pool without claims.
func New(cfg Config) *Pool {
	return &Pool{cfg: cfg, holders: map[string]int64{}}
}

// Config returns the limits of the pool.
func (p *Pool) Config() Config { return p.cfg }

// InUse returns the number of bytes that claims hold now, and the peak.
func (p *Pool) InUse() (now, peak int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes, p.peak
}

// Freed reports whether at least n bytes have been released since it last returned true; it then
// resets its count to 0.
func (p *Pool) Freed(n int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.releasedSinceCheck < n {
		return false
	}
	p.releasedSinceCheck = 0
	return true
}

// Claim returns an empty claim for a holder. The caller must close it.
func (p *Pool) Claim(holder string) *Claim {
	return &Claim{pool: p, holder: holder}
}

// retryAfter is how long a client should wait before retrying. Claims are closed within seconds:
// stalled bodies are cut off.
const retryAfter = 5 * time.Second

// FullError is returned when a byte budget is used up. The request can be retried later.
type FullError struct {
	// OfHolder reports whether the holder's share is used up. Otherwise the budget of the process
	// is.
	OfHolder bool
	// Max is the limit and Wanted the requested amount, both in bytes.
	Max, Wanted int64
	// RetryAfter is how long the client should wait.
	RetryAfter time.Duration
}

func (e *FullError) Error() string {
	if e.OfHolder {
		return fmt.Sprintf("the requests and responses of this token use all of its share of %d bytes (server: "+
			"{limits: {tokenInFlight: …}})", e.Max)
	}
	return fmt.Sprintf("the requests and responses in progress use all of the server's budget of %d bytes (server: "+
		"{limits: {inFlight: …}})", e.Max)
}

// Claim is the part of a pool that one request holds. A nil Claim has no limit. It is safe for
// concurrent use.
type Claim struct {
	pool *Pool

	// Guarded by pool.mu.
	holder string
	bytes  int64
	closed bool
}

// Take charges n more bytes. It returns a *FullError if they do not fit, and then charges nothing.
// After a Reserve that exceeded the share, only the budget of the process counts: the request can
// then respond. A closed claim charges nothing and returns no error: its request has ended.
func (c *Claim) Take(n int64) error {
	if c == nil || n <= 0 {
		return nil
	}
	p := c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case c.closed:
		return nil
	case c.bytes <= p.cfg.Share && exceeds(p.holders[c.holder], n, p.cfg.Share):
		return &FullError{OfHolder: true, Max: p.cfg.Share, Wanted: n, RetryAfter: retryAfter}
	case exceeds(p.bytes, n, p.cfg.Total):
		return &FullError{Max: p.cfg.Total, Wanted: n, RetryAfter: retryAfter}
	}
	c.add(n)
	return nil
}

// Reserve charges n bytes for work that needs them at once, such as reading a large document.
// Unlike Take it does not reject forever what is larger than the budget: a claim has at most half
// of the budget by it, and more than the share if the holder has no other claims with bytes, so
// that large work is done alone rather than never. Errors are those of Take.
func (c *Claim) Reserve(n int64) error {
	if c == nil || n <= 0 {
		return nil
	}
	p := c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cfg.Total > 0 {
		n = min(n, p.cfg.Total/2-c.bytes)
	}
	switch alone := p.holders[c.holder] == c.bytes; {
	case c.closed || n <= 0:
		return nil
	case !alone && exceeds(p.holders[c.holder], n, p.cfg.Share):
		return &FullError{OfHolder: true, Max: p.cfg.Share, Wanted: n, RetryAfter: retryAfter}
	case exceeds(p.bytes, n, p.cfg.Total):
		return &FullError{Max: p.cfg.Total, Wanted: n, RetryAfter: retryAfter}
	}
	c.add(n)
	return nil
}

// exceeds reports whether n more bytes would exceed the limit. It does not overflow.
func exceeds(used, n, limit int64) bool { return limit > 0 && n > limit-used }

// Give releases n bytes, or all that the claim holds if that is less.
func (c *Claim) Give(n int64) {
	if c == nil || n <= 0 {
		return
	}
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	c.add(-min(n, c.bytes))
}

// Rename charges the bytes that the claim holds, and will hold, to another holder. It returns a
// *FullError if that holder's share is too small; then nothing has changed.
func (c *Claim) Rename(holder string) error {
	if c == nil {
		return nil
	}
	p := c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.closed || holder == c.holder {
		return nil
	}
	n := c.bytes
	if exceeds(p.holders[holder], n, p.cfg.Share) {
		return &FullError{OfHolder: true, Max: p.cfg.Share, Wanted: n, RetryAfter: retryAfter}
	}
	c.add(-n)
	c.holder = holder
	c.add(n)
	return nil
}

// Bytes returns the size of the claim.
func (c *Claim) Bytes() int64 {
	if c == nil {
		return 0
	}
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	return c.bytes
}

// Close releases the bytes that the claim holds. The claim charges nothing afterwards. Closing
// twice has no effect.
func (c *Claim) Close() {
	if c == nil {
		return
	}
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	c.add(-c.bytes)
	c.closed = true
}

// add changes the size of the claim. The caller must hold pool.mu.
func (c *Claim) add(n int64) {
	p := c.pool
	c.bytes += n
	p.bytes += n
	p.peak = max(p.peak, p.bytes)
	p.releasedSinceCheck += max(0, -n)
	if p.holders[c.holder] += n; p.holders[c.holder] == 0 {
		delete(p.holders, c.holder)
	}
}

type claimKey struct{}

// With returns a context that carries a claim.
func With(ctx context.Context, c *Claim) context.Context {
	return context.WithValue(ctx, claimKey{}, c)
}

// From returns the claim of a request's context. It returns nil, which has no limit, if there is
// none.
func From(ctx context.Context) *Claim {
	c, _ := ctx.Value(claimKey{}).(*Claim)
	return c
}
