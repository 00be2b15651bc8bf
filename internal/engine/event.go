package engine

import (
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/workflow"
)

// The contents of events are defined in package event.
type (
	Event = event.Event
	Type  = event.Type
	// Status is described at [event.Status], StepStatus at [event.StepStatus].
	Status     = event.Status
	StepStatus = event.StepStatus
	Data       = event.Data
	Value      = event.Value
	// Edit is a partial change of one field of a typed state.
	Edit              = typed.Edit
	Failure           = event.Failure
	Actor             = event.Actor
	Channel           = event.Channel
	RunCreated        = event.RunCreated
	Price             = event.Price
	RunStarted        = event.RunStarted
	RunPaused         = event.RunPaused
	RunResumed        = event.RunResumed
	RunCompleted      = event.RunCompleted
	RunFailed         = event.RunFailed
	RunCancelled      = event.RunCancelled
	RunCancelling     = event.RunCancelling
	SignalRaised      = event.SignalRaised
	SignalReceived    = event.SignalReceived
	LimitReached      = event.LimitReached
	StepStarted       = event.StepStarted
	StepRetrying      = event.StepRetrying
	StepCompleted     = event.StepCompleted
	StepFailed        = event.StepFailed
	StepCancelled     = event.StepCancelled
	StepSkipped       = event.StepSkipped
	EdgeTaken         = event.EdgeTaken
	ConditionChecked  = event.ConditionChecked
	SubagentStarted   = event.SubagentStarted
	SubagentCompleted = event.SubagentCompleted
	SubagentFailed    = event.SubagentFailed
	AgentHanded       = event.AgentHanded
	AgentCompacted    = event.AgentCompacted
	WaitOpened        = event.WaitOpened
	Below             = event.Below
	WaitAnswered      = event.WaitAnswered
	WaitReminded      = event.WaitReminded
	WaitClosed        = event.WaitClosed
	TimerFired        = event.TimerFired
	ModelCalled       = event.ModelCalled
	Reserved          = event.Reserved
	ModelReplied      = event.ModelReplied
	ModelFailed       = event.ModelFailed
	ToolCalled        = event.ToolCalled
	ToolReturned      = event.ToolReturned
	ToolFailed        = event.ToolFailed
	ToolsPinned       = event.ToolsPinned
	FuncCalled        = event.FuncCalled
	FuncReturned      = event.FuncReturned
	FuncNoted         = event.FuncNoted
	ChildStarted      = event.ChildStarted
	CallUsed          = event.CallUsed
	Used              = event.Used
	Spent             = event.Spent
	CallReserved      = event.CallReserved
)

// Codes of failures that the engine itself creates.
const (
	CodeMaxSteps          = event.CodeMaxSteps
	CodeMaxLoopIterations = event.CodeMaxLoopIterations
	CodeMaxTurns          = event.CodeMaxTurns
	CodeMaxBytes          = event.CodeMaxBytes
	CodeValueTooLarge     = event.CodeValueTooLarge
	CodeNoProgress        = event.CodeNoProgress
	CodeTimeout           = event.CodeTimeout
	CodeBudget            = event.CodeBudget
	CodeNodeBudget        = event.CodeNodeBudget
	CodeWorkflowBudget    = event.CodeWorkflowBudget
	CodeParentBudget      = event.CodeParentBudget
	CodeOscillation       = event.CodeOscillation
	CodeNoRoute           = event.CodeNoRoute
	CodeCondition         = event.CodeCondition
	CodeInvalidOutput     = event.CodeInvalidOutput
	CodeStateConflict     = event.CodeStateConflict
	CodeDeadline          = event.CodeDeadline
	CodeTool              = event.CodeTool
	CodeOutcomeUnknown    = event.CodeOutcomeUnknown
	CodeRejected          = event.CodeRejected
	CodeFunc              = event.CodeFunc
	CodeUncounted         = event.CodeUncounted
	CodeNodeNotFound      = event.CodeNodeNotFound
	CodeCancelled         = event.CodeCancelled
	CodeStuck             = event.CodeStuck
	CodeExpression        = event.CodeExpression
	CodeEnded             = event.CodeEnded
	CodeMaxItems          = event.CodeMaxItems
	CodeItemsFailed       = event.CodeItemsFailed
)

const (
	StatusPending   = event.StatusPending
	StatusRunning   = event.StatusRunning
	StatusPaused    = event.StatusPaused
	StatusCompleted = event.StatusCompleted
	StatusFailed    = event.StatusFailed
	StatusCancelled = event.StatusCancelled

	StepRunning = event.Running
)

const (
	FactDate        = event.FactDate
	FactEnvironment = event.FactEnvironment
	FactFile        = event.FactFile

	LocalActor        = event.LocalActor
	ChannelCLI        = event.ChannelCLI
	ChannelHTTP       = event.ChannelHTTP
	ChannelMCP        = event.ChannelMCP
	ChannelOpenAI     = event.ChannelOpenAI
	ChannelWebhook    = event.ChannelWebhook
	ChannelLink       = event.ChannelLink
	ChannelProgram    = event.ChannelProgram
	ChannelApproveAll = event.ChannelApproveAll
	ChannelClock      = event.ChannelClock
)

// ReasonReopened is an alias of [event.ReasonReopened].
const ReasonReopened = event.ReasonReopened

// StatusOf is an alias of [event.StatusOf], StepEnd of [event.StepEnd], IsFree of [event.IsFree],
// LimitsOf of [event.LimitsOf], and WithLimits of [event.WithLimits].
func StatusOf(d Data) Status           { return event.StatusOf(d) }
func StepEnd(d Data) StepStatus        { return event.StepEnd(d) }
func IsFree(code string) bool          { return event.IsFree(code) }
func LimitsOf(d Data) *workflow.Limits { return event.LimitsOf(d) }
func WithLimits(d Data, change func(workflow.Limits) workflow.Limits) Data {
	return event.WithLimits(d, change)
}

// JSONOf is an alias of [event.JSONOf], LocalBy of [event.LocalBy], and ReplyWarning of
// [event.ReplyWarning].
func JSONOf(text string) (Value, bool)                 { return event.JSONOf(text) }
func LocalBy(c Channel) Actor                          { return event.LocalBy(c) }
func ReplyWarning(m *chat.Message, stop string) string { return event.ReplyWarning(m, stop) }
