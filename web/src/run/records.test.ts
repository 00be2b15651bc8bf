import {readdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {Fold, project} from './project.ts'
import type {Definition, NodeState, RunEvent, RunView} from './types.ts'

// The records that the server's projection must match (internal/conformance/records_test.go).
const folder = join(import.meta.dirname, '../../../internal/project/testdata/runs')

type Record = {
  run: string
  definition: Definition
  events: RunEvent[]
  shown: {seq: number; run: RunView & {[name: string]: unknown}; nodes: NodeState[]}[]
}

// shownBy removes the fields of the run object that only the server knows.
const shownBy = (v: RunView) => {
  const {nodes: _n, taken: _t, takenIn: _i, trigger: _g, test: _r, seq: _s, unknown: _u, retry, answers, ...run} = v
  return {...run, ...(retry ? {retry} : {}), ...(answers.length > 0 ? {answers} : {}), interrupted: false}
}

const wanted = (r: Record['shown'][number]['run']) => {
  const {
    state: _s,
    waitingForInput: _w,
    currentNodeId: _c,
    targetType: _t,
    targetId: _i,
    targetBranchId: _b,
    ...rest
  } = r
  return rest
}

describe('P36: the page draws a run as the server does', () => {
  const files = readdirSync(folder).filter(f => f.endsWith('.json'))
  it('has records', () => expect(files.length).toBeGreaterThan(40))
  for (const file of files) {
    it(file, () => {
      const record = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Record
      const live = new Fold(record.run, record.definition)
      for (const e of record.events) {
        live.add(e)
        for (const s of record.shown.filter(x => x.seq === e.seq)) {
          const view = live.view()
          expect(JSON.parse(JSON.stringify(shownBy(view)))).toEqual(wanted(s.run))
          expect(view.nodes).toEqual(s.nodes)
        }
      }
      // The live view equals a reloaded one, and a repeated event counts once.
      const twice = record.events.flatMap(e => [e, e])
      expect(project(record.run, record.definition, twice)).toEqual(live.view())
      expect(live.view().unknown).toEqual([])
    })
  }
})

describe('events of unknown types', () => {
  it('are kept, whether or not they belong to a step', () => {
    const e = (seq: number, type: string, step: number | null): RunEvent => ({
      run: 'r',
      seq,
      time: '2026-01-01T00:00:00Z',
      type,
      node: step ? 'a' : null,
      step,
      data: {},
    })
    const view = project('r', null, [
      e(1, 'run.created', null),
      e(2, 'run.dreamt', null),
      e(3, 'step.started', 1),
      e(4, 'step.dreamt', 1),
      e(5, 'model.dreamt', 1),
    ])
    expect(view.unknown.map(u => u.type)).toEqual(['run.dreamt', 'step.dreamt', 'model.dreamt'])
  })
})
