import {readdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {parse, valueOf} from '../doc/tree.ts'
import {DocumentModel} from '../edit/model.ts'
import {duplicate} from './clipboard.ts'
import {type Canvas, readCanvas} from './document.ts'
import {addNode, connect, isRefused, type Outcome, remove, rename, setField} from './operations.ts'
import {arranged, placesOf} from './places.ts'

// filesOf gives the files below a folder.
function filesOf(folder: string): string[] {
  return readdirSync(folder, {withFileTypes: true, recursive: true})
    .filter(f => f.isFile() && /\.(json|md|go|txtar)$/.test(f.name))
    .map(f => join(f.parentPath, f.name))
}

// documentsOf gives the canvas documents in a file: the file itself, or the texts in it that begin with a brace.
function documentsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8')
  if (!text.includes('"connections"')) return []
  if (file.endsWith('.json')) return [text]
  if (file.endsWith('.md')) return [...text.matchAll(/```json\n([\s\S]*?)```/g)].map(m => m[1]!)
  if (file.endsWith('.go')) return [...text.matchAll(/`(\s*\{[\s\S]*?)`/g)].map(m => m[1]!)
  return text.split(/^-- .* --\n/m)
}

const documents = ['../examples', '../docs', '../internal/conformance', '../internal/format/canvas/testdata']
  .flatMap(filesOf)
  .flatMap(f => documentsOf(f).map((text, i) => ({name: `${f} ${i}`, text})))
  .filter(d => !('why' in readCanvas(d.text)))

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
    const full = () => Object.fromEntries(placesOf(now(), model.layout))
    // Opened, moved and tidied, the text is what it was.
    model.setLayout(full())
    model.setLayout(Object.fromEntries(arranged(now())), 'tidy')
    expect(model.text).toBe(text)
    // Any edits of it, undone, give the bytes back; in between the text is what is drawn.
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
    expect(model.layout).toEqual({})
  })
})
