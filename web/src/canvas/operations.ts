import {type Change, JSONEdit} from '../doc/edit.ts'
import {find, type Path, TextError} from '../doc/tree.ts'
import {own} from '../lib/own.ts'
import {takenAgents} from './agent_names.ts'
import {type Canvas, type CanvasNode, dataOf, type Kind, kindsOf, output, type Point, subagent} from './document.ts'
import {type Link, type Refusal, refusal} from './rules.ts'
import {firstOf} from './rules_rounds.ts'

export type Layout = Readonly<Record<string, Point>>

// Step is one undoable change of a document: its text and its layout. select names the nodes that
// are selected afterwards.
export type Step = {label: string; changes: Change[]; layout?: Layout; select?: readonly string[]}

export type Outcome = Step | {refused: Refusal}

export const isRefused = (o: Outcome): o is {refused: Refusal} => 'refused' in o

export const no = (rule: string, reason: string): Outcome => ({refused: {rule, reason}})

// guarded turns an edit that the text does not allow, such as one at a key that occurs twice, into
// a refusal.
export const guarded =
  <A extends unknown[]>(f: (...args: A) => Outcome) =>
  (...args: A): Outcome => {
    try {
      return f(...args)
    } catch (err) {
      if (err instanceof TextError) return no('S0-1', `The text does not allow it: ${err.message}.`)
      throw err
    }
  }

// freshID returns an id that no node has. Ids are words, so that expressions can name them:
// $steps.agent2.
export function freshID(taken: ReadonlySet<string>, word: string): string {
  const stem = word.replace(/\d+$/, '') || 'node'
  if (!taken.has(word)) return word
  for (let i = 2; ; i++) if (!taken.has(`${stem}${i}`)) return `${stem}${i}`
}

// append adds items to a list, which is created if it is missing.
export function append(e: JSONEdit, path: Path, ...values: readonly unknown[]): void {
  const there = find(e.root, path)
  if (there && there.type !== 'null') e.append(path, ...values)
  else e.set(path, values)
}

const idsOf = (c: Canvas): Set<string> => new Set(c.nodes.map(n => n.id))

const initial: Record<Kind, Record<string, unknown>> = {
  start: {initialInput: ''},
  agent: {agentName: 'Agent', userPrompt: '{{PREVIOUS_OUTPUT}}'},
  if: {conditions: [{operator: 'contains', value: ''}]},
  approval: {prompt: ''},
  tool: {tool: '', args: {}},
  workflow: {workflow: ''},
  set: {values: {}},
  ask: {prompt: ''},
}

// addNode adds a node of a kind, connected behind a handle of another node if one is given. agent
// is the agent that it names in a rounds document; without it, a new agent is added.
export const addNode = guarded(
  (
    c: Canvas,
    layout: Layout,
    kind: Kind,
    at: Point,
    behind?: {from: string; handle: string},
    agent?: string,
  ): Outcome => {
    const start = c.nodes.find(n => n.kind === 'start')
    if (!kindsOf(c.shape.format).includes(kind))
      return no('S1-6', `A ${c.shape.format} document has no nodes of the type ${kind}.`)
    if (kind === 'start' && start)
      return no('S0-3', `A workflow has exactly one start node; "${start.id}" is there already.`)
    const id = freshID(idsOf(c), kind)
    const e = new JSONEdit(c.text)
    let data: Record<string, unknown> = {...initial[kind]}
    if (kind === 'agent' && c.shape.format === 'rounds') data = {agentId: agent ?? newAgent(e, c, id)}
    else if (kind === 'agent' && id !== kind) data.agentName = `Agent ${id.slice(kind.length)}`
    append(e, c.shape.nodes, {id, type: kind, [likeOthers(c.shape.data, c.nodes, n => n.dataKey)]: data})
    if (behind) {
      const sub = behind.handle === subagent && c.shape.format === 'canvas'
      const source = c.byID.get(behind.from)
      if (sub && (kind !== 'agent' || source?.kind !== 'agent'))
        return no('S0-50', `Subagent target "${id}" must be an agent node.`)
      if (sub && source && !source.mayAsk) allowSubagents(e, c, source)
      const first = c.shape.format === 'rounds' ? firstOf(c, c.edges, behind.from, behind.handle) : undefined
      if (first) {
        // Only the first edge is followed (S1-4), so the new node is inserted into it.
        e.set([...c.shape.edges, first.index, first.toKey], id)
        append(e, c.shape.edges, edgeOf(c, {from: id, handle: kind === 'approval' ? 'approve' : output, to: first.to}))
      } else append(e, c.shape.edges, edgeOf(c, {...behind, to: id}))
    }
    return {label: `add ${id}`, changes: e.changes(), layout: {...layout, [id]: at}, select: [id]}
  },
)

