import {readFileSync} from 'node:fs'
import {describe, expect, it} from 'vitest'
import type {SchemaObject} from '../../lib/json_schema.ts'
import {languageOf} from '../languages.ts'
import {hoverAt} from './hover.ts'
import {type Offer, offersAt, type Vocabulary} from './offers.ts'

const formats = ['canvas', 'rounds', 'routes', 'steps'] as const
type Format = (typeof formats)[number]

const schemas = Object.fromEntries(
  formats.map(f => [
    f,
    JSON.parse(readFileSync(new URL(`../../../../docs/schema/${f}.json`, import.meta.url), 'utf8')) as SchemaObject,
  ]),
) as Record<Format, SchemaObject>

const known = (format: Format): Vocabulary => ({format, schema: schemas[format], agents: ['stored']})

// at returns a text and the position of the cursor in it, which ¦ marks.
const at = (marked: string): [text: string, offset: number] => [marked.replace('¦', ''), marked.indexOf('¦')]

const offered = (format: Format, marked: string) => {
  const [text, offset] = at(marked)
  const got = offersAt(text, offset, languageOf(text), known(format))
  const typed = got ? text.slice(got.from, offset) : ''
  return {text, offset, got, list: (got?.list ?? []).filter(o => o.label.startsWith(typed))}
}

const labels = (format: Format, marked: string): string[] => offered(format, marked).list.map(o => o.label)

// applied returns the text after an offer was accepted, with the cursor.
const applied = (format: Format, marked: string, label: string): string => {
  const {text, offset, got, list} = offered(format, marked)
  const o: Offer | undefined = list.find(x => x.label === label)
  if (!got || !o) return `${label} is not offered, but: ${list.map(x => x.label).join()}`
  const begin = got.from - got.lead
  return (
    `${text.slice(0, begin)}${o.insert.slice(0, o.cursor)}¦` +
    `${o.insert.slice(o.cursor)}${text.slice(offset + got.tail)}`
  )
}

