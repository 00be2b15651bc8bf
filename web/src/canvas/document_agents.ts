import {JSONEdit, type Raw} from '../doc/edit.ts'
import {find, type Node} from '../doc/tree.ts'
import {namedAt, namedIn, namesOf, takenAgents} from './agent_names.ts'
import {type Canvas, type DocumentAgent, dataOf} from './document.ts'
import {freshID, guarded, newAgent, no, type Outcome, setField} from './operations.ts'

// This module edits the agents that a rounds document itself defines.

// nameAgent assigns another agent to a node; null means a new agent of the document.
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

// renameAgent changes the id of an agent: in the list, in the nodes of all graphs that name it, and
// in agents that ask it or hand over to it.
export const renameAgent = guarded((c: Canvas, index: number, id: string): Outcome => {
  const agent = c.agents.find(a => a.index === index)
  if (!agent || agent.id === id) return {label: 'rename', changes: []}
  if (id.trim() === '') return no('S1-6', 'The id of an agent must not be empty.')
  if (c.agents.some(a => a.id === id)) return no('S1-6', `Agent id "${id}" is used twice.`)
  if (takenAgents(c).has(id))
    return no(
      'S1-6',
      `The document names an agent "${id}" that it does not define: what names that one would run this one.`,
    )
  const places = [...namedAt(c.root, ['agents', index, 'id']), ...namesOf(c)].filter(x => x.id === agent.id)
  const e = new JSONEdit(c.text)
  e.setAll(places.map(({path}) => [path, id]))
  return {label: `rename agent ${agent.id} to ${id}`, changes: e.changes()}
})

// agentsFor returns the agents of a document whose ids are given, and the agents that these ask or
// hand over to.
export function agentsFor(c: Canvas, ids: Iterable<string>): DocumentAgent[] {
  const all = new Set(ids)
  const of = (id: string) => c.agents.find(a => a.id === id)
  // The set grows during the iteration, which also visits the new elements.
  for (const id of all) {
    const a = of(id)
    if (a) for (const x of namedIn(c.root, ['agents', a.index])) all.add(x.id)
  }
  return [...all].flatMap(id => of(id) ?? []).sort((a, b) => a.index - b.index)
}

// sameText serializes a value so that equal values have equal text: keys are sorted, and numbers
// keep their digits.
function sameText(c: Canvas, n: Node): string {
  if (n.type === 'array') return `[${(n.children ?? []).map(x => sameText(c, x)).join()}]`
  if (n.type === 'number') return c.text.slice(n.offset, n.offset + n.length)
  if (n.type !== 'object') return JSON.stringify(n.value)
  const all = (n.children ?? []).map(
    p => `${JSON.stringify(p.children?.[0]?.value)}:${p.children?.[1] ? sameText(c, p.children[1]) : ''}`,
  )
  return `{${all.sort().join()}}`
}

// Brought holds agents that are copied into a document, with the new ids of the agents of the
// source document.
export type Brought = {ids: ReadonlyMap<string, string>; agents: Raw[]}

// broughtAgents returns the agents that are copied with nodes that name ids in another document. An
// agent that the document already has, with everything it asks, is not copied again; an agent that
// differs from the one with its id, or has an id that is named but not defined here, gets another
// id.
export function broughtAgents(c: Canvas, from: Canvas, named: Iterable<string>): Brought {
  const list = agentsFor(from, named)
  const textOf = (d: Canvas, a: DocumentAgent) => sameText(d, find(d.root, ['agents', a.index])!)
  const asks = new Map(list.map(a => [a.id, namedIn(from.root, ['agents', a.index])]))
  const isSame = (a: DocumentAgent) => {
    const here = c.agents.find(x => x.id === a.id)
    return here !== undefined && textOf(c, here) === textOf(from, a)
  }
  const coming = new Set(list.filter(a => !isSame(a)).map(a => a.id))
  for (let was = -1; was !== coming.size; ) {
    was = coming.size
    for (const [id, others] of asks) if (others.some(x => coming.has(x.id))) coming.add(id)
  }
  const taken = takenAgents(c)
  const ids = new Map<string, string>()
  for (const id of coming) {
    const now = freshID(taken, id)
    taken.add(now)
    if (now !== id) ids.set(id, now)
  }
  const agents = list.flatMap(a => {
    if (!coming.has(a.id)) return []
    const path = ['agents', a.index]
    const renamed = [...namedAt(from.root, [...path, 'id']), ...asks.get(a.id)!].filter(x => ids.has(x.id))
    const e = new JSONEdit(from.text)
    e.setAll(renamed.map(x => [x.path, ids.get(x.id)]))
    return [e.raw(path)]
  })
  return {ids, agents}
}
