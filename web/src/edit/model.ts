import {history, invertedEffects, isolateHistory, redo, redoDepth, undo, undoDepth} from '@codemirror/commands'
import {
  Annotation,
  type ChangeSet,
  Compartment,
  EditorState,
  type Extension,
  StateEffect,
  StateField,
  type Text,
  Transaction,
  type TransactionSpec,
} from '@codemirror/state'

// Change replaces a part of the text. Offsets count UTF-16 code units of the text before the
// change.
export type Change = {from: number; to: number; insert: string}

export type Point = Readonly<{x: number; y: number}>

// Layout has the positions of nodes by id. The server places the other nodes.
export type Layout = Readonly<Record<string, Point>>

// Update describes a change of a model. label is the description of the change, or of the change
// that was undone.
export type Update = {text: boolean; layout: boolean; label: string; how: 'do' | 'undo' | 'redo'; changes: ChangeSet}

export type Edit = {
  changes?: readonly Change[]
  layout?: Layout
  // group joins an edit with the previous one if that has the same group and was made less than two
  // seconds ago: keystrokes in one field are undone together.
  group?: string
}

// Attached is a view that shows the state of a model, and receives its transactions.
export type Attached = {update: (transactions: readonly Transaction[]) => void}

const groupDelay = 2000
// undoMost is the minimum number of changes that can be undone, which covers any session that a
// user works through.
const undoMost = 10_000

const layoutEffect = StateEffect.define<Layout | null>()
const labelEffect = StateEffect.define<string>()
const groupMark = Annotation.define<string>()

const layoutField = StateField.define<Layout | null>({
  create: () => null,
  update: (layout, tr) => tr.effects.reduce((was, e) => (e.is(layoutEffect) ? e.value : was), layout),
})

const groupField = StateField.define<string>({
  create: () => '',
  update: (group, tr) => tr.annotation(groupMark) ?? (tr.docChanged ? '' : group),
})

// undoable makes undo cover the layout, and keeps the label of an edit.
const undoable = invertedEffects.of(tr => {
  const back: StateEffect<unknown>[] = []
  for (const e of tr.effects) {
    if (e.is(layoutEffect)) back.push(layoutEffect.of(tr.startState.field(layoutField)))
    if (e.is(labelEffect)) back.push(labelEffect.of(e.value))
  }
  return back
})

const joins = (tr: Transaction, isAdjacent: boolean): boolean => {
  const group = tr.annotation(groupMark)
  return group ? tr.startState.field(groupField) === group : isAdjacent && tr.startState.field(groupField) === ''
}

// DocumentModel holds the text of a document with its layout, and the undo history of both. It
// needs no view: the text editor shows its state, the canvas editor reads and changes it, and both
// share one history.
//
// The text is kept unchanged: line endings are those of the document, and lines end at '\n' alone,
// so that offsets are those of the text.
export class DocumentModel {
  #state: EditorState
  #listeners = new Set<(u: Update) => void>()
  #attached = new Set<Attached>()
  #view = new Compartment()
  #known: {doc: Text; text: string} | null = null
  // #moved is the last edit, if it moved nodes and did not change the text.
  #moved: {group: string; at: number} | null = null
  #quiet = false

