package view

import (
	"maps"
	"strconv"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/workflow"
)

// RunLine is a run in a list, as recorded in its index entry. Its tags are those of the HTTP API,
// which returns it unchanged.
type RunLine struct {
	ID           string     `json:"id"`
	Workflow     string     `json:"workflow" doc:"Id of the stored workflow, else the name of the document"`
	WorkflowName string     `json:"workflowName"`
	Version      *int       `json:"version" doc:"Version of the stored workflow; null: not a stored workflow"`
	Branch       *string    `json:"branch" doc:"Branch of the workflow; null: its main graph"`
	Format       string     `json:"format" doc:"Language of the document"`
	Trigger      string     `json:"trigger" doc:"Started by cli, api, mcp, openai, webhook, schedule, program or run"`
	Labels       Labels     `json:"labels" doc:"Labels of the run"`
	InputPreview string     `json:"inputPreview" doc:"The beginning of the input"`
	Status       string     `json:"status" enum:"pending,running,paused,completed,failed,cancelled"`
	Waiting      int        `json:"waiting" doc:"Number of open waits"`
	Interrupted  bool       `json:"interrupted" doc:"No living process drives the run"`
	WaitingFor   string     `json:"waitingFor,omitempty" doc:"Place that the run needs, where no process is running"`
	CreatedAt    time.Time  `json:"createdAt"`
	UpdatedAt    time.Time  `json:"updatedAt"`
	EndedAt      *time.Time `json:"endedAt"`
	ParentRun    *string    `json:"parentRun" doc:"The run that started this one"`
	DurationMS   *int64     `json:"durationMs" doc:"From creation to the end; null before it"`
	Usage        *LineUsage `json:"usage" doc:"Usage at the last pause or the end, including child runs; null before"`
	Error        *LineError `json:"error" doc:"Why it failed"`
}

// Labels are the labels of a run or a workflow.
type Labels map[string]string

// LabelsOf returns a copy that is never nil, so that it is encoded as an object.
func LabelsOf(l map[string]string) Labels {
	out := Labels{}
	maps.Copy(out, l)
	return out
}

// LineUsage is the usage of a run.
type LineUsage struct {
	Tokens  int64   `json:"tokens"`
	Calls   int64   `json:"calls" doc:"Model and tool calls, by attempt"`
	CostUSD float64 `json:"costUSD" doc:"The sum of what is known"`
}

// LineError is a short form of why a run failed.
type LineError struct {
	Code    string `json:"code"`
	Message string `json:"message" doc:"Its beginning"`
}

// LineOf returns the line of a run.
func LineOf(h journal.Head) RunLine {
	l := RunLine{
		ID: h.Run, Workflow: h.Workflow, WorkflowName: h.WorkflowName,
		Branch: orNull(h.Meta[project.MetaTargetBranchID]), Format: h.Format, Status: string(h.Status),
		Waiting:     h.Waiting,
		Interrupted: h.Interrupted, WaitingFor: h.WaitingFor, CreatedAt: h.Created, UpdatedAt: h.Updated,
		ParentRun: orNull(h.Parent),
	}
	l.Trigger, l.InputPreview, l.Labels = h.Trigger, h.Preview, LabelsOf(h.Labels)
	o := h.Outcome
	if h.Status.Ended() || o != (journal.Outcome{}) {
		l.Usage = &LineUsage{o.Tokens, o.Calls, o.Cost.USD()}
	}
	if o.Code != "" {
		l.Error = &LineError{o.Code, o.Message}
	}
	if !h.Ended.IsZero() {
		l.DurationMS = new(h.Ended.Sub(h.Created).Milliseconds())
	}
	if v, err := strconv.Atoi(h.Meta[project.MetaVersion]); err == nil {
		l.Version = &v
	}
	if !h.Ended.IsZero() {
		l.EndedAt = &h.Ended
	}
	return l
}

// Head returns the fields of the index entry that the line contains.
func (l RunLine) Head() journal.Head {
	h := journal.Head{
		Run: l.ID, Status: journal.Status(l.Status), Waiting: l.Waiting, Updated: l.UpdatedAt,
		Interrupted: l.Interrupted, WaitingFor: l.WaitingFor,
		NewRun: journal.NewRun{Workflow: l.Workflow, WorkflowName: l.WorkflowName, Format: l.Format,
			Created: l.CreatedAt, Meta: map[string]string{},
			Trigger: l.Trigger, Preview: l.InputPreview},
	}
	if len(l.Labels) > 0 {
		h.Labels = workflow.Labels(l.Labels)
	}
	if l.Usage != nil {
		h.Outcome = journal.Outcome{Tokens: l.Usage.Tokens, Calls: l.Usage.Calls, Cost: chat.ToMoney(l.Usage.CostUSD)}
	}
	if l.Error != nil {
		h.Outcome.Code, h.Outcome.Message = l.Error.Code, l.Error.Message
	}
	if l.Version != nil {
		h.Meta[project.MetaVersion] = strconv.Itoa(*l.Version)
	}
	if l.Branch != nil {
		h.Branch, h.Meta[project.MetaTargetBranchID] = *l.Branch, *l.Branch
	}
	if l.EndedAt != nil {
		h.Ended = *l.EndedAt
	}
	if l.ParentRun != nil {
		h.Parent = *l.ParentRun
	}
	return h
}

// orNull returns nil for an empty string.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// TurnOf returns a run's position in the queue of its key as the run object shows it, or nil if the
// run is not queued.
func TurnOf(h journal.Head) *project.Turn {
	t := h.Turn
	switch {
	case t == nil, t.Behind == "" && len(t.Busy) == 0: // it is about to start
		return nil
	case t.Behind == "" && len(t.Busy) > 0:
		return &project.Turn{Run: t.Busy[0]}
	}
	return &project.Turn{Before: t.Before, Run: t.Behind}
}
