import * as fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {apply, invert} from '../doc/edit.ts'
import {copyText, duplicate, paste} from './clipboard.ts'
import {type Canvas, kinds, readCanvas} from './document.ts'
import {
  addNode,
  connect,
  isRefused,
  type Layout,
  moveCondition,
  type Outcome,
  reconnect,
  remove,
  removeCondition,
  rename,
  renamed,
  type Step,
  setAt,
  setField,
} from './operations.ts'
import {handleWord, targetsOf} from './rules.ts'

const text =
  `{"name": "Post", "viewport": {"zoom": 1.50},
 "nodes": [
   {"id": "s", "type": "start", "data": {"initialInput": "bees"}},
   {"id": "w", "type": "agent", "data": {"agentName": "Writer", ` +
  `"tools": ["web_search"], "odd": 12345678901234567890}, "x": 5},
   {"id": "q", "type": "if", "data": {"conditions": [{"value": "a"}, {"value": "b"}, {"value": "c"}]}},
   {"id": "t", "type": "set", "data": {"values": ` +
  `{"all": "{{ $steps.w.output }} {{ $steps['w'].output.x }} {{ $steps.wide }}"}}}],
 "connections": [
   {"source": "s", "target": "w"}, {"source": "w", "target": "q", "data": {"odd": 1e400}},
   {"source": "q", "target": "w", "sourceHandle": "true"},
   {"source": "q", "target": "t", "sourceHandle": "condition-1"},
   {"source": "q", "target": "s", "sourceHandle": "condition-2"}]}
`
const layout: Layout = {w: {x: 10, y: 20}}

const read = (t: string): Canvas => {
  const c = readCanvas(t)
  if ('why' in c) throw new Error(c.why)
  return c
}
const c = read(text)

const done = (o: Outcome, on = c): {text: string; step: Step} => {
  if (isRefused(o)) throw new Error(o.refused.reason)
  const out = apply(on.text, o.changes)
  expect(apply(out, invert(on.text, o.changes))).toBe(on.text)
  return {text: out, step: o}
}
const why = (o: Outcome): string => (isRefused(o) ? `${o.refused.rule}: ${o.refused.reason}` : 'done')

describe('fields', () => {
  const rounded = Number('12345678901234567890')
  it('that are set keep what is equal in them, with its digits', () => {
    const node = read(
      '{"nodes": [{"id": "a", "type": "tool", "data": {"args": {"n": 12345678901234567890, "p": 1.50}}}], ' +
        '"connections": []}',
    )
    const {text: out} = done(setField(node, 0, ['args'], {n: rounded, p: 1.5, to: 'Ada'}), node)
    expect(out).toBe(node.text.replace('1.50', '1.50, "to": "Ada"'))
    expect(done(setField(node, 0, ['args', 'p'], 1.5), node).text).toBe(node.text)
  })
  it('that are lists keep the items beside one that comes', () => {
    const node = read(
      '{"nodes": [{"id": "q", "type": "if", "data": {"conditions": [{"value": 12345678901234567890}]}}], ' +
        '"connections": []}',
    )
    expect(done(setField(node, 0, ['conditions'], [{value: rounded}, {value: ''}]), node).text).toBe(
      node.text.replace('890}', '890}, {"value": ""}'),
    )
  })
})

