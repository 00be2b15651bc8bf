import {find, type Node, type Path, parse, type Range, rangeOf, TextError, valueOf} from '../doc/tree.ts'
import {isRecord} from '../lib/record.ts'

// Shape says where a format keeps its nodes and edges.
export type Shape = {format: 'canvas' | 'rounds'; nodes: Path; edges: Path; from: string; to: string; data: string}

export const canvasShape: Shape = {format: 'canvas', nodes: ['nodes'], edges: ['connections'], from: 'source', to: 'target', data: 'data'}

// Kind is a type of node; the older type input is an approval (S0-2).
export const kinds = ['start', 'agent', 'if', 'approval', 'tool', 'workflow', 'set', 'ask'] as const
export type Kind = (typeof kinds)[number]

export type Point = Readonly<{x: number; y: number}>

export type CanvasNode = {
  index: number
  id: string
  type: string // as it is written
  kind: Kind | null // null: the type is not known
  name: string // what people see
  data: Readonly<Record<string, unknown>>
  at: Point | null // the position inside the document
  mayAsk: boolean // tools.subagents is on
  conditions: number
  range: Range
}

export type CanvasEdge = {
  index: number
  key: string // names the edge among all, also after others were removed
  from: string
  to: string
  handle: string // sourceHandle as it is written
  target: string // targetHandle as it is written
  port: string // the handle that counts: output, condition-0 for true
  sub: boolean // it leads to a sub-agent
  label: string
  range: Range
}

export type Canvas = {
  shape: Shape
  text: string
  root: Node
  name: string
  nodes: readonly CanvasNode[]
  edges: readonly CanvasEdge[]
  byID: ReadonlyMap<string, CanvasNode> // the first of each id
  hasInputs: boolean
}

// Unread tells why a text cannot be drawn.
export type Unread = {why: string; offset: number}

export const output = 'output'
export const subagent = 'subagent'

// readCanvas reads what is drawn of a document. What it does not know stays in the text and is not in the way. The last text is read once, whoever asks.
export function readCanvas(text: string, shape: Shape = canvasShape): Canvas | Unread {
  if (last?.text !== text || last.shape !== shape) last = {text, shape, read: readText(text, shape)}
  return last.read
}

let last: {text: string; shape: Shape; read: Canvas | Unread} | null = null

function readText(text: string, shape: Shape): Canvas | Unread {
  try {
    return read(text, shape)
  } catch (err) {
    if (err instanceof TextError) return {why: err.message, offset: err.offset}
    if (err instanceof RangeError) return {why: 'the document is nested too deeply to be drawn', offset: 0}
    throw err
  }
}

function read(text: string, shape: Shape): Canvas | Unread {
  const root = parse(text)
  const list = find(root, shape.nodes)
  const links = find(root, shape.edges)
  const lacks = [list?.type === 'array' ? '' : shape.nodes.join('.'), links?.type === 'array' ? '' : shape.edges.join('.')].filter(Boolean)
  if (!list || !links || lacks.length > 0) return {why: `the document has no list ${lacks.map(l => `"${l}"`).join(' and no list ')}`, offset: root.offset}
  const scalar = (at: Node | null): string => {
    if (!at || at.type === 'null' || at.children) return ''
    return at.type === 'number' ? text.slice(at.offset, at.offset + at.length) : String(at.value)
  }
  const nodes = (list.children ?? []).map((n, index): CanvasNode => {
    const at = n.type === 'object' ? n : null
    const get = (...path: string[]) => (at ? find(at, path) : null)
    const data = valueOf(get(shape.data) ?? {type: 'null', offset: 0, length: 0})
    const type = scalar(get('type'))
    return nodeOf({index, id: scalar(get('id')), type, data: isRecord(data) ? data : {}, at: at ? pointOf(at) : null, range: rangeOf(n)}, scalar(get('name')))
  })
  const byID = new Map<string, CanvasNode>()
  for (const n of nodes) if (n.id !== '' && !byID.has(n.id)) byID.set(n.id, n)
  const times = new Map<string, number>()
  const edges = (links.children ?? []).map((e, index): CanvasEdge => {
    const get = (key: string) => (e.type === 'object' ? scalar(find(e, [key])) : '')
    const [from, to, handle] = [get(shape.from), get(shape.to), get('sourceHandle')]
    const port = portOf(byID.get(from), handle)
    const plain = JSON.stringify([from, port, to])
    const nth = (times.get(plain) ?? 0) + 1
    times.set(plain, nth)
    const key = nth === 1 ? plain : `${plain}#${nth}`
    return {index, key, from, to, handle, target: get('targetHandle'), port, sub: handle === subagent, label: get('label'), range: rangeOf(e)}
  })
  return {shape, text, root, name: scalar(find(root, ['name'])), nodes, edges, byID, hasInputs: find(root, ['inputs']) !== null}
}

