package program

import "context"

type uncountedKey struct{}

// WithUncounted gives node functions the question whether work may begin whose use is never reported: see [Uncounted].
func WithUncounted(ctx context.Context, allow func(context.Context) error) context.Context {
	return context.WithValue(ctx, uncountedKey{}, allow)
}

// Uncounted asks whether work may begin whose use is never reported, such as that of a coding agent which does not tell it. The error says why not; where no one answers the question, it may.
func Uncounted(ctx context.Context) error {
	if allow, ok := ctx.Value(uncountedKey{}).(func(context.Context) error); ok {
		return allow(ctx)
	}
	return nil
}

// Counted is implemented by clients and bridges whose work is bound by the budgets of its run, or that ask [Uncounted] themselves.
type Counted interface{ Counted() }
