import {readFileSync, writeFileSync} from 'node:fs'
import {describe, expect, it} from 'vitest'
import {isWhole, type Scope, type Suggestion, suggestionsAt, suggestionsInJSON} from '../edit/complete/suggest.ts'
import {wordsOf} from '../edit/complete/words.ts'
import {type Canvas, type CanvasNode, type Format, readCanvas} from './document.ts'
import {graphsOf, shapeOf} from './graphs.ts'
import {type Field, type Form, fieldsOf, graphFields, itemOf, nodeFields, waysOf} from './schema.ts'
import {scopeOf as scopeIn} from './scope.ts'

const schemas: Record<Format, unknown> = {
  canvas: JSON.parse(readFileSync('../docs/schema/canvas.json', 'utf8')),
  rounds: JSON.parse(readFileSync('../docs/schema/rounds.json', 'utf8')),
}

const scopeOf = (c: Canvas, node: CanvasNode | null, holds: string) =>
  scopeIn(c, node, holds, wordsOf(schemas[c.shape.format]))

const order = {
  schema: {
    type: 'object',
    properties: {total: {type: 'number'}, tags: {type: 'array'}, ok: {type: 'boolean'}, 'the note': {type: 'string'}},
  },
}

const canvas = (more: object) => ({
  ...more,
  nodes: [
    {id: 's', type: 'start'},
    {id: 'order', type: 'agent', data: {agentName: 'Reader', structuredOutput: order}},
    {id: 'letter', type: 'agent', data: {agentName: 'Writer', tools: {subagents: true}}},
    {id: 'helper', type: 'agent', data: {agentName: 'Helper'}},
    {id: 'kind', type: 'if', data: {conditions: [{operator: 'contains', value: 'a'}]}},
    {id: 'ok', type: 'approval', data: {}},
    {id: 'the sum', type: 'set', data: {values: {total: 1, 'x y': 2}}},
    {id: 'page', type: 'tool', data: {tool: 'fetch', args: {}, on_error: 'continue'}},
    {id: 'call', type: 'workflow', data: {workflow: 'other'}},
    {id: 'q', type: 'ask', data: {prompt: 'Well?', deadline: '1h'}},
    {id: 'late', type: 'agent', data: {}},
  ],
  connections: [
    ...['s', 'order', 'letter', 'kind'].map((source, i, all) => ({
      source,
      target: all[i + 1] ?? 'ok',
      ...(source === 'kind' ? {sourceHandle: 'false'} : {}),
    })),
    {source: 'letter', target: 'helper', sourceHandle: 'subagent'},
    {source: 'ok', target: 'the sum', sourceHandle: 'approve'},
    {source: 'ok', target: 'letter', sourceHandle: 'reject'},
    ...['the sum', 'page', 'call', 'q'].map((source, i, all) => ({source, target: all[i + 1] ?? 'late'})),
  ],
})
const inputs = {
  city: 'string',
  count: {type: 'integer', title: 'Count'},
  sure: {type: 'boolean'},
  list: {type: 'array'},
  any: {enum: [1, 'a']},
}
const talk = (more: object) => ({
  ...more,
  nodes: [
    {id: 'a', type: 'agent', config: {agentId: 'writer'}},
    {id: 'w2', type: 'agent', config: {agentId: 'judge'}},
    {id: 'ok', type: 'approval', config: {prompt: 'Well?', deadline: '1d'}},
    {id: 'x', type: 'set', config: {values: {n: 1}}},
    {id: 'q', type: 'ask', parameters: {prompt: 'Well?', deadline: 60}},
  ],
  edges: [],
})
const agents = [{id: 'writer'}, {id: 'judge', structured_output: order}]

const documents: [Format, object][] = [
  ['canvas', canvas({inputs})],
  ['canvas', canvas({})],
  ['rounds', {agents, ...talk({inputs, turnInstruction: 'Go on.'}), branches: [talk({id: 'b', name: 'B'})]}],
]

const draw = (text: string, format: Format, branch = ''): Canvas => {
  const c = readCanvas(text, shapeOf(format, graphsOf(text, format).find(g => g.key === branch)!))
  if ('why' in c) throw new Error(c.why)
  return c
}

type Path = (string | number)[]

