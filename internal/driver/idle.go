package driver

import "context"

type idleKey struct{}

// Slot is the place that a call holds among those in flight. Release gives it back; it may be called several times.
type Slot interface{ Release() }

// CallValue gives what a context of a call holds under key, for [Idle] and [LedgerOf]; false where key is not theirs, or they hold nothing.
func CallValue(key any, s Slot, l Ledger) (any, bool) {
	switch key.(type) {
	case idleKey:
		if s != nil {
			return s, true
		}
	case ledgerKey:
		if l != nil {
			return l, true
		}
	}
	return nil, false
}

// Idle says that the call does nothing any more but wait for other runs, which need slots themselves: it holds none from now on (P14). It does nothing where
// the run's kit does not have Idles.
func Idle(ctx context.Context) {
	if s, ok := ctx.Value(idleKey{}).(Slot); ok {
		s.Release()
	}
}
