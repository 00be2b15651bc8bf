package expr

import "encoding/json"

// Quote gives s as a JSON string, without escapes that only HTML needs.
func Quote(s string) json.RawMessage { return quote(s) }

// JSON gives the step context's entry of S4-34: {"output","agent"} for a step, {"steps","order"} for a parallel step.
func (e Entry) JSON() json.RawMessage { return e.object() }