// holding returns the paths of strings with expressions inside a form.
function holding(form: Form, name: string, path: Path, root: unknown): [Path, string][] {
  if (path.length > 8 || form.kind === 'choice' || form.kind === 'number' || form.kind === 'yes') return []
  if (form.kind === 'group') return below(fieldsOf(form.schema, root), path, root)
  if (form.kind === 'either') return waysOf(name, form.schema, root).flatMap(w => holding(w, name, path, root))
  if (form.kind === 'map') return holding(itemOf(form, root), '', [...path, 'x'], root)
  return form.holds === '' || form.kind === 'list' || form.kind === 'words' ? [] : [[path, form.holds]]
}
const below = (fields: readonly Field[], path: Path, root: unknown) =>
  fields.flatMap(f => holding(f, f.key, [...path, f.key], root))

const inExpression = [
  '',
  '$',
  '$steps.',
  '$input.',
  'l',
  'ro',
  'true && $',
  '$input.count == $',
  '$input.count + $',
  "$steps['the sum'].",
  '$steps.order.',
  '$steps.order.output.',
  '$steps.order.output.tags.',
  '$steps.letter.output.',
  '$steps.page.output.',
  '$input.city.',
  'has($',
  '$steps.letter.output.size() > $',
  "'a' in $",
]
const typed: Record<Scope['read'], string[]> = {
  value: [
    '¦',
    ...inExpression.map(t => `{{ ${t}¦`),
    '{{¦',
    'To {{ $¦ with {{ $input }}',
    '{{$in¦put}}',
    '{{ $input.count + ¦ + 1 }}',
    '{{ $s¦ ? 1 : 2 }}',
    '{{ size($¦',
  ],
  condition: [
    ...inExpression.map(t => `${t}¦`),
    '{{ $¦ }}',
    '!$¦',
    '($¦)',
    '$input.sure || ($¦ == 1)',
    "$¦ == 'a'",
    '$¦ > 1',
    '$input.sure && l¦',
    '$¦ && true',
    'true ? $¦ : false',
  ],
  template: ['¦', '{{¦', '{{ $¦ }}', '{{ $steps.¦', 'a {{ $input.¦ b'],
  token: ['¦', '{{¦', '{{ PREV¦', 'To {{¦ and {{APPROVAL_NOTE}}'],
}

const suggested = (marked: string, scope: Scope): [Suggestion, string][] => {
  const at = marked.indexOf('¦')
  const text = marked.replace('¦', '')
  return suggestionsAt(text, at, scope, true).map(s => [s, text.slice(0, s.from) + s.insert + text.slice(s.to)])
}

type Case = {document: number; path: Path; texts: string[]}

function cases(): Case[] {
  const out: Case[] = []
  const done = new Set<string>()
  for (const [document, [format, doc]] of documents.entries()) {
    const text = JSON.stringify(doc)
    for (const branch of format === 'rounds' ? ['', 'b'] : ['']) {
      const c = draw(text, format, branch)
      const places: [Canvas['nodes'][number] | null, Path, string][] = [
        ...c.nodes.flatMap(n =>
          below(
            n.kind ? nodeFields(schemas[format], n.kind) : [],
            [...c.shape.nodes, n.index, n.dataKey],
            schemas[format],
          ).map(([p, holds]) => [n, p, holds] as [typeof n, Path, string]),
        ),
        ...below(graphFields(schemas[format], branch !== ''), [...c.shape.graph], schemas[format]).map(
          ([p, holds]) => [null, p, holds] as [null, Path, string],
        ),
      ]
      for (const [node, path, holds] of places) {
        const scope = scopeOf(c, node, holds)
        if (!scope) continue
        // All possible input is tried in one field per kind of node, on the nodes that come last;
        // in other fields, a few of the suggestions without a typed prefix.
        const key = `${format} ${node?.kind ?? ''} ${scope.read} ${scope.tokens}`
        const full = ['q', 'late', undefined].includes(node?.id) && !done.has(key)
        done.add(key)
        const named = (t: string) =>
          format === 'rounds'
            ? t.replace("['the sum']", '.x').replace('.order', '.w2').replace('.letter', '.a').replace('.page', '.q')
            : t
        const steps = scope.known.some(k => k.text.startsWith('$steps'))
        const all = typed[scope.read].filter(t => steps || !t.includes('$steps'))
        const texts = (full ? all : ['¦']).flatMap(t => suggested(named(t), scope).map(([, now]) => now))
        out.push({document, path, texts: full ? [...new Set(texts)].sort() : texts.slice(0, 4)})
      }
    }
  }
  return out
}

