package errcode

import "sync"

// Codes of errors about workflows, agents and documents.
const (
	InvalidDocument     Code = "invalid-document"
	SeveralDocuments    Code = "several-documents"
	WorkflowNotFound    Code = "workflow-not-found"
	VersionNotFound     Code = "version-not-found"
	AgentNotFound       Code = "agent-not-found"
	WorkflowDraftOnly   Code = "workflow-draft-only"
	WorkflowNoDraft     Code = "workflow-no-draft"
	WorkflowRowsDeleted Code = "workflow-rows-deleted"
	WorkflowTwoSources  Code = "workflow-two-sources"
	DefinitionChanged   Code = "definition-changed"
	AgentInUse          Code = "agent-in-use"
	BranchNotFound      Code = "branch-not-found"
	NoBranches          Code = "no-branches"
	BranchNeeded        Code = "branch-needed"
	PriceMissing        Code = "price-missing"
	PermissionNeeded    Code = "permission-needed"
	PermissionElsewhere Code = "permission-elsewhere"
	ModelUnusable       Code = "model-unusable"
	WebhookNotFound     Code = "webhook-not-found"
	DeliveryNotFound    Code = "delivery-not-found"
	FileUnreadable      Code = "file-unreadable"
	FileTooLarge        Code = "file-too-large"
	MainGraphEmpty      Code = "main-graph-empty"
	NoBranchOfMode      Code = "no-branch-of-mode"
	BranchRemoved       Code = "branch-removed"
	InvalidSchedule     Code = "invalid-schedule"
	ScheduleMissing     Code = "schedule-missing"
	ScheduleNeeded      Code = "schedule-needed"
	ScheduleProgram     Code = "schedule-program"
	ScheduleNotFound    Code = "schedule-not-found"
	ScheduleUntimed     Code = "schedule-untimed"
	ScheduleControl     Code = "schedule-control"
	ScheduleRefused     Code = "schedule-refused"
	CommandSendsSecret  Code = "command-sends-secret"
	AgentAmbiguous      Code = "agent-ambiguous"
	ServerNotFound      Code = "server-not-found"
	ServerFixed         Code = "server-fixed"
	ToolNotOffered      Code = "tool-not-offered"
	ToolsetNameTaken    Code = "toolset-name-taken"
	MemoryWithoutOwner  Code = "memory-without-owner"
	InvalidWorkflow     Code = "invalid-workflow"
	DocumentNotStored   Code = "document-not-stored"
)

// Codes of errors about runs and waits.
const (
	RunNotFound        Code = "run-not-found"
	RunPartNotFound    Code = "run-part-not-found"
	RunExists          Code = "run-exists"
	RunEnded           Code = "run-ended"
	RunNotEnded        Code = "run-not-ended"
	RunCompleted       Code = "run-completed"
	RunOwned           Code = "run-owned"
	RunForeign         Code = "run-foreign"
	RunPlaceGone       Code = "run-place-gone"
	RunUndriven        Code = "run-undriven"
	PlaceNeeded        Code = "place-needed"
	InvalidPlace       Code = "invalid-place"
	RunNotReopenable   Code = "run-not-reopenable"
	RunParentBudget    Code = "run-parent-budget"
	RunLimitNotRaised  Code = "run-limit-not-raised"
	LimitSteps         Code = "limit-steps"
	LimitBytes         Code = "limit-bytes"
	LimitTime          Code = "limit-time"
	LimitTokens        Code = "limit-tokens"
	LimitCalls         Code = "limit-calls"
	LimitCost          Code = "limit-cost"
	LimitPasses        Code = "limit-passes"
	SessionBusy        Code = "session-busy"
	InvalidCursor      Code = "invalid-cursor"
	WaitNotFound       Code = "wait-not-found"
	WaitAmbiguous      Code = "wait-ambiguous"
	WaitAnswered       Code = "wait-answered"
	WaitClosed         Code = "wait-closed"
	WaitNoApproval     Code = "wait-no-approval"
	WaitRole           Code = "wait-role"
	WaitSignal         Code = "wait-signal"
	SignalUnknown      Code = "signal-unknown"
	SignalRefused      Code = "signal-refused"
	SignalsFull        Code = "signals-full"
	InvalidAnswer      Code = "invalid-answer"
	AnswerAndLimits    Code = "answer-and-limits"
	AnswerMissing      Code = "answer-missing"
	ApprovalTooLong    Code = "approval-too-long"
	RunNotWaiting      Code = "run-not-waiting"
	InvalidRunID       Code = "invalid-run-id"
	InvalidKey         Code = "invalid-key"
	KeyReused          Code = "key-reused"
	KeyAndRunID        Code = "key-and-run-id"
	ConcurrencyBusy    Code = "concurrency-busy"
	InvalidConcurrency Code = "invalid-concurrency"
	InvalidBusyPolicy  Code = "invalid-busy-policy"
	SessionMissing     Code = "session-missing"
	InputTooLarge      Code = "input-too-large"
	InvalidInputs      Code = "invalid-inputs"
	InputsNotDeclared  Code = "inputs-not-declared"
	InvalidLimits      Code = "invalid-limits"
	InvalidLabels      Code = "invalid-labels"
	InvalidFilter      Code = "invalid-filter"
	InvalidForkPoint   Code = "invalid-fork-point"
	RecordingUnusable  Code = "recording-unusable"
	RecordingBranches  Code = "recording-branches"
	RunOfGraph         Code = "run-of-graph"
	DocumentDiffers    Code = "document-differs"
	StepNotExecuted    Code = "step-not-executed"
	RunWithoutSteps    Code = "run-without-steps"
	BudgetMissing      Code = "budget-missing"
	BudgetTooLarge     Code = "budget-too-large"
)

