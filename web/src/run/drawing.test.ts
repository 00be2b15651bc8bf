import {describe, expect, it} from 'vitest'
import {handleWord} from '../canvas/rules.ts'
import {callsOf} from './calls.ts'
import {layoutOf, linksOf, timesOf} from './layout.ts'
import {axisOf} from './timeline_axis.ts'
import type {Definition, RunEvent, Step} from './types.ts'

const node = (id: string, kind = 'agent', more = {}) => ({id, kind, ...more})

describe('layout', () => {
  const def: Definition = {
    entry: 'a',
    nodes: [node('a'), node('f', 'fork'), node('x'), node('y'), node('j', 'join', {hidden: true}), node('z')],
    edges: [
      {from: 'a', to: 'f'},
      {from: 'f', port: 'x', to: 'x'},
      {from: 'f', port: 'y', to: 'y'},
      {from: 'x', to: 'j'},
      {from: 'y', to: 'j'},
      {from: 'j', to: 'z'},
      {from: 'z', port: 'reject', to: 'a'},
    ],
  }
  it('joins what hidden nodes part', () => {
    expect(linksOf(def).map(l => `${l.from}-${l.to} ${l.paths.join(' or ')}`)).toEqual([
      'a-f 0',
      'f-x 1',
      'f-y 2',
      'x-z 3,5',
      'y-z 4,5',
      'z-a 6',
    ])
  })
  it('takes a link where all of a path was taken', () => {
    const x = linksOf(def).find(l => l.from === 'x')!
    expect([timesOf(x, {5: 1}), timesOf(x, {3: 1, 5: 1}), timesOf(x, {3: 2, 5: 2})]).toEqual([0, 1, 2])
  })
  it('calls the way out of a condition as the editor does', () => {
    const by = (port: string) =>
      linksOf({entry: 'a', nodes: [node('a'), node('b')], edges: [{from: 'a', to: 'b', port}]})[0]!.label
    expect(['condition-0', 'condition-11', 'reject', 'out'].map(by)).toEqual([
      handleWord('condition-0'),
      'condition 12',
      'reject',
      '',
    ])
  })
  it('places nodes below those that lead to them, and no two in one place', () => {
    const {boxes, links} = layoutOf(def)
    const y = new Map(boxes.map(b => [b.id, b.y]))
    for (const l of links.filter(l => !l.back)) expect(y.get(l.to)!).toBeGreaterThan(y.get(l.from)!)
    expect(links.filter(l => l.back).map(l => l.from + l.to)).toEqual(['za'])
    expect(new Set(boxes.map(b => `${b.x} ${b.y}`)).size).toBe(boxes.length)
  })
  it('has no end of a loop', () => {
    const loop = layoutOf({
      entry: 'a',
      nodes: [node('a'), node('b')],
      edges: [
        {from: 'a', to: 'b'},
        {from: 'b', to: 'a'},
        {from: 'b', to: 'b'},
      ],
    })
    expect(loop.boxes).toHaveLength(2)
  })
  it('takes 5,000 nodes in a line', () => {
    const ids = Array.from({length: 5000}, (_, i) => `n${i}`)
    const long = layoutOf({
      entry: 'n0',
      nodes: ids.map(id => node(id)),
      edges: ids.slice(1).map((to, i) => ({from: ids[i]!, to})),
    })
    expect(long.boxes).toHaveLength(5000)
  })
})

describe('timeline', () => {
  const step = (seq: number, at: string, durationMs: number | null, kind = 'agent') =>
    ({seq, node: `n${seq}`, kind, startedAt: `2026-01-01T00:00:${at}Z`, durationMs, status: 'completed'}) as Step
  it('folds what nothing was at work in', () => {
    const axis = axisOf([step(1, '00', 1000), step(2, '01', 30_000, 'approval'), step(3, '31', 1000)], 0)
    expect(axis.gaps.map(g => g.ms)).toEqual([30_000])
    expect(axis.width).toBe(2400)
    expect(axis.bars.map(b => [b.from, b.to])).toEqual([
      [0, 1000],
      [1000, 1400],
      [1400, 2400],
    ])
  })
  it('takes no step', () => expect(axisOf([], 0).bars).toEqual([]))
})

describe('calls', () => {
  const e = (seq: number, type: string, data: object): RunEvent => ({
    run: 'r',
    seq,
    time: `2026-01-01T00:00:0${seq}Z`,
    type,
    node: 'a',
    step: 1,
    data: data as Record<string, unknown>,
  })
  it('have what was sent and what came back, by attempt', () => {
    const calls = callsOf(
      [
        e(1, 'model.called', {call: '1.0.1', attempt: 1, model: 'm', agent: 'a'}),
        e(2, 'model.failed', {call: '1.0.1', attempt: 1, error: {code: 'rate_limit', message: 'later'}}),
        e(3, 'model.called', {call: '1.0.1', attempt: 2, model: 'm', agent: 'a'}),
        e(4, 'model.replied', {
          call: '1.0.1',
          attempt: 2,
          message: {role: 'assistant', text: 'yes'},
          usage: {inputTokens: 1, outputTokens: 2},
          costUSD: 0.1,
        }),
        e(5, 'tool.called', {call: '1.1', attempt: 1, tool: 't', arguments: {x: 1}}),
      ],
      1,
    )
    expect(calls.map(c => [c.kind, c.attempt, c.error?.code ?? '', c.reply?.text ?? '', c.endedAt !== ''])).toEqual([
      ['model', 1, 'rate_limit', '', true],
      ['model', 2, '', 'yes', true],
      ['tool', 1, '', '', false],
    ])
  })
})
