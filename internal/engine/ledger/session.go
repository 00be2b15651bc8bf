package ledger

import (
	"slices"

	"github.com/hocket-run/hocket/internal/chat"
)

// Session is the reservation of one model or tool call that a function or a tool makes itself, from
// before it is made until its usage is reported (ADR 35).
type Session struct {
	Call   string // of the function or tool
	Step   int
	Amount Amount
	// Output is the maximum size of the model's answer, in tokens. Bound and Detail are as in
	// [Fit].
	Output int64
	Bound  string
	Detail string
}

// Session returns the reservation with the given key, or false if there is none.
func (l *Ledger) Session(key string) (Session, bool) {
	v, ok := l.sessions[key]
	return v, ok
}

// AmountOfModel returns the most that a model call with the given input and output may use.
func AmountOfModel(input, output int64, rate chat.Rate) Amount {
	return Amount{Tokens: chat.AddTokens(input, output), Cost: rate.Most(input, output), Calls: 1}
}

// StartSession stores a reservation under a key.
func (l *Ledger) StartSession(key string, v Session) {
	if l.sessions == nil {
		l.sessions = map[string]Session{}
	}
	l.sessions[key] = v
}

// UseSession charges what a call made by a function or a tool itself used, and ends its
// reservation, if any.
func (l *Ledger) UseSession(w World, step int, call, key string, used Amount) {
	l.Charge(w, step, used)
	if v, ok := l.sessions[key]; ok && v.Call == call {
		delete(l.sessions, key)
	}
}

// CloseSessions charges what is reserved for calls that were made by a function or tool call that
// now has its result.
func (l *Ledger) CloseSessions(w World, call string) {
	for key, v := range l.sessions {
		if v.Call == call {
			l.Charge(w, v.Step, v.Amount)
			delete(l.sessions, key)
		}
	}
}

// DropSessions ends all reservations of sessions: after a recovery their calls are made again and
// reserve again.
func (l *Ledger) DropSessions() { l.sessions = nil }

// KnowsBound reports whether a stored reservation may name this budget and this detail; "" means no
// budget and no detail.
func KnowsBound(bound, detail string) bool {
	return (bound == "" || slices.Contains([]string{BoundByRun, BoundByNode, BoundByParent}, bound)) &&
		(detail == "" || slices.Contains(Details[:], detail))
}
