import {own} from '../lib/own.ts'
import {layoutOf} from '../run/layout.ts'
import type {Definition} from '../run/types.ts'
import {type Canvas, type CanvasNode, handlesOf, type Point, parentsOf, subagent} from './document.ts'
import type {Layout} from './operations.ts'

export const nodeWidth = 208
export const nodeHeight = 62
const portWidth = 78
const gapX = 72
const gapY = 64

// keyOf identifies a node among all drawn nodes: by its id, or by its index in the document if the
// id is missing or already used.
export const keyOf = (c: Canvas, n: CanvasNode): string => (c.byID.get(n.id) === n ? n.id : `#${n.index}`)

// sizeOf returns the size of a node: a node with several outputs is wider, and has a row with their
// names.
export function sizeOf(n: CanvasNode): {width: number; height: number} {
  const ways = handlesOf(n).filter(h => h !== subagent).length
  return {width: Math.max(nodeWidth, ways > 1 ? ways * portWidth : 0), height: nodeHeight + (ways > 1 ? 22 : 0)}
}

// Way is the direction of edges: documents of other editors are often drawn from left to right.
export type Way = 'down' | 'right'

// wayOf returns the direction of most edges of a drawing.
export function wayOf(c: Canvas, places: ReadonlyMap<string, Point>): Way {
  let [across, along] = [0, 0]
  for (const e of c.edges) {
    const [from, to] = [places.get(e.from), places.get(e.to)]
    if (!from || !to || e.sub) continue
    across += Math.max(0, to.x - from.x)
    along += Math.max(0, to.y - from.y)
  }
  return across > along ? 'right' : 'down'
}

// spread returns the factor by which the positions of a document are spread: nodes of other editors
// are smaller.
function spread(c: Canvas): number {
  const boxes = c.nodes.flatMap(n => (n.at ? [{...n.at, ...sizeOf(n)}] : [])).sort((a, b) => a.y - b.y)
  const free = (by: number) =>
    boxes.every((a, i) => {
      // The later boxes are in order, so the first one that is far enough below ends the search.
      for (let j = i + 1; j < boxes.length; j++) {
        const b = boxes[j]!
        if ((b.y - a.y) * by >= a.height + 16) return true
        if (Math.abs(a.x - b.x) * by < (a.x < b.x ? a.width : b.width) + 24) return false
      }
      return true
    })
  return [1, 1.25, 1.5, 2].find(free) ?? 1
}

// placesOf returns a position for each node: where it was moved, else the position in the document,
// else a free position according to its edges.
export function placesOf(c: Canvas, layout: Layout): Map<string, Point> {
  const out = new Map<string, Point>()
  const rest: CanvasNode[] = []
  const by = c.nodes.some(n => n.at && !own(layout, keyOf(c, n))) ? spread(c) : 1
  for (const n of c.nodes) {
    const key = keyOf(c, n)
    const at = own(layout, key) ?? (n.at && {x: Math.round(n.at.x * by), y: Math.round(n.at.y * by)})
    if (at) out.set(key, at)
    else rest.push(n)
  }
  if (rest.length === 0) return out
  const drawn = arranged(c)
  // Nodes without a position are placed below those that have one.
  const below = out.size === 0 ? 0 : Math.max(...[...out.values()].map(p => p.y)) + nodeHeight + gapY
  const left = out.size === 0 ? 0 : Math.min(...[...out.values()].map(p => p.x))
  const top = Math.min(...rest.map(n => drawn.get(keyOf(c, n))!.y))
  for (const n of rest) {
    const at = drawn.get(keyOf(c, n))!
    out.set(keyOf(c, n), out.size === 0 && below === 0 ? at : {x: left + at.x, y: below + at.y - (below > 0 ? top : 0)})
  }
  return out
}

// arranged lays out all nodes again, in layers from top to bottom, with sub-agents to the right of
// the agents that ask them.
export function arranged(c: Canvas): Map<string, Point> {
  const parents = parentsOf(c)
  const asked = new Map(c.nodes.map(n => [keyOf(c, n), parents.get(n.id) ?? null]))
  const top = c.nodes.filter(n => asked.get(keyOf(c, n)) === null)
  const def = {
    entry: (c.shape.format === 'rounds' ? c.nodes[0] : top.find(n => n.kind === 'start'))?.id ?? '',
    nodes: top.map(n => ({id: keyOf(c, n), kind: n.kind ?? ''})),
    edges: c.edges.filter(
      e => !e.sub && c.byID.has(e.from) && c.byID.has(e.to) && asked.get(e.from) === null && asked.get(e.to) === null,
    ),
  } as unknown as Definition
  const {boxes} = layoutOf(def)
  const rows = new Map<number, string[]>()
  for (const b of [...boxes].sort((p, q) => p.x - q.x)) rows.set(b.y, [...(rows.get(b.y) ?? []), b.id])
  const byKey = new Map(c.nodes.map(n => [keyOf(c, n), n]))
  const helpers = new Map<string, string[]>()
  for (const [key, parent] of asked) if (parent !== null) helpers.set(parent, [...(helpers.get(parent) ?? []), key])
  const done = new Map<string, Point>()
  let y = 0
  for (const [, row] of [...rows].sort(([a], [b]) => a - b)) {
    const widths = row.map(id => blockWidth(id, byKey, helpers, new Set()))
    let x = -(widths.reduce((a, b) => a + b, 0) + gapX * (row.length - 1)) / 2
    let deepest = 0
    for (const [i, id] of row.entries()) {
      deepest = Math.max(deepest, put(id, x, y, byKey, helpers, done))
      x += widths[i]! + gapX
    }
    y = deepest + gapY
  }
  // Cycles of sub-agents have no position yet.
  for (const n of c.nodes) {
    const key = keyOf(c, n)
    if (done.has(key)) continue
    done.set(key, {x: 0, y})
    y += sizeOf(n).height + gapY
  }
  return done
}

