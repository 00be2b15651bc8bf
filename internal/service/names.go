package service

import (
	"context"
	"io"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service/child"
	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/internal/service/resources"
	"github.com/hocket-run/hocket/internal/service/run"
	"github.com/hocket-run/hocket/internal/service/schedule"
	"github.com/hocket-run/hocket/internal/view"
	"github.com/hocket-run/hocket/workflow"
)

// The names of the parts as used by transports, clients and the command line.

// Errors: package failure.
type (
	// Code is the family of an error, which determines the exit status, the HTTP status and the
	// code of a problem.
	Code = failure.Code
	// Described is an error in the form that transports use.
	Described = failure.Described

	AllowedElsewhereError = failure.AllowedElsewhereError
	BusyError             = failure.BusyError
	ChangedError          = failure.ChangedError
	CommandsError         = failure.CommandsError
	EndedError            = failure.EndedError
	InUseError            = failure.InUseError
	InvalidError          = failure.InvalidError
	LimitError            = failure.LimitError
	NoApprovalError       = failure.NoApprovalError
	NotEndedError         = failure.NotEndedError
	NotFoundError         = failure.NotFoundError
	StoreError            = failure.StoreError
)

// The error families.
const (
	CodeInternal    = failure.CodeInternal
	CodeInvalid     = failure.CodeInvalid
	CodeNotFound    = failure.CodeNotFound
	CodeConflict    = failure.CodeConflict
	CodeGone        = failure.CodeGone
	CodeLimit       = failure.CodeLimit
	CodeUnavailable = failure.CodeUnavailable
)

// Errors without fields.
var (
	ErrInUse       = failure.ErrInUse
	ErrNoCall      = run.ErrNoCall
	ErrUnavailable = failure.ErrUnavailable
)

// CodeOf is [failure.CodeOf].
func CodeOf(err error) Code { return failure.CodeOf(err) }

// Describe is [failure.Describe].
func Describe(err error) Described { return failure.Describe(err) }

// Cause is [failure.Cause].
func Cause(code errcode.Code) error { return failure.Cause(code) }

// Refuse is [failure.Refuse].
func Refuse(code errcode.Code, fields errcode.Fields, cause error) error {
	return failure.Refuse(code, fields, cause)
}

// IsFull is [failure.IsFull].
func IsFull(err error) bool { return failure.IsFull(err) }

// Documents: package definition.
type (
	Applied            = definition.Applied
	ApplyAgentsRequest = definition.ApplyAgentsRequest
	ApplyRequest       = definition.ApplyRequest
	Definition         = definition.Definition
	Document           = definition.Document
	LoadOptions        = definition.LoadOptions
	Which              = definition.Which
)

// Names that documents and requests use.
const (
	AllBranches      = definition.AllBranches
	FormatAgent      = definition.FormatAgent
	FormatGraph      = definition.FormatGraph
	MaxDocumentBytes = definition.MaxDocumentBytes
)

// AgentsTextOf is [definition.AgentsTextOf].
func AgentsTextOf(rows []catalog.Row, ids []string) ([]byte, error) {
	return definition.AgentsTextOf(rows, ids)
}

// CheckAgents is [definition.CheckAgents].
func CheckAgents(list []workflow.Agent) diag.List { return definition.CheckAgents(list) }

// Choose is [definition.Choose].
func Choose(w *workflow.Workflow, branch string) (*workflow.Workflow, error) {
	return definition.Choose(w, branch)
}

// Entry is [definition.Entry].
func Entry(w *workflow.Workflow) *workflow.Agent { return definition.Entry(w) }

// EntryOf is [definition.EntryOf].
func EntryOf(entries []catalog.Entry, id string) (catalog.Entry, error) {
	return definition.EntryOf(entries, id)
}

// Load is [definition.Load].
func Load(ctx context.Context, file string, data []byte, opts LoadOptions) (*workflow.Workflow, diag.List, error) {
	return definition.Load(ctx, file, data, opts)
}

// ParseLabels is [run.ParseLabels].
func ParseLabels(texts []string) ([]journal.Selector, error) { return run.ParseLabels(texts) }

// PlaceOf is [definition.PlaceOf].
func PlaceOf(path string) string { return definition.PlaceOf(path) }

// Raises is [definition.Raises].
func Raises(l workflow.Limits, w *workflow.Workflow, branch string) bool {
	return definition.Raises(l, w, branch)
}

// ReadFile is [definition.ReadFile].
func ReadFile(path string, in io.Reader) ([]byte, error) { return definition.ReadFile(path, in) }

// Models and tools: package resources.
type (
	Files       = resources.Files
	ModelOffers = resources.ModelOffers
	ToolOffers  = resources.ToolOffers
	ToolReport  = resources.ToolReport
)

// MetaProgram is [resources.MetaProgram].
const MetaProgram = resources.MetaProgram

