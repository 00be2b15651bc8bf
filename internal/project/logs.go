package project

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// LogEntry is one line of a run's log, in the form of canvas documents, which is used for all
// formats.
type LogEntry struct {
	Timestamp time.Time `json:"timestamp"`
	// NodeID is `system` if the entry concerns no node.
	NodeID  string  `json:"nodeId"`
	Type    LogType `json:"type"`
	Content string  `json:"content"`
}

// LogType is the kind of a log entry.
type LogType string

// The kinds of log entries.
const (
	LogStepStart     LogType = "step_start"
	LogStartPrompt   LogType = "start_prompt"
	LogLogicCheck    LogType = "logic_check"
	LogWaitInput     LogType = "wait_input"
	LogInputReceived LogType = "input_received"
	LogLLMResponse   LogType = "llm_response"
	LogLLMError      LogType = "llm_error"
	LogWarn          LogType = "warn"
	LogError         LogType = "error"
	LogSubagentStart LogType = "subagent_call_start"
	LogSubagentEnd   LogType = "subagent_call_end"
	LogSubagentError LogType = "subagent_call_error"
	LogHandOff       LogType = "agent_handoff"
	LogCompacted     LogType = "conversation_compacted"
	LogToolCall      LogType = "tool_call"
	LogToolResult    LogType = "tool_result"
	LogToolError     LogType = "tool_error"
)

// systemNode is the node of entries that belong to no node (S0-3).
const systemNode = "system"

// LogFolder is a Folder that also returns the log entries that each event adds.
type LogFolder struct {
	*Folder
	settled   uint64 // last event that ended a wait
	logged    map[string]bool
	fallbacks map[*step]string  // last entry about a fallback model
	calls     map[string]string // tool names of calls without a result, by call
}

// NewLogFolder returns a LogFolder for the run with the given id and definition.
func NewLogFolder(run string, def *workflow.Workflow) *LogFolder {
	return &LogFolder{Folder: NewFolder(run, def), logged: map[string]bool{}, calls: map[string]string{},
		fallbacks: map[*step]string{}}
}

// Logs returns the log of a run.
func Logs(def *workflow.Workflow, events []event.Event) []LogEntry {
	l := NewLogFolder("", def)
	out := []LogEntry{}
	for _, e := range events {
		out = append(out, l.Add(e)...)
	}
	return out
}

// Add folds the next event and returns the entries that it adds, in order.
func (l *LogFolder) Add(e event.Event) []LogEntry {
	l.Folder.Add(e)
	log := &entries{at: e.At, node: e.Node}
	switch e.Data.(type) {
	case *event.WaitAnswered, *event.WaitClosed:
		l.settled = e.Seq
	}
	switch d := e.Data.(type) {
	case *event.RunPaused:
		l.pausedAgain(log, d)
	case *event.RunFailed:
		if !l.logged[d.Error.Message] {
			log.node = systemNode
			if d.Error.Node != "" {
				log.node = d.Error.Node
			}
			log.add(LogError, d.Error.Message)
		}
	default:
		st := l.steps[e.Step]
		if st == nil && l.isForgotten(e.Step) {
			st = l.newStep(e, nil, &event.StepStarted{}) // late warnings are logged as warnings
		}
		if st != nil && !st.def.Hidden {
			l.addStep(log, st, e.Data)
		}
	}
	return log.list
}

// entries collects the log entries of one event.
type entries struct {
	at   time.Time
	node string
	list []LogEntry
}

func (l *entries) add(t LogType, content string) {
	l.list = append(l.list, LogEntry{Timestamp: l.at, NodeID: l.node, Type: t, Content: content})
}

