import {find, type Node, type Path, parse, type Range, rangeOf, TextError, valueOf} from '../doc/tree.ts'
import {isRecord} from '../lib/record.ts'

// Format is a format whose documents can be drawn by hand.
export type Format = 'canvas' | 'rounds'

// Shape describes where a document keeps the nodes and edges of the drawn graph. graph is the path
// of that graph. from, to and data are the keys of edges and nodes in their spellings; additions
// use the first one.
export type Shape = {
  format: Format
  graph: Path
  nodes: Path
  edges: Path
  from: readonly string[]
  to: readonly string[]
  data: readonly string[]
}

export const canvasShape: Shape = {
  format: 'canvas',
  graph: [],
  nodes: ['nodes'],
  edges: ['connections'],
  from: ['source'],
  to: ['target'],
  data: ['data'],
}

// roundsShape returns the shape of the main graph of a rounds document, or of the branch with an
// index.
export function roundsShape(branch: number | null): Shape {
  const graph = branch === null ? [] : ['branches', branch]
  return {
    format: 'rounds',
    graph,
    nodes: [...graph, 'nodes'],
    edges: [...graph, 'edges'],
    from: ['from', 'source'],
    to: ['to', 'target'],
    data: ['config', 'parameters'],
  }
}

// Kind is a type of node; the older type input is an approval (S0-2).
export const kinds = ['start', 'agent', 'if', 'approval', 'tool', 'workflow', 'set', 'ask'] as const
export type Kind = (typeof kinds)[number]

const kindsOfRounds: readonly Kind[] = ['agent', 'tool', 'workflow', 'set', 'approval', 'ask']

// kindsOf returns the kinds of nodes that a format has.
export const kindsOf = (f: Format): readonly Kind[] => (f === 'canvas' ? kinds : kindsOfRounds)

export type Point = Readonly<{x: number; y: number}>

export type CanvasNode = {
  index: number
  format: Format
  id: string
  type: string // as written
  kind: Kind | null // null if the type is unknown
  name: string // the name shown to people
  dataKey: string // the key that holds the data
  data: Readonly<Record<string, unknown>>
  at: Point | null // the position inside the document
  mayAsk: boolean // tools.subagents is on
  conditions: number
  range: Range
}

export type CanvasEdge = {
  index: number
  key: string // identifies the edge, also after others were removed
  from: string
  to: string
  fromKey: string
  toKey: string
  handle: string // sourceHandle as written
  target: string // targetHandle as written
  port: string // the effective handle: output, condition-0 for true
  sub: boolean // whether it leads to a sub-agent
  label: string
  range: Range
}

// DocumentAgent is an agent that a document itself defines. index is its position in the list.
export type DocumentAgent = {index: number; id: string; name: string}

export type Canvas = {
  shape: Shape
  text: string
  root: Node
  name: string
  nodes: readonly CanvasNode[]
  edges: readonly CanvasEdge[]
  byID: ReadonlyMap<string, CanvasNode> // the first node of each id
  hasInputs: boolean
  agents: readonly DocumentAgent[]
  maxRounds: number // of the graph; 0 means that it is not set
}

// Unread describes why a text cannot be drawn.
export type Unread = {why: string; offset: number}

export const output = 'output'
export const subagent = 'subagent'

// readCanvas reads the parts of a document that are drawn. Unknown parts stay in the text and do no
// harm. The last text is read once for all callers.
export function readCanvas(text: string, shape: Shape = canvasShape): Canvas | Unread {
  const key = `${shape.format} ${shape.graph.join()}`
  if (last?.text !== text || last.key !== key) last = {text, key, read: readText(text, shape)}
  return last.read
}

let last: {text: string; key: string; read: Canvas | Unread} | null = null

// parsed returns the tree of a text, which is shared by all callers with the same last text. It
// throws TextError.
export function parsed(text: string): Node {
  if (lastParsed?.text !== text) lastParsed = {text, tree: treeOf(text)}
  if (lastParsed.tree instanceof TextError) throw lastParsed.tree
  return lastParsed.tree
}

