package permit

import (
	"fmt"
	"slices"
)

// Weaker returns, as lines for people, what now may permit that was denied or asked about under
// was, or nil if nothing.
func Weaker(was, now Rules) []string {
	var out []string
	for _, p := range was.Deny {
		if !slices.Contains(now.Deny, p) {
			out = append(out, fmt.Sprintf("the permissions no longer deny %q", p))
		}
	}
	for _, p := range was.Ask {
		if !slices.Contains(now.Ask, p) && !slices.Contains(now.Deny, p) {
			out = append(out, fmt.Sprintf("the permissions no longer ask about %q", p))
		}
	}
	for _, p := range now.Ask {
		if was.Default == "deny" && !slices.Contains(was.Ask, p) && !slices.Contains(was.Deny, p) {
			out = append(out, fmt.Sprintf("the permissions ask about %q, which may have been denied", p))
		}
	}
	allows := func(r Rules) bool { return or(r.Default, "allow") == "allow" }
	for _, p := range now.Allow { // if a tool is listed, its other calls are asked about
		if !slices.Contains(was.Allow, p) && (!allows(was) || len(was.Allow) > 0) {
			out = append(out, fmt.Sprintf("the permissions now allow %q", p))
		}
	}
	for _, p := range was.Allow { // its tool was asked about with other arguments
		if !slices.Contains(now.Allow, p) && allows(now) {
			out = append(out,
				fmt.Sprintf(
					"the permissions no longer restrict the calls of its tool to %q, so all of them are allowed", p))
		}
	}
	for _, p := range now.Edit {
		if !slices.Contains(was.Edit, p) {
			out = append(out, fmt.Sprintf("the permissions now let a person change the arguments of %q", p))
		}
	}
	if strict := func(r Rules) int {
		return slices.Index([]string{"allow", "ask", "deny"}, or(r.Default, "allow"))
	}; strict(now) < strict(was) {
		out = append(out, fmt.Sprintf("the default permission changed from %s to %s", decisionWord(was),
			decisionWord(now)))
	}
	return out
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func decisionWord(r Rules) string {
	return map[string]string{"allow": "allowed", "ask": "asked about", "deny": "denied"}[or(r.Default, "allow")]
}
