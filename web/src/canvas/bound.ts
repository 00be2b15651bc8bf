import {JSONEdit} from '../doc/edit.ts'
import {laidOut} from '../doc/merge.ts'
import {find, type Path, TextError, valueOf} from '../doc/tree.ts'
import {own} from '../lib/own.ts'
import {isRecord} from '../lib/record.ts'
import type {Canvas} from './document.ts'
import {type Drafts, draftsOf} from './drafts.ts'
import {guarded, setAt} from './operations.ts'
import type {Editing} from './use_editing.ts'

// Held is a value of a document as a field shows it. text is the value as the document writes it,
// with each item on its own line, or '' if it is absent; only text keeps the digits of numbers.
// name distinguishes the field from all others of the document: drafts holds the typed text that is
// not a value yet.
export type Held = {value: unknown; text: string; name: string; drafts: Drafts}

// Bound is a value of a document that a form shows and changes. The form is about the object at a
// path of the document; path leads from that object to the value.
export type Bound = Held & {
  path: Path
  readOnly: boolean
  set: (v: unknown) => boolean
  child: (key: string | number) => Bound
  // rename renames a key of the object, and reports whether it did.
  rename: (key: string, name: string) => boolean
  // move and remove change a list.
  move: (from: number, to: number) => void
  remove: (index: number) => void
}

// bound returns the value at a path. name distinguishes the object of the form from all others, for
// typed text that is not valid yet.
export function bound(editing: Editing, at: Path, name: string): Bound {
  const top = nodeAt(editing.c, at)
  return inner(editing, at, name, [], top ? valueOf(top) : undefined)
}

function inner(editing: Editing, at: Path, name: string, path: Path, value: unknown): Bound {
  const {c, act} = editing
  const place = [...at, ...path]
  const edit = (label: string, f: (e: JSONEdit) => void) =>
    act(
      guarded(() => {
        const e = new JSONEdit(c.text)
        f(e)
        return {label, changes: e.changes()}
      })(),
    )
  return {
    value,
    get text() {
      return textAt(c, place)
    },
    name: JSON.stringify([name, ...path]),
    drafts: draftsOf(editing.model),
    path,
    readOnly: editing.readOnly,
    set: v => act(setAt(c, at, path, v), {group: `${name} ${path.join(' ')}`}),
    child: key =>
      inner(
        editing,
        at,
        name,
        [...path, key],
        typeof key === 'number'
          ? Array.isArray(value)
            ? value[key]
            : undefined
          : isRecord(value)
            ? own(value, key)
            : undefined,
      ),
    rename: (key, next) => edit(`rename ${key} to ${next}`, e => e.rename([...place, key], next)),
    move: (from, to) => void edit('move an item', e => e.move(place, from, to)),
    remove: index => void edit('delete an item', e => e.removeItems(place, [index])),
  }
}

// nodeAt returns the value at a path, or null if there is none or if a key on the path occurs
// twice.
export function nodeAt(c: Canvas, path: Path) {
  try {
    return find(c.root, path)
  } catch (err) {
    if (err instanceof TextError) return null // the key occurs twice
    throw err
  }
}

// textAt returns the value at a path as the document writes it, or '' if it is absent.
export function textAt(c: Canvas, path: Path): string {
  const n = nodeAt(c, path)
  return n ? laidOut(c.text, n) : ''
}
