import {createContext, type KeyboardEvent, useContext, useLayoutEffect, useMemo, useRef, useState} from 'react'
import {isWhole, type Scope, type Suggestion, suggestionsAt, suggestionsInJSON} from '../edit/complete/suggest.ts'
import {wordsOf} from '../edit/complete/words.ts'
import {clean} from '../lib/hostile.ts'
import control from '../ui/control.module.css'
import choose from './Choose.module.css'
import type {CanvasNode} from './document.ts'
import field from './Inspector.module.css'
import {scopeOf} from './scope.ts'
import type {Editing} from './use_editing.ts'

// Scopes provides the fields of a form with the node and schema they belong to, which determine
// what their expressions can reference.
export const Scopes = createContext<{c: Editing['c']; node: CanvasNode | null; schema: unknown} | null>(null)

// useScope returns what the strings of a field may contain, or null if they hold no expressions.
function useScope(holds: string): Scope | null {
  const about = useContext(Scopes)
  return useMemo(
    () => (holds !== '' && about ? scopeOf(about.c, about.node, holds, wordsOf(about.schema)) : null),
    [about, holds],
  )
}

type Props = {
  id: string
  holds: string // the kind of expressions that the text holds, as named in the schema
  value: string
  change: (text: string) => void
  disabled: boolean
  rows: number // 0 means a single-line field
  json?: boolean // the strings are inside JSON
  'aria-describedby'?: string | undefined
  'aria-invalid'?: boolean | undefined
}

type Open = {list: readonly Suggestion[]; at: number} // at is the index of the selected item; -1 means none

// TextInput is a text field. If it holds expressions, it offers suggestions at the cursor while an
// expression is typed, or on request.
export function TextInput({holds, value, change, rows, json = false, ...shared}: Props) {
  const scope = useScope(holds)
  const {id} = shared
  const input = useRef<HTMLInputElement & HTMLTextAreaElement>(null)
  const [open, setOpen] = useState<Open | null>(null)
  const [none, setNone] = useState(false)
  const show = (text: string, cursor: number, asked: boolean) => {
    const list = scope ? (json ? suggestionsInJSON : suggestionsAt)(text, cursor, scope, asked) : []
    // Behind a complete reference, a longer one is inserted only if it is selected, and Tab moves
    // the focus as usual.
    setOpen(list.length > 0 ? {list, at: scope && !asked && isWhole(text, cursor, scope) ? -1 : 0} : null)
    setNone(asked && list.length === 0)
  }
  const ask = () => {
    const e = input.current
    if (!e) return
    e.focus()
    show(value, e.selectionStart ?? value.length, true)
  }
  const pick = (s: Suggestion) => {
    const e = input.current
    if (!e) return
    e.focus()
    e.setSelectionRange(s.from, s.to)
    // Text that is inserted as if it were typed can also be undone with the browser's own undo.
    if (!document.execCommand('insertText', false, s.insert))
      change(value.slice(0, s.from) + s.insert + value.slice(s.to))
    e.setSelectionRange(...s.selection)
    setOpen(null)
  }
  const onKeyDown = (e: KeyboardEvent) => {
    if (e.nativeEvent.isComposing) return
    if (e.ctrlKey && e.key === ' ') {
      e.preventDefault()
      ask()
    }
    if (!open) return
    const {list, at} = open
    const move = e.key === 'ArrowDown' ? 1 : e.key === 'ArrowUp' ? -1 : 0
    const chosen = list[at]
    if (move !== 0) setOpen({list, at: at < 0 && move < 0 ? list.length - 1 : (at + move + list.length) % list.length})
    else if (chosen && (e.key === 'Enter' || e.key === 'Tab') && !e.shiftKey) pick(chosen)
    else if (e.key === 'Escape') setOpen(null)
    else {
      if (['ArrowLeft', 'ArrowRight', 'Home', 'End', 'Tab', 'Enter'].includes(e.key)) setOpen(null)
      return
    }
    e.preventDefault()
    e.stopPropagation()
  }
  const listID = `${id}-values`
  const helped = scope && {
    autoComplete: 'off',
    'aria-autocomplete': 'list' as const,
    'aria-haspopup': 'listbox' as const,
    'aria-controls': open ? listID : undefined,
    'aria-activedescendant': open && open.at >= 0 ? `${listID}-${open.at}` : undefined,
    onKeyDown,
    onBlur: () => {
      setOpen(null)
      setNone(false)
    },
    onClick: () => setOpen(null),
  }
  const bound = {
    ...shared,
    ...helped,
    ref: input,
    value,
    className: `${rows === 0 ? control.input : control.area} ${json || (scope && rows === 0) ? control.code : ''}`,
    onChange: (e: {target: {value: string; selectionStart: number | null}}) => {
      const {value: text, selectionStart} = e.target
      change(text)
      if (scope) show(text, selectionStart ?? text.length, false)
    },
  }
  return (
    <>
      {rows === 0 ? (
        <input {...bound} {...(scope ? {role: 'combobox', 'aria-expanded': open !== null} : {})} />
      ) : (
        <textarea {...bound} rows={rows} {...(json ? {spellCheck: false, placeholder: 'JSON'} : {})} />
      )}
      {open && <Values id={listID} open={open} pick={pick} />}
      {scope && (
        <small role="status" className={none ? undefined : 'hidden'}>
          {open ? `${open.list.length} values` : none ? 'No value fits here.' : ''}
        </small>
      )}
      {scope && !shared.disabled && (
        <button type="button" className={field.jump} onMouseDown={e => e.preventDefault()} onClick={ask}>
          Insert a value
        </button>
      )}
    </>
  )
}

// Values is the list of suggestions.
function Values({id, open: {list, at}, pick}: {id: string; open: Open; pick: (s: Suggestion) => void}) {
  useLayoutEffect(() => void document.getElementById(`${id}-${at}`)?.scrollIntoView({block: 'nearest'}), [id, at])
  return (
    <div id={id} role="listbox" aria-label="Values" className={choose.list}>
      {list.map((s, i) => (
        <button
          key={s.label + s.insert}
          id={`${id}-${i}`}
          type="button"
          role="option"
          tabIndex={-1}
          aria-selected={i === at}
          className={choose.choice}
          onMouseDown={e => e.preventDefault()}
          onClick={() => pick(s)}
        >
          <span className={choose.words}>
            <code>{clean(s.label)}</code>
            <small>{clean(s.about)}</small>
          </span>
        </button>
      ))}
    </div>
  )
}
