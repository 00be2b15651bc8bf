import type {Step} from './types.ts'

export type Bar = {step: Step; lane: number; from: number; to: number}
export type Gap = {at: number; ms: number}
export type Axis = {bars: Bar[]; gaps: Gap[]; width: number; lanes: string[]}

// idle is from when on a time in which nothing is at work but waits is folded to a mark.
const idle = 2000
const fold = 400

// axisOf places steps in time. Idle time is folded, so that it does not squeeze the rest; lanes are nodes.
export function axisOf(steps: Step[], now: number): Axis {
  const spans = steps
    .filter(s => s.status !== 'skipped')
    .map(s => {
      const from = Date.parse(s.startedAt)
      return {step: s, from, to: s.durationMs === null ? Math.max(now, from) : from + s.durationMs}
    })
  if (spans.length === 0) return {bars: [], gaps: [], width: 1, lanes: []}
  const begin = Math.min(...spans.map(s => s.from))
  const end = Math.max(...spans.map(s => s.to))
  const busy = spans
    .filter(s => s.step.kind !== 'approval' && s.step.kind !== 'human' && s.step.kind !== 'ask' && s.step.kind !== 'sleep' && s.step.kind !== 'signal')
    .sort((a, b) => a.from - b.from)
  const gaps: {from: number; to: number}[] = []
  let until = begin
  for (const s of [...busy, {from: end, to: end}]) {
    if (s.from - until > idle) gaps.push({from: until, to: s.from})
    until = Math.max(until, s.to)
  }
  const place = (t: number): number => {
    let at = t - begin
    for (const g of gaps) if (t > g.from) at -= Math.max(0, Math.min(t, g.to) - g.from) - Math.min(1, Math.max(0, (t - g.from) / (g.to - g.from))) * fold
    return at
  }
  const lanes: string[] = []
  const bars = spans.map(s => {
    let lane = lanes.indexOf(s.step.node)
    if (lane < 0) lane = lanes.push(s.step.node) - 1
    return {step: s.step, lane, from: place(s.from), to: place(s.to)}
  })
  return {bars, lanes, gaps: gaps.map(g => ({at: place(g.from), ms: g.to - g.from})), width: Math.max(1, place(end))}
}
