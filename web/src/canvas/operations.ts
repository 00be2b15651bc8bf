import {type Change, JSONEdit} from '../doc/edit.ts'
import {find, type Path, TextError} from '../doc/tree.ts'
import {own} from '../lib/own.ts'
import {type Canvas, type Kind, output, type Point, subagent} from './document.ts'
import {type Link, type Refusal, refusal} from './rules.ts'

export type Layout = Readonly<Record<string, Point>>

// Step is one undoable change of a document: its text and its layout. select names the nodes that are selected afterwards.
export type Step = {label: string; changes: Change[]; layout?: Layout; select?: readonly string[]}

export type Outcome = Step | {refused: Refusal}

export const isRefused = (o: Outcome): o is {refused: Refusal} => 'refused' in o

const no = (rule: string, reason: string): Outcome => ({refused: {rule, reason}})

// guarded makes a refusal of what the text does not allow, such as a key that is there twice.
const guarded =
  <A extends unknown[]>(f: (...args: A) => Outcome) =>
  (...args: A): Outcome => {
    try {
      return f(...args)
    } catch (err) {
      if (err instanceof TextError) return no('S0-1', `The text does not allow it: ${err.message}.`)
      throw err
    }
  }

// freshID gives an id that no node has. Ids are words, so that expressions may name them: $steps.agent2.
export function freshID(taken: ReadonlySet<string>, word: string): string {
  const stem = word.replace(/\d+$/, '') || 'node'
  if (!taken.has(word)) return word
  for (let i = 2; ; i++) if (!taken.has(`${stem}${i}`)) return `${stem}${i}`
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

// addNode adds a node of a kind, connected behind a handle of another node where one is given.
export const addNode = guarded((c: Canvas, layout: Layout, kind: Kind, at: Point, behind?: {from: string; handle: string}): Outcome => {
  const start = c.nodes.find(n => n.kind === 'start')
  if (kind === 'start' && start) return no('S0-3', `A workflow has exactly one start node; "${start.id}" is there already.`)
  const id = freshID(idsOf(c), kind)
  const data: Record<string, unknown> = {...initial[kind]}
  if (kind === 'agent' && id !== kind) data.agentName = `Agent ${id.slice(kind.length)}`
  const e = new JSONEdit(c.text)
  e.append(c.shape.nodes, {id, type: kind, [c.shape.data]: data})
  if (behind) {
    const sub = behind.handle === subagent
    const source = c.byID.get(behind.from)
    if (sub && (kind !== 'agent' || source?.kind !== 'agent')) return no('S0-50', `Subagent target "${id}" must be an agent node.`)
    if (sub && source && !source.mayAsk) allowSubagents(e, c, source.id)
    e.append(c.shape.edges, edgeOf(c, {...behind, to: id}))
  }
  return {label: `add ${id}`, changes: e.changes(), layout: {...layout, [id]: at}, select: [id]}
})

// edgeOf gives a new edge as the document writes them: with an id where the others have one.
function edgeOf(c: Canvas, link: Link): Record<string, string> {
  const list = find(c.root, c.shape.edges)?.children ?? []
  const ids = list.map(e => (e.type === 'object' ? find(e, ['id'])?.value : undefined))
  const withID = c.shape.format === 'rounds' || (list.length > 0 && ids.every(id => id !== undefined))
  return {
    ...(withID ? {id: freshID(new Set(ids.map(String)), `e${list.length + 1}`)} : {}),
    [c.shape.from]: link.from,
    [c.shape.to]: link.to,
    ...(link.handle === output ? {} : {sourceHandle: link.handle}),
  }
}

// connect draws an edge. allow: the right to have sub-agents is given to the source with it.
export const connect = guarded((c: Canvas, link: Link, allow = false): Outcome => {
  const refused = refusal(c, link)
  if (refused && !(allow && refused.fix === 'subagents')) return {refused}
  const e = new JSONEdit(c.text)
  if (refused) allowSubagents(e, c, link.from)
  e.append(c.shape.edges, edgeOf(c, link))
  return {label: `connect ${link.from} to ${link.to}`, changes: e.changes()}
})

function allowSubagents(e: JSONEdit, c: Canvas, id: string): void {
  const n = c.byID.get(id)!
  const data = [...c.shape.nodes, n.index, c.shape.data]
  const {tools} = n.data
  if (Array.isArray(tools)) e.append([...data, 'tools'], 'subagents')
  else if (tools && typeof tools === 'object') e.set([...data, 'tools', 'subagents'], true)
  else setIn(e, c, n.index, ['tools'], {subagents: true})
}

// reconnect leads an edge elsewhere; its other keys stay.
export const reconnect = guarded((c: Canvas, index: number, link: Link): Outcome => {
  const edge = c.edges[index]
  if (!edge) return no('S0-6', 'The connection is no longer there.')
  if (edge.from === link.from && edge.to === link.to && edge.port === link.handle) return {label: 'connect', changes: []}
  const refused = refusal(c, link, index)
  if (refused) return {refused}
  const e = new JSONEdit(c.text)
  const at = [...c.shape.edges, index]
  if (edge.from !== link.from) e.set([...at, c.shape.from], link.from)
  if (edge.to !== link.to) e.set([...at, c.shape.to], link.to)
  if (edge.port !== link.handle) {
    if (link.handle === output) e.remove([...at, 'sourceHandle'])
    else e.set([...at, 'sourceHandle'], link.handle)
  }
  return {label: `connect ${link.from} to ${link.to}`, changes: e.changes()}
})

// remove deletes nodes with their edges, and edges.
export const remove = guarded((c: Canvas, layout: Layout, nodes: readonly number[], edges: readonly number[]): Outcome => {
  const gone = new Set(nodes)
  const ids = new Set(nodes.map(i => c.nodes[i]?.id).filter(id => id !== undefined))
  // The edges of an id that several nodes have stay while one of them does.
  for (const n of c.nodes) if (!gone.has(n.index)) ids.delete(n.id)
  const links = c.edges.filter(e => edges.includes(e.index) || ids.has(e.from) || ids.has(e.to))
  const e = new JSONEdit(c.text)
  e.removeItems(
    c.shape.edges,
    links.map(l => l.index),
  )
  e.removeItems(c.shape.nodes, nodes)
  const what =
    nodes.length === 1
      ? c.nodes[nodes[0]!]?.id
      : nodes.length > 1
        ? `${nodes.length} nodes`
        : links.length === 1
          ? 'a connection'
          : `${links.length} connections`
  return {label: `delete ${what}`, changes: e.changes(), layout: Object.fromEntries(Object.entries(layout).filter(([id]) => !ids.has(id))), select: []}
})

// rename gives a node another id: in its edges, in expressions that name it, and in the layout.
export const rename = guarded((c: Canvas, layout: Layout, index: number, id: string): Outcome => {
  const n = c.nodes[index]
  if (!n || n.id === id) return {label: 'rename', changes: []}
  if (id.trim() === '') return no('S0-5', 'The id of a node must not be empty.')
  if (c.byID.has(id)) return no('S0-5', `Node id "${id}" is used twice.`)
  const e = new JSONEdit(c.text)
  const values: [Path, unknown][] = [[[...c.shape.nodes, index, 'id'], id]]
  if (c.byID.get(n.id) === n) {
    for (const l of c.edges) {
      if (l.from === n.id) values.push([[...c.shape.edges, l.index, c.shape.from], id])
      if (l.to === n.id) values.push([[...c.shape.edges, l.index, c.shape.to], id])
    }
    values.push(...references(c.root, new Map([[n.id, id]])))
  }
  if (n.id === '') e.set(values[0]![0], id)
  else e.setAll(values)
  const at = own(layout, n.id)
  const rest = Object.fromEntries(Object.entries(layout).filter(([k]) => k !== n.id))
  return {label: `rename ${n.id} to ${id}`, changes: e.changes(), layout: at ? {...rest, [id]: at} : layout, select: [id]}
})

// references gives the texts with expressions that name steps by other names now, and what they are with them.
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

const step = /\$steps(?:\.([A-Za-z_]\w*)|\[\s*(["'])([^"'\\]*)\2\s*\])/g

// renamed gives a text in which $steps.NAME and $steps["NAME"] have the names that the steps have now.
export const renamed = (text: string, names: ReadonlyMap<string, string>): string =>
  text.replace(step, (all, plain?: string, quote = '"', quoted?: string) => {
    const now = names.get(plain ?? quoted ?? '')
    if (now === undefined) return all
    return plain !== undefined && /^[A-Za-z_]\w*$/.test(now) ? `$steps.${now}` : `$steps[${quote}${now}${quote}]`
  })

// setIn sets a value inside of a node's data, which is added where it is missing; undefined takes it away.
function setIn(e: JSONEdit, c: Canvas, index: number, path: readonly (string | number)[], value: unknown): void {
  const node = [...c.shape.nodes, index]
  const data = [...node, c.shape.data]
  if (value === undefined) {
    e.remove([...data, ...path])
    return
  }
  // What is missing on the way is made around the value.
  let at: Path = node
  const rest: (string | number)[] = [c.shape.data, ...path]
  while (rest.length > 1) {
    const next = [...at, rest[0]!]
    const there = find(e.root, next)
    if (!there || there.type === 'null') break
    at = next
    rest.shift()
  }
  let made = value
  while (rest.length > 1) made = {[rest.pop()!]: made}
  e.merge([...at, rest[0]!], made)
}

// setField sets a value of a node's data; undefined takes the key away.
export const setField = guarded((c: Canvas, index: number, path: readonly (string | number)[], value: unknown): Outcome => {
  const e = new JSONEdit(c.text)
  setIn(e, c, index, path, value)
  return {label: `change ${path[0]} of ${c.nodes[index]?.id ?? ''}`, changes: e.changes()}
})

// setAt sets a value anywhere in the document; undefined takes the key away.
export const setAt = guarded((c: Canvas, path: Path, value: unknown): Outcome => {
  const e = new JSONEdit(c.text)
  if (value === undefined) e.remove(path)
  else e.merge(path, value)
  return {label: `change ${path.filter(p => typeof p === 'string').at(-1) ?? ''}`, changes: e.changes()}
})

// removeCondition takes a condition away, with its edges. Edges of the conditions behind it follow their conditions.
export const removeCondition = guarded((c: Canvas, index: number, condition: number): Outcome => {
  const e = new JSONEdit(c.text)
  e.removeItems([...c.shape.nodes, index, c.shape.data, 'conditions'], [condition])
  renumber(e, c, index, i => (i === condition ? null : i > condition ? i - 1 : i))
  return {label: `delete condition ${condition + 1}`, changes: e.changes()}
})

// moveCondition moves a condition, and its edges with it.
export const moveCondition = guarded((c: Canvas, index: number, from: number, to: number): Outcome => {
  const e = new JSONEdit(c.text)
  e.move([...c.shape.nodes, index, c.shape.data, 'conditions'], from, to)
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