// The suggestions in these documents are in a file that TestSuggestions of internal/format reads
// and that must be accepted there. UPDATE=1 writes it.
it('suggestions are those that the formats accept', () => {
  const file = new URL('testdata/suggestions.json', import.meta.url)
  const lines = (all: readonly unknown[]) => all.map(x => JSON.stringify(x)).join(',\n')
  const now = `{"documents": [\n${lines(documents.map(([, d]) => d))}\n], "cases": [\n${lines(cases())}\n]}\n`
  if (process.env.UPDATE) writeFileSync(file, now)
  const was = readFileSync(file, 'utf8')
  const known = new Set(was.split('\n'))
  const others = now.split('\n').filter(l => !known.has(l))
  expect(others.map(l => l.slice(0, 200))).toEqual([])
  expect(now).toHaveLength(was.length)
})

describe('suggestions', () => {
  const text = JSON.stringify(canvas({inputs}))
  const c = draw(text, 'canvas')
  const labels = (marked: string, holds: string, id: string, doc = c) =>
    suggested(marked, scopeOf(doc, doc.byID.get(id) ?? null, holds)!).map(([s]) => s.label)
  const inserted = (marked: string, holds: string, id: string, label: string) => {
    const found = suggested(marked, scopeOf(c, c.byID.get(id)!, holds)!).find(([s]) => s.label === label)
    if (!found) throw new Error(`${label} is not offered`)
    const [s, now] = found
    return `${now.slice(0, s.selection[0])}‹${now.slice(...s.selection)}›${now.slice(s.selection[1])}`
  }

  it('name nodes that run before, and no others', () => {
    expect(labels('{{ $steps.¦', 'value', 'page')).toEqual([
      '$steps.ok.decision',
      '$steps.ok.note',
      '$steps.letter.output',
      '$steps.order.output',
      '$steps.order.output.total',
      '$steps.order.output.tags',
      '$steps.order.output.ok',
      "$steps.order.output['the note']",
    ])
    expect(labels('{{ $¦', 'value', 'page')[0]).toBe("$steps['the sum'].output")
    expect(labels('{{ $steps.l¦', 'value', 'order')).toEqual([])
    expect(labels('{{ $¦', 'value', 'order').every(l => l.startsWith('$input'))).toBe(true)
  })
  it('name nodes of a loop behind the others', () => {
    expect(labels('{{ $steps.¦', 'value', 'letter').filter(l => /order.output$|note$/.test(l))).toEqual([
      '$steps.order.output',
      '$steps.ok.note',
    ])
    expect(suggested('{{ $steps.ok.n¦', scopeOf(c, c.byID.get('page')!, 'value')!).map(([s]) => s.about)).toEqual([
      'the note of that answer: ok',
    ])
  })
  it('in a document without inputs prompts have two tokens alone', () => {
    const plain = draw(JSON.stringify(canvas({})), 'canvas')
    expect(labels('{{¦', 'prompt', 'late', plain)).toEqual(['{{PREVIOUS_OUTPUT}}', '{{APPROVAL_NOTE}}'])
    expect(labels('{{ $¦', 'prompt', 'late', plain)).toEqual([])
    expect(labels('{{¦', 'template', 'late', plain)).toEqual(['{{PREVIOUS_OUTPUT}}', '{{APPROVAL_NOTE}}'])
    expect(scopeOf(plain, plain.byID.get('late')!, 'turn')).toBeNull()
  })
  it('are none for sub-agents, whose prompts are not read, and for fields without expressions', () => {
    expect(scopeOf(c, c.byID.get('helper')!, 'prompt')).toBeNull()
    expect(scopeOf(c, c.byID.get('late')!, '')).toBeNull()
  })
  it.each([
    ['Hi {{ $steps.or¦', '$steps.order.output', 'Hi {{ $steps.order.output }}‹›'],
    ['Hi {{¦}}!', '$input.city', 'Hi {{ $input.city }}‹›!'],
    ['Hi {{PREV¦', '{{PREVIOUS_OUTPUT}}', 'Hi {{PREVIOUS_OUTPUT}}‹›'],
    ['Hi ¦!', '$input.city', 'Hi {{ $input.city }}‹›!'],
    ['{{ $steps.letter.output.con¦ }}', ".contains('text')", "{{ $steps.letter.output.contains(‹'text'›) }}"],
    ['{{ $input.ci¦.trim() }}', '$input.city', '{{ $input.city‹›.trim() }}'],
    ['{{ $input.count + $input.an¦', '$input.any', '{{ $input.count + $input.any }}‹›'],
    ['{{ 1 + size($input.ci¦', '$input.city', '{{ 1 + size($input.city) }}‹›'],
    ['{{ let¦', '$steps.letter.output', '{{ $steps.letter.output }}‹›'],
  ])('are written into %s: %s', (typed, label, want) => expect(inserted(typed, 'value', 'q', label)).toBe(want))
  it.each([
    ['¦', '$input.count', '$input.count > 0‹›'],
    ['¦', '$input.city', '$input.city‹›'],
    ['$input.sure && ¦', '$input.city', "$input.sure && $input.city == 'text'‹›"],
    ['$steps.order.output.tags.s¦', '.size()', '$steps.order.output.tags.size() > 0‹›'],
    ['$input.count == ¦', '$steps.order.output.total', '$input.count == $steps.order.output.total‹›'],
  ])('are conditions in %s: %s', (typed, label, want) => expect(inserted(typed, 'condition', 'q', label)).toBe(want))
  it.each([
    ['{{ "$¦', 'value'],
    ['{{ $input }} $¦x', 'template'],
    ["$input.city == '$¦'", 'condition'],
    ['$input.city ¦', 'condition'],
    ['$input.ci¦ty == 1', 'condition'],
    ['{{ $input.city.trim ¦', 'value'],
    ['{{ $input.city.trim().¦', 'value'],
  ])('are none in %s', (typed, holds) => {
    const at = typed.indexOf('¦')
    expect(suggestionsAt(typed.replace('¦', ''), at, scopeOf(c, c.byID.get('q')!, holds)!, false)).toEqual([])
  })
  it('are offered within the texts of JSON alone, and close what is open there', () => {
    const scope = scopeOf(c, c.byID.get('q')!, 'value')!
    const written = (marked: string, asked = false) => {
      const at = marked.indexOf('¦')
      const json = marked.replace('¦', '')
      return suggestionsInJSON(json, at, scope, asked).map(s => [
        json.slice(0, s.from) + s.insert + json.slice(s.to),
        s.selection[1],
      ])
    }
    expect(written('{"a": ¦', true)).toEqual([])
    expect(written('{"a": "b"¦}', true)).toEqual([])
    expect(written('{"a": "{{ $input.ci¦"}')[0]).toEqual(['{"a": "{{ $input.city }}"}', 24])
    expect(written('{"a": {"b": "{{ $input.ci¦"}}')[0]).toEqual(['{"a": {"b": "{{ $input.city }}"}}', 30])
    expect(written('{"a": {"b": "{{ $input.ci¦ }}"}, "c": "{{ $input }}"}')[0]![0]).toBe(
      '{"a": {"b": "{{ $input.city }}"}, "c": "{{ $input }}"}',
    )
    expect(written('{"a\\"": "\\"{{ $input.ci¦')[0]![0]).toBe('{"a\\"": "\\"{{ $input.city }}')
  })
  it('know where a reference is whole', () => {
    const scope = scopeOf(c, c.byID.get('q')!, 'condition')!
    const at = (marked: string) => isWhole(marked.replace('¦', ''), marked.indexOf('¦'), scope)
    expect(['$input¦', '$input.city¦', "true && $steps['the sum'].output¦ > 1"].map(at)).toEqual([true, true, true])
    expect(['¦', '$inp¦ut', '$input.¦', '$input.cit¦', 'input¦'].map(at)).toEqual([false, false, false, false, false])
  })
  it('do not offer values of kinds that an operator does not take', () => {
    expect(labels('$input.count == $input.¦', 'condition', 'q')).toEqual(['$input.count', '$input.any', '.size()'])
    expect(labels('!$input.¦', 'condition', 'q')).toEqual([
      '$input.sure',
      '$input.any',
      '.all(i, i != null)',
      '.exists(i, i != null)',
      '.exists_one(i, i != null)',
    ])
  })
})