type Nodes = Map<string, CanvasNode>

function blockWidth(id: string, byKey: Nodes, helpers: Map<string, string[]>, seen: Set<string>): number {
  if (seen.has(id)) return 0
  seen.add(id)
  const own = sizeOf(byKey.get(id)!).width
  const inner = (helpers.get(id) ?? []).map(h => blockWidth(h, byKey, helpers, seen))
  return own + (inner.length > 0 ? gapX + Math.max(...inner) : 0)
}

// put places a node with its sub-agents, and returns the lower edge of all of them.
function put(
  id: string,
  x: number,
  y: number,
  byKey: Nodes,
  helpers: Map<string, string[]>,
  done: Map<string, Point>,
): number {
  if (done.has(id)) return y
  done.set(id, {x: Math.round(x), y: Math.round(y)})
  const {width, height} = sizeOf(byKey.get(id)!)
  let at = y
  for (const h of helpers.get(id) ?? []) at = put(h, x + width + gapX, at, byKey, helpers, done) + 16
  return Math.max(y + height, at - 16)
}

export type Direction = 'up' | 'down' | 'left' | 'right'

// neighbour returns the node that an arrow key leads to: along an edge in that direction if there
// is one, else the nearest node on that side.
export function neighbour(c: Canvas, places: ReadonlyMap<string, Point>, from: string, way: Direction): string | null {
  const at = places.get(from)
  if (!at) return null
  const [after, before] = [
    new Set(c.edges.filter(e => e.from === from).map(e => e.to)),
    new Set(c.edges.filter(e => e.to === from).map(e => e.from)),
  ]
  const [near, other] = way === 'down' || way === 'right' ? [after, before] : [before, after]
  const along = (p: Point): {ahead: number; beside: number} => {
    const [dx, dy] = [p.x - at.x, p.y - at.y]
    if (way === 'down') return {ahead: dy, beside: Math.abs(dx)}
    if (way === 'up') return {ahead: -dy, beside: Math.abs(dx)}
    return way === 'right' ? {ahead: dx, beside: Math.abs(dy)} : {ahead: -dx, beside: Math.abs(dy)}
  }
  let best: string | null = null
  let least = Number.POSITIVE_INFINITY
  for (const [key, p] of places) {
    const {ahead, beside} = along(p)
    if (key === from || ahead <= 0) continue
    const linked = near.has(key) || other.has(key)
    if (beside > ahead * (linked ? 4 : 1.5)) continue
    const cost = ahead + beside * 2 + (near.has(key) ? 0 : other.has(key) ? 1e6 : 2e6)
    if (cost < least) [least, best] = [cost, key]
  }
  return best
}

// Row is a node of the outline. under is the output that leads to it, and from is the node with
// that output, or null if the node is unreachable.
export type Row = {key: string; level: number; under: string; from: string | null}

// outline returns the nodes as a tree for lists: each once, behind the node that first leads to it;
// sub-agents are below the agents that ask them, and unreachable nodes are at the end.
export function outline(c: Canvas): Row[] {
  const rows: Row[] = []
  const seen = new Set<string>()
  const next = new Map<string, {to: string; by: string}[]>()
  const led = new Set<string>()
  for (const e of c.edges) {
    if (e.from !== e.to) led.add(e.to)
    if (!c.byID.has(e.to)) continue
    const ways = next.get(e.from)
    const way = {to: e.to, by: e.sub ? subagent : e.port}
    if (ways) ways.push(way)
    else next.set(e.from, [way])
  }
  const roots = [
    ...c.nodes.filter((n, i) => (c.shape.format === 'rounds' ? i === 0 : n.kind === 'start')),
    ...c.nodes.filter(n => n.kind !== 'start' && !led.has(n.id)),
    ...c.nodes,
  ]
  for (const root of roots) {
    const stack: Row[] = [{key: keyOf(c, root), level: 1, under: '', from: null}]
    for (let row = stack.pop(); row; row = stack.pop()) {
      if (seen.has(row.key)) continue
      seen.add(row.key)
      rows.push(row)
      const ways = next.get(row.key) ?? []
      // Only branches and sub-agents add a level: a sequence of nodes is not nested.
      const forks = ways.filter(w => w.by !== subagent).length > 1
      for (const w of [...ways].reverse())
        stack.push({key: w.to, level: row.level + (forks || w.by === subagent ? 1 : 0), under: w.by, from: row.key})
    }
  }
  return rows
}

// siblingsOf returns the position of each row, from 1, among the rows of its level below the same
// row, and the number of these rows.
export function siblingsOf(rows: readonly {level: number}[]): {at: number; of: number}[] {
  const out: {at: number; of: number}[] = []
  const open: {at: number; of: number}[][] = [] // groups by level that can still grow
  const end = (from: number) => {
    for (const all of open.splice(from)) for (const one of all ?? []) one.of = all.length
  }
  for (const {level} of rows) {
    end(level + 1)
    open[level] ??= []
    const one = {at: open[level].length + 1, of: 0}
    open[level].push(one)
    out.push(one)
  }
  end(0)
  return out
}