// Give is [resources.Opener.Give].
func (s *Service) Give(run string, f Files) error { return s.opener.Give(run, f) }

// Allow is [resources.Opener.Allow].
func (s *Service) Allow(ctx context.Context, run string) error { return s.opener.Allow(ctx, run) }

// Models is [resources.Opener.Models].
func (s *Service) Models() (models model.Client, fallback string) { return s.opener.Models() }

// ModelOffers is [resources.Opener.ModelOffers].
func (s *Service) ModelOffers() ModelOffers { return s.opener.ModelOffers() }

// ToolOffers is [resources.Opener.ToolOffers].
func (s *Service) ToolOffers() ToolOffers { return s.opener.ToolOffers() }

// AccountSession is [resources.Opener.AccountSession].
func (s *Service) AccountSession(by driver.Ledger, models model.Client, key string) model.Client {
	return s.opener.AccountSession(by, models, key)
}

// AccountTool is [resources.Opener.AccountTool].
func (s *Service) AccountTool(ctx context.Context, by driver.Ledger, key string) (settle func(), err error) {
	return s.opener.AccountTool(ctx, by, key)
}

// AllowUncounted is [resources.Opener.AllowUncounted].
func (s *Service) AllowUncounted(ctx context.Context, by driver.Ledger) error {
	return s.opener.AllowUncounted(ctx, by)
}

// Runs: package run.
type (
	Actor         = run.Actor
	AnswerRequest = run.AnswerRequest
	SignalRequest = run.SignalRequest
	Signalled     = run.Signalled
	Asked         = run.Asked
	Channel       = run.Channel
	ChildWork     = child.Work
	ForkRights    = run.ForkRights
	Graph         = run.Graph
	GraphRequest  = run.GraphRequest
	Filter        = run.Filter
	IfBusy        = run.IfBusy
	Launched      = run.Launched
	Noticed       = run.Noticed
	Proceed       = run.Proceed
	Recorded      = run.Recorded
	RetryRequest  = run.RetryRequest
	Sent          = run.Sent
	StartRequest  = run.StartRequest
	Started       = run.Started
	Starts        = run.Starts
)

// How a start is handled whose session has an unfinished run.
const (
	IfBusyReject         = run.IfBusyReject
	IfBusyQueue          = run.IfBusyQueue
	IfBusyCancelPrevious = run.IfBusyCancelPrevious
)

// Names and limits of requests.
const (
	MaxKey = run.MaxKey

	TriggerCLI, TriggerAPI, TriggerMCP = run.TriggerCLI, run.TriggerAPI, run.TriggerMCP
	TriggerOpenAI, TriggerWebhook      = run.TriggerOpenAI, run.TriggerWebhook
	TriggerSchedule, TriggerProgram    = run.TriggerSchedule, run.TriggerProgram
	MetaBy                             = run.MetaBy
)

// Triggers is [run.Triggers].
func Triggers() []string { return run.Triggers() }

// Decide is [run.Decide].
func Decide(decision string) engine.Value { return run.Decide(decision) }

// NeedsPerson is [run.NeedsPerson].
func NeedsPerson(w *engine.WaitOpened) bool { return run.NeedsPerson(w) }

// NewRunID is [run.NewRunID].
func NewRunID() string { return run.NewRunID() }

// Read is [run.Read].
func Read(ctx context.Context, src view.Source, id string) (Recorded, error) {
	return run.Read(ctx, src, id)
}

// StoredOf is [run.StoredOf].
func StoredOf(h journal.Head) string { return run.StoredOf(h) }

// Schedules: package schedule.
type (
	Preview         = schedule.Preview
	PreviewRequest  = schedule.PreviewRequest
	Scheduled       = schedule.Scheduled
	ControlRequest  = schedule.ControlRequest
	ScheduleControl = schedule.Control
	ScheduleRequest = schedule.ScheduleRequest
	GraphSchedule   = schedule.GraphSchedule
	GraphsRequest   = schedule.GraphsRequest
)

// Actions of a person on a schedule.
const (
	PauseSchedule, ResumeSchedule = schedule.Pause, schedule.Resume
	SkipSchedule, RunSchedule     = schedule.Skip, schedule.RunNow
)

// ErrNoSchedule is [schedule.ErrNone].
var ErrNoSchedule = schedule.ErrNone

// CheckGraphSchedules is [schedule.CheckGraphSchedules].
func CheckGraphSchedules(list []GraphSchedule) error { return schedule.CheckGraphSchedules(list) }

// PreviewOf is [schedule.PreviewOf].
func PreviewOf(w *workflow.Workflow, q PreviewRequest) (Preview, error) {
	return schedule.PreviewOf(w, q)
}

// CheckPlace is [run.CheckPlace].
func CheckPlace(place string) error { return run.CheckPlace(place) }
