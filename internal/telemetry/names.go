package telemetry

// Names of the GenAI conventions (github.com/open-telemetry/semantic-conventions-genai, November
// 2026). They are defined here because OpenTelemetry's Go package dropped them after version 1.41.
const (
	OperationName    = "gen_ai.operation.name"
	ProviderName     = "gen_ai.provider.name"
	RequestModel     = "gen_ai.request.model"
	ResponseModel    = "gen_ai.response.model"
	FinishReasons    = "gen_ai.response.finish_reasons"
	InputTokens      = "gen_ai.usage.input_tokens"             //nolint:gosec // counts, no credentials
	OutputTokens     = "gen_ai.usage.output_tokens"            //nolint:gosec // counts, no credentials
	CachedTokens     = "gen_ai.usage.cache_read.input_tokens"  //nolint:gosec // counts, no credentials
	CacheWriteTokens = "gen_ai.usage.cache_write.input_tokens" //nolint:gosec // counts, no credentials
	ReasoningTokens  = "gen_ai.usage.reasoning.output_tokens"  //nolint:gosec // counts, no credentials
	ResponseID       = "gen_ai.response.id"
	FirstChunk       = "gen_ai.response.time_to_first_chunk"
	Temperature      = "gen_ai.request.temperature"
	TopP             = "gen_ai.request.top_p"
	FrequencyPenalty = "gen_ai.request.frequency_penalty"
	PresencePenalty  = "gen_ai.request.presence_penalty"
	MaxTokens        = "gen_ai.request.max_tokens" //nolint:gosec // counts, no credentials
	StopSequences    = "gen_ai.request.stop_sequences"
	Stream           = "gen_ai.request.stream"
	ReasoningLevel   = "gen_ai.request.reasoning.level"
	OutputType       = "gen_ai.output.type"
	ServerAddress    = "server.address"
	ServerPort       = "server.port"
	ConversationID   = "gen_ai.conversation.id"
	AgentID          = "gen_ai.agent.id"
	AgentName        = "gen_ai.agent.name"
	WorkflowLabel    = "gen_ai.workflow.name"
	ToolName         = "gen_ai.tool.name"
	ToolType         = "gen_ai.tool.type"
	ToolCallID       = "gen_ai.tool.call.id"
	TokenType        = "gen_ai.token.type" //nolint:gosec // counts, no credentials
	ErrorType        = "error.type"

	// InputMessages and the names after it hold content and are exported only if Config.Content is
	// set.
	InputMessages      = "gen_ai.input.messages"
	OutputMessages     = "gen_ai.output.messages"
	SystemInstructions = "gen_ai.system_instructions"
	ToolArguments      = "gen_ai.tool.call.arguments"
	ToolResult         = "gen_ai.tool.call.result"
)

// Hocket's own names, which package oteltrack shares.
const (
	Namespace     = "hocket.namespace"
	RunID         = "hocket.run.id"
	ForkedFrom    = "hocket.run.forked_from"
	WorkflowID    = "hocket.workflow.id"
	WorkflowName  = "hocket.workflow.name"
	Digest        = "hocket.workflow.digest"
	Format        = "hocket.workflow.format"
	Status        = "hocket.status"
	NodeID        = "hocket.node.id"
	NodeType      = "hocket.node.type"
	Step          = "hocket.step"
	Iteration     = "hocket.iteration"
	Attempt       = "hocket.attempt"
	Call          = "hocket.call"
	Function      = "hocket.function"
	Late          = "hocket.late"
	Withheld      = "hocket.withheld"
	CostUSD       = "hocket.cost.usd"
	CompactReason = "hocket.compaction.reason"
	InsteadOf     = "hocket.fallback.instead_of"
	InsteadCode   = "hocket.fallback.error"
	WaitID        = "hocket.wait.id"
	WaitKind      = "hocket.wait.kind"
	WaitOutcome   = "hocket.wait.outcome"
	Reason        = "hocket.reason"
	LimitName     = "hocket.limit.name"
	LimitMax      = "hocket.limit.max"
	MaxSteps      = "hocket.max_steps"
	Resuming      = "hocket.resuming"
	SubagentDepth = "hocket.subagent.depth"
)

// Values of gen_ai.operation.name, which are also the first words of span names.
const (
	OpWorkflow = "invoke_workflow"
	OpAgent    = "invoke_agent"
	OpChat     = "chat"
	OpTool     = "execute_tool"
)

// Names of metrics, with their units in docs/telemetry.md.
const (
	MetricTokens   = "gen_ai.client.token.usage" //nolint:gosec // counts, no credentials
	MetricModel    = "gen_ai.client.operation.duration"
	MetricFirst    = "gen_ai.client.operation.time_to_first_chunk"
	MetricWorkflow = "gen_ai.workflow.duration"
	MetricAgent    = "gen_ai.invoke_agent.duration"
	MetricTool     = "gen_ai.execute_tool.duration"
	MetricCost     = "hocket.model.call.cost"
	MetricStarted  = "hocket.run.started"
	MetricRuns     = "hocket.run.count"
	MetricStep     = "hocket.step.duration"
	MetricActive   = "hocket.run.active"
	MetricWaiting  = "hocket.run.waiting"
	overflowMarker = "otel.metric.overflow"
)

// Names that the latest, experimental form of the conventions uses for metrics of model calls: see
// Config.Latest.
const (
	LatestModel      = "gen_ai.client.inference.duration"
	LatestFirst      = "gen_ai.client.inference.time_to_first_chunk"
	LatestInput      = "gen_ai.client.inference.operation.input_tokens"
	LatestOutput     = "gen_ai.client.inference.operation.output_tokens"
	LatestUsedInput  = "gen_ai.client.inference.usage.input_tokens"
	LatestUsedOutput = "gen_ai.client.inference.usage.output_tokens"
	LatestCacheRead  = "gen_ai.client.inference.usage.cache_read.input_tokens"
	LatestCacheWrite = "gen_ai.client.inference.usage.cache_write.input_tokens"
	LatestReasoning  = "gen_ai.client.inference.usage.reasoning.output_tokens"
	TokenModality    = "gen_ai.token.modality" //nolint:gosec // counts, no credentials
)