describe('nodes', () => {
  it.each(kinds.filter(k => k !== 'start'))('of the kind %s are added', kind => {
    const {text: out, step} = done(addNode(c, layout, kind, {x: 1, y: 2}))
    const id = step.select![0]!
    expect(read(out).byID.get(id)?.kind).toBe(kind)
    expect(step.layout).toEqual({...layout, [id]: {x: 1, y: 2}})
    expect(out.replace(/,\n {3}\{[^\n]*\}(?=\],\n "connections")/, '')).toBe(text)
  })
  it('S0-3 have one start', () =>
    expect(why(addNode(c, {}, 'start', {x: 0, y: 0}))).toBe(
      'S0-3: A workflow has exactly one start node; "s" is there already.',
    ))
  it('are added behind a handle', () => {
    const {text: out} = done(addNode(c, {}, 'agent', {x: 0, y: 0}, {from: 'q', handle: 'false'}))
    expect(read(out).edges.at(-1)).toMatchObject({from: 'q', port: 'false', to: 'agent'})
  })
  it('S0-50.2 are added as sub-agents with the right to have them', () => {
    const {text: out} = done(addNode(c, {}, 'agent', {x: 0, y: 0}, {from: 'w', handle: 'subagent'}))
    expect(read(out).byID.get('w')).toMatchObject({mayAsk: true, data: {tools: ['web_search', 'subagents']}})
    expect(read(out).edges.at(-1)).toMatchObject({from: 'w', sub: true, to: 'agent'})
  })
  it('S0-50.1 are no sub-agents of another kind', () =>
    expect(why(addNode(c, {}, 'set', {x: 0, y: 0}, {from: 'w', handle: 'subagent'}))).toMatch(/must be an agent node/))
  it('are deleted with their edges', () => {
    const {text: out, step} = done(remove(c, layout, [1], []))
    expect(read(out).nodes.map(n => n.id)).toEqual(['s', 'q', 't'])
    expect(read(out).edges.map(e => e.to)).toEqual(['t', 's'])
    expect([step.layout, step.label]).toEqual([{}, 'delete w'])
  })
  it('S0-5 that have the id of another are deleted without its edges', () => {
    const twice = read('{"nodes": [{"id": "a"}, {"id": "a"}], "connections": [{"source": "a", "target": "a"}]}')
    expect(read(done(remove(twice, {}, [1], []), twice).text).edges).toHaveLength(1)
  })
  it('are renamed in edges, expressions and the layout', () => {
    const {text: out, step} = done(rename(c, layout, 1, 'writer'))
    expect(out).toBe(
      text
        .replaceAll('"w"', '"writer"')
        .replace('$steps.w.', '$steps.writer.')
        .replace("$steps['w']", "$steps['writer']"),
    )
    expect(step.layout).toEqual({writer: {x: 10, y: 20}})
  })
  it.each([
    ['s', 'S0-5: Node id "s" is used twice.'],
    [' ', 'S0-5: The id of a node must not be empty.'],
  ])('S0-5 are not renamed to %j', (id, reason) => expect(why(rename(c, {}, 1, id))).toBe(reason))
  it('have fields, which are added where they are missing', () => {
    expect(done(setField(c, 1, ['agentName'], 'Ada')).text).toBe(text.replace('Writer', 'Ada'))
    expect(done(setField(c, 1, ['params', 'temperature'], 0.5)).text).toBe(
      text.replace('67890}', '67890, "params": {"temperature": 0.5}}'),
    )
    expect(done(setField(c, 1, ['agentName'], undefined)).text).toBe(text.replace('"agentName": "Writer", ', ''))
    const bare = read('{"nodes": [{"id": "a", "type": "agent"}, {"id": "b", "data": null}], "connections": []}')
    expect(done(setField(bare, 0, ['model'], 'm'), bare).text).toContain('"type": "agent", "data": {"model": "m"}}')
    expect(done(setField(bare, 1, ['a', 'b'], 1), bare).text).toContain('"data": {"a": {"b": 1}}}')
    expect(done(setField(bare, 0, ['none'], undefined), bare).text).toBe(bare.text)
    expect(why(setField(read('{"nodes": [7], "connections": []}'), 0, ['a'], 1))).toBe(
      'S0-1: The text does not allow it: there is no value at nodes.0.data.',
    )
  })
  it('and the document have fields', () => {
    expect(done(setAt(c, [], ['name'], 'Mail')).text).toBe(text.replace('Post', 'Mail'))
    expect(done(setAt(c, [], ['viewport'], undefined)).text).toBe(
      text.replace(' "viewport": {"zoom": 1.50},\n', '\n').replace('"Post",\n', '"Post",\n'),
    )
  })
})

