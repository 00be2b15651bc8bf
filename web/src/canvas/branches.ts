import {JSONEdit} from '../doc/edit.ts'
import type {Canvas} from './document.ts'
import type {Graph} from './graphs.ts'
import {slug} from './new_canvas.ts'
import {append, freshID, guarded, no, type Outcome} from './operations.ts'

// The branches of a rounds document. Their ids are named by schedules, runs and the layout.

// Graphs is an outcome that also says which graph is shown afterwards, and which one has another key.
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

// renameBranch gives a branch another id. Places of its nodes follow.
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

// removeBranch deletes a branch with all that is in it.
export function removeBranch(c: Canvas, g: Graph): Graphs {
  if (g.index === null) return no('S1-20', 'The main graph cannot be deleted; it may be empty beside branches.')
  const made = guarded((): Outcome => {
    const e = new JSONEdit(c.text)
    e.removeItems(['branches'], [g.index!])
    return {label: `delete branch ${g.id}`, changes: e.changes(), select: []}
  })()
  return {...made, show: '', moved: {from: g.key, to: null}}
}

// begin makes a node the first one of its graph: runs begin with it (S1-2).
export const begin = guarded((c: Canvas, index: number): Outcome => {
  const e = new JSONEdit(c.text)
  e.move(c.shape.nodes, index, 0)
  return {label: `begin with ${c.nodes[index]?.id ?? ''}`, changes: e.changes()}
})
