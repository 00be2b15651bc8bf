import {JSONEdit, Raw} from '../doc/edit.ts'
import {find} from '../doc/tree.ts'
import {own} from '../lib/own.ts'
import {agentOf, type Canvas, canvasShape, type Point, readCanvas, roundsShape, type Shape} from './document.ts'
import {agentsFor, broughtAgents} from './document_agents.ts'
import {append, freshID, guarded, type Layout, no, type Outcome, references} from './operations.ts'

// The distance by which copies are moved from the originals.
const step = 40

// copyText returns nodes, and the edges between them, as the text of a document. It contains
// positions, so that the nodes can be pasted into another workflow, and the agents of the document
// that the nodes name, with those that these agents ask.
export function copyText(c: Canvas, layout: Layout, nodes: readonly number[]): string {
  const chosen = c.nodes.filter(n => nodes.includes(n.index) && c.text[n.range.from] === '{')
  const ids = new Set(chosen.map(n => n.id))
  const parts = chosen.map(n => {
    const e = new JSONEdit(c.text.slice(n.range.from, n.range.to))
    const at = own(layout, n.id) ?? n.at
    e.remove(['x'])
    e.remove(['y'])
    if (at) e.set(['position'], {x: Math.round(at.x), y: Math.round(at.y)})
    return new Raw(e.text)
  })
  const links = c.edges
    .filter(e => ids.has(e.from) && ids.has(e.to))
    .map(e => new Raw(c.text.slice(e.range.from, e.range.to)))
  const [shape, begin] =
    c.shape.format === 'canvas'
      ? [canvasShape, '{\n  "nodes": [],\n  "connections": []\n}']
      : [roundsShape(null), '{\n  "agents": [],\n  "nodes": [],\n  "edges": []\n}']
  const e = new JSONEdit(begin)
  const agents = agentsFor(c, chosen.map(agentOf)).map(a => new JSONEdit(c.text).raw(['agents', a.index]))
  if (agents.length > 0) e.append(['agents'], ...agents)
  else e.remove(['agents'])
  e.append(shape.nodes, ...parts)
  e.append(shape.edges, ...links)
  return e.text
}

// readCopied reads the content of the clipboard, which must be a document of the format that it is
// pasted into.
function readCopied(shape: Shape, text: string) {
  const own = readCanvas(text, shape.format === 'canvas' ? canvasShape : roundsShape(null))
  const other = readCanvas(text, shape.format === 'canvas' ? roundsShape(null) : canvasShape)
  // Any object is a rounds document without nodes.
  const fits = !('why' in own) && (shape.format === 'canvas' || find(own.root, ['edges']) !== null)
  if (fits || 'why' in other) return own
  const isOther = shape.format === 'rounds' || find(other.root, ['edges']) !== null
  const [from, to] = shape.format === 'canvas' ? ['rounds', 'canvas'] : ['canvas', 'rounds']
  return isOther ? {why: `they are nodes of a ${from} document, and this is a ${to} document`} : own
}

// paste adds the nodes of a document's text, with new ids if theirs are taken, and the edges
// between them. Strings in the nodes that refer to each other as steps are updated.
export const paste = guarded((c: Canvas, layout: Layout, text: string, at?: Point): Outcome => {
  const {shape} = c
  const from = readCopied(shape, text)
  if ('why' in from)
    return no('S0-1', `What is in the clipboard is no part of a ${shape.format} document: ${from.why}.`)
  const taken = new Set(c.nodes.map(n => n.id))
  const hasStart = c.nodes.some(n => n.kind === 'start')
  const nodes = [...from.byID.values()].filter(n => n.kind !== null && !(n.kind === 'start' && hasStart))
  if (nodes.length === 0) {
    const only = from.nodes.some(n => n.kind === 'start')
    return only
      ? no('S0-3', 'A workflow has exactly one start node, which is there already.')
      : no('S0-1', 'There is no node in the clipboard.')
  }
  const ids = new Map<string, string>()
  for (const n of nodes) {
    const id = freshID(taken, n.id)
    taken.add(id)
    ids.set(n.id, id)
  }
  const places = placesOf(
    nodes.map(n => n.at ?? {x: 0, y: 0}),
    at,
  )
  const moved: Record<string, Point> = {...layout}
  const e = new JSONEdit(c.text)
  const brought = broughtAgents(c, from, nodes.map(agentOf))
  const texts = nodes.map((n, i) => {
    const own = new JSONEdit(text.slice(n.range.from, n.range.to))
    for (const key of ['position', 'x', 'y', 'positionAbsolute', 'selected', 'dragging']) own.remove([key])
    own.set(['id'], ids.get(n.id))
    moved[ids.get(n.id)!] = places[i]!
    own.setAll(references(own.root, ids))
    const agent = brought.ids.get(agentOf(n))
    if (agent !== undefined) own.set([n.dataKey, 'agentId'], agent)
    return new Raw(own.text)
  })
  const links = from.edges
    .filter(l => ids.has(l.from) && ids.has(l.to))
    .map(l => {
      const own = new JSONEdit(text.slice(l.range.from, l.range.to))
      own.setAll([
        [[l.fromKey], ids.get(l.from)],
        [[l.toKey], ids.get(l.to)],
      ])
      own.remove(['id'])
      return new Raw(own.text)
    })
  if (brought.agents.length > 0) append(e, ['agents'], ...brought.agents)
  append(e, shape.nodes, ...texts)
  if (links.length > 0) append(e, shape.edges, ...links)
  return {
    label: nodes.length === 1 ? `paste ${ids.get(nodes[0]!.id)}` : `paste ${nodes.length} nodes`,
    changes: e.changes(),
    layout: moved,
    select: [...ids.values()],
  }
})

function placesOf(points: readonly Point[], at?: Point): Point[] {
  if (!at) return points.map(p => ({x: p.x + step, y: p.y + step}))
  const left = Math.min(...points.map(p => p.x))
  const top = Math.min(...points.map(p => p.y))
  return points.map(p => ({x: p.x - left + at.x, y: p.y - top + at.y}))
}

// duplicate copies nodes and places the copies next to them.
export const duplicate = (c: Canvas, layout: Layout, nodes: readonly number[]): Outcome =>
  paste(c, layout, copyText(c, layout, nodes))
