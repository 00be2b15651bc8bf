import {readdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {attemptsOf, childrenOf, heatOf, itemsOf, iterationsOf, subagentsOf} from './inside.ts'
import {Past} from './past.ts'
import {movedTo, readPlace} from './place.ts'
import {project} from './project.ts'
import {axisOf} from './timeline_axis.ts'
import type {Definition, RunEvent, RunView, Step} from './types.ts'

const folder = join(import.meta.dirname, '../../../internal/project/testdata/runs')
type Record = {
  run: string
  definition: Definition
  events: RunEvent[]
  shown: {seq: number; run: RunView; nodes: unknown[]}[]
}
const records = readdirSync(folder)
  .filter(f => f.endsWith('.json'))
  .map(f => [f, JSON.parse(readFileSync(join(folder, f), 'utf8')) as Record] as const)
const recordOf = (part: string): Record => records.find(([f]) => f.includes(part))![1]

const liveOf = (r: Record) => ({
  view: project(r.run, r.definition, r.events),
  events: r.events,
  streamed: new Map<string, string>(),
  state: 'done' as const,
  loaded: true,
  refused: null,
})

describe('P36: a run as it was', () => {
  it('is what was recorded then, at each event', () => {
    let seen = 0
    for (const [file, r] of records) {
      const live = liveOf(r)
      const kept = new Past(r.run, r.definition)
      for (const s of r.shown) {
        const past = kept.of(live, s.seq)
        expect(past.view.nodes, `${file} at ${s.seq}`).toEqual(s.nodes)
        expect(past.view.steps.map(x => [x.seq, x.status])).toEqual(s.run.steps.map(x => [x.seq, x.status]))
        expect(past.events.at(-1)?.seq).toBe(s.seq)
        seen++
      }
    }
    expect(seen).toBeGreaterThan(records.length)
  })
  it('is the live view at the last event, beyond it, and without a position', () => {
    const live = liveOf(records[0]![1])
    for (const at of [0, live.events.length, live.events.length + 9])
      expect(new Past('r', null).of(live, at)).toBe(live)
  })
})

describe('the address', () => {
  it('has tab, step, iteration and position', () => {
    expect(readPlace('tab=steps&step=4&iter=2&at=17&heat=money&q=a%20b')).toEqual({
      tab: 'steps',
      step: 4,
      iter: 2,
      at: 17,
      heat: 'money',
      q: 'a b',
    })
    expect(readPlace('step=-1&at=1e9&iter=x')).toEqual({tab: 'graph', step: 0, iter: 0, at: 0, heat: '', q: ''})
  })
  it('moves, and another step ends a comparison', () => {
    expect(movedTo('tab=steps&step=4&iter=2&at=17', {step: 5})).toBe('tab=steps&step=5&at=17')
    expect(movedTo('step=4', {iter: 1})).toBe('step=4&iter=1')
    expect(movedTo('step=4&at=3&q=x', {step: null, at: null, q: ''})).toBe('')
  })
})

describe('what is inside of steps', () => {
  it('has sub-agents below the one that called them', () => {
    const r = recordOf('s0-54-the-log-of-sub-agents-1')
    expect(subagentsOf(r.events).map(s => [s.agent, s.depth, s.parent, s.status])).toEqual([
      ['k', 1, 0, 'failed'],
      ['m', 2, 1, 'failed'],
    ])
    expect(subagentsOf(r.events, 999)).toEqual([])
  })
  it('has the runs that it started', () => {
    const r = recordOf('s1-26-branches-run-at-once')
    expect(childrenOf(r.events).map(c => [c.step, c.run, c.ended])).toEqual([
      [2, 'p.x', true],
      [3, 'p.y', true],
      [4, 'p.z', true],
    ])
  })
  it('has attempts, and the pauses between them', () => {
    const r = recordOf('s4-21-the-time-between-attempts')
    const step = project(r.run, r.definition, r.events).steps[0]!
    const all = attemptsOf(r.events, step, 0)
    expect(all.map(a => `${a.attempt}${a.waits ? ' waits' : ''}${a.code && ` ${a.code}`}`)).toEqual([
      '1 server',
      '1 waits',
      '2 server',
      '2 waits',
      '3',
    ])
    for (const [i, a] of all.entries()) {
      expect(a.to).toBeGreaterThanOrEqual(a.from)
      if (i > 0) expect(a.from).toBe(all[i - 1]!.to)
    }
    expect(attemptsOf([], step, 0)).toEqual([])
  })
  const step = (seq: number, node: string, more: Partial<Step> = {}): Step => ({
    seq,
    node,
    name: node,
    kind: 'agent',
    attempt: 1,
    iteration: 1,
    status: 'completed',
    input: null,
    output: null,
    error: null,
    usage: {inputTokens: 0, outputTokens: 0, costUSD: 0},
    model: null,
    startedAt: '2026-01-01T00:00:00Z',
    durationMs: 10,
    ...more,
  })
  it('has iterations, those of other items apart', () => {
    const steps = [
      step(1, 'a'),
      step(2, 'a'),
      step(3, 'a', {map: 9, item: 0}),
      step(4, 'a', {map: 9, item: 1}),
      step(5, 'a', {map: 9, item: 1}),
    ]
    expect(iterationsOf(steps, steps[1]!).map(s => s.seq)).toEqual([1, 2])
    expect(iterationsOf(steps, steps[3]!).map(s => s.seq)).toEqual([4, 5])
  })
  it('has ten thousand items, also those that have not begun', () => {
    const map = step(1, 'm', {kind: 'map', items: {total: 10_000, done: 2, failed: 1, running: 0}})
    const items = itemsOf(
      [
        map,
        step(2, 'a', {map: 1, item: 0}),
        step(3, 'b', {map: 1, item: 0}),
        step(4, 'a', {map: 1, item: 7, status: 'failed'}),
        step(5, 'a', {map: 99, item: 1}),
      ],
      map,
    )
    expect(items).toHaveLength(10_000)
    expect([items[0], items[7], items[1], items[9999]].map(i => [i!.status, i!.steps.length, i!.durationMs])).toEqual([
      ['completed', 2, 20],
      ['failed', 1, 10],
      ['pending', 0, null],
      ['pending', 0, null],
    ])
  })
  it('is as hot as it took, without the time of people', () => {
    const steps = [
      step(1, 'a', {durationMs: 30}),
      step(2, 'a', {durationMs: 10}),
      step(3, 'b', {durationMs: 20}),
      step(4, 'ok', {kind: 'approval', durationMs: 9e6}),
    ]
    expect([...heatOf(steps, 'time')]).toEqual([
      ['a', {sum: 40, part: 1}],
      ['b', {sum: 20, part: 0.5}],
    ])
    expect(heatOf(steps, 'money').get('a')).toEqual({sum: 0, part: 0})
  })
  it('is put together on lanes where thousands are close', () => {
    const steps = Array.from({length: 10_000}, (_, i) =>
      step(i + 1, 'a', {
        startedAt: new Date(1_700_000_000_000 + i).toISOString(),
        durationMs: 1,
        status: i === 500 ? 'failed' : 'completed',
      }),
    )
    const {bars} = axisOf(steps, 0)
    expect(bars.length).toBeLessThan(500)
    expect(bars.reduce((n, b) => n + b.count, 0)).toBe(10_000)
    expect(bars.some(b => b.step.status === 'failed')).toBe(true)
  })
})