func (l *LogFolder) addStep(log *entries, st *step, data event.Data) {
	switch d := data.(type) {
	case *event.StepStarted:
		log.add(LogStepStart, startText(st))
		if d.Kind == workflow.KindAgent {
			log.add(LogStartPrompt, expr.Text(l.input(st)))
		}
	case *event.ModelCalled:
		if d.Instead != nil && l.fallbacks[st] != st.fallbackWarning {
			l.fallbacks[st] = st.fallbackWarning
			log.add(LogWarn, st.fallbackWarning)
		}
	case *event.AgentCompacted:
		if d.Error != nil {
			log.add(LogWarn, compactedText(d))
		} else {
			log.add(LogCompacted, compactedText(d))
		}
	case *event.ModelReplied:
		if d.Warning != "" && !d.Late {
			log.add(LogWarn, d.Warning)
		}
	case *event.CallUsed:
		if d.Warning != "" {
			log.add(LogWarn, d.Warning)
		}
	case *event.StepRetrying:
		if d.Call == "" {
			st.failOpen(log, d.Error.Message)
		}
		log.add(LogWarn, fmt.Sprintf("Attempt %d follows: %s", d.Attempt, d.Error.Message))
	case *event.StepCompleted:
		for _, to := range d.Missing {
			log.add(LogWarn, event.NotFound(to))
		}
		if st.data.Kind == workflow.KindAgent {
			log.add(LogLLMResponse, expr.Text(st.output))
		}
		for _, note := range st.def.Notes {
			if slices.Contains(d.Ports, workflow.Edge{Port: note.Port}.PortName()) {
				log.add(LogWarn, note.Text)
			}
		}
	case *event.StepFailed:
		if l.failed(log, st, &d.Error); st.def.Catch != nil && d.Port != "" {
			log.add(LogWarn, "The run continues after the failure")
		}
	case *event.StepCancelled:
		st.failOpen(log, d.Reason)
	case *event.ConditionChecked:
		log.add(LogLogicCheck, checkText(d))
	case *event.WaitOpened:
		log.add(LogWaitInput, waitText(d))
	case *event.WaitAnswered:
		log.add(LogInputReceived, answerText(d))
	case *event.ToolCalled, *event.ToolReturned, *event.ToolFailed:
		l.addTool(log, st, d)
	case *event.AgentHanded:
		log.add(LogHandOff, st.agent(d.From)+" hands over to "+st.agent(d.Agent))
	case *event.SubagentStarted:
		log.add(LogSubagentStart, st.subagentText(LogSubagentStart, d, ""))
	case *event.SubagentCompleted:
		st.closeFrames(log, d.Frame, LogSubagentEnd, "")
	case *event.SubagentFailed:
		st.closeFrames(log, d.Frame, LogSubagentError, d.Error.Message)
	}
}

// failed logs a failure once: as a model failure if it was one, and not again when it propagates
// outward (S0-15).
func (l *LogFolder) failed(log *entries, st *step, f *event.Failure) {
	st.failOpen(log, f.Message)
	switch {
	case st.modelError != "" && st.modelError == f.Message:
		log.add(LogLLMError, f.Message)
	case l.logged[f.Message] && (st.def.Fork != nil || st.child != nil):
		return
	default:
		log.add(LogError, f.Message)
	}
	l.logged[f.Message] = true
}

// pausedAgain logs that the run waits on a wait that had been reached before another wait was
// answered (S0-44, D18).
func (l *LogFolder) pausedAgain(log *entries, d *event.RunPaused) {
	if w := l.wait(d.Wait); w != nil && w.seq < l.settled {
		log.node = w.node
		log.add(LogWaitInput, waitText(&w.WaitOpened))
	}
}

// startText returns the text of a step_start entry (S0-19).
func startText(st *step) string {
	switch st.data.Kind {
	case workflow.KindStart:
		return "start node"
	case workflow.KindDecide:
		return "condition node"
	case workflow.KindEnd:
		return "end node"
	case workflow.KindWait:
		if st.def.Wait == nil || st.def.Wait.Kind == workflow.WaitApproval {
			return "approval node"
		}
		if st.def.Wait.Kind == workflow.WaitSignal {
			return "signal node"
		}
		return "question node"
	case workflow.KindAgent:
		return st.agent(st.data.Agent) + " agent node"
	}
	return st.def.Title() + " " + string(st.data.Kind) + " node"
}

// checkText returns the text of a logic_check entry (S0-24).
func checkText(d *event.ConditionChecked) string {
	what := d.Text
	if d.Op != "" {
		what = fmt.Sprintf(`%s "%s"`, d.Op, d.Text)
	}
	if d.Index < 0 {
		return fmt.Sprintf("Condition of the step (%s) evaluated as %t", what, d.Result)
	}
	return fmt.Sprintf("Condition %d (%s) evaluated as %t", d.Index+1, what, d.Result)
}

// waitText returns the text of a wait_input entry (S0-30).
func waitText(d *event.WaitOpened) string {
	switch {
	case d.Kind == workflow.WaitApproval:
		return "Waiting for user approval"
	case d.Kind == workflow.WaitSignal:
		return "Waiting for the signal " + d.Signal
	case d.Prompt != "":
		return d.Prompt
	}
	return "Waiting for user input"
}

// answerText returns the text of an input_received entry (S0-33).
func answerText(d *event.WaitAnswered) string {
	text := expr.Text(d.Answer)
	switch d.Decision {
	case workflow.PortApprove:
		text = "User approved this step."
	case workflow.PortReject:
		text = "User rejected this step."
	}
	if d.Arguments != nil {
		text += " Changed arguments: " + string(d.Arguments) + "."
	}
	if note := strings.TrimSpace(d.Note); note != "" {
		text += " Feedback: " + note
	}
	return text
}
