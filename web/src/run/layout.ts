import {conditionWord} from '../lib/ports.ts'
import type {Definition} from './types.ts'

export type Box = {id: string; x: number; y: number; width: number; height: number}
// Link represents the paths between two visible nodes: each path is a list of edges through hidden
// nodes.
export type Link = {from: string; to: string; paths: number[][]; label: string; back: boolean}
export type Layout = {boxes: Box[]; links: Link[]}

export const boxWidth = 196
export const boxHeight = 60
const gapX = 40
const gapY = 56

// linksOf returns the edges between visible nodes. A path through hidden nodes is one link.
export function linksOf(def: Definition): Link[] {
  const hidden = new Set(def.nodes.filter(n => n.hidden).map(n => n.id))
  const from = new Map<string, number[]>()
  for (const [i, e] of def.edges.entries()) from.set(e.from, [...(from.get(e.from) ?? []), i])
  const links = new Map<string, Link>()
  const walk = (source: string, at: number, path: number[], label: string, loop: boolean) => {
    const e = def.edges[at]!
    if (path.includes(at)) return
    const on = [...path, at]
    const named = label || e.label || (e.port && e.port !== 'out' ? (conditionWord(e.port) ?? e.port) : '')
    if (hidden.has(e.to)) {
      for (const next of from.get(e.to) ?? []) walk(source, next, on, named, loop || e.loop === true)
      return
    }
    const key = `${source}\n${e.to}`
    const known = links.get(key)
    if (known) {
      known.paths.push(on)
      if (named && !known.label.split(', ').includes(named))
        known.label = known.label ? `${known.label}, ${named}` : named
    } else links.set(key, {from: source, to: e.to, paths: [on], label: named, back: loop || e.loop === true})
  }
  for (const [i, e] of def.edges.entries()) if (!hidden.has(e.from)) walk(e.from, i, [], '', false)
  for (const n of def.nodes) {
    if (n.map && !hidden.has(n.id))
      links.set(`${n.id}\n${n.map.entry}`, {from: n.id, to: n.map.entry, paths: [], label: 'for each', back: false})
  }
  return [...links.values()]
}

// timesOf returns how often a link was taken: each edge of one of its paths was taken.
export const timesOf = (l: Link, taken: Record<number, number>): number =>
  Math.max(0, ...l.paths.map(p => Math.min(...p.map(e => taken[e] ?? 0))))

// layoutOf places nodes in layers, from top to bottom: a simple layout for graphs whose positions
// the server does not provide. Edges that lead back are found by a walk from the entry.
export function layoutOf(def: Definition): Layout {
  const ids = def.nodes.filter(n => !n.hidden).map(n => n.id)
  const links = linksOf(def)
  const next = new Map<string, Link[]>()
  for (const l of links) next.set(l.from, [...(next.get(l.from) ?? []), l])
  markBack(ids, next, def.entry)
  const layer = layers(ids, links)
  const rows: string[][] = []
  for (const id of ids) {
    const at = layer.get(id) ?? 0
    while (rows.length <= at) rows.push([])
    rows[at]!.push(id)
  }
  order(rows, links)
  const widest = Math.max(...rows.map(r => r.length), 1)
  const boxes = rows.flatMap((row, y) =>
    row.map((id, i) => ({
      id,
      x: Math.round(((widest - row.length) / 2 + i) * (boxWidth + gapX)),
      y: y * (boxHeight + gapY),
      width: boxWidth,
      height: boxHeight,
    })),
  )
  return {boxes, links}
}

// markBack marks the links that lead to a node on the path to them.
function markBack(ids: string[], next: Map<string, Link[]>, entry: string): void {
  const state = new Map<string, 'open' | 'done'>()
  for (const root of [entry, ...ids]) {
    if (state.has(root)) continue
    const path: {id: string; at: number}[] = [{id: root, at: 0}]
    state.set(root, 'open')
    while (path.length > 0) {
      const top = path.at(-1)!
      const link = (next.get(top.id) ?? [])[top.at++]
      if (!link) {
        state.set(top.id, 'done')
        path.pop()
      } else if (state.get(link.to) === 'open') link.back = true
      else if (!state.has(link.to)) {
        state.set(link.to, 'open')
        path.push({id: link.to, at: 0})
      }
    }
  }
}

// layers assigns to each node the length of the longest path to it.
function layers(ids: string[], links: Link[]): Map<string, number> {
  const forward = links.filter(l => !l.back && l.from !== l.to)
  const into = new Map(ids.map(id => [id, 0]))
  const out = new Map<string, string[]>()
  for (const l of forward) {
    into.set(l.to, (into.get(l.to) ?? 0) + 1)
    out.set(l.from, [...(out.get(l.from) ?? []), l.to])
  }
  const layer = new Map<string, number>()
  const ready = ids.filter(id => into.get(id) === 0)
  for (const id of ready) layer.set(id, 0)
  for (let i = 0; i < ready.length; i++) {
    const id = ready[i]!
    for (const to of out.get(id) ?? []) {
      layer.set(to, Math.max(layer.get(to) ?? 0, layer.get(id)! + 1))
      into.set(to, into.get(to)! - 1)
      if (into.get(to) === 0) ready.push(to)
    }
  }
  return layer
}

// order sorts each row by the positions of its neighbors above, and then by those below.
function order(rows: string[][], links: Link[]): void {
  const above = new Map<string, string[]>()
  const below = new Map<string, string[]>()
  for (const l of links) {
    if (l.back) continue
    above.set(l.to, [...(above.get(l.to) ?? []), l.from])
    below.set(l.from, [...(below.get(l.from) ?? []), l.to])
  }
  const near = (row: string[], other: string[], side: Map<string, string[]>) => {
    const at = new Map(other.map((id, i) => [id, i - (other.length - 1) / 2]))
    const weight = new Map(
      row.map((id, i) => {
        const ns = (side.get(id) ?? []).flatMap(n => at.get(n) ?? [])
        return [id, ns.length > 0 ? ns.reduce((a, b) => a + b, 0) / ns.length : i - (row.length - 1) / 2]
      }),
    )
    row.sort((a, b) => weight.get(a)! - weight.get(b)!)
  }
  for (let round = 0; round < 2; round++) {
    for (let i = 1; i < rows.length; i++) near(rows[i]!, rows[i - 1]!, above)
    for (let i = rows.length - 2; i >= 0; i--) near(rows[i]!, rows[i + 1]!, below)
  }
}
