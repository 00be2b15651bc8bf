package workflow

import (
	"cmp"
	"strconv"
	"strings"
)

// TypedRules gives the rules of a graph whose steps share a typed state, as Go graphs do: all that concern the state, and what follows from it.
func TypedRules() Rules {
	return Rules{
		InputIsState: true, StateFlows: true, KeepErrors: true, ReportFailures: true, FinishOnCancel: true, UnknownFails: true, HideLosers: true,
		TimeoutText: "Graph execution timed out after {max}ms", // S2-62
	}
}

// StepLimitMessage is the message of a run that reached its limit of steps.
func (r Rules) StepLimitMessage(most int64) string {
	return withMax(cmp.Or(r.StepLimitText, "Exceeded maximum steps ({max})"), most)
}

// TimeoutMessage is the message of a run that reached its timeout, in milliseconds.
func (r Rules) TimeoutMessage(ms int64) string {
	return withMax(cmp.Or(r.TimeoutText, "run timed out after {max}ms"), ms)
}

func withMax(text string, most int64) string {
	return strings.ReplaceAll(text, "{max}", strconv.FormatInt(most, 10))
}
