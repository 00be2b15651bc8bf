import {describe, expect, it} from 'vitest'
import {DocumentModel} from '../edit/model.ts'
import {addBranch, type Graphs, removeBranch, renameBranch} from './branches.ts'
import {readCanvas} from './document.ts'
import {graphOf, graphsOf, shapeOf} from './graphs.ts'
import {flatOf, placesIn, storedOf} from './layout_keys.ts'
import {isRefused, type Outcome, remove} from './operations.ts'
import {makeGraphs, makeStep, placesNow} from './steps.ts'

const at = (x: number) => ({x, y: 0})
const text =
  '{"nodes": [{"id": "a", "type": "tool"}, {"id": "c", "type": "tool"}], ' +
  '"branches": [{"id": "b", "nodes": [{"id": "n", "type": "tool"}]}]}'
const stored = {nodes: {a: at(1), c: at(2)}, branches: {b: {n: at(3)}}}

// opened returns a document whose layout is stored, and in which nothing was moved.
function opened() {
  const model = new DocumentModel(text)
  const base = flatOf(stored)
  const graphs = () => graphsOf(model.text, 'rounds')
  const draw = (key: string) => {
    const c = readCanvas(model.text, shapeOf('rounds', graphOf(graphs(), key)))
    if ('why' in c) throw new Error(c.why)
    return c
  }
  const made = <O extends Outcome>(o: O) => {
    if (isRefused(o)) throw new Error(o.refused.reason)
    return o
  }
  const change = (g: Graphs) => {
    const step = made(g)
    if (!isRefused(step)) makeGraphs(model, base, step)
  }
  const step = (key: string, o: Outcome) => {
    const s = made(o)
    if (!isRefused(s)) makeStep(model, base, key, s)
  }
  return {model, base, graphs, draw, change, step, now: () => storedOf(placesNow(model, base))}
}

describe('stored places', () => {
  it('move with a branch that is renamed, and come back when that is undone', () => {
    const d = opened()
    d.change(renameBranch(d.draw('b'), d.graphs(), graphOf(d.graphs(), 'b'), 'z'))
    expect(d.now()).toEqual({nodes: stored.nodes, branches: {z: {n: at(3)}}})
    d.model.undo()
    expect(d.now()).toEqual(stored)
    expect(d.model.layout).toBeNull()
  })
  it('go with a branch that is deleted, and are not those of a new one with its id', () => {
    const d = opened()
    d.change(removeBranch(d.draw(''), graphOf(d.graphs(), 'b')))
    expect(d.now()).toEqual({nodes: stored.nodes})
    d.change(addBranch(d.draw(''), d.graphs(), 'b'))
    expect(placesIn(placesNow(d.model, d.base), 'b')).toEqual({})
  })
  it('go with a node that is deleted', () => {
    const d = opened()
    d.step('', remove(d.draw(''), placesIn(placesNow(d.model, d.base), ''), [1], []))
    expect(d.now()).toEqual({nodes: {a: at(1)}, branches: stored.branches})
    d.model.undo()
    expect(d.now()).toEqual(stored)
  })
  it('are all gone when all nodes are', () => {
    const d = opened()
    d.change(removeBranch(d.draw(''), graphOf(d.graphs(), 'b')))
    d.step('', remove(d.draw(''), placesIn(placesNow(d.model, d.base), ''), [0, 1], []))
    expect(d.now()).toEqual({nodes: {}})
  })
  it('are no change where a step leaves them', () => {
    const d = opened()
    makeStep(d.model, d.base, '', {label: 'move', changes: [], layout: stored.nodes})
    expect(d.model.canUndo).toBe(false)
    d.change(addBranch(d.draw(''), d.graphs(), 'e'))
    d.change(renameBranch(d.draw('e'), d.graphs(), graphOf(d.graphs(), 'e'), 'f'))
    expect(d.model.layout).toBeNull()
  })
})
