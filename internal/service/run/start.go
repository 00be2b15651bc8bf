package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/documents"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/internal/service/resources"
	"github.com/hocket-run/hocket/workflow"
)

// MetaBy is the key of journal.Head.Meta that holds StartRequest.By.
const MetaBy = "by"

// MetaSchedule is the key of a run's meta that holds StartRequest.Schedule.
const MetaSchedule = "schedule"

// metaPlanned is the key of a run's meta that holds the planned time, RFC 3339.
const metaPlanned = "planned"

// metaPins is the key of a run's meta that holds the versions of the workflows that its steps run: see definition.PinText.
const metaPins = "workflows"

// StartRequest says what to run.
type StartRequest struct {
	// Workflow is the whole workflow, with its branches.
	Workflow *workflow.Workflow
	// Branch is the branch to run, as Choose takes it; "" is the main graph.
	Branch string
	// Stored is the id under which the workflow is stored; "": it is not. Version is the number of its version; 0: it is made of rows.
	Stored  string
	Version int
	// Input is a text, or where the workflow has named inputs also their JSON object. Inputs are further inputs by name, a JSON object; nil: none.
	Input  string
	Inputs json.RawMessage
	// Dir is the folder of the document, beside which prompt files are looked for; "": there is none, and none are read.
	Dir string
	// Place is where the file of the document is, as PlaceOf gives it: the memories of its agents are of this place. "": the document is no file. A stored workflow
	// has its id instead.
	Place string
	// Graph is the name of the Go graph of which the workflow is an agent; "": of none.
	Graph string
	// RunID must be new; "" makes one.
	RunID string
	// Key names the request, in at most MaxKey bytes that can be printed, so that it can be made again: Begin tells how. "": each request is one of its own.
	Key string
	// Model overrides every agent's model.
	Model string
	resources.Files
	// Record names a file to which the model calls of the run are written as a reply script; "" writes none.
	Record string
	Limits workflow.Limits
	// Session names the session that the run belongs to, in at most MaxKey bytes that can be printed; of its runs at most one has not ended, in whatever process
	// (P19). "": none. IfBusy says what happens while another one has not ended; "" is IfBusyReject.
	Session string
	IfBusy  IfBusy
	// Trust allows the commands that the document names (SEC5).
	Trust bool
	// By names who starts the run, for transports that ask later whose it is: the id of a token, which is no secret. It is kept with the run; "": unknown.
	By string
	// ParentRun is the run that starts this one, or empty. Caller is the run of a program whose function starts this one, which is no run below it, or empty. Above is what either leaves for it: see
	// child.Work.
	ParentRun, Caller string
	// Abandoned, where it is closed, ends what the start waits for before anything is stored: runs of its key that it replaces, and its turn where the driver has no queue. Nil: that ends with the
	// context alone. It is for starts whose context outlives their caller's, since it must be known whether a run is stored.
	Abandoned <-chan struct{}
	Above     *workflow.Budget
	// Labels are those of the run, which win over the workflow's. Those of ParentRun win over both, and count first where there are too many.
	Labels workflow.Labels
	// Trigger says what starts the run, one of the Trigger constants; "": what ParentRun and Planned say.
	Trigger string
	// Planned is the time for which a schedule planned the run; zero: none did.
	Planned time.Time
	// Schedule is the id of that schedule, where it has one.
	Schedule string
	// meta is kept with the run.
	meta map[string]string
}

// What starts runs.
const (
	TriggerCLI      = "cli"
	TriggerAPI      = "api"
	TriggerMCP      = "mcp"
	TriggerOpenAI   = "openai"
	TriggerWebhook  = "webhook"
	TriggerSchedule = "schedule"
	TriggerProgram  = "program"
	TriggerRun      = "run"
)

// Triggers lists what starts runs.
func Triggers() []string {
	return []string{TriggerCLI, TriggerAPI, TriggerMCP, TriggerOpenAI, TriggerWebhook, TriggerSchedule, TriggerProgram, TriggerRun}
}

// NewRunID makes an id that no run has; ids sort by the time at which they were made.
func NewRunID() string { return driver.NewRunID(time.Now()) }

// Start checks what can be known before the first call and begins the run. It returns once the run is stored.
//
// Errors: *InvalidError, *CommandsError, *model.RefError with nothing stored (D25); journal.ErrExists; *BusyError and *LimitError, also with nothing stored.
func (s *Runner) Start(ctx context.Context, q StartRequest) (run string, err error) {
	started, err := s.Begin(ctx, q)
	return started.Run, err
}