  constructor(text: string, layout: Layout | null = null) {
    this.#state = EditorState.create({
      doc: text,
      extensions: [
        EditorState.lineSeparator.of('\n'),
        history({minDepth: undoMost, newGroupDelay: groupDelay, joinToEvent: joins}),
        layoutField.init(() => layout),
        groupField,
        undoable,
        this.#view.of([]),
      ],
    })
  }

  get state(): EditorState {
    return this.#state
  }

  get text(): string {
    const {doc} = this.#state
    if (this.#known?.doc !== doc) this.#known = {doc, text: doc.toString()}
    return this.#known.text
  }

  // layout is null until an edit sets one; until then, the layout stored elsewhere applies.
  get layout(): Layout | null {
    return this.#state.field(layoutField)
  }

  get canUndo(): boolean {
    return undoDepth(this.#state) > 0
  }

  get canRedo(): boolean {
    return redoDepth(this.#state) > 0
  }

  // change changes the text; the changes do not overlap. It is one undo step. It throws RangeError
  // if a change is outside the text; nothing is changed then.
  change(changes: readonly Change[], label: string): void {
    this.edit({changes}, label)
  }

  // edit changes text and layout in one step. An edit that changes nothing is not a step.
  edit(edit: Edit, label: string): void {
    const changes = (edit.changes ?? []).filter(c => this.#state.sliceDoc(c.from, c.to) !== c.insert)
    const effects: StateEffect<unknown>[] = [labelEffect.of(label)]
    const move = edit.layout !== undefined && changes.length === 0 ? (edit.group ?? null) : null
    // The history joins only changes of the text: an edit that joins a move replaces it.
    if (
      move !== null &&
      this.#moved?.group === move &&
      Date.now() - this.#moved.at < groupDelay &&
      !sameLayout(edit.layout!, this.layout)
    )
      this.#takeBack()
    if (edit.layout && !sameLayout(edit.layout, this.layout)) effects.push(layoutEffect.of(edit.layout))
    if (changes.length === 0 && effects.length === 1) return
    const annotations: Annotation<unknown>[] = [groupMark.of(edit.group ?? label)]
    if (edit.group && move === null) annotations.push(Transaction.userEvent.of('input.type'))
    else annotations.push(isolateHistory.of('full'))
    this.dispatch({changes, effects, annotations})
    if (move !== null) this.#moved = {group: move, at: Date.now()}
  }

  #takeBack(): void {
    this.#quiet = true
    this.undo()
    this.#quiet = false
  }

  // setText replaces the text with the smallest possible change.
  setText(text: string, label: string): void {
    const change = smallest(this.text, text)
    if (change) this.change([change], label)
  }

  // select puts the cursor at an offset, and scrolls it into view if there is a view.
  select(from: number, to = from): void {
    const end = this.#state.doc.length
    this.dispatch({selection: {anchor: Math.min(from, end), head: Math.min(to, end)}, scrollIntoView: true})
  }

  undo(): boolean {
    return undo({state: this.#state, dispatch: tr => this.apply([tr])})
  }

  redo(): boolean {
    return redo({state: this.#state, dispatch: tr => this.apply([tr])})
  }

  subscribe(f: (u: Update) => void): () => void {
    this.#listeners.add(f)
    return () => {
      this.#listeners.delete(f)
    }
  }

  dispatch(spec: TransactionSpec): void {
    this.apply([this.#state.update(spec)])
  }

  // apply applies transactions that start at the state of the model, including those of views.
  apply(transactions: readonly Transaction[]): void {
    for (const tr of transactions) {
      if (tr.startState !== this.#state) throw new Error('a change was made for a state that is no longer the document')
      this.#state = tr.state
    }
    for (const a of this.#attached) a.update(transactions)
    for (const tr of transactions) this.#tell(tr)
  }

  // attach adds the extensions of a view to the state, and forwards updates to the view that make
  // returns. The returned function removes both. A model has one view at a time.
  attach<V extends Attached>(extensions: Extension, make: (state: EditorState) => V): {view: V; detach: () => void} {
    this.dispatch({effects: this.#view.reconfigure(extensions)})
    const view = make(this.#state)
    this.#attached.add(view)
    return {
      view,
      detach: () => {
        this.#attached.delete(view)
        this.dispatch({effects: this.#view.reconfigure([])})
      },
    }
  }

  #tell(tr: Transaction): void {
    const layout = tr.effects.some(e => e.is(layoutEffect))
    if (!tr.docChanged && !layout) return
    this.#moved = null
    if (this.#quiet) return
    const label = tr.effects.find(e => e.is(labelEffect))?.value ?? 'typing'
    const how = tr.isUserEvent('undo') ? 'undo' : tr.isUserEvent('redo') ? 'redo' : 'do'
    const update = {text: tr.docChanged, layout, label: String(label), how, changes: tr.changes} as const
    for (const f of this.#listeners) f(update)
  }
}

// sameLayout reports whether two layouts have the same positions.
export function sameLayout(a: Layout, b: Layout | null): boolean {
  if (b === null) return false
  const names = Object.keys(a)
  return names.length === Object.keys(b).length && names.every(n => a[n]!.x === b[n]?.x && a[n]!.y === b[n]?.y)
}

// smallest returns the single change that turns one text into another, without their common prefix
// and suffix, or null if they are equal. It does not split a surrogate pair.
export function smallest(was: string, now: string): Change | null {
  if (was === now) return null
  const least = Math.min(was.length, now.length)
  let head = 0
  while (head < least && was.charCodeAt(head) === now.charCodeAt(head)) head++
  if (head > 0 && isHigh(was.charCodeAt(head - 1))) head--
  let tail = 0
  while (tail < least - head && was.charCodeAt(was.length - 1 - tail) === now.charCodeAt(now.length - 1 - tail)) tail++
  if (tail > 0 && isLow(was.charCodeAt(was.length - tail))) tail--
  return {from: head, to: was.length - tail, insert: now.slice(head, now.length - tail)}
}

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000
