import {readdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'
import fc from 'fast-check'
import {afterEach, describe, expect, it, vi} from 'vitest'
import type {LiveRun} from '../live/run_source.ts'
import {Past} from './past.ts'
import {Fold, project} from './project.ts'
import type {Definition, RunEvent} from './types.ts'

const folder = join(import.meta.dirname, '../../../internal/project/testdata/runs')
const liveOf = (id: string, def: Definition | null, events: RunEvent[]): LiveRun => ({
  view: project(id, def, events),
  events,
  saying: new Map(),
  state: 'done',
  loaded: true,
})

describe('P36: a run as it was is what its first events give', () => {
  for (const file of readdirSync(folder).filter(f => f.endsWith('.json'))) {
    it(file, () => {
      const {run, definition, events} = JSON.parse(readFileSync(join(folder, file), 'utf8')) as {run: string; definition: Definition; events: RunEvent[]}
      // A copy at any place goes on as the fold itself does, and neither changes the other.
      for (let at = 0; at <= events.length; at += Math.max(1, Math.floor(events.length / 7))) {
        const fold = new Fold(run, definition)
        for (const e of events.slice(0, at)) fold.add(e)
        const [then, copy] = [fold.view(), fold.copy()]
        for (const e of events.slice(at)) fold.add(e)
        expect(copy.view()).toEqual(then)
        for (const e of events.slice(at)) copy.add(e)
        expect(copy.view()).toEqual(fold.view())
        expect(fold.view()).toEqual(project(run, definition, events))
      }
      const past = new Past(run, definition)
      const live = liveOf(run, definition, events)
      const last = events.at(-1)!.seq
      const places = [last - 1, 1, Math.ceil(last / 2), Math.ceil(last / 3), last - 2].filter(n => n > 0 && n < last)
      for (const at of places) {
        const first = events.filter(e => e.seq <= at)
        expect(past.of(live, at)).toMatchObject({past: last, events: first, view: project(run, definition, first)})
      }
      expect(past.of(live, last)).toBe(live)
      expect(past.of(live, 0)).toBe(live)
    })
  }
})

// long gives a run of n steps, of four events each.
function long(n: number): RunEvent[] {
  let seq = 0
  const e = (type: string, step: number, data: object): RunEvent => ({
    run: 'r',
    seq: ++seq,
    time: new Date(1_800_000_000_000 + seq).toISOString(),
    type,
    node: step ? 'a' : null,
    step: step || null,
    data: data as Record<string, unknown>,
  })
  const all = [e('run.created', 0, {}), e('run.started', 0, {})]
  for (let i = 1; i <= n; i++) {
    all.push(e('step.started', i, {kind: 'agent', iteration: i}), e('model.called', i, {call: `${i}`}))
    all.push(e('model.replied', i, {call: `${i}`, message: {text: 'x'}, usage: {inputTokens: 1, outputTokens: 1}}), e('step.completed', i, {output: 'x'}))
  }
  return all
}

describe('what a position costs', () => {
  afterEach(() => vi.restoreAllMocks())

  it('is bounded by the distance of two checkpoints, in any order', () => {
    const events = long(2500)
    const live = liveOf('r', null, events)
    const past = new Past('r', null)
    past.of(live, events.length - 1) // the first look folds all
    const added = vi.spyOn(Fold.prototype, 'add')
    fc.assert(
      fc.property(fc.integer({min: 1, max: events.length - 1}), at => {
        added.mockClear()
        expect(past.of(live, at).view.seq).toBe(at)
        expect(added.mock.calls.length).toBeLessThanOrEqual(Math.ceil(events.length / 16))
      }),
      {numRuns: 60, seed: 1},
    )
  })

  it('is one event for the next one', () => {
    const events = long(500)
    const live = liveOf('r', null, events)
    const past = new Past('r', null)
    past.of(live, 1000)
    const added = vi.spyOn(Fold.prototype, 'add')
    for (let at = 1001; at < 1010; at++) past.of(live, at)
    expect(added.mock.calls.length).toBe(9)
  })
})