// Labels that start with ! must not be offered; … means that others may follow.
const table: [format: Format, text: string, labels: string[]][] = [
  // Keys of the document.
  ['steps', '¦', ['agents', 'workflow', 'concurrency', '…']],
  ['steps', 'workflow: []\n¦', ['agents', '!workflow', '…']],
  ['steps', 'workflow: []\nag¦', ['agents']],
  ['steps', '# a comment ¦', []],
  ['steps', '{"¦', ['agents', 'workflow', '…']],
  ['steps', '{¦}', ['agents', 'workflow', '…']],
  ['canvas', '{"nodes": [], ¦', ['!nodes', 'connections', '…']],
  ['routes', 'nodes: []\ned¦', ['edges']],
  ['rounds', '{"nodes": [], "max¦"}', ['maxRounds']],
  // Keys that depend on the type.
  ['steps', 'workflow:\n  - ¦', ['type', 'id', '…', '!data']],
  ['steps', 'workflow:\n  - type: sleep\n    ¦', ['for', 'id', 'if', 'until']],
  ['steps', 'workflow:\n  - {type: sleep, ¦}', ['for', 'id', 'if', 'until']],
  ['steps', '{"workflow": [{"type": "sleep", "¦"}]}', ['for', 'id', 'if', 'until']],
  ['steps', '{"workflow": [{"type": "sleep", "id": "a"¦}]}', ['for', 'if', 'until']],
  ['steps', 'workflow:\n  - type: agent\n    name: x\n    ¦', ['!name', '!condition', 'prompt', '…']],
  ['steps', 'workflow:\n  - type: end\n    s¦\n    id: a\n', ['status']],
  [
    'steps',
    'workflow:\n  - type: condition\n    condition: "true"\n    true:\n      - type: end\n        me¦',
    ['message'],
  ],
  [
    'canvas',
    '{"nodes": [{"id": "a", "type": "if", "data": {"¦"}}]}',
    ['condition', 'conditions', '!systemPrompt', '…'],
  ],
  ['canvas', '{"nodes": [{"id": "a", "type": "agent", "data": {"user¦"}}]}', ['userPrompt']],
  ['canvas', 'nodes:\n  - id: a\n    type: agent\n    data:\n      sys¦', ['systemPrompt']],
  ['rounds', 'nodes:\n  - id: a\n    type: tool\n    config:\n      t¦', ['tool', 'timeout']],
  ['rounds', 'branches:\n  - nodes:\n      - id: a\n        ty¦', ['type']],
  ['routes', 'nodes:\n- id: a\n  node¦', ['nodeType', 'node_type', 'nodeName', 'node_name']],
  ['routes', '{"nodes": [{"id": "a", "nodeType": "AGENT", "node¦"}]}', ['nodeName', 'node_name']],
  // Other spellings of existing keys.
  ['rounds', 'edges:\n  - from: a\n    ¦', ['to', '!source', '!from', '…']],
  // Values.
  ['steps', 'workflow:\n  - type: ¦', ['agent', 'condition', 'parallel', '…']],
  ['steps', 'workflow:\n  - type: co¦', ['condition']],
  ['steps', 'workflow:\n  - type: "co¦', ['condition']],
  ['steps', '{"workflow": [{"type": "¦"}]}', ['agent', 'condition', '…']],
  ['steps', '{"workflow": [{"type": ¦}]}', ['agent', 'condition', '…']],
  ['steps', '{"workflow": [{"type": ¦', ['agent', 'condition', '…']],
  ['steps', 'workflow:\n  - {type: end, status: ¦}', ['completed', 'failed']],
  ['steps', 'agents:\n  a:\n    add_date: ¦', ['true', 'false']],
  ['routes', 'edges:\n  - conditionType: A¦', ['ALWAYS']],
  ['routes', 'nodes:\n  - nodeType: ¦', ['AGENT', 'TOOL_EXECUTOR', 'HUMAN']],
  ['canvas', '{"nodes": [{"type": "a¦', ['agent', 'approval', 'ask']],
  ['rounds', 'executionMode: ¦', ['one_time', 'interval', 'continuous']],
  ['steps', 'workflow:\n  - type: approval\n    on_deadline: ¦', ['fail', 'approve', 'reject', '…']],
  // Lists and maps.
  ['steps', 'workflow: ¦', ['…', '- …']],
  ['steps', 'workflow:\n  ¦', ['- ', '…']],
  ['steps', '{"workflow": ¦}', ['[]', '{}']],
  ['steps', '{"workflow": [¦]}', ['{}']],
  ['canvas', '{"nodes": [{"id": "a"}, ¦]}', ['{}']],
  // Names of the document.
  ['canvas', '{"nodes": [{"id": "one"}, {"id": "two"}], "connections": [{"source": "¦"}]}', ['one', 'two']],
  ['canvas', 'nodes:\n  - id: one\n  - id: two\nconnections:\n  - source: one\n    target: ¦', ['one', 'two']],
  ['rounds', 'branches:\n  - nodes: [{id: in}]\n    edges:\n      - from: ¦\nnodes: [{id: out}]', ['in']],
  ['routes', 'nodes: [{id: n1}]\nedges:\n  - sourceNodeId: ¦', ['n1']],
  ['routes', 'agents: [{id: writer}]\nnodes:\n  - agentId: ¦', ['writer', 'stored']],
  ['steps', 'agents: {writer: {}}\nworkflow:\n  - type: agent\n    name: ¦', ['writer', 'stored']],
  ['steps', 'workflow:\n  - {type: parallel, name: ¦}', []],
  ['steps', 'workflow:\n  - {id: a, type: set}\n  - type: tool\n    tool: t\n    on_error:\n      goto: ¦', ['a', 't']],
  ['steps', 'workflow:\n  - {id: a, type: set}\n  - {type: condition, condition: x, true: ¦}', ['a', '…']],
  ['steps', 'workflow:\n  - {id: a, type: set}\n  - {type: switch, cases: [{when: x, steps: ¦}]}', ['a', '…']],
  [
    'steps',
    'workflow:\n  - {type: switch, cases: [{when: x, steps: [{id: b, type: set}]}], else: [{id: c, type: set}]}\n' +
      '  - {type: end, output: "{{ $steps.¦',
    ['b', 'c', '…'],
  ],
  // Expressions.
  ['steps', 'workflow:\n  - {id: a, type: set}\n  - {type: end, output: "{{ $steps.¦', ['a']],
  ['steps', 'workflow:\n  - {id: a, type: set}\n  - type: end\n    output: "{{ $steps.a.¦ }}"', ['output', '…']],
  ['steps', 'workflow:\n  - type: end\n    output: "{{ $¦', ['$steps', '$input', '…']],
  ['steps', 'inputs: {city: string}\nworkflow:\n  - type: agent\n    prompt: |\n      To {{ $input.¦', ['city']],
  [
    'canvas',
    '{"nodes": [{"id": "a", "type": "agent", "data": {"userPrompt": "See {{¦"}}]}',
    ['{{PREVIOUS_OUTPUT}}', '{{APPROVAL_NOTE}}', '…'],
  ],
  // Documents that are broken elsewhere.
  ['steps', 'workflow:\n  - id: "a\n    type: end\n    st¦', ['status']],
  ['steps', 'workflow:\n  - {id: a, type: end, st¦\n  - {id: b}', ['status']],
  ['steps', 'a: [1, {\nworkflow:\n  - ty¦', ['type']],
  ['canvas', '{"nodes": [{"id": "a", "type": }, {"id": "b", "ty¦', ['type']],
  ['canvas', '{"nodes": [{"id" "a"}, {"ty¦"}], ]}', ['type']],
  ['steps', '\ufeffworkflow:\r\n  - type: end\r\n    st¦\r\n', ['status']],
  ['steps', '# ä👩é\nworkflow:\n  - {id: "ä👩é", type: end, st¦}', ['status']],
  ['steps', '---\nworkflow:\n  - type: end\n    st¦\n---\nb: 1', ['status']],
  // Positions where nothing can be offered.
  ['steps', 'workflow:\n  - type: agent\n    prompt: |\n      ¦', []],
  ['steps', '__proto__:\n  ¦', []],
  ['steps', 'constructor: ¦', []],
]

