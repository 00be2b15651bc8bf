import {type Canvas, type CanvasEdge, handlesOf} from './document.ts'
import type {Link, Refusal} from './rules.ts'

// roundsRefusal tells why a link may not be drawn in a graph of a rounds document; null: it may. without is the index of an edge that the link replaces.
export function roundsRefusal(c: Canvas, link: Link, without: number): Refusal | null {
  const from = c.byID.get(link.from)
  if (!from) return {rule: 'S1-5', reason: `Edge source "${link.from}" not found: the edge is never followed.`}
  if (!c.byID.has(link.to)) return {rule: 'S1-5', reason: `Edge target "${link.to}" not found: the edge is never followed.`}
  const handles = handlesOf(from)
  if (!handles.includes(link.handle))
    return {rule: 'X-131', reason: `An edge from "${from.id}" by the handle "${link.handle}" is never followed; the handles are ${handles.join(', ')}.`}
  const edges = c.edges.filter(e => e.index !== without)
  const first = firstOf(c, edges, link.from, link.handle)
  if (first) {
    const by = handles.length > 1 ? ` by the handle ${link.handle}` : ''
    if (first.to === link.to) return {rule: 'S1-4', reason: `"${link.from}" leads to "${link.to}"${by} already.`}
    return {rule: 'S1-4', reason: `Only the first edge that leaves "${link.from}"${by} is followed, and it leads to "${first.to}".`, fix: 'instead'}
  }
  const added = [...edges, {from: link.from, to: link.to, port: link.handle} as CanvasEdge]
  const cycle = c.maxRounds > 0 || cycleOf(c, edges) ? null : cycleOf(c, added)
  if (cycle) return {rule: 'S1-12', reason: `The cycle ${shortened(cycle).join(' -> ')} never ends: maxRounds must be a positive number.`, fix: 'rounds'}
  return null
}

// firstOf gives the edge that is followed where a node goes on by a handle.
export const firstOf = (c: Canvas, edges: readonly CanvasEdge[], from: string, handle: string): CanvasEdge | undefined =>
  edges.find(e => e.from === from && e.port === handle && c.byID.has(e.to))

// cycleOf gives the first cycle that a run can come to, from its first node and back to it; null: there is none.
function cycleOf(c: Canvas, edges: readonly CanvasEdge[]): string[] | null {
  const next = new Map<string, Map<string, string>>()
  for (const e of edges) {
    if (!c.byID.has(e.from) || !c.byID.has(e.to)) continue
    const ways = next.get(e.from) ?? new Map<string, string>()
    if (!ways.has(e.port)) ways.set(e.port, e.to)
    next.set(e.from, ways)
  }
  const start = c.nodes[0]?.id
  if (start === undefined) return null
  const done = new Set<string>()
  const path: string[] = []
  const open: string[][] = []
  const enter = (id: string) => {
    path.push(id)
    open.push([...(next.get(id)?.values() ?? [])])
  }
  enter(start)
  while (path.length > 0) {
    const to = open.at(-1)!.shift()
    if (to === undefined) {
      done.add(path.pop()!)
      open.pop()
    } else if (path.includes(to)) return [...path.slice(path.indexOf(to)), to]
    else if (!done.has(to)) enter(to)
  }
  return null
}

const most = 12

const shortened = (ids: string[]): string[] => (ids.length > most ? [...ids.slice(0, most - 2), '…', ids.at(-1)!] : ids)