// begin begins the run, whatever began before.
func (s *Runner) begin(ctx context.Context, q StartRequest) (run string, err error) {
	if err := q.checkSession(); err != nil {
		return "", err
	}
	spec, err := s.prepare(ctx, q)
	if err != nil {
		return "", err
	}
	return s.launch(ctx, spec, q.IfBusy, q.Caller, q.Abandoned)
}

// trigger says what starts the run.
func (q StartRequest) trigger() string {
	switch {
	case q.ParentRun != "":
		return TriggerRun
	case !q.Planned.IsZero():
		return TriggerSchedule
	}
	return q.Trigger
}

// note adds what the request says of itself to a run's metadata.
func (s *Runner) note(q StartRequest, meta map[string]string) {
	maps.Copy(meta, q.meta)
	if !q.Planned.IsZero() {
		meta[metaPlanned] = q.Planned.Format(time.RFC3339Nano)
	}
	if q.Schedule != "" {
		meta[MetaSchedule] = q.Schedule
	}
	if q.By != "" {
		meta[MetaBy] = q.By
	}
	if s.cfg.Program != "" {
		meta[resources.MetaProgram] = s.cfg.Program
	}
}

// prepare checks what can be known before the first call.
func (s *Runner) prepare(ctx context.Context, q StartRequest) (spec driver.Spec, err error) {
	graph, err := definition.Choose(q.Workflow, q.Branch)
	if err != nil {
		return spec, err
	}
	q = q.over(s.cfg.Starts)
	q.Limits = ceiling(s.cfg.Operator.Budgets, q.Limits, graph.Limits, q.Above)
	q.Limits.MaxBytes = s.cfg.MaxBytes
	spec = driver.Spec{
		Run: q.RunID, Workflow: graph, WorkflowID: q.Workflow.ID, WorkflowName: q.Workflow.Name,
		Limits: q.Limits, Model: q.Model, ParentRun: q.ParentRun, Above: q.Above, Session: q.Session,
		Remind: time.Duration(s.cfg.Operator.Server.Reminders.After),
		Meta:   map[string]string{}, Files: map[string][]byte{},
	}
	if err := s.label(ctx, &spec, q.Workflow.Labels.With(graph.Labels).With(q.Labels)); err != nil {
		return spec, err
	}
	spec.Trigger = q.trigger()
	s.note(q, spec.Meta)
	if err := q.target(&spec, s.cfg.Documents); err != nil {
		return spec, err
	}
	if err := s.noteVersion(ctx, q, spec.Meta); err != nil {
		return spec, err
	}
	if err := s.checkRunID(ctx, q.RunID); err != nil {
		return spec, err
	}
	if _, problems := q.Check(); problems.HasErrors() {
		return spec, &failure.InvalidError{Diagnostics: problems}
	}
	if q.Tools != nil {
		spec.Files[resources.FileTools] = q.Tools
	}
	if q.Replies != nil {
		spec.Files[resources.FileReplies] = q.Replies
	}
	specs, problems := definition.DocumentSpecs(graph)
	if definition.IsDocument(graph.Format) {
		problems.AllowUnknown() // its reading decided
	}
	if problems.HasErrors() {
		return spec, &failure.InvalidError{Diagnostics: problems}
	}
	for _, sp := range specs {
		if err := resources.CheckRef(s.cfg.Operator, sp); err != nil {
			return spec, err
		}
	}
	variables, err := s.input(graph, q, &spec)
	if err != nil {
		return spec, err
	}
	if err := bound(cmp.Or(graph.Concurrency, q.Workflow.Concurrency), &spec, s.cfg.Documents.Expressions); err != nil {
		return spec, err
	}
	remembers, err := q.remember(specs, spec.Meta)
	if err != nil {
		return spec, err
	}
	if err := resources.CheckTrust(specs, asks(variables, append(definition.Guarded(graph, q.Dir), remembers...)), resources.KeysSent(graph), q.Trust, spec.Meta); err != nil {
		return spec, err
	}
	for _, sp := range specs {
		if err := resources.CheckNames(s.cfg.Operator, sp); err != nil {
			return spec, err
		}
	}
	pins, problems, err := s.definitions.Pins(ctx, graph)
	if err != nil || problems.HasErrors() {
		return spec, cmp.Or(err, error(&failure.InvalidError{Diagnostics: problems}))
	}
	if len(pins) > 0 {
		spec.Meta[metaPins] = definition.PinText(pins)
	}
	if problems, err := s.opener.Granted(graph, q.Files); err != nil || problems.HasErrors() {
		return spec, cmp.Or(err, error(&failure.InvalidError{Diagnostics: problems}))
	}
	if spec.Place, err = s.placeOf(graph, q.Files); err != nil {
		return spec, err
	}
	if spec.Facts, err = s.definitions.Facts(graph, q.Dir); err != nil {
		return spec, err
	}
	if h := resources.PermissionsHash(s.cfg.Permissions); h != "" {
		rules, err := json.Marshal(s.cfg.Permissions)
		if err != nil {
			return spec, fmt.Errorf("note permissions: %w", err)
		}
		spec.Meta[resources.MetaPermissions], spec.Meta[resources.MetaRules] = h, string(rules)
	}
	if err := s.opener.NoteAllowed(specs, q.Trust, q.Files, spec.Meta); err != nil {
		return spec, err
	}
	if q.Replies == nil {
		if err := s.opener.CheckModels(graph, q.Model, q.Trust); err != nil {
			return spec, err
		}
	}
	if err := s.opener.Price(&spec); err != nil {
		return spec, err
	}
	if q.Record != "" {
		if spec.Meta[metaRecord], err = filepath.Abs(q.Record); err != nil {
			return spec, failure.Refuse(errcode.RecordingUnusable, nil, err)
		}
		if err := s.opener.Record(q.Record); err != nil {
			return spec, err
		}
	}
	return spec, nil
}