describe('edges', () => {
  it('are drawn', () => {
    expect(done(connect(c, {from: 't', handle: 'error', to: 'w'})).text).toBe(
      text.replace('"condition-2"}', '"condition-2"},\n   {"source": "t", "target": "w", "sourceHandle": "error"}'),
    )
  })
  it('S0-50.2 give the right to have sub-agents where it is asked for', () => {
    const own = read('{"nodes": [{"id": "a", "type": "agent"}, {"id": "b", "type": "agent"}], "connections": []}')
    const link = {from: 'a', handle: 'subagent', to: 'b'}
    expect(why(connect(own, link))).toMatch(/Subagents tool is disabled/)
    const {text: out} = done(connect(own, link, true), own)
    expect(read(out).byID.get('a')?.mayAsk).toBe(true)
    expect(why(connect(own, {...link, to: 'a'}, true))).toMatch(/subagent of itself/)
  })
  it('are led elsewhere, with their other keys', () => {
    expect(done(reconnect(c, 1, {from: 'w', handle: 'output', to: 't'})).text).toBe(
      text.replace('"target": "q"', '"target": "t"'),
    )
    expect(done(reconnect(c, 3, {from: 'q', handle: 'false', to: 't'})).text).toBe(text.replace('condition-1', 'false'))
    expect(done(reconnect(c, 3, {from: 't', handle: 'output', to: 't'})).text).toBe(
      text.replace('"source": "q", "target": "t", "sourceHandle": "condition-1"', '"source": "t", "target": "t"'),
    )
    expect(done(reconnect(c, 2, {from: 'q', handle: 'condition-0', to: 'w'})).text).toBe(text)
    expect(why(reconnect(c, 1, {from: 's', handle: 'output', to: 'w'}))).toMatch(/connected already/)
  })
  it('S0-22 follow their conditions', () => {
    const gone = read(done(removeCondition(c, 2, 0)).text)
    expect(gone.edges.map(e => [e.port, e.to]).slice(2)).toEqual([
      ['condition-0', 't'],
      ['condition-1', 's'],
    ])
    const moved = read(done(moveCondition(c, 2, 2, 0)).text)
    expect(moved.edges.map(e => [e.port, e.to]).slice(2)).toEqual([
      ['condition-1', 'w'],
      ['condition-2', 't'],
      ['condition-0', 's'],
    ])
    expect(moved.nodes[2]!.data.conditions).toEqual([{value: 'c'}, {value: 'a'}, {value: 'b'}])
  })
  it('get ids where the others have them', () => {
    const own = read(
      '{"nodes": [{"id": "a", "type": "agent"}], "connections": [{"id": "e2", "source": "a", "target": "b"}]}',
    )
    expect(done(connect(own, {from: 'a', handle: 'output', to: 'a'}), own).text).toContain(
      '{"id": "e3", "source": "a", "target": "a"}',
    )
  })
})

describe('copies', () => {
  it('are the text of a document', () => {
    const copied = read(copyText(c, layout, [1, 2]))
    expect(copied.nodes.map(n => [n.id, n.at])).toEqual([
      ['w', {x: 10, y: 20}],
      ['q', null],
    ])
    expect(copied.edges.map(e => [e.from, e.port, e.to])).toEqual([
      ['w', 'output', 'q'],
      ['q', 'condition-0', 'w'],
    ])
    expect(copied.text).toContain('12345678901234567890')
    expect(copied.text).toContain('1e400')
  })
  it('are pasted beside themselves with new ids, which their edges and expressions have', () => {
    const {text: out, step} = done(duplicate(c, layout, [1, 3]))
    expect(step.select).toEqual(['w2', 't2'])
    expect(step.layout).toMatchObject({w2: {x: 50, y: 60}})
    const got = read(out)
    expect(got.byID.get('t2')?.data.values).toEqual({
      all: "{{ $steps.w2.output }} {{ $steps['w2'].output.x }} {{ $steps.wide }}",
    })
    expect(out.match(/12345678901234567890/g)).toHaveLength(2)
    expect(out.startsWith(text.slice(0, text.indexOf('],\n "connections"')))).toBe(true)
  })
  it('are pasted into another workflow, where they are wanted', () => {
    const other = read('{"nodes": [], "connections": []}')
    const {text: out, step} = done(paste(other, {}, copyText(c, layout, [0, 1]), {x: 100, y: 100}), other)
    expect(read(out).edges.map(e => [e.from, e.to])).toEqual([['s', 'w']])
    expect(step.layout).toEqual({s: {x: 100, y: 100}, w: {x: 110, y: 120}})
    expect(out).not.toContain('position')
  })
  it('S0-3 bring no second start', () => {
    expect(why(duplicate(c, {}, [0]))).toMatch(/^S0-3/)
    expect(done(duplicate(c, {}, [0, 1])).step.select).toEqual(['w2'])
  })
  it.each(['', 'hello', '[]', '{"nodes": [1, null, {"id": "x", "type": "y"}], "connections": []}'])(
    'S0-1 are not made of %j',
    given => {
      expect(why(paste(c, {}, given))).toMatch(/^S0-1/)
    },
  )
})

