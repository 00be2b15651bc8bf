package inflight

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Config says how large a Pool is, in bytes. Values of 0 or less mean no bound.
type Config struct {
	// Total bounds what all holders have together, Share what one holder has.
	Total, Share int64
}

// Pool is the budget of a process. Safe for concurrent use.
type Pool struct {
	cfg Config

	mu      sync.Mutex
	bytes   int64
	peak    int64
	freed   int64 // given back since Freed told so
	holders map[string]int64
}

// New makes a pool without claims.
func New(cfg Config) *Pool {
	return &Pool{cfg: cfg, holders: map[string]int64{}}
}

// Config gives the bounds of the pool.
func (p *Pool) Config() Config { return p.cfg }

// InUse gives the bytes that claims have now, and the most that they had at one time.
func (p *Pool) InUse() (now, peak int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes, p.peak
}

// Freed tells whether at least n bytes were given back since it last told so, and then counts from 0.
func (p *Pool) Freed(n int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.freed < n {
		return false
	}
	p.freed = 0
	return true
}

// Claim makes a claim of a holder that holds nothing yet. The caller closes it.
func (p *Pool) Claim(holder string) *Claim {
	return &Claim{pool: p, holder: holder}
}

// retryAfter is how long a client should wait before it tries again. Claims are closed within seconds: bodies that stall are cut off.
const retryAfter = 5 * time.Second

// FullError says that a budget of bytes is used up. The request can be made again later.
type FullError struct {
	// OfHolder tells whether the share of the holder is used up. Otherwise it is the budget of the process.
	OfHolder bool
	// Max is the bound, Wanted what was asked for, both in bytes.
	Max, Wanted int64
	// RetryAfter is how long the client should wait.
	RetryAfter time.Duration
}

func (e *FullError) Error() string {
	if e.OfHolder {
		return fmt.Sprintf("the requests and responses of this token use all of its share of %d bytes (server: {limits: {tokenInFlight: …}})", e.Max)
	}
	return fmt.Sprintf("the requests and responses in progress use all of the server's budget of %d bytes (server: {limits: {inFlight: …}})", e.Max)
}

// Claim is what one request holds of a pool. A nil Claim holds everything without a bound. Safe for concurrent use.
type Claim struct {
	pool *Pool

	// These are guarded by pool.mu.
	holder string
	bytes  int64
	closed bool
}

// Take charges n more bytes. Errors: *FullError; then nothing is charged. A closed claim takes nothing and gives no error: its request has ended.
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
	case exceeds(p.holders[c.holder], n, p.cfg.Share):
		return &FullError{OfHolder: true, Max: p.cfg.Share, Wanted: n, RetryAfter: retryAfter}
	case exceeds(p.bytes, n, p.cfg.Total):
		return &FullError{Max: p.cfg.Total, Wanted: n, RetryAfter: retryAfter}
	}
	c.add(n)
	return nil
}

// exceeds tells whether n more bytes are too many. It does not overflow.
func exceeds(used, n, limit int64) bool { return limit > 0 && n > limit-used }

// Give gives back n bytes, or all that the claim holds if that is less.
func (c *Claim) Give(n int64) {
	if c == nil || n <= 0 {
		return
	}
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	c.add(-min(n, c.bytes))
}

// Rename charges what the claim holds, and will hold, to another holder. Errors: *FullError where that holder's share is too small; then nothing has changed.
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

// Bytes gives the size of the claim.
func (c *Claim) Bytes() int64 {
	if c == nil {
		return 0
	}
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	return c.bytes
}

// Close gives back what the claim holds. The claim takes nothing any more. Closing twice does nothing.
func (c *Claim) Close() {
	if c == nil {
		return
	}
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	c.add(-c.bytes)
	c.closed = true
}

// add changes the size of the claim. pool.mu is held.
func (c *Claim) add(n int64) {
	p := c.pool
	c.bytes += n
	p.bytes += n
	p.peak = max(p.peak, p.bytes)
	p.freed += max(0, -n)
	if p.holders[c.holder] += n; p.holders[c.holder] == 0 {
		delete(p.holders, c.holder)
	}
}

type claimKey struct{}

// With gives a context that carries a claim.
func With(ctx context.Context, c *Claim) context.Context {
	return context.WithValue(ctx, claimKey{}, c)
}

// From gives the claim of a request's context. It is nil, which bounds nothing, where there is none.
func From(ctx context.Context) *Claim {
	c, _ := ctx.Value(claimKey{}).(*Claim)
	return c
}
