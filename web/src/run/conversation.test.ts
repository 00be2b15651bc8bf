import {readFileSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {conversationOf} from './conversation.ts'
import {project} from './project.ts'
import {most, searchOf} from './search.ts'
import type {Definition, RunEvent} from './types.ts'

const e = (seq: number, type: string, data: object = {}, step = 1): RunEvent => ({
  run: 'r',
  seq,
  time: `2026-01-01T00:00:${String(seq).padStart(2, '0')}Z`,
  type,
  node: 'a',
  step,
  data: data as Record<string, unknown>,
})
const events = [
  e(1, 'step.started', {kind: 'agent', agent: 'writer', input: 'Invite Ada'}),
  e(2, 'model.called', {call: '1.0.1'}),
  e(3, 'model.failed', {call: '1.0.1', error: {code: 'overloaded', message: 'later'}}),
  e(4, 'model.called', {call: '1.0.1', attempt: 2}),
  e(5, 'model.replied', {call: '1.0.1', message: {role: 'assistant', text: '', toolCalls: [{id: 'x', name: 'think'}]}}),
  e(6, 'tool.called', {call: '1.0.2', tool: 'think', arguments: {thought: 'Be short'}}),
  e(7, 'wait.opened', {wait: 'w', prompt: 'May it?'}),
  e(8, 'wait.answered', {wait: 'w', decision: 'approve', note: 'fine', by: {name: 'ann'}}),
  e(9, 'tool.returned', {call: '1.0.2', text: 'done'}),
  e(10, 'subagent.started', {frame: 1, agent: 'critic', depth: 1, input: 'judge'}),
  e(11, 'model.called', {call: '1.1.1', frame: 1}),
  e(12, 'model.replied', {call: '1.1.1', frame: 1, message: {role: 'assistant', text: 'good'}}),
  e(13, 'model.called', {call: '1.0.3'}),
]

describe('a conversation', () => {
  it('has what was said in order, and what is being said', () => {
    const turns = conversationOf(events, new Map([['1.0.3', 'Dear A']]))
    expect(
      turns.map(
        t =>
          `${t.kind} ${t.agent} ${t.depth} ${t.kind === 'tool' ? `${t.name} ${t.result}` : t.text}` +
          `${t.open ? ' …' : ''}`,
      ),
    ).toEqual([
      'given writer 0 Invite Ada',
      'error writer 0 overloaded: later',
      'tool writer 0 think done',
      'person ann 0 approve\nfine',
      'given critic 1 judge',
      'reply critic 1 good',
      'reply writer 0 Dear A …',
    ])
    expect(new Set(turns.map(t => t.id)).size).toBe(turns.length)
  })
  it('leaves out steps without agents', () => {
    expect(
      conversationOf([e(1, 'step.started', {kind: 'tool'}), e(2, 'tool.called', {call: 'c', tool: 't'})], new Map()),
    ).toEqual([])
  })
})

describe('search in a run', () => {
  const record = JSON.parse(
    readFileSync(
      join(import.meta.dirname, '../../../internal/project/testdata/runs/s0-54-the-log-of-sub-agents-2.json'),
      'utf8',
    ),
  ) as {
    run: string
    definition: Definition
    events: RunEvent[]
  }
  const {steps} = project(record.run, record.definition, record.events)
  it('finds names, what was given, said and given back, without regard to case', () => {
    const hits = searchOf(steps, record.events, ' M SAID ')
    expect(hits.length).toBeGreaterThan(0)
    for (const h of hits) expect(h.found.toLowerCase()).toBe('m said')
    expect(hits.map(h => h.where)).toContain('reply')
    expect(searchOf(steps, record.events, '   ')).toEqual([])
    expect(searchOf(steps, record.events, 'nowhere at all')).toEqual([])
  })
  it('goes in the order of the steps, with what is around a hit', () => {
    const text = `${'x'.repeat(100)}needle${'y'.repeat(100)}`
    const [hit] = searchOf([{...steps[0]!, output: text}], [], 'Needle')
    expect([hit!.before.length, hit!.found, hit!.after.length, hit!.where]).toEqual([61, 'needle', 61, 'gave'])
  })
  it(
    'marks what was found, whatever becomes of other letters when their case changes, ' + 'and takes signs as they are',
    () => {
      const of = (output: string, text: string) =>
        searchOf([{...steps[0]!, name: 'n', node: 'n', input: null, output}], [], text).map(h => h.found)
      expect(of('İİİ Needle', 'needle')).toEqual(['Needle'])
      expect(
        of('a.b (c) [d] $e ^f {g} h|i \\\\j k*l? m+n/o-p', '(c) [d] $e ^f {g} h|i \\\\j k*l? m+n/o-p'),
      ).toHaveLength(1)
      expect(of('axb', 'a.b')).toEqual([])
    },
  )
  it('writes each value once, whatever is looked for', () => {
    let written = 0
    const value = new Proxy(
      {text: 'needle'},
      {
        ownKeys: t => {
          written++
          return Reflect.ownKeys(t)
        },
      },
    )
    const search = (word: string) => searchOf([{...steps[0]!, output: value}], [], word)
    expect(search('n').map(h => h.where)).toContain('gave')
    const once = written
    expect(once).toBeGreaterThan(0)
    for (const word of ['ne', 'nee', 'needle', 'needles']) search(word)
    expect(written).toBe(once)
  })
  it('has a bound', () => {
    const many = Array.from({length: 2000}, (_, i) => ({...steps[0]!, seq: i + 1, output: 'needle'}))
    expect(searchOf(many, [], 'needle')).toHaveLength(most)
  })
})
