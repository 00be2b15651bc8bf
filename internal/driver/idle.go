package driver

import "context"

type idleKey struct{}

// Slot is the place that a call holds among those in flight. Release gives it back; it may be called several times.
type Slot interface{ Release() }

// Asked is what a key of a context asks for.
type Asked int

// What [Idle] and [LedgerOf] ask a context for, as a Slot and a Ledger, and all else.
const (
	AskedElse Asked = iota
	AskedSlot
	AskedLedger
)

// AskedOf tells what a key asks for, for contexts of calls, which answer by their method Value.
func AskedOf(key any) Asked {
	switch key.(type) {
	case idleKey:
		return AskedSlot
	case ledgerKey:
		return AskedLedger
	}
	return AskedElse
}

// Idle says that the call does nothing any more but wait for other runs, which need slots themselves: it holds none from now on (P14). It does nothing where
// the run's kit does not have Idles.
func Idle(ctx context.Context) {
	if s, ok := ctx.Value(idleKey{}).(Slot); ok {
		s.Release()
	}
}