describe('completion', () => {
  it.each(table)('of %s: %j', (format, text, want) => {
    const got = labels(format, text)
    const demanded = want.filter(l => !l.startsWith('!') && l !== '…')
    expect(got).toEqual(expect.arrayContaining(demanded))
    for (const l of want) if (l.startsWith('!')) expect(got).not.toContain(l.slice(1))
    if (!want.includes('…')) expect(got).toHaveLength(demanded.length)
  })

  it.each<[Format, string, string, string]>([
    ['steps', '{"wo¦"}', 'workflow', '{"workflow": [¦]}'],
    ['steps', '{"workflow": [{"ty¦', 'type', '{"workflow": [{"type": "¦"'],
    ['steps', '{"workflow": [{"ty¦pe": "end"}]}', 'type', '{"workflow": [{"type"¦: "end"}]}'],
    [
      'steps',
      '{"workflow": [{"type": "agent"¦ "id": "a"}]}',
      'name',
      '{"workflow": [{"type": "agent", "name": "¦",  "id": "a"}]}',
    ],
    ['steps', '{"workflow": [{"type": "e¦nd", "id": "a"}]}', 'end', '{"workflow": [{"type": "end"¦, "id": "a"}]}'],
    ['steps', 'wo¦', 'workflow', 'workflow:\n  - ¦'],
    ['steps', 'workflow:\n    - ty¦', 'type', 'workflow:\n    - type: ¦'],
    [
      'steps',
      'workflow:\n    - type: parallel\n      st¦',
      'steps',
      'workflow:\n    - type: parallel\n      steps:\n          - ¦',
    ],
    ['steps', 'workflow:\n  - {type: parallel, st¦}', 'steps', 'workflow:\n  - {type: parallel, steps: [¦]}'],
    [
      'steps',
      'workflow:\r\n  - type: tool\r\n    ar¦\r\n',
      'args',
      'workflow:\r\n  - type: tool\r\n    args:\r\n      ¦\r\n',
    ],
    [
      'steps',
      'workflow:\n  - type: condition\n    tr¦',
      'true',
      'workflow:\n  - type: condition\n    "true":\n      - ¦',
    ],
    [
      'steps',
      'workflow:\n  - type: end\n    output: "{{ $steps.¦ }}"\n  - {id: a, type: set}',
      'a',
      'workflow:\n  - type: end\n    output: "{{ $steps.a¦ }}"\n  - {id: a, type: set}',
    ],
    [
      'canvas',
      '{"nodes": [{"data": {"userPrompt": "{{P¦}}"}, "type": "agent"}]}',
      '{{PREVIOUS_OUTPUT}}',
      '{"nodes": [{"data": {"userPrompt": "{{PREVIOUS_OUTPUT}}¦"}, "type": "agent"}]}',
    ],
    [
      'canvas',
      'nodes: [{id: "a: b"}]\nconnections:\n  - source: ¦',
      'a: b',
      'nodes: [{id: "a: b"}]\nconnections:\n  - source: "a: b"¦',
    ],
    [
      'canvas',
      '{"nodes": [{"id": "a\\"\\u202e"}], "connections": [{"source": ¦}]}',
      'a"\u202e',
      '{"nodes": [{"id": "a\\"\\u202e"}], "connections": [{"source": "a\\"\u202e"¦}]}',
    ],
  ])('writes into %s %j: %s', (format, text, label, want) => expect(applied(format, text, label)).toBe(want))
})

