import {JSONEdit} from '../doc/edit.ts'
import type {Canvas} from './document.ts'
import type {Graph} from './graphs.ts'
import {slug} from './new_canvas.ts'
import {append, freshID, guarded, no, type Outcome} from './operations.ts'

// This module edits the branches of a rounds document. Schedules, runs and the layout refer to
// branches by id.

// Graphs is an outcome that also names the graph to show afterwards, and a graph whose key has
// changed.
export type Graphs = Outcome & {show?: string; moved?: {from: string; to: string | null}}

// addBranch adds a branch without nodes.
export function addBranch(c: Canvas, graphs: readonly Graph[], name: string): Graphs {
  const taken = new Set(graphs.map(g => g.id))
  const id = freshID(taken, slug(name) || 'branch')
  const made = guarded((): Outcome => {
    const e = new JSONEdit(c.text)
    append(e, ['branches'], {id, name: name.trim() || id, executionMode: 'one_time', nodes: [], edges: []})
    return {label: `add branch ${id}`, changes: e.changes(), select: []}
  })()
  return {...made, show: id}
}

// renameBranch changes the id of a branch. The positions of its nodes follow.
export function renameBranch(c: Canvas, graphs: readonly Graph[], g: Graph, id: string): Graphs {
  if (g.index === null || id === g.id) return {label: 'rename', changes: []}
  if (id.trim() === '') return no('S1-20', 'The id of a branch must not be empty.')
  if (graphs.some(x => x.id === id)) return no('S1-20', `Branch id "${id}" is used twice.`)
  const made = guarded((): Outcome => {
    const e = new JSONEdit(c.text)
    e.set(['branches', g.index!, 'id'], id)
    return {label: `rename branch ${g.id} to ${id}`, changes: e.changes()}
  })()
  return {...made, show: id, moved: {from: g.key, to: id}}
}

// removeBranch deletes a branch with everything in it.
export function removeBranch(c: Canvas, g: Graph): Graphs {
  if (g.index === null) return no('S1-20', 'The main graph cannot be deleted; it may be empty beside branches.')
  const made = guarded((): Outcome => {
    const e = new JSONEdit(c.text)
    e.removeItems(['branches'], [g.index!])
    return {label: `delete branch ${g.id}`, changes: e.changes(), select: []}
  })()
  return {...made, show: '', moved: {from: g.key, to: null}}
}

// begin makes a node the first node of its graph, with which runs start unless edges lead to it and
// to all others but one (S1-2).
export const begin = guarded((c: Canvas, index: number): Outcome => {
  const e = new JSONEdit(c.text)
  e.move(c.shape.nodes, index, 0)
  return {label: `begin with ${c.nodes[index]?.id ?? ''}`, changes: e.changes()}
})