// newAgent adds an agent to the document and returns its id.
export function newAgent(e: JSONEdit, c: Canvas, word: string): string {
  const id = freshID(takenAgents(c), word)
  const nth = /\d+$/.exec(id)?.[0] ?? ''
  append(e, ['agents'], {id, name: nth ? `Agent ${nth}` : 'Agent', systemPrompt: ''})
  return id
}

// likeOthers returns the spelling of a key that all others use, else the first one.
function likeOthers<T>(names: readonly string[], others: readonly T[], of: (x: T) => string): string {
  const used = new Set(others.map(of))
  return used.size === 1 ? [...used][0]! : names[0]!
}

// edgeOf returns a new edge in the document's style: it has an id if the other edges have one.
function edgeOf(c: Canvas, link: Link): Record<string, string> {
  const list = find(c.root, c.shape.edges)?.children ?? []
  const ids = list.map(e => (e.type === 'object' ? find(e, ['id'])?.value : undefined))
  const withID = c.shape.format === 'rounds' || (list.length > 0 && ids.every(id => id !== undefined))
  return {
    ...(withID ? {id: freshID(new Set(ids.map(String)), `e${list.length + 1}`)} : {}),
    [likeOthers(c.shape.from, c.edges, e => e.fromKey)]: link.from,
    [likeOthers(c.shape.to, c.edges, e => e.toKey)]: link.to,
    ...(link.handle === output ? {} : {sourceHandle: link.handle}),
  }
}

// defaultRounds is the number of rounds that a cycle gets with the edge that closes it.
export const defaultRounds = 10

// applyFix makes the additional change that a refusal asks for, as far as it concerns more than the
// edge itself.
function applyFix(e: JSONEdit, c: Canvas, link: Link, refused: Refusal): void {
  const from = c.byID.get(link.from)
  if (refused.fix === 'subagents' && from) allowSubagents(e, c, from)
  if (refused.fix === 'rounds') e.set([...c.shape.graph, 'maxRounds'], defaultRounds)
}

// connect draws an edge. If anyway is set, it also makes the change that allows the edge.
export const connect = guarded((c: Canvas, link: Link, anyway = false): Outcome => {
  const refused = refusal(c, link)
  if (refused && !(anyway && refused.fix)) return {refused}
  if (refused?.fix === 'instead') {
    const first = firstOf(c, c.edges, link.from, link.handle)
    return first ? reconnect(c, first.index, link, true) : {refused}
  }
  const e = new JSONEdit(c.text)
  if (refused) applyFix(e, c, link, refused)
  append(e, c.shape.edges, edgeOf(c, link))
  return {label: `connect ${link.from} to ${link.to}`, changes: e.changes()}
})

function allowSubagents(e: JSONEdit, c: Canvas, n: CanvasNode): void {
  const {tools} = n.data
  if (Array.isArray(tools)) e.append([...dataOf(c, n), 'tools'], 'subagents')
  else if (tools && typeof tools === 'object') e.set([...dataOf(c, n), 'tools', 'subagents'], true)
  else setIn(e, dataOf(c, n), ['tools'], {subagents: true})
}

// reconnect moves an end of an edge; its other keys are kept. If anyway is set, it also makes the
// change that allows the edge.
export const reconnect = guarded((c: Canvas, index: number, link: Link, anyway = false): Outcome => {
  const edge = c.edges[index]
  if (!edge) return no('S0-6', 'The connection is no longer there.')
  if (edge.from === link.from && edge.to === link.to && edge.port === link.handle)
    return {label: 'connect', changes: []}
  const refused = refusal(c, link, index)
  if (refused && !(anyway && refused.fix && refused.fix !== 'instead')) return {refused}
  const e = new JSONEdit(c.text)
  if (refused) applyFix(e, c, link, refused)
  const at = [...c.shape.edges, index]
  if (edge.from !== link.from) e.set([...at, edge.fromKey], link.from)
  if (edge.to !== link.to) e.set([...at, edge.toKey], link.to)
  if (edge.port !== link.handle) {
    if (link.handle === output) e.remove([...at, 'sourceHandle'])
    else e.set([...at, 'sourceHandle'], link.handle)
  }
  return {label: `connect ${link.from} to ${link.to}`, changes: e.changes()}
})