function nodeOf(n: Pick<CanvasNode, 'index' | 'id' | 'type' | 'data' | 'at' | 'range'>, own: string): CanvasNode {
  const kind = n.type === 'input' ? 'approval' : (kinds as readonly string[]).includes(n.type) ? (n.type as Kind) : null
  const names = kind === 'agent' ? [n.data.agentName, own] : [n.data.label, n.data.title, own]
  const name = names.find((x): x is string => typeof x === 'string' && x.trim() !== '') ?? (kind === 'agent' ? 'Agent' : n.id)
  const tools = n.data.tools
  const mayAsk = Array.isArray(tools) ? tools.includes('subagents') : isRecord(tools) && tools.subagents === true
  const list = Array.isArray(n.data.conditions) ? n.data.conditions.length : 0
  const conditions = kind === 'if' ? list || (n.data.condition === undefined || n.data.condition === null ? 0 : 1) : 0
  return {...n, kind, name, mayAsk: kind === 'agent' && mayAsk, conditions}
}

// portOf gives the handle that counts (S0-22): start and agent nodes have one way out whatever it is called, and the older true is condition-0.
function portOf(from: CanvasNode | undefined, handle: string): string {
  if (handle === subagent) return subagent
  if (from?.kind === 'start' || from?.kind === 'agent' || handle === '') return from?.kind === 'if' || from?.kind === 'approval' ? '' : output
  return from?.kind === 'if' && handle === 'true' ? 'condition-0' : handle
}

// handlesOf gives the ways out of a node in order. The one to sub-agents is the last.
export function handlesOf(n: CanvasNode): string[] {
  const late = n.data.deadline === undefined || n.data.deadline === null || n.data.deadline === '' ? [] : ['timeout']
  switch (n.kind) {
    case 'start':
      return [output]
    case 'agent':
      return [output, subagent]
    case 'if':
      return [...Array.from({length: n.conditions}, (_, i) => `condition-${i}`), 'false']
    case 'approval':
      return ['approve', 'reject', ...late]
    case 'ask':
      return [output, 'error', ...late]
    case null:
      return [output]
    default:
      return [output, 'error']
  }
}

function pointOf(n: Node): Point | null {
  for (const path of [['position'], []]) {
    const on = find(n, path)
    const [x, y] = on?.type === 'object' ? [find(on, ['x'])?.value, find(on, ['y'])?.value] : []
    if (Number.isFinite(x) && Number.isFinite(y)) return {x: x as number, y: y as number}
  }
  return null
}

// parentsOf gives the agents that nodes are sub-agents of, by the ids of the nodes: that of the first link that leads to each.
export function parentsOf(c: Canvas): Map<string, string> {
  const parents = new Map<string, string>()
  for (const e of c.edges)
    if (e.sub && e.from !== e.to && !parents.has(e.to) && c.byID.get(e.from)?.kind === 'agent' && c.byID.get(e.to)?.kind === 'agent') parents.set(e.to, e.from)
  return parents
}

// parentOf gives the agent that a node is a sub-agent of.
export function parentOf(c: Canvas, id: string): string | null {
  const link = c.edges.find(e => e.sub && e.to === id && e.from !== id && c.byID.get(e.from)?.kind === 'agent' && c.byID.get(id)?.kind === 'agent')
  return link?.from ?? null
}
