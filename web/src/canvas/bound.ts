import {JSONEdit} from '../doc/edit.ts'
import {laidOut} from '../doc/merge.ts'
import {find, type Path, TextError, valueOf} from '../doc/tree.ts'
import {own} from '../lib/own.ts'
import {isRecord} from '../lib/record.ts'
import type {Canvas} from './document.ts'
import {type Drafts, draftsOf} from './drafts.ts'
import {guarded, setAt} from './operations.ts'
import type {Editing} from './use_editing.ts'

// Held is a value of a document as a field shows it. text is how the document writes it, each item on its own line; '' where it is not there. Numbers have their digits there alone.
// name tells the field from all others of the document: drafts has what was typed into it and is no value yet.
export type Held = {value: unknown; text: string; name: string; drafts: Drafts}

// Bound is a value of a document that a form shows and changes. at is the place of the object that the form is about, and path leads from there.
export type Bound = Held & {
  path: Path
  readOnly: boolean
  set: (v: unknown) => boolean
  child: (key: string | number) => Bound
  // rename gives a key of the object another name, and tells whether it has it.
  rename: (key: string, name: string) => boolean
  // move and remove change a list.
  move: (from: number, to: number) => void
  remove: (index: number) => void
}

// bound gives the value at a place. name tells the object of the form from all others, for what is typed and not yet valid.
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

// nodeAt gives the value at a place; null where there is none, and where a key on the way is there twice.
export function nodeAt(c: Canvas, path: Path) {
  try {
    return find(c.root, path)
  } catch (err) {
    if (err instanceof TextError) return null // the key is there twice
    throw err
  }
}

// textAt gives how the document writes the value at a place; '' where it is not there.
export function textAt(c: Canvas, path: Path): string {
  const n = nodeAt(c, path)
  return n ? laidOut(c.text, n) : ''
}
