package loop

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/workflow"
)

// No progress (P27): an agent that repeats the same call is ended immediately (Frame.Same),
// whatever the results. An agent that repeats a cycle of two or three calls is ended when that
// number of cycles has produced the same results: with different results it may be waiting for
// something.

const (
	maxCircle = 3
	// maxRecent is the maximum number of calls that a frame remembers. If NoProgress requires more,
	// cycles are not detected.
	maxRecent = maxCircle * 100
)

// digest returns a hash of the strings.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:", len(p))
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// callFingerprint identifies identical calls in replies. For a reply that hands over, it includes
// the reply's text: a different text is progress.
func callFingerprint(reply chat.Message, tc chat.ToolCall) string {
	said := ""
	if tc.Name == workflow.HandoffTool {
		said = reply.Text.String()
	}
	return digest(tc.Name, string(tc.Arguments), said)
}

// remember stores the calls of a turn with their results.
func (l *Loop) remember(fr *Frame) {
	reply := l.Reply(fr.Conv)
	for _, t := range fr.Turn {
		i := slices.IndexFunc(reply.ToolCalls, func(tc chat.ToolCall) bool { return tc.ID == t.ID })
		if i < 0 || !t.Done {
			continue
		}
		fr.Recent = append(fr.Recent, callFingerprint(reply, reply.ToolCalls[i])+" "+
			digest(t.Text, strconv.FormatBool(t.Err)))
	}
	if over := len(fr.Recent) - maxRecent; over > 0 {
		fr.Recent = slices.Clone(fr.Recent[over:])
	}
}

// Stuck returns why the tool calls of a reply make no progress, or "" if they may.
func (f *Frame) Stuck(a *workflow.Agent, reply chat.Message) string {
	if f.Same >= a.Repeats() {
		return fmt.Sprintf("agent %s called %s with the same arguments %d times", a.Title(), f.Turn[len(f.Turn)-1].Name,
			f.Same)
	}
	return f.repeatedCycle(a, reply)
}

// repeatedCycle describes the cycle of calls that a reply would repeat; "" if there is none.
func (f *Frame) repeatedCycle(a *workflow.Agent, reply chat.Message) string {
	rounds := a.Repeats()
	for size := 2; size <= maxCircle && size*rounds <= min(len(f.Recent), maxRecent); size++ {
		last := f.Recent[len(f.Recent)-size*rounds:]
		next, _, _ := strings.Cut(last[0], " ")
		round := true
		for i := size; i < len(last); i++ {
			round = round && last[i] == last[i-size]
		}
		if round && callFingerprint(reply, reply.ToolCalls[0]) == next {
			return fmt.Sprintf("agent %s made the same %d calls with the same results %d times, the next being %s",
				a.Title(), size, rounds, reply.ToolCalls[0].Name)
		}
	}
	return ""
}
