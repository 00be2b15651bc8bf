import type {NodeHandle, Position} from '@xyflow/react'
import {type Canvas, type CanvasNode, handlesOf, subagent} from './document.ts'
import {sizeOf} from './places.ts'

// The sizes of the handles, as in Flow.module.css.
const [inLong, inShort, outSize] = [26, 9, 11]

// waysOf returns the outputs of a node that its lower edge shows, in order; strays are the outputs
// of edges that the node does not have.
export const waysOf = (n: CanvasNode, strays: readonly string[]): string[] => [
  ...handlesOf(n).filter(h => h !== subagent),
  ...strays,
]

// straysOf returns the outputs that edges name and their nodes do not have, by node id.
export function straysOf(c: Canvas): Map<string, Set<string>> {
  const strays = new Map<string, Set<string>>()
  for (const e of c.edges) {
    const from = c.byID.get(e.from)
    if (!from || (e.sub && from.kind === 'agent')) continue
    if (!waysOf(from, []).includes(e.port)) strays.set(e.from, (strays.get(e.from) ?? new Set()).add(e.port))
  }
  return strays
}

// handlePlaces returns the positions where edges meet a node. They are computed, so that edges are
// drawn with the nodes and not after measuring them, and follow a change immediately.
export function handlePlaces(n: CanvasNode, strays: readonly string[], across: boolean): NodeHandle[] {
  const {width, height} = sizeOf(n)
  const at = (
    type: 'source' | 'target',
    id: string,
    side: string,
    part: number,
    along: number,
    through: number,
  ): NodeHandle => {
    const level = side === 'top' || side === 'bottom'
    const [w, h] = level ? [along, through] : [through, along]
    const [x, y] = level ? [width * part, side === 'top' ? 0 : height] : [side === 'left' ? 0 : width, height * part]
    return {type, id, position: side as Position, x: x - w / 2, y: y - h / 2, width: w, height: h}
  }
  const [before, after] = across ? ['left', 'right'] : ['top', 'bottom']
  const [beside, aside] = across ? ['top', 'bottom'] : ['left', 'right']
  const ways = waysOf(n, strays)
  const asks = n.kind === 'agent' && n.format === 'canvas'
  return [
    at('target', 'input', before!, 0.5, inLong, inShort),
    ...(asks ? [at('target', 'asked', beside!, 0.5, inLong, inShort)] : []),
    ...ways.map((h, i) => at('source', h, after!, (i + 0.5) / ways.length, outSize, outSize)),
    ...(asks ? [at('source', subagent, aside!, 0.5, outSize, outSize)] : []),
  ]
}
