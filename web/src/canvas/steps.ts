import {type DocumentModel, sameLayout} from '../edit/model.ts'
import type {Graphs} from './branches.ts'
import {movedPlaces, withPlaces} from './layout_keys.ts'
import type {Layout, Step} from './operations.ts'

// placesNow returns the positions of the nodes of all graphs: the stored ones, base, until a step
// changes some; then the positions in the model, which lack what a step removed.
export const placesNow = (model: DocumentModel, base: Layout): Layout => model.layout ?? base

// makeStep makes a step in the graph with a key. Steps with the same group are undone together.
export function makeStep(model: DocumentModel, base: Layout, key: string, step: Step, group?: string): void {
  make(model, base, step, step.layout && withPlaces(placesNow(model, base), key, step.layout), group)
}

// makeGraphs makes a step that adds, renames or deletes a graph, with the positions of its nodes.
export function makeGraphs(model: DocumentModel, base: Layout, step: Step & Pick<Graphs, 'moved'>): void {
  make(model, base, step, step.moved && movedPlaces(placesNow(model, base), step.moved.from, step.moved.to))
}

function make(model: DocumentModel, base: Layout, {changes, label}: Step, layout?: Layout, group?: string): void {
  const moved = layout && !sameLayout(layout, placesNow(model, base))
  model.edit({changes, ...(moved ? {layout} : {}), ...(group ? {group} : {})}, label)
}
