package explain

// Codes of failures of runs, steps and calls.
const runCodes = `
auth | The provider refused the key. | It is missing, wrong, expired or not allowed to use the model. | Set the variable that hocket doctor names.
branches_failed | Branches of a run of --branch all failed. | At least one branch ended without success. | See the runs of the branches.
budget | The run met its budget. | Its tokens, money or calls are used up. | Raise the budget and go on with hocket resume, or shorten the work.
cancelled | The run was cancelled. | Somebody called hocket cancel, or the program ended it. | Start it again.
condition | A condition could not be decided. | It gave neither true nor false, or an error. | Check what it reads; declare structured_output.
content_filter | The provider refused the content. | Its filter found something in the prompt or the reply. | Change the prompt or the model.
context_length_exceeded | The conversation is longer than the model takes. | Long outputs, files or results of tools. | Use a model with more context, or less text.
deadline | A wait for a person met its deadline. | Nobody answered in time, and no edge leaves by timeout. | Add such an edge, or a longer deadline.
failed | A tool call failed. | The tool said so; the message has its reason. | See the message of the tool.
func | A Go function of the program failed. | It returned an error or panicked. | See the message; it is the function's own.
invalid_arguments | The arguments of a tool call do not fit its schema. | The model made a wrong call; it is told and may try again. | Describe the tool better.
invalid_output | A reply does not fit its schema after all repairs. | The model gave other JSON, or none. | Simplify the schema or use a model that keeps to it.
invalid_request | The provider refused the request. | A parameter or a name is wrong for this model. | See the message of the provider.
max_bytes | The run took in or made more bytes than its limit. | Outputs grow, often in a loop. | Raise the limit or shorten outputs.
max_loop_iterations | A loop ran more often than its limit. | Its condition never lets go. | Correct the condition or raise max_loop_iterations.
max_reply_bytes | A reply is larger than its limit. | The model went on and on. | Set maxTokens, or raise limits.replyBytes.
max_reply_calls | A reply has more tool calls than its limit. | The model asked for too many at once. | Raise limits.replyCalls.
max_steps | The run took more steps than its limit. | A cycle without a way out. | Add a way out or raise maxSteps.
max_turns | An agent took more model calls than its limit. | It goes on calling tools. | Raise maxIterations or make the task smaller.
network | The provider or tool could not be reached. | No connection, or it broke. | Check the network and the address; such calls are tried again.
no_progress | An agent repeats the same tool calls. | It does not understand the result. | Describe the tool better, or raise maxConsecutiveToolCalls.
no_reply | A reply script has no reply for a call. | Its entries are used up or none fits. | Add an entry for the agent in the message.
no_route | No edge leads on from a step. | An agent named nobody, or a port has no edge. | Add an edge for what it said.
node_budget | A step met its budget. | Its tokens, money or calls are used up. | Raise the budget of the step.
node_execution | A node of a Go graph failed. | Its function returned an error. | See the message; it is the function's own.
node_not_found | A run goes on at a node that does not exist. | The graph has changed. | Go on with the graph of the run.
not_supported | A tool cannot do what was asked. | It is not part of this program or not configured. | See the message.
oscillation | Agents of a routes document pass the same output to and fro. | The same source, target and output came a third time. | Correct the prompts, or set humanHandoff.
other | A failure of a driver without a code of its own. | See the message. | See the message.
outcome_unknown | It is not known whether a tool call had its effect. | The process ended while the call was made. | Set the policy of the toolset: retry, skip, ask or fail.
overloaded | The provider is overloaded. | Too many requests of all its users. | Wait, or set fallback models; such calls are tried again.
parent_budget | The budget of the run above is used up. | Runs below share it. | Raise the budget of the run above.
quota_exceeded | The account at the provider is used up. | Its credit or monthly limit is reached. | Raise it at the provider, or set fallback models.
rate_limit | The provider wants fewer requests. | More requests or tokens a minute than the key allows. | Set requests_per_minute of the provider, or wait; such calls are tried again.
rejected | A person rejected what was asked. | The answer was no, and no edge leaves by reject. | Add such an edge, or start again.
schema_validation | A value of a Go graph does not fit its schema. | A function gave another shape. | See the path in the message.
server | The provider failed. | It answered with a status of 500 or above. | Wait; such calls are tried again.
state_conflict | Two branches changed one field of the state. | The field has no reducer. | Give it one, or let one branch change it.
subagent | A sub-agent failed. | See the error of its run. | Repair what failed there.
timeout | A call, a step or the run took longer than its limit. | The other side is slow or hangs. | Raise the timeout or make the work smaller.
tool | A tool step failed. | The tool could not be called or said that it failed. | See the message.
tool_changed | A tool is not the one that the run began with. | Its server changed the definition. | Start a new run.
uncounted | A coding agent whose use is not reported met a budget. | ACP agents report no tokens. | Set uncounted: allow, or remove the budget.
unknown_outcome | It is not known whether a function of a Go graph had its effect. | The process ended while it ran. | Make the function safe to repeat.
unknown_tool | An agent called a tool that it does not have. | The model invented a name; it is told and may go on. | Grant the tool, or say in the prompt what there is.
untrusted | A tool would start a command that was not allowed. | The document is not trusted. | Read what it starts and give --trust.
workflow_budget | The budget of all runs of the workflow is used up. | budgets.workflow of hocket.yaml. | Wait for the next span, or raise it.
`

