package driver

import "context"

type idleKey struct{}

// WithIdle lets the call that is made with the context give its slot back before it ends, by [Idle]. release may be called several times.
func WithIdle(ctx context.Context, release func()) context.Context {
	return context.WithValue(ctx, idleKey{}, release)
}

// Idle says that the call does nothing any more but wait for other runs, which need slots themselves: it holds none from now on (P14). It does nothing where
// the run's kit does not have Idles.
func Idle(ctx context.Context) {
	if release, ok := ctx.Value(idleKey{}).(func()); ok {
		release()
	}
}