it('expressions have the names that steps have now', () => {
  const names = new Map([
    ['a', 'b'],
    ['b', 'a-1'],
  ])
  expect(renamed('$steps.a.x $steps.b $steps["a"] $steps.ab $steps.c', names)).toBe(
    '$steps.b.x $steps["a-1"] $steps["b"] $steps.ab $steps.c',
  )
})

it('handles have words, and targets reasons', () => {
  expect(
    ['output', 'subagent', 'false', 'condition-0', 'condition-1', 'condition-2', 'condition-3', 'approve'].map(h =>
      handleWord(h, [
        {operator: 'contains', value: 'x'},
        {operator: 'greater_or_equal', value: 7},
        {if: '$steps.a.output.ok'},
      ]),
    ),
  ).toEqual([
    'next',
    'sub-agent',
    'no match',
    'contains x',
    'is at least 7',
    '$steps.a.output.ok',
    'condition 4',
    'approve',
  ])
  expect(targetsOf(c, 'w', 'output').map(t => [t.id, t.refused === null])).toEqual([
    ['s', true],
    ['w', true],
    ['q', false],
    ['t', true],
  ])
})

// After any edits the canvas shows the document of the text, and undo restores the bytes.
it('any edits keep the text and the drawing in step', () => {
  const edit = fc.record({
    what: fc.nat(9),
    a: fc.nat(),
    b: fc.nat(),
    c: fc.nat(),
    word: fc.string({unit: 'binary', maxLength: 3}),
  })
  fc.assert(
    fc.property(fc.array(edit, {maxLength: 12}), edits => {
      let now = c
      let places = layout
      const back: {text: string; layout: Layout}[] = []
      for (const e of edits) {
        const i = now.nodes.length === 0 ? -1 : e.a % now.nodes.length
        const j = now.nodes.length === 0 ? -1 : e.b % now.nodes.length
        const [from, to] = [now.nodes[i]?.id ?? '', now.nodes[j]?.id ?? '']
        const handle = ['output', 'subagent', 'false', 'condition-0', 'error'][e.c % 5]!
        const outcome = [
          () => addNode(now, places, kinds[e.b % kinds.length]!, {x: e.a, y: e.b}),
          () => addNode(now, places, 'agent', {x: e.a, y: e.b}, i < 0 ? undefined : {from, handle: 'output'}),
          () => remove(now, places, i < 0 ? [] : [i, j], []),
          () => remove(now, places, [], now.edges.length === 0 ? [] : [e.a % now.edges.length]),
          () => connect(now, {from, handle, to}, true),
          () => reconnect(now, now.edges.length === 0 ? 0 : e.b % now.edges.length, {from, handle, to}),
          () => rename(now, places, i, e.word),
          () => duplicate(now, places, [i, j]),
          () => (i < 0 ? setAt(now, [], ['name'], e.word) : setField(now, i, ['agentName'], e.word)),
          () =>
            now.nodes[i]?.kind === 'if' && now.nodes[i]!.conditions > 0
              ? removeCondition(now, i, e.b % now.nodes[i]!.conditions)
              : setAt(now, [], ['name'], e.word),
        ][e.what]!()
        if (isRefused(outcome)) continue
        const was = now
        now = read(apply(was.text, outcome.changes))
        expect(apply(now.text, invert(was.text, outcome.changes))).toBe(was.text)
        back.push({text: was.text, layout: places})
        places = outcome.layout ?? places
        const plain = JSON.parse(now.text) as {
          nodes: {id: unknown}[]
          connections: {source: unknown; target: unknown}[]
        }
        expect(now.nodes.map(n => n.id)).toEqual(plain.nodes.map(n => String(n.id)))
        expect(now.edges.map(l => [l.from, l.to])).toEqual(
          plain.connections.map(l => [String(l.source), String(l.target)]),
        )
        expect(new Set(now.nodes.map(n => n.id)).size).toBe(now.nodes.length)
        for (const l of now.edges) expect(now.byID.has(l.from) && now.byID.has(l.to)).toBe(true)
      }
    }),
    {numRuns: 40},
  )
}, 60_000)