// label gives a run labels, over which those of the run that starts it win: all runs of a tree are found by the labels of the first.
func (s *Runner) label(ctx context.Context, spec *driver.Spec, labels workflow.Labels) error {
	if err := labels.Check(); err != nil {
		return failure.Refuse(errcode.InvalidLabels, nil, err)
	}
	if spec.ParentRun != "" {
		above, err := s.store.Head(ctx, spec.ParentRun)
		if err != nil && !errors.Is(err, journal.ErrNotFound) {
			return err
		}
		labels = labels.Below(above.Labels)
	}
	spec.Labels = labels
	return nil
}

// over fills what a request leaves open from what the process gives.
func (q StartRequest) over(s Starts) StartRequest {
	q.Model = cmp.Or(q.Model, s.Model)
	q.Files = q.Over(s.Files)
	return q
}

// target says in spec what the run is a run of (S1-24, S1-28).
func (q StartRequest) target(spec *driver.Spec, known documents.Kit) error {
	if len(spec.Workflow.Branches) > 0 {
		if q.Record != "" { // each branch would answer from the calls of all
			return failure.Refuse(errcode.RecordingBranches, nil, nil)
		}
		spec.Meta[metaTogether] = q.Branch
		limits, err := json.Marshal(q.Limits)
		if err != nil {
			return fmt.Errorf("start run: %w", err)
		}
		// They are those of each branch: the run above them only waits.
		spec.Meta[metaLimits], spec.Limits = string(limits), workflow.Limits{}
	} else if q.Branch != "" {
		spec.Meta[project.MetaTargetBranchID] = q.Branch
	}
	if f, _ := known.Of(q.Workflow.Format); f.Branches {
		spec.Meta[project.MetaTargetType] = "workflow"
		spec.Meta[project.MetaTargetID] = cmp.Or(q.Workflow.ID, q.Workflow.Name)
	}
	return nil
}

// checkRunID tells whether a run may get this id. It is asked before anything is touched, a recording too.
func (s *Runner) checkRunID(ctx context.Context, id string) error {
	if id == "" {
		return nil
	}
	bad := func(r rune) bool { return r == '/' || r == '\\' || unicode.IsSpace(r) || !unicode.IsPrint(r) }
	if len(id) > driver.MaxRunID || strings.HasPrefix(id, "-") || strings.HasPrefix(id, ".") || strings.ContainsFunc(id, bad) || !utf8.ValidString(id) {
		return failure.Refuse(errcode.InvalidRunID, errcode.Fields{"run": id, "max": driver.MaxRunID}, nil)
	}
	_, err := s.store.Head(ctx, id)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return &failure.InvalidError{Err: fmt.Errorf("run %s %w", id, journal.ErrExists)}
}

// asks is what a document wants beside its tools: to send variables, and to tell its agents files that are no texts for readers.
func asks(sends, files []string) failure.CommandsError {
	e := failure.CommandsError{Sends: sends}
	for _, name := range files {
		e.Access = append(e.Access, "send the file "+name+" to its models")
	}
	return e
}
