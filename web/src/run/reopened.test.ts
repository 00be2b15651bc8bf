import {describe, expect, it} from 'vitest'
import {Fold, project} from './project.ts'
import type {RunEvent} from './types.ts'

const e = (seq: number, type: string, data: object = {}): RunEvent => ({
  run: 'r',
  seq,
  time: `2026-01-01T00:00:0${seq}Z`,
  type,
  node: null,
  step: null,
  data: data as Record<string, unknown>,
})

const events = [
  e(1, 'run.created', {name: 'x'}),
  e(2, 'run.started'),
  e(3, 'run.failed', {error: {code: 'max_steps', message: 'it took too many steps'}}),
  e(4, 'run.resumed', {reason: 'reopened'}),
  e(5, 'run.completed'),
]

describe('a run that failed and goes on', () => {
  it('shows its failure until it goes on, followed and loaded alike', () => {
    const followed = new Fold('r', null)
    const seen = events.map((event, i) => {
      followed.add(event)
      expect(followed.view()).toEqual(project('r', null, events.slice(0, i + 1)))
      const {status, error, endedAt} = followed.view()
      return [status, error?.code ?? null, endedAt !== null]
    })
    expect(seen).toEqual([
      ['pending', null, false],
      ['running', null, false],
      ['failed', 'max_steps', true],
      ['running', null, false],
      ['completed', null, true],
    ])
  })
})
