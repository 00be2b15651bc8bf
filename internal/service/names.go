package service

import (
	"context"
	"io"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/event"
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

	// AllowedElsewhereError is [failure.AllowedElsewhereError].
	AllowedElsewhereError = failure.AllowedElsewhereError
	// BusyError is [failure.BusyError].
	BusyError = failure.BusyError
	// ChangedError is [failure.ChangedError].
	ChangedError = failure.ChangedError
	// CommandsError is [failure.CommandsError].
	CommandsError = failure.CommandsError
	// EndedError is [failure.EndedError].
	EndedError = failure.EndedError
	// InUseError is [failure.InUseError].
	InUseError = failure.InUseError
	// InvalidError is [failure.InvalidError].
	InvalidError = failure.InvalidError
	// LimitError is [failure.LimitError].
	LimitError = failure.LimitError
	// NoApprovalError is [failure.NoApprovalError].
	NoApprovalError = failure.NoApprovalError
	// NotEndedError is [failure.NotEndedError].
	NotEndedError = failure.NotEndedError
	// NotFoundError is [failure.NotFoundError].
	NotFoundError = failure.NotFoundError
	// StoreError is [failure.StoreError].
	StoreError = failure.StoreError
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
	// Applied is [definition.Applied].
	Applied = definition.Applied
	// ApplyAgentsRequest is [definition.ApplyAgentsRequest].
	ApplyAgentsRequest = definition.ApplyAgentsRequest
	// ApplyRequest is [definition.ApplyRequest].
	ApplyRequest = definition.ApplyRequest
	// Definition is [definition.Definition].
	Definition = definition.Definition
	// Document is [definition.Document].
	Document = definition.Document
	// LoadOptions is [definition.LoadOptions].
	LoadOptions = definition.LoadOptions
	// Which is [definition.Which].
	Which = definition.Which
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
	// Files is [resources.Files].
	Files = resources.Files
	// ModelOffers is [resources.ModelOffers].
	ModelOffers = resources.ModelOffers
	// ToolOffers is [resources.ToolOffers].
	ToolOffers = resources.ToolOffers
	// ToolReport is [resources.ToolReport].
	ToolReport = resources.ToolReport
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
	// Actor is [run.Actor].
	Actor = run.Actor
	// AnswerRequest is [run.AnswerRequest].
	AnswerRequest = run.AnswerRequest
	// SignalRequest is [run.SignalRequest].
	SignalRequest = run.SignalRequest
	// SignalResult is [run.SignalResult].
	SignalResult = run.SignalResult
	// Asked is [run.Asked].
	Asked = run.Asked
	// Channel is [run.Channel].
	Channel = run.Channel
	// ChildWork is [child.Work].
	ChildWork = child.Work
	// ForkRights is [run.ForkRights].
	ForkRights = run.ForkRights
	// Graph is [run.Graph].
	Graph = run.Graph
	// GraphRequest is [run.GraphRequest].
	GraphRequest = run.GraphRequest
	// Filter is [run.Filter].
	Filter = run.Filter
	// IfBusy is [run.IfBusy].
	IfBusy = run.IfBusy
	// Launched is [run.Launched].
	Launched = run.Launched
	// Noticed is [run.Noticed].
	Noticed = run.Noticed
	// Proceed is [run.Proceed].
	Proceed = run.Proceed
	// Recorded is [run.Recorded].
	Recorded = run.Recorded
	// RetryRequest is [run.RetryRequest].
	RetryRequest = run.RetryRequest
	// Sent is [run.Sent].
	Sent = run.Sent
	// StartRequest is [run.StartRequest].
	StartRequest = run.StartRequest
	// Started is [run.Started].
	Started = run.Started
	// Starts is [run.Starts].
	Starts = run.Starts
)

// How a start is handled if its session has an unfinished run.
const (
	IfBusyReject         = run.IfBusyReject
	IfBusyQueue          = run.IfBusyQueue
	IfBusyCancelPrevious = run.IfBusyCancelPrevious
)

// Names and limits of requests.
const (
	// MaxKey is [run.MaxKey].
	MaxKey = run.MaxKey
	// TriggerCLI is [run.TriggerCLI].
	TriggerCLI = run.TriggerCLI
	// TriggerAPI is [run.TriggerAPI].
	TriggerAPI = run.TriggerAPI
	// TriggerMCP is [run.TriggerMCP].
	TriggerMCP = run.TriggerMCP
	// TriggerOpenAI is [run.TriggerOpenAI].
	TriggerOpenAI = run.TriggerOpenAI
	// TriggerWebhook is [run.TriggerWebhook].
	TriggerWebhook = run.TriggerWebhook
	// TriggerSchedule is [run.TriggerSchedule].
	TriggerSchedule = run.TriggerSchedule
	// TriggerProgram is [run.TriggerProgram].
	TriggerProgram = run.TriggerProgram
	// MetaBy is [run.MetaBy].
	MetaBy = run.MetaBy
)

// Triggers is [run.Triggers].
func Triggers() []string { return run.Triggers() }

// Decide is [run.Decide].
func Decide(decision string) event.Value { return run.Decide(decision) }

// NeedsPerson is [run.NeedsPerson].
func NeedsPerson(w *event.WaitOpened) bool { return run.NeedsPerson(w) }

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
	// Preview is [schedule.Preview].
	Preview = schedule.Preview
	// PreviewRequest is [schedule.PreviewRequest].
	PreviewRequest = schedule.PreviewRequest
	// Scheduled is [schedule.Scheduled].
	Scheduled = schedule.Scheduled
	// ControlRequest is [schedule.ControlRequest].
	ControlRequest = schedule.ControlRequest
	// ScheduleControl is [schedule.Control].
	ScheduleControl = schedule.Control
	// ScheduleRequest is [schedule.Request].
	ScheduleRequest = schedule.Request
	// GraphSchedule is [schedule.GraphSchedule].
	GraphSchedule = schedule.GraphSchedule
	// GraphsRequest is [schedule.GraphsRequest].
	GraphsRequest = schedule.GraphsRequest
)

// Actions of a person on a schedule.
const (
	// PauseSchedule is [schedule.Pause].
	PauseSchedule = schedule.Pause
	// ResumeSchedule is [schedule.Resume].
	ResumeSchedule = schedule.Resume
	// SkipSchedule is [schedule.Skip].
	SkipSchedule = schedule.Skip
	// RunSchedule is [schedule.RunNow].
	RunSchedule = schedule.RunNow
)

// CodeScheduleRefused is [schedule.CodeRefused].
const CodeScheduleRefused = schedule.CodeRefused

// ErrNoScheduler is [schedule.ErrNoScheduler].
var ErrNoScheduler = schedule.ErrNoScheduler

// ErrNoSchedule is [schedule.ErrNone].
var ErrNoSchedule = schedule.ErrNone

// CheckGraphSchedules is [schedule.CheckGraphSchedules].
func CheckGraphSchedules(list []GraphSchedule) error { return schedule.CheckGraphSchedules(list) }

// LastYear is [schedule.LastYear].
const LastYear = schedule.LastYear

// PreviewOf is [schedule.PreviewOf].
func PreviewOf(w *workflow.Workflow, q PreviewRequest) (Preview, error) {
	return schedule.PreviewOf(w, q)
}

// CheckPlace is [run.CheckPlace].
func CheckPlace(place string) error { return run.CheckPlace(place) }
