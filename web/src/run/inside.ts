import type {Failure, RunEvent, Step} from './types.ts'

// Child is a run that a step's call started.
export type Child = {step: number; call: string; run: string; ended: boolean}

// childrenOf lists the child runs of a run, in order; a repeated call continues with its run.
export function childrenOf(events: readonly RunEvent[]): Child[] {
  const all = new Map<string, Child>()
  for (const e of events) {
    const run = String(e.data.run ?? '')
    if (e.type === 'child.started' && run)
      all.set(run, {step: e.step ?? 0, call: String(e.data.call ?? ''), run, ended: false})
    else if (e.type === 'call.used' && e.data.ended === true && all.has(run)) all.get(run)!.ended = true
  }
  return [...all.values()]
}

// Sub is one call of a sub-agent.
export type Sub = {
  step: number
  frame: number
  parent: number
  depth: number
  agent: string
  input: unknown
  output: unknown
  error: Failure | null
  status: 'running' | 'completed' | 'failed'
}

// subagentsOf lists the sub-agent calls of a run, each below its caller.
export function subagentsOf(events: readonly RunEvent[], step?: number): Sub[] {
  const all = new Map<string, Sub>()
  for (const e of events) {
    if (!e.type.startsWith('subagent.') || (step !== undefined && e.step !== step)) continue
    const d = e.data
    const key = `${e.step} ${d.frame}`
    if (e.type === 'subagent.started') {
      const [frame, parent] = [Number(d.frame ?? 0), Number(d.parent ?? 0)]
      all.set(key, {
        step: e.step ?? 0,
        frame,
        parent,
        depth: Number(d.depth ?? 1),
        agent: String(d.agent ?? ''),
        input: d.input,
        output: null,
        error: null,
        status: 'running',
      })
      continue
    }
    const sub = all.get(key)
    if (!sub) continue
    sub.status = e.type === 'subagent.completed' ? 'completed' : 'failed'
    sub.output = d.output ?? null
    sub.error = (d.error as Failure | undefined) ?? null
  }
  return [...all.values()]
}

// Attempt is one attempt of a step or of a call in it: its start and end, and why it was not the
// last.
export type Attempt = {attempt: number; from: number; to: number; waits: boolean; code: string}

// attemptsOf returns the attempts of a step over time, with the pauses between them. It returns
// none if there was one attempt.
export function attemptsOf(events: readonly RunEvent[], step: Step, now: number): Attempt[] {
  const begin = Date.parse(step.startedAt)
  const end = step.durationMs === null ? Math.max(now, begin) : begin + step.durationMs
  const out: Attempt[] = []
  let from = begin
  let attempt = 1
  for (const e of events) {
    if (e.step !== step.seq || e.type !== 'step.retrying') continue
    const at = Date.parse(e.time)
    const until = Math.min(Math.max(Date.parse(String(e.data.until ?? e.time)) || at, at), end)
    out.push({attempt, from, to: at, waits: false, code: String((e.data.error as Failure | undefined)?.code ?? '')})
    if (until > at) out.push({attempt, from: at, to: until, waits: true, code: ''})
    attempt = Number(e.data.attempt ?? attempt + 1)
    from = until
  }
  if (out.length > 0) out.push({attempt, from, to: end, waits: false, code: ''})
  return out
}

// iterationsOf returns the executions of a step's node, in order: the iterations of loops, or the
// executions for the same map item.
export const iterationsOf = (steps: readonly Step[], step: Step): Step[] =>
  steps.filter(s => s.node === step.node && s.item === step.item && s.map === step.map)

export type MapItem = {item: number; status: Step['status'] | 'pending'; steps: Step[]; durationMs: number | null}

// itemsOf returns the items of a map with their steps. The last step of an item determines its
// state.
export function itemsOf(steps: readonly Step[], map: Step): MapItem[] {
  const of = new Map<number, Step[]>()
  for (const s of steps) {
    if (s.map !== map.seq || s.item === undefined) continue
    const list = of.get(s.item)
    if (list) list.push(s)
    else of.set(s.item, [s])
  }
  const total = [...of.keys()].reduce((n, i) => Math.max(n, i + 1), map.items?.total ?? 0)
  return Array.from({length: total}, (_, item) => {
    const own = of.get(item) ?? []
    const failed = own.findLast(s => s.status === 'failed')
    const last = failed ?? own.findLast(s => s.status === 'running' || s.status === 'waiting') ?? own.at(-1)
    const known = own.filter(s => s.durationMs !== null)
    return {
      item,
      steps: own,
      status: last?.status ?? 'pending',
      durationMs: known.length > 0 ? known.reduce((n, s) => n + (s.durationMs ?? 0), 0) : null,
    }
  })
}

export type Heat = 'time' | 'tokens' | 'money'
export const heats: readonly Heat[] = ['time', 'tokens', 'money']

const measures: Record<Heat, (s: Step) => number> = {
  time: s => s.durationMs ?? 0,
  tokens: s => s.usage.inputTokens + s.usage.outputTokens,
  money: s => s.usage.costUSD ?? 0,
}

// heatOf sums a measure by node, over all executions, and returns its fraction of the largest sum.
// Waits are not work, so the time of people is left out.
export function heatOf(steps: readonly Step[], by: Heat): Map<string, {sum: number; part: number}> {
  const sums = new Map<string, number>()
  for (const s of steps) {
    if (by === 'time' && /^(approval|human|ask|signal|sleep|wait|parallel|map|subgraph)$/.test(s.kind)) continue
    sums.set(s.node, (sums.get(s.node) ?? 0) + measures[by](s))
  }
  const most = [...sums.values()].reduce((a, b) => Math.max(a, b), 0)
  return new Map([...sums].map(([node, sum]) => [node, {sum, part: most > 0 ? sum / most : 0}]))
}
