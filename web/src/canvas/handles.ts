import type {NodeHandle, Position} from '@xyflow/react'
import {type Canvas, type CanvasNode, handlesOf, subagent} from './document.ts'
import {sizeOf} from './places.ts'

// The sizes of what edges are led to and from, as Flow.module.css has them.
const [inLong, inShort, outSize] = [26, 9, 11]

// waysOf gives the ways out of a node that its lower edge shows, in order; strays are those of edges that it does not have.
export const waysOf = (n: CanvasNode, strays: readonly string[]): string[] => [
  ...handlesOf(n).filter(h => h !== subagent),
  ...strays,
]

// straysOf gives the ways out that edges name and their nodes do not have, by the ids of the nodes.
export function straysOf(c: Canvas): Map<string, Set<string>> {
  const strays = new Map<string, Set<string>>()
  for (const e of c.edges) {
    const from = c.byID.get(e.from)
    if (!from || (e.sub && from.kind === 'agent')) continue
    if (!waysOf(from, []).includes(e.port)) strays.set(e.from, (strays.get(e.from) ?? new Set()).add(e.port))
  }
  return strays
}

// handlePlaces gives the places where edges meet a node. They are given, so that edges are drawn with the nodes and not after these were measured, and follow a change at once.
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
