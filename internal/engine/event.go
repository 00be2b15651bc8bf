package engine

import (
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/workflow"
)

// The contents of events are defined in package event.
type (
	// Event is [event.Event].
	Event = event.Event
	// Type is [event.Type].
	Type = event.Type
	// Status is [event.Status].
	Status = event.Status
	// StepStatus is [event.StepStatus].
	StepStatus = event.StepStatus
	// Data is [event.Data].
	Data = event.Data
	// Value is [event.Value].
	Value = event.Value
	// Edit is a partial change of one field of a typed state.
	Edit = typed.Edit
	// Failure is [event.Failure].
	Failure = event.Failure
	// Actor is [event.Actor].
	Actor = event.Actor
	// Channel is [event.Channel].
	Channel = event.Channel
	// RunCreated is [event.RunCreated].
	RunCreated = event.RunCreated
	// Price is [event.Price].
	Price = event.Price
	// RunStarted is [event.RunStarted].
	RunStarted = event.RunStarted
	// RunPaused is [event.RunPaused].
	RunPaused = event.RunPaused
	// RunResumed is [event.RunResumed].
	RunResumed = event.RunResumed
	// RunCompleted is [event.RunCompleted].
	RunCompleted = event.RunCompleted
	// RunFailed is [event.RunFailed].
	RunFailed = event.RunFailed
	// RunCancelled is [event.RunCancelled].
	RunCancelled = event.RunCancelled
	// RunCancelling is [event.RunCancelling].
	RunCancelling = event.RunCancelling
	// SignalRaised is [event.SignalRaised].
	SignalRaised = event.SignalRaised
	// SignalReceived is [event.SignalReceived].
	SignalReceived = event.SignalReceived
	// LimitReached is [event.LimitReached].
	LimitReached = event.LimitReached
	// StepStarted is [event.StepStarted].
	StepStarted = event.StepStarted
	// StepRetrying is [event.StepRetrying].
	StepRetrying = event.StepRetrying
	// StepCompleted is [event.StepCompleted].
	StepCompleted = event.StepCompleted
	// StepFailed is [event.StepFailed].
	StepFailed = event.StepFailed
	// StepCancelled is [event.StepCancelled].
	StepCancelled = event.StepCancelled
	// StepSkipped is [event.StepSkipped].
	StepSkipped = event.StepSkipped
	// EdgeTaken is [event.EdgeTaken].
	EdgeTaken = event.EdgeTaken
	// ConditionChecked is [event.ConditionChecked].
	ConditionChecked = event.ConditionChecked
	// SubagentStarted is [event.SubagentStarted].
	SubagentStarted = event.SubagentStarted
	// SubagentCompleted is [event.SubagentCompleted].
	SubagentCompleted = event.SubagentCompleted
	// SubagentFailed is [event.SubagentFailed].
	SubagentFailed = event.SubagentFailed
	// AgentHanded is [event.AgentHanded].
	AgentHanded = event.AgentHanded
	// AgentCompacted is [event.AgentCompacted].
	AgentCompacted = event.AgentCompacted
	// WaitOpened is [event.WaitOpened].
	WaitOpened = event.WaitOpened
	// Below is [event.Below].
	Below = event.Below
	// WaitAnswered is [event.WaitAnswered].
	WaitAnswered = event.WaitAnswered
	// WaitReminded is [event.WaitReminded].
	WaitReminded = event.WaitReminded
	// WaitClosed is [event.WaitClosed].
	WaitClosed = event.WaitClosed
	// TimerFired is [event.TimerFired].
	TimerFired = event.TimerFired
	// ModelCalled is [event.ModelCalled].
	ModelCalled = event.ModelCalled
	// Reserved is [event.Reserved].
	Reserved = event.Reserved
	// ModelReplied is [event.ModelReplied].
	ModelReplied = event.ModelReplied
	// ModelFailed is [event.ModelFailed].
	ModelFailed = event.ModelFailed
	// ToolCalled is [event.ToolCalled].
	ToolCalled = event.ToolCalled
	// ToolReturned is [event.ToolReturned].
	ToolReturned = event.ToolReturned
	// ToolFailed is [event.ToolFailed].
	ToolFailed = event.ToolFailed
	// ToolsPinned is [event.ToolsPinned].
	ToolsPinned = event.ToolsPinned
	// FuncCalled is [event.FuncCalled].
	FuncCalled = event.FuncCalled
	// FuncReturned is [event.FuncReturned].
	FuncReturned = event.FuncReturned
	// FuncNoted is [event.FuncNoted].
	FuncNoted = event.FuncNoted
	// ChildStarted is [event.ChildStarted].
	ChildStarted = event.ChildStarted
	// CallUsed is [event.CallUsed].
	CallUsed = event.CallUsed
	// Used is [event.Used].
	Used = event.Used
	// Spent is [event.Spent].
	Spent = event.Spent
	// CallReserved is [event.CallReserved].
	CallReserved = event.CallReserved
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
	CodeUnattended        = event.CodeUnattended
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

// The states of runs and steps that other packages use.
const (
	StatusPending   = event.StatusPending
	StatusRunning   = event.StatusRunning
	StatusPaused    = event.StatusPaused
	StatusCompleted = event.StatusCompleted
	StatusFailed    = event.StatusFailed
	StatusCancelled = event.StatusCancelled

	StepRunning = event.Running
)

// The kinds of facts, and the actors and channels of answers.
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

// StatusOf is an alias of [event.StatusOf].
func StatusOf(d Data) Status { return event.StatusOf(d) }

// StepEnd is an alias of [event.StepEnd].
func StepEnd(d Data) StepStatus { return event.StepEnd(d) }

// LimitsOf is an alias of [event.LimitsOf].
func LimitsOf(d Data) *workflow.Limits { return event.LimitsOf(d) }

// WithLimits is an alias of [event.WithLimits].
func WithLimits(d Data, change func(workflow.Limits) workflow.Limits) Data {
	return event.WithLimits(d, change)
}

// JSONOf is an alias of [event.JSONOf].
func JSONOf(text string) (Value, bool) { return event.JSONOf(text) }

// LocalBy is an alias of [event.LocalBy].
func LocalBy(c Channel) Actor { return event.LocalBy(c) }

// ReplyWarning is an alias of [event.ReplyWarning].
func ReplyWarning(m *chat.Message, stop string) string { return event.ReplyWarning(m, stop) }
