import {expect, it} from 'vitest'
import {alignOf, firstDifference} from './align.ts'
import type {Step} from './types.ts'

const step = (node: string, output: unknown, more: Partial<Step> = {}): Step => ({
  seq: 1,
  node,
  name: node,
  kind: 'agent',
  attempt: 1,
  iteration: 1,
  status: 'completed',
  input: 'in',
  output,
  error: null,
  usage: {inputTokens: 0, outputTokens: 0, costUSD: 0},
  model: null,
  startedAt: '2026-01-01T00:00:00Z',
  durationMs: 10,
  ...more,
})
const shown = (a: Step[], b: Step[]) =>
  alignOf(a, b).map(r => `${r.key}${r.left ? ' L' : ''}${r.right ? ' R' : ''} ${r.differs}`)

it('puts the same execution of a node side by side', () => {
  const a = [step('draft', 'x'), step('judge', 'no'), step('draft', 'y', {iteration: 2}), step('end', 'y')]
  const b = [step('draft', 'x'), step('judge', 'yes'), step('send', 's'), step('end', 'y', {input: 'other'})]
  expect(shown(a, b)).toEqual([
    'draft 1 L R ',
    'judge 1 L R gave',
    'send 1 R state',
    'draft 2 L state',
    'end 1 L R given',
  ])
  expect(firstDifference(alignOf(a, b))).toBe(1)
  expect(firstDifference(alignOf(a, a))).toBe(-1)
})

it('keeps items of maps apart, and takes runs without steps', () => {
  const items = [step('line', 1, {map: 2, item: 0}), step('line', 2, {map: 2, item: 1})]
  expect(shown(items, items)).toEqual(['line 1 2 0 L R ', 'line 1 2 1 L R '])
  expect(shown([], items)).toEqual(['line 1 2 0 R state', 'line 1 2 1 R state'])
  expect(shown([], [])).toEqual([])
})

it('sees another error and another state', () => {
  const error = (code: string) => ({code, message: '', node: null})
  expect(
    shown(
      [step('a', null, {status: 'failed', error: error('x')})],
      [step('a', null, {status: 'failed', error: error('y')})],
    ),
  ).toEqual(['a 1 L R gave'])
  expect(shown([step('a', null)], [step('a', null, {status: 'failed', error: error('y')})])).toEqual([
    'a 1 L R state,gave',
  ])
})
