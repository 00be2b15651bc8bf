import type {KeyboardEvent} from 'react'
import {type Direction, neighbour} from './places.ts'
import type {Editing} from './use_editing.ts'

export type Actions = {
  open: () => void
  settings: () => void
  find: () => void
  part: (back: boolean) => void // moves the focus to the next part of the editor
  connect: () => void
  add: () => void
  remove: () => void
  duplicate: () => void
  fit: () => void
  tidy: () => void
  focus: (key: string) => void
}

const ways: Record<string, Direction> = {ArrowUp: 'up', ArrowDown: 'down', ArrowLeft: 'left', ArrowRight: 'right'}
const nudge: Record<Direction, readonly [number, number]> = {
  up: [0, -20],
  down: [0, 20],
  left: [-20, 0],
  right: [20, 0],
}

// keysOf returns the keyboard handler of the drawing. Fields and dialogs keep their own keys.
export function keysOf(editing: Editing, a: Actions): (e: KeyboardEvent<HTMLElement>) => void {
  return e => {
    const target = e.target as HTMLElement
    if (e.key === 'F6' && !target.closest('dialog')) {
      e.preventDefault()
      e.stopPropagation()
      a.part(e.shiftKey)
      return
    }
    if (e.defaultPrevented || target.closest('input, textarea, select, dialog, [contenteditable]')) return
    const f = actionOf(e, editing, a)
    if (!f) return
    e.preventDefault()
    e.stopPropagation()
    f()
  }
}

function actionOf(e: KeyboardEvent<HTMLElement>, editing: Editing, a: Actions): (() => void) | null {
  const {c, model, current, nodes, places, full, select, place, readOnly} = editing
  const inside = (e.target as HTMLElement).closest('[data-drawing]') !== null
  const button = (e.target as HTMLElement).closest('button, a[href]') !== null // elements that handle Enter themselves
  // A button there is not about the selected nodes.
  const beside = (e.target as HTMLElement).closest('[data-inspector], [role=toolbar]') !== null
  if (e.metaKey || e.ctrlKey) {
    const key = e.key.toLowerCase()
    if (key === 'a') return () => select(places.keys())
    if (readOnly) return null
    if (key === 'z') return () => void (e.shiftKey ? model.redo() : model.undo())
    if (key === 'y') return () => void model.redo()
    if (key === 'd') return a.duplicate
    return null
  }
  const way = ways[e.key]
  if (way && inside && !button) {
    if (e.altKey && !readOnly && nodes.size > 0) {
      const [dx, dy] = nudge[way]
      return () => {
        const moved = Object.fromEntries(
          [...nodes].map(k => [k, {x: (places.get(k)?.x ?? 0) + dx, y: (places.get(k)?.y ?? 0) + dy}]),
        )
        place({...full, ...moved}, nodes.size === 1 ? `move ${current}` : `move ${nodes.size} nodes`, 'nudge')
      }
    }
    if (e.altKey) return null
    const next = current ? neighbour(c, places, current, way) : (places.keys().next().value ?? null)
    return () => {
      if (!next) return
      select(e.shiftKey ? [...nodes, next] : [next])
      a.focus(next)
    }
  }
  if (e.altKey) return null
  switch (e.key) {
    case 'Enter':
      return current && !button ? a.open : null
    case 'Escape':
      return nodes.size > 0 && !button ? () => select([]) : null
    case '/':
      return a.find
    case 's':
      return a.settings
    case 'f':
      return a.fit
    case 'Delete':
    case 'Backspace':
      return readOnly || beside ? null : a.remove
    case 'c':
      return current && !readOnly ? a.connect : null
    case 'a':
      return readOnly ? null : a.add
    case 't':
      return readOnly || beside ? null : a.tidy
    default:
      return null
  }
}