// remove deletes nodes with their edges, and edges.
export const remove = guarded(
  (c: Canvas, layout: Layout, nodes: readonly number[], edges: readonly number[]): Outcome => {
    const gone = new Set(nodes)
    const ids = new Set(nodes.map(i => c.nodes[i]?.id).filter(id => id !== undefined))
    // If several nodes share an id, its edges are kept while one of the nodes is left.
    for (const n of c.nodes) if (!gone.has(n.index)) ids.delete(n.id)
    const links = c.edges.filter(e => edges.includes(e.index) || ids.has(e.from) || ids.has(e.to))
    const e = new JSONEdit(c.text)
    if (links.length > 0)
      e.removeItems(
        c.shape.edges,
        links.map(l => l.index),
      )
    if (nodes.length > 0) e.removeItems(c.shape.nodes, nodes)
    const what =
      nodes.length === 1
        ? c.nodes[nodes[0]!]?.id
        : nodes.length > 1
          ? `${nodes.length} nodes`
          : links.length === 1
            ? 'a connection'
            : `${links.length} connections`
    return {
      label: `delete ${what}`,
      changes: e.changes(),
      layout: Object.fromEntries(Object.entries(layout).filter(([id]) => !ids.has(id))),
      select: [],
    }
  },
)

// rename changes the id of a node: in its edges, in expressions that name it, and in the layout.
export const rename = guarded((c: Canvas, layout: Layout, index: number, id: string): Outcome => {
  const n = c.nodes[index]
  if (!n || n.id === id) return {label: 'rename', changes: []}
  const rule = c.shape.format === 'rounds' ? 'S1-8' : 'S0-5'
  if (id.trim() === '') return no(rule, 'The id of a node must not be empty.')
  if (c.byID.has(id)) return no(rule, `Node id "${id}" is used twice.`)
  const e = new JSONEdit(c.text)
  const values: [Path, unknown][] = [[[...c.shape.nodes, index, 'id'], id]]
  if (c.byID.get(n.id) === n) {
    for (const l of c.edges) {
      if (l.from === n.id) values.push([[...c.shape.edges, l.index, l.fromKey], id])
      if (l.to === n.id) values.push([[...c.shape.edges, l.index, l.toKey], id])
    }
    values.push(...referencesIn(c, new Map([[n.id, id]])))
  }
  if (n.id === '') e.set(values[0]![0], id)
  else e.setAll(values)
  const at = own(layout, n.id)
  const rest = Object.fromEntries(Object.entries(layout).filter(([k]) => k !== n.id))
  return {
    label: `rename ${n.id} to ${id}`,
    changes: e.changes(),
    layout: at ? {...rest, [id]: at} : layout,
    select: [id],
  }
})

// references returns the strings with expressions that name renamed steps, and the strings with the
// new names.
export function references(root: Canvas['root'], names: ReadonlyMap<string, string>): [Path, string][] {
  const out: [Path, string][] = []
  const walk = (n: Canvas['root'], path: Path) => {
    if (n.type === 'string' && typeof n.value === 'string' && n.value.includes('$steps')) {
      const text = renamed(n.value, names)
      if (text !== n.value) out.push([path, text])
    }
    for (const [i, child] of (n.children ?? []).entries()) {
      if (n.type === 'array') walk(child, [...path, i])
      else if (child.children?.[1]) walk(child.children[1], [...path, String(child.children[0]!.value)])
    }
  }
  walk(root, [])
  return out
}

// referencesIn returns the references in the drawn graph: steps of other graphs are different
// steps.
function referencesIn(c: Canvas, names: ReadonlyMap<string, string>): [Path, string][] {
  const graph = find(c.root, c.shape.graph)
  const own = graph ? references(graph, names) : []
  return own
    .filter(([p]) => c.shape.graph.length > 0 || p[0] !== 'branches')
    .map(([p, text]) => [[...c.shape.graph, ...p], text])
}

