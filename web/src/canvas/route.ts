import type {Point} from './document.ts'

export type Box = Point & {width: number; height: number}

const gap = 28

// sideOf returns the coordinate next to which an edge is routed so that it crosses no node, or null
// if the straight path is free. Edges that lead back are routed on the left, the others on the
// right.
export function sideOf(from: Box, fromX: number, to: Box, boxes: readonly Box[]): number | null {
  const [start, end] = [from.y + from.height, to.y]
  const back = end < start
  const [top, bottom] = back ? [to.y, start] : [start, end]
  const toX = to.x + to.width / 2
  const [left, right] = [Math.min(fromX, toX), Math.max(fromX, toX)]
  const between = boxes.filter(b => b.y < bottom && b.y + b.height > top && (back || (b !== from && b !== to)))
  if (!back && !between.some(b => b.x < right + 4 && b.x + b.width > left - 4)) return null
  return back
    ? Math.min(...between.map(b => b.x), left) - gap
    : Math.max(...between.filter(b => b.x < right + 400).map(b => b.x + b.width), right) + gap
}

// around returns the path of an edge that is routed around nodes: down, aside, along, back and
// down, with rounded corners.
export function around(
  sourceX: number,
  sourceY: number,
  targetX: number,
  targetY: number,
  side: number,
  turned = false,
): {path: string; label: Point} {
  if (turned) return turnedAround(sourceX, sourceY, targetX, targetY, side)
  const points = pointsAround(sourceX, sourceY, targetX, targetY, side)
  return {path: rounded(points), label: {x: side, y: (sourceY + targetY) / 2}}
}

// turnedAround is around for a drawing from left to right.
function turnedAround(
  sourceX: number,
  sourceY: number,
  targetX: number,
  targetY: number,
  side: number,
): {path: string; label: Point} {
  const points = pointsAround(sourceY, sourceX, targetY, targetX, side).map(p => ({x: p.y, y: p.x}))
  return {path: rounded(points), label: {x: (sourceX + targetX) / 2, y: side}}
}

// turned returns a box with its axes swapped.
export const turned = (b: Box): Box => ({x: b.y, y: b.x, width: b.height, height: b.width})

function pointsAround(sourceX: number, sourceY: number, targetX: number, targetY: number, side: number): Point[] {
  return [
    {x: sourceX, y: sourceY},
    {x: sourceX, y: sourceY + gap / 2},
    {x: side, y: sourceY + gap / 2},
    {x: side, y: targetY - gap / 2},
    {x: targetX, y: targetY - gap / 2},
    {x: targetX, y: targetY},
  ]
}

function rounded(points: readonly Point[]): string {
  const most = 6
  let out = `M ${points[0]!.x},${points[0]!.y}`
  for (let i = 1; i < points.length - 1; i++) {
    const [a, b, c] = [points[i - 1]!, points[i]!, points[i + 1]!]
    const r = Math.min(most, Math.hypot(b.x - a.x, b.y - a.y) / 2, Math.hypot(c.x - b.x, c.y - b.y) / 2)
    const near = (p: Point): Point => {
      const d = Math.hypot(p.x - b.x, p.y - b.y) || 1
      return {x: b.x + ((p.x - b.x) / d) * r, y: b.y + ((p.y - b.y) / d) * r}
    }
    const [p, q] = [near(a), near(c)]
    out += ` L ${p.x},${p.y} Q ${b.x},${b.y} ${q.x},${q.y}`
  }
  return `${out} L ${points.at(-1)!.x},${points.at(-1)!.y}`
}
