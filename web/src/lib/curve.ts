// curveOf formats a route as an SVG path: between two points, a curve starts and ends vertically;
// the four points of an edge to its own node are those of a single curve.
export function curveOf(points: readonly {x: number; y: number}[], self: boolean): string {
  const [first, ...rest] = points
  if (!first) return ''
  if (self && points.length === 4) return `M ${first.x} ${first.y} C ${rest.map(p => `${p.x} ${p.y}`).join(' ')}`
  let path = `M ${first.x} ${first.y}`
  for (const [i, {x, y}] of rest.entries()) {
    const from = points[i]!
    const middle = Math.round((from.y + y) * 5) / 10
    path += from.x === x ? ` L ${x} ${y}` : ` C ${from.x} ${middle} ${x} ${middle} ${x} ${y}`
  }
  return path
}