// Codes of problems that a server answers with.
const apiCodes = `
conflict | The request does not fit the state of what it changes. | It was changed meanwhile, or has ended. | Read it again and repeat. Status 409.
forbidden | The token may not do this. | Its role or namespace is too small. | Use another token. Status 403.
gone | What was asked for is no longer there. | It was deleted, or its events are no longer kept. | Begin anew. Status 410.
internal | A defect of the server, or of the program. | It is logged with the id of the request. | Report it with the log. Status 500.
interrupted | The stream ended before the run did. | The server is shutting down. | Connect again; the run goes on.
invalid | The request cannot be read or holds an invalid document. | See the message and the diagnostics. | Correct the request. Status 400 or 422.
limit | A limit of the server is reached. | Too many runs, streams or requests at once. | Wait as Retry-After says, or raise server.limits. Status 429.
method_not_allowed | The address does not take this method. | A GET where a POST is needed, or the reverse. | See Allow in the answer. Status 405.
model_not_found | There is no published workflow of that name. | The model of a request to the OpenAI endpoint is wrong. | List them by GET /v1/models. Status 404.
not_found | What was asked for does not exist. | The id is wrong, or in another namespace. | List what there is. Status 404.
stream_replaced | Another stream of the same conversation took over. | It was opened twice. | Keep the newer one.
too_large | The request is larger than the limit in the message. | A large input or document. | Make it smaller or raise server.limits.body. Status 413.
unauthorized | Authentication is required. | The request has no valid token. | Send Authorization: Bearer TOKEN. Status 401.
unavailable | The server cannot do this now. | The store is locked or the disk is full. | Repeat as Retry-After says. Status 503.
unsupported | The OpenAI endpoint does not take a parameter. | It has no meaning for a workflow. | Leave it out. Status 400.
unusable | What is stored of this cannot be used. | The store is damaged, or was written by another version. | Check the store with hocket doctor. Status 500.
`

// Exit statuses of the command line.
const exitCodes = `
0 | Success. | The verb did what it says; a run completed. | Nothing is to be done.
1 | The run failed. | A step failed, or a limit was met. | See the code of the failure; hocket retry goes on where it failed.
2 | Nothing was done. | The document, a flag or an answer is not acceptable, or something was not found. | Correct what the message names.
3 | The run waits for a person. | An approval or a question is open. | Answer by hocket resume RUN.
4 | The run was cancelled. | By hocket cancel or Ctrl-C, in this process or another. | Start it again or go on with hocket retry.
70 | A defect of Hocket. | The message says where. | Report it with the message.
130 | Interrupted. | Ctrl-C or a signal; the run is stored. | Go on with hocket resume RUN.
`
