package workflow

import (
	"cmp"
	"strconv"
	"strings"
)

// TypedRules returns the rules of a graph whose steps share a typed state, as Go graphs do: all
// rules about the state, and those that follow from it.
func TypedRules() Rules {
	return Rules{
		InputIsState: true, StateFlows: true, KeepErrors: true, ReportFailures: true, FinishOnCancel: true,
		UnknownFails: true, HideLosers: true,
		TimeoutText: "Graph execution timed out after {max}ms",
	}
}

// StepLimitMessage returns the message of a run that reached its step limit.
func (r Rules) StepLimitMessage(most int64) string {
	return withMax(cmp.Or(r.StepLimitText, "Exceeded maximum steps ({max})"), most)
}

// TimeoutMessage returns the message of a run that reached its timeout, in milliseconds.
func (r Rules) TimeoutMessage(ms int64) string {
	return withMax(cmp.Or(r.TimeoutText, "run timed out after {max}ms"), ms)
}

func withMax(text string, most int64) string {
	return strings.ReplaceAll(text, "{max}", strconv.FormatInt(most, 10))
}
