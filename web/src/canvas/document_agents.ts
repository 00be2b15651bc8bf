import {JSONEdit} from '../doc/edit.ts'
import {find, type Path} from '../doc/tree.ts'
import {type Canvas, dataOf} from './document.ts'
import {guarded, newAgent, no, type Outcome, setField} from './operations.ts'

// The agents that a rounds document defines itself.

// nameAgent gives a node another agent; null: a new one of the document.
export const nameAgent = guarded((c: Canvas, index: number, id: string | null): Outcome => {
  const n = c.nodes[index]
  if (!n) return no('S1-1', 'The node is no longer there.')
  if (id !== null) return setField(c, index, ['agentId'], id)
  const e = new JSONEdit(c.text)
  const made = newAgent(e, c, n.id)
  if (find(e.root, dataOf(c, n))?.type === 'object') e.set([...dataOf(c, n), 'agentId'], made)
  else e.set(dataOf(c, n), {agentId: made})
  return {label: `new agent ${made}`, changes: e.changes()}
})

// Keys of agents with lists of ids of others.
const lists = ['subAgents', 'sub_agents', 'handoffs']

// renameAgent gives an agent another id: in the list, in the nodes of all graphs that name it, and in agents that ask it or hand over to it.
export const renameAgent = guarded((c: Canvas, index: number, id: string): Outcome => {
  const agent = c.agents.find(a => a.index === index)
  if (!agent || agent.id === id) return {label: 'rename', changes: []}
  if (id.trim() === '') return no('S1-6', 'The id of an agent must not be empty.')
  if (c.agents.some(a => a.id === id)) return no('S1-6', `Agent id "${id}" is used twice.`)
  const values: [Path, string][] = []
  const put = (path: Path) => {
    const at = find(c.root, path)
    if (at && at.children === undefined && String(at.value) === agent.id) values.push([path, id])
  }
  put(['agents', index, 'id'])
  const graphs: Path[] = [[], ...(find(c.root, ['branches'])?.children ?? []).map((_, i) => ['branches', i])]
  for (const g of graphs)
    for (const [i] of (find(c.root, [...g, 'nodes'])?.children ?? []).entries())
      for (const key of ['config', 'parameters']) put([...g, 'nodes', i, key, 'agentId'])
  for (const [i] of (find(c.root, ['agents'])?.children ?? []).entries())
    for (const key of lists) for (const [k] of (find(c.root, ['agents', i, key])?.children ?? []).entries()) put(['agents', i, key, k])
  const e = new JSONEdit(c.text)
  e.setAll(values)
  return {label: `rename agent ${agent.id} to ${id}`, changes: e.changes()}
})
