import {describe, expect, it} from 'vitest'
import {type Canvas, handlesOf, parentOf, readCanvas} from './document.ts'
import {type Link, refusal} from './rules.ts'

const canvas = (doc: unknown): Canvas => {
  const text = typeof doc === 'string' ? doc : JSON.stringify(doc, null, 1)
  const c = readCanvas(text)
  if ('why' in c) throw new Error(c.why)
  return c
}

const agent = (id: string, tools: unknown = {}) => ({id, type: 'agent', data: {agentName: id, tools}})
const on = {subagents: true}
const sub = (source: string, target: string, more = {}) => ({source, target, sourceHandle: 'subagent', ...more})

// P can ask K, L and M; q is a condition.
const base = (...connections: object[]) =>
  canvas({
    nodes: [
      {id: 's', type: 'start'},
      agent('P', on),
      agent('K', on),
      agent('L', on),
      agent('M'),
      {id: 'q', type: 'if', data: {conditions: [{value: 'a'}, {value: 'b'}]}},
    ],
    connections: [{source: 's', target: 'P'}, ...connections],
  })

describe('links to sub-agents', () => {
  it.each<[string, Canvas, Link, string | null]>([
    ['S0-50 between two agents', base(), {from: 'P', handle: 'subagent', to: 'K'}, null],
    ['S0-50 to the handle input', base(), {from: 'P', handle: 'subagent', to: 'K', target: 'input'}, null],
    [
      'S0-50.1 from a condition',
      base(),
      {from: 'q', handle: 'subagent', to: 'K'},
      'Subagent source "q" must be an agent node.',
    ],
    [
      'S0-50.1 to a condition',
      base(),
      {from: 'P', handle: 'subagent', to: 'q'},
      'Subagent target "q" must be an agent node.',
    ],
    [
      'S0-50.1 to nothing',
      base(),
      {from: 'P', handle: 'subagent', to: 'none'},
      'Subagent target "none" must be an agent node.',
    ],
    [
      'S0-50.2 from an agent that may not',
      base(),
      {from: 'M', handle: 'subagent', to: 'K'},
      'Agent "M" uses subagent links but Subagents tool is disabled.',
    ],
    [
      'S0-50.3 to another handle',
      base(),
      {from: 'P', handle: 'subagent', to: 'K', target: 'side'},
      'Subagent link "P" -> "K" must connect to input handle.',
    ],
    [
      'S0-50.4 to itself',
      base(),
      {from: 'P', handle: 'subagent', to: 'P'},
      'Agent "P" cannot be a subagent of itself.',
    ],
    [
      'S0-50.5 in a ring',
      base(sub('K', 'L')),
      {from: 'L', handle: 'subagent', to: 'K'},
      'Subagent cycle detected: K -> L -> K',
    ],
    [
      'S0-50.5 in a ring of three',
      base(sub('L', 'M'), sub('K', 'L')),
      {from: 'M', handle: 'subagent', to: 'K'},
      'Subagent cycle detected: K -> L -> M -> K',
    ],
    [
      'S0-50.6 of a second parent',
      base(sub('P', 'K')),
      {from: 'L', handle: 'subagent', to: 'K'},
      'Agent "K" cannot belong to more than one parent subagent.',
    ],
    [
      'S0-50.7 to an agent that an edge leads to',
      base({source: 'P', target: 'K'}),
      {from: 'P', handle: 'subagent', to: 'K'},
      'Agent "K" is configured as subagent and cannot participate in workflow execution edges.',
    ],
    [
      'S0-50.7 an edge to a sub-agent',
      base(sub('P', 'K')),
      {from: 's', handle: 'output', to: 'K'},
      'Agent "K" is configured as subagent and cannot participate in workflow execution edges.',
    ],
    [
      'S0-50.7 an edge from a sub-agent',
      base(sub('P', 'K')),
      {from: 'K', handle: 'output', to: 'q'},
      'Agent "K" is configured as subagent and cannot participate in workflow execution edges.',
    ],
    [
      'S0-51 twice',
      base(sub('P', 'K')),
      {from: 'P', handle: 'subagent', to: 'K'},
      'The subagent link "P" -> "K" is there already.',
    ],
  ])('%s', (_, c, link, why) => expect(refusal(c, link)?.reason ?? null).toBe(why))
  it('offer to give the right to have sub-agents', () =>
    expect(refusal(base(), {from: 'M', handle: 'subagent', to: 'K'})?.fix).toBe('subagents'))
  it('S0-50.6 may replace themselves', () => {
    const c = base(sub('P', 'K'))
    expect(refusal(c, {from: 'L', handle: 'subagent', to: 'K'}, 1)).toBeNull()
  })
})

