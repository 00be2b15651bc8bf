import {expect, it} from 'vitest'
import {project} from './project.ts'
import {isTest, testLabels} from './test_run.ts'
import type {RunEvent} from './types.ts'

it('test runs are known by their label, in lists and from their events', () => {
  const created = (data: Record<string, unknown>): RunEvent => ({
    run: 'r',
    seq: 1,
    time: '2026-01-01T00:00:00Z',
    type: 'run.created',
    node: null,
    step: null,
    data,
  })
  expect([
    isTest({team: 'news', ...testLabels}),
    isTest({team: 'news'}),
    isTest({test: 'true'}),
    isTest(undefined),
  ]).toEqual([true, false, false, false])
  expect(project('r', null, [created({labels: {...testLabels}})]).test).toBe(true)
  expect(project('r', null, [created({trigger: 'api'})]).test).toBe(false)
})
