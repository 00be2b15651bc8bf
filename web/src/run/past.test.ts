import {readdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'
import {afterEach, describe, expect, it, vi} from 'vitest'
import type {LiveRun} from '../live/run_source.ts'
import {Past} from './past.ts'
import {Fold, project} from './project.ts'
import type {Definition, RunEvent} from './types.ts'

const folder = join(import.meta.dirname, '../../../internal/project/testdata/runs')
const liveOf = (id: string, def: Definition | null, events: RunEvent[]): LiveRun => ({
  view: project(id, def, events),
  events,
  streamed: new Map(),
  state: 'done',
  loaded: true,
  refused: null,
})

describe('P36: a run as it was is what its first events give', () => {
  for (const file of readdirSync(folder).filter(f => f.endsWith('.json'))) {
    it(file, () => {
      const {run, definition, events} = JSON.parse(readFileSync(join(folder, file), 'utf8')) as {
        run: string
        definition: Definition
        events: RunEvent[]
      }
      const past = new Past(run, definition)
      const live = liveOf(run, definition, events)
      const last = events.at(-1)!.seq
      // The position moves forward, back, and forward again: the drawing of one position is not
      // shown at another.
      const all = Array.from({length: last - 1}, (_, i) => i + 1)
      for (const at of [...all, ...all.toReversed().filter(n => n % 3 === 0), ...all.filter(n => n % 2 === 0)]) {
        const first = events.filter(e => e.seq <= at)
        expect(past.of(live, at)).toMatchObject({past: last, events: first, view: project(run, definition, first)})
      }
      expect(past.of(live, last)).toBe(live)
      expect(past.of(live, 0)).toBe(live)
    })
  }
})

// long returns a run of n steps with four events each.
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
    all.push(
      e('model.replied', i, {call: `${i}`, message: {text: 'x'}, usage: {inputTokens: 1, outputTokens: 1}}),
      e('step.completed', i, {output: 'x'}),
    )
  }
  return all
}

describe('what a position costs', () => {
  afterEach(() => vi.restoreAllMocks())

  it('is one event for the next one, and what has ended is not drawn again', () => {
    const events = long(500)
    const live = liveOf('r', null, events)
    const past = new Past('r', null)
    const before = past.of(live, 1000).view.steps
    const added = vi.spyOn(Fold.prototype, 'add')
    let now = before
    for (let at = 1001; at < 1010; at++) now = past.of(live, at).view.steps
    expect(added.mock.calls.length).toBe(9)
    const ended = before.filter(s => s.status === 'completed')
    expect(ended.length).toBeGreaterThan(200)
    for (const [i, s] of ended.entries()) expect(now[i]).toBe(s)
    const back = past.of(live, 900).view.steps
    for (const [i, s] of back.filter(x => x.status === 'completed').entries()) expect(s).toBe(before[i])
  })
})