describe('edges', () => {
  it.each<[string, Link, string | null]>([
    ['S0-22 from a condition', {from: 'q', handle: 'condition-1', to: 'P'}, null],
    [
      'S0-22 from a condition that is not there',
      {from: 'q', handle: 'condition-2', to: 'P'},
      'A connection from "q" by the handle "condition 3" is never followed; ' +
        'the handles are equals a, equals b, no match.',
    ],
    [
      'S0-22 without a handle',
      {from: 'q', handle: 'output', to: 'P'},
      'A connection from "q" by the handle "next" is never followed; the handles are equals a, equals b, no match.',
    ],
    ['S0-6 to nothing', {from: 's', handle: 'output', to: 'none'}, 'Connection target "none" not found'],
    ['S0-6 from nothing', {from: 'none', handle: 'output', to: 's'}, 'Connection source "none" not found'],
    [
      'S0-40 twice',
      {from: 's', handle: 'output', to: 'P'},
      '"s" and "P" are connected already: a second connection would start "P" twice.',
    ],
    ['S0-40 in parallel', {from: 's', handle: 'output', to: 'q'}, null],
    ['S0-47 in a loop', {from: 'P', handle: 'output', to: 'P'}, null],
  ])('%s', (_, link, why) => expect(refusal(base(), link)?.reason ?? null).toBe(why))
})

describe('a document as it is drawn', () => {
  it('S0-2 has the older type input as an approval', () => {
    const n = canvas({nodes: [{id: 1, type: 'input'}], connections: []}).nodes[0]!
    expect([n.id, n.kind, handlesOf(n)]).toEqual(['1', 'approval', ['approve', 'reject']])
  })
  it('X-130 has a handle for a deadline', () => {
    const c = canvas({
      nodes: [
        {id: 'a', type: 'approval', data: {deadline: '2d'}},
        {id: 'q', type: 'ask', data: {deadline: 9}},
      ],
      connections: [],
    })
    expect(c.nodes.map(handlesOf)).toEqual([
      ['approve', 'reject', 'timeout'],
      ['output', 'error', 'timeout'],
    ])
  })
  it('S0-22 has the older handle true as the first condition, S0-23 the older condition as one', () => {
    const c = canvas({
      nodes: [{id: 'i', type: 'if', data: {condition: 'yes'}}],
      connections: [{source: 'i', target: 'i', sourceHandle: 'true'}],
    })
    expect([handlesOf(c.nodes[0]!), c.edges[0]!.port]).toEqual([['condition-0', 'false'], 'condition-0'])
  })
  it('has the positions of both forms, and keeps what it does not know', () => {
    const c = canvas({
      nodes: [{id: 'a', type: 'x', x: 1, y: 2}, {id: 'b', type: 'agent', position: {x: 3, y: 4}}, 7],
      connections: [null],
      more: 1,
    })
    expect(c.nodes.map(n => [n.kind, n.at])).toEqual([
      [null, {x: 1, y: 2}],
      ['agent', {x: 3, y: 4}],
      [null, null],
    ])
  })
  it('keeps apart edges that are alike', () => {
    const c = base({source: 's', target: 'P'})
    expect(new Set(c.edges.map(e => e.key)).size).toBe(2)
  })
  it('S0-50.6 takes the first parent', () => expect(parentOf(base(sub('P', 'K'), sub('L', 'K')), 'K')).toBe('P'))
  it.each<[string, RegExp]>([
    ['{', /expected/],
    ['{"nodes": []}', /no list "connections"/],
    ['[]', /no list "nodes" and no list "connections"/],
    ['{"nodes": [], "nodes": [], "connections": []}', /more than once/],
  ])('S0-1 is not drawn where it is %j', (text, why) => {
    const c = readCanvas(text)
    expect('why' in c && c.why).toMatch(why)
  })
})
