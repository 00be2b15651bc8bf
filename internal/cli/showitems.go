package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/project"
)

// maxItemSteps is the maximum number of steps of map items shown per status.
const maxItemSteps = 20

// itemFilter filters the steps of map items: it leaves out the steps that ended well, and shows
// only the first maxItemSteps of each other status.
type itemFilter struct {
	shown, more map[project.StepStatus]int
}

func newFolded() *itemFilter {
	return &itemFilter{shown: map[project.StepStatus]int{}, more: map[project.StepStatus]int{}}
}

// shows reports whether a step is shown.
func (f *itemFilter) shows(st *project.Step) bool {
	if st.Item == nil {
		return true
	}
	switch st.Status {
	case project.StepFailed, project.StepWaiting, project.StepRunning:
	default:
		return false
	}
	if f.shown[st.Status] == maxItemSteps {
		f.more[st.Status]++
		return false
	}
	f.shown[st.Status]++
	return true
}

// omittedText describes the steps that shows left out although they have not ended well; it returns
// "" if there are none.
func (f *itemFilter) omittedText() string {
	var parts []string
	for _, s := range []project.StepStatus{project.StepFailed, project.StepWaiting, project.StepRunning} {
		if n := f.more[s]; n > 0 {
			parts = append(parts, thousands(n)+" "+string(s))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "more steps of items: " + strings.Join(parts, ", ") + "; --json has all of them"
}

// itemsText describes the progress of a map.
func itemsText(c *project.Items) string {
	text := fmt.Sprintf("%s of %s items done", thousands(c.Done), thousands(c.Total))
	if c.Failed > 0 {
		text += ", " + thousands(c.Failed) + " failed"
	}
	if c.Running > 0 {
		text += ", " + thousands(c.Running) + " running"
	}
	return text
}

// thousands formats a number with separators.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}
