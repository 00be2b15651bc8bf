import {describe, expect, it} from 'vitest'
import type {Session} from '../api/session.ts'
import {project} from '../run/project.ts'
import type {RunEvent} from '../run/types.ts'
import {draftOf, readDraft} from './draft.ts'
import {closedOf, factsOf, refusalOf, saidOf, unitOf, whoOf} from './facts.ts'
import {waitTitle} from './words.ts'

const e = (seq: number, type: string, data: object = {}, step: number | null = 1): RunEvent => ({
  run: 'r',
  seq,
  time: `2026-01-01T00:00:${String(seq).padStart(2, '0')}Z`,
  type,
  node: step ? 'a' : null,
  step,
  data: data as Record<string, unknown>,
})
const begin = [
  e(1, 'run.created', {name: 'x'}, null),
  e(2, 'run.started', {}, null),
  e(3, 'step.started', {kind: 'agent'}),
]

describe('what events say of a wait', () => {
  it('has the limit that was reached', () => {
    const events = [
      ...begin,
      e(4, 'wait.opened', {
        wait: 'b1',
        kind: 'question',
        limit: {limit: 'budget', max: 1, detail: 'calls'},
        remind: '2026-01-02T00:00:00Z',
      }),
    ]
    const f = factsOf(events, 'b1')
    expect(f.limit).toEqual({limit: 'budget', max: 1, detail: 'calls'})
    expect([f.remind, f.reminded, f.lost]).toEqual(['2026-01-02T00:00:00Z', '', null])
    expect(factsOf([...events, e(5, 'wait.reminded', {wait: 'b1'})], 'b1').reminded).toBe('2026-01-01T00:00:05Z')
    expect(factsOf(events, 'b2').limit).toBe(null)
  })
  it('has the call whose outcome is not known, and not that of a held one', () => {
    const called = e(4, 'tool.called', {call: '1.0.1', tool: 'pay', arguments: {sum: 5}})
    expect(
      factsOf([...begin, called, e(5, 'wait.opened', {wait: 'w', kind: 'question', call: '1.0.1'})], 'w').lost,
    ).toEqual({tool: 'pay', arguments: {sum: 5}})
    expect(
      factsOf([...begin, called, e(5, 'wait.opened', {wait: 'w', kind: 'approval', call: '1.0.1', binding: 'b'})], 'w')
        .lost,
    ).toBe(null)
  })
  it('counts money in dollars', () => {
    const usage = {inputTokens: 3, outputTokens: 4, costUSD: 0.002, modelCalls: 1, toolCalls: 2}
    const of = (detail: string) => unitOf({limit: 'budget', max: 2000, detail}, usage)
    expect([of('micro-USD').max, of('micro-USD').used, of('micro-USD').suffix]).toEqual([0.002, 0.002, 'USD'])
    expect([of('calls').max, of('calls').used]).toEqual([2000, 3])
    expect([of('tokens').max, of('tokens').used]).toEqual([2000, 7])
  })
})

describe('what is asked, in a line', () => {
  it.each([
    ['the prompt where there is one', {node: 'ok', kind: 'approval', prompt: 'Send it?'}, 'Send it?'],
    ['the call that is held', {node: 'ok', kind: 'approval', tool: 'pay'}, 'May ok call pay?'],
    ['an approval', {node: 'approval', kind: 'approval', prompt: ''}, 'Waiting for an approval at approval'],
    ['an answer', {node: 'ask', kind: 'question'}, 'Waiting for an answer at ask'],
    ['a signal', {node: 'hold', kind: 'signal', signal: 'paid'}, 'Waiting for the signal paid at hold'],
  ])('is %s', (_, w, text) => expect(waitTitle({prompt: '', ...w})).toBe(text))
})