let lastParsed: {text: string; tree: Node | TextError} | null = null

function treeOf(text: string): Node | TextError {
  try {
    return parse(text)
  } catch (err) {
    if (err instanceof TextError) return err
    throw err
  }
}

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
  const root = parsed(text)
  const graph = find(root, shape.graph)
  const list = find(root, shape.nodes)
  const links = find(root, shape.edges)
  // A missing list is an empty list in rounds documents.
  const isList = (n: Node | null) => n?.type === 'array' || (shape.format === 'rounds' && (!n || n.type === 'null'))
  const lacks = [isList(list) ? '' : shape.nodes.join('.'), isList(links) ? '' : shape.edges.join('.')].filter(Boolean)
  if (lacks.length > 0)
    return {why: `the document has no list ${lacks.map(l => `"${l}"`).join(' and no list ')}`, offset: root.offset}
  if (graph?.type !== 'object') return {why: 'the graph is no object', offset: graph?.offset ?? root.offset}
  const scalar = (at: Node | null): string => {
    if (!at || at.type === 'null' || at.children) return ''
    return at.type === 'number' ? text.slice(at.offset, at.offset + at.length) : String(at.value)
  }
  const agents = agentsOf(root, shape, scalar)
  const nodes = (list?.children ?? []).map((n, index): CanvasNode => {
    const at = n.type === 'object' ? n : null
    const get = (...path: string[]) => (at ? find(at, path) : null)
    const type = scalar(get('type'))
    const dataKey = dataKeyOf(shape, type, key => get(key))
    const data = valueOf(get(dataKey) ?? {type: 'null', offset: 0, length: 0})
    const given = {
      index,
      format: shape.format,
      id: scalar(get('id')),
      type,
      dataKey,
      data: isRecord(data) ? data : {},
      at: at ? pointOf(at) : null,
      range: rangeOf(n),
    }
    return nodeOf(given, scalar(get('name')), agents)
  })
  const byID = new Map<string, CanvasNode>()
  for (const n of nodes) if (n.id !== '' && !byID.has(n.id)) byID.set(n.id, n)
  const times = new Map<string, number>()
  const edges = (links?.children ?? []).map((e, index): CanvasEdge => {
    const get = (key: string) => (e.type === 'object' ? scalar(find(e, [key])) : '')
    const there = (keys: readonly string[]) => keys.find(k => get(k) !== '') ?? keys[0]!
    const [fromKey, toKey] = [there(shape.from), there(shape.to)]
    const [from, to, handle] = [get(fromKey), get(toKey), get('sourceHandle')]
    const port = portOf(byID.get(from), handle)
    const plain = JSON.stringify([from, port, to])
    const nth = (times.get(plain) ?? 0) + 1
    times.set(plain, nth)
    const key = nth === 1 ? plain : `${plain}#${nth}`
    const sub = shape.format === 'canvas' && handle === subagent
    return {
      index,
      key,
      from,
      to,
      fromKey,
      toKey,
      handle,
      target: get('targetHandle'),
      port,
      sub,
      label: get('label'),
      range: rangeOf(e),
    }
  })
  const rounds = find(graph, ['maxRounds'])?.value
  const maxRounds = shape.format === 'rounds' && typeof rounds === 'number' && rounds > 0 ? rounds : 0
  return {
    shape,
    text,
    root,
    name: scalar(find(graph, ['name'])),
    nodes,
    edges,
    byID,
    hasInputs: find(graph, ['inputs']) !== null,
    agents,
    maxRounds,
  }
}

function agentsOf(root: Node, shape: Shape, scalar: (n: Node | null) => string): DocumentAgent[] {
  const list = shape.format === 'rounds' ? find(root, ['agents']) : null
  if (list?.type !== 'array') return []
  return (list.children ?? []).flatMap((a, index) => {
    const id = a.type === 'object' ? scalar(find(a, ['id'])) : ''
    return id === '' ? [] : [{index, id, name: scalar(find(a, ['name'])) || id}]
  })
}

