package workflow

import (
	"slices"

	"github.com/hocket-run/hocket/diag"
)

// OmitParameters returns the parameters that [Provider.Omit] may list, in order. They have the
// names of Chat Completions in every protocol.
func OmitParameters() []string {
	return []string{"frequency_penalty", "max_completion_tokens", "max_tokens", "parallel_tool_calls",
		"presence_penalty", "reasoning_effort", "response_format", "stop", "stream", "stream_options", "temperature",
		"thinking_budget", "top_p"}
}

// CheckOmit returns the problem of the first invalid item of [Provider.Omit], with a hint that may
// be "". It returns -1 if there is none.
func CheckOmit(omit []string) (item int, problem, hint string) {
	for i, name := range omit {
		switch {
		case !slices.Contains(OmitParameters(), name):
			if hint = diag.DidYouMean(name, OmitParameters()); hint == "" {
				hint = "it can list parameters that Hocket sends without need, such as stream_options"
			}
			return i, "is not a parameter that can be omitted", hint
		case slices.Contains(omit[:i], name):
			return i, "is listed twice", ""
		case name == "max_tokens" && slices.Contains(omit[:i], "max_completion_tokens"),
			name == "max_completion_tokens" && slices.Contains(omit[:i], "max_tokens"):
			return i, "cannot be omitted together with its other name: budgets limit replies by one of them", ""
		}
	}
	return -1, "", ""
}
