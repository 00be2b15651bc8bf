package explain

// Codes of problems of documents: code, meaning, cause and repair, a line each.
const documentCodes = `
agent-not-allowed | A node that is no agent names one. | TOOL_EXECUTOR and HUMAN nodes of a routes document have no agent. | Set agentId to null, or make the node an AGENT.
bad-alias | A YAML alias names no anchor, or an anchor that holds the alias. | *NAME without &NAME before it. | Define the anchor before the alias, or write the value out.
bad-command | A command of an agent cannot be called. | Its name is empty or has a blank or a slash, it is defined twice, or it has no instruction. | Give it a name such as fix and a text.
bad-condition | A condition is no expression. | A syntax error, or a function that does not exist. | Write an expression such as {{ $steps.check.output.ok }} == true; the message lists the functions.
bad-definition | A row of an agent has a definition that cannot be read. | The column definition is no JSON object of agent keys. | Correct the JSON and apply the row again.
bad-encoding | The file is no UTF-8. | It was saved in another encoding, or is no text. | Save it as UTF-8.
bad-entrypoint | The run cannot begin at that node. | A TOOL_EXECUTOR has nothing to execute before an agent spoke. | Name an AGENT or HUMAN node.
bad-file | The name of a prompt file is not allowed. | It is empty, absolute, or leads out of the folder. | Write a relative name without two dots.
bad-handoff | The node for hand-offs to a person cannot be used. | It does not exist or is no question to a person. | Name a node of type HUMAN.
bad-id | An id of a workflow or run is not allowed. | It is empty, too long, or has characters other than letters, digits, dots, dashes and underscores. | Choose another id.
bad-key | A key of a YAML map is no text. | A list or a map was written as a key. | Write a plain text as the key.
bad-merge | A YAML merge (<<) takes no map. | The value of << is a text, a number or a list of such. | Merge maps alone, or copy the keys.
bad-permission | A pattern of permissions cannot be read. | It is empty or has no tool before its colon. | Write tool, toolset/* or tool:argument=glob.
bad-price | An entry of a price file cannot be read. | A price is negative, or a model has no provider. | Write provider/model and prices of one million tokens.
bad-reference | A reference to a step does not say what to read, or reads what is not there. | $steps.ID alone, or .outputs of a step that is not parallel. | Write $steps.ID.output, or $steps.BLOCK.outputs.CHILD.output.
bad-reply | An entry of a reply script contradicts itself or says nothing. | It has none or two of text, json, toolCalls and error. | Give each entry one kind of answer.
bad-schedule | A schedule cannot be read. | It is no number of seconds, daily@HH:mm or weekly@DAYS. | Use one of these forms; days are 0 for Sunday to 6.
bad-schema | A JSON Schema of structured output cannot be used. | It is invalid, refers to another document, or is too large. | Correct the schema; put everything into it.
bad-step | A step lacks what its type needs. | An agent step has no name, a condition has no condition or branch, a parallel step has no steps, or the type is unknown. | Add the key that the message names.
bad-value | A value is of the right type and not allowed. | A word out of another list, a number out of its bounds, a time without a unit. | Write one of the values in the hint.
bare-secret | hocket.yaml holds a secret in plain text. | A key or token was written down. | Write ${env.NAME} or ${file:PATH}.
condition-constant | A condition always gives the same answer. | It reads no step. | Read an output, or remove the condition.
condition-empty | A condition has no text. | The value is empty or blank. | Write an expression.
condition-reads-later | A condition reads a step that stands behind it. | The step is run first, then the condition is asked. | Move the step in front of the condition if that was not meant.
condition-too-deep | A condition is nested too deeply. | More parentheses and calls than the limit in the message. | Split it into two conditions.
condition-too-long | A condition is longer than the limit in the message. | A text was copied into it. | Shorten it.
conflicting-keys | Two keys exclude each other. | For example command and remote of an MCP server. | Keep one.
dangling-edge | An edge of a routes document leads to or from a node that does not exist. | A node was renamed or removed. | Correct the id, or remove the edge; it is never taken.
document-too-deep | The document is nested more deeply than the limit in the message. | It was made by a program, or has a cycle of aliases. | Make it flatter.
document-too-large | The document is larger than the limit in the message. | It holds data that belongs elsewhere. | Move data to files that agents read.
duplicate-agent | Two agents have one id. | An entry was copied. | Rename or remove one; the related place is the first.
duplicate-branch-id | Two branches have one id. | A branch was copied. | Rename one.
duplicate-edge-id | Two edges have one id. | A row was copied. | Rename one, or leave the ids out.
duplicate-id | Two steps of one list have one id. | A step was copied; default ids are names of agents. | Write another id.
duplicate-key | A map has a key twice. | A line was copied. | Remove one; which of them counts would not be certain.
duplicate-link | A connection is there twice. | It was drawn twice. | Remove one.
duplicate-node | Two nodes have one id. | A node was copied. | Rename one and the connections that mean it.
edge-condition | Conditions of edges are not read in rounds documents. | The edge is followed as if there were none. | Use a canvas, routes or steps document for choices.
empty-document | The document holds no value. | The file is empty or has comments alone. | Write a document; hocket init makes one.
empty-operand | A comparison with an empty text never holds. | The value of a condition is missing. | Write the text to compare with.
fan-out | Only the first edge that leaves a node of a rounds document is followed. | Several edges leave it. | Remove the others, or use a canvas or steps document.
fixed-server | A document changes a server of the operator. | It sets command, env or another key beside ref. | Remove the key, or define a server of its own under mcps.
foreign-row | A row belongs to another workflow. | Its workflowId differs from the id of the document. | Correct workflowId, or remove the row.
invalid-graph | The document has no list of nodes or of connections. | A canvas needs both. | Add nodes and connections.
jump-ignores | A jump has keys that have no effect. | A step that repeats an id goes back to that step. | Keep the id alone, or write another id.
many-always | A node has two edges that are always taken. | Two edges have the type ALWAYS or ON_COMPLETE. | Make one CONDITIONAL or remove it.
many-starts | A canvas has two start nodes. | A second one was drawn. | Remove one.
misplaced-key | A key stands where it is not read. | It belongs elsewhere, often into data. | Move it to where the hint says.
missing-agent | A node names no agent. | config.agentId is absent. | Write "config": {"agentId": "…"}.
missing-file | A prompt file is not there. | It is not in the folder of the document, above it, or in the home folder. | Create it or correct its name.
missing-key | A key is absent that must be there. | It was forgotten or misspelt. | Add it; hocket schema FORMAT shows all keys.
missing-max-rounds | A cycle of a rounds document never ends. | maxRounds is absent or not positive. | Set maxRounds, for example 10.
missing-schedule | A mode of execution needs a schedule. | executionMode is interval and schedule is empty. | Set schedule, for example "60" or "daily@09:00".
missing-source | A connection begins at a node that does not exist. | A node was renamed or removed. | Correct the id or remove the connection.
missing-target | A connection leads to a node that does not exist. | A node was renamed or removed. | Correct the id or remove the connection.
model-retired | A model is or will be shut down by its provider. | The table of models has a date of retirement for it. | Use the model that the hint names, or another current one.
multiple-documents | The file holds more than one YAML document. | There is a line --- between them. | Put each into a file of its own.
no-agent | An AGENT node has no agentId. | The column is null or empty. | Name an agent.
no-agents | There are no agents. | The list is empty or absent. | Add an agent.
no-approval | APPROVAL_NOTE has no approval before it. | No approval is on the way to the agent. | Remove the placeholder, or add an approval; it is empty.
no-condition-value | A CONDITIONAL edge has no value. | conditionValue is null or empty. | Write the value, or use ALWAYS.
no-edges | A rounds document has several nodes and no edges. | The nodes then follow each other in their order. | Add edges if another order is meant.
no-entrypoint | A routes document does not say where it begins. | entrypointNodeId is absent. | Write the id of the first node.
no-nodes | There are no nodes. | The list is empty or absent. | Add a node.
no-start | A canvas has no start node. | It was removed. | Add a node of type start.
no-steps | The workflow has no steps. | The list is empty or absent. | Add a step such as {type: agent, name: root}.
no-structured-output | A condition reads a path of a reply without a schema. | The agent declares no structured_output; the path is looked up in a reply that is JSON. | Declare structured_output so that replies are checked.
no-target | A conditional edge has no target and ends the run. | targetNodeId is null and the value is not END. | Name a target, or use the value END.
no-tool-executor | An agent of a routes document has tools that nothing executes. | No edge leads to a TOOL_EXECUTOR. | Add the node and an edge to it.
no-tool-provider | Nothing offers a tool that an agent lists. | No toolset or tools file has it. | Give --tools, configure a toolset, or remove the tool.
not-boolean | A condition can never be true or false. | It reads a text, a number or an object. | Compare it, for example with ==.
not-json | A value has no form in JSON. | For example .nan or .inf in YAML. | Write a number or a text.
not-replaced | A placeholder stands where it is not replaced. | Only userPrompt is a template in a canvas. | Move it into userPrompt.
not-supported-yet | The document asks for something that Hocket does not do. | A key, toolset or provider of docker-agent that has no effect here. | Remove it, or accept that it has no effect.
nothing-to-execute | An edge leads to a TOOL_EXECUTOR from a node that makes no calls. | Only agents call tools. | Begin the edge at an AGENT.
quoted-reference | A reference stands inside quotes and is plain text. | "{{ $steps.a.output }}" within an expression. | Remove the inner quotes.
runs-per-path | A node of a canvas runs once for each connection that leads to it. | Several paths that can be taken together lead to it. | Set "join": "all" in its data if it is to wait for all of them.
said-twice | One thing is said under two keys. | A key is there in two spellings, or beside and under workflow. | Keep one.
same-agent-name | Two agents have one name. | In a shared conversation each takes the words of the other for its own. | Rename one.
same-condition-value | Two edges of a node have one value. | The second is never taken. | Change or remove it.
same-id | Two documents of one call have one id. | Files with the same name were applied together. | Give --id, or apply them one by one.
secret-in-document | A document holds a secret in plain text. | A key or token was written down. | Write ${env.NAME}.
shadowed-tool | A tool is hidden by one of the same name. | A conversational workflow offers a tool end of its own. | Rename the tool.
subagent-disabled | An agent has sub-agents and may not ask them. | tools.subagents is not true. | Set it to true or remove the links.
subagent-execution | A sub-agent takes part in the run as a node. | It has connections other than its subagent link. | Remove them, or copy the agent.
subagent-handle | A link to a sub-agent ends at another handle. | targetHandle is not input. | Set targetHandle to input.
subagent-parents | A sub-agent belongs to two agents. | Two subagent links lead to it. | Copy the agent.
subagent-source | A link to a sub-agent begins at a node that is no agent. | Start, if and approval nodes ask nobody. | Begin it at an agent.
subagent-target | A link to a sub-agent leads to no agent. | The node is of another type or does not exist. | Lead it to an agent.
syntax | The text is no YAML or JSON. | Often a missing quote, comma or indentation. | Correct it at the place; YAML takes no tabs.
too-deep | Steps are nested more deeply than the limit in the message. | Conditions and blocks inside of each other. | Use jumps, or a workflow as a tool.
too-many-problems | More problems were found than are shown. | The document is wrong throughout. | Repair the first ones and check again.
too-many-values | The document holds more values than the limit in the message. | Aliases multiply values, or data was put into it. | Make it smaller.
two-names | Two names of one key disagree. | from and source, or to and target, differ. | Remove one.
type-mismatch | A condition compares values of different types. | For example a number with a text, by the declared schema. | Compare with a value of the declared type.
unclosed-template | A template is never closed. | {{ without }}. | Write }} at the end.
unknown-agent | An agent is named that is not defined. | It was misspelt, or stands in a file that was not given. | Correct the name, define it, or give --agents.
unknown-condition-type | An edge has an unknown type. | conditionType is not CONDITIONAL, ALWAYS or ON_COMPLETE. | Write one of these.
unknown-entrypoint | The run begins at a node that does not exist. | entrypointNodeId is misspelt. | Write the id of a node.
unknown-format | The document is of no format that Hocket knows. | Keys such as nodes or workflow are missing, or it is another kind of file. | See the forms in the hint, or give --format.
unknown-handle | A connection leaves by a way that the node does not have. | sourceHandle is misspelt or absent. | Use one of the handles in the hint.
unknown-key | A key is not known at its place. | It is misspelt or belongs elsewhere. | See the hint; hocket schema FORMAT shows all keys.
unknown-mode | A mode of execution is not known. | executionMode is misspelt. | Write one_time, interval or continuous.
unknown-name | hocket.yaml refers to a name that is not defined. | A provider of a model is misspelt. | Define it under providers or correct it.
unknown-node-type | A type of node is not known. | It is misspelt, or of another format. | Use one of the types in the hint.
unknown-path | A condition reads a path that the schema of the reply does not have. | It is misspelt, or the schema lacks it. | Correct the path or add it to structured_output.
unknown-step | A reference names a step that does not exist. | The id is misspelt or the step is in another list. | Correct the id.
unknown-tag | A YAML tag is not known. | A value begins with an exclamation mark. | Remove the tag or quote the text.
unknown-target | A jump leads to a step that does not exist or cannot be reached. | The id is misspelt, or the step is outside of the parallel block. | Name a step of a list around the jump.
unknown-time-zone | A time zone is not known. | timeZone is misspelt. | Write a name such as Europe/Lisbon.
unknown-tool | An agent is granted a tool that nothing provides. | The name is misspelt, or no toolset or tools file has the tool. | Correct the name, give --tools, or remove it.
unknown-version | The version of a steps document is not known. | version is not 0 to 7. | Leave it out for the newest.
unreachable-step | Nothing leads to a step. | What stands before it always goes elsewhere. | Move it or remove the jump.
unreadable | The file cannot be read. | It does not exist, is a folder, or access is denied. | Correct the path or the rights.
unused-agent | An agent is never used. | No node names it and no agent asks it. | Remove it, or name it.
unused-condition-value | The value of an edge is not read. | ALWAYS edges have no value. | Remove it, or use CONDITIONAL.
unused-schedule | A schedule has no effect. | The mode is one_time, or branches have schedules of their own. | Set executionMode or remove the schedule.
wrong-type | A value is of another type than the key takes. | A number without quotes where a text is needed, or a list where a map is. | Write it as the hint says.
`

// Codes of problems of toolsets and tools files.
const toolCodes = `
bad-toolset | A toolset of a document cannot be used. | Its keys contradict each other or lack something. | See the message; docs/tools.md has a section for each type.
duplicate-name | Two toolsets have one name. | Names stand in permissions and in names of tools. | Set another name.
no-effect | A key of a toolset has no effect. | It is docker-agent's and not needed here. | Remove it.
too-large | A value of a toolset is larger than the limit in the message. | A text was copied into it. | Shorten it, or put it into a file.
unknown-ref | A toolset refers to a server that is not defined. | ref names nothing under mcps. | Define the server or correct the name.
unsupported-ref | A reference to a server cannot be used. | It names Docker's catalog, or refers where nothing can be referred to. | Write command or remote.
unsupported-toolset | A type of toolset cannot be opened. | It is misspelt, or not part of this program. | Use a type of docs/tools.md.
unsupported-transport | A transport of MCP is not spoken. | remote.transport_type is not streamable. | Use a server that speaks Streamable HTTP.
wrong-value | A value of a toolset is not allowed. | It is out of its bounds or of another form. | See the message for what is allowed.
`