// Codes of errors about requests, the store and the server.
const (
	InvalidArgument      Code = "invalid-argument"
	InvalidArguments     Code = "invalid-arguments"
	NothingToChange      Code = "nothing-to-change"
	WorkflowWithoutParts Code = "workflow-without-parts"
	ResultTooLarge       Code = "result-too-large"
	InvalidHook          Code = "invalid-hook"
	InvalidAccess        Code = "invalid-access"
	StoreUnusable        Code = "store-unusable"
	StoreLocked          Code = "store-locked"
	StoreUnavailable     Code = "store-unavailable"
	StoreRejected        Code = "store-rejected"
	TextNotStorable      Code = "text-not-storable"
	JournalCorrupt       Code = "journal-corrupt"
	JournalNewer         Code = "journal-newer"
	JournalDiverged      Code = "journal-diverged"
	ServiceLimit         Code = "service-limit"
	InvalidStore         Code = "invalid-store"
	NoHomeFolder         Code = "no-home-folder"
	InvalidServerSetting Code = "invalid-server-setting"
	AddressUnusable      Code = "address-unusable"
	CertificateUnusable  Code = "certificate-unusable"
	ServerUnprotected    Code = "server-unprotected"
	InvalidServerAddress Code = "invalid-server-address"
	TokenRejected        Code = "token-rejected"
)

// Codes of errors about stores on database servers.
const (
	StoreURL             Code = "store-url"
	StoreHostUnknown     Code = "store-host-unknown"
	StoreRefused         Code = "store-refused"
	StoreSilent          Code = "store-silent"
	StorePassword        Code = "store-password"
	StoreUserRejected    Code = "store-user-rejected"
	StoreTLSDemanded     Code = "store-tls-demanded"
	StoreTLSMissing      Code = "store-tls-missing"
	StoreTLSUntrusted    Code = "store-tls-untrusted"
	StoreDatabaseMissing Code = "store-database-missing"
	StoreNoRight         Code = "store-no-right"
	StoreForeign         Code = "store-foreign"
	StoreReadOnly        Code = "store-read-only"
	StoreFull            Code = "store-connections"
	StorePooler          Code = "store-pooler"
	StoreUnsafe          Code = "store-unsafe"
	StoreServerOld       Code = "store-server-old"
	StoreKeyDiffers      Code = "store-key-differs"
	StoreKeyMissing      Code = "store-key-missing"
	StoreConnection      Code = "store-connection"
	StoreCopyPlace       Code = "store-copy-place"
	StoreCopySame        Code = "store-copy-same"
	StoreCopyMissing     Code = "store-copy-missing"
	StoreCopyInUse       Code = "store-copy-in-use"
	StoreCopyDiffers     Code = "store-copy-differs"
	StoreCopyKey         Code = "store-copy-key"
)

// Codes of errors about Temporal.
const (
	TemporalSetting     Code = "temporal-setting"
	TemporalKey         Code = "temporal-key"
	TemporalStore       Code = "temporal-store"
	TemporalUnsupported Code = "temporal-unsupported"
	TemporalRun         Code = "temporal-run"
	TemporalUnreachable Code = "temporal-unreachable"
	TemporalTLS         Code = "temporal-tls"
	TemporalRefused     Code = "temporal-refused"
	TemporalNamespace   Code = "temporal-namespace"
	TemporalWorkflow    Code = "temporal-workflow"
)

// Entries returns the rows of all codes, in the order of the table.
func Entries() []Entry { return entries[:] }

// index maps codes to rows of the table.
var index = sync.OnceValue(func() map[Code]Entry {
	out := make(map[Code]Entry, len(entries))
	for _, e := range entries {
		out[e.Code] = e
	}
	return out
})

const (
	listWorkflows = "list_workflows lists the workflows; create_workflow creates one"
	listAgents    = "list_agents lists the agents; create_agent creates one"
	openWaits     = "get_run shows what the run waits for, with the id of each wait"
)