describe('who may answer', () => {
  const s = (more: Partial<Session>): Session => ({
    name: 'ann',
    namespace: 'default',
    role: 'edit',
    approve: true,
    version: '1',
    byCookie: true,
    ...more,
  })
  const plain = factsOf([], 'w')
  it('needs the right approve for what only people decide', () => {
    expect(refusalOf(s({approve: false}), {kind: 'approval'}, plain)).toContain('right to approve')
    expect(refusalOf(s({approve: false}), {kind: 'question'}, plain)).toBe('')
    expect(
      refusalOf(s({approve: false}), {kind: 'question'}, {...plain, limit: {limit: 'budget', max: 1, detail: 'calls'}}),
    ).toContain('right to approve')
    expect(refusalOf(s({approve: false}), {kind: 'question'}, {...plain, lost: {tool: 't', arguments: {}}})).toContain(
      'right to approve',
    )
  })
  it('is said by roles, by rank or by name', () => {
    const w = {kind: 'approval', roles: ['finance', 'admin']}
    expect(refusalOf(s({}), w, plain)).toContain('finance, admin')
    expect(refusalOf(s({name: 'finance'}), w, plain)).toBe('')
    expect(refusalOf(s({role: 'admin'}), w, plain)).toBe('')
    expect(refusalOf(s({name: 'admin'}), w, plain)).toContain('none of them')
  })
})

describe('P24: the page says who was first', () => {
  const opened = [
    ...begin,
    e(4, 'wait.opened', {wait: 'w', kind: 'approval', call: 'c', binding: 'b', tool: 'pay', arguments: {sum: 5}}),
  ]
  const closed = (last: RunEvent) => {
    const events = [...opened, last]
    return closedOf(project('r', null, events), events, 'w')
  }
  it('of an answer, with the arguments that took the place of the held ones', () => {
    expect(closedOf(project('r', null, opened), opened, 'w')).toBe(null)
    const c = closed(
      e(5, 'wait.answered', {
        wait: 'w',
        decision: 'approve',
        note: 'ok',
        arguments: {sum: 4},
        by: {name: 'ann', channel: 'http'},
      }),
    )
    expect([whoOf(c!.answer!), saidOf(c!.answer!), c!.answer!.note, c!.answer!.arguments, c!.answer!.held]).toEqual([
      'ann',
      'approved with changed arguments',
      'ok',
      {sum: 4},
      {sum: 5},
    ])
  })
  it('of a deadline, and of what was cancelled', () => {
    const late = closed(e(5, 'wait.closed', {wait: 'w', reason: 'deadline', by: {channel: 'clock'}}))
    expect(`${whoOf(late!.answer!)} ${saidOf(late!.answer!)}`).toBe('An answer did not come: the deadline passed')
    expect(closed(e(5, 'wait.closed', {wait: 'w', reason: 'cancelled'}))).toEqual({answer: null, reason: 'cancelled'})
  })
  it('knows no wait that never was', () => expect(closedOf(project('r', null, opened), opened, 'w9')).toBe(null))
})

describe('changed arguments', () => {
  const schema = {
    type: 'object',
    required: ['sum'],
    properties: {sum: {type: 'integer', maximum: 9}, to: {type: 'string'}},
  }
  it('begin as a form, and keep what has no field', () => {
    const held = {sum: 5, to: 'Bob', extra: [1]}
    const d = draftOf(schema, held)
    expect(d).toEqual({as: 'form', typed: {sum: '5', to: 'Bob'}})
    expect(readDraft(schema, held, d).changes).toEqual([])
    const read = readDraft(schema, held, {as: 'form', typed: {sum: '10', to: 'Ann'}})
    expect(read.value).toEqual({sum: 10, to: 'Ann', extra: [1]})
    expect(read.changes).toEqual(['/sum', '/to'])
    expect(read.problems).toEqual([{pointer: '/sum', message: 'must be at most 9'}])
  })
  it('are JSON where no form shows them', () => {
    expect(draftOf(schema, {sum: 'five'}).as).toBe('json')
    expect(draftOf(true, {a: 1}).as).toBe('json')
    expect(readDraft(schema, {sum: 5}, {as: 'json', text: '{"sum":'}).problems).toEqual([
      {pointer: '', message: 'this is not JSON'},
    ])
    expect(readDraft(schema, {sum: 5}, {as: 'json', text: '{"sum": 4}'})).toEqual({
      value: {sum: 4},
      problems: [],
      changes: ['/sum'],
    })
  })
})
