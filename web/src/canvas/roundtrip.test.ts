import {readdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'
import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {find, parse, valueOf} from '../doc/tree.ts'
import {DocumentModel} from '../edit/model.ts'
import {addBranch, begin, removeBranch, renameBranch} from './branches.ts'
import {duplicate} from './clipboard.ts'
import {type Canvas, dataOf, type Format, kindsOf, readCanvas} from './document.ts'
import {graphsOf, shapeOf} from './graphs.ts'
import {addNode, connect, isRefused, type Outcome, remove, rename, setAt, setField} from './operations.ts'
import {arranged, placesOf} from './places.ts'

// filesOf returns the files in a folder, recursively.
function filesOf(folder: string): string[] {
  return readdirSync(folder, {withFileTypes: true, recursive: true})
    .filter(f => f.isFile() && /\.(json|md|go|txtar)$/.test(f.name))
    .map(f => join(f.parentPath, f.name))
}

// documentsOf returns the documents with a key in a file: the file itself, or the strings in it
// that start with a brace.
function documentsOf(file: string, key: string): string[] {
  const text = readFileSync(file, 'utf8')
  if (!text.includes(key)) return []
  if (file.endsWith('.json')) return [text]
  if (file.endsWith('.md')) return [...text.matchAll(/```json\n([\s\S]*?)```/g)].map(m => m[1]!)
  if (file.endsWith('.go')) return [...text.matchAll(/`(\s*\{[\s\S]*?)`/g)].map(m => m[1]!)
  return text.split(/^-- .* --\n/m)
}

const folders = [
  '../examples',
  '../docs',
  '../internal/conformance',
  '../internal/format/canvas/testdata',
  '../internal/format/rounds/testdata',
]
const files = folders.flatMap(filesOf)
const all = (key: string) => files.flatMap(f => documentsOf(f, key).map((text, i) => ({name: `${f} ${i}`, text})))

const documents = all('"connections"').filter(d => !('why' in readCanvas(d.text)))

// Routes documents have edges, too, but no nodes with a config; every document that can be drawn as
// a rounds document must survive the round trip.
const rounds = [...new Map([...all('"edges"'), ...all('"branches"')].map(d => [d.name, d])).values()].flatMap(d =>
  graphsOf(d.text, 'rounds')
    .map(g => g.key)
    .filter(graph => !('why' in draw(d.text, 'rounds', graph)))
    .map(graph => ({...d, graph})),
)

function draw(text: string, format: Format, graph: string) {
  const g = graphsOf(text, format).find(x => x.key === graph)
  return g ? readCanvas(text, shapeOf(format, g)) : {why: 'there is no such graph', offset: 0}
}

const read = (text: string): Canvas => {
  const c = readCanvas(text)
  if ('why' in c) throw new Error(c.why)
  return c
}

describe('the canvas documents of examples, docs and tests', () => {
  it('are there', () => expect(documents.length).toBeGreaterThan(60))
  it.each(documents)('$name comes back byte for byte', ({text}) => {
    const model = new DocumentModel(text)
    const now = () => read(model.text)
    const act = (o: Outcome) => {
      if (!isRefused(o)) model.edit({changes: o.changes, ...(o.layout ? {layout: o.layout} : {})}, o.label)
    }
    const full = () => Object.fromEntries(placesOf(now(), model.layout ?? {}))
    // A document that was opened, moved and tidied has the original text.
    model.edit({layout: full()}, 'move')
    model.edit({layout: Object.fromEntries(arranged(now()))}, 'tidy')
    expect(model.text).toBe(text)
    // Any edits, once undone, restore the bytes; in between, the text matches the drawing.
    const last = () => now().nodes.length - 1
    act(addNode(now(), full(), 'agent', {x: 0, y: 0}))
    if (last() > 0) {
      act(connect(now(), {from: now().nodes[0]!.id, handle: 'output', to: now().nodes[last()]!.id}))
      act(rename(now(), full(), 0, 'renamed'))
      act(setField(now(), last(), ['agentName'], 'ä👩'))
      act(duplicate(now(), full(), [last(), 0]))
      act(remove(now(), full(), [0], []))
    }
    expect(now().nodes.length).toBe((valueOf(parse(model.text)) as {nodes: unknown[]}).nodes.length)
    while (model.undo());
    expect(model.text).toBe(text)
    expect(model.layout).toBeNull()
  })
})

describe('the rounds documents of examples, docs and tests', () => {
  it('are there, with branches', () => {
    expect(rounds.length).toBeGreaterThan(40)
    expect(rounds.filter(d => d.graph !== '').length).toBeGreaterThan(8)
  })
  it.each(rounds)('$name $graph comes back byte for byte', ({text, graph}) => {
    const model = new DocumentModel(text)
    const edits = fc.array(
      fc.record({
        what: fc.nat({max: 11}),
        a: fc.nat(),
        b: fc.nat(),
        kind: fc.constantFrom(...kindsOf('rounds')),
        word: fc.string({unit: 'grapheme', maxLength: 6}),
      }),
      {
        maxLength: 12,
      },
    )
    fc.assert(
      fc.property(edits, list => {
        for (const e of list) {
          const c = draw(model.text, 'rounds', graph)
          if ('why' in c) break // the branch was deleted or renamed
          const graphs = graphsOf(model.text, 'rounds')
          const g = graphs.find(x => x.key === graph)!
          const full = Object.fromEntries(placesOf(c, {}))
          const [i, k] = [
            c.nodes.length === 0 ? -1 : e.a % c.nodes.length,
            c.nodes.length === 0 ? -1 : e.b % c.nodes.length,
          ]
          const at = {x: e.a % 1000, y: e.b % 1000}
          const act = (): Outcome => {
            switch (e.what) {
              case 0:
              case 1:
                return addNode(c, full, e.kind, at, i < 0 ? undefined : {from: c.nodes[i]!.id, handle: 'output'})
              case 2:
              case 3:
                return i < 0
                  ? begin(c, 0)
                  : connect(c, {from: c.nodes[i]!.id, handle: 'output', to: c.nodes[k]!.id}, true)
              case 4:
                return i < 0 ? addBranch(c, graphs, e.word) : rename(c, full, i, e.word || 'x')
              case 5:
                return i < 0 ? addBranch(c, graphs, e.word) : remove(c, full, [i], [])
              case 6:
                return i < 0 ? addBranch(c, graphs, e.word) : begin(c, i)
              case 7:
                return i < 0 ? addBranch(c, graphs, e.word) : setField(c, i, ['retry', 'max_attempts'], e.b)
              case 8:
                return setAt(c, c.shape.graph, ['maxRounds'], e.b % 2 ? e.a : undefined)
              case 9:
                return e.b % 3 === 0 ? removeBranch(c, g) : addBranch(c, graphs, e.word)
              case 10:
                return e.b % 3 === 0
                  ? renameBranch(c, graphs, g, e.word || 'y')
                  : setAt(c, c.shape.graph, ['turnInstruction'], e.word)
              default:
                return i < 0 ? addBranch(c, graphs, e.word) : duplicate(c, full, [i, k])
            }
          }
          const o = act()
          if (!isRefused(o)) model.edit({changes: o.changes}, o.label)
          parse(model.text)
        }
        while (model.undo());
        expect(model.text).toBe(text)
      }),
      {numRuns: 5},
    )
  })
  it.each(rounds.filter(d => !('why' in draw(d.text, 'rounds', d.graph))))(
    '$name $graph: one field that is changed changes its bytes alone',
    ({text, graph}) => {
      const c = draw(text, 'rounds', graph)
      if ('why' in c) throw new Error(c.why)
      for (const n of c.nodes) {
        const at = find(c.root, [...dataOf(c, n), 'agentId'])
        if (!at) continue
        const o = setField(c, n.index, ['agentId'], 'ä👩')
        if (isRefused(o)) throw new Error(o.refused.reason)
        expect(o.changes).toEqual([{from: at.offset, to: at.offset + at.length, insert: '"ä👩"'}])
      }
    },
  )
})
