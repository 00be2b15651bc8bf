import type {Step} from './types.ts'

// Bar is a step over time, or several steps of a lane that are too narrow to be distinguished: then
// count is more than one, and step is the first of them that failed, else the first.
export type Bar = {step: Step; lane: number; from: number; to: number; count: number}
export type Gap = {at: number; ms: number}
// place returns the position of a time; gaps are collapsed.
export type Axis = {bars: Bar[]; gaps: Gap[]; width: number; lanes: string[]; place: (t: number) => number}

// idle is the duration from which time in which nothing works is collapsed to a mark.
const idle = 2000
const fold = 400

// axisOf places steps on a time axis. Idle time is collapsed, so that it does not squeeze the rest;
// lanes are nodes.
export function axisOf(steps: Step[], now: number): Axis {
  const spans = steps
    .filter(s => s.status !== 'skipped')
    .map(s => {
      const from = Date.parse(s.startedAt)
      return {step: s, from, to: s.durationMs === null ? Math.max(now, from) : from + s.durationMs}
    })
  if (spans.length === 0) return {bars: [], gaps: [], width: 1, lanes: [], place: () => 0}
  const begin = Math.min(...spans.map(s => s.from))
  const end = Math.max(...spans.map(s => s.to))
  const busy = spans
    .filter(
      s =>
        s.step.kind !== 'approval' &&
        s.step.kind !== 'human' &&
        s.step.kind !== 'ask' &&
        s.step.kind !== 'sleep' &&
        s.step.kind !== 'signal',
    )
    .sort((a, b) => a.from - b.from)
  const gaps: {from: number; to: number}[] = []
  let until = begin
  for (const s of [...busy, {from: end, to: end}]) {
    if (s.from - until > idle) gaps.push({from: until, to: s.from})
    until = Math.max(until, s.to)
  }
  const place = (t: number): number => {
    let at = t - begin
    for (const g of gaps)
      if (t > g.from)
        at -= Math.max(0, Math.min(t, g.to) - g.from) - Math.min(1, Math.max(0, (t - g.from) / (g.to - g.from))) * fold
    return at
  }
  const lanes: string[] = []
  const index = new Map<string, number>()
  const bars = spans.map(s => {
    const lane = index.get(s.step.node) ?? lanes.push(s.step.node) - 1
    index.set(s.step.node, lane)
    return {step: s.step, lane, from: place(s.from), to: place(s.to), count: 1}
  })
  const width = Math.max(1, place(end))
  return {
    bars: merged(bars, lanes.length, width),
    lanes,
    gaps: gaps.map(g => ({at: place(g.from), ms: g.to - g.from})),
    width,
    place,
  }
}

// crowded is the number of bars from which a lane joins bars that are closer than a fraction of the
// width.
const crowded = 60
const close = 1 / 400

function merged(bars: Bar[], lanes: number, width: number): Bar[] {
  const of: Bar[][] = Array.from({length: lanes}, () => [])
  for (const b of bars) of[b.lane]!.push(b)
  return of.flatMap(lane => {
    if (lane.length < crowded) return lane
    const out: Bar[] = []
    for (const b of lane.sort((x, y) => x.from - y.from)) {
      const last = out.at(-1)
      if (!last || b.from - last.to > width * close) out.push({...b})
      else {
        last.to = Math.max(last.to, b.to)
        last.count++
        if (b.step.status === 'failed' && last.step.status !== 'failed') last.step = b.step
      }
    }
    return out
  })
}