describe('completion of hostile texts', () => {
  it.each<[string, string]>([
    ['10,000 brackets', `${'['.repeat(10_000)}¦`],
    ['10,000 braces in YAML', `a: ${'{b: '.repeat(10_000)}¦`],
    ['10,000 dashes', `${'- '.repeat(10_000)}¦`],
    ['2 MB in one line', `a: "${'x'.repeat(2_000_000)}¦`],
    ['names of JavaScript', '__proto__: {constructor: {¦'],
  ])('offers nothing in %s', (_, text) => expect(labels('steps', text)).toEqual([]))
  it('offers required keys first', () => {
    expect(labels('steps', 'workflow:\n  - ¦')[0]).toBe('type')
    expect(labels('routes', 'nodes:\n  - ¦').slice(0, 1)).toEqual(['id'])
    expect(labels('rounds', 'edges:\n  - ¦').slice(0, 2)).toEqual(['from', 'to'])
  })
})

describe('hover', () => {
  const facts = (format: Format, marked: string) => {
    const [text, offset] = at(marked)
    const got = hoverAt(text, offset, languageOf(text), known(format))
    return got && {...got.facts, shown: text.slice(got.from, got.to)}
  }
  it.each<[Format, string, object]>([
    [
      'steps',
      'workflow:\n  - ty¦pe: end',
      {name: 'type', shown: 'type', about: ['what the step does'], required: true},
    ],
    ['steps', 'workflow:\n  - type: e¦nd', {name: 'type', shown: 'end', about: ['what the step does']}],
    [
      'steps',
      '{"workflow": [{"type": "end", "st¦atus": "failed"}]}',
      {shown: '"status"', values: ['completed', 'failed'], about: ['how the run ends']},
    ],
    [
      'canvas',
      '{"nodes": [{"type": "agent", "data": {"¦model": "a/b"}}]}',
      {name: 'model', type: 'text', about: ['provider/model']},
    ],
    ['routes', 'max¦Steps: 4', {type: 'whole number', about: ['the most steps; 15 by default']}],
    ['rounds', 'nodes:\n  - {id: a, type: age¦nt}', {shown: 'agent', name: 'type'}],
  ])('of %s: %j', (format, text, want) => expect(facts(format, text)).toMatchObject(want))
  it.each<[Format, string]>([
    ['steps', 'nothing¦: 1'],
    ['steps', 'x-own¦: 1'],
    ['steps', '# wor¦kflow: 1'],
    ['steps', '__proto__¦: 1'],
    ['steps', '¦'],
  ])('of %s: %j says nothing', (format, text) => expect(facts(format, text)).toBeNull())
})