const step = /\$steps(?:\.([A-Za-z_]\w*)|\[\s*(["'])([^"'\\]*)\2\s*\])/g

// renamed returns a text in which $steps.NAME and $steps["NAME"] use the new names of the steps.
export const renamed = (text: string, names: ReadonlyMap<string, string>): string =>
  text.replace(step, (all, plain?: string, quote = '"', quoted?: string) => {
    const now = names.get(plain ?? quoted ?? '')
    if (now === undefined) return all
    return plain !== undefined && /^[A-Za-z_]\w*$/.test(now) ? `$steps.${now}` : `$steps[${quote}${now}${quote}]`
  })

// setIn sets a value inside an object, which is created if it is missing; undefined removes the
// value, with the objects around it that become empty.
export function setIn(e: JSONEdit, at: Path, path: Path, value: unknown): void {
  if (value === undefined) {
    e.remove([...at, ...path])
    for (
      let inner = path.slice(0, -1);
      inner.length > 0 && typeof inner.at(-1) === 'string';
      inner = inner.slice(0, -1)
    ) {
      const left = find(e.root, [...at, ...inner])
      if (left?.type !== 'object' || (left.children ?? []).length > 0) return
      e.remove([...at, ...inner])
    }
    return
  }
  // Missing objects on the path are created around the value. The object itself is the last one
  // that may be missing.
  let there: Path = at.slice(0, -1)
  const rest: (string | number)[] = [...at.slice(-1), ...path]
  while (rest.length > 1) {
    const next = [...there, rest[0]!]
    const found = find(e.root, next)
    if (!found || found.type === 'null') break
    there = next
    rest.shift()
  }
  let made = value
  while (rest.length > 1) {
    const key = rest.pop()!
    made = typeof key === 'number' ? [made] : {[key]: made}
  }
  const key = rest[0]!
  const list = typeof key === 'number' ? find(e.root, there) : null
  if (list && key === (list.children?.length ?? 0)) e.append(there, made)
  else e.merge([...there, key], made)
}

// setField sets a value of a node's data; undefined removes the key.
export const setField = guarded((c: Canvas, index: number, path: Path, value: unknown): Outcome => {
  const n = c.nodes[index]
  if (!n) return no('S0-5', 'The node is no longer there.')
  const e = new JSONEdit(c.text)
  setIn(e, dataOf(c, n), path, value)
  return {label: `change ${path[0]} of ${n.id}`, changes: e.changes()}
})

// setAt sets a value anywhere in the document, inside the object at a path; undefined removes the
// key.
export const setAt = guarded((c: Canvas, at: Path, path: Path, value: unknown): Outcome => {
  const e = new JSONEdit(c.text)
  setIn(e, at, path, value)
  return {
    label: `change ${path.find(p => typeof p === 'string') ?? at.findLast(p => typeof p === 'string') ?? ''}`,
    changes: e.changes(),
  }
})

// removeCondition removes a condition with its edges. Edges of the later conditions follow their
// conditions.
export const removeCondition = guarded((c: Canvas, index: number, condition: number): Outcome => {
  const e = new JSONEdit(c.text)
  e.removeItems([...dataOf(c, c.nodes[index]!), 'conditions'], [condition])
  renumber(e, c, index, i => (i === condition ? null : i > condition ? i - 1 : i))
  return {label: `delete condition ${condition + 1}`, changes: e.changes()}
})

// moveCondition moves a condition, and its edges with it.
export const moveCondition = guarded((c: Canvas, index: number, from: number, to: number): Outcome => {
  const e = new JSONEdit(c.text)
  e.move([...dataOf(c, c.nodes[index]!), 'conditions'], from, to)
  const order = Array.from({length: c.nodes[index]?.conditions ?? 0}, (_, i) => i)
  order.splice(to, 0, ...order.splice(from, 1))
  renumber(e, c, index, i => (order.includes(i) ? order.indexOf(i) : i))
  return {label: 'move a condition', changes: e.changes()}
})

function renumber(e: JSONEdit, c: Canvas, index: number, to: (i: number) => number | null): void {
  const id = c.nodes[index]?.id
  const gone: number[] = []
  const values: [Path, string][] = []
  for (const l of c.edges) {
    const at = /^condition-(\d+)$/.exec(l.port)?.[1]
    if (l.from !== id || at === undefined) continue
    const next = to(Number(at))
    if (next === null) gone.push(l.index)
    else if (next !== Number(at)) values.push([[...c.shape.edges, l.index, 'sourceHandle'], `condition-${next}`])
  }
  e.setAll(values)
  e.removeItems(c.shape.edges, gone)
}
