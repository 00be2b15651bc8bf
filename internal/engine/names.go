package engine

import (
	"strconv"
	"strings"
)

// commandID names one attempt of a call.
func commandID(call string, attempt int) string { return call + "#" + strconv.Itoa(attempt) }

// parseCommandID undoes commandID.
func parseCommandID(id string) (call string, attempt int, ok bool) {
	call, a, found := strings.Cut(id, "#")
	attempt, err := strconv.Atoi(a)
	return call, attempt, found && err == nil
}
