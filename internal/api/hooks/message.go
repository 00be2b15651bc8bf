package hooks

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// message is the message sent to an endpoint, in the form of Standard Webhooks.
type message struct {
	Type      Type      `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      data      `json:"data"`
}

// data describes what happened to which run, or to which schedule.
type data struct {
	Namespace    string `json:"namespace"`
	Run          string `json:"run,omitempty"`
	Workflow     string `json:"workflow"`
	WorkflowName string `json:"workflowName,omitempty"`
	ParentRun    string `json:"parentRun,omitempty"`
	Status       string `json:"status,omitempty"`
	// Schedule is the schedule whose runs are refused; absent in messages about runs.
	Schedule *scheduleData `json:"schedule,omitempty"`
	Error    *failure      `json:"error,omitempty"`
	Reason   string        `json:"reason,omitempty"`
	Wait     *waitData     `json:"wait,omitempty"`
	Answer   *answerData   `json:"answer,omitempty"`
	Links    *links        `json:"links,omitempty"`
}

type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Node    string `json:"node,omitempty"`
}

// scheduleData identifies a schedule of data.Workflow; empty fields are those of a
// journal.ScheduleKey.
type scheduleData struct {
	Program string `json:"program,omitempty"`
	Branch  string `json:"branch,omitempty"`
	ID      string `json:"id,omitempty"`
}

type waitData struct {
	ID     string `json:"id"`
	Node   string `json:"node"`
	Kind   string `json:"kind"`
	Prompt string `json:"prompt"`
	// Input is the input of a wait node: the text to be approved.
	Input   event.Value `json:"input,omitempty"`
	Options []string    `json:"options"`
	// Roles lists who may answer; if absent, everyone who may answer waits of this kind.
	Roles []string `json:"roles,omitempty"`
	// Signal is the name of the signal for which the run waits, and Filter the condition on it;
	// both are absent for waits for people.
	Signal    string      `json:"signal,omitempty"`
	Filter    string      `json:"filter,omitempty"`
	Tool      string      `json:"tool,omitempty"`
	Arguments event.Value `json:"arguments,omitempty"`
	// Truncated means that prompt, input or arguments were too long and are truncated or omitted;
	// the run object has them.
	Truncated bool       `json:"truncated,omitempty"`
	Since     time.Time  `json:"since"`
	Deadline  *time.Time `json:"deadline,omitempty"`
}

type answerData struct {
	Decision string      `json:"decision,omitempty"`
	Value    event.Value `json:"value,omitempty"`
	Note     string      `json:"note,omitempty"`
}

type links struct {
	Run     string `json:"run,omitempty"`
	Approve string `json:"approve,omitempty"`
}

// maxInMessage is the maximum size of prompts, arguments and answers in messages, in bytes.
const maxInMessage = 16 << 10

// messageOf returns the message for an event of a run, without links. It returns nil for events of
// which endpoints are not notified. w is the wait that the event is about.
func messageOf(namespace string, head journal.Head, e event.Event, t Type, w *journaledWait) *message {
	m := &message{Type: t, Timestamp: e.At.UTC(), Data: data{
		Namespace: namespace, Run: head.Run, Workflow: head.Workflow, WorkflowName: head.WorkflowName,
		ParentRun: head.Parent, Status: string(head.Status),
	}}
	switch d := e.Data.(type) {
	case *event.RunCompleted:
		m.Data.Status = string(journal.StatusCompleted)
	case *event.RunFailed:
		m.Data.Status = string(journal.StatusFailed)
		m.Data.Error = &failure{d.Error.Code, truncate(d.Error.Message), d.Error.Node}
	case *event.RunCancelled:
		m.Data.Status, m.Data.Reason = string(journal.StatusCancelled), truncate(d.Reason)
	case *event.WaitAnswered:
		m.Data.Answer = &answerData{Decision: d.Decision, Note: truncate(d.Note)}
		if len(d.Answer) <= maxInMessage {
			m.Data.Answer.Value = d.Answer
		}
	case *event.WaitClosed:
		m.Data.Reason = d.Reason
	}
	if w != nil {
		m.Data.Wait = w.data()
	}
	return m
}

func (w *journaledWait) data() *waitData {
	d := &waitData{ID: w.Wait, Node: w.node, Kind: w.Kind, Prompt: truncate(w.Prompt), Options: slices.Clone(w.Options),
		Tool: w.Tool, Since: w.since.UTC(), Signal: w.Signal, Filter: truncate(w.Filter), Roles: w.Roles}
	if w.Kind == workflow.WaitApproval && len(d.Options) == 0 {
		d.Options = []string{workflow.PortApprove, workflow.PortReject}
	}
	if d.Options == nil {
		d.Options = []string{}
	}
	if d.Truncated = d.Prompt != w.Prompt || len(w.Arguments) > maxInMessage; len(w.Arguments) <= maxInMessage {
		d.Arguments = w.Arguments
	}
	if len(w.about) <= maxInMessage {
		d.Input = w.about
	} else {
		d.Truncated = true
	}
	if !w.Deadline.IsZero() {
		d.Deadline = &w.Deadline
	}
	return d
}

// truncate truncates a string to maxInMessage bytes, at a rune boundary.
func truncate(text string) string {
	if len(text) <= maxInMessage {
		return text
	}
	n := maxInMessage
	for n > 0 && text[n]&0xc0 == 0x80 {
		n--
	}
	return text[:n]
}

// notificationID derives an id from event and endpoint, so that a notification is created once, by
// any process, and has the same id for every attempt.
func notificationID(endpoint, run string, seq uint64, count int) string {
	sum := sha256.Sum256([]byte(endpoint + "\x00" + run + "\x00" + strconv.FormatUint(seq, 10) + "\x00" +
		strconv.Itoa(count)))
	return "msg_" + base64.RawURLEncoding.EncodeToString(sum[:18])
}

// body returns the body of a notification as it is sent, including links. It is the same for every
// attempt.
func (h *Hooks) body(ctx context.Context, sp *space, e *Endpoint, n *Notification) ([]byte, error) {
	var m message
	if err := json.Unmarshal(n.Body, &m); err != nil {
		return nil, err
	}
	if h.cfg.PublicURL == "" || n.Run == "" {
		return n.Body, nil
	}
	m.Data.Links = &links{Run: h.cfg.PublicURL + "/api/v1/runs/" + n.Run}
	if e.ApproveLinks && (n.Type == TypeWaitOpened || n.Type == TypeWaitReminded) {
		w, _, err := readWait(ctx, sp.service, n.Run, n.Wait)
		// people do not answer signals
		if err == nil && w.isOpen() && w.Kind != workflow.WaitSignal && w.isFor(linkActor(e)) {
			if m.Data.Links.Approve, err = h.link(sp, n.Run, w, e.ID, n.ID, m.Timestamp); err != nil {
				return nil, err
			}
		}
	}
	return json.Marshal(m)
}
