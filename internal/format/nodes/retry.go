package nodes

import (
	"encoding/json"
	"math"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// Kinds of backoff.
const (
	backoffFixed       = "fixed"
	backoffExponential = "exponential"
	maxBackoffSeconds  = 1e6
)

// retry reads `retry`, in the form of steps documents (S4-20 to S4-23).
func (r *reader) retry() *workflow.Retry {
	at := r.object("retry")
	if at == nil {
		return nil
	}
	f := at.Fields(r.diags)
	out := &workflow.Retry{}
	if n, ok := f.Int("max_attempts"); ok && (n < 0 || n > math.MaxInt32) {
		r.errorf(f.Get("max_attempts"), codeBadValue, "max_attempts must be 0 or more, got %d", n)
	} else if ok {
		out.MaxRetries = int(n)
	}
	out.On = f.Strs("on")
	if v := f.Get("backoff"); !v.IsNull() {
		r.backoff(out, v)
	}
	f.Unknown(diag.Error)
	return out
}

func (r *reader) backoff(out *workflow.Retry, v *source.Node) {
	word, delay := v.Text, time.Second
	if v.Kind == source.Map {
		f := v.Fields(r.diags)
		word = backoffFixed
		if t := f.Get("type"); !t.IsNull() {
			word = t.Text
		}
		if secs, ok := f.Float("initial_delay_seconds"); ok && (secs < 0 || secs > maxBackoffSeconds) {
			r.errorf(f.Get("initial_delay_seconds"), codeBadValue,
				"initial_delay_seconds must lie between 0 and 1000000, got %g", secs)
		} else if ok {
			delay = time.Duration(secs * float64(time.Second))
		}
		f.Unknown(diag.Error)
	}
	switch word {
	case backoffFixed:
	case backoffExponential:
		out.Multiplier = 2
	default:
		d := r.errorf(v, codeBadValue, "backoff is %q, not one of fixed, exponential", word)
		d.Hint = diag.DidYouMean(word, []string{backoffFixed, backoffExponential})
	}
	out.Delay = workflow.Duration(delay)
}

// writeRetry writes a retry; it returns false if the form cannot express it.
func writeRetry(p *workflow.Retry) (json.RawMessage, bool) {
	type retry struct {
		MaxAttempts int      `json:"max_attempts"`
		Backoff     any      `json:"backoff,omitempty"`
		On          []string `json:"on,omitempty"`
	}
	type backoff struct {
		Type    string  `json:"type"`
		Seconds float64 `json:"initial_delay_seconds"`
	}
	out, kind := retry{MaxAttempts: p.MaxRetries, On: p.On}, backoffFixed
	if p.Multiplier == 2 {
		kind = backoffExponential
	}
	switch d := time.Duration(p.Delay); {
	case d == time.Second:
		out.Backoff = kind
	case d != 0 || kind == backoffExponential:
		out.Backoff = backoff{kind, d.Seconds()}
	}
	raw, err := json.Marshal(out)
	return raw, err == nil && p.Func == "" && (p.Multiplier == 0 || p.Multiplier == 2)
}
