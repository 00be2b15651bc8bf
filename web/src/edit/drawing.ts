import {curveOf} from '../lib/curve.ts'
import type {Check, Drawing} from './check.ts'

export type DrawnNode = NonNullable<Drawing['nodes']>[number]
export type DrawnEdge = NonNullable<Drawing['edges']>[number]

// nodeAt returns the innermost node whose text contains an offset, or null if there is none.
export function nodeAt(nodes: readonly DrawnNode[], offset: number): DrawnNode | null {
  let best: DrawnNode | null = null
  let size = Number.POSITIVE_INFINITY
  for (const n of nodes) {
    if (!n.span || offset < n.span.start.offset || offset > n.span.end.offset) continue
    const length = n.span.end.offset - n.span.start.offset
    // Of several nodes with the same text, the last one is shown, because frames come before their
    // contents.
    if (length <= size) {
      best = n
      size = length
    }
  }
  return best
}

// worstOf returns the most severe problem of each node, by its id in events.
export function worstOf(check: Check): Map<string, 'error' | 'warning'> {
  const out = new Map<string, 'error' | 'warning'>()
  for (const p of check.problems) {
    if (!p.node || p.branch !== check.branch || p.severity === 'info') continue
    if (p.severity === 'error' || !out.has(p.node)) out.set(p.node, p.severity)
  }
  return out
}

// sameNode reports whether two nodes are drawn alike. Their positions in the text may differ.
export const sameNode = (a: DrawnNode, b: DrawnNode): boolean =>
  a.x === b.x &&
  a.y === b.y &&
  a.width === b.width &&
  a.height === b.height &&
  a.kind === b.kind &&
  a.hidden === b.hidden &&
  a.node === b.node &&
  a.title === b.title &&
  a.word === b.word &&
  (a.span === null) === (b.span === null)

export const pathOf = (e: DrawnEdge): string => curveOf(e.points ?? [], e.from === e.to)

// sameEdge reports whether two edges are drawn alike.
export const sameEdge = (a: DrawnEdge, b: DrawnEdge): boolean =>
  a.kind === b.kind &&
  a.back === b.back &&
  a.fails === b.fails &&
  a.label === b.label &&
  a.labelX === b.labelX &&
  a.labelY === b.labelY &&
  pathOf(a) === pathOf(b)
