package program

import "context"

type servicesKey struct{}

// WithServices gives the node functions that are called with the context what their program offers: a value whose type the side that makes the
// functions knows. A later one takes the place of an earlier one.
func WithServices(ctx context.Context, v any) context.Context {
	return context.WithValue(ctx, servicesKey{}, v)
}

// Services gives what WithServices set, nil where nothing is.
func Services(ctx context.Context) any { return ctx.Value(servicesKey{}) }
