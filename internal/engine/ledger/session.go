package ledger

import (
	"slices"

	"github.com/hocket-run/hocket/internal/chat"
)

// Session is the reservation of one model or tool call that a function or a tool makes itself, from before it is made until its use is reported (ADR 35).
type Session struct {
	Call   string // of the function or tool
	Step   int
	Amount Amount
	// Output is what the model call may answer, in tokens. Bound and Detail are those of [Fit].
	Output int64
	Bound  string
	Detail string
}

// Session gives the reservation with that key; false where there is none.
func (l *Ledger) Session(key string) (Session, bool) {
	v, ok := l.sessions[key]
	return v, ok
}

// AmountOfModel is what a model call with that input and output may use at most.
func AmountOfModel(input, output int64, rate chat.Rate) Amount {
	return Amount{Tokens: chat.AddTokens(input, output), Cost: rate.Most(input, output), Calls: 1}
}

// StartSession keeps a reservation under a key.
func (l *Ledger) StartSession(key string, v Session) {
	if l.sessions == nil {
		l.sessions = map[string]Session{}
	}
	l.sessions[key] = v
}

// UseSession charges what a call used that a function or a tool made itself, and ends its reservation, where it had one.
func (l *Ledger) UseSession(w World, step int, call, key string, used Amount) {
	l.Charge(w, step, used)
	if v, ok := l.sessions[key]; ok && v.Call == call {
		delete(l.sessions, key)
	}
}

// CloseSessions charges what is reserved for calls that a function or a tool made itself and that has its result.
func (l *Ledger) CloseSessions(w World, call string) {
	for key, v := range l.sessions {
		if v.Call == call {
			l.Charge(w, v.Step, v.Amount)
			delete(l.sessions, key)
		}
	}
}

// DropSessions ends all reservations of sessions: after a recovery their calls are made again, and reserve anew.
func (l *Ledger) DropSessions() { l.sessions = nil }

// KnowsBound tells whether a stored reservation may name this budget and this detail; "" is no budget and no detail.
func KnowsBound(bound, detail string) bool {
	return (bound == "" || slices.Contains([]string{BoundByRun, BoundByNode, BoundByParent}, bound)) && (detail == "" || slices.Contains(Details[:], detail))
}