// dataKeyOf returns the key of a node that holds its data: the first one that takes effect (S1-1),
// else the first one that could.
function dataKeyOf({data}: Shape, type: string, get: (key: string) => Node | null): string {
  const there = data.filter(k => get(k)?.type === 'object')
  const names = (k: string) => find(get(k)!, ['agentId'])?.type
  return (
    (type === 'agent' ? there.find(k => names(k) !== undefined && names(k) !== 'null') : undefined) ??
    there[0] ??
    data[0]!
  )
}

type Given = Pick<CanvasNode, 'index' | 'format' | 'id' | 'type' | 'dataKey' | 'data' | 'at' | 'range'>

function nodeOf(n: Given, own: string, agents: readonly DocumentAgent[]): CanvasNode {
  const type = n.type === 'input' && n.format === 'canvas' ? 'approval' : n.type
  const kind = kindsOf(n.format).find(k => k === type) ?? null
  if (n.format === 'rounds') {
    const asked = agentOf(n)
    const name = own || (kind === 'agent' ? agents.find(a => a.id === asked)?.name || asked || 'Agent' : n.id)
    return {...n, kind, name, mayAsk: false, conditions: 0}
  }
  const names = kind === 'agent' ? [n.data.agentName, own] : [n.data.label, n.data.title, own]
  const name =
    names.find((x): x is string => typeof x === 'string' && x.trim() !== '') ?? (kind === 'agent' ? 'Agent' : n.id)
  const tools = n.data.tools
  const mayAsk = Array.isArray(tools) ? tools.includes('subagents') : isRecord(tools) && tools.subagents === true
  const list = Array.isArray(n.data.conditions) ? n.data.conditions.length : 0
  const conditions = kind === 'if' ? list || (n.data.condition === undefined || n.data.condition === null ? 0 : 1) : 0
  return {...n, kind, name, mayAsk: kind === 'agent' && mayAsk, conditions}
}

// agentOf returns the id of the agent that a node of a rounds document names, or '' if it names
// none.
export const agentOf = ({data}: Pick<CanvasNode, 'data'>): string =>
  data.agentId === undefined || data.agentId === null ? '' : String(data.agentId)

// portOf returns the effective handle (S0-22): start and agent nodes have a single output whatever
// its name, and the older true is condition-0.
function portOf(from: CanvasNode | undefined, handle: string): string {
  if (handle === subagent && from?.format !== 'rounds') return subagent
  if (from?.kind === 'start' || from?.kind === 'agent' || handle === '')
    return from?.kind === 'if' || from?.kind === 'approval' ? '' : output
  return from?.kind === 'if' && handle === 'true' ? 'condition-0' : handle
}

// handlesOf returns the outputs of a node in order. The output to sub-agents is the last.
export function handlesOf(n: CanvasNode): string[] {
  const late = n.data.deadline === undefined || n.data.deadline === null || n.data.deadline === '' ? [] : ['timeout']
  switch (n.kind) {
    case 'start':
      return [output]
    case 'agent':
      return n.format === 'rounds' ? [output] : [output, subagent]
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

const parents = new WeakMap<Canvas, ReadonlyMap<string, string>>()

// parentsOf returns the agents that nodes are sub-agents of, by node id. The first link that leads
// to a node counts.
export function parentsOf(c: Canvas): ReadonlyMap<string, string> {
  const known = parents.get(c)
  if (known) return known
  const out = new Map<string, string>()
  for (const e of c.edges)
    if (
      e.sub &&
      e.from !== e.to &&
      !out.has(e.to) &&
      c.byID.get(e.from)?.kind === 'agent' &&
      c.byID.get(e.to)?.kind === 'agent'
    )
      out.set(e.to, e.from)
  parents.set(c, out)
  return out
}

// parentOf returns the agent that a node is a sub-agent of.
export const parentOf = (c: Canvas, id: string): string | null => parentsOf(c).get(id) ?? null

// dataOf returns the path of a node's data.
export const dataOf = (c: Canvas, n: CanvasNode): Path => [...c.shape.nodes, n.index, n.dataKey]