var entries = [...]Entry{
	{InvalidDocument, Invalid, "the document has errors", [3]string{"", "", "fix these problems and call again"},
		"Each error is in `diagnostics`, with its place and a code of its own."},
	{SeveralDocuments, Invalid, "an id or a tag needs exactly one document, and there are {count}",
		[3]string{"leave --id out, or give one FILE", "leave `id` out, or send one document", ""},
		"Several documents were given together with an id or an expected version."},
	{
		WorkflowNotFound, NotFound, "Workflow not found: {id}",
		[3]string{"see hocket workflows list", "", listWorkflows},
		"The id is wrong, or the workflow was deleted or belongs to another namespace.",
	},
	{VersionNotFound, NotFound, "Version not found: {id}", [3]string{"", "",
		"get_workflow lists the versions of a workflow"}, "The workflow has no version of that number."},
	{AgentNotFound, NotFound, "Agent not found: {id}", [3]string{"see hocket agents list", "", listAgents},
		"The id is wrong, or the agent was deleted or belongs to another namespace."},
	{
		WorkflowDraftOnly, Invalid, "workflow {id} is a draft only", [3]string{
			"publish it with `hocket workflows publish {id}`, or use --draft",
			"publish it with `POST /api/v1/workflows/{id}/publish`, or ask for its draft in the field draft",
			"publish it with update_workflow and publish: true, or run its draft",
		}, "The workflow was stored with `--draft` and no version of it was published.",
	},
	{WorkflowNoDraft, Invalid, "workflow {id} has no draft", [3]string{},
		"A draft was asked for, and the workflow has published versions only."},
	{
		WorkflowRowsDeleted, Invalid, "the rows of workflow {id} were deleted", [3]string{
			"`hocket workflows publish {id} --version {version}` writes them again",
			"`POST /api/v1/workflows/{id}/publish` with the version {version} writes them again",
			"update_workflow with the document of version {version} writes them again",
		}, "Another program deleted the rows of the workflow from the table `agent_workflows`.",
	},
	{
		WorkflowTwoSources, Invalid, "workflow {id} is published as a {format} document, and the table " +
			"agent_workflows has rows of it too; delete one of them", [3]string{},
		"Another program wrote rows under the id of a workflow whose published version has another format.",
	},
	{DefinitionChanged, Conflict, "the {what} {id} was stored, changed or deleted by another client; read it again",
		[3]string{}, "The version that the request expects is not the current one."},
	{AgentInUse, Conflict, "agent {id} is used by stored workflows: {workflows}", [3]string{"", "",
		"remove it from them with update_workflow, or give force: true"}, "Stored workflows refer to the agent."},
	{BranchNotFound, Invalid, "branch {branch:q} not found; the branches are {branches}", [3]string{},
		"The document has no branch of that name."},
	{NoBranches, Invalid, "branch {branch:q} not found: the workflow has no branches; leave the branch out",
		[3]string{}, "The request names a branch of a document without branches."},
	{
		BranchNeeded, Invalid, "the document has several branches: {branches:q}",
		[3]string{"name one with --branch", "name one in the field branch", "name one in the argument branch"},
		"The request concerns one branch of the document, and names none.",
	},
	{
		PriceMissing, Invalid, "a budget of money needs the price of every model, and {missing}; give a budget of " +
			"tokens, or the price", [3]string{
			"prices are in a file given with --prices (see docs/budgets.md)",
			"prices are in the file `prices` of the server's hocket.yaml",
			"tell the user: prices are in the file `prices` of the server's hocket.yaml",
		}, "A model of the run has no known price, and a budget of money bounds it.",
	},
	{PermissionNeeded, Invalid, "the document needs permission to {lines}", [3]string{},
		"The document starts commands, reads files or sends variables of the environment. `--trust` allows it on the " +
			"command line."},
	{
		PermissionElsewhere, Invalid, "run {run}: its access to this machine must be allowed again", [3]string{},
		"The run was allowed in another folder, with other programs or under stricter permissions. `hocket resume " +
			"RUN --trust` allows it again.",
	},
	{ModelUnusable, Invalid, "the model {model:q} cannot be used", [3]string{},
		"The reference is invalid, the provider is unknown, or its key is missing."},
	{WebhookNotFound, NotFound, "Webhook not found: {id}", [3]string{}, "The id is wrong, or the webhook was deleted."},
	{DeliveryNotFound, NotFound, "{what} not found: {id}", [3]string{},
		"The id is wrong, or the notification or endpoint was deleted."},
	{FileUnreadable, Invalid, "{file}: {problem}", [3]string{},
		"A document, or a file that a document names, cannot be read."},
	{FileTooLarge, Invalid, "{file} is larger than the limit of {max} bytes ({limit})", [3]string{
		"shorten it; a long text can stay in a file that a tool reads", "shorten it", "shorten it"},
		"A document, a prompt file or all prompt files of a document are larger than Hocket reads."},
	{MainGraphEmpty, Invalid, "the main graph has no nodes; name the branch to run: {branches}", [3]string{},
		"The nodes of the document are all in its branches, and the request names none."},
	{NoBranchOfMode, Invalid, "no branch has the execution mode {mode}; the branches are {branches}", [3]string{},
		"All branches were asked for, which runs those of this mode."},
	{BranchRemoved, Invalid, "workflow {id} no longer has a branch {branch:q}", [3]string{},
		"A schedule fired after a new version without its branch was published."},
	{ScheduleMissing, Invalid, "workflow {id} has no schedule", [3]string{},
		"Only schedules of published workflows can be paused, resumed, skipped or run."},
	{
		ScheduleNeeded, Invalid, "workflow {id} has several schedules: {schedules:q}",
		[3]string{"name one with --branch or --schedule", "name one in the query by branch or schedule",
			"name one in the argument branch or schedule"},
		"The request concerns one schedule of the workflow, and names none.",
	},
	{ScheduleProgram, Invalid, "several programs schedule a graph {id}: {programs:q}",
		[3]string{"name one with --program", "name one in the query by program", "name one in the argument program"},
		"Graphs of several Go programs on one store have this name, each with schedules of its own."},
	{ScheduleNotFound, Invalid, "workflow {id} has no schedule {schedule:q}; it has {schedules}", [3]string{},
		"The published version of the workflow has no schedule of that branch or id."},
	{ScheduleUntimed, Invalid, "the schedule of workflow {id} has no planned time that is known",
		[3]string{"pause it instead", "pause it instead", "pause it instead"},
		"Only planned times can be skipped: continuous schedules have none, and intervals have one once a scheduler " +
			"has registered them."},
	{ScheduleControl, Invalid, "unknown control {control:q} of a schedule; use pause, resume, skip or run", [3]string{},
		"The request says something else than pause, resume, skip or run."},
	{ScheduleRefused, Invalid, "the run of the schedule {schedule} was refused: {reason}", [3]string{},
		"The process that runs schedules cannot start runs of the workflow: a model, a key, a permission or an agent " +
			"is missing there."},
	{InvalidSchedule, Invalid, "{cause}", [3]string{},
		"A schedule, its time zone or the rules for missed times cannot be read."},
	{CommandSendsSecret, Invalid, "the command would send the variable {variable} to a model: its name suggests " +
		"a secret", [3]string{}, "A command of the document has this variable of the environment in its text."},
	{AgentAmbiguous, Invalid, "agent {agent:q} is defined in several flows, with different tools; give each an id " +
		"of its own", [3]string{}, "Two flows of the document define different agents under one id."},
	{
		ServerNotFound, Invalid, "toolset {toolset:q}: neither the document nor {file} defines a server {server:q}",
		[3]string{"hocket doctor shows the operator's servers", "", ""},
		"The `ref` of the toolset names a server that is not defined.",
	},
	{ServerFixed, Invalid, "a toolset cannot change the server {server:q} of {file}: leave out args, env, " +
		"working_dir and policy", [3]string{}, "Only the operator says how a server of hocket.yaml is started."},
	{ToolNotOffered, Invalid, "the server {server:q} of {file} does not offer the tool {tool:q}", [3]string{},
		"The operator offers only some tools of the server."},
	{
		ToolsetNameTaken, Invalid, "toolset {toolset:q} of the document is also defined in {file}; rename it, or " +
			"refer to the operator's toolset with `ref` alone", [3]string{},
		"The operator's permissions go by the names of toolsets, so a document cannot define another one under the " +
			"same name.",
	},
	{
		MemoryWithoutOwner, Invalid, "toolset {toolset:q}: a document that is neither stored nor a file of this " +
			"machine has no memory of its own; store it as a workflow, or name a memory " +
			"that workflows share (memory: NAME), which must be trusted", [3]string{},
		"A memory belongs to a stored workflow or to a file.",
	},
	{InvalidWorkflow, Invalid, "workflow {id} has errors", [3]string{},
		"Each error is in `diagnostics`. The document was stored before what it needs was deleted or changed."},
	{DocumentNotStored, Invalid, "the document has errors; nothing was stored", [3]string{},
		"Each error is in `diagnostics`, with its place and a code of its own."},

	{RunNotFound, NotFound, "run not found", [3]string{"", "", "list_runs lists the runs"},
		"The id is wrong, or the run was deleted or belongs to another namespace."},
	{RunPartNotFound, NotFound, "{what} not found in run {run}: {id}", [3]string{},
		"The run has no step, model call or value of that name."},
	{RunExists, Conflict, "a run with this id already exists", [3]string{},
		"The request names the id of a stored run."},
	{RunEnded, Conflict, "run has ended", [3]string{}, "The run completed, failed or was cancelled."},
	{RunNotEnded, Conflict, "run {run} has not ended ({status}); resume or cancel it first", [3]string{},
		"A run is retried only after it has ended."},
	{
		RunCompleted, Invalid, "run {run} completed; a step to run it from is needed",
		[3]string{"name it with --from STEP", "name it in the field from", "name it in the argument from"},
		"A completed run has no failed step at which a retry could begin.",
	},
	{RunOwned, Conflict, "run {run} is driven by another process ({owner})", [3]string{},
		"Another process that is alive drives the run."},
	{RunForeign, Invalid, "run {run} belongs to the Go graph {graph:q}", [3]string{},
		"The functions of the run are in another program, which alone continues it."},
	{
		RunPlaceGone, Conflict, "run {run} waits for place {place}: no living process has it",
		[3]string{
			"start hocket worker --place {place} on that machine, or move the run with hocket resume {run} " +
				"--place NAME", "start a worker at that place, or give the run another place",
			"tell the user: a worker at that place is needed",
		},
		"The run uses files or programs of a machine on which no server or worker is running.",
	},
	{
		RunUndriven, Conflict, "run {run} waits for a process that drives runs",
		[3]string{"start hocket worker on the store", "start a worker on the store",
			"tell the user: a worker is needed"},
		"The server was started with --no-drive, and no worker is running.",
	},
	{
		PlaceNeeded, Invalid,
		"workflow {workflow:q} uses files or programs of a machine, and this server drives no runs",
		[3]string{"start the server with --place NAME, the place of the workers on that machine",
			"the operator must give the server the place of the workers", ""},
		"The server was started with --no-drive and without --place.",
	},
	{InvalidPlace, Invalid, "invalid place {place:q}: {cause}", [3]string{},
		"The name of a place is too long, or has spaces or control characters."},
	{RunNotReopenable, Conflict, "run {run} did not end at a limit: it is {status}", [3]string{},
		"Only a run that ended at a limit of its own continues with larger limits."},
	{RunParentBudget, Conflict, "the run used up the remaining budget of its parent run; give the parent run a " +
		"larger budget", [3]string{}, "The budget of the parent run bounds this run."},
	{
		RunLimitNotRaised, Invalid, "run {run}: {cause}", [3]string{
			"give the limit (--max-steps, --timeout, --budget, --max-iterations), or the step from which it runs " +
				"again (--from STEP)",
			"give the limit in the field limits, or the step from which it runs again in the field from",
			"give the limit in the argument limits, or the step from which it runs again in from",
		}, "The run ended at a limit, and the retry gives no larger one.",
	},
	{LimitSteps, Invalid, "the run ended at its limit of {max} steps; continue it with a higher limit", [3]string{},
		"The new limit is not higher than the limit at which the run ended."},
	{LimitBytes, Invalid, "the run ended at its maximum size (max_bytes) of {max}; it cannot be continued", [3]string{},
		"The journal of the run has the largest size that is allowed."},
	{LimitTime, Invalid, "the run ended at its time limit of {max}; continue it with a longer one", [3]string{},
		"The new time limit is not longer than the one at which the run ended."},
	{LimitTokens, Invalid, "the run ended at its budget of {max} tokens; continue it with a larger one", [3]string{},
		"The new budget is not larger than the one that was used up."},
	{LimitCalls, Invalid, "the run ended at its budget of {max} calls; continue it with a larger one", [3]string{},
		"The new budget is not larger than the one that was used up."},
	{LimitCost, Invalid, "the run ended at its budget of {max} USD; continue it with a larger one", [3]string{},
		"The new budget is not larger than the one that was used up."},
	{LimitPasses, Invalid, "the run ended at its limit of {max} passes of a loop; continue it with a higher limit",
		[3]string{}, "The new limit is not higher than the limit at which the run ended."},
	{
		SessionBusy, Conflict, "session {session:q} is busy: its run {run} has not ended",
		[3]string{"", "",
			"wait for that run (get_run), stop it (cancel_run), or call again with ifBusy queue or cancel_previous"},
		"The session has a run that has not ended.",
	},
	{
		InvalidCursor, Invalid, "invalid cursor: use one from a previous page",
		[3]string{"", "", "give `next` of the previous page as cursor, or no cursor for the first page"},
		"The cursor is not one that a page of this list returned.",
	},
	{WaitNotFound, NotFound, "no such wait", [3]string{"", "", openWaits},
		"The id or the node is wrong, or the run does not wait."},
	{WaitAmbiguous, Conflict, "several waits are open; name one", [3]string{"", "", openWaits},
		"The request names no wait, and the run has several."},
	{WaitAnswered, Conflict, "wait already has a different answer", [3]string{},
		"Another client answered the wait first."},
	{WaitClosed, Gone, "wait is closed", [3]string{}, "The run ended, or the deadline of the wait passed."},
	{WaitNoApproval, Invalid, "run {run} asks a question at {node}, not for an approval",
		[3]string{"answer it with --input TEXT", "answer it with the text or value that it asks for",
			"answer it with the argument input"}, "An approval was given as the answer to a question."},
	{WaitRole, Forbidden, "the wait may be answered by others only", [3]string{},
		"The step has `roles`, and the caller has none of them and none of their names. The run still waits."},
	{
		WaitSignal, Conflict, "the wait takes a signal, not an answer",
		[3]string{"send it with hocket signal RUN NAME VALUE", "send it with signalRun", "send it with signal_run"},
		"The step waits for a signal from another program, which no answer replaces.",
	},
	{SignalUnknown, NotFound, "no step of the workflow waits for the signal", [3]string{},
		"The name is none of those for which steps of the run's workflow wait."},
	{
		SignalRefused, Invalid, "the signal cannot be taken", [3]string{},
		"The value is too large, is not JSON, or does not match the schema of the steps that wait for the signal; or " +
			"the key was used for another signal.",
	},
	{SignalsFull, Conflict, "the run keeps too many signals that no step has taken", [3]string{},
		"A run keeps at most 100 signals and 1 MiB that no step has taken yet."},
	{InvalidAnswer, Invalid, "the answer is not valid", [3]string{},
		"The answer is not one of the options, or does not match the schema of the wait."},
	{AnswerMissing, Invalid, "run {run} waits for an answer: {question}", [3]string{"", "",
		"give it in the argument input"}, "The request gives no answer to the question that the run asks."},
	{
		ApprovalTooLong, Invalid, "the approval has {size} of text, and at most {max} can be shown here; {instead}",
		[3]string{},
		"The MCP client would show only a part of what the person approves.",
	},
	{RunNotWaiting, Conflict, "run {run} is not waiting: it is {status}", [3]string{},
		"An answer came for a run that waits for none."},
	{AnswerAndLimits, Invalid, "answer the run or raise its limits, not both at once", [3]string{},
		"The request has both an answer and limits."},
	{
		InvalidRunID, Invalid, "invalid run id {run:q}: at most {max} bytes, without spaces, slashes or control " +
			"characters, and not beginning with a dash or dot; leave it out to get a generated id",
		[3]string{}, "The request names an id for the new run that cannot be one.",
	},
	{InvalidKey, Invalid, "invalid {what} {key:q}: at most {max} bytes, printable characters only", [3]string{},
		"The name of a session or an idempotency key is too long or has other characters."},
	{KeyReused, Invalid, "the idempotency key {key:q} was used before, for another request: run {run}", [3]string{},
		"The same key came with a different document, input or option."},
	{KeyAndRunID, Invalid, "a request has an idempotency key or a run id, not both: the key determines the run id",
		[3]string{}, "The request has both."},
	{
		ConcurrencyBusy, Conflict, "the run was not started: at most {max} of its workflow run at once for the key " +
			"{key:q}, and run {run} has not ended",
		[3]string{"wait for that run, or cancel it (hocket cancel {run}); see hocket explain concurrency-busy",
			"wait for that run, or cancel it", "wait for that run (get_run), or cancel it (cancel_run)"},
		"`concurrency` of the workflow bounds how many runs run at once, and this start, retry or fork does not wait " +
			"for its turn.",
	},
	{InvalidConcurrency, Invalid, "the concurrency key of the workflow cannot be evaluated: {cause}", [3]string{},
		"An expression of `concurrency.key` failed for the input, or its text is too long."},
	{InvalidBusyPolicy, Invalid, "invalid value {value:q} for a busy session: it must be one of {known}", [3]string{},
		"The request says in another word what happens if its session is busy."},
	{SessionMissing, Invalid, "{value:q} needs a session: leave it out, or name a session", [3]string{},
		"The request says what happens if its session is busy, and names no session."},
	{InputTooLarge, Invalid, "the input has {size} bytes; the limit is {max}", [3]string{},
		"The operator limits the input of runs."},
	{
		InvalidInputs, Invalid, "the input does not match the inputs of the workflow",
		[3]string{"hocket workflows show lists them", "GET /workflows/ID lists them", "get_workflow lists them"},
		"A named input is missing, unknown, or has a value that its schema does not allow. The diagnostics list all " +
			"of them.",
	},
	{InputsNotDeclared, Invalid, "the workflow has no named inputs",
		[3]string{"give INPUT in place of --set and --set-file", "give input as a text in place of inputs", ""},
		"The request names inputs, and the document has no key inputs."},
	{InvalidLimits, Invalid, "{cause}", [3]string{}, "A limit or budget of the request is negative or too large."},
	{InvalidLabels, Invalid, "{cause}", [3]string{}, "A label of the request is none, or a run would have more than " +
		"32 of them, or more than 8 that begin with hocket/."},
	{InvalidFilter, Invalid, "{field}: {cause}", [3]string{},
		"A list of runs is asked for by a label selector, a search, a cost or a duration that is none."},
	{InvalidForkPoint, Invalid, "{cause}", [3]string{},
		"The run has no such event, or cannot be forked or retried at it."},
	{RecordingUnusable, Invalid, "the recording: {cause}", [3]string{"give another path with --record", "", ""},
		"The file for recorded model calls cannot be written."},
	{RecordingBranches, Invalid, "the model calls of several branches cannot be recorded into one reply script; " +
		"record one branch at a time", [3]string{}, "All branches were asked for together with a recording."},
	{RunOfGraph, Invalid, "run {run} belongs to a Go graph, which a document cannot replace", [3]string{},
		"A retry gives a new document for a run of a Go graph."},
	{DocumentDiffers, Invalid, "the new document differs in steps that already ran: {difference}", [3]string{},
		"A retry keeps the steps that ran, so a new document can change only what did not run."},
	{StepNotExecuted, Invalid, "run {run} did not execute a step {step:q}; it executed {steps}", [3]string{},
		"A retry begins at a step that the run executed."},
	{RunWithoutSteps, Invalid, "run {run} executed no step", [3]string{},
		"A retry begins at a step that the run executed, and there is none."},
	{
		BudgetMissing, Invalid, "run {run} has no budget of {budget}; budgets.run of {file} allows at most {max}, " +
			"and a run that was started elsewhere keeps its own", [3]string{},
		"An imported run has no budget where the operator requires one.",
	},
	{BudgetTooLarge, Invalid, "run {run} has a budget of {has} {budget}; budgets.run of {file} allows at most {max}",
		[3]string{}, "An imported run has a larger budget than the operator allows."},

	{InvalidArgument, Invalid, "{argument}: {problem}", [3]string{},
		"A field of the request, or an argument of a tool, is missing or has a value that is not allowed."},
	{InvalidArguments, Invalid, "{problems}", [3]string{},
		"The arguments of a tool do not match its schema. Each problem begins with the name of the argument."},
	{NothingToChange, Invalid, "nothing to change: give name, nodes, edges, maxRounds, branches or another part, or " +
		"a whole document", [3]string{}, "The request to change a workflow has no change."},
	{
		WorkflowWithoutParts, Invalid, "workflow {id} is a {format} document, whose parts cannot be changed one by one",
		[3]string{
			"", "", "send the whole changed `document` (get_workflow returns it)",
		}, "Only documents of the rounds format are changed by their parts.",
	},
	{ResultTooLarge, Invalid, "the result has {size} and cannot be shortened to {max}",
		[3]string{"", "", "read the resource {uri}"}, "The result of a tool is larger than an MCP client accepts."},
	{InvalidHook, Invalid, "{cause}", [3]string{},
		"A field of a webhook, of an endpoint or of its secret has a value that is not allowed."},
	{InvalidAccess, Invalid, "{cause}", [3]string{},
		"A field of a token, a namespace or a page of the audit log has a value that is not allowed."},

	{StoreUnusable, Unusable, "the store cannot be opened", [3]string{},
		"The path is not a store of Hocket, or cannot be read or written."},
	{StoreLocked, Unavailable, "the store is locked", [3]string{},
		"Another process held the store for longer than the caller waits."},
	{StoreUnavailable, Unavailable, "the store is temporarily unavailable", [3]string{},
		"The disk is full, or the store did not respond in time."},
	{StoreRejected, Unusable, "the store rejected the operation permanently", [3]string{},
		"The tables of the store were changed by another program."},
	{TextNotStorable, Invalid, "{cause}", [3]string{},
		"The store is in PostgreSQL, which keeps neither NUL characters nor invalid UTF-8, and no identifiers of " +
			"thousands of bytes."},
	{JournalCorrupt, Unusable, "the stored data is damaged", [3]string{},
		"What is in the store is not what was written."},
	{JournalNewer, Unusable, "the stored data was written by a newer version", [3]string{},
		"A newer hocket wrote the record or the store."},
	{JournalDiverged, Unusable, "the journal does not match the workflow version", [3]string{},
		"The journal cannot have come from the definition that is stored with it."},
	{InvalidStore, Invalid, "{cause}", [3]string{},
		"The place of the store is not a path, or names a kind of store that is not supported."},
	{NoHomeFolder, Invalid, "there is no home folder for the store", [3]string{"give --db PATH or set HOCKET_HOME", "",
		""}, "Neither HOME nor a setting says where the store is."},
	{StoreURL, Invalid, "the URL of the store is not valid: {problem}",
		[3]string{"write postgres://user@host:5432/database; the password may also be in PGPASSWORD or a password file",
			"", ""}, "The URL of a store in PostgreSQL has an error or an unknown option."},
	{InvalidServerSetting, Invalid, "{cause}", [3]string{},
		"A flag of `hocket serve`, or a key below `server` in hocket.yaml, has a value with which the server " +
			"cannot start."},
	{AddressUnusable, Invalid, "{cause}", [3]string{"choose another address with --addr", "", ""},
		"Another process has the address of the server, or it is not one of this machine."},
	{CertificateUnusable, Invalid, "the certificate is not usable: {cause}", [3]string{},
		"The files of `server: {tls: …}` cannot be read, or do not belong together."},
	{ServerUnprotected, Invalid, "{cause}", [3]string{},
		"Other machines reach the address of the server, and it has no token, or one that can be guessed."},
	{InvalidServerAddress, Invalid, "invalid server address {address:q}; write it as http://127.0.0.1:7788",
		[3]string{}, "`--server` or HOCKET_SERVER is not the address of a server."},
	{TokenRejected, Invalid, "{server}: {problem}",
		[3]string{"the command line sends the token of HOCKET_TOKEN or, to the address that the last " +
			"`hocket serve` on this store printed, that of its token file", "", ""},
		"The server does not accept the token of the request."},
	{StoreHostUnknown, Unavailable, "the host {host} of the store is not known",
		[3]string{"check the host name in the URL of the store", "", ""},
		"The name of the PostgreSQL server cannot be resolved."},
	{StoreRefused, Unavailable, "no PostgreSQL server accepts connections at {host}",
		[3]string{"check host and port in the URL of the store, and that the server runs", "", ""},
		"Nothing listens at the address of the store, or a firewall refuses the connection."},
	{StoreSilent, Unavailable, "the PostgreSQL server at {host} did not respond in time",
		[3]string{"check host and port in the URL of the store; connect_timeout sets how long to wait", "", ""},
		"The address of the store does not respond."},
	{StorePassword, Unavailable, "the PostgreSQL server at {host} rejected the password of user {user:q}",
		[3]string{"give the password in PGPASSWORD, in a password file, or in the URL of the store", "", ""},
		"The password is wrong, missing or expired, or there is no such user."},
	{StoreUserRejected, Unavailable,
		"the PostgreSQL server at {host} does not let user {user:q} connect to database {database:q}: {cause}",
		[3]string{"check user and database in the URL of the store, and pg_hba.conf on the server", "", ""},
		"There is no such user, or the server's rules do not let it connect from here."},
	{StoreTLSDemanded, Unavailable, "the PostgreSQL server at {host} accepts no connection without TLS",
		[3]string{"add sslmode=require or sslmode=verify-full to the URL of the store", "", ""},
		"The server's rules demand TLS, and the URL or PGSSLMODE turns it off."},
	{StoreTLSMissing, Unavailable, "the PostgreSQL server at {host} does not offer TLS, which sslmode={mode} demands",
		[3]string{"turn TLS on at the server, or lower sslmode in the URL of the store", "", ""},
		"The URL or PGSSLMODE demands TLS, and the server has it turned off."},
	{StoreTLSUntrusted, Unavailable, "the certificate of the PostgreSQL server at {host} is not trusted: {cause}",
		[3]string{"name the file of the certificate authority by sslrootcert in the URL of the store", "", ""},
		"The certificate is of an unknown authority, for another host, or expired."},
	{StoreDatabaseMissing, Unavailable, "the database {database:q} does not exist on the PostgreSQL server at {host}",
		[3]string{"create it with createdb, or correct the URL of the store", "", ""},
		"The URL names a database that the server does not have."},
	{StoreNoRight, Unavailable, "user {user:q} has no right to {action} in database {database:q}; run on the " +
		"server: {grant}", [3]string{}, "The user of the store needs rights that the message names."},
	{StoreForeign, Invalid, "schema {schema:q} of database {database:q} belongs to another program",
		[3]string{"name another schema by schema=NAME in the URL of the store", "", ""},
		"The schema has tables that Hocket did not create."},
	{StoreReadOnly, Unavailable, "the PostgreSQL server at {host} is read-only: {why}",
		[3]string{"connect to the primary server; with several hosts in the URL of the store, the first that can be " +
			"written is used", "", ""}, "The server is a replica, or default_transaction_read_only is on."},
	{StoreFull, Unavailable, "the PostgreSQL server at {host} has no connection left: {cause}",
		[3]string{"raise max_connections on the server, or the limit of the user or the database", "", ""},
		"Too many programs are connected to the server."},
	{StorePooler, Invalid, "there is a connection pooler at {host}, and some connections must reach the server itself",
		[3]string{"add lease_host=HOST:PORT, the address of the server, to the URL of the store", "", ""},
		"A pooler moves a connection between sessions of the server, so that session locks and notifications do " +
			"not work."},
	{StoreUnsafe, Unavailable,
		"{setting} is off on the PostgreSQL server at {host}, so stored results can be lost in a crash",
		[3]string{"turn it on, or accept it with --allow-unsafe-store", "", ""},
		"The server acknowledges commits before they are on disk."},
	{StoreServerOld, Unavailable, "the server at {host} is PostgreSQL {version}; {least} or newer is needed",
		[3]string{}, "The server is too old."},
	{StoreKeyDiffers, Invalid,
		"the key file {file} is not the one of this store: its fingerprint is {got}, the store has {want}",
		[3]string{"copy the key file of another machine that uses the store, and name it by --key-file or " +
			"HOCKET_KEY_FILE", "", ""}, "All machines that use a store need the same key file."},
	{StoreKeyMissing, Invalid, "the store needs its key file: {problem}",
		[3]string{"name it by --key-file or HOCKET_KEY_FILE; it is the same on all machines that use the store", "",
			""}, "Secrets of webhooks and approval links need a key, which is not in the database."},
	{StoreConnection, Unavailable, "cannot connect to the PostgreSQL server at {host}: {cause}", [3]string{},
		"The server or the network reported another error."},
	{StoreCopyPlace, Invalid, "{store} cannot be copied: {problem}", [3]string{},
		"A store in memory, the store of one namespace, or a place where no store can be created was named."},
	{StoreCopySame, Invalid, "both names lead to the same store, {store}",
		[3]string{"name another store as the destination", "", ""}, "A store cannot be copied onto itself."},
	{StoreCopyMissing, NotFound, "store {store:q} not found; nothing was copied", [3]string{},
		"There is no store to copy."},
	{StoreCopyInUse, Conflict, "{store} is in use: {who}", [3]string{"{repair}", "", ""},
		"A process that uses a store would change it while it is copied."},
	{StoreCopyDiffers, Conflict, "{what} is not the same in both stores: {problem}",
		[3]string{"copy into a new store; contents of two stores are not merged", "", ""},
		"The destination has contents that are not a copy of those of the source, or a process changed one of the " +
			"stores during the copy."},
	{StoreCopyKey, Conflict, "the key file {file} of {to} has the fingerprint {got}, that of {from} has {want}",
		[3]string{"name {source} by --key-file, or a file that does not exist, which becomes a copy of it", "", ""},
		"Both stores need the same key, by which secrets are sealed and links are signed."},
	{TemporalSetting, Invalid, "the settings of Temporal are not valid: {problem}", [3]string{},
		"Flags that begin with `--temporal`, or keys below `temporal` in hocket.yaml, do not fit together, or name a " +
			"file that cannot be used."},
	{TemporalKey, Invalid, "the API key of Temporal cannot be read: {problem}",
		[3]string{"set the variable, or write the file, that the reference names", "", ""},
		"The reference to the API key has no value."},
	{TemporalStore, Invalid, "Temporal carries runs of stores in PostgreSQL, and the store is {store:q}",
		[3]string{"give --db postgres://…", "", ""},
		"Workers on several machines need a store that all of them reach."},
	{TemporalUnsupported, Invalid, "this program cannot use Temporal",
		[3]string{"use hocket-temporal, which has the same verbs", "", ""},
		"`hocket` has no Temporal, and a program that embeds Hocket has it only if it imports the module " +
			"`hocket/temporal`."},
	{TemporalRun, Invalid, "Temporal carries run {run}, and this program cannot use Temporal",
		[3]string{"use hocket-temporal, or take the run back with `hocket resume {run} --driver embedded`", "", ""},
		"The run was started or moved by `hocket-temporal`, and this program cannot continue it."},
	{TemporalUnreachable, Unavailable, "the Temporal server at {address} cannot be used: {cause}",
		[3]string{"check --temporal, and that the server runs", "", ""},
		"The server does not answer, or the address is another program's."},
	{TemporalTLS, Unavailable, "the connection to the Temporal server at {address} is not secure: {cause}",
		[3]string{"check --temporal-tls-ca, --temporal-tls-cert and --temporal-tls-server-name, or temporal.tls in " +
			"hocket.yaml", "", ""}, "The certificate of the server or that of the client is not accepted by the " +
			"other side, or the server does not use TLS."},
	{TemporalRefused, Unavailable, "the Temporal server at {address} refused this process: {cause}",
		[3]string{"check the API key of --temporal-api-key or temporal.apiKey in hocket.yaml, and its rights in the " +
			"namespace", "", ""}, "The API key is wrong or expired, or it has no right to the namespace."},
	{TemporalNamespace, Unavailable, "the Temporal server at {address} has no namespace {namespace:q}",
		[3]string{"create it with `temporal operator namespace create`, or name another with --temporal-namespace or " +
			"in hocket.yaml", "", ""}, "The namespace was not created, or it was deleted."},
	{TemporalWorkflow, Conflict,
		"the id {run:q} is that of a workflow of another program in Temporal, of type {type:q}",
		[3]string{"choose another id, or wait until that workflow has ended", "", ""},
		"Workflows in Temporal have the ids of their runs, and another program started one with this id."},
	{ServiceLimit, Limit, "limit reached: {max} {limit} at most", [3]string{},
		"The operator limits how many runs, requests or sessions there are at once."},
}
