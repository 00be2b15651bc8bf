package explain

// Codes of problems of graphs.
const graphCodes = `
approval-without-edges | No edge leaves an approval. | What a person decides makes no difference. | Add edges by approve and reject.
bad-json | A value is no JSON. | A schema, a toolset or an argument was made by hand. | Correct the JSON.
bad-parent | A node belongs to a block that does not exist or is no block. | Its parent is wrong. | Correct the parent.
bad-quorum | A block waits for more branches than it has. | The quorum is less than 1 or larger than the number of branches. | Correct the quorum.
bad-subgraph | A sub-graph cannot be linked into a graph. | Its state or its functions do not fit. | See the message.
blocks-too-deep | Blocks are nested more deeply than the limit in the message. | Forks inside of forks. | Use a sub-graph.
branch-never-joins | A branch of a block never reaches its join. | No path leads there. | Add an edge to the join.
branch-target | A branch begins at a node outside of its block. | The edge leads elsewhere. | Lead it to a node of the block.
branch-without-edge | A branch of a block leads nowhere. | No edge leaves by its port. | Add an edge.
dead-edge | An edge is never followed. | Its port is never fired, or an edge before it is always taken. | Remove it or correct its port.
decide-without-cases | A decision has no cases. | The list is empty. | Add a case.
duplicate-branch | Two branches of a block have one id. | One was copied. | Rename one.
duplicate-edge | An edge is there twice. | One was copied. | Remove one.
edge-crosses-branch | An edge leads out of a branch of a block, or into one. | Branches meet at the join alone. | Lead the edge to the join.
empty-branch | A branch has no id. | It was left out. | Name the branch.
empty-id | A node or agent has no id. | It was left out. | Name it.
empty-port | A port has no name. | A case or an edge was left incomplete. | Name the port.
entry-in-branch | The run begins inside of a block. | The entry is a node of a branch. | Begin before the block.
flow-recursion | A sub-flow contains itself. | It is called by one of its own nodes. | Use a loop.
flow-too-deep | Sub-flows are nested more deeply than the limit in the message. | Flows call flows. | Make it flatter.
foreign-spec | A node says something that belongs to another kind of node. | For example a question of an agent node. | Remove it or change the kind.
fork-join | A block has no join, or one of another block. | The join is missing. | Name the join of the block.
fork-without-branches | A block has no branches. | The list is empty. | Add a branch.
handoff-self | An agent hands over to itself. | It names itself. | Remove the name.
handoff-twice | An agent names another twice for hand-offs. | A name was copied. | Remove one.
join-fork | A join belongs to no block. | Its fork does not exist. | Correct the fork.
join-without-input | Nothing leads to a join. | No edge ends there. | Lead the branches to it.
missing-name | A part has no name. | It was left out. | Name it.
missing-spec | A node does not say what its kind needs. | For example an agent node without agent. | Add it.
negative-limit | A limit is negative. | Limits count from 0, which is the default. | Write a positive number.
nested-branches | A branch of a workflow has branches. | Branches have one level. | Move them up.
no-entry | The graph does not say where it begins. | The entry is empty. | Name the first node.
open-port | A way out of a node leads nowhere. | No edge leaves by the port; the path ends there. | Add an edge, or accept that the path ends.
reads-unknown | A node reads the output of a node that does not exist. | The id is wrong. | Correct it.
reads-unseen | A node reads an output that it cannot see. | The other node is in another branch of a block. | Read the output of the block.
subagent-cycle | Agents ask each other in a cycle. | A asks B and B asks A. | Remove one link.
subagent-self | An agent asks itself. | It names itself as a sub-agent. | Remove the name.
subagent-tool | The tool of a sub-agent has no name, or one that is taken. | Two tools of one agent share a name. | Rename one.
unbounded-cycle | A cycle is ended by the limit of steps alone. | No condition leaves it. | Add a way out, or set a limit.
unknown-entry | The graph begins at a node that does not exist. | The id is wrong. | Correct it.
unknown-flow | A node runs a sub-flow that does not exist. | The name is wrong. | Correct it or add the flow.
unknown-kind | A kind of node is not known. | It is misspelt. | Use a kind of package workflow.
unknown-node | An edge names a node that does not exist. | The id is wrong. | Correct it.
unknown-word | A word is none of those that are allowed. | It is misspelt. | Use one of the words in the message.
unreachable-node | Nothing leads to a node. | No edge ends there. | Add an edge or remove the node.
untyped-flow | A sub-flow has no state of its own type. | The graph was built without it. | Build it with a state.
`
