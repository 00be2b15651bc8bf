package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
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

// metaPins is the key of a run's meta that holds the versions of the workflows that its steps run;
// see definition.PinText.
const metaPins = "workflows"

// StartRequest specifies what to run.
type StartRequest struct {
	// Workflow is the whole workflow, with its branches.
	Workflow *workflow.Workflow
	// Branch is the branch to run, as in Choose; "" is the main graph.
	Branch string
	// Stored is the id under which the workflow is stored; "" if it is not. Version is its version
	// number; 0 if it was built from rows.
	Stored  string
	Version int
	// Input is a string or, if the workflow has named inputs, also their JSON object. Inputs are
	// further inputs by name, a JSON object; nil means none.
	Input  string
	Inputs json.RawMessage
	// Dir is the folder of the document, next to which prompt files are searched; "" if there is
	// none, and no files are read.
	Dir string
	// Place is the path of the document's file, as returned by PlaceOf: the memories of its agents
	// belong to it. "" means that the document is not a file. A stored workflow has its id instead.
	Place string
	// Graph is the name of the Go graph of which the workflow is an agent; "" if it is not.
	Graph string
	// RunID must be new; "" means that one is generated.
	RunID string
	// Key identifies the request, in at most MaxKey printable bytes, so that it can be retried; see
	// Begin. "" means that each request is separate.
	Key string
	// Model overrides every agent's model.
	Model string
	resources.Files
	// Record is the name of a file to which the model calls of the run are written as a reply
	// script; "" disables it.
	Record string
	Limits workflow.Limits
	// Session is the session that the run belongs to, in at most MaxKey printable bytes; at most
	// one of its runs is active, in any process (P19). "" means none. IfBusy determines what
	// happens while another one is active; "" means IfBusyReject.
	Session string
	IfBusy  IfBusy
	// Trust allows the commands that the document names (SEC5).
	Trust bool
	// By identifies who starts the run, for transports that check its owner later: the id of a
	// token, which is not secret. It is stored with the run; "" means unknown.
	By string
	// ParentRun is the run that starts this one, or empty. Caller is the run of a program whose
	// function starts this one without making it a child run, or empty. Above is the rest of that
	// run's budget available to this one; see child.Work.
	ParentRun, Caller string
	// Abandoned, when closed, ends the waiting of the start before anything is stored: for runs of
	// its key that it replaces, and for its turn if the driver has no queue. Nil means that only
	// the context ends it. It is for starts whose context outlives their caller's, since it must be
	// known whether a run is stored.
	Abandoned <-chan struct{}
	Above     *workflow.Budget
	// Labels are the run's labels, which take precedence over the workflow's. The labels of
	// ParentRun take precedence over both, and count first if there are too many.
	Labels workflow.Labels
	// Trigger is the reason for the start, one of the Trigger constants; if "", it is derived from
	// ParentRun and Planned.
	Trigger string
	// Planned is the time for which a schedule planned the run; zero if none did.
	Planned time.Time
	// Schedule is the id of that schedule, if it has one.
	Schedule string
	// meta is stored with the run.
	meta map[string]string
}

// Triggers of runs.
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

// Triggers returns all triggers of runs.
func Triggers() []string {
	return []string{TriggerCLI, TriggerAPI, TriggerMCP, TriggerOpenAI, TriggerWebhook, TriggerSchedule, TriggerProgram,
		TriggerRun}
}

// NewRunID returns a new unique run id; ids sort by creation time.
func NewRunID() string { return driver.NewRunID(time.Now()) }

// Start checks everything that can be checked before the first call and starts the run. It returns
// once the run is stored.
//
// Errors: *InvalidError, *CommandsError and *model.RefError (D25), *BusyError and *LimitError, all
// with nothing stored; journal.ErrExists.
func (s *Runner) Start(ctx context.Context, q StartRequest) (run string, err error) {
	started, err := s.Begin(ctx, q)
	return started.Run, err
}

// begin starts the run regardless of earlier requests.
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

// trigger returns the trigger of the run.
func (q StartRequest) trigger() string {
	switch {
	case q.ParentRun != "":
		return TriggerRun
	case !q.Planned.IsZero():
		return TriggerSchedule
	}
	return q.Trigger
}

// note adds information about the request to a run's metadata.
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
	if t := q.trigger(); t == TriggerSchedule || t == TriggerWebhook {
		meta[resources.MetaUnattended] = "true"
	}
	if s.cfg.Program != "" {
		meta[resources.MetaProgram] = s.cfg.Program
	}
}

// prepare checks everything that can be checked before the first call.
func (s *Runner) prepare(ctx context.Context, q StartRequest) (spec driver.Spec, err error) {
	graph, err := definition.Choose(q.Workflow, q.Branch)
	if err != nil {
		return spec, err
	}
	q = q.withDefaults(s.cfg.Starts)
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
	if q.Version != 0 {
		spec.Meta[project.MetaVersion] = strconv.Itoa(q.Version)
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
		problems.AllowUnknown() // decided when it was read
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
	if err := setSlot(cmp.Or(graph.Concurrency, q.Workflow.Concurrency), &spec,
		s.cfg.Documents.Expressions); err != nil {
		return spec, err
	}
	remembers, err := q.recordOrigin(specs, spec.Meta)
	if err != nil {
		return spec, err
	}
	if err := resources.CheckTrust(specs,
		documentRequests(variables, definition.Guarded(graph, q.Dir), remembers),
		func() failure.CommandsError {
			return failure.CommandsError{Sends: resources.KeysSent(graph), Access: s.opener.PrivateAddresses(ctx,
				specs, graph)}
		}, q.Trust, spec.Meta); err != nil {
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
	if q.AllowUnknown {
		spec.Meta[resources.MetaAllowUnknown] = "true"
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

// label sets the labels of a run; the labels of the run that starts it take precedence, so all runs
// of a tree can be found by the labels of the root.
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

// withDefaults fills unset fields of a request from the defaults of the process.
func (q StartRequest) withDefaults(s Starts) StartRequest {
	q.Model = cmp.Or(q.Model, s.Model)
	q.Files = q.Over(s.Files)
	return q
}

// target records in spec what the run executes (S1-24, S1-28).
func (q StartRequest) target(spec *driver.Spec, known documents.Kit) error {
	if len(spec.Workflow.Branches) > 0 {
		if q.Record != "" { // each branch would replay the calls of all
			return failure.Refuse(errcode.RecordingBranches, nil, nil)
		}
		spec.Meta[metaTogether] = q.Branch
		limits, err := json.Marshal(q.Limits)
		if err != nil {
			return fmt.Errorf("start run: %w", err)
		}
		// They apply to each branch: the parent run only waits.
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

// checkRunID returns an error unless a run may get this id. It is called before anything is
// changed, including a recording.
func (s *Runner) checkRunID(ctx context.Context, id string) error {
	if id == "" {
		return nil
	}
	bad := func(r rune) bool { return r == '/' || r == '\\' || unicode.IsSpace(r) || !unicode.IsPrint(r) }
	if len(id) > driver.MaxRunID || strings.HasPrefix(id, "-") || strings.HasPrefix(id, ".") ||
		strings.ContainsFunc(id, bad) || !utf8.ValidString(id) {
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

// documentRequests returns what a document requests in addition to its tools: to send variables, to
// show its agents files that are not written for human readers, and other access.
func documentRequests(sends, files, access []string) failure.CommandsError {
	e := failure.CommandsError{Sends: sends}
	for _, name := range files {
		e.Access = append(e.Access, "send the file "+name+" to its models")
	}
	e.Access = append(e.Access, access...)
	return e
}
