package engine

import (
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/workflow"
)

// What events hold is in package event.
type (
	Event = event.Event
	Type  = event.Type
	// Status is described at [event.Status], StepStatus at [event.StepStatus].
	Status     = event.Status
	StepStatus = event.StepStatus
	Data       = event.Data
	Value      = event.Value
	// Edit is a change of a part of one field of a typed state.
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

// Codes of failures that the engine itself makes.
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

// ReasonReopened is [event.ReasonReopened].
const ReasonReopened = event.ReasonReopened

// StatusOf is [event.StatusOf], StepEnd [event.StepEnd], IsFree [event.IsFree], LimitsOf [event.LimitsOf], WithLimits [event.WithLimits].
func StatusOf(d Data) Status           { return event.StatusOf(d) }
func StepEnd(d Data) StepStatus        { return event.StepEnd(d) }
func IsFree(code string) bool          { return event.IsFree(code) }
func LimitsOf(d Data) *workflow.Limits { return event.LimitsOf(d) }
func WithLimits(d Data, change func(workflow.Limits) workflow.Limits) Data {
	return event.WithLimits(d, change)
}

// JSONOf is [event.JSONOf], LocalBy [event.LocalBy], ReplyWarning [event.ReplyWarning].
func JSONOf(text string) (Value, bool)                 { return event.JSONOf(text) }
func LocalBy(c Channel) Actor                          { return event.LocalBy(c) }
func ReplyWarning(m *chat.Message, stop string) string { return event.ReplyWarning(m, stop) }
